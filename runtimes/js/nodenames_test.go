package js

import (
	"strings"
	"testing"
)

func TestUsedNames(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"1 + 1", ""},
		{"process.exit(1); require('fs')", "process require"},
		{"typeof module !== 'undefined' && module.exports", "module"},
		{"x.process; x?.require; f().global; 'process.env'; \"require()\"; /module/; `exports`; // __filename", ""},
		{"globalThis.process; globalThis?.require; global.module; this.exports", "process require global module exports"},
		{"`${process.cwd()} ${`${__dirname}`}`", "process __dirname"},
		{"const { process: p, require } = globalThis", "process require"},
		{"globalThis['process']; \"global\" in globalThis", "process global"},
		{"processes; required; $module", ""},
	} {
		if got := strings.Join(usedNames(tt.src, nodeNames, nil), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.src, got, tt.want)
		}
	}
	if got := usedNames("require; process", fileNames, nil); len(got) != 1 || got[0] != "process" {
		t.Errorf("of a CommonJS file: %q", got)
	}
}
