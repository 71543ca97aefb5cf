package main

import (
	"os"
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
	shown, err := os.ReadFile("../README.md")
	if err != nil || !strings.Contains(string(shown), "```\n"+out.String()+"```") {
		t.Errorf("examples/README.md does not show, %v:\n%s", err, out.String())
	}
}
