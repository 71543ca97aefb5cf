package web

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

// AuditRecord says that a program ran: who sent it, what it was, and what it did.
type AuditRecord struct {
	Time         time.Time               `json:"time"`
	ID           string                  `json:"id"`
	Key          string                  `json:"key"`
	Policy       string                  `json:"policy,omitempty"` // name of the key's
	RequestID    string                  `json:"request_id,omitempty"`
	TraceID      string                  `json:"trace_id,omitempty"`
	SessionID    string                  `json:"session_id,omitempty"`
	Language     string                  `json:"language"`
	CodeSHA256   string                  `json:"code_sha256,omitempty"` // not of the rest of a suspended turn
	Code         string                  `json:"code,omitempty"`        // where the operator asks for it
	Status       string                  `json:"status"`                // of the Result, or failed
	ExitCode     int                     `json:"exit_code"`
	Network      bool                    `json:"network"` // whether it had one
	Usage        *limits.Usage           `json:"usage,omitempty"`
	ToolCalls    []hostfuncs.ToolCall    `json:"tool_calls,omitempty"`    // the first ones
	HTTPRequests []hostfuncs.HTTPRequest `json:"http_requests,omitempty"` // the first ones
	Calls        int                     `json:"calls"`                   // how many of both there were
	Denied       int                     `json:"denied,omitempty"`        // how many of them the policy, a budget or a schema refused
}

// AuditList answers GET /v1/audit, newest first.
type AuditList struct {
	Records []AuditRecord `json:"records"`
}

// statusFailed is the status of a run that has no Result.
const statusFailed = "failed"

const (
	maxAudited      = 10_000  // records in memory
	maxAuditedBytes = 8 << 20 // of text in memory
	maxAuditedCalls = 20      // of each kind, in a record
	maxAuditAnswer  = 1000
)

// audit keeps the last records, and writes all of them to a file.
type audit struct {
	code bool

	// mu guards all below.
	mu      sync.Mutex
	records []AuditRecord // oldest first
	bytes   int           // of text in records
	file    io.WriteCloser
	failed  bool // writing the last record failed, and that was said
	torn    bool // a part of it was written
}

func newAudit(code bool, file string) (*audit, error) {
	a := &audit{code: code}
	if file != "" {
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, fmt.Errorf("audit: %w", err)
		}
		a.file = f
	}
	return a, nil
}

func (a *audit) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file == nil {
		return nil
	}
	err := a.file.Close()
	a.file = nil
	return err
}

// recordOf is what is known of a run that ended.
func (a *audit) recordOf(run *execution, res *engine.Result) AuditRecord {
	r := AuditRecord{
		Time: run.started.UTC(), ID: run.id, Key: run.key.Name, Policy: run.key.Policy.Name, RequestID: run.requestID, TraceID: run.traceID, SessionID: run.session,
		Language: run.language, Status: statusFailed, Network: run.network,
	}
	if run.code != "" {
		sum := sha256.Sum256([]byte(run.code))
		r.CodeSHA256 = hex.EncodeToString(sum[:])
	}
	if a.code {
		r.Code = run.code
	}
	if res != nil {
		usage := res.Usage // a copy, so that the record does not keep the whole Result
		r.Status, r.ExitCode, r.Usage = string(res.Status), res.ExitCode, &usage
		r.Calls = len(res.ToolCalls) + len(res.HTTPRequests)
		r.ToolCalls, r.HTTPRequests = first(res.ToolCalls), first(res.HTTPRequests)
	}
	return r
}

// ranOf is what is counted of a run.
func ranOf(record AuditRecord, run *execution, res *engine.Result) Ran {
	r := Ran{Record: record, Waited: run.waited}
	if res == nil || record.Calls == 0 {
		return r
	}
	r.Tools, r.Requests = map[string]int{}, map[string]int{}
	for _, c := range res.ToolCalls {
		r.Tools[c.Outcome]++
	}
	for _, q := range res.HTTPRequests {
		r.Requests[strconv.FormatBool(q.Allowed)]++
	}
	return r
}

func first[T any](list []T) []T {
	return append([]T(nil), list[:min(len(list), maxAuditedCalls)]...)
}

// size is how much text a record holds: programs choose what they ask of the network.
func (r *AuditRecord) size() int {
	n := len(r.ID) + len(r.Key) + len(r.Policy) + len(r.RequestID) + len(r.TraceID) + len(r.SessionID) + len(r.Language) + len(r.CodeSHA256) + len(r.Code) + len(r.Status)
	for _, c := range r.ToolCalls {
		n += len(c.Name) + len(c.Outcome)
	}
	for _, q := range r.HTTPRequests {
		n += len(q.Method) + len(q.URL) + len(q.Reason)
	}
	return n
}

