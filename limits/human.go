package limits

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// groupedNumber is a whole number with a comma before every three digits. Other commas are refused, since
// go-humanize drops them wherever they stand: a decimal comma in "1,5GiB" would be read as 15 GiB.
var groupedNumber = regexp.MustCompile(`^[0-9]{1,3}(,[0-9]{3})+($|[^0-9.,])`)

// ParseSize reads a number of bytes: "512MiB" and "1GiB" (powers of 1024), "64MB" and "1.5GB" (powers of
// 1000), or a plain number of bytes. Letter case and a space before the unit do not matter; a fraction of
// a byte is dropped.
func ParseSize(s string) (uint64, error) {
	t := strings.TrimSpace(s)
	if t == "" || (strings.Contains(t, ",") && !groupedNumber.MatchString(t)) {
		return 0, sizeError(s)
	}
	t = strings.TrimSuffix(strings.TrimSuffix(t, "bytes"), "byte")
	n, err := humanize.ParseBytes(t)
	if err != nil {
		if strings.HasPrefix(err.Error(), "too large") {
			return 0, fmt.Errorf("size %q is larger than 16 EiB", s)
		}
		return 0, sizeError(s)
	}
	return n, nil
}

func sizeError(s string) error {
	return fmt.Errorf("size %q is not understood: write a number with a unit, such as 512MiB, 64MB or 1GiB", s)
}

// FormatSize prints n bytes exactly: in the unit that leaves the smallest whole number ("512 MiB",
// "64 MB"), else in bytes. ParseSize reads it back.
func FormatSize(n uint64) string {
	best, name := n, "bytes"
	for _, units := range []struct {
		base  uint64
		names []string
	}{
		{1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}},
		{1000, []string{"kB", "MB", "GB", "TB", "PB", "EB"}},
	} {
		v := n
		for _, u := range units.names {
			if v == 0 || v%units.base != 0 {
				break
			}
			v /= units.base
			if v < best {
				best, name = v, u
			}
		}
	}
	if n == 1 {
		return "1 byte"
	}
	return FormatCount(best) + " " + name
}

// ApproxSize prints n bytes in at most four digits ("61 MiB", "1.4 GiB"): for usage, where FormatSize
// would print every byte.
func ApproxSize(n uint64) string { return humanize.IBytes(n) }

// ParseDuration reads a duration with a unit: "30s", "2m", "1m30s", "250ms". It is not negative.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil {
		if _, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
			return 0, fmt.Errorf("duration %q has no unit: write %ss, %sms or %sm", s, s, s, s)
		}
		return 0, fmt.Errorf("duration %q is not understood: write a number with a unit, such as 30s, 2m or 250ms", s)
	}
	if d < 0 {
		return 0, fmt.Errorf("duration %q is negative", s)
	}
	return d, nil
}

// FormatDuration prints d without zero parts at its end: "30s", "5m", "1h30m".
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var (
	countForm     = regexp.MustCompile(`^([0-9]+|[0-9]{1,3}(?:[,_][0-9]{3})+)([kMGT]?)$`)
	countSuffixes = map[string]uint64{"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
)

// ParseCount reads a whole number: "5000000", "5,000,000", "5_000_000" or "5M" (k, M, G and T are powers
// of 1000).
func ParseCount(s string) (uint64, error) {
	m := countForm.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, fmt.Errorf("number %q is not understood: write a whole number such as 5000000, 5,000,000 or 5M", s)
	}
	n, err := strconv.ParseUint(strings.NewReplacer(",", "", "_", "").Replace(m[1]), 10, 64)
	unit := countSuffixes[m[2]]
	if errors.Is(err, strconv.ErrRange) || n > ^uint64(0)/unit {
		return 0, fmt.Errorf("number %q is too large", s)
	}
	if err != nil {
		return 0, fmt.Errorf("number %q: %w", s, err)
	}
	return n * unit, nil
}

// FormatCount prints n with a comma before every three digits.
func FormatCount(n uint64) string {
	const most = 1<<63 - 1 // what humanize.Comma can take
	if n > most {
		return FormatCount(n/1000) + fmt.Sprintf(",%03d", n%1000)
	}
	return humanize.Comma(int64(n))
}
