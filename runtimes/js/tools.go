package js

import (
	"encoding/binary"

	"github.com/cloche-dev/cloche/engine/vm"
	"github.com/cloche-dev/cloche/hostfuncs"
)

// maxToolFrame bounds the arguments of a tool, in bytes.
const maxToolFrame = 16 << 20

// bindTool makes the function that programs call a tool by.
func (in *interp) bindTool(name string) uint64 {
	p, _ := in.text(string(rune(opBind)) + name)
	return in.call("qjs_new_host_function", uint64(p), uint64(1+len(name)), 0)
}

// callTool is that function. A call with plain arguments that is answered at once is all done here; what is left of others
// is done by guest/tools.js. Either way it returns a promise.
func (in *interp) callTool(s *turn, tool string, a arguments) uint64 {
	frame := append(make([]byte, toolHeader, 256), `{"async":true,"name":"`...)
	frame = append(append(frame, tool...), `","arguments":`...)
	frame, plain := in.plainArguments(frame, a)
	if !plain {
		given := make([]value, a.n)
		for i := range given {
			given[i] = a.value(uint32(i))
		}
		return in.box(in.toolGuest("callTool", tool, given...))
	}
	reply := in.askTool(s, append(frame, '}'))
	if s.ended() {
		return in.unwind()
	}
	if len(reply) > 3 && reply[0] == 0 && reply[1] == 1 && reply[2] == 0 {
		return in.fulfilled(reply[3:])
	}
	said := in.toolReply(reply)
	defer in.free(said)
	return in.box(in.toolGuest("toolReply", tool, said))
}

// toolGuest calls a function of guest/tools.js with the name of a tool and arguments, which stay the caller's.
func (in *interp) toolGuest(fn, tool string, given ...value) value {
	name := in.newString(tool)
	p, ok := in.alloc(8 * (1 + len(given))) // the buffer of invoke is for functions that ask nothing of the host
	if name.exception() || !ok {
		return value(in.call("JS_ThrowOutOfMemory", uint64(in.b.Ctx)))
	}
	args := binary.LittleEndian.AppendUint64(nil, uint64(name))
	for _, v := range given {
		args = binary.LittleEndian.AppendUint64(args, uint64(v))
	}
	in.put(p, args)
	r := value(in.call("JS_Call", uint64(in.b.Ctx), uint64(in.b.Funcs[fn]), uint64(undefined), uint64(1+len(given)), uint64(p)))
	in.release(p)
	in.free(name)
	return r
}

// plainArguments appends the arguments of a call as one JSON object; false when guest/tools.js must look at them.
func (in *interp) plainArguments(out []byte, a arguments) ([]byte, bool) {
	switch {
	case a.n == 0:
		return append(out, "{}"...), heap{in.g.Memory(), in.b}.pristine()
	case a.n > 1 || a.value(0).tag() != tagObject:
		return out, false
	}
	at := len(out)
	out, ok := in.plainJSON(out, a.value(0))
	return out, ok && out[at] == '{'
}

// fulfilled is a boxed promise of the value that a JSON text stands for.
func (in *interp) fulfilled(text []byte) uint64 {
	text = validUTF8(text) // which can be longer
	p, temp := in.text(string(text))
	if p == 0 {
		return in.noMemory()
	}
	v := value(in.call("JS_ParseJSON", uint64(in.b.Ctx), uint64(p), uint64(len(text)), uint64(in.b.Name)))
	if temp {
		in.release(p)
	}
	if v.exception() {
		return 0
	}
	return in.settled(v, len(text))
}

// toolHeader is how many bytes of a tool frame are before its header: the op and the header's length.
const toolHeader = 5

// askTool asks the host by a frame whose first toolHeader bytes are still to be written. It returns what the door replied.
func (in *interp) askTool(s *turn, frame []byte) []byte {
	if s.Door == nil {
		return []byte("\x01" + `{"name":"Error","message":"the host offers nothing here"}`)
	}
	frame[0] = byte(hostfuncs.OpTool)
	binary.LittleEndian.PutUint32(frame[1:], uint32(len(frame)-toolHeader))
	reply, err := s.Door(in.ctx, frame)
	if err != nil {
		panic(vm.Stop{Err: err})
	}
	return reply
}

// tool is askTool for guest/tools.js.
func (in *interp) tool(s *turn, a arguments) uint64 {
	var frame []byte
	if v := a.value(0); v.tag() == tagString || v.tag() == tagRope {
		in.bytesOf(v, func(b []byte) {
			if len(b) <= maxToolFrame {
				frame = append(make([]byte, toolHeader, toolHeader+len(b)), b...)
			}
		})
	}
	if frame == nil {
		return in.box(in.newString(`1{"name":"RangeError","message":"the arguments of a tool are one text of at most 16 MiB"}`))
	}
	reply := in.askTool(s, frame)
	if s.ended() {
		return in.unwind()
	}
	return in.box(in.toolReply(reply))
}

// toolReply is what the door replied as opTool gives it.
func (in *interp) toolReply(reply []byte) value {
	if len(reply) == 6 && reply[0] == 0 && reply[1] == 0 {
		return floatValue(float64(binary.LittleEndian.Uint32(reply[2:])))
	}
	if len(reply) > 1 && reply[0] == 0 { // done already: the frame is inside
		reply = reply[2:]
	}
	status, text := "1", ""
	if len(reply) > 0 {
		text = string(reply[1:])
		if reply[0] == 0 {
			status = "0"
		}
	}
	return in.newString(status + text)
}
