package hostfuncs

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// goTypes makes schemas of Go types: of what encoding/json makes of their values. A struct that holds itself is described once, and
// referred to where it comes again.
type goTypes struct {
	root reflect.Type
	open []reflect.Type          // structs that are being described, outermost first
	refs map[reflect.Type]string // to those of them that hold themselves
	defs map[string]*jsonschema.Schema
}

// goSchema is the schema of a type.
func goSchema(t reflect.Type) (*jsonschema.Schema, error) {
	g := &goTypes{root: t, refs: map[reflect.Type]string{}, defs: map[string]*jsonschema.Schema{}}
	for g.root.Kind() == reflect.Pointer {
		g.root = g.root.Elem()
	}
	s, err := g.of(t)
	if err != nil {
		return nil, err
	}
	if len(g.defs) > 0 {
		s.Defs = g.defs
	}
	return s, nil
}

func (g *goTypes) of(t reflect.Type) (*jsonschema.Schema, error) {
	pointer := false
	for t.Kind() == reflect.Pointer {
		pointer, t = true, t.Elem()
	}
	s, err := g.value(t)
	if err == nil && pointer {
		s = orNull(s)
	}
	return s, err
}

// orNull is s for a value that may be null, too.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case s.Ref != "":
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "null"}, s}}
	case s.Type != "":
		s.Type, s.Types = "", []string{"null", s.Type}
	}
	return s // anything may be null, and so may what says so already
}

// written are types that write themselves, in JSON that their methods do not tell.
var written = map[reflect.Type]func() *jsonschema.Schema{
	reflect.TypeFor[json.Number]():   func() *jsonschema.Schema { return &jsonschema.Schema{Type: "number"} },
	reflect.TypeFor[big.Int]():       func() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer"} },
	reflect.TypeFor[time.Time]():     func() *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Format: "date-time"} },
	reflect.TypeFor[time.Duration](): func() *jsonschema.Schema { return &jsonschema.Schema{Type: "integer", Description: "nanoseconds"} },
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

func implements(t, method reflect.Type) bool {
	return t.Implements(method) || reflect.PointerTo(t).Implements(method)
}

func (g *goTypes) value(t reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{}
	if w := written[t]; w != nil {
		return w(), nil
	}
	switch kind := t.Kind(); {
	case kind == reflect.Interface, implements(t, jsonMarshaler): // anything
	case implements(t, textMarshaler), kind == reflect.String:
		s.Type = "string"
	case kind == reflect.Bool:
		s.Type = "boolean"
	case kind == reflect.Float32, kind == reflect.Float64:
		s.Type = "number"
	case kind >= reflect.Int && kind <= reflect.Int64:
		s.Type = "integer"
		if bits := t.Bits(); bits < 64 {
			s.Minimum, s.Maximum = new(-math.Ldexp(1, bits-1)), new(math.Ldexp(1, bits-1)-1)
		}
	case kind >= reflect.Uint && kind <= reflect.Uintptr:
		s.Type, s.Minimum = "integer", new(0.0)
		if bits := t.Bits(); bits < 64 {
			s.Maximum = new(math.Ldexp(1, bits) - 1)
		}
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !writesItself(t.Elem()):
		s.Types, s.ContentEncoding, s.Description = []string{"null", "string"}, "base64", "base64"
	case kind == reflect.Slice, kind == reflect.Array:
		return g.list(t)
	case kind == reflect.Map:
		return g.record(t)
	case kind == reflect.Struct:
		return g.object(t)
	default:
		return nil, fmt.Errorf("the type %s has no JSON", t)
	}
	return s, nil
}

func (g *goTypes) list(t reflect.Type) (*jsonschema.Schema, error) {
	items, err := g.of(t.Elem())
	if err != nil {
		return nil, fmt.Errorf("item: %w", err)
	}
	s := &jsonschema.Schema{Items: items}
	if t.Kind() == reflect.Slice {
		s.Types = []string{"null", "array"}
	} else {
		s.Type, s.MinItems, s.MaxItems = "array", new(t.Len()), new(t.Len())
	}
	return s, nil
}

