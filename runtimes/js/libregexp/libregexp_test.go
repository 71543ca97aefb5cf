package libregexp

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
)

// compiled is a pattern's code with two captures, after what tries each place.
func compiled(flags byte, code string) []byte {
	code = "\x0e\x06\x00\x00\x00\x06\x0d\xf4\xff\xff\xff" + code
	return append(binary.LittleEndian.AppendUint32([]byte{flags, 0, 2, 1}, uint32(len(code))), code...)
}

const (
	start, end, match = "\x13\x00", "\x14\x00", "\x10"
	again             = "\x0e\xf8\xff\xff\xff" // the character before it, if that goes on
)

func TestAll(t *testing.T) {
	for _, tt := range []struct {
		name, code, text string
		want             []int32 // from, to, from and to of the group
	}{
		{"a", start + "\x01a\x00" + end + match, "bana", []int32{1, 2, -1, -1, 3, 4, -1, -1}},
		{"a+", start + "\x01a\x00" + again + end + match, "aabaaa", []int32{0, 2, -1, -1, 3, 6, -1, -1}},
		{"a+a", start + "\x01a\x00" + again + "\x01a\x00" + end + match, "aaba", []int32{0, 2, -1, -1}},
		{`(\s|a)\1`, start + "\x13\x01\x0e\x06\x00\x00\x00\x07\x0d\x03\x00\x00\x00\x01a\x00\x14\x01\x20\x01\x01" + end + match, "a  aa", []int32{1, 3, 1, 2, 3, 5, 3, 4}},
		{"a(?=b)", start + "\x01a\x00\x28\x04\x00\x00\x00\x01b\x00\x11" + end + match, "aab", []int32{1, 2, -1, -1}},
		{"a(?!b)", start + "\x01a\x00\x29\x04\x00\x00\x00\x01b\x00\x12" + end + match, "aab", []int32{0, 1, -1, -1}},
		{"", start + end + match, "ab", []int32{0, 0, -1, -1, 1, 1, -1, -1, 2, 2, -1, -1}},
	} {
		p := Decode(compiled(Global, tt.code))
		if p == nil {
			t.Errorf("%s: not decoded", tt.name)
			continue
		}
		got, steps, err := All(p, []byte(tt.text), 4, 100, func() {})
		wide := make([]uint16, len(tt.text))
		for i, c := range []byte(tt.text) {
			wide[i] = uint16(c)
		}
		inWide, _, errWide := All(p, wide, 4, 100, func() {})
		if !slices.Equal(got, tt.want) || !slices.Equal(inWide, tt.want) || err != nil || errWide != nil || steps <= 0 {
			t.Errorf("%s: %v, %v, %v, %v; want %v", tt.name, got, inWide, err, errWide, tt.want)
		}
	}
}

func TestAllGivesUp(t *testing.T) {
	// (?:a+)+b
	p := Decode(compiled(Global, start+"\x01a\x00"+again+"\x0e\xf3\xff\xff\xff\x01b\x00"+end+match))
	pauses := 0
	if _, steps, err := All(p, []byte(strings.Repeat("a", 40)), 4, 100, func() { pauses++ }); !errors.Is(err, ErrGaveUp) || pauses == 0 || steps < leastSteps {
		t.Errorf("after %d steps and %d pauses: %v", steps, pauses, err)
	}
	p = Decode(compiled(Global, start+end+match))
	if _, _, err := All(p, make([]byte, 100), 4, 100, func() {}); !errors.Is(err, ErrGaveUp) {
		t.Errorf("more matches than asked for: %v", err)
	}
}

// TestLongPatterns: what is found out about a pattern of any kind is bounded.
func TestLongPatterns(t *testing.T) {
	for name, part := range map[string]string{
		"a+": "\x01a\x00" + again, "(?:a+)?": "\x0f\x08\x00\x00\x00\x01a\x00" + again, "a?": "\x0f\x03\x00\x00\x00\x01a\x00", "()\\s+": start + "\x07\x0e\xfa\xff\xff\xff",
	} {
		p := Decode(compiled(Global, strings.Repeat(part, 60<<10/len(part))+"\x01b\x00"+match))
		if p == nil {
			t.Errorf("%s: not decoded", name)
		} else if took := maxLooks - p.looks; took > maxLooks+len(p.code) {
			t.Errorf("%s: %d instructions were looked at", name, took)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	whole := compiled(Global, start+"\x01a\x00"+end+match)
	long := slices.Clone(whole)
	long[4]++
	for name, b := range map[string][]byte{
		"nothing": nil, "a part": whole[:len(whole)-1], "a length beyond its end": long,
		"sticky":                          compiled(Global|sticky, start+end+match),
		"ignoring case":                   compiled(Global, start+"\x02a\x00"+end+match),
		"an unknown instruction":          compiled(Global, start+"\xff"+end+match),
		"half an instruction":             compiled(Global, start+end+"\x01"),
		"no end":                          compiled(Global, start+end),
		"a jump into an instruction":      compiled(Global, start+"\x01a\x00\x0e\xf9\xff\xff\xff"+end+match),
		"a jump out":                      compiled(Global, start+"\x0d\x7f\x00\x00\x00"+end+match),
		"a group that there is not":       compiled(Global, start+"\x13\x02"+end+match),
		"a reference to none":             compiled(Global, start+"\x20\x01\x02"+end+match),
		"a register that there is not":    compiled(Global, start+"\x1b\x01\x00\x00\x00\x00"+end+match),
		"a range of more than there is":   compiled(Global, start+"\x24\xff\x00"+end+match),
		"a range of nothing":              compiled(Global, start+"\x24\x00\x00"+end+match),
		"what does not try at each place": append([]byte{1, 0, 2, 1, 5, 0, 0, 0}, start+end+match...),
	} {
		if Decode(b) != nil {
			t.Errorf("%s is decoded", name)
		}
	}
	if Decode(whole) == nil {
		t.Error("what all of these are made of is not decoded")
	}
}
