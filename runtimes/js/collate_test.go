package js

import (
	"testing"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// TestOrders: a language is sorted in its usual order, as Node does, unless another one is asked for; and each locale whose order is used uses
// its own, or looking for it would not end.
func TestOrders(t *testing.T) {
	for _, c := range []struct {
		tag, x, y string
		want      int
	}{
		{"de", "ä", "ad", -1}, {"de-AT", "ä", "ad", -1}, {"de-u-co-phonebk", "ä", "ad", 1}, {"sv", "ä", "ad", 1}, {"zh-Hant", "中", "國", -1}, {"zh", "中", "國", 1},
		{"en-US", "a", "B", -1}, {"xx", "a", "b", -1}, {"not a tag", "a", "b", -1},
	} {
		if got := collatorsOf(collation{tag: c.tag}).Get().(*collate.Collator).CompareString(c.x, c.y); got != c.want {
			t.Errorf("%s: %s and %s give %d, want %d", c.tag, c.x, c.y, got, c.want)
		}
	}
	for _, tag := range collate.Supported() {
		found := orderOf(tag)
		if again := orderOf(language.MustParse(found.String())); again != found {
			t.Errorf("%s is sorted as %s, and that as %s", tag, found, again)
		}
	}
}
