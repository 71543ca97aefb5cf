package web

import (
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

// The shapes of requests and answers. The description of the API is made from these types.

// ExecuteRequest is the body of POST /v1/execute: one program for a fresh sandbox.
type ExecuteRequest struct {
	// Language is python (the default), javascript or typescript.
	Language string `json:"language,omitempty"`
	TurnFields
	SandboxFields
	// Receipt asks for a record of the run in its Result, which cloche replay runs again. A run from a snapshot has none.
	Receipt bool `json:"receipt,omitempty"`
}

// TurnRequest is the body of POST /v1/sessions/{id}/execute: one program for a session.
type TurnRequest struct {
	// Language may be left out. In a JavaScript session it may be typescript.
	Language string `json:"language,omitempty"`
	TurnFields
	// Files are put into the session before the program runs.
	Files []FileContent `json:"files,omitempty"`
	// Limits are those of this turn; memory and disk belong to the session.
	Limits *Limits `json:"limits,omitempty"`
}

// TurnFields describe a program and how it is run.
type TurnFields struct {
	// Code is the source text.
	Code *string `json:"code"`
	// Name is the file name in tracebacks.
	Name string `json:"name,omitempty"`
	// Inputs are globals of the program, by name; any JSON.
	Inputs map[string]json.RawMessage `json:"inputs,omitempty"`
	// Args are its arguments, Stdin its standard input, which is else at its end.
	Args  []string `json:"args,omitempty"`
	Stdin *string  `json:"stdin,omitempty"`
	// Collect are patterns such as *.png and reports/**/*.csv; files that match are part of the answer.
	Collect []string `json:"collect,omitempty"`
	// Detach lets the program go on when the client leaves.
	Detach bool `json:"detach,omitempty"`
}

// SandboxFields describe a sandbox.
type SandboxFields struct {
	// Env is the program's environment.
	Env map[string]string `json:"env,omitempty"`
	// Files are put into the sandbox first.
	Files []FileContent `json:"files,omitempty"`
	// Limits may ask for less or more than the key's defaults, up to the key's maximum.
	Limits *Limits `json:"limits,omitempty"`
	// Template is the name of one of the operator's to start from.
	Template string `json:"template,omitempty"`
	// Snapshot is the id of one to go on from.
	Snapshot string `json:"snapshot,omitempty"`
	// Network opens the network. Without it there is none.
	Network *Network `json:"network,omitempty"`
	// Tools are functions of the client's that programs may call.
	Tools []ToolSpec `json:"tools,omitempty"`
	// Mailbox are channels of messages between programs, by name, and what this one may do: send, receive or both.
	Mailbox map[string]limits.ChannelMode `json:"mailbox,omitempty"`
	// Shared are folders that programs share, by name, and what this one may do in them: ro, append or rw.
	Shared map[string]limits.SharedMode `json:"shared,omitempty"`
	// Seed fixes the random numbers.
	Seed *uint64 `json:"seed,omitempty"`
	// AutopsyS is how long, 1 to 600, a program that was stopped can be asked what it was doing, by GET …/autopsy; 0 is not at all.
	// Left out: as long as the key's policy says, by default not at all. A run from a snapshot cannot.
	AutopsyS *float64 `json:"autopsy_s,omitempty"`
}

// SessionRequest is the body of POST /v1/sessions.
type SessionRequest struct {
	// Language is python (the default), javascript or typescript.
	Language string `json:"language,omitempty"`
	SandboxFields
	// OnError says what becomes of a turn that does not end well: keep (the default) what it did, or rollback.
	OnError string `json:"on_error,omitempty"`
	// Mounts are folders of the host that the key's policy offers.
	Mounts []MountRequest `json:"mounts,omitempty"`
	SessionFields
}

// MountRequest asks for a folder that the key's policy offers.
type MountRequest struct {
	// Path is where the folder is in the sandbox.
	Path string `json:"path"`
	// Mode may be ro to give up the right to write, or overlay to keep changes in the sandbox.
	Mode string `json:"mode,omitempty"`
}

// SessionFields are what PATCH /v1/sessions/{id} can change.
type SessionFields struct {
	// IdleTimeoutS ends the session when nobody used it for so long, 1 to 86400.
	IdleTimeoutS *float64 `json:"idle_timeout_s,omitempty"`
	// MaxLifetimeS ends the session at that age, 1 to 2592000.
	MaxLifetimeS *float64 `json:"max_lifetime_s,omitempty"`
	// Metadata is the client's own: up to 64 names and texts, given back as they are.
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Limits cap a program. What is left out is as the key's policy says.
type Limits struct {
	TimeoutMS   *uint64 `json:"timeout_ms,omitempty"`
	Fuel        *uint64 `json:"fuel,omitempty"`
	MemoryBytes *uint64 `json:"memory_bytes,omitempty"`
	OutputBytes *uint64 `json:"output_bytes,omitempty"`
	DiskBytes   *uint64 `json:"disk_bytes,omitempty"`
}

// Network is what a program may reach: what its key allows, or less.
type Network struct {
	// Allow are URL patterns such as https://api.example.com/v1/*.
	Allow []string `json:"allow"`
}

// FileContent is a file with its contents, as text or in base64. A relative path is below /data.
type FileContent struct {
	Path          string  `json:"path"`
	Content       *string `json:"content,omitempty"`
	ContentBase64 *string `json:"content_base64,omitempty"`
}

// bytes are the contents.
func (f FileContent) bytes() ([]byte, error) {
	switch {
	case f.Content != nil && f.ContentBase64 != nil:
		return nil, invalidf("file %s has content and content_base64: give one of them", quoted(f.Path))
	case f.Content != nil:
		return []byte(*f.Content), nil
	case f.ContentBase64 == nil:
		return nil, invalidf("file %s has neither content nor content_base64", quoted(f.Path))
	}
	b, err := base64.StdEncoding.DecodeString(*f.ContentBase64)
	if err != nil {
		return nil, invalidf("file %s: content_base64 is not base64 (RFC 4648, with padding)", quoted(f.Path))
	}
	return b, nil
}

// contentOf is a file for an answer: as text if it is some.
func contentOf(path string, b []byte) FileContent {
	if utf8.Valid(b) {
		s := string(b)
		return FileContent{Path: path, Content: &s}
	}
	s := base64.StdEncoding.EncodeToString(b)
	return FileContent{Path: path, ContentBase64: &s}
}

// SessionInfo is what a session is.
type SessionInfo struct {
	ID           string            `json:"id"`
	Language     string            `json:"language"`
	CreatedAt    time.Time         `json:"created_at"`
	LastUsedAt   time.Time         `json:"last_used_at"`
	ExpiresAt    time.Time         `json:"expires_at"`
	IdleTimeoutS float64           `json:"idle_timeout_s"`
	MaxLifetimeS float64           `json:"max_lifetime_s"`
	Turns        int               `json:"turns"`
	Busy         bool              `json:"busy"`
	ExecutionID  string            `json:"execution_id,omitempty"` // of the turn that runs
	Limits       Limits            `json:"limits"`
	Metadata     map[string]string `json:"metadata,omitempty"`
	// PendingCalls are those for whose results the last turn waits, which is suspended.
	PendingCalls []hostfuncs.PendingCall `json:"pending_calls,omitempty"`
}

// SessionList answers GET /v1/sessions, oldest first. Pending calls are there without their arguments.
type SessionList struct {
	Sessions []SessionInfo `json:"sessions"`
}

// FileList answers GET /v1/sessions/{id}/files.
type FileList struct {
	Path  string     `json:"path"`
	Files []FileInfo `json:"files"`
}

// FileInfo is a name in a folder.
type FileInfo struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Dir   bool   `json:"dir"`
	Bytes uint64 `json:"bytes"`
}

// FileWritten answers PUT …/files/{path}.
type FileWritten struct {
	Path  string `json:"path"`
	Bytes uint64 `json:"bytes"`
}

// Execution answers GET /v1/executions/{id} while the program runs; afterwards the answer is its Result.
type Execution struct {
	ID        string    `json:"id"`
	Language  string    `json:"language"`
	Status    string    `json:"status"` // running
	SessionID string    `json:"session_id,omitempty"`
	StartedAt time.Time `json:"started_at"`
}

// Interrupted answers POST …/interrupt.
type Interrupted struct {
	// Interrupted says whether there was a turn to interrupt.
	Interrupted bool   `json:"interrupted"`
	ExecutionID string `json:"execution_id,omitempty"`
}

// ArchiveWritten answers PUT …/archive.
type ArchiveWritten struct {
	Path  string `json:"path"`
	Files int64  `json:"files"`
	Bytes int64  `json:"bytes"`
}
