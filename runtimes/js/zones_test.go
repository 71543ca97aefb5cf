package js_test

import (
	"testing"

	"github.com/cloche-dev/cloche/runtimes"
)

// TestZones: the program's zone is TZ's, names have any case, and what the host has beside the database is not there.
func TestZones(t *testing.T) {
	for _, c := range []struct{ zone, source, want string }{
		{"", "return Intl.DateTimeFormat().resolvedOptions().timeZone", "UTC"},
		{"Europe/Berlin", "return new Date(2024, 6, 1).toISOString()", "2024-06-30T22:00:00.000Z"},
		{"Europe/Berlin", "return new Date(2050, 6, 1).getTimezoneOffset()", "-120"},
		{"europe/berlin", "return String(new Date(0))", "Thu Jan 01 1970 01:00:00 GMT+0100 (Central European Standard Time)"},
		{"America/New_York", "return Intl.DateTimeFormat().resolvedOptions().timeZone", "America/New_York"},
		{"Asia/Kolkata", "return new Date(Date.UTC(2024, 0, 1)).toLocaleString('en-US')", "1/1/2024, 5:30:00 AM"},
		{"No/Where", "return new Date(0).getHours()", "0"},
		{"", "return new Date(0).toLocaleString('en-GB', { timeZone: 'asia/TOKYO' })", "01/01/1970, 09:00:00"},
		{"", "const no = []; for (const timeZone of ['Local', 'localtime', 'posix/Europe/Berlin', 'right/UTC', 'posixrules', '../x', 'zone.tab', 'tzdata.zi', '__init__.py', '']) { try { new Date().toLocaleString('en', { timeZone }); no.push(timeZone) } catch (e) { if (!(e instanceof RangeError)) throw e } } return no.join()", ""},
	} {
		r := run(t, "String((() => { "+c.source+" })())", func(turn *runtimes.Turn) { turn.Env = map[string]string{"TZ": c.zone} })
		if got := r.main(); got != "'"+c.want+"'" {
			t.Errorf("%s in %q is %s, want %s", c.source, c.zone, got, c.want)
		}
	}
}
