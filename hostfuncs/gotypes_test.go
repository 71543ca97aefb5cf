package hostfuncs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cloche-dev/cloche/hostfuncs"
)

type base struct {
	ID   int    `json:"id" jsonschema:"the number"`
	Note string `json:"note,omitempty"`
}

type Extra struct {
	More []string `json:"more,omitempty"`
}

type colour string

type level int

func (l level) MarshalText() ([]byte, error) { return fmt.Append(nil, "L", int(l)), nil }
func (l *level) UnmarshalText(b []byte) error {
	_, err := fmt.Sscanf(string(b), "L%d", (*int)(l))
	return err
}

// either writes itself in a way of its own.
type either struct{ n int }

func (e either) MarshalJSON() ([]byte, error) { return fmt.Append(nil, "[", e.n, "]"), nil }

type tree struct {
	Name string           `json:"name"`
	Kids []*tree          `json:"kids,omitempty"`
	By   map[string]tree  `json:"by,omitempty"`
	Side *branch          `json:"side,omitempty"`
	Any  map[level]either `json:"any,omitempty"`
}

type branch struct {
	Root *tree   `json:"root"`
	Next *branch `json:"next,omitempty"`
}

type page[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next"`
}

type odd struct {
	base
	*Extra
	Named base                           `json:"named,omitzero"`
	Map   map[string]int                 `json:"map"`
	Ints  map[int8]string                `json:"ints,omitempty"`
	C     colour                         `json:"c" jsonschema:"a colour"`
	L     level                          `json:"l"`
	Opt   *int                           `json:"opt,omitempty"`
	Must  *int                           `json:"must"`
	T     time.Time                      `json:"t"`
	D     time.Duration                  `json:"d"`
	B     []byte                         `json:"b"`
	Arr   [2]float64                     `json:"arr"`
	Raw   json.RawMessage                `json:"raw,omitempty"`
	RawP  *json.RawMessage               `json:"rawp"`
	Any   any                            `json:"any"`
	Tree  tree                           `json:"tree"`
	TreeP **tree                         `json:"treep"`
	P     page[page[tree]]               `json:"p"`
	Nest  map[string][]map[string]*base  `json:"nest"`
	Addr  netip.Addr                     `json:"addr"`
	U8    uint8                          `json:"u8"`
	I16   int16                          `json:"i16"`
	I64   int64                          `json:"i64"`
	U64   uint64                         `json:"u64"`
	S64   int64                          `json:"s64,string"`
	N     json.Number                    `json:"n"`
	F32   float32                        `json:"f32"`
	Big   *big.Int                       `json:"big"`
	Rat   *big.Rat                       `json:"rat"`
	URL   *url.URL                       `json:"url"`
	E     either                         `json:"e"`
	Anon  struct{ X, Y int }             `json:"anon"`
	Fn    func()                         `json:"-"`
	Deep  []map[string][3]*page[*branch] `json:"deep"`
	NoTag bool
}

func filled() odd {
	n, text, raw := 7, "next", json.RawMessage(`[1,{"a":null}]`)
	t := &tree{Name: "root", Kids: []*tree{{Name: "kid"}, nil}, By: map[string]tree{"x": {Name: "y"}}, Any: map[level]either{3: {4}}}
	t.Side = &branch{Root: &tree{Name: "of a branch"}, Next: &branch{}}
	return odd{
		base: base{1, "note"}, Extra: &Extra{[]string{"m"}}, Named: base{ID: 2}, Map: map[string]int{"a": 1}, Ints: map[int8]string{-1: "b"}, C: "red", L: 3, Opt: &n, Must: &n,
		T: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)), D: time.Second, B: []byte("hi"), Raw: raw, RawP: &raw, Any: []any{1.5, "x"}, Tree: *t, TreeP: &t,
		P: page[page[tree]]{Items: []page[tree]{{Items: []tree{*t}, Next: &text}}}, Nest: map[string][]map[string]*base{"a": {{"b": nil, "c": {ID: 1}}}},
		Addr: netip.MustParseAddr("::1"), U8: 255, I16: math.MinInt16, I64: math.MinInt64, U64: math.MaxUint64, S64: -5, N: "1e3", F32: 1.5, Big: new(big.Int).Lsh(big.NewInt(1), 100),
		Rat: big.NewRat(1, 3), URL: &url.URL{Scheme: "https", Host: "h"}, Deep: []map[string][3]*page[*branch]{{"k": {{Items: []*branch{t.Side, nil}}, nil, nil}}},
	}
}

