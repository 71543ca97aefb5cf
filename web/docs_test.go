package web_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/web"
)

// TestDocumentedConfiguration: the configuration in the documentation is one.
func TestDocumentedConfiguration(t *testing.T) {
	b, err := os.ReadFile("../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "```toml\n")
	text, _, ok := strings.Cut(rest, "```")
	s, err := web.ParseSettings("http.md", []byte(text), os.Getenv)
	if err != nil || !ok || len(s.Config.Keys) != 1 {
		t.Errorf("%v", err)
	}
}
