package e2b

import "testing"

// TestDefaultContextIsOne: programs that come at once find one default context, whoever of them makes it.
func TestDefaultContextIsOne(t *testing.T) {
	s := newContexts(Config{MaxContexts: 2})
	a, err := s.byLanguage("python")
	if err != nil {
		t.Fatal(err)
	}
	// One that looked before a was made, and comes to make it now:
	if b, err := s.create(a.id, a.language, nil); b != a || err != nil {
		t.Errorf("%v (%v) instead of %v, which nobody would close", b, err, a)
	}
}
