package rewrite

import (
	"fmt"

	"github.com/cloche-dev/cloche/engine/parallel"
	"github.com/cloche-dev/cloche/engine/wasmbin"
)

// eachFunc calls do for every defined function of m, as [parallel.Each] does. do may change what belongs to its function only.
func eachFunc(m *wasmbin.Module, do func(i int) error) error {
	return parallel.Each(len(m.Funcs), func() func(int) error {
		return func(i int) error {
			if err := do(i); err != nil {
				return fmt.Errorf("function %d: %w", i+m.Imported(wasmbin.KindFunc), err)
			}
			return nil
		}
	})
}
