package hostfuncs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Declaration is what a program is told of a tool.
type Declaration struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters are the arguments in the order of the schema, required ones first.
	Parameters []Parameter `json:"parameters,omitempty"`
	// Returns is the result as a Python annotation.
	Returns string `json:"returns"`
	// TypeScript declares the tool as a method.
	TypeScript string `json:"declaration"`
}

// Parameter is one argument of a tool.
type Parameter struct {
	Name        string `json:"name"`
	Type        string `json:"type"` // a Python annotation
	Description string `json:"description,omitempty"`
	Optional    bool   `json:"optional,omitempty"`
	// Nullable says that null is a value of its own, and not the same as leaving the argument out.
	Nullable bool `json:"nullable,omitempty"`
}

// declare answers [OpTools] with a list of [Declaration]. Each is made once, since programs ask as often as they like.
func (t *Tools) declare(context.Context, []byte) ([]byte, error) {
	list := []byte("[")
	for i, name := range t.Registry.names {
		text, err := t.Registry.tools[name].declared()
		if err != nil {
			return nil, err
		}
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, text...)
	}
	return append(list, ']'), nil
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
	in := typer{root: t.schema.schema}
	out := typer{root: t.output}
	d := Declaration{Name: t.Name, Description: t.Description, Returns: out.python(out.root, 0)}
	needed := nameSet(in.root.Required)
	for _, required := range []bool{true, false} {
		for _, name := range t.schema.names {
			if needed[name] != required {
				continue
			}
			s := in.root.Properties[name]
			p := Parameter{Name: name, Type: in.python(s, 0), Optional: !required}
			p.Nullable = strings.HasSuffix(p.Type, "None") || p.Type == "Any"
			if s != nil {
				p.Description = s.Description
			}
			d.Parameters = append(d.Parameters, p)
		}
	}
	arguments := "args: " + in.typeScript(in.root, 0)
	if len(in.root.Required) == 0 {
		arguments = "args?: " + in.typeScript(in.root, 0)
	}
	d.TypeScript = fmt.Sprintf("%s(%s): Promise<%s>;", d.shortName(), arguments, out.typeScript(out.root, 0))
	return d
}

// outputSchema is the schema of a result; nil when it is not known.
func outputSchema(text json.RawMessage) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	if len(text) == 0 || json.Unmarshal(text, s) != nil {
		return nil
	}
	return s
}

// PythonStub declares the tools as a Python stub file (.pyi) does.
func (r *Registry) PythonStub() string {
	var b strings.Builder
	b.WriteString("from typing import Any, Literal\n")
	r.spaces(func(space string, tools []Declaration) {
		indent := ""
		if space != "" {
			fmt.Fprintf(&b, "\nclass %s:\n", space)
			indent = "    "
		}
		for _, d := range tools {
			var parameters []string
			if space != "" {
				b.WriteString("\n" + indent + "@staticmethod")
			}
			for _, p := range d.Parameters {
				if !p.isPython() {
					continue
				}
				text := p.Name + ": " + p.Type
				if p.Optional {
					text += " = ..."
				}
				parameters = append(parameters, text)
			}
			fmt.Fprintf(&b, "\n%sdef %s(%s) -> %s:\n", indent, d.shortName(), strings.Join(parameters, ", "), d.Returns)
			fmt.Fprintf(&b, "%s    %s\n", indent, pythonDoc(d, indent+"    "))
		}
	})
	return b.String()
}

// isPython says whether the parameter can be named in a Python declaration.
func (p Parameter) isPython() bool { return isIdentifier(p.Name) && !slices.Contains(reserved, p.Name) }

func pythonDoc(d Declaration, indent string) string {
	lines := strings.Split(strings.TrimSpace(d.Description), "\n")
	for _, p := range d.Parameters {
		if p.Description != "" {
			lines = append(lines, p.Name+": "+p.Description)
		}
	}
	text := strings.Join(lines, "\n"+indent)
	quoted, _ := json.Marshal(text) // a string always can be; what it escapes is what Python does
	if !strings.Contains(text, "\n") {
		return string(quoted)
	}
	return `"""` + strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), `"""`, `\"""`) + `"""`
}

// TypeScript declares the tools as a TypeScript declaration file does.
func (r *Registry) TypeScript() string {
	var b strings.Builder
	b.WriteString("declare const tools: {\n")
	r.spaces(func(space string, tools []Declaration) {
		indent := "  "
		if space != "" {
			fmt.Fprintf(&b, "  %s: {\n", space)
			indent = "    "
		}
		for _, d := range tools {
			if text := strings.TrimSpace(d.Description); text != "" {
				text = strings.ReplaceAll(text, "*/", "*\\/")
				fmt.Fprintf(&b, "%s/** %s */\n", indent, strings.ReplaceAll(text, "\n", "\n"+indent+" * "))
			}
			b.WriteString(indent + d.TypeScript + "\n")
		}
		if space != "" {
			b.WriteString("  };\n")
		}
	})
	b.WriteString("};\n")
	return b.String()
}

// spaces gives the tools by namespace, the global one ("") first.
func (r *Registry) spaces(do func(space string, tools []Declaration)) {
	bySpace, order := map[string][]Declaration{}, []string{""}
	for _, d := range r.Declarations() {
		space, _, dotted := strings.Cut(d.Name, ".")
		if !dotted {
			space = ""
		}
		if !slices.Contains(order, space) {
			order = append(order, space)
		}
		bySpace[space] = append(bySpace[space], d)
	}
	for _, space := range order {
		do(space, bySpace[space])
	}
}

func (d Declaration) shortName() string { return d.Name[strings.IndexByte(d.Name, '.')+1:] }
