package limits

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// Table is a table of a TOML file that is read strictly, for configurations that have limits in them: a key that is
// not asked for is an error with its line, and so is a value of the wrong kind. All problems are reported at once, by
// [Table.Problems] of any of a file's tables. What is missing is zero.
type Table struct {
	doc   *document
	where string // its name in the file, "" for the file
	at    toml.Primitive
	keys  map[string]toml.Primitive
	known []string
}

// ParseTOML reads a TOML file of at most 1 MiB. Name stands for it in errors.
func ParseTOML(name string, data []byte) (*Table, error) {
	if len(data) > maxPolicyBytes {
		return nil, fmt.Errorf("%s is larger than %s", name, FormatSize(maxPolicyBytes))
	}
	t := &Table{doc: &document{name: name}, keys: map[string]toml.Primitive{}}
	var err error
	if t.doc.meta, err = toml.Decode(string(data), &t.keys); err != nil {
		return nil, fmt.Errorf("%s:%d: %s", name, t.doc.lineOf(err), messageOf(err))
	}
	return t, nil
}

// Problems are those of the whole file.
func (t *Table) Problems() error { return t.doc.err() }

// Failf notes a problem with a key, or with the table when it has no such key.
func (t *Table) Failf(key, format string, args ...any) {
	v, ok := t.keys[key]
	switch {
	case ok:
		t.doc.failf(v, format, args...)
	case t.where != "":
		t.doc.failf(t.at, format, args...)
	default:
		t.doc.problems = append(t.doc.problems, fmt.Errorf("%s: %w", t.doc.name, fmt.Errorf(format, args...)))
	}
}

// Names are the keys of a table whose keys are names of the user's, as they stand in the file.
func (t *Table) Names() []string { return t.doc.order(t.keys) }

// Close notes the keys that were not asked for.
func (t *Table) Close() {
	slices.Sort(t.known)
	for _, key := range t.doc.order(t.keys) {
		if !slices.Contains(t.known, key) {
			in := ""
			if t.where != "" {
				in = " in [" + t.where + "]"
			}
			t.doc.failf(t.keys[key], "unknown key %q%s: there are %s", key, in, strings.Join(t.known, ", "))
		}
	}
}

// value is what a key holds. It is false when the key is missing.
func (t *Table) value(key string) (any, bool) {
	t.known = append(t.known, key)
	v, ok := t.keys[key]
	if !ok {
		return nil, false
	}
	return t.doc.value(v), true
}

func of[T any](t *Table, key, kind string) (out T) {
	v, ok := t.value(key)
	if !ok {
		return out
	}
	if out, ok = v.(T); !ok {
		t.Failf(key, "%s must be %s, not %s", key, kind, typeName(v))
	}
	return out
}

// Text is a string.
func (t *Table) Text(key string) string { return of[string](t, key, "a string") }

// Bool is true or false.
func (t *Table) Bool(key string) bool { return of[bool](t, key, "true or false") }

// Texts is a list of strings.
func (t *Table) Texts(key string) []string {
	list := of[[]any](t, key, "a list of strings")
	if list == nil {
		return nil
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			t.Failf(key, "%s must be a list of strings, and has %s", key, typeName(v))
			return nil
		}
		out = append(out, s)
	}
	return out
}

// number is a number, a size or a duration in human form, from low to high.
func (t *Table) number(key string, kind kind, low, high uint64) uint64 {
	v, ok := t.value(key)
	if !ok {
		return 0
	}
	n, err := kind.decode(v)
	if err == nil {
		err = field{key: key, kind: kind, min: low, max: high}.check(n)
	} else {
		err = fmt.Errorf("%s: %w", key, err)
	}
	if err != nil {
		t.Failf(key, "%w", err)
		return 0
	}
	return n
}

// Count is a whole number from low to high.
func (t *Table) Count(key string, low, high int) int {
	return int(t.number(key, kindCount, uint64(low), uint64(high)))
}

// Size is a number of bytes from low to high.
func (t *Table) Size(key string, low, high uint64) uint64 { return t.number(key, kindSize, low, high) }

// Duration is a duration from low to high.
func (t *Table) Duration(key string, low, high time.Duration) time.Duration {
	return time.Duration(t.number(key, kindDuration, uint64(low), uint64(high)))
}

// read is what a key holds as the policy reads it; the zero value when the key is missing.
func read[T any](t *Table, key string, as func(toml.Primitive) T) (out T) {
	t.known = append(t.known, key)
	if v, ok := t.keys[key]; ok {
		return as(v)
	}
	return out
}

// Limits are limits; see [Policy].
func (t *Table) Limits(key string) Limits {
	return read(t, key, func(v toml.Primitive) Limits { return t.doc.limits(t.name(key), v) })
}

// Mounts are mounts; see [Policy].
func (t *Table) Mounts(key string) []Mount { return read(t, key, t.doc.mounts) }

// Autopsy is how long a program that had to be stopped can be asked what it was doing; see [Policy].
func (t *Table) Autopsy(key string) time.Duration { return read(t, key, t.doc.autopsy) }

// Env are environment variables; see [Policy].
func (t *Table) Env(key string) map[string]string { return read(t, key, t.doc.env) }

// Network is what may be fetched; see [Policy]. Nil when the key is missing.
func (t *Table) Network(key string) *Network { return read(t, key, t.doc.network) }

// Mailbox are channels; see [Policy].
func (t *Table) Mailbox(key string) []Channel { return read(t, key, t.doc.mailbox) }

// Shared are shared folders that have those mounts beside them; see [Policy].
func (t *Table) Shared(key string, mounts []Mount) []Shared {
	return read(t, key, func(v toml.Primitive) []Shared { return t.doc.shared(v, mounts) })
}

// Tools are what may be called; see [Policy]. Nil when the key is missing.
func (t *Table) Tools(key string) *Tools { return read(t, key, t.doc.tools) }

// Review is what programs may not use; see [Policy].
func (t *Table) Review(key string) Review { return read(t, key, t.doc.review) }

// Table is a table in the table. One that is missing is empty.
func (t *Table) Table(key string) *Table {
	t.known = append(t.known, key)
	sub := &Table{doc: t.doc, where: t.name(key), keys: map[string]toml.Primitive{}}
	if v, ok := t.keys[key]; ok {
		sub.at = v
		if keys := t.doc.table(sub.where, v); keys != nil {
			sub.keys = keys
		}
	}
	return sub
}

func (t *Table) name(key string) string {
	if t.where == "" {
		return key
	}
	return t.where + "." + key
}
