package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/cloche-dev/cloche"

// layers lists the packages from the bottom up. A package may import those in layers below its own, and no
// others of ours; CONTRIBUTING.md has the picture. A name stands for the folder and, unless one of them is named itself,
// for those below it.
var layers = [][]string{
	{"limits", "engine/wasmbin", "engine/parallel", "engine/memimage", "engine/pool", "engine/durable", "runtimes/digest"},
	{"engine/rewrite", "engine/layout", "wasi/vfs"},
	{"engine/vm", "wasi", "hostfuncs"},
	{"runtimes"},
	{"runtimes/python", "runtimes/js"},
	{"engine"},
	{"web"},
	{"cmd"},
	{"examples"},
}

// only says who may import a package, tests excepted, and why nobody else.
var only = []struct {
	path string
	who  []string
	why  string
}{
	{"github.com/tetratelabs/wazero", []string{"engine/vm", "wasi", "hostfuncs"},
		"it can only be replaced or updated where few places know it"},
	{"github.com/labstack/echo", []string{"web"}, "HTTP is one face of the engine, not part of it"},
	{"github.com/dustin/go-humanize", []string{"limits", "cmd", "web"},
		"sizes are numbers inside and have a human form only at the edge"},
	{"github.com/BurntSushi/toml", []string{"limits", "runtimes", "web", "cmd"}, "TOML is for policies, the lock file and configuration"},
	{"github.com/alecthomas/kong", []string{"cmd"}, "flags are the command line's"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"web/mcp", "hostfuncs/mcptools"}, "the Model Context Protocol is one face of the engine, and a source of tools"},
	{"github.com/schollz/progressbar", []string{"cmd"}, "only the command line knows whether somebody is watching"},
	{"github.com/peterh/liner", []string{"cmd"}, "only the command line has somebody who types"},
	{"os/exec", []string{"runtimes", "hostfuncs/mcptools", "cmd/cloche/internal/workers"},
		"what Cloche starts on the host is a download client, the MCP servers that a policy names, and itself; a guest must find no way to start anything"},
	{"net", []string{"hostfuncs", "web", "cmd"}, "the network is reached through the fetch function and served by web, and nowhere else"},
	{"net/http", []string{"hostfuncs", "web", "cmd", "engine", "examples"},
		"the network is reached through the fetch function and served by web, and nowhere else (engine has it for its table of content types)"},
	{"plugin", nil, "no code is loaded at run time but what the lock file pins"},
}

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Imports    []string
}

// TestLayers checks that imports point one way. It fails with the reason for each ban.
func TestLayers(t *testing.T) {
	packages := list(t)
	if len(packages) < 3 {
		t.Fatalf("go list found only %d packages", len(packages))
	}
	for _, p := range packages {
		name, ok := strings.CutPrefix(p.ImportPath, module+"/")
		if !ok {
			t.Errorf("package %s is outside %s", p.ImportPath, module)
			continue
		}
		for _, imp := range p.Imports {
			if why := whyNot(name, imp); why != "" {
				t.Errorf("%s imports %s: %s", name, imp, why)
			}
		}
	}
}

// whyNot is the reason why the package called name may not import imp, or "".
func whyNot(name, imp string) string {
	if other, ok := strings.CutPrefix(imp, module+"/"); ok {
		return whyNotOurs(name, other)
	}
	for _, rule := range only {
		below := strings.Contains(rule.path, ".") && strings.HasPrefix(imp, rule.path+"/")
		if (imp == rule.path || below) && !covered(name, rule.who) {
			return "that is for " + orNobody(rule.who) + ", since " + rule.why
		}
	}
	return ""
}

func whyNotOurs(name, other string) string {
	mine, myLayer := layerOf(name)
	theirs, theirLayer := layerOf(other)
	switch {
	case myLayer < 0:
		return name + " is in no layer; add it to layers"
	case theirLayer < 0:
		return other + " is in no layer; add it to layers"
	case mine == theirs, theirLayer < myLayer:
		return ""
	}
	return "imports point downwards only, so that what is low is tested and understood without what is above it"
}

// layerOf finds the longest entry of layers that covers name.
func layerOf(name string) (entry string, layer int) {
	layer = -1
	for i, l := range layers {
		for _, e := range l {
			if (name == e || strings.HasPrefix(name, e+"/")) && len(e) > len(entry) {
				entry, layer = e, i
			}
		}
	}
	return entry, layer
}

func covered(name string, who []string) bool {
	return slices.ContainsFunc(who, func(w string) bool { return name == w || strings.HasPrefix(name, w+"/") })
}

func orNobody(who []string) string {
	if len(who) == 0 {
		return "nobody"
	}
	return strings.Join(who, ", ")
}

// TestLayersFindsViolations makes sure that the rules bite.
func TestLayersFindsViolations(t *testing.T) {
	for _, c := range []struct{ name, imp string }{
		{"limits", module + "/engine"},
		{"engine/vm", module + "/runtimes"},
		{"wasi/vfs", module + "/wasi"},
		{"runtimes/python", module + "/runtimes/js"},
		{"engine/pool", module + "/limits"},
		{"engine", "github.com/tetratelabs/wazero/api"},
		{"engine", "github.com/labstack/echo/v4"},
		{"wasi", "os/exec"},
		{"engine", "net"},
		{"wasi", "net/http"},
		{"nowhere", module + "/limits"},
	} {
		if whyNot(c.name, c.imp) == "" {
			t.Errorf("%s may import %s", c.name, c.imp)
		}
	}
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
