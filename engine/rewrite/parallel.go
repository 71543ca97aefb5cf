package rewrite

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// eachFunc calls do for every defined function of m, from several goroutines at once. do may change
// what belongs to its function only. Of several errors the one of the lowest index is returned, so that
// the error is the same on every run.
func eachFunc(m *wasmbin.Module, do func(i int) error) error {
	const batch = 64 // functions taken at a time
	var (
		next   atomic.Int64
		mu     sync.Mutex
		first  error
		failed = len(m.Funcs)
		wg     sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				end := int(next.Add(batch))
				if end-batch >= len(m.Funcs) {
					return
				}
				for i := end - batch; i < min(end, len(m.Funcs)); i++ {
					err := do(i)
					if err == nil {
						continue
					}
					mu.Lock()
					if i < failed {
						failed, first = i, fmt.Errorf("function %d: %w", i+m.Imported(wasmbin.KindFunc), err)
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return first
}
