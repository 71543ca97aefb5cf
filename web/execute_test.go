package web_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
	"github.com/cloche-dev/cloche/web"
)

func TestExecute(t *testing.T) {
	s := serve(t, nil)
	res := s.run(object{"code": "import sys\nprint(name, n, sys.argv[1:], input())\nprint('no', file=sys.stderr)\nn * 2",
		"inputs": object{"name": "Ann", "n": 21}, "args": []string{"-v"}, "stdin": "typed\n"}, "ok")
	if res.Stdout != "Ann 21 ['-v'] typed\n" || res.Stderr != "no\n" || res.Language != "python" || res.Results[0].Data["text/plain"] != "42" {
		t.Errorf("%+v", res)
	}
	for lang, code := range map[string]string{"javascript": "console.log(6*7)", "typescript": "const n: number = 42; console.log(n)"} {
		if res := s.run(object{"language": lang, "code": code}, "ok"); res.Stdout != "42\n" || res.Language != lang {
			t.Errorf("%+v", res)
		}
	}
	if res := s.run(object{"code": "\n1/0"}, "error"); res.ExitCode != 1 || res.Error.Name != "ZeroDivisionError" || res.Error.Line != 2 {
		t.Errorf("%+v", res)
	}
	if res := s.run(object{"code": "import os\nprint(sorted(os.environ))", "env": object{"MINE": "1"}}, "ok"); !strings.Contains(res.Stdout, "MINE") || strings.Contains(res.Stdout, "CLOCHE") {
		t.Errorf("environment %s", res.Stdout)
	}
	a, b := s.run(object{"code": "import random; random.random()", "seed": 7}, "ok"), s.run(object{"code": "import random; random.random()", "seed": 7}, "ok")
	if a.Results[0].Data["text/plain"] != b.Results[0].Data["text/plain"] || a.ID == b.ID {
		t.Errorf("%+v %+v", a, b)
	}
}

func TestExecuteFiles(t *testing.T) {
	s := serve(t, nil)
	code := `
import os
print(open("in/a.txt").read(), open("b.bin","rb").read())
os.makedirs("out/deep"); open("out/deep/x.csv","w").write("1,2"); open("y.csv","w").write("3")
open("out/z.bin","wb").write(bytes([255,0])); open("/tmp/t.csv","w").write("t")
`
	res := s.run(object{"code": code, "files": []object{
		{"path": "in/a.txt", "content": "hé"}, {"path": "b.bin", "content_base64": base64.StdEncoding.EncodeToString([]byte{0, 255})},
	}, "collect": []string{"**/*.csv", "out/*.bin", "/tmp/*", "none/*"}}, "ok")
	if res.Stdout != "hé b'\\x00\\xff'\n" {
		t.Errorf("stdout %q", res.Stdout)
	}
	got := ""
	for _, f := range res.Files {
		if f.Content != nil {
			got += f.Path + "=" + *f.Content + " "
		} else {
			got += f.Path + "=b64:" + *f.ContentBase64 + " "
		}
	}
	if got != "/data/out/deep/x.csv=1,2 /data/out/z.bin=b64:/wA= /data/y.csv=3 /tmp/t.csv=t " {
		t.Errorf("collected %s", got)
	}
}

func TestLimits(t *testing.T) {
	s := serve(t, func(c *web.Config) {
		c.Keys[0].Policy.Max = limits.Limits{MemoryBytes: 1 << 30, Fuel: 2e12}
	})
	if res := s.run(object{"code": "while True: pass", "limits": object{"timeout_ms": 100}}, "timeout"); res.ExitCode != 124 || res.Usage.WallMS > 20_000 { // 30 s are the default
		t.Errorf("%+v", res)
	}
	s.run(object{"code": "while True: pass", "limits": object{"fuel": 100_000_000}}, "out_of_fuel")
	s.run(object{"code": "x = bytearray(900<<20)", "limits": object{"memory_bytes": 300 << 20}}, "out_of_memory")
	if res := s.run(object{"code": "print('x'*1000)", "limits": object{"output_bytes": 10}}, "ok"); res.Stdout != "xxxxxxxxxx" {
		t.Errorf("%+v", res)
	}
	s.run(object{"code": "open('f','wb').write(bytes(2<<20))", "limits": object{"disk_bytes": 1 << 20}}, "error")
	for _, c := range []struct {
		limits object
		text   string
	}{
		{object{"memory_bytes": uint64(2) << 30}, "may ask for 1073741824 at most"},
		{object{"fuel": uint64(3e12)}, "limits.fuel"},
		{object{"timeout_ms": 0}, "limits.timeout_ms is 0, must be 1 or more"},
		{object{"timeout_ms": uint64(1) << 63}, "must be from 1ms to 24h"},
		{object{"memory_bytes": 1 << 20}, "memory"},
		{object{"timeout_ms": -1}, "timeout_ms must be a whole number from 0"},
		{object{"timeout_ms": "1s"}, "timeout_ms must be a whole number from 0 to 18446744073709551615, not a string"},
		{object{"timeout_s": 1}, `unknown field "limits.timeout_s": there are disk_bytes, fuel, memory_bytes, output_bytes, timeout_ms`},
	} {
		s.do("POST", "/v1/execute", object{"code": "1", "limits": c.limits}).mustFail(400, "invalid_request", c.text)
		s.do("POST", "/v1/execute", object{"code": "1", "limits": c.limits}, "Accept: text/event-stream").mustFail(400, "invalid_request", c.text)
	}
}

