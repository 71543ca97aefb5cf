package limits_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cloche-dev/cloche/limits"
)

func TestParseSize(t *testing.T) {
	const notUnderstood = " is not understood: write a number with a unit, such as 512MiB, 64MB or 1GiB"
	for _, c := range []struct {
		in   string
		want uint64
		err  string
	}{
		{"512MiB", 512 << 20, ""},
		{"64MB", 64_000_000, ""},
		{"1GiB", 1 << 30, ""},
		{" 2 gib ", 2 << 30, ""},
		{"1.5GiB", 3 << 29, ""},
		{"4096", 4096, ""},
		{"1,234,567 bytes", 1_234_567, ""},
		{"1 byte", 1, ""},
		{"18446744073709551615", math.MaxUint64, ""},
		{"0", 0, ""},
		{"", 0, `size ""` + notUnderstood},
		{"MiB", 0, `size "MiB"` + notUnderstood},
		{"-5MiB", 0, `size "-5MiB"` + notUnderstood},
		{"1.2.3MB", 0, `size "1.2.3MB"` + notUnderstood},
		{"1,5GiB", 0, `size "1,5GiB"` + notUnderstood},
		{"12 parsecs", 0, `size "12 parsecs"` + notUnderstood},
		{"20EiB", 0, `size "20EiB" is larger than 16 EiB`},
	} {
		got, err := limits.ParseSize(c.in)
		if got != c.want || text(err) != c.err {
			t.Errorf("ParseSize(%q) = %d, %v; want %d, %s", c.in, got, err, c.want, c.err)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		in   string
		want time.Duration
		err  string
	}{
		{"30s", 30 * time.Second, ""},
		{"2m", 2 * time.Minute, ""},
		{" 1m30s ", 90 * time.Second, ""},
		{"250ms", 250 * time.Millisecond, ""},
		{"30", 0, `duration "30" has no unit: write 30s, 30ms or 30m`},
		{"-1s", 0, `duration "-1s" is negative`},
		{"soon", 0, `duration "soon" is not understood: write a number with a unit, such as 30s, 2m or 250ms`},
		{"", 0, `duration "" is not understood: write a number with a unit, such as 30s, 2m or 250ms`},
	} {
		got, err := limits.ParseDuration(c.in)
		if got != c.want || text(err) != c.err {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v, %s", c.in, got, err, c.want, c.err)
		}
	}
}

func TestParseCount(t *testing.T) {
	const notUnderstood = " is not understood: write a whole number such as 5000000, 5,000,000 or 5M"
	for _, c := range []struct {
		in   string
		want uint64
		err  string
	}{
		{"5000000", 5_000_000, ""},
		{"5,000,000", 5_000_000, ""},
		{"5_000_000", 5_000_000, ""},
		{"5M", 5_000_000, ""},
		{"2k", 2_000, ""},
		{"10G", 10_000_000_000, ""},
		{"18446744073709551615", math.MaxUint64, ""},
		{"18446744073709551616", 0, `number "18446744073709551616" is too large`},
		{"99999999T", 0, `number "99999999T" is too large`},
		{"5 000", 0, `number "5 000"` + notUnderstood},
		{"1,00", 0, `number "1,00"` + notUnderstood},
		{"-1", 0, `number "-1"` + notUnderstood},
		{"1.5M", 0, `number "1.5M"` + notUnderstood},
		{"", 0, `number ""` + notUnderstood},
	} {
		got, err := limits.ParseCount(c.in)
		if got != c.want || text(err) != c.err {
			t.Errorf("ParseCount(%q) = %d, %v; want %d, %s", c.in, got, err, c.want, c.err)
		}
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{limits.FormatSize(0), "0 bytes"},
		{limits.FormatSize(1), "1 byte"},
		{limits.FormatSize(512 << 20), "512 MiB"},
		{limits.FormatSize(64_000_000), "64 MB"},
		{limits.FormatSize(1_000_001), "1,000,001 bytes"},
		{limits.FormatSize(1536 << 20), "1,536 MiB"},
		{limits.ApproxSize(63_500_000), "61 MiB"},
		{limits.FormatCount(math.MaxUint64), "18,446,744,073,709,551,615"},
		{limits.FormatDuration(30 * time.Second), "30s"},
		{limits.FormatDuration(5 * time.Minute), "5m"},
		{limits.FormatDuration(24 * time.Hour), "24h"},
		{limits.FormatDuration(90 * time.Minute), "1h30m"},
		{limits.FormatDuration(10 * time.Second), "10s"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// What is printed reads back as the same value.
func TestFormatParseRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64().Draw(t, "n")
		if got, err := limits.ParseSize(limits.FormatSize(n)); err != nil || got != n {
			t.Fatalf("size %d is printed %q, read back %d, %v", n, limits.FormatSize(n), got, err)
		}
		if got, err := limits.ParseCount(limits.FormatCount(n)); err != nil || got != n {
			t.Fatalf("count %d is printed %q, read back %d, %v", n, limits.FormatCount(n), got, err)
		}
		d := time.Duration(rapid.Int64Min(0).Draw(t, "d"))
		if got, err := limits.ParseDuration(limits.FormatDuration(d)); err != nil || got != d {
			t.Fatalf("duration %d is printed %q, read back %d, %v", d, limits.FormatDuration(d), got, err)
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, s := range []string{"512MiB", "64 MB", "1,234 bytes", "1.5GiB", "", "-1", "1e9", "9999999999999999999EiB", "٣MiB", "0x10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := limits.ParseSize(s)
		if err != nil {
			return
		}
		if again, err := limits.ParseSize(limits.FormatSize(n)); err != nil || again != n {
			t.Errorf("%q is %d, printed %q, read back %d, %v", s, n, limits.FormatSize(n), again, err)
		}
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"30s", "2m", "1h1m1.5s", "-1s", "", "9999999h", "1µs", "30"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := limits.ParseDuration(s)
		if err != nil {
			return
		}
		if again, err := limits.ParseDuration(limits.FormatDuration(d)); err != nil || again != d || d < 0 {
			t.Errorf("%q is %d, printed %q, read back %d, %v", s, d, limits.FormatDuration(d), again, err)
		}
	})
}

func FuzzParseCount(f *testing.F) {
	for _, s := range []string{"5000000", "5,000,000", "5M", "", "1_0", "99999999999T"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := limits.ParseCount(s)
		if err != nil {
			return
		}
		if again, err := limits.ParseCount(limits.FormatCount(n)); err != nil || again != n {
			t.Errorf("%q is %d, printed %q, read back %d, %v", s, n, limits.FormatCount(n), again, err)
		}
	})
}
