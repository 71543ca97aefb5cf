package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// serve becomes "cloche serve" on a port of the loopback address, with the policy and the limits of a case and one key. It
// takes the program that lies beside this one.
func serve(file, port, token string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var req request
	if err := json.Unmarshal(text, &req); err != nil {
		return fmt.Errorf("request %s: %w", file, err)
	}
	config := file + ".toml" // whoever made the request removes its folder
	if err := os.WriteFile(config, []byte(req.config()), 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cloche := filepath.Join(filepath.Dir(self), "cloche")
	return syscall.Exec(cloche, []string{cloche, "serve", "--listen", "127.0.0.1:" + port, "--config", config}, append(os.Environ(), "CLOCHE_KEY="+token))
}

// config is the case's policy in the words of the server's configuration.
func (r *request) config() string {
	var b strings.Builder
	quoted := func(list []string) string {
		out := make([]string, len(list))
		for i, s := range list {
			out[i] = strconv.Quote(s)
		}
		return "[" + strings.Join(out, ", ") + "]"
	}
	fmt.Fprintln(&b, "[policies.default.limits]")
	for _, l := range []struct {
		key   string
		value uint64
	}{
		{"memory", r.Limits.MemoryMiB << 20}, {"fuel", r.Limits.Fuel}, {"output", r.Limits.OutputBytes}, {"open_files", r.Limits.OpenFiles},
		{"disk", r.Policy.TmpBytes}, {"inodes", r.Policy.TmpInodes},
	} {
		if l.value > 0 {
			fmt.Fprintf(&b, "%s = %d\n", l.key, l.value)
		}
	}
	if r.Limits.Seconds > 0 {
		fmt.Fprintf(&b, "timeout = \"%dms\"\n", int(r.Limits.Seconds*1000))
	}
	if len(r.Policy.FetchAllow) > 0 {
		fmt.Fprintf(&b, "[policies.default.network]\nallow = %s\nprivate = %s\n", quoted(r.Policy.FetchAllow), quoted(r.Policy.FetchPrivate))
	}
	for _, m := range r.Policy.Mounts {
		mode := "ro"
		if m.Write {
			mode = "rw"
		}
		fmt.Fprintf(&b, "[policies.default.mounts.%q]\nhost = %q\nmode = %q\n", m.Guest, filepath.Join(r.Base, m.Host+m.Zip), mode)
	}
	return b.String()
}
