package js

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloche-dev/cloche/runtimes/js/libregexp"
)

// maxDate bounds the text of a date, in bytes.
const maxDate = 1 << 10

// date answers opDate.
func (in *interp) date(s *turn, a arguments) uint64 {
	text := a.text(0, maxDate+1)
	d, ok := parseDate(text)
	if !ok || len(text) > maxDate {
		return in.number(math.NaN())
	}
	return in.number(d.instant(s.location()))
}

// dateText is what the text of a date says: whole numbers, which may be out of their ranges.
type dateText struct {
	year, month, day         float64
	hour, minute, second, ms float64
	zoned                    bool    // else the time is that of the program's time zone
	east                     float64 // minutes
}

var isoDate = regexp.MustCompile(`^(\d{4}|[+-]\d{6})(?:-(\d\d)(?:-(\d\d))?)?(?:[Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:([Zz])|([+-])(\d\d):?(\d\d))?)?$`)

// parseDate reads a date as Node does: ISO 8601 (ECMA-262, Date Time String Format), or numbers, words and signs in whatever order
// they come.
func parseDate(text string) (dateText, bool) {
	d := dateText{}
	if m := isoDate.FindStringSubmatch(text); m != nil {
		number := func(i int, missing float64) float64 {
			if m[i] == "" {
				return missing
			}
			return digits(m[i])
		}
		d = dateText{
			year: number(1, 0), month: number(2, 1), day: number(3, 1),
			hour: number(4, 0), minute: number(5, 0), second: number(6, 0), ms: thousandths(m[7]),
			zoned: m[4] == "" || m[8] != "" || m[9] != "",
		}
		if m[9] != "" {
			d.east = digits(m[9]+"1") * (60*digits(m[10]) + digits(m[11]))
		}
		return d, m[1] != "-000000" && d.valid()
	}
	if !nearlyISO(text) && d.read(dateTokens(text)) {
		return d, d.valid()
	}
	return d, false
}

// nearlyISO says whether a text begins as in ISO 8601 with what that must go on as.
func nearlyISO(text string) bool {
	const day = "0000-00-00"
	return len(text) > len(day) && shaped(text, day) &&
		(text[len(day)] == '-' || (text[len(day)]|' ') == 't' && shaped(text[len(day)+1:], "00:"))
}

// shaped says whether a text begins with digits where shape has, and with its other characters.
func shaped(text, shape string) bool {
	for i := range len(shape) {
		if i >= len(text) || shape[i] == '0' && (text[i] < '0' || text[i] > '9') || shape[i] != '0' && text[i] != shape[i] {
			return false
		}
	}
	return true
}

func digits(s string) float64 {
	n, _ := strconv.ParseFloat(s, 64) // of too many it is infinite
	return n
}

// thousandths are those of a fraction's digits.
func thousandths(fraction string) float64 { return digits((fraction + "000")[:3]) }

// valid says whether it is a date: the day may be one that the month has not.
func (d *dateText) valid() bool {
	midnight := d.hour == 24 && d.minute == 0 && d.second == 0 && d.ms == 0
	return d.month >= 1 && d.month <= 12 && d.day >= 1 && d.day <= 31 && (midnight || d.hour < 24 && d.minute < 60 && d.second < 60)
}

// instant is its time in ms since 1970; NaN when that is beyond what a Date has.
func (d *dateText) instant(here *time.Location) float64 {
	const farthest = 300_000 // years
	if math.Abs(d.year) > farthest || math.Abs(d.east) > 1e9 {
		return math.NaN()
	}
	t := time.Date(int(d.year), time.Month(d.month), int(d.day), int(d.hour), int(d.minute), int(d.second), 0, time.UTC)
	east := 60 * int64(d.east)
	if !d.zoned {
		east = eastOf(t, here)
	}
	ms := float64(t.Unix()-east)*1000 + d.ms
	if math.Abs(ms) > 8.64e15 {
		return math.NaN()
	}
	return ms
}

