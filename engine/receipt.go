package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/runtimes"
	"github.com/cloche-dev/cloche/runtimes/python"
)

// A Receipt records a run: all that decided what it did, and what it did. [Engine.Replay] runs it again and compares.
//
// A run is a function of its interpreter's image, its code, what it was given, its limits, its seed and its clock, and of
// what the host answered it. All of that is in the receipt, files and answers too, so that a replay needs neither network nor
// tools. It may hold what the program was given in confidence: keep it like that.
//
// A receipt is no signature. Whoever changes one changes what it says ran; a replay tells whether that, as it stands, comes to
// the outcome that stands there.
type Receipt struct {
	Format string       `json:"format"` // "cloche-receipt/1"
	Image  ReceiptImage `json:"image"`
	Job    ReceiptJob   `json:"job"`
	// HostCalls are what the program asked of tools and network, in order, and what it was answered.
	HostCalls []HostCall `json:"host_calls,omitempty"`
	Outcome   Outcome    `json:"outcome"`
	// Unrepeatable is why the run cannot be replayed, such as that the wall clock ended it. Empty: it can.
	Unrepeatable string `json:"unrepeatable,omitempty"`
	// Suspended is there when the run waits for results; see [Engine.Resume].
	Suspended *SuspendedRun `json:"suspended,omitempty"`
}

const receiptFormat = "cloche-receipt/1"

// ReceiptImage names what a run started from.
type ReceiptImage struct {
	// Origin is a hash of the interpreter as it started: its rewritten code and the bytes of its memory. It is the same on
	// every machine that has the same version of Cloche.
	Origin   string           `json:"origin"`
	Template string           `json:"template,omitempty"`
	Packages []python.Package `json:"packages,omitempty"`
}

// ReceiptJob is the part of a Job that decides what it does.
type ReceiptJob struct {
	Language string                     `json:"language"`
	Code     string                     `json:"code"`
	Name     string                     `json:"name,omitempty"`
	Args     []string                   `json:"args,omitempty"`
	Env      map[string]string          `json:"env,omitempty"`
	Stdin    *Bytes                     `json:"stdin,omitempty"`
	Inputs   map[string]json.RawMessage `json:"inputs,omitempty"`
	Files    []ReceiptFile              `json:"files,omitempty"`
	Packages []string                   `json:"packages,omitempty"` // as they were asked for
	Deny     []string                   `json:"deny,omitempty"`     // of the review
	Tools    bool                       `json:"tools,omitempty"`    // tools were offered
	Limits   limits.Limits              `json:"limits"`             // times in nanoseconds
	Seed     uint64                     `json:"seed"`
	Clock    time.Time                  `json:"clock"`
}

// ReceiptFile is a file that the run was given.
type ReceiptFile struct {
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Content Bytes  `json:"content"`
}

// Outcome is what a run did, as far as it is the same whenever it runs: times are not.
type Outcome struct {
	Status       Status           `json:"status"`
	ExitCode     int              `json:"exit_code"`
	Stdout       Digest           `json:"stdout"`
	Stderr       Digest           `json:"stderr"`
	Truncated    *Truncated       `json:"truncated,omitempty"`
	Results      []ReceiptDisplay `json:"results,omitempty"`
	Error        *Error           `json:"error,omitempty"`
	LimitsHit    []LimitHit       `json:"limits_hit,omitempty"`
	FilesChanged []FileChange     `json:"files_changed,omitempty"`
	Fuel         uint64           `json:"fuel"`
	MemoryBytes  uint64           `json:"memory_peak_bytes"`
	DiskBytes    uint64           `json:"disk_bytes"`
}

// ReceiptDisplay is a displayed value.
type ReceiptDisplay struct {
	Main bool              `json:"main,omitempty"`
	Data map[string]Digest `json:"data"` // by MIME type
}

// Digest stands for bytes. Head is the beginning of them, for people to read.
type Digest struct {
	Bytes  uint64 `json:"bytes"`
	SHA256 string `json:"sha256"`
	Head   string `json:"head,omitempty"`
}

// maxHead bounds Digest.Head in bytes.
const maxHead = 512

