package hostfuncs

import (
	"bytes"
	"context"
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// A toolRequest is the header of a tool frame.
type toolRequest struct {
	name      string
	arguments json.RawMessage
	async     bool
	// members are those of the arguments, parts of the frame, when the request was plain; else nil.
	members []member
}

// member is one of an object's, its value not yet read. The name has no escapes.
type member struct{ name, value []byte }

// maxPlainMembers bounds the members of plain arguments, which are compared with each other.
const maxPlainMembers = 32

// plainRequest reads a frame as the guests make it, for one of the tools that there are, in one pass. It is false for any other,
// right or wrong.
func (t *Tools) plainRequest(payload []byte) (toolRequest, bool) {
	var q toolRequest
	header, attached, err := splitFrame(payload)
	if err != nil || len(attached) > 0 || len(header) < 2 || header[0] != '{' || header[len(header)-1] != '}' {
		return q, false
	}
	rest, async := bytes.CutPrefix(header[:len(header)-1], []byte(`{"async":true,`))
	if !async {
		rest = rest[1:]
	}
	rest, named := bytes.CutPrefix(rest, []byte(`"name":"`))
	name, rest, ends := bytes.Cut(rest, []byte(`","arguments":`))
	tool := t.Registry.tools[string(name)]
	if !named || !ends || tool == nil {
		return q, false
	}
	members, ok := plainMembers(rest)
	return toolRequest{name: tool.Name, arguments: rest, async: async, members: members}, ok
}

// plainMembers are those of an object, the arguments in a header.
func plainMembers(text []byte) ([]member, bool) {
	s, err := newJSON(text)
	if err != nil || s.peek() != '{' {
		return nil, false
	}
	s.depth = 2 // that of the header, and the object's own
	members := make([]member, 0, 4)
	for s.at++; ; s.at++ {
		s.space()
		if s.peek() == '}' && len(members) == 0 {
			break
		}
		from := s.at
		if s.string() != nil || len(members) == maxPlainMembers {
			return nil, false
		}
		name := text[from+1 : s.at-1]
		if s.space(); s.peek() != ':' || bytes.IndexByte(name, '\\') >= 0 || memberOf(members, name) != nil {
			return nil, false
		}
		s.at++
		value, err := s.raw()
		if err != nil {
			return nil, false
		}
		members = append(members, member{name, value})
		if s.space(); s.peek() != ',' {
			break
		}
	}
	if s.peek() != '}' || s.at+1 != len(text) {
		return nil, false
	}
	return members, true
}

// memberOf is the value of the member of that name, nil when there is none.
func memberOf[Name []byte | string](members []member, name Name) []byte {
	for _, m := range members {
		if string(m.name) == string(name) {
			return m.value
		}
	}
	return nil
}

// A structReader reads plain arguments into a Go struct as json.Unmarshal would, which takes ten times as long. It has the index
// of each field that it can read, by the name in JSON; nil: it can read nothing.
type structReader map[string]int

// newStructReader is one for t. It can read what is of Go's own types.
func newStructReader(t reflect.Type) structReader {
	if t.Kind() != reflect.Struct || readsItself(t) {
		return nil
	}
	r, names := structReader{}, map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			return nil
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		if names[name] || !f.IsExported() && f.Tag.Get("json") != "" {
			return nil
		}
		names[name] = true
		plain := f.Type.PkgPath() == "" && isPlainKind(f.Type.Kind()) && f.Tag.Get("json") != "-"
		if f.IsExported() && plain && !strings.Contains(options, "string") {
			r[name] = i
		}
	}
	return r
}

func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func isPlainKind(k reflect.Kind) bool {
	return k == reflect.Bool || k >= reflect.Int && k <= reflect.Int64 || k == reflect.Float64 || k == reflect.String
}

// read sets the fields of into that the members name; false when one of them is for json.Unmarshal, and nothing of into
// counts.
func (r structReader) read(members []member, into reflect.Value) bool {
	if r == nil {
		return false
	}
	for _, m := range members {
		i, known := r[string(m.name)]
		if !known || !setPlain(into.Field(i), m.value) {
			return false
		}
	}
	return true
}

// setPlain gives a field the value that a valid JSON text has, if that is of its kind and simply written.
func setPlain(field reflect.Value, text []byte) bool {
	switch field.Kind() {
	case reflect.Bool:
		field.SetBool(text[0] == 't')
		return text[0] == 't' || text[0] == 'f'
	case reflect.Float64:
		f, err := strconv.ParseFloat(string(text), 64)
		field.SetFloat(f)
		return err == nil && !math.IsInf(f, 0)
	case reflect.String:
		if text[0] != '"' || bytes.IndexByte(text, '\\') >= 0 {
			return false
		}
		field.SetString(string(text[1 : len(text)-1]))
		return true
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || field.OverflowInt(n) {
		return false
	}
	field.SetInt(n)
	return true
}

// typedCall is the Call of a tool whose arguments were taken apart already.
type typedCall func(ctx context.Context, arguments json.RawMessage, members []member) (json.RawMessage, error)
