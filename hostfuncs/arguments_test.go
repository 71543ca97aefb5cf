package hostfuncs_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cloche-dev/cloche/hostfuncs"
)

// everyKind has fields that are read fast and fields that are not.
type everyKind struct {
	Text   string          `json:"text,omitempty"`
	Small  int8            `json:"small,omitempty"`
	Big    int64           `json:"big,omitempty"`
	Float  float64         `json:"float,omitempty"`
	Flag   bool            `json:"flag,omitempty"`
	Number json.Number     `json:"number,omitempty"`
	List   []int           `json:"list,omitempty"`
	Maybe  *string         `json:"maybe,omitempty"`
	Quoted int             `json:"quoted,string,omitempty"`
	Raw    json.RawMessage `json:"raw,omitempty"`
	Bare   uint8           `json:",omitempty"`
	Hidden string          `json:"-"`
}

// readsItself is read by its own method, which sees every call.
type readsItself struct {
	Name string `json:"name,omitempty"`
}

func (r *readsItself) UnmarshalJSON(b []byte) error { r.Name = "itself " + string(b); return nil }

// plainTools are tools for arguments of all kinds.
func plainTools(t testing.TB) *hostfuncs.Registry {
	reg := &hostfuncs.Registry{}
	err := errors.Join(
		hostfuncs.Register(reg, "every", func(_ context.Context, in everyKind) (everyKind, error) { return in, nil }, hostfuncs.Quick()),
		hostfuncs.Register(reg, "pointer", func(_ context.Context, in *query) (query, error) { return *in, nil }, hostfuncs.Quick()),
		hostfuncs.Register(reg, "itself", func(_ context.Context, in readsItself) (string, error) { return in.Name, nil }, hostfuncs.Quick()),
		hostfuncs.Register(reg, "slow", func(_ context.Context, in query) (query, error) { return in, nil }, hostfuncs.Quick(), hostfuncs.Timeout(1<<40)),
		reg.Add(hostfuncs.Tool{Name: "declared", Quick: true, Input: json.RawMessage(
			`{"properties": {"n": {"type": "integer", "minimum": 3}}, "required": ["n"], "additionalProperties": false}`,
		), Call: func(_ context.Context, a json.RawMessage) (json.RawMessage, error) { return a, nil }}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// sameAnswers makes a call as the guests make it, and in a way that is never read fast.
func sameAnswers(t *testing.T, reg *hostfuncs.Registry, tool, arguments string) {
	t.Helper()
	var replies [2]string
	var records [2][]hostfuncs.ToolCall
	for i, between := range []string{",", " , "} {
		d, record := doorOf(t, reg)
		reply, err := d.Serve(t.Context(), request(hostfuncs.OpTool, `{"name":"`+tool+`"`+between+`"arguments":`+arguments+`}`))
		if err != nil {
			t.Fatal(err)
		}
		replies[i], records[i] = string(reply), *record
	}
	if replies[0] != replies[1] {
		t.Errorf("%s(%.100q) is answered with %.200q, and with %.200q when it is written otherwise", tool, arguments, replies[0], replies[1])
	}
	if diff := cmp.Diff(records[1], records[0], cmpopts.IgnoreFields(hostfuncs.ToolCall{}, "Milliseconds")); diff != "" {
		t.Errorf("%s(%.100q) is recorded otherwise: %s", tool, arguments, diff)
	}
}

var plainSeeds = []string{
	`{}`, `{"name":"Ada"}`, `{"name":"Ada","max":12}`, `{"name":"é😀","max":-0}`, `{ "name" : "Ada" , "max" : 1 }`, `{"name":"a\"b"}`,
	`{"na\u006de":"Ada"}`, `{"name":"Ada","name":"Bea"}`, `{"name":"Ada","max":1.0}`, `{"name":"Ada","max":99999999999999999999}`,
	`{"name":1}`, `{"name":null}`, `{"max":1}`, `{"name":"Ada","other":1}`, `{"NAME":"Ada"}`, `{"name":"Ada"`, `{"name":"Ada"}}`,
	`{"name":"Ada"},"async":true`, `{"name":"Ada",}`, `{,}`, `{"name"}`, `{"name":}`, `[]`, `1`, ``, `null`, `{"":""}`, "{\"name\":\"\xff\"}",
	`{"text":"x","small":-128,"big":-9223372036854775808,"float":1e300,"flag":true}`, `{"small":128}`, `{"float":1e999}`, `{"float":-0}`,
	`{"flag":false,"list":[1,2],"maybe":"x","raw":{"a":[1]},"quoted":"7","number":12.50}`, `{"number":"12"}`, `{"quoted":7}`, `{"Bare":255}`,
	`{"Bare":256}`, `{"Hidden":"x"}`, `{"-":"x"}`, `{"flag":null}`, `{"big":1e3}`, `{"text":true}`, `{"flag":0}`, `{"n":3}`, `{"n":2}`, `{"n":"3"}`,
	`{"m":3}`, `{"n":3,"m":3}`, `{"maybe":` + nested(61) + `}`, `{"maybe":` + nested(62) + `}`, `{"maybe":` + nested(63) + `}`,
}

func nested(depth int) string {
	b := make([]byte, 2*depth)
	for i := range depth {
		b[i], b[depth+i] = '[', ']'
	}
	return string(b)
}

// Arguments that are read fast are answered, refused and recorded as all others.
func TestPlainArguments(t *testing.T) {
	reg := plainTools(t)
	for _, arguments := range plainSeeds {
		for _, tool := range reg.Tools() {
			sameAnswers(t, reg, tool.Name, arguments)
		}
	}
}

// What is not of a field's own kind leaves nothing behind.
func TestPlainArgumentsStartAnew(t *testing.T) {
	d, _ := doorOf(t, plainTools(t))
	const header = `{"name":"every","arguments":{"text":"x","big":7,"maybe":"y"}}`
	reply, err := d.Serve(t.Context(), request(hostfuncs.OpTool, header))
	if want := "\x00" + `{"text":"x","big":7,"maybe":"y"}`; err != nil || string(reply) != want {
		t.Errorf("%s gives %q, %v; want %q", header, reply, err, want)
	}
}

func FuzzPlainArguments(f *testing.F) {
	reg := plainTools(f)
	for i, arguments := range plainSeeds {
		f.Add(byte(i), arguments)
	}
	f.Fuzz(func(t *testing.T, tool byte, arguments string) {
		all := reg.Tools()
		sameAnswers(t, reg, all[int(tool)%len(all)].Name, arguments)
	})
}
