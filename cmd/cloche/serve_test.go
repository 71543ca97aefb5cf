package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/web"
)

// startServe runs cloche serve until stop, and returns its address and what it has said.
func startServe(t *testing.T, env map[string]string, args ...string) (url string, said func() string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	code := make(chan int, 1)
	getenv := func(name string) string {
		if v, ok := env[name]; ok {
			return v
		}
		if name == "CLOCHE_KEY" {
			return ""
		}
		return os.Getenv(name)
	}
	go func() {
		code <- doMain(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), stdio{strings.NewReader(""), in, io.Discard}, getenv)
		in.Close()
	}()
	stop = func() int { cancel(); return <-code }
	var text bytes.Buffer
	found := make(chan string)
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := out.Read(b)
			text.Write(b[:n])
			if m := regexp.MustCompile(`listening on (http://\S+)\n(.*key for this run.*\n)?`).FindStringSubmatch(text.String()); m != nil && found != nil {
				if env["CLOCHE_KEY"] != "" || m[2] != "" {
					found <- m[1]
					found = nil
				}
			}
			if err != nil {
				return
			}
		}
	}()
	select {
	case url = <-found:
	case c := <-code:
		t.Fatalf("cloche serve ended with status %d: %s", c, text.String())
	case <-time.After(5 * time.Minute):
		t.Fatal("cloche serve does not listen")
	}
	return url, text.String, stop
}

// TestReadmeCurl: the curl examples of the README work as they stand there.
func TestReadmeCurl(t *testing.T) {
	for _, tool := range []string{"curl", "sh", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	const key = "a-key-of-the-test-0123456789-0123456789"
	url, _, stop := startServe(t, map[string]string{"CLOCHE_KEY": key})
	_, rest, _ := strings.Cut(readme(t), "## Over HTTP")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	script, _, _ := strings.Cut(rest, "```")
	cmd := exec.Command("sh", "-e")
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = append(os.Environ(), "CLOCHE_URL="+url, "CLOCHE_KEY="+key, "no_proxy=*")
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, b)
	}
	for _, want := range []string{`"stdout":"42\n"`, "event: stdout", `"text":"2\n"`, "event: end", `"path":"/data/in.csv"`, `"text/plain":"2"`, "mean,2.0,3.0", `"sessions":[{"id":`, `"turns":0`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in\n%s", want, b)
		}
	}
	if strings.Contains(string(b), `{"error":{"code"`) {
		t.Errorf("an error in\n%s", b)
	}
	if code := stop(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

// TestServeOneTimeKey: without configuration there is a key for this run, and nothing works without it.
func TestServeOneTimeKey(t *testing.T) {
	url, said, stop := startServe(t, nil)
	m := regexp.MustCompile(`key for this run: (\S+)`).FindStringSubmatch(said())
	if m == nil || len(m[1]) < minRemoteKey {
		t.Fatalf("it says %q", said())
	}
	for key, status := range map[string]int{m[1]: 200, "": 401, m[1] + "x": 401} {
		r, err := http.NewRequest("GET", url+"/v1/runtimes", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("key %q: %d", key, res.StatusCode)
		}
	}
	if code := stop(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

func TestServeWrongUsage(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "c.toml")
	if err := os.WriteFile(bad, []byte("listen = 1\n[keys.a]\nhash = 'x'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(t.TempDir(), "gone.toml")
	if err := os.WriteFile(gone, []byte("[policies.small]\nmounts = { \"/m\" = { host = \"/nonexistent\", mode = \"ro\" } }\n"+
		"[keys.a]\nhash = 'sha256:"+strings.Repeat("0a", 32)+"'\npolicy = 'small'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--config", gone}, "gone.toml: policy small: mount /m: stat /nonexistent: no such file"},
		{[]string{"--config", bad}, "c.toml:1: listen must be a string"},
		{[]string{"--listen", "0.0.0.0:0", "--key", "short"}, "needs one of 32 or more"},
		{[]string{"--listen", "nowhere"}, "listen:"},
		{[]string{"--listen", "127.0.0.1:0", "--allow", "ftp://x"}, "--allow"},
	} {
		var stderr bytes.Buffer
		code := doMain(context.Background(), append([]string{"serve"}, c.args...), stdio{strings.NewReader(""), io.Discard, &stderr}, os.Getenv)
		if code != exitUsage || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%v: status %d, %s", c.args, code, stderr.String())
		}
	}
}

// TestServeOnTakenAddress: that another listens there is no wrong usage.
func TestServeOnTakenAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().String()
	for _, args := range [][]string{{"--listen", addr}, {"--listen", "127.0.0.1:0", "--e2b", addr}} {
		var stderr bytes.Buffer
		code := doMain(t.Context(), append([]string{"serve"}, args...), stdio{strings.NewReader(""), io.Discard, &stderr}, os.Getenv)
		if code != exitTrouble || !strings.Contains(stderr.String(), "address already in use") {
			t.Errorf("%v: status %d, %s", args, code, stderr.String())
		}
	}
}

// freeAddr is an address on which nobody listens, of a port that the system gives to nobody who asks for any.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 20_000+rand.IntN(10_000)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// TestServeWaitsForItsWall: who connects before the second wall stands is answered when it does.
func TestServeWaitsForItsWall(t *testing.T) {
	addr := freeAddr(t)
	answered := make(chan error, 1)
	before := raise
	defer func() { raise = before }()
	raise = func(wall.Config) (wall.Report, error) {
		go func() {
			res, err := http.Get("http://" + addr + "/healthz")
			if err == nil {
				res.Body.Close()
			}
			answered <- err
		}()
		select {
		case err := <-answered:
			t.Errorf("it answered before the wall stood: %v", err)
			answered <- nil
		case <-time.After(300 * time.Millisecond):
		}
		return nil, nil
	}
	_, _, stop := startServe(t, map[string]string{"CLOCHE_KEY": "k"}, "--listen", addr)
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("it did not answer after the wall stood")
	}
	stop()
}

// TestServeHosts: --host says which names are answered, as for a container whose port is published under another address.
func TestServeHosts(t *testing.T) {
	url, _, stop := startServe(t, map[string]string{"CLOCHE_KEY": "k"}, "--host", "cloche.example.com", "--host", "127.0.0.1:8844")
	for host, want := range map[string]int{"cloche.example.com": 200, "127.0.0.1:8844": 200, "evil.example.com": 421, "127.0.0.1:8845": 421} {
		r, err := http.NewRequest("GET", url+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("host %s: %d, want %d", host, res.StatusCode, want)
		}
	}
	stop()
}

// TestKey: what cloche key prints is a secret and the hash of it.
func TestKey(t *testing.T) {
	var out bytes.Buffer
	if code := doMain(context.Background(), []string{"key"}, stdio{strings.NewReader(""), &out, io.Discard}, os.Getenv); code != 0 {
		t.Fatal(code)
	}
	m := regexp.MustCompile(`client: (\S+)\n\[keys\.NAME\]\nhash = "(\S+)"\n`).FindStringSubmatch(out.String())
	if m == nil || web.HashKey(m[1]).String() != m[2] {
		t.Errorf("it prints %s", out.String())
	}
}
