package vfs_test

import (
	"testing"

	"github.com/cloche-dev/cloche/wasi/vfs"
	"github.com/cloche-dev/cloche/wasi/vfs/vfstest"
)

func runScript(t testing.TB, ns *vfs.Namespace, dir, text string) {
	t.Helper()
	vfstest.Script(t, ns, dir, text)
}
