package limits

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// document is a TOML file being read. It is walked key by key rather than decoded into structs, so that
// every unknown key is found with its line, letter case counts, and all problems are reported at once.
type document struct {
	name     string
	meta     toml.MetaData
	problems []error
}

// failf notes a problem with the value v.
func (d *document) failf(v toml.Primitive, format string, args ...any) {
	if len(d.problems) == maxProblems {
		return
	}
	where := d.name
	if line := d.line(v); line > 0 {
		where = fmt.Sprintf("%s:%d", d.name, line)
	}
	d.problems = append(d.problems, fmt.Errorf("%s: %w", where, fmt.Errorf(format, args...)))
}

func (d *document) err() error { return errors.Join(d.problems...) }

// table returns the entries of v, or notes that it is no table.
func (d *document) table(where string, v toml.Primitive) map[string]toml.Primitive {
	if x := d.value(v); !isTable(x) {
		d.failf(v, "%s must be a table, not %s", where, typeName(x))
		return nil
	}
	t := map[string]toml.Primitive{}
	if err := d.meta.PrimitiveDecode(v, &t); err != nil {
		d.failf(v, "%s: %s", where, messageOf(err))
		return nil
	}
	return t
}

func isTable(v any) bool {
	_, ok := v.(map[string]any)
	return ok
}

// value returns v as string, int64, float64, bool, time.Time, []any or map[string]any.
func (d *document) value(v toml.Primitive) any {
	var x any
	if err := d.meta.PrimitiveDecode(v, &x); err != nil {
		return nil
	}
	return x
}

// order returns the keys of t as they stand in the file.
func (d *document) order(t map[string]toml.Primitive) []string {
	type entry struct {
		key  string
		line int
	}
	entries := make([]entry, 0, len(t))
	for k, v := range t {
		entries = append(entries, entry{k, d.line(v)})
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.line != b.line {
			return cmp.Compare(uint(a.line-1), uint(b.line-1)) // unknown ones last
		}
		return strings.Compare(a.key, b.key)
	})
	keys := make([]string, len(entries))
	for i, e := range entries {
		keys[i] = e.key
	}
	return keys
}

// line returns the line on which v stands, from 1, or 0 where the TOML package does not know it (keys that
// are empty).
//
// The TOML package tells positions only in errors. So v is decoded into a type that refuses it.
func (d *document) line(v toml.Primitive) int {
	return d.lineOf(d.meta.PrimitiveDecode(v, &refuser{}))
}

func (d *document) lineOf(err error) int {
	if pe, ok := errors.AsType[toml.ParseError](err); ok {
		return pe.Position.Line
	}
	return 0
}

// refuser cannot be decoded into.
type refuser struct{}

func (*refuser) UnmarshalTOML(any) error { return errors.New("refused") }

// messageOf is the text of a TOML error without its position.
func messageOf(err error) string {
	if pe, ok := errors.AsType[toml.ParseError](err); ok {
		return pe.Message
	}
	return strings.TrimPrefix(err.Error(), "toml: ")
}

func typeName(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case time.Time:
		return "a date"
	case map[string]any:
		return "a table"
	default:
		return "a list"
	}
}
