package hostfuncs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Tool is a function of the host's that programs may call by name.
type Tool struct {
	// Name is what programs call it: an identifier of ASCII letters, digits and underscores, up to 64 bytes, that is no
	// reserved word of Python or JavaScript. A name with one dot is in a namespace: "crm.lookup".
	Name string
	// Description is for whoever writes the program. Its first line should say all that is needed to choose the tool.
	Description string
	// Input is the JSON schema of the arguments, which are always one object. Empty: an object with any fields.
	Input json.RawMessage
	// Output is the JSON schema of the result, for declarations only. Empty: anything.
	Output json.RawMessage
	// Call answers one call. The arguments fit Input. A [*Refusal] reaches the program as it is, and of any other error
	// it learns only that the tool failed; but [ErrLater] says that the result comes later. ctx ends with the run, at the deadline, or when the program gives up; a
	// call that goes on after that has nobody to answer to. Calls of one run may overlap.
	Call func(ctx context.Context, arguments json.RawMessage) (json.RawMessage, error)
	// Quick says that Call waits for nothing and is back within microseconds, whatever it is asked. It is then made on the
	// run's own goroutine, which saves some of them; while it lasts nothing can end the run.
	Quick bool
	// MaxCalls is how often a run may call it. Zero: as often as the run may call anything.
	MaxCalls int
	// Timeout is how long one call may take. Zero: as long as the run.
	Timeout time.Duration
}

// A Registry holds the tools that a run is offered. Fill it first: once it is in use it must not be changed. Any number
// of runs may use it at once. The zero value is empty and ready.
type Registry struct {
	// MaxCalls is how many calls of tools a run may make in all. Zero: as many as it may make of the host.
	MaxCalls int
	// Gate, when not nil, is asked before each call whether it may be made; the error says why not, as that of Call does.
	Gate func(ctx context.Context, tool string, arguments json.RawMessage) error

	tools map[string]*tool
	names []string // in the order in which they were added
}

// tool is a Tool with what is made of it once.
type tool struct {
	Tool
	schema *inputSchema
	output *jsonschema.Schema // nil: not known
	typed  typedCall          // Call for plain arguments; nil: there is no such

	declared func() ([]byte, error) // its Declaration as JSON, made when it is first asked for
}

// Bounds of a registry.
const (
	maxTools       = 1000
	maxDescription = 16 << 10 // bytes
	maxSchema      = 256 << 10
)

// Add offers one more tool. It refuses what a program could not call.
func (r *Registry) Add(t Tool) error {
	if err := checkToolName(t.Name); err != nil {
		return fmt.Errorf("add tool %q: %w", t.Name, err)
	}
	schema, err := newInputSchema(t.Input)
	switch {
	case err != nil:
		err = fmt.Errorf("input schema: %w", err)
	case r.tools[t.Name] != nil:
		err = errors.New("there is one of that name")
	case len(r.names) >= maxTools:
		err = fmt.Errorf("there are %d already", maxTools)
	case t.Call == nil:
		err = errors.New("it has no Call")
	case len(t.Description) > maxDescription || !utf8.ValidString(t.Description):
		err = fmt.Errorf("its description is longer than %d bytes or not UTF-8", maxDescription)
	case len(t.Output) > maxSchema || len(t.Output) > 0 && !json.Valid(t.Output):
		err = errors.New("output schema: not JSON, or too long")
	case t.MaxCalls < 0 || t.Timeout < 0:
		err = errors.New("a budget is negative")
	}
	if space, member, ok := strings.Cut(t.Name, "."); err == nil && ok && (r.tools[space] != nil || member == "") {
		err = fmt.Errorf("%s is a tool itself", space)
	}
	if err == nil && slices.ContainsFunc(r.names, func(n string) bool { return strings.HasPrefix(n, t.Name+".") }) {
		err = errors.New("it is a namespace of other tools")
	}
	if err != nil {
		return fmt.Errorf("add tool %q: %w", t.Name, err)
	}
	if r.tools == nil {
		r.tools = map[string]*tool{}
	}
	added := &tool{Tool: t, schema: schema, output: outputSchema(t.Output)}
	added.declared = sync.OnceValues(func() ([]byte, error) { return json.Marshal(added.declaration()) })
	r.tools[t.Name] = added
	r.names = append(r.names, t.Name)
	return nil
}

// Tools are what was added, in that order.
func (r *Registry) Tools() []Tool {
	if r == nil {
		return nil
	}
	all := make([]Tool, len(r.names))
	for i, name := range r.names {
		all[i] = r.tools[name].Tool
	}
	return all
}

// Select is a registry of those tools that are named, by their names or their namespaces, with the budget and the gate of r. Nil
// names all of them. A name that nothing has is an error.
func (r *Registry) Select(names []string) (*Registry, error) {
	out := &Registry{}
	if r != nil {
		out.MaxCalls, out.Gate = r.MaxCalls, r.Gate
	}
	found := map[string]bool{}
	for _, t := range r.Tools() {
		space, _, _ := strings.Cut(t.Name, ".")
		if names != nil && !slices.Contains(names, t.Name) && !slices.Contains(names, space) {
			continue
		}
		found[t.Name], found[space] = true, true
		if out.tools == nil {
			out.tools = map[string]*tool{}
		}
		out.tools[t.Name] = r.tools[t.Name]
		out.names = append(out.names, t.Name)
	}
	for _, n := range names {
		if !found[n] {
			return nil, fmt.Errorf("there is no tool %q", n)
		}
	}
	return out, nil
}

// Empty says whether nothing is offered. A nil Registry is empty.
func (r *Registry) Empty() bool { return r == nil || len(r.names) == 0 }

func checkToolName(name string) error {
	space, member, dotted := strings.Cut(name, ".")
	if !isIdentifier(space) || dotted && !isIdentifier(member) || len(name) > 64 {
		return errors.New("a name is an identifier of up to 64 ASCII letters, digits and underscores that starts with a letter; one dot parts it from its namespace")
	}
	for _, part := range []string{space, member} {
		if slices.Contains(reserved, part) {
			return fmt.Errorf("%s is a reserved word", part)
		}
	}
	return nil
}

// isIdentifier says whether s is a name in both languages. Names that begin with an underscore are those of the languages'
// own machinery.
func isIdentifier(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && !isDigit(c)) {
			return false
		}
	}
	return s != ""
}

// reserved are the words of Python and JavaScript that no attribute, parameter or promise may be called.
var reserved = strings.Fields(`False None True and as assert async await break class continue def del elif else except
	finally for from global if import in is lambda nonlocal not or pass raise return try while with yield
	case catch const debugger default delete do enum export extends false function instanceof new null super switch
	this throw true typeof var void let static then constructor prototype toString valueOf toJSON`)
