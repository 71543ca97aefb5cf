package js

import (
	"math"
	"testing"
	"time"
)

// TestDateGaps: times that the clocks of a zone show twice or never.
func TestDateGaps(t *testing.T) {
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for text, want := range map[string]string{
		"2024-03-31T01:59": "2024-03-31T00:59:00Z", "2024-03-31 02:30": "2024-03-31T01:30:00Z", "31 Mar 2024 03:00": "2024-03-31T01:00:00Z",
		"2024-10-27T02:30": "2024-10-27T00:30:00Z", "2024-10-27 03:00": "2024-10-27T02:00:00Z", "2024-10-27": "2024-10-27T00:00:00Z",
		"2024-06-01T12:00+05:30": "2024-06-01T06:30:00Z", "0024-01-01": "0024-01-01T00:00:00Z",
	} {
		d, ok := parseDate(text)
		if got := time.UnixMilli(int64(d.instant(zone))).UTC().Format(time.RFC3339); !ok || got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// FuzzParseDate: whatever a text is, it is a time that a Date can have, or none.
func FuzzParseDate(f *testing.F) {
	for _, text := range []string{"2024-02-29T12:00:00.5Z", "+275760-09-13", "Thu, 29 Feb 2024 12:30:45 GMT+0100 (CET)", "2/29/24 5:04 pm", "29-Feb-24 -99999999:99999999", "1:2:3:4", "12.5. 1 2", ")((\x00é1\u202f"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := parseDate(text)
		if !ok {
			return
		}
		if ms := d.instant(time.UTC); !math.IsNaN(ms) && (ms != math.Trunc(ms) || math.Abs(ms) > 8.64e15) {
			t.Errorf("%q: %v", text, ms)
		}
	})
}
