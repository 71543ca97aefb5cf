package hostfuncs

import (
	"errors"
	"fmt"
	"net/url"
	"regexp/syntax"
	"strconv"
	"strings"
)

// Schemas come from clients too, and the library that checks arguments by them does what they say: a schema that refers to itself
// without going into the arguments ends the process when its stack does, one that refers twice to what refers twice takes for ever,
// and for each of a thousand choices there is an error that has the argument in it. A checkCost finds out before, going the same
// ways: whichever a check may go, for it looks at no value but to go into it.
type checkCost struct {
	root     any            // the schema, as JSON
	refs     map[string]any // what its references refer to
	patterns map[string]int // how many steps a regular expression takes for a character at most
	left     int
}

// What a check may cost: a little for each value that is held against each part of a schema, and as much as its error may have.
const (
	maxCheckCost  = 64 << 20 // bytes; a second, and as much in memory
	maxCheckDepth = 1000
	stepCost      = 16
	choiceCost    = 128 // where errors are kept until the last choice fails, too
	numberCost    = 64  // of a number that is compared, which is a fraction of large integers then
)

var errCheckCost = errors.New("to check these arguments by the schema takes too long")

// newCheckCost reads a schema's references, which must be into the schema, by the path of what they refer to.
func newCheckCost(schema any) (*checkCost, error) {
	c := &checkCost{root: schema, refs: map[string]any{}, patterns: map[string]int{}}
	return c, c.collect(schema, true)
}

// collect notes what the references of a schema refer to.
func (c *checkCost) collect(schema any, top bool) (err error) {
	s, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	if id, _ := s["$id"].(string); id != "" && !top || s["$dynamicRef"] != nil || s["$recursiveRef"] != nil {
		return errors.New("$id inside of it, $dynamicRef and $recursiveRef are not supported: refer by a path, such as #/$defs/name")
	}
	if ref, ok := s["$ref"].(string); ok && ref != "" {
		if c.refs[ref], err = c.find(ref); err != nil {
			return err
		}
	}
	if text, ok := s["pattern"].(string); ok {
		c.addPattern(text)
	}
	if named, ok := s["patternProperties"].(map[string]any); ok {
		for text := range named {
			c.addPattern(text)
		}
	}
	eachSchema(s, func(_ string, inner any) {
		if err == nil {
			err = c.collect(inner, false)
		}
	})
	return err
}

// addPattern finds out how large a regular expression is. What is none, the library refuses.
func (c *checkCost) addPattern(text string) {
	if r, err := syntax.Parse(text, syntax.Perl); err == nil {
		if p, err := syntax.Compile(r.Simplify()); err == nil {
			c.patterns[text] = len(p.Inst)
		}
	}
}

// find is what a reference refers to.
func (c *checkCost) find(ref string) (any, error) {
	path, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if err != nil || !strings.HasPrefix(ref, "#") || path != "" && path[0] != '/' {
		return nil, fmt.Errorf("the reference %.60q is not a path in the schema, such as #/$defs/name", ref)
	}
	at := c.root
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path[1:], "/")
		if path != "" {
			path = "/" + path
		}
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		switch in := at.(type) {
		case map[string]any:
			at = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil, fmt.Errorf("the reference %.60q leads nowhere", ref)
			}
			at = in[i]
		default:
			return nil, fmt.Errorf("the reference %.60q leads nowhere", ref)
		}
	}
	return at, nil
}