// TestGoTypes: what encoding/json makes of a value is what the schema of its type describes, and comes back as it was; what has no
// JSON is refused when it is registered.
func TestGoTypes(t *testing.T) {
	reg := &hostfuncs.Registry{}
	if err := hostfuncs.Register(reg, "odd", func(_ context.Context, o odd) (odd, error) { return o, nil }); err != nil {
		t.Fatal(err)
	}
	if err := hostfuncs.Register(reg, "tree", func(_ context.Context, o *tree) ([]*tree, error) { return []*tree{o, nil}, nil }); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(reg.Tools()[0].Output)
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]odd{"zero": {N: "0"}, "filled": filled()} {
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var instance any
		if err := json.Unmarshal(b, &instance); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(instance); err != nil {
			t.Errorf("%s: %v\n%s\n%s", name, err, b, text)
		}
	}
	for _, wrong := range []string{`"name":1`, `"kids":[{"name":"x","more":1}]`, `"side":{"root":{"name":[]}}`} {
		var instance map[string]any
		b, _ := json.Marshal(filled())
		if err := json.Unmarshal(b, &instance); err != nil {
			t.Fatal(err)
		}
		var more map[string]any
		if err := json.Unmarshal([]byte("{"+wrong+"}"), &more); err != nil {
			t.Fatal(err)
		}
		for k, v := range more {
			instance["tree"].(map[string]any)[k] = v
		}
		if resolved.Validate(instance) == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
	for _, want := range []string{
		"opt: int | None = ...", "b: str | None", "t: str", "ints: dict[str, str] | None = ...", "raw: Any = ...", "rawp: Any", "big: int | None", "s64: str", "arr: list[float]",
		"named: dict[str, Any] = ...", "id: int", "note: str = ...", "more: list[str] | None = ...", "the number", "a colour", "base64", "def tree(name: str, kids: list[None | dict[str, Any]] | None = ...",
	} {
		if !strings.Contains(reg.PythonStub(), want) {
			t.Errorf("%q is not in the stub:\n%s", want, reg.PythonStub())
		}
	}
	if ts := reg.TypeScript(); !strings.Contains(ts, "must: number | null") || !strings.Contains(ts, "anon: { X: number; Y: number }") {
		t.Errorf("declared as %s", ts)
	}

	for name, register := range map[string]func(name string) error{
		"the type chan int has no JSON": func(name string) error {
			return hostfuncs.Register(reg, name, func(context.Context, struct{ C chan int }) (int, error) { return 0, nil })
		},
		"the type complex128 has no JSON": func(name string) error {
			return hostfuncs.Register(reg, name, func(context.Context, struct{ C []complex128 }) (int, error) { return 0, nil })
		},
		"field F: the type func() has no JSON": func(name string) error {
			return hostfuncs.Register(reg, name, func(context.Context, struct{}) (struct{ F func() }, error) { return struct{ F func() }{}, nil })
		},
		"JSON has no maps with keys of type": func(name string) error {
			return hostfuncs.Register(reg, name, func(context.Context, struct{ M map[bool]int }) (int, error) { return 0, nil })
		},
		"the arguments must be a struct": func(name string) error {
			return hostfuncs.Register(reg, name, func(context.Context, []int) (int, error) { return 0, nil })
		},
		"the jsonschema tag is empty": func(name string) error {
			return hostfuncs.Register(reg, name, func(context.Context, struct {
				A int `jsonschema:""`
			}) (int, error) {
				return 0, nil
			})
		},
	} {
		if err := register("bad"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want %q", err, name)
		}
	}
}

