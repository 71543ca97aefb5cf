package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
)

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// block returns the first code block of the README in a language.
func block(t *testing.T, language string) string {
	t.Helper()
	_, rest, ok := strings.Cut(readme(t), "```"+language+"\n")
	code, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("README.md has no %s block", language)
	}
	return code
}

func TestReadmeProgramCompiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(block(t, "go")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "vet", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestReadmePolicyIsValid(t *testing.T) {
	if _, err := limits.ParsePolicy("README.md", []byte(block(t, "toml"))); err != nil {
		t.Error(err)
	}
}

func TestExamplePolicyIsValid(t *testing.T) {
	b, err := os.ReadFile("../../examples/mcp/cloche.toml")
	if err != nil {
		t.Fatal(err)
	}
	// As it is, and with what it offers to take the signs off of.
	for servers, text := range []string{string(b), regexp.MustCompile(`(?m)^#(\S|$)`).ReplaceAllString(string(b), "$1")} {
		p, err := limits.ParsePolicy("cloche.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := fetch.FromPolicy(p.Network, os.Getenv); err != nil || n == nil || (p.Tools != nil) != (servers > 0) || servers > 0 && len(p.Tools.MCP) != servers {
			t.Errorf("%+v, error %v", p, err)
		}
	}
}

// The limits table and default.toml say the same.
func TestReadmeLimitsAreTheDefaults(t *testing.T) {
	d := limits.Default()
	for _, row := range []string{
		"| `--fuel` | " + limits.FormatCount(d.Fuel) + " |",
		"| `--timeout` | 30 s |",
		strings.Replace(limits.FormatDuration(d.Grace), "ms", " ms", 1) + " later (policy `grace`)",
		"| `--memory` | " + limits.FormatSize(d.MemoryBytes) + " |",
		"| `--output` | " + limits.FormatSize(d.OutputBytes) + " each |",
		"| policy `results` | " + limits.FormatSize(d.ResultBytes) + " |",
		"| `--disk` | " + limits.FormatSize(d.DiskBytes) + " |",
		"| policy `inodes` | " + limits.FormatCount(d.Inodes) + " |",
		"| policy `open_files` | " + limits.FormatCount(d.OpenFiles) + " |",
		"| policy `host_calls` | " + limits.FormatCount(d.HostCalls) + " |",
	} {
		if !strings.Contains(readme(t), row) {
			t.Errorf("README.md lacks %q", row)
		}
	}
}
