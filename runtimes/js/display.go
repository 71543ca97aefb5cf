package js

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// opDisplay shows a value (package hostfuncs, which a driver does not import: the two agree on frames).
const opDisplay = 0x10

// maxDisplay bounds a display header in bytes.
const maxDisplay = 32 << 20

// display shows the value of the last expression, unless it is undefined.
func (in *interp) display(s *turn, v value) error {
	if s.Door == nil || v.tag() == tagUndefined {
		return nil
	}
	if text, ok := plain(v); ok {
		return in.show(s, `{"main":true,"data":{"text/plain":"`+text+`"`+jsonForm(v, text)+`}}`)
	}
	if t := v.tag(); t == tagString || t == tagRope {
		if text, ok := in.stringOf(v, maxPlain+1); ok && plainText(text) {
			return in.show(s, `{"main":true,"data":{"text/plain":"'`+text+`'","application/json":"`+text+`"}}`)
		}
	}
	h := in.invoke(in.b.Funcs["show"], v, boolValue(true))
	if h.exception() { // a getter or a proxy of the program threw
		in.free(in.takeException())
		return nil
	}
	if s.ended() {
		in.free(h)
		return nil
	}
	header, ok := in.stringOf(h, maxDisplay)
	in.free(h)
	if !ok || h.tag() == tagUndefined {
		return nil
	}
	return in.show(s, strings.ToValidUTF8(header, "\uFFFD"))
}

// show sends a display frame without attachments. A refusal is not the program's concern.
func (in *interp) show(s *turn, header string) error {
	frame := make([]byte, 0, 5+len(header))
	frame = append(frame, opDisplay)
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(header)))
	frame = append(frame, header...)
	_, err := s.Door(in.ctx, frame)
	return err
}

// plain is the text of a value that the guest need not be asked about.
func plain(v value) (string, bool) {
	switch v.tag() {
	case tagInt:
		return strconv.Itoa(int(v.int())), true
	case tagFloat:
		if f := v.float(); f == 0 && math.Signbit(f) {
			return "-0", true
		}
		return formatNumber(v.float()), true
	case tagBool:
		return strconv.FormatBool(v.int() != 0), true
	case tagNull:
		return "null", true
	}
	return "", false
}

// maxPlain bounds the text that is shown without asking the guest; util.inspect cuts longer ones.
const maxPlain = 10000

// plainText says whether s needs no escape in JavaScript's single quotes nor in JSON.
func plainText(s string) bool {
	if len(s) > maxPlain {
		return false
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\'' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// jsonForm is the JSON form of a plain value, as a further field of its bundle; NaN and infinities have none.
func jsonForm(v value, text string) string {
	if v.tag() == tagFloat && !json.Valid([]byte(text)) {
		return ""
	}
	return `,"application/json":` + text
}

// formatNumber writes a double as JavaScript's Number.prototype.toString does (ECMA-262, Number::toString).
func formatNumber(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		return "0"
	}
	abs := math.Abs(f)
	if abs >= 1e21 || abs < 1e-6 {
		s := strconv.FormatFloat(f, 'e', -1, 64) // one digit before the point, an exponent of two digits or more
		mantissa, exp, _ := strings.Cut(s, "e")
		return mantissa + "e" + exp[:1] + strings.TrimLeft(exp[1:], "0")
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
