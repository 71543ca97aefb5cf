package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/runtimes"
)

// TestTerminalObeysNobody: whatever command runs a program, or tells of one, a terminal gets no control characters of the program's.
func TestTerminalObeysNobody(t *testing.T) {
	dir, err := runtimes.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if needsSetup(t, dir, engine.JavaScript) {
		return
	}
	work := t.TempDir()
	b, err := json.Marshal("\x1b]0;title\x07\x1b[c\u009d52;c;eA==\u009c\x7f")
	if err != nil {
		t.Fatal(err)
	}
	said := string(b)
	program := "const s = " + said + "; console.log(s); console.error(s); "
	receipt := filepath.Join(work, "r.json")
	// One that somebody changed: the form of a displayed value is called so.
	change := fmt.Sprintf(`const fs = require("fs"), r = JSON.parse(fs.readFileSync("r.json")); r.outcome.results[0].data[%[1]s] = { bytes: 1, sha256: "" }; r.outcome.error = { name: %[1]s, value: %[1]s };
		fs.writeFileSync("changed.json", JSON.stringify(r))`, said)
	if out, err := run(work, dir, "run", "--lang", "javascript", "--receipt", receipt, "-c", program+"s"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := run(work, dir, "run", "--lang", "javascript", "--file", receipt, "--out", work, "-c", change); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(work, "p.js")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", file},
		{"run", "--json", file},
		{"run", "--json", "--lang", "javascript", "-c", program + "throw new Error(s)"},
		{"run", "--lang", "javascript", "-c", program + "throw new Error(s)"},
		{"run", "--lang", "javascript", "-c", program + "s"},
		{"replay", receipt, "--json"},
		{"replay", filepath.Join(work, "changed.json")},
		{"replay", filepath.Join(work, "changed.json"), "--json"},
		{"template", "build", "--name", "terminal-test", "--preload", file},
		{"template", "rm", "terminal-test"},
	} {
		term, child := openTerminal(t)
		cmd := command(work, dir, args...)
		cmd.Stdout, cmd.Stderr = child, child
		err := cmd.Run()
		child.Close()
		shown := term.all()
		if _, exited := err.(*exec.ExitError); err != nil && !exited || shown == "" && args[0] != "template" {
			t.Errorf("%q: %v", args, err)
		}
		for _, c := range strings.NewReplacer("\n", "", "\r", "", "\t", "").Replace(shown) {
			if unicode.IsControl(c) {
				t.Errorf("%q: there is %U in %q", args, c, shown)
				break
			}
		}
	}
}

func command(work, cache string, args ...string) *exec.Cmd {
	cmd := exec.Command("cloche", args...)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), runtimes.CacheEnv+"="+cache)
	return cmd
}

func run(work, cache string, args ...string) (string, error) {
	out, err := command(work, cache, args...).CombinedOutput()
	return string(out), err
}
