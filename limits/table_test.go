package limits_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/limits"
)

const conf = `listen = "a"
port = 70000
loud = "yes"
wait = "3s"
names = ["a", 1]
size = "2MiB"
typo = 1

[inner]
x = 1
[inner.limits]
timeout = "5s"
fule = 1
`

func TestTable(t *testing.T) {
	top, err := limits.ParseTOML("c.toml", []byte(conf))
	if err != nil {
		t.Fatal(err)
	}
	if top.Text("listen") != "a" || top.Duration("wait", time.Second, time.Minute) != 3*time.Second || top.Size("size", 1, 1<<30) != 2<<20 || top.Text("none") != "" {
		t.Error("a value is not as it stands in the file")
	}
	top.Count("port", 1, 65535)
	top.Bool("loud")
	top.Texts("names")
	in := top.Table("inner")
	if l := in.Limits("limits"); l.Timeout != 5*time.Second {
		t.Errorf("limits %v", l)
	}
	in.Close()
	top.Table("absent").Close()
	top.Close()
	want := []string{
		"c.toml:2: port is 70,000, must be from 1 to 65,535",
		"c.toml:3: loud must be true or false, not a string",
		"c.toml:5: names must be a list of strings, and has a whole number",
		`c.toml:13: unknown key "fule" in [inner.limits]`,
		`c.toml:10: unknown key "x" in [inner]: there are limits`,
		`c.toml:7: unknown key "typo": there are absent, inner, listen`,
	}
	got := strings.Split(top.Problems().Error(), "\n")
	if len(got) != len(want) {
		t.Fatalf("problems:\n%s", strings.Join(got, "\n"))
	}
	for i, w := range want {
		if !strings.HasPrefix(got[i], w) {
			t.Errorf("%q does not begin with %q", got[i], w)
		}
	}
	if _, err := limits.ParseTOML("c.toml", []byte("a = 1\nb = = 2\n")); err == nil || !strings.HasPrefix(err.Error(), "c.toml:2: ") {
		t.Errorf("syntax: %v", err)
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte(conf))
	f.Fuzz(func(t *testing.T, data []byte) {
		top, err := limits.ParseTOML("c.toml", data)
		if err != nil {
			return
		}
		top.Text("listen")
		top.Count("port", 1, 65535)
		top.Size("size", 1, 1<<30)
		in := top.Table("inner")
		in.Limits("limits")
		in.Mounts("mounts")
		in.Env("env")
		in.Close()
		top.Close()
		_ = top.Problems()
	})
}
