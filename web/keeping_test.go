package web

import (
	"slices"
	"testing"
	"time"
)

// TestKeeping: what is kept of a key goes when it is old, or when that key has most of what is too much.
func TestKeeping(t *testing.T) {
	small, large := &Key{Name: "small"}, &Key{Name: "large"}
	var gone []string
	k := newKeeping(time.Minute, 10, func(name string) { gone = append(gone, name) })
	now := time.Now()
	k.add(small, "s1", 3, now)
	for i, name := range []string{"l1", "l2", "l3"} {
		k.add(large, name, 4, now.Add(time.Duration(i)*time.Second))
	}
	if want := []string{"l1", "l2"}; !slices.Equal(gone, want) {
		t.Errorf("%v went, not %v", gone, want)
	}
	k.add(large, "l4", 11, now.Add(3*time.Second)) // which is too much alone
	if want := []string{"l1", "l2", "l3", "l4"}; !slices.Equal(gone, want) {
		t.Errorf("%v went, not %v", gone, want)
	}
	k.trim(now.Add(2 * time.Minute))
	if gone[len(gone)-1] != "s1" || k.weight != 0 || len(k.shares) != 0 {
		t.Errorf("%v went, %d and %d shares are left", gone, k.weight, len(k.shares))
	}
}
