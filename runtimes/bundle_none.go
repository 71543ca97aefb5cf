//go:build !bundle

package runtimes

// bundled is empty: this program carries no interpreters, and fetches them.
var bundled string
