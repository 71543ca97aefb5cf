package web

import (
	"log/slog"
	"math"
	"strings"
	"sync"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
)

// maxLoggedCalls is the number of calls, and of requests, of one run that have a line in the log each. Programs may make a million,
// and must not fill a disk with them.
const maxLoggedCalls = 100

// logCalls puts each call of a tool and each request of a run in the log, with the rule that decided; of many the first, and how
// many more there were.
func (s *Server) logCalls(run *execution, res *engine.Result) {
	level := func(denied bool) slog.Level {
		if denied {
			return slog.LevelWarn
		}
		return slog.LevelInfo
	}
	of := []slog.Attr{slog.String("run", run.id), slog.String("key", run.key.Name)}
	for _, c := range res.ToolCalls[:min(len(res.ToolCalls), maxLoggedCalls)] {
		s.log(level(c.Outcome == hostfuncs.OutcomeRefused), "operation", "tool call", append(of[:2:2],
			slog.String("tool", c.Name), slog.String("outcome", c.Outcome), slog.String("rule", c.Rule), slog.Float64("ms", c.Milliseconds),
			slog.Int("request_bytes", c.RequestBytes), slog.Int("reply_bytes", c.ReplyBytes))...)
	}
	for _, q := range res.HTTPRequests[:min(len(res.HTTPRequests), maxLoggedCalls)] {
		s.log(level(!q.Allowed), "operation", "http request", append(of[:2:2],
			slog.String("method", q.Method), slog.String("url", withoutQuery(q.URL)), slog.Bool("allowed", q.Allowed), slog.String("reason", q.Reason),
			slog.Int("status", q.Status), slog.Float64("ms", q.Milliseconds), slog.Int("request_bytes", q.RequestBytes), slog.Uint64("bytes", q.Bytes))...)
	}
	if calls, requests := max(0, len(res.ToolCalls)-maxLoggedCalls), max(0, len(res.HTTPRequests)-maxLoggedCalls); calls+requests > 0 {
		s.log(slog.LevelWarn, "operation", "more calls than are logged", append(of[:2:2],
			slog.Int("tool_calls", calls), slog.Int("http_requests", requests))...)
	}
}

// withoutQuery is what the log has of a URL.
func withoutQuery(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return url
}

// denials counts by key what its programs were denied: requests that the policy does not allow, and calls of tools that were
// refused.
type denials struct {
	mu    sync.Mutex
	byKey map[string]uint64
}

// firstReport is the count at which a key's denials are reported for the first time. The next report comes at ten times as many.
const firstReport = 10

// add counts n more of a key. report says that the count has passed one at which it is to be reported.
func (d *denials) add(key string, n int) (total uint64, report bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.byKey == nil {
		d.byKey = map[string]uint64{}
	}
	before := d.byKey[key]
	total = before + uint64(n)
	d.byKey[key] = total
	at := uint64(firstReport)
	for at <= before && at <= math.MaxUint64/10 {
		at *= 10
	}
	return total, total >= at
}
