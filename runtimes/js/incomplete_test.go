package js

import "testing"

func TestIncomplete(t *testing.T) {
	for _, c := range []struct {
		source string
		want   bool
	}{
		{"", false}, {"x", false}, {"x +", true}, {"f(", true}, {"f(1,\n 2)", false},
		{"function f() {", true}, {"function f() {\n  return 1\n}", false}, {"class A {\n x = 1", true},
		{"`text", true}, {"`text ${", true}, {"`a\nb`", false}, {"/* one\ntwo", true}, {"/* one */", false},
		{"'text", false}, {"x = )", false}, {"const", true}, {"let x: number =", true}, {"interface A {", true},
		{"[1, 2", true}, {"a =>", true}, {"if (x)", true}, {"await fetch(", true}, {"// {", false}, {"/[/]{/", false},
		{"import fs from", true}, {"for (const x of y) {", true},
	} {
		if got := Incomplete(c.source); got != c.want {
			t.Errorf("Incomplete(%q) = %v", c.source, got)
		}
	}
}
