package js

import "strconv"

// For node:vm: global objects beside the program's, which the interpreter calls contexts. A realm is known by its address, 0 is the program's own.
// The guest's own code keeps it beside the realm's global object; a wrong one harms that guest only.

// What opInRealm does.
const (
	realmRun     = 0
	realmCompile = 1 // only to see whether there is a syntax error
	realmGlobal  = 2 // -> the global object
)

// newRealm is opNewRealm. What lives in a realm keeps it alive.
func (in *interp) newRealm() uint64 {
	ctx := uint32(in.call("JS_NewContext", uint64(in.b.Runtime)))
	if ctx == 0 {
		return in.noMemory()
	}
	return in.number(float64(ctx))
}

// inRealm is opInRealm.
func (in *interp) inRealm(s *turn, a arguments) uint64 {
	if ctx := uint32(a.number(0)); ctx != 0 {
		b := *in.b
		b.Ctx = ctx
		in = &interp{in.ctx, in.g, &b}
	}
	mode := a.int(1)
	if mode == realmGlobal {
		v := value(in.call("JS_GetGlobalObject", uint64(in.b.Ctx)))
		in.call("JS_FreeContext", uint64(in.b.Ctx)) // it lives on by its functions
		return in.box(v)
	}
	src, file, line := a.text(2, maxSource+1), a.text(3, maxPath), int(a.int(4))
	if line == 0 {
		line = 1
	}
	if len(src) > maxSource {
		return in.throw("RangeError", "the script is too large to run", "")
	}
	if in.b.Ctx == s.boot.Ctx && in.reveal(src, fileNames) {
		return 0
	}
	if mode == realmCompile {
		v := in.evalAt(src, file, evalCompileOnly, line)
		if v.exception() {
			return 0
		}
		in.free(v)
		return in.undefined()
	}
	outer := s.until
	if ms := a.number(5); ms > 0 {
		s.until = s.nowMillis() + ms
		if outer != 0 {
			s.until = min(s.until, outer)
		}
	}
	v := in.evalAt(src, file, 0, line)
	late := s.late
	s.until, s.late = outer, false
	if late && v.exception() && !s.ended() {
		in.free(in.takeException())
		return in.throw("Error", "Script execution timed out after "+strconv.Itoa(int(a.number(5)))+"ms", "ERR_SCRIPT_EXECUTION_TIMEOUT")
	}
	return in.box(v)
}