// Keywords that have schemas: one, or a list; a map of them; and those of them that are for the value itself, and not for what is in it.
var (
	schemaKeywords = []string{
		"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems",
		"additionalProperties", "propertyNames", "unevaluatedProperties", "contentSchema",
	}
	mapKeywords  = []string{"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}
	sameInstance = map[string]bool{
		"allOf": true, "anyOf": true, "oneOf": true, "not": true, "if": true, "then": true, "else": true, "dependentSchemas": true, "dependencies": true,
	}
)

// eachSchema calls do for the schemas in s, with their keyword.
func eachSchema(s map[string]any, do func(keyword string, inner any)) {
	for _, k := range schemaKeywords {
		if list, ok := s[k].([]any); ok {
			for _, inner := range list {
				do(k, inner)
			}
		} else if s[k] != nil {
			do(k, s[k])
		}
	}
	for _, k := range mapKeywords {
		if named, ok := s[k].(map[string]any); ok {
			for _, inner := range named {
				do(k, inner)
			}
		}
	}
}

// check says whether a value may be checked.
func (c *checkCost) check(value any) error {
	walk := *c
	walk.left = maxCheckCost
	if !walk.value(c.root, value, false, 0) {
		return errCheckCost
	}
	return nil
}

// value takes what it costs to hold a value against a schema; choice says that it is one of several. It is false when that is too much.
func (c *checkCost) value(schema, value any, choice bool, depth int) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return true
	}
	size := sizeOf(value)
	if c.left -= stepCost + size; choice {
		c.left -= choiceCost + size
	}
	c.left -= c.own(s, value)
	fits := c.left >= 0 && depth < maxCheckDepth
	if ref, ok := s["$ref"].(string); ok && fits {
		fits = c.value(c.refs[ref], value, choice, depth+1)
	}
	eachSchema(s, func(k string, inner any) {
		switch {
		case !fits || k == "$defs" || k == "definitions" || k == "properties":
		case sameInstance[k]:
			fits = c.value(inner, value, choice || k == "anyOf" || k == "oneOf", depth+1)
		default:
			fits = c.inside(k, inner, value, choice, depth+1)
		}
	})
	if named, ok := s["properties"].(map[string]any); ok {
		if object, ok := value.(map[string]any); ok {
			for name, inner := range object {
				fits = fits && c.value(named[name], inner, choice, depth+1)
			}
		}
	}
	return fits
}

// own is what it costs to hold a value against what a schema says itself.
func (c *checkCost) own(s map[string]any, value any) int {
	n := sizeOf(s["const"])
	if list, ok := s["enum"].([]any); ok {
		n += len(list)*stepCost + sizeOf(list)
	}
	switch v := value.(type) {
	case float64:
		list, _ := s["enum"].([]any)
		n += numberCost * len(list)
		for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "const"} {
			if s[k] != nil {
				n += numberCost
			}
		}
	case string:
		if text, ok := s["pattern"].(string); ok {
			n += len(v) * c.patterns[text]
		}
	case map[string]any:
		for _, k := range []string{"properties", "required", "dependentRequired", "dependencies"} {
			switch names := s[k].(type) {
			case map[string]any:
				n += len(names) * stepCost
				if k != "properties" {
					n += sizeOf(names)
				}
			case []any:
				n += len(names) * stepCost
			}
		}
		if named, ok := s["patternProperties"].(map[string]any); ok {
			for text := range named {
				for name := range v {
					n += stepCost + len(name)*c.patterns[text]
				}
			}
		}
	}
	return n
}

// inside is value for what is in a value, as far as a keyword may be for it.
func (c *checkCost) inside(keyword string, schema, value any, choice bool, depth int) bool {
	switch in := value.(type) {
	case []any:
		for _, item := range in {
			if !c.value(schema, item, choice, depth) {
				return false
			}
		}
	case map[string]any:
		for name, item := range in {
			if keyword == "propertyNames" {
				item = name
			}
			if !c.value(schema, item, choice, depth) {
				return false
			}
		}
	}
	return true
}

// sizeOf is about how long a value is as text.
func sizeOf(value any) int {
	switch v := value.(type) {
	case string:
		return len(v)
	case []any:
		n := 0
		for _, item := range v {
			n += 1 + sizeOf(item)
		}
		return n
	case map[string]any:
		n := 0
		for name, item := range v {
			n += 2 + len(name) + sizeOf(item)
		}
		return n
	}
	return 4
}
