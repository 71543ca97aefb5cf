package web

import (
	"errors"
	"io/fs"
	"path"
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
)

// checkPatterns says whether patterns are well formed. A pattern is a path below /data whose parts may hold * ? and
// [a-z]; a part that is ** stands for any number of folders. An absolute one starts at the root.
func checkPatterns(patterns []string) error {
	if len(patterns) > maxPatterns {
		return invalidf("collect has %d patterns, at most %d are looked for", len(patterns), maxPatterns)
	}
	for i, p := range patterns {
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
	walked := 0
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
			w, b := matches(p, parts)
			whole, part = whole || w, part || b
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

// matches says whether a name matches a pattern, and whether one below it can.
func matches(pattern, name []string) (whole, below bool) {
	switch {
	case len(pattern) == 0:
		return len(name) == 0, false
	case pattern[0] == "**":
		for i := 0; i <= len(name); i++ {
			w, _ := matches(pattern[1:], name[i:])
			whole = whole || w
		}
		return whole, true
	case len(name) == 0:
		return false, true
	}
	if ok, _ := path.Match(pattern[0], name[0]); !ok {
		return false, false
	}
	return matches(pattern[1:], name[1:])
}
