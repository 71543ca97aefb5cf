package vm_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine/vm"
)

// TestGuestsBesideOthers: what else the program computes leaves guests a fair part of the processors: goroutines that do not give
// way, and guests that are mostly in host functions that last.
func TestGuestsBesideOthers(t *testing.T) {
	if os.Getenv("GOMAXPROCS") != "1" { // where there is no other processor to go to
		child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		child.Env = append(os.Environ(), "GOMAXPROCS=1")
		out, err := child.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		t.Logf("%s", out)
		return
	}
	m := compile(t)
	const guests = 3
	var instances []*vm.Instance
	for range 2 * guests {
		instances = append(instances, instance(t, m, vm.State{}, 4))
	}
	// guest computes until stop, and asks check meanwhile. It gives the fuel that it used.
	guest := func(i *vm.Instance, stop func() bool, check func(*vm.Meter)) uint64 {
		meter := &vm.Meter{Budget: 1 << 62}
		meter.Check = func(context.Context, vm.Guest) error {
			if check(meter); stop() {
				return errAsked
			}
			return nil
		}
		err := i.Run(context.Background(), meter, func(ctx context.Context) error {
			_, err := i.Call(ctx, "spin")
			return err
		})
		if !errors.Is(err, errAsked) {
			t.Error(err)
		}
		return meter.Used()
	}
	// computed is how much guests compute in a while.
	computed := func() (fuel uint64) {
		end := time.Now().Add(300 * time.Millisecond)
		var all sync.WaitGroup
		var sum atomic.Uint64
		for _, i := range instances[:guests] {
			all.Go(func() { sum.Add(guest(i, func() bool { return time.Now().After(end) }, func(*vm.Meter) {})) })
		}
		all.Wait()
		return sum.Load()
	}
	compute := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end); {
		}
	}
	for name, others := range map[string]struct {
		part    uint64 // guests compute more than this part of what they do alone
		compute func(i *vm.Instance, stop func() bool)
	}{
		"goroutines": {50, func(_ *vm.Instance, stop func() bool) {
			for !stop() {
			}
		}},
		"host functions": {8, func(i *vm.Instance, stop func() bool) {
			guest(i, stop, func(m *vm.Meter) {
				for range 10 {
					compute(2 * time.Millisecond)
					i.Yield(m)
				}
			})
		}},
	} {
		fair := false
		for range 5 { // on a busy machine times differ
			alone := computed()
			var stop atomic.Bool
			var all sync.WaitGroup
			for _, i := range instances[guests:] {
				all.Go(func() { others.compute(i, stop.Load) })
			}
			beside := computed()
			stop.Store(true)
			all.Wait()
			t.Logf("%s: alone %d, beside others %d: %.3f", name, alone, beside, float64(beside)/float64(alone))
			if fair = beside > alone/others.part; fair {
				break
			}
		}
		if !fair {
			t.Errorf("guests have next to nothing beside %s", name)
		}
	}
}
