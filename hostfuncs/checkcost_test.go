package hostfuncs

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
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
