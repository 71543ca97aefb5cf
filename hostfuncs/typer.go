package hostfuncs

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A typer writes schemas as types of other languages. What a type cannot say is left out: the schema itself is what is
// checked.
type typer struct {
	root    *jsonschema.Schema
	written int // bytes, about
}

// Bounds of a written type, and of all that a typer writes.
const (
	maxTypeDepth = 6
	maxLiterals  = 30
	maxTypes     = 256 << 10
	typeSize     = 16 // about
)

// follow resolves a reference into the schema itself.
func (t *typer) follow(s *jsonschema.Schema) *jsonschema.Schema {
	for range maxTypeDepth {
		if s == nil || s.Ref == "" {
			return s
		}
		if s.Ref == "#" {
			s = t.root
			continue
		}
		name, ok := strings.CutPrefix(s.Ref, "#/$defs/")
		if !ok {
			name, ok = strings.CutPrefix(s.Ref, "#/definitions/")
		}
		if !ok {
			return nil
		}
		if next := t.root.Defs[name]; next != nil {
			s = next
		} else {
			s = t.root.Definitions[name]
		}
	}
	return nil
}

// words are how a language writes types.
type words struct {
	names    map[string]string // of the simple types
	anything string
	list     func(item string) string
	record   func(value string) string
	object   func(fields []field) string
	literals func(values []string) string
}

var pythonWords = words{
	names:    map[string]string{"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"},
	anything: "Any",
	list:     func(item string) string { return "list[" + item + "]" },
	record:   func(value string) string { return "dict[str, " + value + "]" },
	object:   func([]field) string { return "dict[str, Any]" },
	literals: func(values []string) string { return "Literal[" + strings.Join(values, ", ") + "]" },
}

var typeScriptWords = words{
	names:    map[string]string{"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"},
	anything: "unknown",
	list: func(item string) string {
		if strings.ContainsAny(item, " |") {
			return "Array<" + item + ">"
		}
		return item + "[]"
	},
	record:   func(value string) string { return "Record<string, " + value + ">" },
	object:   typeScriptObject,
	literals: func(values []string) string { return strings.Join(values, " | ") },
}

func (t *typer) python(s *jsonschema.Schema, depth int) string {
	return t.write(&pythonWords, s, depth)
}
func (t *typer) typeScript(s *jsonschema.Schema, depth int) string {
	return t.write(&typeScriptWords, s, depth)
}

func (t *typer) write(w *words, s *jsonschema.Schema, depth int) string {
	t.written += typeSize
	if s = t.follow(s); s == nil || depth > maxTypeDepth || t.written > maxTypes {
		return w.anything
	}
	if len(s.Enum) > 0 && len(s.Enum) <= maxLiterals {
		if values, ok := literals(s.Enum); ok {
			for _, v := range values {
				t.written += len(v)
			}
			return w.literals(values)
		}
	}
	for _, choices := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if len(choices) > 0 {
			return t.union(w, choices, depth)
		}
	}
	kinds := s.Types
	if s.Type != "" {
		kinds = []string{s.Type}
	}
	if len(kinds) == 0 {
		return w.anything
	}
	var parts []string
	for _, k := range kinds {
		if k != "null" {
			parts = append(parts, t.simple(w, s, k, depth))
		}
	}
	if slices.Contains(kinds, "null") {
		parts = append(parts, w.names["null"])
	}
	return strings.Join(unique(parts), " | ")
}

func (t *typer) simple(w *words, s *jsonschema.Schema, kind string, depth int) string {
	switch kind {
	case "array":
		return w.list(t.write(w, s.Items, depth+1))
	case "object":
		if a := s.AdditionalProperties; len(s.Properties) == 0 && a != nil && a.Not == nil {
			return w.record(t.write(w, a, depth+1))
		}
		return w.object(t.fields(w, s, depth))
	}
	if name := w.names[kind]; name != "" {
		return name
	}
	return w.anything
}

func (t *typer) union(w *words, choices []*jsonschema.Schema, depth int) string {
	var parts []string
	for _, c := range choices[:min(len(choices), maxLiterals)] {
		parts = append(parts, t.write(w, c, depth+1))
	}
	parts = unique(parts)
	if slices.Contains(parts, w.anything) {
		return w.anything
	}
	return strings.Join(parts, " | ")
}

// field is one property of an object.
type field struct {
	name, typ string
	optional  bool
}

func (t *typer) fields(w *words, s *jsonschema.Schema, depth int) []field {
	names := s.PropertyOrder
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(s.Properties))
	}
	t.written += len(names) + len(s.Required)
	required := nameSet(s.Required)
	var fields []field
	for _, name := range names {
		if t.written += len(name); t.written > maxTypes {
			break
		}
		fields = append(fields, field{name, t.write(w, s.Properties[name], depth+1), !required[name]})
	}
	return fields
}

func typeScriptObject(fields []field) string {
	if len(fields) == 0 {
		return "Record<string, unknown>"
	}
	var parts []string
	for _, f := range fields {
		key := f.name
		if !isIdentifier(key) {
			key = fmt.Sprintf("%q", key)
		}
		if f.optional {
			key += "?"
		}
		parts = append(parts, key+": "+f.typ)
	}
	return "{ " + strings.Join(parts, "; ") + " }"
}

// literals are values as both languages write them: texts and numbers.
func literals(values []any) ([]string, bool) {
	var texts []string
	for _, v := range values {
		switch v.(type) {
		case string, float64, json.Number, int:
		default:
			return nil, false
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, false
		}
		texts = append(texts, string(b))
	}
	return texts, true
}

func unique(list []string) []string {
	var kept []string
	for _, s := range list {
		if !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}
