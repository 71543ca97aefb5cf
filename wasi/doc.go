// Package wasi is Cloche's own WASI preview1 host for wazero.
//
// It gives a guest the 46 functions of wasi_snapshot_preview1 over a [vfs.Namespace], and nothing else: no host
// file, environment variable, clock or socket that the run's [Config] does not hold. The files below it are
// package vfs's business; what a guest path may reach is decided there and only there.
//
// # State is per run, the host module is not
//
// [Instantiate] registers the functions once per wazero.Runtime. They hold no state: each call finds the [State]
// of its run in the context that the embedder passed to the exported function (see [WithState]), so an instance
// can be reset and given to the next run by swapping one pointer.
//
//	wazero.Runtime --- wasi_snapshot_preview1 (shared, stateless)
//	      |                     |
//	   instance  --- call --- ctx --- State (arguments, descriptors, clock, randomness)
//	                                    |
//	                                vfs.Namespace (mounts, files, quota)
//
// A State is not safe for concurrent use: one run is one goroutine. Different States share nothing that this
// package owns. No lock is held across calls into this package; the only goroutines that it starts are the ones
// that read a standard input which may block (see input).
//
// # What a guest may pass
//
// Pointers and lengths are uint32 and become slices only in guestmem.go, which checks the range in 64 bits. Guest
// bytes are copied before anything is decided on them. No allocation follows a number that the guest chose
// beyond a named constant (maxIovecs, maxSubscriptions, vfs.MaxPath). Results are stored only when a call
// succeeds, at addresses that were checked before the call had an effect.
//
// # Waiting
//
// Everything that waits (poll_oneoff, a read of standard input) waits through the run's [Clock], which ends it at
// the deadline, at cancellation or at an interrupt. Long copies ask between pieces whether the run may go on.
package wasi
