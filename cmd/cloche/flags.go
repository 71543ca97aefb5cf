package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/wasi"
)

// sizeFlag is a number of bytes in human form.
type sizeFlag uint64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *sizeFlag) UnmarshalText(b []byte) error {
	n, err := limits.ParseSize(string(b))
	if err == nil && n == 0 {
		err = usagef("a limit cannot be zero")
	}
	*f = sizeFlag(n)
	return err
}

// countFlag is a whole number in human form.
type countFlag uint64

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *countFlag) UnmarshalText(b []byte) error {
	n, err := limits.ParseCount(string(b))
	if err == nil && n == 0 {
		err = usagef("a limit cannot be zero")
	}
	*f = countFlag(n)
	return err
}

// durationFlag is a duration in human form.
type durationFlag time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *durationFlag) UnmarshalText(b []byte) error {
	d, err := limits.ParseDuration(string(b))
	if err == nil && d == 0 {
		err = usagef("a limit cannot be zero")
	}
	*f = durationFlag(d)
	return err
}

// clockFlag is a time as RFC 3339 writes it.
type clockFlag time.Time

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *clockFlag) UnmarshalText(b []byte) error {
	t, err := time.Parse(time.RFC3339, string(b))
	if err != nil {
		return usagef("time %q is not understood: write it as 2026-01-31T12:00:00Z", b)
	}
	*f = clockFlag(t)
	return wasi.CheckStart(t)
}

// mountFlag is HOST:GUEST[:ro|rw|overlay].
type mountFlag limits.Mount

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *mountFlag) UnmarshalText(b []byte) error {
	m, err := limits.ParseMount(string(b))
	*f = mountFlag(m)
	return err
}

// pairFlag is NAME=VALUE.
type pairFlag struct{ name, value string }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *pairFlag) UnmarshalText(b []byte) error {
	name, value, ok := strings.Cut(string(b), "=")
	if !ok || name == "" {
		return usagef("%q is not understood: write NAME=VALUE", b)
	}
	*f = pairFlag{name, value}
	return nil
}

// fileFlag is GUEST=HOST, or HOST for a file that keeps its name.
type fileFlag pairFlag

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *fileFlag) UnmarshalText(b []byte) error {
	if host := string(b); !strings.Contains(host, "=") && host != "" {
		*f = fileFlag{filepath.Base(host), host}
		return nil
	}
	if (*pairFlag)(f).UnmarshalText(b) != nil || f.value == "" {
		return usagef("%q is not understood: write GUEST=HOST, or HOST alone", b)
	}
	return nil
}

// jsonFlag is NAME=JSON.
type jsonFlag struct {
	name  string
	value json.RawMessage
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *jsonFlag) UnmarshalText(b []byte) error {
	var p pairFlag
	if err := p.UnmarshalText(b); err != nil {
		return usagef("%q is not understood: write NAME=JSON", b)
	}
	if !json.Valid([]byte(p.value)) {
		return usagef(`the value of %s is not JSON (a text needs quotes: %s='"text"')`, p.name, p.name)
	}
	*f = jsonFlag{p.name, json.RawMessage(p.value)}
	return nil
}
