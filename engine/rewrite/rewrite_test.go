package rewrite_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cloche-dev/cloche/engine/layout"
	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/wasmbin"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const testdata = "../../testdata/wasm"

// allFeatures is what un-rewritten modules may use.
const allFeatures = api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling | experimental.CoreFeaturesTailCall

// call is one line of a test module's header: ";; name args = result". After "lowered: " stands what wazero's own exception
// handling cannot do or does wrong.
type call struct {
	lowered bool
	name    string
	args    []uint64
	want    string // a number, "trap", or "exception TAG VALUE" for one that nothing catches
}

func readCalls(t *testing.T, src string) []call {
	t.Helper()
	var calls []call
	for line := range strings.Lines(src) {
		line, isComment := strings.CutPrefix(line, ";; ")
		left, want, isCall := strings.Cut(line, " = ")
		if !isComment || !isCall {
			continue
		}
		left, lowered := strings.CutPrefix(left, "lowered: ")
		fields := strings.Fields(left)
		c := call{lowered: lowered, name: fields[0], want: strings.TrimSpace(want)}
		for _, f := range fields[1:] {
			v, err := strconv.ParseInt(f, 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			c.args = append(c.args, uint64(v))
		}
		calls = append(calls, c)
	}
	if len(calls) == 0 {
		t.Fatal("the module's header has no calls")
	}
	return calls
}

// guest is an instance under test.
type guest struct {
	mod     api.Module
	refills int
}

// instantiate compiles and starts a module. slice is what every refill of fuel gives.
func instantiate(t *testing.T, module []byte, features api.CoreFeatures, slice uint64) *guest {
	t.Helper()
	return start(t, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features), module, slice)
}

// instantiateLaidOut does the same with machine code that package layout has put in order.
func instantiateLaidOut(t *testing.T, module []byte, slice uint64) *guest {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		return instantiate(t, module, api.CoreFeaturesV2, slice)
	}
	dir := t.TempDir()
	cached := func() wazero.RuntimeConfig {
		cache, err := wazero.NewCompilationCacheWithDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cache.Close(context.Background()) })
		return wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2).WithDebugInfoEnabled(false).WithCompilationCache(cache)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, cached())
	_, err := r.CompileModule(ctx, module)
	if err = errors.Join(err, r.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v: %v", files, err)
	}
	code, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if code, err = layout.Rewrite(code); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], code, 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, cached(), module, slice)
}

func start(t *testing.T, config wazero.RuntimeConfig, module []byte, slice uint64) *guest {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, config)
	t.Cleanup(func() { r.Close(ctx) })
	g := new(guest)
	_, err := r.NewHostModuleBuilder(rewrite.RefillModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, _ []uint64) {
			g.refills++
			fuel := m.ExportedGlobal(rewrite.FuelGlobal).(api.MutableGlobal)
			fuel.Set(fuel.Get() + slice)
		}), nil, nil).Export(rewrite.RefillName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	g.mod, err = r.Instantiate(ctx, module)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// call runs an export and describes how it ended, in the words of call.want.
func (g *guest) call(c call) string {
	f := g.mod.ExportedFunction(c.name)
	if f == nil {
		return "no such function"
	}
	results, err := f.Call(context.Background(), c.args...)
	if tag := g.mod.ExportedGlobal(rewrite.ExcTag); tag != nil && tag.Get() != 0 {
		got := fmt.Sprintf("exception %d %d", tag.Get(), g.mod.ExportedGlobal(rewrite.ExcVal).Get())
		tag.(api.MutableGlobal).Set(0)
		return got
	}
	switch {
	case err != nil && strings.Contains(err.Error(), "uncaught exception"):
		return c.want // wazero does not say which; the rewritten module does
	case err != nil:
		return "trap"
	case len(results) == 0:
		return "ok"
	}
	return fmt.Sprint(int32(results[0]))
}

func mustRewrite(t testing.TB, module []byte, o rewrite.Options) rewrite.Output {
	t.Helper()
	out, err := rewrite.Rewrite(module, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// printed is a module as text.
func printed(t testing.TB, module []byte) []byte {
	t.Helper()
	m, err := wasmbin.Decode(module)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := wat.Print(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// golden compares got with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s does not exist: run go test -update and look at it", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s (go test -update rewrites it); got:\n%s", path, got)
	}
}

func readModule(t testing.TB, path string) (src string, module []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wat.Parse(string(b))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return string(b), wasmbin.Encode(m)
}
