package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/cloche-dev/cloche/runtimes"
)

type versionCmd struct{}

func (versionCmd) Help() string { return exitHelpOther }

// Run prints the version of the program and of what it is made of.
func (versionCmd) Run(a *app) error {
	fmt.Fprintf(a.out, "cloche %s\n", version())
	fmt.Fprintf(a.out, "wazero %s, %s, %s/%s\n", runtimes.WazeroVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, art := range runtimes.Artifacts() {
		fmt.Fprintf(a.out, "%s: %s %s (%s)\n", art.Name, art.Package, art.Version, art.Licence)
	}
	return nil
}

// version is what Go wrote into the binary: a tag, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value[:min(len(s.Value), 12)]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = " with changes"
		}
	}
	if rev == "" {
		return "development build"
	}
	return "commit " + rev + dirty
}
