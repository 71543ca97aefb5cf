package runtimes

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

type file struct{ path, text string }

func zipOf(t *testing.T, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range files {
		w, err := z.Create(f.path)
		if err == nil {
			_, err = w.Write([]byte(f.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tgzOf(t *testing.T, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.path, Typeflag: tar.TypeReg, Size: int64(len(f.text)), Mode: 0o777}
		if link, ok := strings.CutPrefix(f.text, "-> "); ok {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, link, 0
		}
		err := w.WriteHeader(h)
		if err == nil && h.Size > 0 {
			_, err = w.Write([]byte(f.text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// pin describes an archive with its members as a lock file would.
func pin(ecosystem, name string, archive []byte, members ...file) Artifact {
	a := Artifact{Name: "thing", Ecosystem: ecosystem, Package: "a-package", Version: "1.2.3", File: name,
		Bytes: int64(len(archive)), SHA256: sum(archive), Licence: "MIT"}
	for _, m := range members {
		a.Members = append(a.Members, Member{Path: m.path, Bytes: int64(len(m.text)), SHA256: sum([]byte(m.text))})
	}
	return a
}

// fakeClients puts a python3 and an npm into PATH that hand out archive, and returns the file to which they
// write their arguments.
func fakeClients(t *testing.T, archive []byte) (log string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake clients are shell scripts")
	}
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	archiveFile := filepath.Join(dir, "archive")
	if err := os.WriteFile(archiveFile, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, option := range map[string]string{"python3": "--dest", "npm": "--pack-destination"} {
		script := fmt.Sprintf(`#!/bin/sh
case "$*" in *--version*) exit 0;; esac
echo "%s $*" >>'%s'
while [ "$1" != %s ]; do shift; done
/bin/cat '%s' >"$2/whatever-it-is-called"
`, name, log, option, archiveFile)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return log
}

func tempCache(t *testing.T) *Cache {
	t.Helper()
	c, err := OpenCache(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

var someFiles = []file{{"pkg/readme", "not wanted"}, {"pkg/a.wasm", "module"}, {"pkg/LICENSE", "free"}}

func TestFetch(t *testing.T) {
	for _, c := range []struct {
		ecosystem, name string
		archive         []byte
		command         string
	}{
		{"pypi", "thing.whl", zipOf(t, someFiles...), "python3 -m pip download --no-deps --only-binary :all: " +
			"--disable-pip-version-check --no-input --quiet --dest DIR a-package==1.2.3"},
		{"npm", "thing.tgz", tgzOf(t, someFiles...), "npm pack --ignore-scripts --loglevel=error --pack-destination DIR a-package@1.2.3"},
	} {
		t.Run(c.ecosystem, func(t *testing.T) {
			log := fakeClients(t, c.archive)
			cache := tempCache(t)
			a := pin(c.ecosystem, c.name, c.archive, someFiles[1:]...)
			dir, err := cache.artifact(t.Context(), a, Silent{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range someFiles[1:] {
				b, err := os.ReadFile(filepath.Join(dir, filepath.Base(f.path)))
				if err != nil || string(b) != f.text {
					t.Errorf("%s: %q, %v", f.path, b, err)
				}
			}
			files, err := os.ReadDir(dir)
			if err != nil || len(files) != 3 { // two members and the manifest
				t.Errorf("%v, %v", files, err)
			}
			if _, err := cache.artifact(t.Context(), a, Silent{}); err != nil {
				t.Error(err)
			}
			got, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			// One line: the second time nothing was fetched.
			words := strings.Fields(string(got))
			for i, w := range words {
				if strings.HasPrefix(w, cache.Dir()) {
					words[i] = "DIR"
				}
			}
			if line := strings.Join(words, " "); line != c.command {
				t.Errorf("commands\n%s\nwant\n%s", line, c.command)
			}
		})
	}
}

func TestFetchRefusesWhatIsNotPinned(t *testing.T) {
	good := tgzOf(t, someFiles...)
	for _, c := range []struct {
		name    string
		archive []byte
		change  func(*Artifact)
		want    string
	}{
		{"another archive of the same size", append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1), func(*Artifact) {},
			"unpack thing.tgz: thing.tgz is not the pinned file: its sha256 is SUM, artifacts.lock says SUM"},
		{"an archive that is no archive", []byte("it would not even open"), func(*Artifact) {},
			"unpack thing.tgz: thing.tgz is not the pinned file: its sha256 is SUM, artifacts.lock says SUM"},
		{"a longer archive", append(bytes.Clone(good), 0), func(*Artifact) {},
			fmt.Sprintf("unpack thing.tgz: thing.tgz is longer than the %d bytes that artifacts.lock says", len(good))},
		{"another member", good, func(a *Artifact) { a.Members[0].SHA256 = sum([]byte("modulE")) },
			"unpack thing.tgz: member pkg/a.wasm is not the pinned file: its sha256 is SUM, artifacts.lock says SUM"},
		{"a larger member", good, func(a *Artifact) { a.Members[0].Bytes-- },
			"unpack thing.tgz: member pkg/a.wasm has 6 bytes, artifacts.lock says 5"},
		{"a missing member", good, func(a *Artifact) { a.Members[0].Path = "pkg/b.wasm" },
			"unpack thing.tgz: there is no member pkg/b.wasm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fakeClients(t, c.archive)
			a := pin("npm", "thing.tgz", good, someFiles[1:]...)
			c.change(&a)
			cache := tempCache(t)
			_, err := cache.artifact(t.Context(), a, Silent{})
			if got := anySum(err); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			entries, err := cache.Entries()
			if err != nil || len(entries) != 0 {
				t.Errorf("entries %v, %v", entries, err)
			}
			if left, _ := filepath.Glob(filepath.Join(cache.Dir(), ".tmp-*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// anySum is the text of err with each hash replaced by SUM.
func anySum(err error) string {
	if err == nil {
		return ""
	}
	words := strings.Split(err.Error(), " ")
	for i, w := range words {
		if h := strings.TrimSuffix(w, ","); len(h) == 64 {
			words[i] = "SUM" + w[64:]
		}
	}
	return strings.Join(words, " ")
}

func TestArchiveMembersMustBeRegularFiles(t *testing.T) {
	archive := tgzOf(t, file{"pkg/a.wasm", "-> /etc/passwd"})
	fakeClients(t, archive)
	a := pin("npm", "thing.tgz", archive, file{"pkg/a.wasm", "module"})
	_, err := tempCache(t).artifact(t.Context(), a, Silent{})
	if err == nil || err.Error() != "unpack thing.tgz: there is no member pkg/a.wasm" {
		t.Errorf("got %v", err)
	}
}

func script(t *testing.T, name, text string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake clients are shell scripts")
	}
	dir := t.TempDir()
	if text != "" {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestMissingClient(t *testing.T) {
	for _, c := range []struct{ name, ecosystem, program, text, want string }{
		{"no python", "pypi", "python3", "", "fetch a-package 1.2.3: pip client is missing: there is no python3 in PATH; install Python 3 with pip " +
			"(Debian and Ubuntu: apt install python3-pip; Fedora: dnf install python3-pip; macOS: brew install python)"},
		{"python without pip", "pypi", "python3", "exit 1", "fetch a-package 1.2.3: pip client is missing: python3 has no module pip; install it " +
			"(Debian and Ubuntu: apt install python3-pip; Fedora: dnf install python3-pip; elsewhere: python3 -m ensurepip --user)"},
		{"no npm", "npm", "npm", "", "fetch a-package 1.2.3: npm client is missing: there is no npm in PATH; install Node.js, which brings it " +
			"(Debian and Ubuntu: apt install npm; Fedora: dnf install npm; macOS: brew install node)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			script(t, c.program, c.text)
			_, err := tempCache(t).artifact(t.Context(), pin(c.ecosystem, "thing.tgz", []byte("x"), file{"a", "b"}), Silent{})
			if !errors.Is(err, ErrNoClient) || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestClientThatFails(t *testing.T) {
	script(t, "npm", "echo first >&2; echo 'connect ETIMEDOUT' >&2; exit 7")
	_, err := tempCache(t).artifact(t.Context(), pin("npm", "thing.tgz", []byte("x"), file{"a", "b"}), Silent{})
	const want = "fetch a-package 1.2.3: npm: exit status 7; check the network, and that npm's registry " +
		"(or the mirror that is set up for it) can be reached; it said:\nfirst\nconnect ETIMEDOUT"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestClientThatLeavesNothing(t *testing.T) {
	script(t, "npm", "exit 0")
	_, err := tempCache(t).artifact(t.Context(), pin("npm", "thing.tgz", []byte("x"), file{"a", "b"}), Silent{})
	if err == nil || err.Error() != "fetch a-package 1.2.3: npm left 0 files, expected an archive for each of 1 packages" {
		t.Errorf("got %v", err)
	}
}

func TestFetchIsCancelled(t *testing.T) {
	script(t, "npm", "exec /bin/sleep 60")
	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("user left")
	time.AfterFunc(200*time.Millisecond, func() { cancel(left) })
	start := time.Now()
	cache := tempCache(t)
	_, err := cache.artifact(ctx, pin("npm", "thing.tgz", []byte("x"), file{"a", "b"}), Silent{})
	if !errors.Is(err, left) || time.Since(start) > 30*time.Second {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
	if entries, err := cache.Entries(); err != nil || len(entries) != 0 {
		t.Errorf("entries %v, %v", entries, err)
	}
}

func TestOpenArtifactFromLock(t *testing.T) {
	artifacts := Artifacts()
	if len(artifacts) == 0 {
		t.Fatal("artifacts.lock is empty")
	}
	for _, a := range artifacts {
		got, err := LookupArtifact(a.Name)
		if err != nil || got.Key() != a.Key() {
			t.Errorf("%s: %v, %v", a.Name, got, err)
		}
	}
	if _, err := LookupArtifact("perl"); err == nil || err.Error() != `artifact "perl" is not in artifacts.lock` {
		t.Errorf("got %v", err)
	}
}

func TestKeyOfArtifactCoversEveryPin(t *testing.T) {
	a := pin("npm", "thing.tgz", []byte("x"), file{"a", "b"})
	keys := map[string]string{a.Key(): "nothing"}
	for what, change := range map[string]func(*Artifact){
		"version":     func(a *Artifact) { a.Version = "1.2.4" },
		"hash":        func(a *Artifact) { a.SHA256 = sum([]byte("y")) },
		"member":      func(a *Artifact) { a.Members[0].Path = "c" },
		"member hash": func(a *Artifact) { a.Members[0].SHA256 = sum([]byte("y")) },
	} {
		b := a
		b.Members = append([]Member(nil), a.Members...)
		change(&b)
		if other, ok := keys[b.Key()]; ok {
			t.Errorf("changing %s gives the key of changing %s", what, other)
		}
		keys[b.Key()] = what
	}
}

func TestParseLock(t *testing.T) {
	const hash = "0d69d0f4971d2ff574e3d93cbc218dc950bf3f3f8f8e2c008d97687ed53aee59"
	valid := fmt.Sprintf(`format = 1
[[artifact]]
name = "a"
ecosystem = "npm"
package = "p"
version = "1"
file = "p-1.tgz"
bytes = 10
sha256 = %q
licence = "MIT"
[[artifact.member]]
path = "package/m"
bytes = 5
sha256 = %q
`, hash, hash)
	for _, c := range []struct{ name, old, new, want string }{
		{"valid", "", "", ""},
		{"format", "format = 1", "format = 2", "artifacts.lock: has format 2, this program reads format 1"},
		{"unknown key", `licence = "MIT"`, "licence = 'MIT'\nsha512 = ''", "artifacts.lock: unknown key artifact.sha512"},
		{"no version", `version = "1"`, "", `artifacts.lock: artifact "a": version is missing`},
		{"option as package", `package = "p"`, `package = "--p"`, `artifacts.lock: artifact "a": package "--p" is not allowed`},
		{"ecosystem", `"npm"`, `"cpan"`, `artifacts.lock: artifact "a": ecosystem "cpan" is unknown: there are pypi and npm`},
		{"kind of file", `p-1.tgz`, `p-1.exe`, `artifacts.lock: artifact "a": file "p-1.exe" is neither a wheel (.whl) nor a .tgz`},
		{"size", "bytes = 10", "bytes = 0", `artifacts.lock: artifact "a": archive has 0 bytes, must be 1 to 1073741824`},
		{"hash", `sha256 = "0d`, `sha256 = "XX`, `artifacts.lock: artifact "a": archive has sha256 "XX` + hash[2:] + `", must be 64 hexadecimal digits in lower case`},
		{"member path", "package/m", "/package/m", `artifacts.lock: artifact "a": member path "/package/m" is not a clean relative path`},
		{"no member", valid[strings.Index(valid, "[[artifact.member"):], "", `artifacts.lock: artifact "a": no member is named`},
		{"syntax", "format", "format format", `artifacts.lock: toml: line 1: expected '.' or '=', but got 'f' instead`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseLock(strings.Replace(valid, c.old, c.new, 1))
			if got := fmt.Sprint(err); (c.want == "" && err != nil) || (c.want != "" && got != c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("twice", func(t *testing.T) {
		second := valid[strings.Index(valid, "[[artifact]]"):]
		if _, err := parseLock(valid + second); err == nil || err.Error() != `artifacts.lock: artifact "a" is there twice` {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzParseLock(f *testing.F) {
	f.Add(lockTOML)
	f.Add("format = 1\n[[artifact]]\nname='a'\n[[artifact.member]]\npath='../x'")
	f.Fuzz(func(t *testing.T, text string) {
		artifacts, err := parseLock(text)
		if err != nil {
			return
		}
		for _, a := range artifacts {
			for _, m := range a.Members {
				if !fs.ValidPath(m.Path) || strings.Contains(m.Base(), "/") {
					t.Errorf("accepted member path %q", m.Path)
				}
			}
			if strings.HasPrefix(a.Package, "-") || strings.HasPrefix(a.Version, "-") {
				t.Errorf("accepted an option as package %q %q", a.Package, a.Version)
			}
		}
	})
}
