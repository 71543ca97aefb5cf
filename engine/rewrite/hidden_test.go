package rewrite_test

import (
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/engine/wasmbin"
	"github.com/cloche-dev/cloche/engine/wasmbin/wat"
)

// TestHiddenLoop: wazero takes the first byte of a vector instruction's number for the whole of it. What follows is, for us, where
// v128.load16_lane reads, and for wazero the end of the block and the begin of a loop, which nothing would meter.
func TestHiddenLoop(t *testing.T) {
	m, err := wat.Parse(`(module (memory 1) (func))`)
	if err != nil {
		t.Fatal(err)
	}
	vector := "\xfd\x0c" + strings.Repeat("\x00", 16)
	m.Funcs[0].Body = []byte("\x00\x02\x40" + vector + vector + "\x41\x01\x0d\x00" + "\xfd\xd5\x00\x0b\x03\x40" + "\x0c\x00\x0b\x0b")
	if _, err := rewrite.Rewrite(wasmbin.Encode(m), rewrite.Options{Fuel: true}); err == nil || !strings.Contains(err.Error(), "longer than it must be") {
		t.Errorf("error %v", err)
	}
	m.Funcs[0].Body = []byte("\x00\x02\x40" + vector + vector + "\x41\x01\x0d\x00" + "\xfd\x55\x0b\x03\x40" + "\x0c\x00\x0b\x0b")
	if _, err := rewrite.Rewrite(wasmbin.Encode(m), rewrite.Options{Fuel: true}); err != nil {
		t.Errorf("as it is read here: %v", err)
	}
}
