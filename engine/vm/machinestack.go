package vm

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"
)

// stackKept is the longest machine stack, in bytes, that a function keeps for its next call.
const stackKept = 256 << 10

// machineStack is the stack that fn's calls run on. wazero makes it longer as a guest recurses, up to 84 MB, and never
// shorter: a function that recursed once would hold that much of the host, beside its instance's memory, for as long as the
// instance lives. It has no word for that, so its field is looked at. The value is invalid where there is none
// (TestMachineStackIsGivenBack).
func machineStack(fn api.Function) reflect.Value {
	v := reflect.ValueOf(fn)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}
	}
	stack := v.Elem().FieldByName("stack")
	if stack.Kind() != reflect.Slice {
		return reflect.Value{}
	}
	return stack
}

// deep says whether the last call left f with a stack that is not worth keeping.
func (f *function) deep() bool { return f.machine.IsValid() && f.machine.Len() > stackKept }
