package hostfuncs

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// An innerCheck looks for what a schema forbids inside of arguments, and says where it is: names of objects, kinds of values, nulls,
// and lengths of lists. Ranges of values are for whoever reads them. It goes along a valid JSON text.
type innerCheck struct {
	scan     *jsonScanner
	types    typer
	typed    bool                                   // the arguments are for a Go type, for which null is the same as what may be left out
	required map[*jsonschema.Schema]map[string]bool // of those that were met
	place    []byte                                 // of the value at hand, as a program would write it
}

// maxPlaceName bounds what is shown of a name.
const maxPlaceName = 60

// wrong is an error at the place at hand.
func (c *innerCheck) wrong(format string, a ...any) error {
	return fmt.Errorf("%s: %s", c.place, fmt.Sprintf(format, a...))
}

// enter goes to a member of the value at hand; the caller cuts the place again.
func (c *innerCheck) enter(name string) {
	switch name = cut(name, maxPlaceName); {
	case !isIdentifier(name):
		c.place = fmt.Appendf(c.place, "[%q]", name)
	case len(c.place) > 0:
		c.place = append(append(c.place, '.'), name...)
	default:
		c.place = append(c.place, name...)
	}
}

// member passes the value of a member of an object that s describes.
func (c *innerCheck) member(s *jsonschema.Schema, name string) error {
	outer := len(c.place)
	c.enter(name)
	described, known := s.Properties[name]
	switch {
	case known && c.typed && c.scan.peek() == 'n' && !c.requires(s, name):
		described = nil
	case !known && len(s.PatternProperties) == 0:
		if described = s.AdditionalProperties; refusesAll(described) {
			return c.wrong("unexpected")
		}
	}
	err := c.value(described)
	c.place = c.place[:outer]
	return err
}

// requires says whether an object that s describes must have a member.
func (c *innerCheck) requires(s *jsonschema.Schema, name string) bool {
	names := c.required[s]
	if names == nil {
		names = nameSet(s.Required)
		c.required[s] = names
	}
	return names[name]
}

func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// refusesAll says whether a schema is false.
func refusesAll(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && reflect.DeepEqual(s.Not, &jsonschema.Schema{})
}

// value passes a value that s describes; nil: anything.
func (c *innerCheck) value(s *jsonschema.Schema) error {
	if s = c.types.follow(s); s == nil {
		return c.scan.value()
	}
	first := c.scan.peek()
	if len(s.AnyOf) == 2 && s.AnyOf[0].Type == "null" && first != 'n' {
		return c.value(s.AnyOf[1])
	}
	kind := kinds[first] // of a number: none
	switch {
	case !takes(s, kind) && (kind == "null" || !c.typed || c.scan.depth > 1): // a Go type says so of arguments themselves
		return c.wrong("cannot be %s", articles[kind])
	case first == '{':
		return c.object(s)
	case first == '[':
		return c.array(s)
	}
	return c.scan.value()
}

// kinds are what begins with a byte.
var kinds = map[byte]string{'n': "null", 't': "boolean", 'f': "boolean", '"': "string", '[': "array", '{': "object"}

var articles = map[string]string{"null": "null", "boolean": "a boolean", "string": "a string", "array": "an array", "object": "an object", "": "a number"}

// takes says whether a value of a kind may be what s describes.
func takes(s *jsonschema.Schema, kind string) bool {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	if kind == "" {
		return len(types) == 0 || slices.Contains(types, "number") || slices.Contains(types, "integer")
	}
	return len(types) == 0 || slices.Contains(types, kind)
}

func (c *innerCheck) object(s *jsonschema.Schema) error {
	given := map[string]bool{} // of those that the schema names
	err := c.scan.object(func(name string) error {
		if _, known := s.Properties[name]; known || c.requires(s, name) {
			if given[name] {
				c.enter(name)
				return c.wrong("is there twice")
			}
			given[name] = true
		}
		return c.member(s, name)
	})
	if err != nil {
		return err
	}
	for _, name := range s.Required {
		if !given[name] {
			c.enter(name)
			return c.wrong("missing")
		}
	}
	return nil
}

func (c *innerCheck) array(s *jsonschema.Schema) error {
	items := s.Items
	if len(s.PrefixItems) > 0 || len(s.ItemsArray) > 0 {
		items = nil // which would be those after the first
	}
	n, outer := 0, len(c.place)
	err := c.scan.list('[', ']', func() error {
		c.place = append(strconv.AppendInt(append(c.place, '['), int64(n), 10), ']')
		n++
		err := c.value(items)
		if err == nil {
			c.place = c.place[:outer]
		}
		return err
	})
	switch least, most := s.MinItems, s.MaxItems; {
	case err != nil:
		return err
	case least != nil && most != nil && *least == *most && n != *least:
		return c.wrong("takes %d items, not %d", *least, n)
	case least != nil && n < *least:
		return c.wrong("takes at least %d items, not %d", *least, n)
	case most != nil && n > *most:
		return c.wrong("takes at most %d items, not %d", *most, n)
	}
	return nil
}
