// Command cases-adapter lets a suite of cases drive the public engine API: one JSON request on standard input, one JSON
// outcome on standard output, as the suite's runner says (run_cases.py --adapter cmd). make cases runs it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cases-adapter:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var req request
	if err := json.NewDecoder(in).Decode(&req); err != nil {
		return fmt.Errorf("request: %w", err)
	}
	answer, err := req.run(context.Background())
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(answer)
}

// request is a case of the suite. Bytes are base64 in JSON.
type request struct {
	Language string            `json:"language"`
	Mode     string            `json:"mode"` // run: one turn in a fresh sandbox; session
	Files    map[string][]byte `json:"files_b64"`
	Turns    []turn            `json:"turns"`
	Limits   struct {
		MemoryMB    uint64 `json:"memory_mb"`
		OutputBytes uint64 `json:"output_bytes"`
	} `json:"limits"`
	Allow []string          `json:"allow"`
	Env   map[string]string `json:"env"`
}

type turn struct {
	Code     string  `json:"code"`
	Session  string  `json:"session"`
	Stdin    []byte  `json:"stdin_b64"`
	TimeoutS float64 `json:"timeout_s"`
}

// answer is what became of all turns, and the files in the working folder after them.
type answer struct {
	Turns []outcome         `json:"turns"`
	Files map[string][]byte `json:"files_b64"`
}

type outcome struct {
	ExitCode  int      `json:"exit_code"`
	Status    string   `json:"status"`
	Stdout    []byte   `json:"stdout_b64"`
	Stderr    []byte   `json:"stderr_b64"`
	Truncated bool     `json:"truncated"`
	Value     *string  `json:"value"`
	Error     *failure `json:"error"`
	Charts    [][]byte `json:"charts_b64"`
	WallS     float64  `json:"wall_s"`
}

type failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Line    *int   `json:"line"`
}

func (r *request) run(ctx context.Context) (_ *answer, err error) {
	eng, err := engine.New(engine.Config{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	var network *fetch.Policy // nil: none at all
	if len(r.Allow) > 0 {
		if network, err = fetch.FromPolicy(&limits.Network{Allow: r.Allow}, os.Getenv); err != nil {
			return nil, err
		}
	}
	o := engine.Options{Language: r.Language, Env: r.Env, Network: network, Limits: limits.Limits{
		MemoryBytes: r.Limits.MemoryMB << 20, OutputBytes: r.Limits.OutputBytes,
	}}
	for name, content := range r.Files {
		o.Files = append(o.Files, engine.File{Path: name, Content: content})
	}
	made := &answer{Files: map[string][]byte{}}
	if r.Mode == "run" {
		return made, r.once(ctx, eng, o, made)
	}
	return made, r.sessions(ctx, eng, o, made)
}

// once runs the only turn in a sandbox of its own.
func (r *request) once(ctx context.Context, eng *engine.Engine, o engine.Options, made *answer) error {
	t := r.Turns[0]
	o.Limits.Timeout = t.timeout()
	res, err := eng.Run(ctx, engine.Job{
		Language: o.Language, Code: t.Code, Stdin: t.stdin(), Env: o.Env, Files: o.Files, Limits: o.Limits, Network: o.Network,
	})
	if err != nil {
		return err
	}
	made.Turns = append(made.Turns, told(res))
	return made.collect(res.Files())
}

// sessions runs each turn in the session that it names.
func (r *request) sessions(ctx context.Context, eng *engine.Engine, o engine.Options, made *answer) (err error) {
	open := map[string]*engine.Session{}
	defer func() {
		for _, s := range open {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, t := range r.Turns {
		s := open[t.Session]
		if s == nil {
			if s, err = eng.Open(ctx, o); err != nil {
				return err
			}
			open[t.Session] = s
		}
		res, err := s.Run(ctx, engine.Turn{Code: t.Code, Stdin: t.stdin(), Limits: limits.Limits{Timeout: t.timeout()}})
		if err != nil {
			return err
		}
		made.Turns = append(made.Turns, told(res))
	}
	for _, s := range open {
		if err := made.collect(s.Files()); err != nil {
			return err
		}
	}
	return nil
}

func (t turn) timeout() time.Duration { return time.Duration(t.TimeoutS * float64(time.Second)) }

func (t turn) stdin() io.Reader { return strings.NewReader(string(t.Stdin)) }

// told is a result in the suite's words.
func told(res *engine.Result) outcome {
	o := outcome{
		ExitCode: res.ExitCode, Status: word(res.Status), Stdout: []byte(res.Stdout), Stderr: []byte(res.Stderr),
		Truncated: res.Truncated != nil, Charts: res.Charts(), WallS: res.Usage.Wall.Seconds(),
	}
	if v, ok := res.Value(); ok {
		o.Value = &v
	}
	if e := res.Error; e != nil {
		o.Error = &failure{Type: e.Name, Message: e.Value}
		if e.Line > 0 {
			o.Error.Line = &e.Line
		}
	}
	return o
}

func word(s engine.Status) string {
	switch s {
	case engine.StatusOutOfMemory:
		return "memory"
	case engine.StatusTrapped:
		return "crash"
	}
	return string(s) // ok, error and timeout are called the same
}

// collect adds what is in the working folder.
func (a *answer) collect(files *engine.Files) error {
	dir, err := files.FS("/data")
	if err != nil {
		return err
	}
	return fs.WalkDir(dir, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		a.Files[name], err = fs.ReadFile(dir, name)
		return err
	})
}