func TestInputsOfEitherLanguage(t *testing.T) {
	s := serve(t, nil)
	body := object{"language": "javascript", "code": "console.log($y + ñ)", "inputs": object{"$y": 1, "ñ": 2}}
	for accept, kind := range map[string]string{
		"text/event-stream;q=0, application/x-ndjson;q=0.0": "application/json",
		"text/event-stream;q=0, application/x-ndjson;q=0.1": "application/x-ndjson",
	} {
		r := s.do("POST", "/v1/execute", body, "Accept: "+accept).must(200, nil)
		if !strings.HasPrefix(r.header.Get("Content-Type"), kind) || !strings.Contains(string(r.body), `3\n`) {
			t.Errorf("%s: %v %s", accept, r.header, r.body)
		}
	}
}

func TestBadRequests(t *testing.T) {
	s := serve(t, func(c *web.Config) { c.MaxBodyBytes = 4096 })
	for _, c := range []struct {
		body   any
		status int
		code   string
		text   string
	}{
		{`{"code":"1"}`, 415, "unsupported_media_type", "application/json"},
		{object{"code": "1", "colour": "red"}, 400, "invalid_request", `unknown field "colour": there are args, autopsy_s, code, collect, `},
		{object{"Code": "1"}, 400, "invalid_request", `unknown field "Code"`},
		{object{"code": 1}, 400, "invalid_request", "code must be a string, not a number"},
		{object{"language": "ruby", "code": "1"}, 400, "invalid_request", "use python, javascript or typescript"},
		{[]int{1}, 400, "invalid_request", "the body must be an object, not a list"},
		{object{"code": "1", "files": []object{{"path": "a"}}}, 400, "invalid_request", "neither content nor content_base64"},
		{object{"code": "1", "files": []object{{"path": "a", "content_base64": "!"}}}, 400, "invalid_request", "not base64"},
		{object{"code": "1", "files": []object{{"path": "a/", "content": "!"}}}, 400, "invalid_request", "must name a file"},
		{object{"code": "1", "files": []object{{"path": "a", "content": ""}, {"path": "./a", "content": ""}}}, 400, "invalid_request", "given twice"},
		{object{"code": "1", "env": object{"A=B": "c"}}, 400, "invalid_request", "env"},
		{object{"code": "1", "inputs": object{"not a name": 1}}, 400, "invalid_request", "no program can have such a name"},
		{object{"code": "1", "collect": []string{strings.Repeat("a", 2000)}}, 400, "invalid_request", "a pattern may have"},
		{object{"code": "import os\nfor n in range(300): os.makedirs(f'{n}/' + 'a/' * 99)", "collect": []string{strings.Repeat("**/a/", 50) + "b"}}, 413, "too_large", "too many parts"},
		{object{"code": "1", "collect": []string{"[a"}}, 400, "invalid_request", "collect[0]"},
		{object{"code": "1", "name": "../x.py"}, 400, "invalid_request", "plain file name"},
		{object{"code": strings.Repeat("x", 5000)}, 413, "too_large", "larger than 4096 bytes"},
	} {
		s.do("POST", "/v1/execute", c.body).mustFail(c.status, c.code, c.text)
	}
	for body, text := range map[string]string{
		"":                            "empty",
		"\ufeff{}":                    "byte order mark",
		`{"code":"1"`:                 "too early",
		`{"code":"1"} {}`:             "there is more",
		"{\n \"code\": x}":            "line 2, column 10",
		`{"code":"1","code":"2"}`:     `"code" is there twice`,
		`{"code":"1","c\u006fde":""}`: `"code" is there twice`,
		`{"code":"1","limits":{"fuel":1000000000,"Fuel":2}}`:          `unknown field "limits.Fuel"`,
		`{"code":"1","files":[{"path":"a","Path":"b","content":""}]}`: `unknown field "files[0].Path"`,
		`{"code":"1","env":{"A":"1","A":"2"}}`:                        `"env.A" is there twice`,
		`{"code":"1","inputs":{"a":[{"b":1,"b":2}]}}`:                 `"inputs.a[0].b" is there twice`,
		`{"code":"'\ud83d'"}`:                                         `"code" holds half of a surrogate pair`,
		`{"code":"1","args":["\\\ude00"]}`:                            `"args[0]" holds half of a surrogate pair`,
		`{"code":"1","env":{"A":"\uD83D\uD83D\uDE00"}}`:               `"env.A" holds half of a surrogate pair`,
		`{"code":"1","limits":{"timeout_ms":1.5}}`:                    "limits.timeout_ms must be a whole number from 0 to 18446744073709551615, not 1.5",
		`{"code":"1","seed":-1}`:                                      "seed must be a whole number from 0 to 18446744073709551615, not -1",
		`{"code":"1","autopsy_s":1e400}`:                              "autopsy_s must be a number, not 1e400",
		`{"code":"1","args":["a",1]}`:                                 "each of args must be a string, not a number",
		`{"code":"1","args":{}}`:                                      "args must be a list, not an object",
		`{"code":"1","env":{"A":true}}`:                               "each of env must be a string, not true or false",
		`{"code":"1","mailbox":{"a":1}}`:                              "each of mailbox must be a string",
		`{"code":"1","files":["a"]}`:                                  "each of files must be an object, not a string",
		`{"code":"1","args":["a",null]}`:                              `"args[1]" is null, which cannot be an element`,
		`{"code":"1","env":{"A":null}}`:                               `"env.A" is null, which cannot be an element of a list, or the value of a name`,
		`{"code":"1","files":[null]}`:                                 `"files[0]" is null`,
		`{"code":"1","files":[{"path":"a","content":""},{"path":"/data/b/../a","content":""}]}`: `files[0] and files[1]: "/data/a" is given twice`,
		"{\"code\":\"print('\xff')\"}": "not UTF-8",
		`{"code":"1","inputs":{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`: "nested more than",
	} {
		s.do("POST", "/v1/execute", body, "Content-Type: application/json").mustFail(400, "invalid_request", text)
	}
	// Names that are the client's own may differ in case only.
	s.do("POST", "/v1/execute", `{"code":"'\uD83D\ude00' '\\ud83d'","inputs":{"raw":"\ud83d"},"stdin":"\u00e9\\"}`, "Content-Type: application/json").must(200, nil)
	s.do("POST", "/v1/execute", `{"code":"1","env":{"A":"1","a":"2"},"inputs":{"b":[{"C":1,"c":2}],"n":null,"l":[null]},"stdin":null}`, "Content-Type: application/json").must(200, nil)
	for path, text := range map[string]string{
		"/v1/sessions?limit=1":            `unknown query parameter "limit": there are none here`,
		"/v1/audit?sesion_id=x&limit=1":   `unknown query parameter "sesion_id": there are limit, since, key, status, session_id, language`,
		"/v1/audit?limit=1&limit=2":       `"limit" is there twice`,
		"/v1/audit?limit=%zz":             `"limit=%zz" is not well escaped`,
		"/v1/sessions/none/files?Path=/x": `unknown query parameter "Path": there are path`,
	} {
		s.do("GET", path, nil).mustFail(400, "invalid_request", text)
	}
	s.do("POST", "/v1/execute", object{"code": "1"}, "Content-Encoding: gzip").mustFail(415, "unsupported_media_type", "Content-Encoding")
	s.do("GET", "/v1/execute", nil).mustFail(405, "method_not_allowed", "method")
	s.do("GET", "/v1/nothing", nil).mustFail(404, "not_found", "no such route")
	s.do("GET", "/v1/executions/run_x", nil).mustFail(404, "not_found", "run_x")
}

func TestReceipt(t *testing.T) {
	s := serve(t, nil)
	body := object{"code": "import random, time\nprint(random.random(), time.time(), n)", "inputs": object{"n": 1}, "files": []object{{"path": "a", "content": "x"}}, "receipt": true}
	var res struct {
		Status  string          `json:"status"`
		Receipt json.RawMessage `json:"receipt"`
	}
	s.do("POST", "/v1/execute", body).must(200, &res)
	rec, err := engine.ReadReceipt(bytes.NewReader(res.Receipt))
	if err != nil {
		t.Fatal(err)
	}
	eng, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := eng.Replay(t.Context(), rec); err != nil || !again.Same {
		t.Errorf("%+v, %v", again, err)
	}
	var snapshot web.SnapshotInfo
	s.do("POST", s.session(object{})+"/snapshots", object{}).must(201, &snapshot)
	body["snapshot"] = snapshot.ID
	if r := s.do("POST", "/v1/execute", body); r.status != 400 || !strings.Contains(string(r.body), "has no receipt") {
		t.Errorf("%d %s", r.status, r.body)
	}
}
