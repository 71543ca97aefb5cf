package web

import (
	"math/rand/v2"
	"path"
	"strings"
	"testing"
)

// meant is what a pattern means, word by word.
func meant(pattern, name []string) (whole, below bool) {
	if len(pattern) == 0 {
		return len(name) == 0, false
	}
	if pattern[0] == anyFolders {
		for i := range len(name) + 1 {
			w, _ := meant(pattern[1:], name[i:])
			whole = whole || w
		}
		return whole, true
	}
	if len(name) == 0 {
		return false, true
	}
	if ok, _ := path.Match(pattern[0], name[0]); !ok {
		return false, false
	}
	return meant(pattern[1:], name[1:])
}

func TestMatcher(t *testing.T) {
	some := func(parts ...string) (out []string) {
		for range rand.N(6) {
			out = append(out, parts[rand.N(len(parts))])
		}
		return out
	}
	for range 20_000 {
		pattern, name := some("**", "**", "a", "b", "*", "?c"), some("a", "b", "ac")
		m := matcher{maxMatching}
		whole, below := m.matches(pattern, name)
		if w, b := meant(pattern, name); w != whole || b != below || m.left > maxMatching-min(len(pattern), len(name)) {
			t.Fatalf("%q %q: %v, %v, want %v, %v; %d left", pattern, name, whole, below, w, b, m.left)
		}
	}
	// As many ways to match as there are to part the name, and none of them does.
	m := matcher{maxMatching}
	pattern := strings.Split(strings.Repeat("**/a/", 100)+"b", "/")
	if whole, below := m.matches(pattern, strings.Split(strings.Repeat("a/", 250)+"a", "/")); whole || !below || m.left < maxMatching/2 {
		t.Errorf("%v, %v, %d steps", whole, below, maxMatching-m.left)
	}
}
