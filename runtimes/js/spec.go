package js

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/cloche-dev/cloche/engine/rewrite"
	"github.com/cloche-dev/cloche/runtimes"
)

// Spec says what JavaScript is made of and how it is started.
func Spec() runtimes.Spec {
	driver := New()
	return runtimes.Spec{
		Driver:      driver,
		Artifacts:   []string{"quickjs", "tzdata"},
		Open:        driver.open,
		Module:      "quickjs.wasm",
		Rewrite:     rewrite.Options{KeepExports: keepExports},
		Start:       []string{"_initialize"},
		Revision:    revision(),
		CompileTime: 2 * time.Second,
		BootTime:    time.Second,
	}
}

// revision changes with the guest's files and with what the driver does to an image.
func revision() string {
	const driverRevision = 4
	h := sha256.New()
	fmt.Fprintln(h, driverRevision, guestOrder, builtins)
	for _, file := range guestOrder {
		b, err := guestFiles.ReadFile("guest/" + file)
		if err != nil { // the files are part of the program
			panic(err)
		}
		fmt.Fprintf(h, "%s %d\n", file, len(b))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}