// eastOf is how many seconds clocks of a zone are ahead when they show what t shows. What they show twice is the earlier time, and what
// they leave out is told as before it (ECMA-262, UTC(t)).
func eastOf(t time.Time, zone *time.Location) int64 {
	at := func(t time.Time) int { _, east := t.In(zone).Zone(); return east }
	before, after := at(t.Add(-24*time.Hour)), at(t.Add(24*time.Hour))
	ahead := func(east int) bool { return at(t.Add(-time.Duration(east)*time.Second)) == east }
	if !ahead(before) && ahead(after) {
		return int64(after)
	}
	return int64(before)
}

// dateToken is a part of a text: a number, a word, or a sign or space.
type dateToken struct {
	text   string
	number float64
	kind   byte // '0', 'a', ' ' or the sign; '(' is a remark, 0 the end
}

// dateTokens leaves out what stands in parentheses.
func dateTokens(text string) (list []dateToken) {
	depth := 0
	for len(text) > 0 {
		kind, size := dateKind(text)
		if strings.IndexByte("0a ", kind) >= 0 {
			for next := kind; size < len(text); {
				more := 0
				if next, more = dateKind(text[size:]); next != kind {
					break
				}
				size += more
			}
		}
		t := dateToken{text: text[:size], kind: kind}
		text = text[size:]
		switch {
		case kind == '(':
			if depth++; depth == 1 {
				list = append(list, t)
			}
		case kind == ')' && depth > 0:
			depth--
		case depth == 0:
			if kind == '0' {
				t.number = digits(t.text)
			}
			list = append(list, t)
		}
	}
	return list
}

// dateKind is the kind of the character that a text begins with, and its size.
func dateKind(text string) (kind byte, size int) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r >= '0' && r <= '9':
		return '0', size
	case libregexp.IsSpace(uint32(r)):
		return ' ', size
	case r > '@':
		return 'a', size
	}
	return byte(r), size
}

// dateZones are hours east of zones that have names.
var dateZones = map[string]float64{
	"ut": 0, "utc": 0, "gmt": 0, "z": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
}

// monthNamed is the month whose name a word begins with, or 0.
func monthNamed(word string) float64 {
	if len(word) < 3 {
		return 0
	}
	return float64(strings.Index("    jan feb mar apr may jun jul aug sep oct nov dec", word[:3]) / 4)
}

// dateReader takes the parts of a text as V8 does where it is not ISO 8601.
type dateReader struct {
	list    []dateToken
	at      int // of the part that is next
	numbers bool
	day     []float64 // in the order that they come in
	named   float64   // month; 0: none was named
	clock   []float64
	half    float64 // of the day: 12 for its second one; -1: none was named
	sign    float64 // of the zone; 0: none was named
	hours   float64 // of the zone; -1: not known
	minutes float64
}

// read takes the parts, and says whether they can be those of a date.
func (d *dateText) read(list []dateToken) bool {
	r := dateReader{list: list, half: -1, hours: -1, minutes: -1}
	for r.at < len(list) {
		t := list[r.at]
		r.at++
		ok := true
		switch t.kind {
		case '0':
			r.numbers = true
			ok = r.number(t.number)
		case 'a':
			ok = r.word(strings.ToLower(t.text))
		case '+', '-':
			if r.hours == 0 && r.minutes == 0 || len(r.clock) > 0 {
				ok = r.offset(t.kind)
			} else {
				ok = !r.numbers
			}
		case ')':
			ok = !r.numbers
		}
		if !ok {
			return false
		}
	}
	return d.set(&r)
}

// next is the kind of the part that comes, or of one after it.
func (r *dateReader) next(further int) byte {
	if r.at+further < len(r.list) {
		return r.list[r.at+further].kind
	}
	return 0
}

// skip passes a part of that kind, if it comes.
func (r *dateReader) skip(kind byte) bool {
	if r.next(0) != kind {
		return false
	}
	r.at++
	return true
}