func (g *goTypes) record(t reflect.Type) (*jsonschema.Schema, error) {
	key := t.Key()
	if kind := key.Kind(); kind != reflect.String && (kind < reflect.Int || kind > reflect.Uintptr) && !implements(key, textMarshaler) {
		return nil, fmt.Errorf("JSON has no maps with keys of type %s", key)
	}
	values, err := g.of(t.Elem())
	if err != nil {
		return nil, fmt.Errorf("value: %w", err)
	}
	return &jsonschema.Schema{Types: []string{"null", "object"}, AdditionalProperties: values}, nil
}

func (g *goTypes) object(t reflect.Type) (*jsonschema.Schema, error) {
	if slices.Contains(g.open, t) {
		if t == g.root && g.open[0] == t {
			g.refs[t] = "#"
		} else if g.refs[t] == "" {
			g.refs[t] = "#/$defs/" + g.name(t)
		}
	}
	if ref := g.refs[t]; ref != "" {
		return &jsonschema.Schema{Ref: ref}, nil
	}
	g.open = append(g.open, t)
	s, err := g.properties(t)
	g.open = g.open[:len(g.open)-1]
	if err != nil {
		return nil, err
	}
	if name, found := strings.CutPrefix(g.refs[t], "#/$defs/"); found {
		g.defs[name] = s
		return &jsonschema.Schema{Ref: g.refs[t]}, nil
	}
	return s, nil
}

// name is a name among the definitions that is free.
func (g *goTypes) name(t reflect.Type) string {
	base := strings.Map(func(r rune) rune {
		if r < 0x80 && (isIdentifier("x" + string(r))) {
			return r
		}
		return '_' // as in the names of types with parameters
	}, t.Name())
	for name, n := base, 2; ; name, n = fmt.Sprint(base, n), n+1 {
		if _, taken := g.defs[name]; !taken {
			g.defs[name] = nil // until it is described
			return name
		}
	}
}

// properties describes the fields of a struct, those of structs that are embedded in it among them.
func (g *goTypes) properties(t reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	depth := map[string]int{}
	var within []int // an embedded struct that is a field of its own
	for _, f := range reflect.VisibleFields(t) {
		if within != nil && len(f.Index) > len(within) && slices.Equal(f.Index[:len(within)], within) {
			continue
		}
		within = nil
		tag, settings, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" && isStruct(f.Type) && !writesItself(f.Type) {
			continue // its fields follow
		}
		if f.Anonymous {
			within = f.Index
		}
		name := tag
		if name == "" {
			name = f.Name
		}
		if at, known := depth[name]; !f.IsExported() || f.Tag.Get("json") == "-" || known && at <= len(f.Index) {
			continue
		}
		depth[name] = len(f.Index)
		field, err := g.of(f.Type)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name, err)
		}
		options := strings.Split(settings, ",")
		if slices.Contains(options, "string") && (field.Type == "integer" || field.Type == "number" || field.Type == "boolean") {
			field = &jsonschema.Schema{Type: "string"}
		}
		if field, err = described(field, f); err != nil {
			return nil, err
		}
		if s.Properties[name] == nil {
			s.PropertyOrder = append(s.PropertyOrder, name)
		}
		s.Properties[name] = field
		s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
		if !slices.Contains(options, "omitempty") && !slices.Contains(options, "omitzero") {
			s.Required = append(s.Required, name)
		}
	}
	return s, nil
}

func isStruct(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

func writesItself(t reflect.Type) bool {
	return implements(t, jsonMarshaler) || implements(t, textMarshaler)
}

// keyed is how a description may not begin, since it could come to mean something.
var keyed = regexp.MustCompile(`^[^ \t\n]*=`)

// described is a field with the description that its tag has.
func described(s *jsonschema.Schema, f reflect.StructField) (*jsonschema.Schema, error) {
	tag, found := f.Tag.Lookup("jsonschema")
	switch {
	case !found:
		return s, nil
	case tag == "":
		return nil, errors.New("field " + f.Name + ": the jsonschema tag is empty")
	case keyed.MatchString(tag):
		return nil, fmt.Errorf("field %s: a jsonschema tag is a description, and does not begin with WORD=: %q", f.Name, tag)
	}
	s.Description = tag
	return s, nil
}
