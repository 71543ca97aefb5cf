package runtimes

import (
	"cmp"
	"context"
	"path/filepath"
	"time"
)

// Status says what of an interpreter is in the cache.
type Status struct {
	Language string
	// Artifacts are what it is made of, in the order of [Spec.Artifacts].
	Artifacts []ArtifactStatus
	// Baked is nil when the baked interpreter is there and whole; an error for which errors.Is finds
	// fs.ErrNotExist when it is not there; else what is wrong with it.
	Baked error
	// LaidOut is that of [Baked], where that is there.
	LaidOut bool
	// Download is the number of bytes that a setup would fetch, and Work how long the rest of it took on the
	// reference machine.
	Download int64
	Work     time.Duration
}

// ArtifactStatus says whether an artifact is in the cache; Err is as [Status.Baked]. One that is not may be Carried: the
// program has it inside, and nothing is downloaded for it.
type ArtifactStatus struct {
	Artifact
	Err     error
	Carried bool
}

// unpackTime is about what it takes to unpack an interpreter that the program has inside.
const unpackTime = 2 * time.Second

// Ready says that the interpreter loads without a setup.
func (s Status) Ready() bool { return s.Baked == nil && s.Download == 0 }

// Status looks into the cache without changing anything. With deep, every file is hashed.
func (s Spec) Status(c *Cache, deep bool) Status {
	st := Status{Language: s.Driver.Language()}
	for _, name := range s.Artifacts {
		a, err := LookupArtifact(name)
		if err != nil {
			panic(err) // specs and lock file are both part of the program
		}
		err = c.Has(a.entry(), deep)
		carried := err != nil && inBundle(bundled, a.entry().folder())
		if err != nil && !carried {
			st.Download += a.Bytes
		}
		st.Artifacts = append(st.Artifacts, ArtifactStatus{a, err, carried})
	}
	code, image := c.Has(s.codeEntry(), deep), c.Has(s.imageEntry(), deep)
	st.Baked = cmp.Or(code, image)
	if st.Baked == nil {
		var prog program
		st.Baked = readJSON(filepath.Join(c.Dir(), s.codeEntry().folder(), programFile), &prog)
		st.LaidOut = prog.LaidOut
		return st
	}
	carried := func(e Entry, err error) bool { return err == nil || inBundle(bundled, e.folder()) }
	if st.Work = s.BootTime; carried(s.imageEntry(), image) {
		st.Work = unpackTime
	}
	if !carried(s.codeEntry(), code) {
		st.Work += s.CompileTime/15 + s.CompileTime
	}
	return st
}

// Setup makes sure that the interpreter is in the cache and loads.
func (s Spec) Setup(ctx context.Context, c *Cache, p Progress) error {
	b, err := Load(ctx, s, Options{Cache: c.Dir(), Progress: p})
	if err != nil {
		return err
	}
	return b.Close()
}