// add keeps a record. The error is the file's, told once until it can be written again: a disk that was full for a moment must not
// end the record of what runs.
func (a *audit) add(r AuditRecord) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.records = append(a.records, r)
	a.bytes += r.size()
	n := 0
	for ; len(a.records)-n > maxAudited || a.bytes > maxAuditedBytes && n < len(a.records)-1; n++ {
		a.bytes -= a.records[n].size()
		a.records[n] = AuditRecord{}
	}
	a.records = a.records[n:]
	if a.file == nil {
		return nil
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if a.torn {
		line = append([]byte{'\n'}, line...)
	}
	written, err := a.file.Write(line)
	said := a.failed
	a.failed, a.torn = err != nil, err != nil && (written > 0 || a.torn)
	if said {
		return nil
	}
	return err
}

// find returns the last records that match, newest first.
func (a *audit) find(most int, match func(*AuditRecord) bool) []AuditRecord {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := []AuditRecord{}
	for i := len(a.records) - 1; i >= 0 && len(out) < most; i-- {
		if match(&a.records[i]) {
			out = append(out, a.records[i])
		}
	}
	return out
}

// getAudit answers with what the key's programs did; an admin key sees those of all keys.
func (s *Server) getAudit(x *exchange, c echo.Context) error {
	most := 100
	if text := c.QueryParam("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxAuditAnswer {
			return invalidf("limit is %s, must be from 1 to %d", quoted(text), maxAuditAnswer)
		}
		most = n
	}
	var since time.Time
	if text := c.QueryParam("since"); text != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			return invalidf("since is %s: write a time such as 2026-01-02T15:04:05Z", quoted(text))
		}
	}
	key, status, session, language := c.QueryParam("key"), c.QueryParam("status"), c.QueryParam("session_id"), c.QueryParam("language")
	if status != "" && !slices.Contains(statuses, status) {
		return invalidf("status is %s: there are %s", quoted(status), strings.Join(statuses, ", "))
	}
	if _, err := languageOf(language); err != nil {
		return err
	}
	if !x.key.Admin {
		if key != "" && key != x.key.Name {
			return fail(http.StatusForbidden, codeForbidden, "the audit of other keys is for admin keys")
		}
		key = x.key.Name
	}
	is := func(want, got string) bool { return want == "" || want == got }
	return replyList(x, http.StatusOK, `{"records":[`, slices.Values(s.audit.find(most, func(r *AuditRecord) bool {
		return is(key, r.Key) && is(status, r.Status) && is(session, r.SessionID) && is(language, r.Language) && !r.Time.Before(since)
	})))
}

// recordRun puts a run that ended on record: in the audit, the log and the metrics.
func (s *Server) recordRun(run *execution, res *engine.Result) {
	r := s.audit.recordOf(run, res)
	ran := ranOf(r, run, res)
	if s.cfg.OnRun != nil {
		s.cfg.OnRun(ran)
	} else {
		s.record(ran)
	}
	attrs := []slog.Attr{
		slog.String("run", run.id), slog.String("key", run.key.Name), slog.String("language", run.language), slog.String("status", r.Status),
		slog.String("request_id", run.requestID),
	}
	if run.session != "" {
		attrs = append(attrs, slog.String("session", run.session))
	}
	if run.traceID != "" {
		attrs = append(attrs, slog.String("trace_id", run.traceID))
	}
	if res == nil {
		if e, fault := asAPIError(run.err); fault != nil {
			s.log(slog.LevelError, "error", "run failed", append(attrs, slog.String("error", fault.Error()))...)
		} else {
			s.log(slog.LevelInfo, "operation", "run refused", append(attrs, slog.String("why", e.message))...)
		}
		return
	}
	attrs = append(attrs, slog.Uint64("fuel", res.Usage.Fuel), slog.Duration("wall", res.Usage.Wall), slog.Duration("start", res.Usage.Start), slog.Int("calls", r.Calls), slog.Int("denied", ran.denied()))
	s.log(slog.LevelInfo, "operation", "run", attrs...)
	s.logCalls(run, res)
	if e, ok := errors.AsType[*limits.ExceededError](res.Err()); ok {
		s.log(slog.LevelInfo, "resource", "limit reached", slog.String("run", run.id), slog.String("key", run.key.Name), slog.String("limit", e.Error()))
	}
}