func digest(b []byte) Digest {
	head := bytes.ToValidUTF8(b[:min(len(b), maxHead)], []byte("\uFFFD"))
	return Digest{Bytes: uint64(len(b)), SHA256: hexSum(b), Head: string(head)}
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Bytes are written in JSON as text if they are UTF-8, and else as {"base64": text}.
type Bytes []byte

// MarshalJSON implements json.Marshaler.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if utf8.Valid(b) {
		return json.Marshal(string(b))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString(b)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*b = Bytes(s)
		return nil
	}
	var form struct {
		Base64 *[]byte `json:"base64"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&form); err != nil || form.Base64 == nil {
		return errors.New(`bytes are a text or {"base64": text}`)
	}
	*b = *form.Base64
	return nil
}

// Bounds of a receipt, in bytes: of what a run is given, of what it asks its host and is answered, and of the file.
const (
	maxReceiptInput   = 64 << 20
	maxReceiptAnswers = 64 << 20
	maxReceipt        = 1 << 30
)

// runRecorded is Run for a job that wants a receipt.
func (e *Engine) runRecorded(ctx context.Context, j Job) (*Result, error) {
	rec, err := e.newReceipt(ctx, j)
	if err != nil {
		return nil, err
	}
	answers := &recorder{}
	again := rec.again(j)
	again.Limits, again.Network, again.Tools = rec.Job.Limits, j.Network, j.Tools
	res, err := e.run(ctx, again, answers)
	if err != nil {
		return res, err
	}
	rec.finish(answers, res)
	return res, nil
}

// finish notes what came of a run, and gives the receipt to its result.
func (r *Receipt) finish(answers *recorder, res *Result) {
	r.HostCalls, r.Outcome, r.Unrepeatable, r.Suspended = answers.calls, outcomeOf(res), answers.unrepeatable(res), nil
	if s := res.suspended; s != nil {
		r.Suspended = &SuspendedRun{Calls: s.Calls, Tally: s.Tally, Asked: answers.waits}
	}
	res.Receipt = r
}

// newReceipt says what a job will be given. Seed and clock are chosen if the job does not, and standard input is read to its end.
func (e *Engine) newReceipt(ctx context.Context, j Job) (*Receipt, error) {
	if len(j.Mounts) > 0 {
		return nil, invalid("a receipt cannot vouch for what is mounted from the host, which may change: give the program copies of the files")
	}
	if len(j.Shared) > 0 {
		return nil, invalid("a receipt cannot vouch for what other programs write into a shared folder: give the program copies of the files")
	}
	o := j.options()
	if err := o.check(); err != nil {
		return nil, err
	}
	rec := &Receipt{Format: receiptFormat, Job: ReceiptJob{
		Language: o.language(), Code: j.Code, Name: j.Name, Args: j.Args, Env: j.Env, Packages: j.Packages, Deny: j.Review.Deny,
		Tools: !j.Tools.Empty(), Limits: j.Limits.Or(e.cfg.Limits), Clock: j.Clock.UTC().Round(0),
	}}
	if j.Seed != nil {
		rec.Job.Seed = *j.Seed
	} else {
		var b [8]byte
		_, _ = rand.Read(b[:]) // cannot fail
		rec.Job.Seed = binary.LittleEndian.Uint64(b[:])
	}
	if j.Clock.IsZero() {
		rec.Job.Clock = e.cfg.Clock.Now().UTC().Truncate(time.Millisecond)
	}
	turn, err := j.turn().prepare(rec.Job.Language, 0)
	if err != nil {
		return nil, err
	}
	rec.Job.Inputs = turn.Inputs
	size := len(j.Code)
	if j.Stdin != nil {
		b, err := io.ReadAll(io.LimitReader(j.Stdin, maxReceiptInput+1))
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		size += len(b)
		stdin := Bytes(b)
		rec.Job.Stdin = &stdin
	}
	for _, f := range j.Files {
		size += len(f.Content)
		rec.Job.Files = append(rec.Job.Files, ReceiptFile{Path: f.Path, SHA256: hexSum(f.Content), Content: f.Content})
	}
	if size > maxReceiptInput {
		return nil, invalid("a receipt holds up to %s of code, files and standard input", limits.FormatSize(maxReceiptInput))
	}
	if err := rec.Job.checkText(); err != nil {
		return nil, err
	}
	rec.Image, err = e.imageOf(ctx, o)
	return rec, err
}

// checkText refuses what JSON could not give back as it is.
func (j ReceiptJob) checkText() error {
	texts := append([]string{j.Code, j.Name}, j.Args...)
	for name, value := range j.Env {
		texts = append(texts, name, value)
	}
	for _, f := range j.Files {
		texts = append(texts, f.Path)
	}
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return invalid("a receipt needs text in UTF-8, which %.40q is not", t)
		}
	}
	return nil
}

// imageOf names what a sandbox of o starts from.
func (e *Engine) imageOf(ctx context.Context, o Options) (ReceiptImage, error) {
	l, o, err := e.interpreter(ctx, o)
	if err != nil {
		return ReceiptImage{}, err
	}
	image := ReceiptImage{Template: o.Template}
	if image.Origin, err = l.origin(); err != nil {
		return image, err
	}
	if rt, err := knownRuntime(o.Language); err == nil && rt == Python {
		image.Packages, err = e.PreparePackages(ctx, o.Packages...)
		return image, err
	}
	return image, nil
}

// origin is Baked.ID, or for a template a hash of that and of what the template has added.
func (l *loaded) origin() (string, error) {
	if !l.template {
		return l.ID, nil
	}
	rest, err := json.Marshal([]any{l.Descriptors, l.State.Globals, l.packages})
	if err != nil {
		return "", err
	}
	var files bytes.Buffer
	if l.files != nil {
		if err := l.files.Export(&files); err != nil {
			return "", err
		}
	}
	return runtimes.Key(l.base, hexSum(l.State.Image.Bytes()), string(rest), hexSum(files.Bytes())), nil
}

// again is the job that a receipt records. What only listens is j's.
func (r *Receipt) again(j Job) Job {
	out := Job{
		ID: j.ID, Stdout: j.Stdout, Stderr: j.Stderr, OnEvent: j.OnEvent,
		Template: r.Image.Template, Language: r.Job.Language, Code: r.Job.Code, Name: r.Job.Name, Args: r.Job.Args, Env: r.Job.Env,
		Packages: r.Job.Packages, Review: limits.Review{Deny: r.Job.Deny}, Limits: r.Job.Limits, Seed: &r.Job.Seed, Clock: r.Job.Clock,
		Autopsy: j.Autopsy, Owner: j.Owner,
	}
	if r.Job.Stdin != nil {
		out.Stdin = bytes.NewReader(*r.Job.Stdin)
	}
	for _, f := range r.Job.Files {
		out.Files = append(out.Files, File{Path: f.Path, Content: f.Content})
	}
	if len(r.Job.Inputs) > 0 {
		out.Inputs = map[string]any{}
		for name, value := range r.Job.Inputs {
			out.Inputs[name] = value
		}
	}
	return out
}

func outcomeOf(res *Result) Outcome {
	o := Outcome{
		Status: res.Status, ExitCode: res.ExitCode, Stdout: digest([]byte(res.Stdout)), Stderr: digest([]byte(res.Stderr)), Truncated: res.Truncated,
		Error: res.Error, LimitsHit: res.LimitsHit, FilesChanged: res.FilesChanged,
		Fuel: res.Usage.Fuel, MemoryBytes: res.Usage.MemoryPeakBytes, DiskBytes: res.Usage.DiskBytes,
	}
	for _, d := range res.Results {
		o.Results = append(o.Results, digestOf(d))
	}
	return o
}

func digestOf(d hostfuncs.Display) ReceiptDisplay {
	out := ReceiptDisplay{Main: d.Main, Data: map[string]Digest{}}
	for mime, form := range d.Data {
		switch form := form.(type) {
		case string:
			out.Data[mime] = digest([]byte(form))
		case []byte:
			sum := digest(form)
			sum.Head = "" // a picture: nothing to read
			out.Data[mime] = sum
		case json.RawMessage:
			out.Data[mime] = digest(form)
		}
	}
	return out
}

// ErrReceipt is wrapped by what is wrong with a receipt: it is malformed, cannot be replayed, or is of another build of the
// interpreter. It is [ErrInvalid] too.
var ErrReceipt = fmt.Errorf("%w receipt", ErrInvalid)

func badReceipt(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrReceipt, fmt.Errorf(format, args...))
}

// ReadReceipt reads the JSON of a receipt, and nothing after it may follow. An error wraps [ErrReceipt].
func ReadReceipt(from io.Reader) (*Receipt, error) {
	d := json.NewDecoder(io.LimitReader(from, maxReceipt))
	d.DisallowUnknownFields()
	var r Receipt
	if err := d.Decode(&r); err != nil {
		return nil, badReceipt("%w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, badReceipt("something follows it")
	}
	return &r, r.check()
}

// check finds what is wrong with a receipt before anything of it runs.
func (r *Receipt) check() error {
	if r.Format != receiptFormat {
		return badReceipt("its format is %.40q, this program reads %s", r.Format, receiptFormat)
	}
	if r.Job.Clock.IsZero() {
		return badReceipt("it has no clock")
	}
	for _, f := range r.Job.Files {
		if hexSum(f.Content) != f.SHA256 {
			return badReceipt("the content of %s is not what its sha256 says", f.Path)
		}
	}
	if i := slices.IndexFunc(r.HostCalls, func(c HostCall) bool { return !isRecorded(c.Op) }); i >= 0 {
		return badReceipt("host call %d: %.40q is not recorded in receipts", i, r.HostCalls[i].Op)
	}
	if err := r.Suspended.check(); err != nil {
		return err
	}
	if err := r.again(Job{}).options().check(); err != nil {
		return fmt.Errorf("%w: %w", ErrReceipt, err)
	}
	return nil
}
