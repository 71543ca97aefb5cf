// Package parallel divides work on the functions of a module among the processors.
package parallel

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls do for the numbers below n, from several goroutines at once. Each of them has a do of its own, which start makes, and so
// may have memory of its own. Of several errors the one of the lowest number is returned, so that the error is the same on every run.
func Each(n int, start func() (do func(i int) error)) error {
	const batch = 64 // numbers taken at a time
	var (
		next   atomic.Int64
		mu     sync.Mutex
		first  error
		failed = n
		wg     sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			do := start()
			for {
				end := int(next.Add(batch))
				if end-batch >= n {
					return
				}
				for i := end - batch; i < min(end, n); i++ {
					err := do(i)
					if err == nil {
						continue
					}
					mu.Lock()
					if i < failed {
						failed, first = i, err
					}
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return first
}
