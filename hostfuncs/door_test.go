package hostfuncs_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/hostfuncs"
)

func frame(header string, attached ...string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(header)))
	return append(append(b, header...), strings.Join(attached, "")...)
}

func TestDecodeDisplay(t *testing.T) {
	tests := []struct {
		name  string
		frame []byte
		want  hostfuncs.Display
		err   string
	}{
		{"text", frame(`{"main":true,"data":{"text/plain":"2"}}`),
			hostfuncs.Display{Main: true, Data: map[string]any{"text/plain": "2"}}, ""},
		{"attachments in order", frame(`{"data":{"image/png":{"$bytes":3},"text/plain":"x","image/gif":{"$bytes":2}}}`, "abc", "de"),
			hostfuncs.Display{Data: map[string]any{"image/png": []byte("abc"), "text/plain": "x", "image/gif": []byte("de")}}, ""},
		{"json", frame(`{"data":{"application/json":[1,{"a":null}],"application/vnd.x+json":{"$bytes":"no"}}}`),
			hostfuncs.Display{Data: map[string]any{"application/json": json.RawMessage(`[1,{"a":null}]`),
				"application/vnd.x+json": json.RawMessage(`{"$bytes":"no"}`)}}, ""},
		{"empty", nil, hostfuncs.Display{}, "shorter than its length field"},
		{"length past the end", []byte{255, 255, 255, 255, 1}, hostfuncs.Display{}, "a header of 4294967295 bytes in a frame of 5"},
		{"not json", frame(`{"data":`), hostfuncs.Display{}, "not JSON"},
		{"not utf-8", frame("{\"data\":{\"text/plain\":\"\xff\"}}"), hostfuncs.Display{}, "not UTF-8"},
		{"deep", frame(`{"data":{"application/json":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}}`), hostfuncs.Display{}, "nested deeper than 64"},
		{"unknown field", frame(`{"data":{"text/plain":"x"},"more":1}`), hostfuncs.Display{}, `unknown field "more"`},
		{"twice", frame(`{"data":{"text/plain":"x","text/plain":"y"}}`), hostfuncs.Display{}, "text/plain is there twice"},
		{"two bundles", frame(`{"data":{"text/plain":"x"},"data":{"text/plain":"y"}}`), hostfuncs.Display{}, "data is there twice"},
		{"nothing", frame(`{"main":true}`), hostfuncs.Display{}, "it shows nothing"},
		{"too little attached", frame(`{"data":{"image/png":{"$bytes":4}}}`, "abc"), hostfuncs.Display{}, "4 bytes are said to be attached, 3 are"},
		{"huge attachment", frame(`{"data":{"image/png":{"$bytes":18446744073709551615}}}`, "abc"), hostfuncs.Display{}, "are said to be attached"},
		{"too much attached", frame(`{"data":{"text/plain":"x"}}`, "abc"), hostfuncs.Display{}, "3 bytes are attached that nothing names"},
		{"no MIME type", frame(`{"data":{"plain":"x"}}`), hostfuncs.Display{}, `"plain" is not a MIME type`},
		{"spaces", frame(" {\n\t\"data\" : { \"application/json\" : [ 1 , { } , [ ] ] } }\r "),
			hostfuncs.Display{Data: map[string]any{"application/json": json.RawMessage("[ 1 , { } , [ ] ]")}}, ""},
		{"escapes", frame(`{"d\u0061ta":{"text/plain":"\u00fc\n\ud83d\ude00"}}`),
			hostfuncs.Display{Data: map[string]any{"text/plain": "ü\n😀"}}, ""},
		{"more after it", frame(`{"data":{"text/plain":"x"}} {}`), hostfuncs.Display{}, "not JSON"},
		{"a list", frame(`["data"]`), hostfuncs.Display{}, "not JSON"},
		{"main is no bool", frame(`{"main":1,"data":{"text/plain":"x"}}`), hostfuncs.Display{}, "neither true nor false"},
		{"huge header", frame(`{"data":{"text/plain":"` + strings.Repeat("x", 16<<20) + `"}}`), hostfuncs.Display{}, "is more than 16777216"},
		{"number as text", frame(`{"data":{"text/plain":1}}`), hostfuncs.Display{}, "neither text nor attached bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := hostfuncs.DecodeDisplay(tt.frame)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDoor(t *testing.T) {
	broken := errors.New("broken")
	d := &hostfuncs.Door{MaxCalls: 5, Handlers: map[hostfuncs.Op]hostfuncs.Handler{
		hostfuncs.OpLog:  func(_ context.Context, p []byte) ([]byte, error) { return append([]byte("got "), p...), nil },
		hostfuncs.OpTool: func(context.Context, []byte) ([]byte, error) { return nil, hostfuncs.Refuse("KeyError", "no %q", "x") },
		hostfuncs.OpFetch: func(context.Context, []byte) ([]byte, error) {
			return nil, broken
		},
	}}
	tests := []struct {
		request, want string
		err           error
	}{
		{"\x13hello", "\x00got hello", nil},
		{"\x11", "\x01" + `{"name":"KeyError","message":"no \"x\""}`, nil},
		{"\x10", "\x01" + `{"name":"PermissionError","message":"display is not offered to this run"}`, nil},
		{"", "\x01" + `{"name":"ValueError","message":"empty request"}`, nil},
		{"\x12", "", broken},
		{"\x13late", "\x01" + `{"name":"HostCallLimit","message":"this run may make 5 calls to the host"}`, nil},
	}
	for _, tt := range tests {
		got, err := d.Serve(t.Context(), []byte(tt.request))
		if string(got) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%q: %q, %v; want %q, %v", tt.request, got, err, tt.want, tt.err)
		}
	}
	if d.Made != 6 {
		t.Errorf("%d calls", d.Made)
	}
}

func FuzzDecodeDisplay(f *testing.F) {
	f.Add(frame(`{"main":true,"data":{"text/plain":"2","image/png":{"$bytes":2}}}`, "ab"))
	f.Add([]byte{4, 0, 0, 0, '{', '}'})
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := hostfuncs.DecodeDisplay(b)
		if err != nil {
			return
		}
		if _, err := json.Marshal(d); err != nil {
			t.Errorf("a display that was accepted is not JSON: %v", err)
		}
	})
}