// TestGoTypesErrors: what does not fit is told by the names that a program knows, without those of Go's types.
func TestGoTypesErrors(t *testing.T) {
	reg := &hostfuncs.Registry{}
	if err := hostfuncs.Register(reg, "odd", func(_ context.Context, o struct {
		base
		Kids []*tree         `json:"kids,omitempty"`
		By   map[string]base `json:"by,omitempty"`
	}) (int, error) {
		return o.ID, nil
	}); err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"id":1.5}`:                     "TypeError: id cannot be a number 1.5",
		`{"id":1,"note":[]}`:             "TypeError: note cannot be an array",
		`{"id":1,"kids":[{"name":2}]}`:   "TypeError: kids.name cannot be a number",
		`{"id":1,"by":{"x":{"id":"2"}}}`: "TypeError: by.id cannot be a string",
		`{"id":1,"kids":[{"nome":"2"}]}`: `TypeError: unexpected field "nome"`,
		`{"id":1,"kids":[{"name":"a","kids":[{"kids":[{"side":{"root":{"name":1}}}]}]}]}`: "TypeError: kids.kids.kids.side.root.name cannot be a number",
	} {
		if _, err := reg.Tools()[0].Call(t.Context(), json.RawMessage(arguments)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", arguments, err, want)
		}
	}
}

// TestGoTypesNull: null is not zero where a value is required, and is a value where it may be one; what may be left out may be null.
func TestGoTypesNull(t *testing.T) {
	reg := &hostfuncs.Registry{}
	if err := hostfuncs.Register(reg, "plain", func(_ context.Context, o struct {
		A int    `json:"a"`
		P *int   `json:"p"`
		B string `json:"b,omitempty"`
	}) (any, error) {
		return o, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := hostfuncs.Register(reg, "nested", func(_ context.Context, o struct {
		A base           `json:"a"`
		P map[string]int `json:"p"`
		B []string       `json:"b,omitempty"`
	}) (any, error) {
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	d, _ := doorOf(t, reg)
	for call, want := range map[string]string{
		`"plain","arguments":{"a":null,"p":1}`:          `a: cannot be null`,
		`"plain","arguments":{"a":1,"p":null,"b":null}`: `{"a":1,"p":null}`,
		`"plain","arguments":{"a": null ,"p":{}}`:       `a: cannot be null`,
		`"nested","arguments":{"a":null,"p":{}}`:        `a: cannot be null`,
		`"nested","arguments":{"a":{"id":1},"p":null}`:  `null`,
		`"nested","arguments":{"p":null,"b":null}`:      `missing argument \"a\"`,
	} {
		reply, err := d.Serve(t.Context(), request(hostfuncs.OpTool, `{"name":`+call+`}`))
		if err != nil || !strings.Contains(string(reply), want) {
			t.Errorf("%s: %s, %v; want %s", call, reply, err, want)
		}
	}
}

