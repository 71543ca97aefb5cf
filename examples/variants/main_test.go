package main

import (
	"strings"
	"testing"
)

func TestVariants(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs the interpreter, which cloche setup makes")
	}
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "degree 1: error 0.") || lines[0] == lines[1] || !strings.HasPrefix(lines[4], "kept degree ") || lines[4] == "kept degree 1" {
		t.Errorf("%s", out.String())
	}
}
