package main

import (
	"fmt"
	"os"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
)

// raise puts up the second wall. main sets it: a process of tests, which goes on, has none.
var raise = func(wall.Config) (wall.Report, error) { return nil, nil }

// wallFor is the wall for sandboxes with these mounts and this network, whose interpreters are loaded; their files are
// open, so that nothing else needs to be read. out is a folder for files of theirs, or "".
func wallFor(mounts []limits.Mount, network *fetch.Policy, out string) wall.Config {
	c := wall.Config{Connect: network.Ports()}
	for _, m := range mounts {
		if info, err := os.Stat(m.Host); err == nil && info.IsDir() && m.Mode == limits.ReadWrite {
			c.Write = append(c.Write, m.Host)
		} else {
			c.Read = append(c.Read, m.Host)
		}
	}
	if out != "" {
		c.Write = append(c.Write, out)
	}
	return c
}

// raiseWall loads the interpreter of a sandbox and puts up the wall for it, and for what else the command needs.
func (f *sandboxFlags) raiseWall(a *app, eng *engine.Engine, p effective, language string, also wall.Config) error {
	if f.Template == "" { // else they are set up with those of the template
		if _, err := eng.PreparePackages(a.ctx, p.packages...); err != nil {
			return err
		}
	}
	if f.NoWall {
		return nil
	}
	if err := eng.Prepare(a.ctx, language); err != nil {
		return err
	}
	if f.Template != "" {
		if err := eng.PrepareTemplate(a.ctx, language, f.Template, p.packages...); err != nil {
			return err
		}
	}
	c := wallFor(p.mounts, p.network, f.Out)
	also.Connect = append(also.Connect, c.Connect...)
	also.Read, also.Write = append(also.Read, c.Read...), append(also.Write, c.Write...)
	_, err := raise(also)
	return err
}

// raiseIfReady loads the interpreters and puts up the wall, if all are set up. Setting up would take minutes, for which a
// client does not wait, and cannot be done behind the wall.
func (a *app) raiseIfReady(eng *engine.Engine, c wall.Config) error {
	cache, err := a.openCache()
	if err != nil {
		return err
	}
	defer cache.Close()
	for name, spec := range engine.Specs() {
		if !spec.Status(cache, false).Ready() {
			fmt.Fprintf(a.err, "cloche: %s is not set up, so that there is no second wall: run cloche setup\n", name)
			return nil
		}
	}
	if err := eng.Prepare(a.ctx); err != nil {
		return err
	}
	_, err = raise(c)
	return err
}
