package js

import (
	"slices"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// collation is how texts are compared; its collators are kept, since making one costs more than comparing.
type collation struct {
	tag         string
	sensitivity string
	numeric     bool
}

// collators are the pools of collators by collation. Only locales that have an order of their own get one each,
// so their number is bounded.
var collators sync.Map // collation -> *sync.Pool of *collate.Collator

// Matchers find the locale whose order a language uses; most use the root's. An order besides the usual one, such as that of a German phone
// book, is for who asks for it.
var (
	usual        = slices.DeleteFunc(collate.Supported(), func(t language.Tag) bool { return len(t.Extensions()) > 0 })
	usualMatcher = language.NewMatcher(usual)
	matcher      = language.NewMatcher(collate.Supported())
)

// orderOf is the locale whose order a language uses.
func orderOf(tag language.Tag) language.Tag {
	if tag.TypeForKey("co") == "" {
		_, i, _ := usualMatcher.Match(tag)
		return usual[i]
	}
	_, i, _ := matcher.Match(tag)
	return collate.Supported()[i]
}

func collatorsOf(c collation) *sync.Pool {
	if p, ok := collators.Load(c); ok {
		return p.(*sync.Pool)
	}
	tag, err := language.Parse(c.tag)
	if err != nil {
		tag = language.AmericanEnglish
	}
	found := orderOf(tag)
	if c.tag != found.String() {
		c.tag = found.String()
		return collatorsOf(c)
	}
	var options []collate.Option
	switch c.sensitivity {
	case "base":
		options = append(options, collate.Loose)
	case "accent":
		options = append(options, collate.IgnoreCase)
	}
	if c.numeric {
		options = append(options, collate.Numeric)
	}
	p, _ := collators.LoadOrStore(c, &sync.Pool{New: func() any { return collate.New(found, options...) }})
	return p.(*sync.Pool)
}

// maxCollate bounds what is compared in bytes: what differs later does not matter to a sort.
const maxCollate = 64 << 10

// fuelPerCollated is what a byte costs that is compared.
const fuelPerCollated = 64

// collate answers opCollate.
func (in *interp) collate(a arguments) uint64 {
	x, y := a.text(0, maxCollate), a.text(1, maxCollate)
	in.g.Charge(fuelPerCollated * uint64(len(x)+len(y)))
	if x == y {
		return in.number(0)
	}
	kind := collation{tag: a.text(2, maxName), numeric: a.value(4) == boolValue(true)}
	if s := a.text(3, maxName); s == "base" || s == "accent" {
		kind.sensitivity = s
	}
	pool := collatorsOf(kind)
	c := pool.Get().(*collate.Collator)
	n := c.CompareString(x, y)
	pool.Put(c)
	return in.number(float64(n))
}
