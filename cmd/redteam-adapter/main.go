// Command redteam-adapter lets the red-team suite drive the public engine API from outside: one JSON request file
// in, one JSON object out. The suite's README says what both hold; make redteam runs it.
//
//	redteam-adapter --features
//	redteam-adapter request.json
//	redteam-adapter --serve request.json PORT TOKEN     becomes the server that lies beside it
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// features are the suite's words for what the engine has. Cases that need another are skipped.
var features = []string{
	"python", "javascript", "numpy", "session", "mount_ro", "mount_rw", "zip_mount", "tmp", "memfs_quota", "fuel", "snapshot",
	"fetch", "tools", "door",
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "redteam-adapter:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 4 && args[0] == "--serve" {
		return serve(args[1], args[2], args[3])
	}
	if len(args) != 1 {
		return errors.New("usage: redteam-adapter --features | REQUEST.json | --serve REQUEST.json PORT TOKEN")
	}
	if args[0] == "--features" {
		return json.NewEncoder(out).Encode(map[string]any{"features": features})
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var req request
	if err := json.Unmarshal(text, &req); err != nil {
		return fmt.Errorf("request %s: %w", args[0], err)
	}
	answers, err := req.run(context.Background())
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(map[string]any{"steps": answers})
}

// request is a case of the suite.
type request struct {
	Steps  []step `json:"steps"`
	Policy struct {
		Mounts    []mount `json:"mount"`
		TmpBytes  uint64  `json:"tmp_bytes"`
		TmpInodes uint64  `json:"tmp_inodes"`

		Tools        []string `json:"tools"`
		FetchAllow   []string `json:"fetch_allow"`
		FetchPrivate []string `json:"fetch_private"`
	} `json:"policy"`
	Limits struct {
		Seconds     float64 `json:"seconds"`
		MemoryMiB   uint64  `json:"memory_mib"`
		Fuel        uint64  `json:"fuel"`
		OutputBytes uint64  `json:"output_bytes"`
		OpenFiles   uint64  `json:"open_files"`
		ToolCalls   int     `json:"tool_calls"`
		FetchCalls  uint64  `json:"fetch_calls"`
	} `json:"limits"`
	// Base is the folder that hosts and archives of mounts are below.
	Base string `json:"base"`
}

type mount struct {
	Host  string `json:"host"`
	Zip   string `json:"zip"`
	Guest string `json:"guest"`
	Write bool   `json:"write"`
}

type step struct {
	Language string            `json:"lang"`
	Code     string            `json:"code"`
	Stdin    string            `json:"stdin"`
	Env      map[string]string `json:"env"`
	Session  string            `json:"session"` // empty: a run of its own
	Op       string            `json:"op"`
	File     string            `json:"file"` // of Op, below Base
}

// answer is how a step ended.
type answer struct {
	Status  string  `json:"status"`
	Stdout  string  `json:"stdout"`
	Stderr  string  `json:"stderr"`
	Seconds float64 `json:"seconds"`
}

// run runs all steps with one engine. An error is one of the host's, which the suite calls a crash.
func (r *request) run(ctx context.Context) (_ []answer, err error) {
	eng, err := engine.New(engine.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	sessions := map[string]*engine.Session{}
	defer func() {
		for _, s := range sessions {
			err = errors.Join(err, s.Close())
		}
	}()
	answers := []answer{}
	for i, s := range r.Steps {
		begin := time.Now()
		res, err := r.step(ctx, eng, sessions, s)
		a := answer{Seconds: time.Since(begin).Seconds()}
		switch {
		case errors.Is(err, engine.ErrInvalid):
			a.Status, a.Stderr = "refused", err.Error()
		case err != nil:
			return nil, fmt.Errorf("step %d: %w", i, err)
		default:
			a.Status, a.Stdout, a.Stderr = word(res), res.Stdout, res.Stderr
		}
		answers = append(answers, a)
	}
	return answers, nil
}

func (r *request) step(ctx context.Context, eng *engine.Engine, sessions map[string]*engine.Session, s step) (*engine.Result, error) {
	o, stdin := r.options(s), strings.NewReader(s.Stdin)
	var err error
	if o.Network, err = r.network(); err != nil {
		return nil, err
	}
	if o.Tools, err = r.tools(); err != nil {
		return nil, err
	}
	if strings.Contains(s.Code, "rt_") {
		s.Code = shims[s.Language] + s.Code
	}
	if s.Session == "" {
		return eng.Run(ctx, engine.Job{
			Language: o.Language, Code: s.Code, Stdin: stdin, Env: o.Env, Mounts: o.Mounts, Limits: o.Limits,
			Network: o.Network, Tools: o.Tools,
		})
	}
	if s.Op == "snapshot" {
		return &engine.Result{Status: engine.StatusOK}, r.snapshot(ctx, sessions[s.Session], s.File)
	}
	if s.Op != "" {
		restored, err := r.restore(ctx, eng, s)
		if err != nil {
			return nil, err
		}
		sessions[s.Session] = restored
	}
	if sessions[s.Session] == nil {
		opened, err := eng.Open(ctx, o)
		if err != nil {
			return nil, err
		}
		sessions[s.Session] = opened
	}
	return sessions[s.Session].Run(ctx, engine.Turn{Code: s.Code, Stdin: stdin})
}

// options are the case's policy and limits in the engine's words. Every sandbox has a private /tmp.
func (r *request) options(s step) engine.Options {
	o := engine.Options{Language: s.Language, Env: s.Env, Limits: limits.Limits{
		Timeout:     time.Duration(r.Limits.Seconds * float64(time.Second)),
		MemoryBytes: r.Limits.MemoryMiB << 20, Fuel: r.Limits.Fuel, OutputBytes: r.Limits.OutputBytes,
		OpenFiles: r.Limits.OpenFiles, DiskBytes: r.Policy.TmpBytes, Inodes: r.Policy.TmpInodes,
	}}
	for _, m := range r.Policy.Mounts {
		given := limits.Mount{Host: filepath.Join(r.Base, m.Host+m.Zip), Guest: m.Guest, Mode: limits.ReadOnly}
		if m.Write {
			given.Mode = limits.ReadWrite
		}
		o.Mounts = append(o.Mounts, given)
	}
	return o
}

// word is the suite's name for how a run ended.
func word(res *engine.Result) string {
	switch res.Status {
	case engine.StatusOutOfFuel:
		return "fuel"
	case engine.StatusOutOfMemory:
		return "memory"
	case engine.StatusTrapped:
		if trap, ok := errors.AsType[*engine.Trap](res.Err()); ok && trap.StackOverflow() {
			return "stack"
		}
		return "trap"
	}
	return string(res.Status) // ok, error and timeout are called the same
}
