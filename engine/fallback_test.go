package engine_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/cloche-dev/cloche/engine/memimage"
)

// methodChild names the method by which the memories of a process of tests are reset.
const methodChild = "CLOCHE_TEST_METHOD"

// TestFallbacks runs tests of sessions and snapshots in processes that reset memories as systems do which have
// no PAGEMAP_SCAN, no way to tell private pages, or no copy-on-write at all.
func TestFallbacks(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getenv(methodChild) != "" {
		t.Skip("where Linux can play the others")
	}
	testEngine(t)
	for _, m := range []memimage.Method{memimage.Pagemap, memimage.Remap, memimage.Copy} {
		cmd := exec.Command(os.Args[0], "-test.v", "-test.run",
			"^(TestMethodIsForced|TestSessionKeepsVariables|TestSessionSurvives|TestSessionOnErrorRollback|TestSessionReset|TestFork|TestSnapshotAndRestore|TestRollback|TestVariants|TestCutInstanceIsNotUsedAgain)$")
		cmd.Env = append(os.Environ(), methodChild+"="+m.String())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", m, err, out)
		}
	}
}

// TestMethodIsForced checks, in such a process, that it is one.
func TestMethodIsForced(t *testing.T) {
	want := os.Getenv(methodChild)
	if want == "" {
		t.Skip("for processes that TestFallbacks starts")
	}
	l, err := memimage.New(memimage.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Free()
	if got := l.Method().String(); got != want {
		t.Errorf("memories are reset by %s, want %s", got, want)
	}
}
