package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi"
)

// TestUnnoticedInterrupt: an interrupt that came while the guest computed ends the wait that begins before it was noticed, and no
// other one.
func TestUnnoticedInterrupt(t *testing.T) {
	for _, unnoticed := range []bool{true, false} {
		interrupts, asked := 0, make(chan struct{})
		d := newDeadline(limits.Limits{Timeout: time.Hour, Grace: time.Hour}, func(context.Context) error { interrupts++; return nil })
		d.asked, d.unnoticed = asked, func() bool { return unnoticed }
		close(asked)
		if err := d.check(t.Context(), nil); err != nil || interrupts != 1 {
			t.Fatalf("%v, %d interrupts", err, interrupts)
		}
		for wait := range 3 {
			_, err := d.await(t.Context(), nil, time.Millisecond)
			if ended := errors.Is(err, wasi.ErrInterrupted); ended != (unnoticed && wait == 0) || !ended && err != nil || interrupts != 1 {
				t.Errorf("unnoticed %v, wait %d: %v, %d interrupts", unnoticed, wait, err, interrupts)
			}
		}
	}
}
