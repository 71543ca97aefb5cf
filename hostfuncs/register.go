package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// An Option says more about a tool that [Register] makes.
type Option func(*Tool)

// Description is the tool's documentation.
func Description(text string) Option { return func(t *Tool) { t.Description = text } }

// MaxCalls is how often a run may call the tool.
func MaxCalls(n int) Option { return func(t *Tool) { t.MaxCalls = n } }

// Timeout is how long one call may take.
func Timeout(d time.Duration) Option { return func(t *Tool) { t.Timeout = d } }

// Quick says that the function waits for nothing; see [Tool].Quick.
func Quick() Option { return func(t *Tool) { t.Quick = true } }

// Register offers a Go function as a tool. In must be a struct (or a pointer to one): its fields are the tool's
// arguments, named by their json tags and described by their jsonschema tags; those with omitempty or omitzero may be
// left out. Out is anything that JSON can hold.
//
//	type query struct {
//		Name string `json:"name" jsonschema:"the customer's full name"`
//		Max  int    `json:"max,omitempty"`
//	}
//	err := hostfuncs.Register(reg, "lookup", func(ctx context.Context, q query) ([]row, error) { … },
//		hostfuncs.Description("Find customers by name."))
func Register[In, Out any](r *Registry, name string, fn func(context.Context, In) (Out, error), options ...Option) error {
	nested, reader := hasStructs(reflect.TypeFor[In]()), newStructReader(reflect.TypeFor[In]())
	var in *jsonschema.Schema // of the arguments
	typed := func(ctx context.Context, arguments json.RawMessage, members []member) (json.RawMessage, error) {
		var given In
		if members == nil || !reader.read(members, reflect.ValueOf(&given).Elem()) {
			given = *new(In) // without what was read
			if err := decodeStrict(arguments, &given, nested); err != nil {
				return nil, Refuse("TypeError", "%s", argumentError(err, in))
			}
		}
		out, err := fn(ctx, given)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}
	t := Tool{Name: name, Call: func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error) {
		return typed(ctx, arguments, nil)
	}}
	var err error
	if in, err = schemaOf[In](&t.Input); err != nil {
		return fmt.Errorf("register tool %q: arguments: %w", name, err)
	}
	if in.Type != "object" && (len(in.Types) != 2 || in.Types[1] != "object") {
		return fmt.Errorf("register tool %q: the arguments must be a struct", name)
	}
	in.Type, in.Types = "object", nil
	if t.Input, err = json.Marshal(in); err != nil {
		return fmt.Errorf("register tool %q: arguments: %w", name, err)
	}
	out, err := schemaOf[Out](&t.Output)
	if err != nil {
		return fmt.Errorf("register tool %q: result: %w", name, err)
	}
	for _, o := range options {
		o(&t)
	}
	if err := r.Add(t); err != nil {
		return err
	}
	made := r.tools[name]
	made.schema.typed, made.output, made.typed = true, out, typed
	made.schema.schema.Properties = in.Properties // with the order of their own fields, which JSON does not keep
	return nil
}

func schemaOf[T any](text *json.RawMessage) (*jsonschema.Schema, error) {
	s, err := goSchema(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	*text, err = json.Marshal(s)
	return s, err
}

// argumentError is what the program is told of arguments that do not fit: nothing of Go's types.
func argumentError(err error, arguments *jsonschema.Schema) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := properties(wrong.Field, arguments)
		if where == "" {
			where = "the arguments"
		}
		return fmt.Sprintf("%s cannot be %s", where, aKind(wrong))
	}
	if _, field, ok := strings.Cut(err.Error(), "unknown field "); ok {
		return "unexpected field " + field
	}
	return "the arguments do not fit"
}

// properties is a path of Go's fields without the structs that are embedded, which a program does not know.
func properties(path string, s *jsonschema.Schema) string {
	t := &typer{root: s}
	var known []string
	for name := range strings.SplitSeq(path, ".") {
		if s = inside(t, s); s != nil && s.Properties != nil && s.Properties[name] == nil {
			continue
		}
		known = append(known, name)
		if s != nil {
			s = s.Properties[name]
		}
	}
	return strings.Join(known, ".")
}

// inside is the object in lists, maps and references of s.
func inside(t *typer, s *jsonschema.Schema) *jsonschema.Schema {
	for range maxTypeDepth {
		switch s = t.follow(s); {
		case s == nil:
			return nil
		case s.Items != nil:
			s = s.Items
		case len(s.AnyOf) > 0:
			s = s.AnyOf[len(s.AnyOf)-1]
		case s.Properties == nil && s.AdditionalProperties != nil:
			s = s.AdditionalProperties
		default:
			return s
		}
	}
	return s
}

// aKind is what JSON calls the value that did not fit, with its article.
func aKind(wrong *json.UnmarshalTypeError) string {
	if wrong.Value == "array" || wrong.Value == "object" {
		return "an " + wrong.Value
	}
	return "a " + wrong.Value
}
