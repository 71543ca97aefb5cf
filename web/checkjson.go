package web

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// deepest is how deep JSON may be nested, which is deeper than anything sensible.
const deepest = 128

// checkJSON refuses what encoding/json would let pass where the body is to become a t: a key that is there twice, of which two
// readers may take a different one; a field whose name differs from ours in case; null in a list or a map, which would become
// an empty value; half of a surrogate pair, which would become another character; and deep nesting. What is malformed passes:
// the decoder says where.
func checkJSON(body []byte, t reflect.Type) *apiError {
	var around []container // outermost first
	next := t              // the type of the value that comes next
	expectKey := false
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{', '[':
			if len(around) == deepest {
				return invalidf("the JSON is nested more than %d deep", deepest)
			}
			c := newContainer(body[i] == '{', next)
			around, expectKey, next = append(around, c), c.keys != nil, c.element
		case '}', ']':
			if len(around) == 0 {
				return nil
			}
			around, expectKey = around[:len(around)-1], false
		case ',':
			if n := len(around); n > 0 {
				expectKey, next = around[n-1].keys != nil, around[n-1].element
				around[n-1].index++
			}
		case 'n':
			if n := len(around); n > 0 && !expectKey && around[n-1].wants(next) && bytes.HasPrefix(body[i:], []byte("null")) {
				return invalidf("%s is null, which cannot be an element of a list, or the value of a name", quoted(place(around)))
			}
		case '"':
			end := stringEnd(body, i)
			if end < 0 {
				return nil
			}
			if expectKey {
				var ok bool
				var e *apiError
				if next, ok, e = around[len(around)-1].key(body[i:end+1], around); e != nil || !ok {
					return e
				}
				expectKey = false
			} else if isText(next) && halfPair(body[i:end]) {
				return invalidf("%s holds half of a surrogate pair, as no text in UTF-8 can", quoted(place(around)))
			}
			i = end
		}
	}
	return nil
}

// container is an object or a list that is being read.
type container struct {
	keys    map[string]bool         // those so far of an object; nil for a list
	fields  map[string]reflect.Type // of an object that becomes a struct; nil for others
	element reflect.Type            // of a list's elements and a map's values; nil: anything goes

	name  string // of an object: the last key
	index int    // of a list: how many elements came before
}

// place is where the value that is being read stands, such as files[1].path.
func place(around []container) string {
	var b strings.Builder
	for i, c := range around {
		switch {
		case c.keys == nil:
			fmt.Fprintf(&b, "[%d]", c.index)
		case i > 0:
			b.WriteString("." + c.name)
		default:
			b.WriteString(c.name)
		}
	}
	return b.String()
}

func newContainer(object bool, t reflect.Type) container {
	var c container
	if object {
		c.keys = map[string]bool{}
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil || reflect.PointerTo(t).Implements(unmarshaler) || reflect.PointerTo(t).Implements(textUnmarshaler):
	case t.Kind() == reflect.Struct && object:
		c.fields = fieldsOf(t)
	case t.Kind() == reflect.Map && object, t.Kind() == reflect.Slice && !object:
		c.element = t.Elem()
	}
	return c
}

// wants says whether an element of the container has to be there: it is of a list or a map, and a next that has no null.
func (c container) wants(next reflect.Type) bool {
	return c.element != nil && next != nil && next.Kind() != reflect.Pointer && next.Kind() != reflect.Interface && !reflect.PointerTo(next).Implements(unmarshaler)
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// key takes the next key of an object, the innermost one of around, with its quotes, and returns the type of its value. It is not ok
// when it is malformed.
func (c *container) key(quotedKey []byte, around []container) (value reflect.Type, ok bool, _ *apiError) {
	name := string(quotedKey[1 : len(quotedKey)-1])
	if bytes.IndexByte(quotedKey, '\\') >= 0 && json.Unmarshal(quotedKey, &name) != nil {
		return nil, false, nil
	}
	c.name = name
	if c.keys[name] {
		return nil, false, invalidf("the key %s is there twice", quoted(place(around)))
	}
	c.keys[name] = true
	if c.fields == nil {
		return c.element, true, nil
	}
	value, ok = c.fields[name]
	if !ok {
		there := slices.Sorted(maps.Keys(c.fields))
		if len(there) == 0 {
			return nil, false, invalidf("unknown field %s: there are none here", quoted(place(around)))
		}
		return nil, false, invalidf("unknown field %s: there are %s", quoted(place(around)), strings.Join(there, ", "))
	}
	return value, true, nil
}

// fieldsOf are the fields of a struct, by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := structs.Load(t); ok {
		return known.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	structs.Store(t, fields)
	return fields
}

var structs sync.Map // of fieldsOf, by type

// isText says whether a value becomes a Go string.
func isText(t reflect.Type) bool {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t != nil && t.Kind() == reflect.String
}

// halfPair says whether a string, with its escapes, has one half of a surrogate pair, for which encoding/json puts U+FFFD.
func halfPair(s []byte) bool {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			return false
		}
		s = s[i:]
		first := escaped(s)
		switch {
		case !utf16.IsSurrogate(first):
			s = s[2:]
		case utf16.DecodeRune(first, escaped(s[6:])) == utf8.RuneError:
			return true
		default:
			s = s[12:]
		}
	}
}

// escaped is what the escape \uXXXX at the beginning of s stands for, or -1.
func escaped(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(s[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// stringEnd is where the string that begins at i ends, or -1.
func stringEnd(body []byte, i int) int {
	for i++; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return -1
}