// TestInnerArguments: what the schema says of names, nulls and lengths inside of arguments holds for tools of Go types, and, with the
// same words, for those that are declared by a schema.
func TestInnerArguments(t *testing.T) {
	type item struct {
		Name string `json:"name"`
		Note string `json:"note,omitempty"`
	}
	type where struct {
		Items []item          `json:"items"`
		By    map[string]item `json:"by,omitempty"`
		Span  *[2]int         `json:"span,omitempty"`
		One   *item           `json:"one,omitempty"`
		Loop  *where          `json:"loop,omitempty"`
		Any   any             `json:"any,omitempty"`
	}
	type in struct {
		Where where          `json:"where"`
		Pair  [2]float64     `json:"pair,omitempty"`
		Ints  []int          `json:"ints,omitempty"`
		Maps  map[string]int `json:"maps,omitempty"`
	}
	reg := &hostfuncs.Registry{}
	if err := hostfuncs.Register(reg, "typed", func(context.Context, in) (string, error) { return "fits", nil }); err != nil {
		t.Fatal(err)
	}
	declared := hostfuncs.Tool{Name: "declared", Input: reg.Tools()[0].Input, Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`"fits"`), nil
	}}
	if err := reg.Add(declared); err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]string{
		`{"where":{"items":[]}}`: `"fits"`,
		`{"where":{"items":null,"by":{"x":{"name":""}},"span":[1,2],"one":{"name":"a"},"loop":{"items":[]},"any":{"x":[null]}},"pair":[1,2],"ints":[],"maps":null}`: `"fits"`,
		`{"where":{}}`:   "where.items: missing",
		`{"where":null}`: "where: cannot be null",
		`{"where":{"items":[{"name":"a"},{"name":"b"},{"note":"c"}]}}`:     "where.items[2].name: missing",
		`{"where":{"items":[{"name":"a"},{"name":null}]}}`:                 "where.items[1].name: cannot be null",
		`{"where":{"items":[{"name":"a"},null]}}`:                          "where.items[1]: cannot be null",
		`{"where":{"items":[{"name":"a","nome":1}]}}`:                      "where.items[0].nome: unexpected",
		`{"where":{"items":[{"Name":"a"}]}}`:                               "where.items[0].Name: unexpected",
		`{"where":{"items":[],"by":{"x":{"name":"a"},"y z":{}}}}`:          `where.by["y z"].name: missing`,
		`{"where":{"items":[],"by":{"x":null}}}`:                           "where.by.x: cannot be null",
		`{"where":{"items":[],"span":[1]}}`:                                "where.span: takes 2 items, not 1",
		`{"where":{"items":[],"span":[1,null]}}`:                           "where.span[1]: cannot be null",
		`{"where":{"items":[],"one":{}}}`:                                  "where.one.name: missing",
		`{"where":{"items":[],"loop":{"items":[],"loop":{"items":[{}]}}}}`: "where.loop.loop.items[0].name: missing",
		`{"where":{"items":[{"name":"a"},{"name":2}]}}`:                    "where.items[1].name: cannot be a number",
		`{"where":{"items":[{"name":"a"},[]]}}`:                            "where.items[1]: cannot be an array",
		`{"where":{"items":[],"one":"x"}}`:                                 "where.one: cannot be a string",
		`{"where":{"items":[],"span":[1,true]}}`:                           "where.span[1]: cannot be a boolean",
		`{"where":{"items":[],"loop":{"items":{}}}}`:                       "where.loop.items: cannot be an object",
		`{"where":{"items":[]},"pair":[1,2,3]}`:                            "pair: takes 2 items, not 3",
		`{"where":{"items":[]},"pair":[]}`:                                 "pair: takes 2 items, not 0",
		`{"where":{"items":[]},"ints":[1,2,null]}`:                         "ints[2]: cannot be null",
		`{"where":{"items":[]},"maps":{"a":1,"b":null}}`:                   "maps.b: cannot be null",
	} {
		for _, tool := range []string{"typed", "declared"} {
			d, _ := doorOf(t, reg)
			reply, err := d.Serve(t.Context(), request(hostfuncs.OpTool, `{"name":"`+tool+`","arguments":`+arguments+`}`))
			got := string(reply)
			var text struct{ Message string }
			if i := strings.IndexByte(got, '{'); i >= 0 && json.Unmarshal(reply[i:], &text) == nil {
				got = strings.TrimPrefix(text.Message, tool+": ")
			}
			if err != nil || strings.TrimLeft(got, "\x00") != want {
				t.Errorf("%s(%s): %q, %v; want %s", tool, arguments, got, err, want)
			}
		}
	}
}
