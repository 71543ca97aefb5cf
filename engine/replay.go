package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cloche-dev/cloche/limits"
)

// A Replay is what running a receipt again has shown.
type Replay struct {
	// Same says that everything in the receipt's outcome came out again.
	Same        bool         `json:"same"`
	Differences []Difference `json:"differences,omitempty"`
	// Result is that of the replay; nil when it asked its host for something else than the run did, and was stopped there.
	Result *Result `json:"result,omitempty"`
}

// Difference is one field of a receipt that came out otherwise.
type Difference struct {
	Field    string `json:"field"` // such as outcome.stdout.sha256
	Expected string `json:"expected"`
	Got      string `json:"got"`
}

// replaySlack is how many times as long as the run was allowed a replay may take: that does not decide what it does.
const replaySlack = 10

// Replay runs what a receipt records, with the answers that it holds in the place of tools and network, and compares. An
// error that wraps [ErrReceipt] says why it cannot be run: it is malformed, unrepeatable, or of another build of the
// interpreter, a template or packages.
func (e *Engine) Replay(ctx context.Context, r *Receipt) (*Replay, error) {
	if r.Unrepeatable != "" {
		return nil, badReceipt("the run cannot be repeated: %s", r.Unrepeatable)
	}
	if err := e.canRun(ctx, r); err != nil {
		return nil, err
	}
	job := r.again(Job{})
	job.Limits.Timeout = min(replaySlack*min(job.Limits.Or(e.cfg.Limits).Timeout, limits.MaxTimeout), limits.MaxTimeout)
	answers := &player{calls: r.HostCalls, tools: r.Job.Tools}
	res, err := e.run(ctx, job, answers)
	if d, ok := errors.AsType[*divergence](err); ok {
		return &Replay{Differences: []Difference{d.Difference}}, nil
	}
	if err != nil {
		return nil, err
	}
	if res.Status == StatusCancelled && ctx.Err() != nil {
		return nil, fmt.Errorf("replay: %w", context.Cause(ctx))
	}
	out := &Replay{Result: res, Differences: compare("outcome", r.Outcome, outcomeOf(res))}
	if n := len(r.HostCalls); answers.next < n {
		out.Differences = append(out.Differences, Difference{"host_calls", fmt.Sprint(n), fmt.Sprint(answers.next)})
	}
	out.Same = len(out.Differences) == 0
	return out, nil
}

// canRun says what is wrong with running a receipt again here.
func (e *Engine) canRun(ctx context.Context, r *Receipt) error {
	if err := r.check(); err != nil {
		return err
	}
	image, err := e.imageOf(ctx, r.again(Job{}).options())
	if err != nil {
		return err
	}
	if found := compare("image", r.Image, image); len(found) > 0 {
		d := found[0]
		return badReceipt("it was made with another build: %s is %s there and %s here", d.Field, d.Expected, d.Got)
	}
	return nil
}

// compare lists where two values of one type differ, in their JSON forms.
func compare(field string, want, got any) []Difference {
	return compareJSON(field, generic(want), generic(got))
}

// generic is the JSON form of a value, in maps and slices.
func generic(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err = d.Decode(&out)
	}
	if err != nil {
		panic(fmt.Sprintf("a part of a receipt is no JSON: %v", err)) // all of them came from JSON, or are plain
	}
	return out
}

func compareJSON(field string, want, got any) (out []Difference) {
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok {
			keys := maps.Clone(want)
			maps.Copy(keys, got)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				out = append(out, compareJSON(field+"."+key, want[key], got[key])...)
			}
			return out
		}
	case []any:
		if got, ok := got.([]any); ok && len(want) == len(got) {
			for i := range want {
				out = append(out, compareJSON(fmt.Sprintf("%s[%d]", field, i), want[i], got[i])...)
			}
			return out
		}
	}
	if a, b := brief(want), brief(got); a != b {
		return []Difference{{field, a, b}}
	}
	return nil
}

// brief is the JSON text of a value.
func brief(v any) string {
	if v == nil {
		return "none"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
