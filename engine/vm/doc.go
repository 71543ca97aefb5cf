// Package vm runs one kind of module: it compiles the module once, makes instances of it whose linear
// memory is an image, calls their exports under a fuel budget, and resets them. With packages wasi and
// hostfuncs it is the only place that knows wazero.
//
// A [Module] may be used from several goroutines. An [Instance] belongs to one goroutine at a time. A
// module that was rewritten with fuel (package rewrite) imports "cloche.refill" and exports its counter;
// [Instance.Run] hands it out in slices, each short enough that the Go scheduler and garbage collector
// never wait long for a guest:
//
//	budget |----slice----|----slice----|--slice...
//	                     ^ refill: Meter.Check (deadline, cancel), then the next slice or a Stop
//
// After a trap or a Stop an instance must be closed, never reused: its stack was cut anywhere.
package vm
