package web

import "testing"

// TestOperations: every route is described, and nothing else is.
func TestOperations(t *testing.T) {
	s := &Server{}
	routes := map[string]bool{}
	for _, r := range s.table() {
		name := r.method + " " + r.path
		routes[name] = true
		if operations[name].summary == "" {
			t.Errorf("%s is not described", name)
		}
	}
	for name := range operations {
		if !routes[name] {
			t.Errorf("%s is described, and there is no such route", name)
		}
	}
}
