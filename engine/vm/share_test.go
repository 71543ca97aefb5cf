package vm_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
)

// TestGuestsBesideGoroutines: what else the program computes, without giving way, leaves guests a fair part of the processors.
func TestGuestsBesideGoroutines(t *testing.T) {
	if os.Getenv("GOMAXPROCS") != "1" { // where there is no other processor to go to
		child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
		child.Env = append(os.Environ(), "GOMAXPROCS=1")
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	m := compile(t)
	// computed is how much as many guests as there are processors compute in a while.
	computed := func() (fuel uint64) {
		const while = 300 * time.Millisecond
		var all sync.WaitGroup
		var sum atomic.Uint64
		for range runtime.GOMAXPROCS(0) {
			i := instance(t, m, vm.State{}, 4)
			all.Go(func() {
				end := time.Now().Add(while)
				meter := &vm.Meter{Budget: 1 << 62, Check: func(context.Context, vm.Guest) error {
					if time.Now().After(end) {
						return errAsked
					}
					return nil
				}}
				err := i.Run(context.Background(), meter, func(ctx context.Context) error {
					_, err := i.Call(ctx, "spin")
					return err
				})
				if !errors.Is(err, errAsked) {
					t.Error(err)
				}
				sum.Add(meter.Used())
			})
		}
		all.Wait()
		return sum.Load()
	}
	for range 5 { // on a busy machine times differ
		alone := computed()
		var stop atomic.Bool
		var others sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			others.Go(func() {
				for !stop.Load() {
				}
			})
		}
		beside := computed()
		stop.Store(true)
		others.Wait()
		t.Logf("alone %d, beside others %d", alone, beside)
		if beside > alone/50 {
			return
		}
	}
	t.Error("guests have next to nothing beside goroutines that compute")
}
