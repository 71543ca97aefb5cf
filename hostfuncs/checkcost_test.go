package hostfuncs

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// checked holds arguments against a schema.
func checked(schema, arguments string) error {
	s, err := newInputSchema(json.RawMessage(schema))
	if err != nil {
		return err
	}
	return s.check(toolRequest{arguments: json.RawMessage(arguments)})
}

// TestHostileSchemas: no schema has its check go on without end, or take the host's memory.
func TestHostileSchemas(t *testing.T) {
	doubled := `{"a0":{"type":"integer"}`
	for i := range 40 {
		doubled += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%[2]d"}]}`, i+1, i)
	}
	doubled += "}"
	deep := strings.Repeat(`{"a":`, 50) + "1" + strings.Repeat("}", 50)
	long := `{"a":"` + strings.Repeat("x", 3<<20) + `"}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, c := range []struct{ schema, arguments, want string }{
		{`{"type":"object","allOf":[{"$ref":"#"}]}`, `{"a":1}`, errCheckCost.Error()},
		{`{"type":"object","not":{"$ref":"#"}}`, `{"a":1}`, errCheckCost.Error()},
		{`{"$ref":"#/$defs/x","$defs":{"x":{"$ref":"#/$defs/x"}}}`, `{"a":1}`, errCheckCost.Error()},
		{`{"properties":{"a":{"$ref":"#/definitions/x"}},"definitions":{"x":{"if":true,"then":{"$ref":"#/definitions/x"}}}}`, `{"a":1}`, errCheckCost.Error()},
		{`{"dependentSchemas":{"a":{"$ref":"#"}}}`, `{"a":1}`, errCheckCost.Error()},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"#"}}}`, `{"a":1}`, errCheckCost.Error()},
		{`{"properties":{"a":{"$ref":"#/$defs/a40"}},"$defs":` + doubled + `}`, `{"a":1}`, errCheckCost.Error()},
		{`{"properties":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, deep, errCheckCost.Error()},
		{`{"additionalProperties":{"oneOf":[{"$ref":"#"},{"$ref":"#"},true]}}`, deep, errCheckCost.Error()},
		{`{"properties":{"a":{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":"null"},`, 10_000), ",") + `]}}}`, long, errCheckCost.Error()},
		{`{"properties":{"a":{"contains":{"required":["b"` + strings.Repeat(`,"b"`, 20_000) + `]}}}}`, `{"a":[{}` + strings.Repeat(",{}", 1<<20) + `]}`, errCheckCost.Error()},
		{`{"properties":{"a":{"pattern":"(a?b?c?d?e?){800}$"}}}`, long, errCheckCost.Error()},
		{`{"patternProperties":{"(a?b?c?d?e?){800}$":true}}`, `{"` + strings.Repeat("x", 1<<20) + `":1}`, errCheckCost.Error()},
		{`{"$dynamicRef":"#a","$dynamicAnchor":"a"}`, `{}`, "not supported"},
		{`{"properties":{"a":{"$id":"x","allOf":[{"$ref":"#"}]}}}`, `{"a":1}`, "not supported"},
		{`{"$anchor":"a","allOf":[{"$ref":"#a"}]}`, `{}`, "not a path"},
		{`{"$id":"http://example.com/x","allOf":[{"$ref":"http://example.com/x"}]}`, `{}`, "not a path"},
		{`{"properties":{"a":{"items":{"minimum":1e-300,"maximum":1e300}}}}`, `{"a":[1e99` + strings.Repeat(",1e99", 600_000) + `]}`, errCheckCost.Error()},
		// What is usual.
		{`{"properties":{"a":{"$ref":"#"},"b":{"type":"integer"}}}`, deep, "cannot be a number"},
		{`{"properties":{"a":{"anyOf":[{"type":"integer"},{"$ref":"#"}]}}}`, deep, ""},
		{`{"properties":{"$ref":{"type":"string"},"$id":{"type":"string"},"x~y/z":{"$ref":"#/properties/x~0y~1z/items","items":{"type":"integer"}}}}`,
			`{"$ref":"a","$id":"b","x~y/z":1}`, ""},
		{`{"properties":{"a":{"type":"array","items":{"type":["integer","null"]}}}}`, `{"a":[1` + strings.Repeat(",1", 1<<20) + `]}`, ""},
		{`{"properties":{"a":{"type":"string"}}}`, long, ""},
	} {
		err := checked(c.schema, c.arguments)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100s: %.200v, want %q", c.schema, err, c.want)
		}
	}
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 2<<30 {
		t.Errorf("%d MiB were made", made>>20)
	}
}

// TestHostileDeclarations: a schema that refers to itself from many places is declared as far as there is room.
func TestHostileDeclarations(t *testing.T) {
	var properties []string
	for i := range 200 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#"},"%s%[1]d":{"anyOf":[{"$ref":"#"},{"type":"array","items":{"$ref":"#"}}]}`, i, strings.Repeat("x", 100)))
	}
	r := &Registry{}
	schema := json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)
	if err := r.Add(Tool{Name: "f", Input: schema, Output: schema, Call: Later}); err != nil {
		t.Fatal(err)
	}
	text, err := r.tools["f"].declared()
	if err != nil || len(text) > 8*maxTypes {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// chooser makes choices out of bytes.
type chooser []byte

func (c *chooser) next(n int) int {
	if len(*c) == 0 {
		return 0
	}
	v := int((*c)[0]) % n
	*c = (*c)[1:]
	return v
}

// schema is one that is nested up to depth, with references to all of its parts.
func (c *chooser) schema(depth int) any {
	if depth == 0 || len(*c) == 0 {
		return c.next(8) != 1
	}
	s := map[string]any{}
	for range 1 + c.next(3) {
		several := func() (list []any) {
			for range 1 + c.next(4) {
				list = append(list, c.schema(depth-1))
			}
			return list
		}
		named := func() map[string]any {
			m := map[string]any{}
			for range 1 + c.next(3) {
				m[c.name()] = c.schema(depth - 1)
			}
			return m
		}
		keywords := []string{
			"$ref", "allOf", "anyOf", "oneOf", "prefixItems", "properties", "patternProperties", "dependentSchemas", "enum", "uniqueItems", "minimum",
			"not", "if", "then", "else", "items", "contains", "additionalProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems",
		}
		switch k := keywords[c.next(len(keywords))]; k {
		case "$ref":
			s[k] = []string{"#", "#/$defs/a", "#/$defs/b", "#/$defs/c"}[c.next(4)]
		case "allOf", "anyOf", "oneOf", "prefixItems":
			s[k] = several()
		case "properties", "patternProperties", "dependentSchemas":
			s[k] = named()
		case "enum":
			s[k] = []any{c.value(2), c.value(2)}
		case "uniqueItems":
			s[k] = true
		case "minimum":
			s[k] = 1
		default:
			s[k] = c.schema(depth - 1)
		}
	}
	return s
}

func (c *chooser) name() string { return string(rune('a' + c.next(3))) }

// value is one that is nested up to depth.
func (c *chooser) value(depth int) any {
	if depth == 0 || len(*c) == 0 {
		return []any{1.0, "a", nil, 1e99}[c.next(4)]
	}
	switch c.next(3) {
	case 0:
		object := map[string]any{}
		for range c.next(4) {
			object[c.name()] = c.value(depth - 1)
		}
		return object
	case 1:
		var list []any
		for range c.next(20) {
			list = append(list, c.value(depth-1))
		}
		return list
	}
	return c.value(0)
}

// FuzzSchemas: whatever a schema refers to, what is let through is checked in little time, and what is small and refers to nothing is let
// through.
func FuzzSchemas(f *testing.F) {
	for _, seed := range []string{"", "\x02\x00\x01\x01\x02\x03\x00\x01", "abcdefghijklmnopqrstuvwxyz", "\x01\x02\x02\x01\x00\x02\x00\x01\x00\x02\x00\x01\x05\x02\x00\x01\x02"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		c := chooser(choices[:min(len(choices), 300)])
		schema := map[string]any{
			"type": "object", "$defs": map[string]any{"a": c.schema(3), "b": c.schema(3), "c": c.schema(3)},
			"allOf": []any{c.schema(4)}, "properties": map[string]any{"a": c.schema(4), "b": c.schema(4)},
		}
		text, _ := json.Marshal(schema)
		arguments, _ := json.Marshal(map[string]any{"a": c.value(5), "b": c.value(5)})
		begun := time.Now()
		err := checked(string(text), string(arguments))
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%s, %s: %v", text, arguments, took)
		}
		if errors.Is(err, errCheckCost) && !strings.Contains(string(text), "$ref") && len(text) < 2000 && len(arguments) < 500 {
			t.Errorf("%s, %s: %v", text, arguments, err)
		}
	})
}
