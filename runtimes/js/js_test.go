package js_test

import "testing"

func TestSmoke(t *testing.T) {
	prints(t, `console.log("hi", {a: 1, b: [1, 2, {c: new Map([["k", 1]])}]})`, "x")
}
