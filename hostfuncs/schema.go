package hostfuncs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// inputSchema checks the arguments of a tool.
type inputSchema struct {
	schema *jsonschema.Schema
	names  []string // of the arguments, in the order of the schema
	// typed says that Call reads the arguments into a Go type, so that only what that does not see is left to check: names, nulls
	// and lengths.
	typed bool
	// closed says that no other names are accepted.
	closed   bool
	resolved *jsonschema.Resolved
	cost     *checkCost
}

// newInputSchema reads a schema, whose instances must be objects.
func newInputSchema(text json.RawMessage) (*inputSchema, error) {
	s := &inputSchema{schema: &jsonschema.Schema{Type: "object"}}
	if len(text) > maxSchema {
		return nil, fmt.Errorf("longer than %d bytes", maxSchema)
	}
	if len(text) > 0 {
		if err := json.Unmarshal(text, s.schema); err != nil {
			return nil, err
		}
		var raw any
		if err := json.Unmarshal(text, &raw); err != nil {
			return nil, err
		}
		var err error
		if s.cost, err = newCheckCost(raw); err != nil {
			return nil, err
		}
		s.names = propertyOrder(text)
		s.schema.PropertyOrder = s.names
	}
	if s.schema.Type == "" && s.schema.Types == nil {
		s.schema.Type = "object"
	}
	if s.schema.Type != "object" {
		return nil, errors.New(`the type must be "object"`)
	}
	return s, s.finish()
}

// finish resolves the schema. Nothing is loaded from elsewhere: a reference must be into the schema itself.
func (s *inputSchema) finish() (err error) {
	if s.names == nil {
		s.names = slices.Clone(s.schema.PropertyOrder)
	}
	for _, name := range s.names {
		if len(name) > 256 {
			return fmt.Errorf("the property %.40q… has a name of %d bytes", name, len(name))
		}
	}
	if a := s.schema.AdditionalProperties; a != nil && a.Not != nil && len(s.schema.PatternProperties) == 0 {
		s.closed = true
	}
	s.resolved, err = s.schema.Resolve(nil)
	return err
}

// propertyOrder lists the names in "properties" as they stand in the text.
func propertyOrder(text json.RawMessage) []string {
	s, err := newJSON(text)
	if err != nil {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	_ = s.object(func(key string) error {
		if key != "properties" {
			return s.value()
		}
		return s.object(func(name string) error {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
			return s.value()
		})
	})
	return names
}

// tooManyArguments bounds the distinct names of one call's arguments.
const tooManyArguments = 1000

// check says what is wrong with the arguments, a JSON value that was scanned already.
func (s *inputSchema) check(q toolRequest) error {
	if !s.fits(q.members) {
		if err := s.checkNames(q.arguments, s.typed); err != nil {
			return err
		}
	}
	if s.typed {
		return nil
	}
	var value any
	if err := json.Unmarshal(q.arguments, &value); err != nil {
		return err
	}
	if s.cost != nil {
		if err := s.cost.check(value); err != nil {
			return err
		}
	}
	err := s.resolved.Validate(value)
	if err != nil {
		if placed := s.checkNames(q.arguments, true); placed != nil {
			return placed
		}
	}
	return err
}

// fits says whether the names of plain arguments, which differ from each other, are right, and there is nothing else to check. It
// is false when there are no members.
func (s *inputSchema) fits(members []member) bool {
	if members == nil {
		return false
	}
	for _, m := range members {
		if s.closed && !slices.Contains(s.names, string(m.name)) || s.typed && strings.IndexByte("{[n", m.value[0]) >= 0 {
			return false
		}
	}
	for _, name := range s.schema.Required {
		if memberOf(members, name) == nil {
			return false
		}
	}
	return true
}

// checkNames says what is wrong with the names of the arguments, and, if deep, with what is inside of them.
func (s *inputSchema) checkNames(arguments json.RawMessage, deep bool) error {
	scan := &jsonScanner{text: arguments}
	inner := &innerCheck{scan: scan, types: typer{root: s.schema}, typed: s.typed, required: map[*jsonschema.Schema]map[string]bool{}}
	var given []string
	err := scan.object(func(key string) error {
		switch {
		case slices.Contains(given, key):
			return fmt.Errorf("%.60q is there twice", key)
		case s.closed && !slices.Contains(s.names, key):
			return fmt.Errorf("unexpected argument %.60q", key)
		case len(given) == tooManyArguments:
			return errors.New("too many arguments")
		}
		given = append(given, key)
		if !deep {
			return scan.value()
		}
		return inner.member(s.schema, key)
	})
	if err != nil {
		if errors.Is(err, errNotJSON) {
			return errors.New("the arguments are not a JSON object")
		}
		return err
	}
	for _, name := range s.schema.Required {
		if !slices.Contains(given, name) {
			return fmt.Errorf("missing argument %q", name)
		}
	}
	return nil
}

// decodeStrict reads arguments, whose own names were checked, into a Go value; nested says that it has structs inside, of
// which a field that they do not have is an error too.
func decodeStrict(arguments json.RawMessage, into any, nested bool) error {
	if !nested {
		return json.Unmarshal(arguments, into)
	}
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

// hasStructs says whether a value of type t, a struct, can have further structs inside.
func hasStructs(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return true
	}
	for i := range t.NumField() {
		f := t.Field(i).Type
		for f.Kind() == reflect.Pointer || f.Kind() == reflect.Slice || f.Kind() == reflect.Array || f.Kind() == reflect.Map {
			f = f.Elem()
		}
		if f.Kind() == reflect.Struct || f.Kind() == reflect.Interface {
			return true
		}
	}
	return false
}
