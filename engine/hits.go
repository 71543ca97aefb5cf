package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/wasi/vfs"
)

// LimitHit is a limit that a turn reached, whatever its program made of it.
type LimitHit struct {
	// Resource is such as "disk", "inodes", "open_files", "output" or "fuel".
	Resource string `json:"resource"`
	Unit     string `json:"unit"` // of both numbers
	Limit    uint64 `json:"limit"`
	// Used is what was in use when the limit was first reached, without what was then asked for and refused; of output, results
	// and calls, all that there was of them. Zero where it is not known.
	Used uint64 `json:"used,omitempty"`
}

// hits are the limits that a turn has reached, each once.
type hits []limits.ExceededError

func (h *hits) add(e limits.ExceededError) {
	if !slices.ContainsFunc(*h, func(x limits.ExceededError) bool { return x.Resource == e.Resource }) {
		*h = append(*h, e)
	}
}

// list gives them in the order of the resources.
func (h hits) list() []LimitHit {
	slices.SortStableFunc(h, func(a, b limits.ExceededError) int { return cmp.Compare(a.Resource, b.Resource) })
	var out []LimitHit
	for _, e := range h {
		hit := LimitHit{Resource: strings.ReplaceAll(e.Resource.String(), " ", "_"), Unit: e.Resource.Unit(), Limit: e.Limit, Used: e.Used}
		if e.Resource == limits.WallTime {
			hit.Unit, hit.Limit, hit.Used = "milliseconds", e.Limit/uint64(time.Millisecond), e.Used/uint64(time.Millisecond)
		}
		out = append(out, hit)
	}
	return out
}

// quota is told by the file system and the descriptor table of a limit that refused something to the guest.
func (r *running) quota(t *tree, resource limits.Resource) {
	e := limits.ExceededError{Resource: resource}
	switch resource {
	case limits.Disk, limits.Inodes:
		u := t.fullest()
		e.Limit, e.Used = r.limits.DiskBytes, uint64(u.Bytes)
		if resource == limits.Inodes {
			e.Limit, e.Used = r.limits.Inodes, uint64(u.Inodes)
		}
	case limits.OpenFiles:
		e.Limit, e.Used = r.limits.OpenFiles, r.limits.OpenFiles
	case limits.NameLength:
		e.Limit = vfs.MaxName
	case limits.PathLength:
		e.Limit = vfs.MaxPath
	case limits.PathDepth:
		e.Limit = vfs.MaxDepth
	}
	r.hits.add(e)
}

// tellHits lists the limits that were reached in a result that says all else already.
func (r *running) tellHits(res *Result) {
	if res.Status == StatusError && res.Error != nil {
		if hint := r.hits.hint(res.Error); hint != "" {
			res.Error.Hint = hint
		}
	}
	if e := res.exceeded; e != nil {
		r.hits.add(*e)
	}
	if total := max(r.before.Stdout+r.stdout.total, r.before.Stderr+r.stderr.total); total > r.limits.OutputBytes {
		r.hits.add(limits.ExceededError{Resource: limits.Output, Limit: r.limits.OutputBytes, Used: total})
	}
	if r.shown.cut() != nil {
		r.hits.add(limits.ExceededError{Resource: limits.Results, Limit: r.limits.ResultBytes, Used: r.shown.total})
	}
	if calls := r.door.Made; calls > r.limits.HostCalls {
		r.hits.add(limits.ExceededError{Resource: limits.HostCalls, Limit: r.limits.HostCalls, Used: calls})
	}
	res.LimitsHit = r.hits.list()
}

// space is the room in the sandbox's own files.
func (t *tree) space(l limits.Limits) runtimes.Space {
	u := t.Usage()
	return runtimes.Space{
		Bytes: l.DiskBytes, FreeBytes: l.DiskBytes - min(l.DiskBytes, uint64(u.Bytes)),
		Inodes: l.Inodes, FreeInodes: l.Inodes - min(l.Inodes, uint64(u.Inodes)),
	}
}

// fullest is the most that is used of what the quotas bound: the sandbox's own files, and each folder mounted for writing.
func (t *tree) fullest() vfs.Usage { return t.over(t.Usage(), (*vfs.HostDir).Grown) }

// peak is the most that fullest ever was.
func (t *tree) peak() vfs.Usage { return t.over(t.Peak(), (*vfs.HostDir).MostGrown) }

// over is u, or what a folder mounted for writing has more of.
func (t *tree) over(u vfs.Usage, grown func(*vfs.HostDir) vfs.Usage) vfs.Usage {
	for _, m := range t.mounts {
		if dir, ok := m.(*vfs.HostDir); ok {
			g := grown(dir)
			u.Bytes, u.Inodes = max(u.Bytes, g.Bytes), max(u.Inodes, g.Inodes)
		}
	}
	return u
}

// quotaHints say how a failed program can go on, and the words by which its error tells that a quota was the cause: those of
// Python, of Node and of SQLite.
var quotaHints = map[limits.Resource]struct {
	words  []string
	advice string
}{
	limits.Disk:       {[]string{"No space left", "ENOSPC", "disk is full"}, "delete files, write less, or ask for a larger disk limit"},
	limits.Inodes:     {[]string{"No space left", "ENOSPC", "disk is full", "unable to open database"}, "delete files, write fewer, or ask for more inodes"},
	limits.OpenFiles:  {[]string{"No file descriptors available", "Too many open files", "EMFILE", "unable to open database"}, "close files as soon as they are done with, in Python by a with statement"},
	limits.NameLength: {[]string{"name too long", "name is too long", "Filename too long", "ENAMETOOLONG"}, "use shorter names"},
	limits.PathLength: {[]string{"name too long", "name is too long", "Filename too long", "ENAMETOOLONG"}, "use shorter paths"},
	limits.PathDepth:  {[]string{"name too long", "name is too long", "Filename too long", "ENAMETOOLONG"}, "put fewer folders into each other"},
}

// hint is what to tell of a program that a quota made fail; "" if none did.
func (h hits) hint(e *Error) string {
	for _, hit := range h {
		q, ok := quotaHints[hit.Resource]
		if ok && slices.ContainsFunc(q.words, func(w string) bool { return strings.Contains(e.Value, w) || strings.Contains(e.Traceback, w) }) {
			text := hit.Error()
			if hit.Used != 0 && hit.Used < hit.Limit {
				text += " (" + hit.Resource.Format(hit.Used) + " in use)"
			}
			return text + "; " + q.advice
		}
	}
	return ""
}
