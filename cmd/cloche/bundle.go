package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/web/page"
)

// bundleCmd is for make dist.
type bundleCmd struct {
	Out      string   `arg:"" help:"The archive to write."`
	Language []string `arg:"" optional:"" enum:"python,javascript" help:"python or javascript; without it both, and the playground's editor."`
}

func (bundleCmd) Help() string {
	return `Writes what is set up for the interpreters as one archive, for builds that carry it (go build -tags bundle, with the archive as runtimes/bundle.zip). Machine code in it serves machines with the same processor features; others compile it themselves, from the modules in it.

` + exitHelpOther
}

// Run writes the archive.
func (c *bundleCmd) Run(a *app) (err error) {
	languages := c.Language
	if len(languages) == 0 {
		languages = slices.Sorted(maps.Keys(engine.Specs()))
	}
	var chosen []runtimes.Spec
	for _, l := range languages {
		chosen = append(chosen, engine.Specs()[l])
	}
	cache, err := a.openCache()
	if err != nil {
		return err
	}
	defer cache.Close()
	f, err := os.Create(c.Out)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(c.Out))
		}
	}()
	var more []runtimes.Entry
	if len(c.Language) == 0 {
		more = append(more, page.Entry(cache))
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := runtimes.WriteBundle(w, cache, chosen, more...); err != nil {
		return fmt.Errorf("%w: run cloche setup first", err)
	}
	return w.Flush()
}
