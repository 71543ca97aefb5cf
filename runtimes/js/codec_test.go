package js

import (
	"encoding/base64"
	"math"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestReplaceInvalid(t *testing.T) {
	for _, c := range []struct{ in, decoded, text string }{
		{"plain ü", "plain ü", "plain ü"},
		{"\xe2\x82", "\uFFFD", "\uFFFD"},
		{"\xe2\x82A", "\uFFFDA", "\uFFFDA"},
		{"\xf0\x9f\x98", "\uFFFD", "\uFFFD"},
		{"\xff\xfe", "\uFFFD\uFFFD", "\uFFFD\uFFFD"},
		{"\xc0\x80", "\uFFFD\uFFFD", "\uFFFD\uFFFD"},
		{"\xed\xa0\x80x", "\uFFFD\uFFFD\uFFFDx", "\uFFFDx"},
		{"\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD\uFFFD"},
		{"\xe0\x80\x80", "\uFFFD\uFFFD\uFFFD", "\uFFFD\uFFFD\uFFFD"},
		{"a\xc3", "a\uFFFD", "a\uFFFD"},
	} {
		if got := string(replaceInvalid(nil, []byte(c.in), false)); got != c.decoded {
			t.Errorf("%q decoded to %q, want %q", c.in, got, c.decoded)
		}
		if got := string(replaceInvalid(nil, []byte(c.in), true)); got != c.text {
			t.Errorf("%q printed as %q, want %q", c.in, got, c.text)
		}
	}
}

// FuzzCodecs: what comes out is UTF-8, keeps what was valid, and UTF-16 comes back as it went.
func FuzzCodecs(f *testing.F) {
	f.Add([]byte("a\xed\xa0\x80\xf0\x9f"))
	f.Add([]byte("aGk=_-!"))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, wtf8 := range []bool{false, true} {
			out := replaceInvalid(nil, b, wtf8)
			if !utf8.Valid(out) || utf8.Valid(b) && string(out) != string(b) {
				t.Errorf("%q became %q", b, out)
			}
		}
		decode := func(b []byte) []byte {
			var d base64Decoder
			d.write(b[:len(b)/2])
			d.write(b[len(b)/2:])
			return d.close()
		}
		decode(b)
		if want := base64.StdEncoding.EncodeToString(b); string(decode([]byte(want))) != string(b) {
			t.Errorf("base64 of %q", b)
		}
		text := appendUTF16(nil, b)
		back := (&interp{g: &hostile{}}).fromText(text, func(out []byte, r rune) []byte {
			if r > 0xffff {
				high, low := utf16.EncodeRune(r)
				return append(out, byte(high), byte(high>>8), byte(low), byte(low>>8))
			}
			return append(out, byte(r), byte(r>>8))
		})
		if string(back) != string(b[:len(b)&^1]) {
			t.Errorf("UTF-16 %x came back as %x", b, back)
		}
	})
}

func TestFormatNumber(t *testing.T) {
	for _, c := range []struct {
		in   float64
		want string
	}{
		{0, "0"}, {1, "1"}, {-1.5, "-1.5"}, {0.30000000000000004, "0.30000000000000004"}, {1e21, "1e+21"}, {123456789012345680000, "123456789012345680000"},
		{1e-6, "0.000001"}, {1e-7, "1e-7"}, {1.5e-10, "1.5e-10"}, {5e-324, "5e-324"}, {math.MaxFloat64, "1.7976931348623157e+308"},
		{math.NaN(), "NaN"}, {math.Inf(1), "Infinity"}, {math.Inf(-1), "-Infinity"}, {1e100, "1e+100"}, {-1e-9, "-1e-9"},
	} {
		if got := formatNumber(c.in); got != c.want {
			t.Errorf("%v is written %s, want %s", c.in, got, c.want)
		}
	}
}

func TestValueTags(t *testing.T) {
	for _, f := range []float64{0, -0.5, 1e300, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64} {
		v := floatValue(f)
		if v.tag() != tagFloat || v.counted() || math.Float64bits(v.float()) != math.Float64bits(f) {
			t.Errorf("%v: tag %d, %v", f, v.tag(), v.float())
		}
	}
	if v := intValue(-5); v.tag() != tagInt || v.int() != -5 || v.number() != -5 {
		t.Error("an integer does not come back")
	}
	if value(0xffffffff_00001000).tag() != tagObject || !value(0xffffffff_00001000).counted() || undefined.counted() {
		t.Error("tags with references")
	}
}

// FuzzCuts: a conversion piece by piece gives what it gives at once.
func FuzzCuts(f *testing.F) {
	f.Add([]byte("a\xed\xa0\x80\xf0\x9f\x98\x80\x80\x80\x80\x80\xe2\x82"), 4)
	f.Add([]byte("=\xd8\x00\xde=\xd8a\x00"), 2)
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		if at < 0 || at > len(b) {
			return
		}
		for name, c := range map[string]struct {
			cut func([]byte, int) int
			add func(out, b []byte) []byte
		}{
			"UTF-8":  {cutRune, func(out, b []byte) []byte { return replaceInvalid(out, b, false) }},
			"WTF-8":  {cutRune, func(out, b []byte) []byte { return replaceInvalid(out, b, true) }},
			"UTF-16": {cutUnits, appendUTF16},
			"base64": {cutMultiple(3), base64.StdEncoding.AppendEncode},
		} {
			cut := c.cut(b, at)
			if pieces, whole := c.add(c.add(nil, b[:cut]), b[cut:]), c.add(nil, b); string(pieces) != string(whole) {
				t.Errorf("%s: %x cut at %d became %x, want %x", name, b, cut, pieces, whole)
			}
		}
	})
}
