//go:build !unix

package main

// tryExecutableMemory cannot be tried here: it is taken to work.
func tryExecutableMemory() error { return nil }
