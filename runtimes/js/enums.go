package js

import "strings"

// maxInlined bounds what the values of a source's enums may take together where they are written, in bytes.
const maxInlined = 16 << 20

// enumsTooLarge says whether the values of src's enums could come to more than maxInlined. esbuild computes values that are made
// of others (enum A { a = 'xxxx', b = a + a, c = b + b }: they double with each name) and writes a value wherever it
// is used, so that 300 bytes of source could take all of the host's memory. It may count too much, never too little.
func enumsTooLarge(src string) bool {
	e := enumReader{scanner: scanner{src: src, careful: true}, names: map[string]bool{}}
	e.read()
	if e.largest == 0 {
		return false
	}
	uses := 0
	for s := (scanner{src: src, careful: true}); ; {
		value := s.value
		t := s.next()
		if t.kind == tokEOF {
			return e.largest*uses > maxInlined
		}
		if e.refers(t, value) {
			uses++
		}
	}
}

// enumReader finds the largest value of the enums of a source.
type enumReader struct {
	scanner
	names   map[string]bool // of the members so far
	escaped bool            // one of them is written with an escape: any word may be it
	largest int             // bytes, at most a little over maxInlined
}

func (e *enumReader) read() {
	var before [2]token // the last two
	for e.largest <= maxInlined {
		t := e.next()
		if t.kind == tokEOF {
			return
		}
		if t.text == "{" && before[1].kind == tokWord && before[0].kind == tokWord && before[0].text == "enum" {
			e.body()
			t = e.prev
		}
		before[0], before[1] = before[1], t
	}
}

// body reads to the end of an enum. A member's value is no longer than what its text says itself, and the largest value so
// far for each name in it.
func (e *enumReader) body() {
	depth := len(e.brackets)
	own, others := 0, 0
	first := true // in its member
	end := func() {
		e.largest = max(e.largest, own+others*e.largest)
		own, others, first = 0, 0, true
	}
	for e.largest <= maxInlined {
		value := e.value
		t := e.next()
		switch {
		case t.kind == tokEOF:
			return
		case len(e.brackets) < depth:
			end()
			return
		case t.text == "," && len(e.brackets) == depth:
			end()
			continue
		case first:
			if t.kind == tokWord || t.kind == tokString {
				e.names[t.text] = true
				e.escaped = e.escaped || strings.Contains(e.src[t.from:t.to], `\`)
			}
		case e.refers(t, value):
			others++
		case t.kind != tokPunct || t.text == "`":
			own += t.to - t.from + len("undefined") // of typeof; a number is no longer as a string
		}
		first = first && t.text == "["
	}
}

// refers says whether t may stand for a member: its name, or the bracket before it.
func (e *enumReader) refers(t token, value bool) bool {
	switch t.kind {
	case tokWord:
		return e.escaped || e.names[t.text] || strings.Contains(t.text, `\`)
	case tokPunct:
		return t.text == "[" && value
	}
	return false
}
