package main

import (
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/runtimes"
)

func TestDoctorTellsSlowCode(t *testing.T) {
	if r := runtimeOf(runtimes.Status{Language: "python"}); r.State != stateSlow || !strings.Contains(r.Why, "machine code") {
		t.Errorf("code that is not laid out: %+v", r)
	}
	if r := runtimeOf(runtimes.Status{Language: "python", LaidOut: true}); r.State != stateOK {
		t.Errorf("code that is: %+v", r)
	}
}