// What is JSON is what encoding/json says it is, within the bound on nesting.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		"0", "-0.5e+10", "01", "1.", ".5", "+1", "1e", "-", "--1", "1 2", "true", "tru", "nullx", `"a"`, `"\u00`, `"\u00e4\"`, `"\x"`, "\"\n\"", `"`,
		"[]", "[ 1,2 ]", "[1,]", "[,1]", "[1 2]", "[", "]", "{}", `{"a":1}`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":{"a":[{}]}}`, `{"\ud800":"\udc00"}`,
		" 1\t", "", "\xff", strings.Repeat("[", 61) + strings.Repeat("]", 61), strings.Repeat(`{"":`, 62) + "1" + strings.Repeat("}", 62),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		const outside = 2 // brackets around text
		text = strings.Trim(text, " \t\r\n")
		valid := json.Valid([]byte(text)) && utf8.ValidString(text)
		d, err := hostfuncs.DecodeDisplay(frame(`{"data":{"application/json":` + text + `}}`))
		if err == nil {
			// Invalid text may close the objects around it and open them again.
			if got, _ := d.Data["application/json"].(json.RawMessage); string(got) == text && !valid {
				t.Errorf("%q was taken for JSON", text)
			}
		} else if valid && depth(text)+outside <= 64 && !strings.Contains(text, "$bytes") {
			t.Errorf("%q: %v", text, err)
		}
	})
}

// depth is how deep a JSON text nests.
func depth(text string) int {
	dec, deepest, now := json.NewDecoder(strings.NewReader(text)), 0, 0
	for {
		t, err := dec.Token()
		if err != nil {
			return deepest
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			now++
			deepest = max(deepest, now)
		case json.Delim(']'), json.Delim('}'):
			now--
		}
	}
}
