package web

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
)

// Bounds of what a request collects. What is larger is downloaded from a session.
const (
	maxPatterns       = 64
	maxCollected      = 256      // files
	maxCollectedBytes = 32 << 20 // of all of them
	maxWalked         = 20_000   // names that are looked at
	maxPattern        = 1 << 10  // bytes
	maxMatching       = 20 << 20 // steps, see matcher: about a second
)

// anyFolders is a part of a pattern that stands for any number of folders.
const anyFolders = "**"

// checkPatterns says whether patterns are well formed. A pattern is a path below /data whose parts may hold * ? and
// [a-z]; a part that is ** stands for any number of folders. An absolute one starts at the root.
func checkPatterns(patterns []string) error {
	if len(patterns) > maxPatterns {
		return invalidf("collect has %d patterns, at most %d are looked for", len(patterns), maxPatterns)
	}
	for i, p := range patterns {
		if len(p) > maxPattern {
			return invalidf("collect[%d] has %d bytes, a pattern may have %d", i, len(p), maxPattern)
		}
		for part := range strings.SplitSeq(p, "/") {
			if _, err := path.Match(part, ""); err != nil || p == "" {
				return invalidf("collect[%d] is %s: it must be a pattern such as *.png or reports/**/*.csv", i, quoted(p))
			}
		}
	}
	return nil
}

// collectFiles are the files that match a pattern, in order of their paths, with their contents.
func collectFiles(f *engine.Files, patterns []string) ([]FileContent, error) {
	out := []FileContent{}
	left, seen := maxCollectedBytes, map[string]bool{}
	for _, base := range []string{runtimes.WorkDir, "/"} {
		var parts [][]string
		for _, p := range patterns {
			if path.IsAbs(p) == (base == "/") {
				parts = append(parts, strings.Split(strings.Trim(path.Clean(p), "/"), "/"))
			}
		}
		if len(parts) == 0 {
			continue
		}
		fsys, err := f.FS(base)
		if err != nil {
			return nil, fileError(err)
		}
		err = walkMatches(fsys, parts, func(name string, size int64) error {
			p := path.Join(base, name)
			if seen[p] {
				return nil
			}
			seen[p] = true
			if len(out) == maxCollected || size > int64(left) {
				return fail(413, codeTooLarge, "collect matches more than %d files or %d bytes: download them from a session", maxCollected, maxCollectedBytes)
			}
			b, err := f.ReadFile(p)
			if err != nil {
				return err
			}
			left -= len(b)
			out = append(out, contentOf(p, b))
			return nil
		})
		if err != nil {
			return nil, fileError(err)
		}
	}
	return out, nil
}

// walkMatches calls found for each regular file that matches one of the patterns. Folders in which nothing can match
// are not entered.
func walkMatches(fsys fs.FS, patterns [][]string, found func(name string, size int64) error) error {
	walked, m := 0, matcher{maxMatching}
	return fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name == "." {
			return fs.SkipAll
		}
		if err != nil || name == "." {
			return err
		}
		if walked++; walked > maxWalked {
			return fs.SkipAll
		}
		parts := strings.Split(name, "/")
		whole, part := false, false
		for _, p := range patterns {
			w, b := m.matches(p, parts)
			whole, part = whole || w, part || b
		}
		if m.left < 0 {
			return fail(413, codeTooLarge, "collect has patterns with too many parts for that many files: use fewer or shorter ones")
		}
		switch {
		case e.IsDir() && !part:
			return fs.SkipDir
		case !e.Type().IsRegular() || !whole:
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return found(name, info.Size())
	})
}

// A matcher finds out which names match patterns. left is the work that it may still do: a step for each part of a name that is held
// against a part of a pattern.
type matcher struct{ left int }

// matches says whether a name matches a pattern, and whether one below it can.
func (m *matcher) matches(pattern, name []string) (whole, below bool) {
	at := make([]bool, len(pattern)+1) // at[i]: the first i parts of the pattern match what was looked at of the name
	at[0] = true
	for n := 0; ; n++ {
		for i, p := range pattern {
			at[i+1] = at[i+1] || at[i] && p == anyFolders // which may be none
		}
		if n == len(name) || !slices.Contains(at, true) {
			return at[len(pattern)], slices.Contains(at[:len(pattern)], true)
		}
		for i := len(pattern); i >= 0; i-- {
			stays := i < len(pattern) && at[i] && pattern[i] == anyFolders
			if i > 0 && at[i-1] && pattern[i-1] != anyFolders {
				m.left--
				at[i], _ = path.Match(pattern[i-1], name[n]) // the pattern was checked
			} else {
				at[i] = false
			}
			at[i] = at[i] || stays
		}
		m.left -= len(pattern)
	}
}
