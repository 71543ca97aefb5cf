package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThreatModelNames: each test, file and case that docs/threat-model.md gives as evidence is there.
func TestThreatModelNames(t *testing.T) {
	const root = "../.."
	text, err := os.ReadFile(root + "/docs/threat-model.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, files := sources(t, root)
	isThere := func(list []string, pattern *regexp.Regexp) bool {
		return slices.ContainsFunc(list, pattern.MatchString)
	}
	// as is the pattern of a name in which a star stands for anything.
	as := func(before, name, after string) *regexp.Regexp {
		return regexp.MustCompile(before + strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, `[^/]*`) + after)
	}
	cases := slices.DeleteFunc(slices.Clone(files), func(name string) bool { return !strings.Contains(name, "/redteam/") })
	suite, err := filepath.Glob(root + "/../shared/redteam/cases/*.toml") // which not everybody has
	if err != nil {
		t.Fatal(err)
	}
	cases = append(cases, suite...)
	found := 0
	for _, m := range regexp.MustCompile("`([^`\n ]+)`").FindAllStringSubmatch(string(text), -1) {
		name, there := m[1], true
		switch {
		case regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]`).MatchString(name):
			there = isThere(tests, as("^", name, "$"))
		case regexp.MustCompile(`\.(go|txtar|py|js)$|^hostile/`).MatchString(name):
			there = isThere(files, as("/", name, "$"))
		case regexp.MustCompile(`^(py|js|http|fetch|snap|mcp|door|\*)-`).MatchString(name):
			there = len(suite) == 0 || isThere(cases, as("/", name, `\.toml$`))
		default:
			continue
		}
		if found++; !there {
			t.Errorf("there is no %s", name)
		}
	}
	if found < 100 {
		t.Errorf("only %d names were understood", found)
	}
}

// sources lists the files below root, and the names of the tests, fuzz targets and benchmarks in them.
func sources(t *testing.T, root string) (tests, files []string) {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		files = append(files, filepath.ToSlash(name))
		if strings.HasSuffix(name, "_test.go") {
			source, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			for _, m := range function.FindAllSubmatch(source, -1) {
				tests = append(tests, string(m[1]))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests, files
}

// TestFuzzRecord: make fuzz knows every fuzz target, and begins with one that has had the least.
func TestFuzzRecord(t *testing.T) {
	cmd := exec.Command("python3", "testdata/fuzzing/fuzz.py", "--list")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("there is no Python")
	}
	if err != nil {
		t.Fatal(err)
	}
	listed, least := map[string]bool{}, -1
	for line := range strings.Lines(string(out)) {
		var dir, name string
		var had int
		if _, err := fmt.Sscan(line, &dir, &name, &had); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if had < least {
			t.Errorf("%s has had %d s and comes after one with %d s", name, had, least)
		}
		listed[name], least = true, had
	}
	tests, _ := sources(t, "../..")
	for _, name := range tests {
		if strings.HasPrefix(name, "Fuzz") && !listed[name] {
			t.Errorf("%s is not listed", name)
		}
	}
}
