package hostfuncs

import (
	"context"
	"encoding/json"
)

// Declaration is what a program is told of a tool.
type Declaration struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters are the arguments in the order of the schema, required ones first.
	Parameters []Parameter `json:"parameters,omitempty"`
	// Open says that other arguments are accepted too.
	Open bool `json:"open,omitempty"`
}

// Parameter is one argument of a tool.
type Parameter struct {
	Name     string `json:"name"`
	Required bool   `json:"required,omitempty"`
}

// declare answers [OpTools] with a list of [Declaration].
func (t *Tools) declare(context.Context, []byte) ([]byte, error) {
	return json.Marshal(t.Registry.Declarations())
}

// Declarations are what a program is told of the tools.
func (r *Registry) Declarations() []Declaration {
	all := []Declaration{}
	if r == nil {
		return all
	}
	for _, name := range r.names {
		all = append(all, r.tools[name].declaration())
	}
	return all
}

func (t *tool) declaration() Declaration {
	d := Declaration{Name: t.Name, Description: t.Description, Open: !t.schema.closed}
	required := map[string]bool{}
	for _, name := range t.schema.schema.Required {
		required[name] = true
	}
	for _, first := range []bool{true, false} {
		for _, name := range t.schema.names {
			if required[name] == first {
				d.Parameters = append(d.Parameters, Parameter{Name: name, Required: first})
			}
		}
	}
	return d
}
