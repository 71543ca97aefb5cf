package vfs

import (
	"fmt"
	"testing"
)

// TestJournalBound writes down more than is kept.
func TestJournalBound(t *testing.T) {
	var j journal
	m := j.mark()
	j.created("/first")
	for i := range 2 * maxJournal {
		j.created(fmt.Sprint("/", i%7))
		j.removed(fmt.Sprint("/", i%7))
	}
	j.created("/last")
	if len(j.events) > maxJournal {
		t.Errorf("%d events are kept", len(j.events))
	}
	paths, complete := j.since(m)
	if complete || paths["/first"] != nil || paths["/last"] == nil {
		t.Errorf("%d paths, complete %v", len(paths), complete)
	}
	m = j.mark()
	j.modified("/x")
	if paths, complete = j.since(m); !complete || len(paths) != 1 {
		t.Errorf("%d paths, complete %v", len(paths), complete)
	}
}
