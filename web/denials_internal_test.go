package web

import (
	"math"
	"testing"
)

// TestDenialsWithoutEnd: a count that comes to the end of its bits is told of like any other.
func TestDenialsWithoutEnd(t *testing.T) {
	var d denials
	for range 5 {
		d.add("key", math.MaxInt)
	}
	if _, report := d.add("other", firstReport); !report {
		t.Error("another key is not reported")
	}
}