// inClock says whether a number may be the next of the time, which has begun.
func (r *dateReader) inClock(n float64) bool {
	switch len(r.clock) {
	case 1, 2:
		return n < 60
	case 3:
		return n < 1000
	}
	return false
}

// endClock gives the time its last part.
func (r *dateReader) endClock(n float64) {
	r.clock = append(r.clock, n, 0, 0, 0)[:max(4, len(r.clock)+1)]
}

func (r *dateReader) number(n float64) bool {
	switch {
	case r.skip(':'):
		if len(r.clock) > 3 || r.next(0) == ':' && len(r.clock) > 0 {
			return false
		}
		r.clock = append(r.clock, n)
		if r.skip(':') {
			r.clock = append(r.clock, 0)
		} else {
			r.skip('.')
		}
	case r.next(0) == '.' && r.inClock(n):
		r.clock = append(r.clock, n)
		if r.next(1) != '0' {
			return false
		}
		r.endClock(thousandths(r.list[r.at+1].text))
		r.at += 2
	default:
		r.skip('.')
		switch {
		case r.hours >= 0 && r.minutes < 0 && n < 60:
			r.minutes = n
		case r.inClock(n):
			r.endClock(n)
			switch r.next(0) {
			case 0, ' ', '+', '-':
			case 'a':
				return strings.EqualFold(r.list[r.at].text, "z")
			default:
				return false
			}
		case len(r.day) == 3:
			return false
		default:
			r.day = append(r.day, n)
			r.skip('-')
		}
	}
	return true
}

func (r *dateReader) word(name string) bool {
	month := monthNamed(name)
	east, zone := dateZones[name]
	switch {
	case (name == "am" || name == "pm") && len(r.clock) > 0:
		if r.half = 0; name == "pm" {
			r.half = 12
		}
	case month > 0:
		r.named = month
		r.skip('-')
	case zone && r.numbers:
		r.sign, r.hours, r.minutes = 1, math.Abs(east), 0
		if east < 0 {
			r.sign = -1
		}
	case r.numbers || r.next(0) == '0':
		return false
	}
	return true
}

func (r *dateReader) offset(sign byte) bool {
	r.numbers = true
	if r.sign = 1; sign == '-' {
		r.sign = -1
	}
	t := dateToken{}
	if r.next(0) == '0' {
		t = r.list[r.at]
		r.at++
	}
	switch n := len(t.text); {
	case r.next(0) == ':':
		r.hours, r.minutes = t.number, -1
	case n == 1 || n == 2:
		r.hours, r.minutes = t.number, 0
	case n == 3 || n == 4:
		r.hours, r.minutes = math.Trunc(t.number/100), math.Mod(t.number, 100)
	default:
		return false
	}
	return true
}

// set has the date be what was read.
func (d *dateText) set(r *dateReader) bool {
	if len(r.day) == 0 {
		return false
	}
	day := append(r.day, 1, 1)
	dayFirst := day[0] >= 1 && day[0] <= 31
	switch {
	case r.named > 0 && dayFirst:
		d.year, d.month, d.day = day[1], r.named, day[0]
	case r.named > 0:
		d.year, d.month, d.day = day[0], r.named, day[1]
	case dayFirst:
		d.year, d.month, d.day = day[2], day[0], day[1]
	default:
		d.year, d.month, d.day = day[0], day[1], day[2]
	}
	switch {
	case d.year < 50:
		d.year += 2000
	case d.year < 100:
		d.year += 1900
	}
	clock := append(r.clock, 0, 0, 0, 0)
	d.hour, d.minute, d.second, d.ms = clock[0], clock[1], clock[2], clock[3]
	if r.half >= 0 {
		if d.hour > 12 {
			return false
		}
		d.hour = math.Mod(d.hour, 12) + r.half
	}
	d.zoned = r.sign != 0
	d.east = r.sign * (60*max(r.hours, 0) + max(r.minutes, 0))
	return true
}
