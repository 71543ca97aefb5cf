package engine_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/hostfuncs/fetch/fetchtest"
)

// badEnds are the errors by which a library says how an answer ended, by the kind of the answer, that with what goes wrong in the
// body, or its name; none at all is "". For Python they were compared with CPython and the same libraries outside of a sandbox: they
// are the same but where the host is stricter (what it finds malformed is not HTTP, or breaks off) or refuses to go on.
var badEnds = map[string]map[string]string{
	"urllib.request.urlopen(u, timeout=60).read()": {
		fetchtest.Slow: "TimeoutError", fetchtest.Cut: "RemoteDisconnected", fetchtest.Cut + inBody: "IncompleteRead",
		fetchtest.Malformed: "BadStatusLine", fetchtest.Malformed + inBody: "IncompleteRead", fetchtest.Refused: "ConnectionError",
		fetchtest.Denied: "PermissionError", "redirect-long": "OSError", "redirect-loop-again": "HTTPError", "redirect-body-endless": "ConnectionError",
	},
	"plain(u)": {
		fetchtest.Slow: "TimeoutError", fetchtest.Cut: "RemoteDisconnected", fetchtest.Cut + inBody: "IncompleteRead",
		fetchtest.Malformed: "BadStatusLine", fetchtest.Malformed + inBody: "IncompleteRead", fetchtest.Refused: "ConnectionError",
		fetchtest.Denied: "", "redirect-loop-again": "", "redirect-body-endless": "ConnectionError",
	},
	"requests.get(u, timeout=60).content": {
		fetchtest.Slow: "ReadTimeout", fetchtest.Slow + inBody: "ConnectionError", fetchtest.Cut: "ConnectionError", fetchtest.Cut + inBody: "ChunkedEncodingError",
		fetchtest.Malformed: "ConnectionError", fetchtest.Malformed + inBody: "ChunkedEncodingError",
		fetchtest.Refused: "ConnectionError", fetchtest.Refused + inBody: "ChunkedEncodingError",
		fetchtest.Denied: "ConnectionError", "redirect-loop-again": "TooManyRedirects", "redirect-body-endless": "",
		"gzip-none": "ContentDecodingError", "gzip-six-times": "ContentDecodingError", "gzip-in-brotli": "ContentDecodingError", "gzip-in-deflate": "ContentDecodingError",
	},
	"httpx.get(u, timeout=60, follow_redirects=True).content": httpxEnds,
	"asyncio.run(later(u))":                                   httpxEnds,
	"fetch": {
		fetchtest.Slow: "TypeError TimeoutError ETIMEDOUT", fetchtest.Cut: "TypeError ConnectionResetError ECONNRESET",
		fetchtest.Malformed: "TypeError ProtocolError HPE_INVALID_CONSTANT", fetchtest.Refused: "TypeError ConnectionError ECONNABORTED",
		fetchtest.Denied: "TypeError PermissionError EACCES",
	},
}

var httpxEnds = map[string]string{
	fetchtest.Slow: "ReadTimeout", fetchtest.Cut: "RemoteProtocolError", fetchtest.Malformed: "RemoteProtocolError", fetchtest.Refused: "ReadError",
	fetchtest.Denied: "ReadError", "redirect-loop-again": "TooManyRedirects", "redirect-empty": "TooManyRedirects", "redirect-body-endless": "ReadError",
	"gzip-none": "DecodingError", "gzip-in-brotli": "DecodingError",
}

const inBody = " in the body"

// endsInBody are the names of answers whose body goes wrong.
var endsInBody = regexp.MustCompile(`^(chunk|trailer|body-|redirect-body-|gzip-|length-(cut|large)$)`)

// badEnd is the error that a client is to end an answer with, if it is to end with one that is known.
func badEnd(client string, a fetchtest.Answer) (want string, known bool) {
	kind, _, _ := strings.Cut(a.Want, ":")
	ends := badEnds[client]
	if want, known = ends[a.Name]; known {
		return want, true
	}
	// Python's clients undo codings themselves, as leniently as each of them does.
	if coded := strings.HasPrefix(a.Name, "gzip") || strings.HasPrefix(a.Name, "deflate"); coded && client != "fetch" && kind != fetchtest.Slow {
		return "", true
	}
	if endsInBody.MatchString(a.Name) {
		if want, known = ends[kind+inBody]; known {
			return want, true
		}
	}
	want, known = ends[kind]
	return want, known
}

const askPython = `
import asyncio, http.client, urllib.request, requests, httpx, json
from urllib.parse import urlsplit
def plain(u):
    c = http.client.HTTPConnection(urlsplit(u).netloc, timeout=60)
    c.request("GET", urlsplit(u).path)
    return c.getresponse().read()
async def later(u):
    async with httpx.AsyncClient(timeout=60, follow_redirects=True) as c:
        return (await c.get(u)).content
for name in NAMES:
    u = BASE + "/" + name
    try:
        row = [name, (CLIENT)[:1000].decode("latin-1"), ""]
    except Exception as e:
        row = [name, "", type(e.reason if isinstance(getattr(e, "reason", None), Exception) else e).__name__]
    print(json.dumps(row))
`

const askJavaScript = `
for (const name of NAMES) {
  let row;
  try {
    row = [name, (await (await fetch(BASE + "/" + name)).text()).slice(0, 1000), ""];
  } catch (e) { row = [name, "", [e.name, e.cause?.name, e.cause?.code].join(" ")]; }
  console.log(JSON.stringify(row));
}`

// TestHostileServers: whatever a server answers, each library comes to an end in time, with the body or an error as its users know it.
func TestHostileServers(t *testing.T) {
	pattern, err := fetch.ParsePattern("127.0.0.1:*")
	if err != nil {
		t.Fatal(err)
	}
	// Those that are slow meet a short patience, the others one that a busy machine does not try.
	slow, quick := []fetchtest.Answer{}, []fetchtest.Answer{}
	for _, a := range fetchtest.Answers {
		if a.Want == fetchtest.Slow {
			slow = append(slow, a)
		} else {
			quick = append(quick, a)
		}
	}
	url := fetchtest.Serve(t)
	ask := func(client string, answers []fetchtest.Answer, patience time.Duration) {
		var names []string
		for _, a := range answers {
			names = append(names, a.Name)
		}
		j := engine.Job{
			Language: engine.Python, Code: strings.ReplaceAll(askPython, "CLIENT", client), Inputs: map[string]any{"BASE": url, "NAMES": names},
			Network: &fetch.Policy{Allow: []fetch.Pattern{pattern}, Limits: fetch.Limits{Timeout: patience, ResponseBytes: 1 << 20}},
		}
		if client == "fetch" {
			j.Language, j.Code = engine.JavaScript, askJavaScript
		}
		j.Limits.Timeout, j.Limits.OutputBytes = 5*time.Minute, 256<<20
		res := run(t, j)
		rows := strings.Split(strings.TrimSpace(res.Stdout), "\n")
		if res.Status != engine.StatusOK || len(rows) != len(names) {
			t.Errorf("%s: %s after %d answers: %+v", client, res.Status, len(rows), res.Error)
			return
		}
		for i, a := range answers {
			checkEnd(t, client, a, rows[i])
		}
	}
	var wg sync.WaitGroup
	for client := range badEnds {
		wg.Go(func() { ask(client, quick, time.Minute) })
	}
	wg.Wait()
	for client := range badEnds { // alone: what is to be slow in the body has to come to that in time
		wg.Go(func() { ask(client, slow, 500*time.Millisecond) })
	}
	wg.Wait()
}

// checkEnd looks at what a client made of an answer: its name, the body and the error.
func checkEnd(t *testing.T, client string, a fetchtest.Answer, row string) {
	var got [3]string
	if err := json.Unmarshal([]byte(row), &got); err != nil {
		t.Fatalf("%s: %q: %v", client, row, err)
	}
	switch want, known := badEnd(client, a); {
	case known && got[2] != want:
		t.Errorf("%s: %s: ended with %q, want %q", client, a.Name, got[2], want)
	case !known && got[2] != "" && got[2] != "HTTPError":
		t.Errorf("%s: %s: failed with %q", client, a.Name, got[2])
	case !known && got[2] == "" && got[1] != a.Want && a.Name != "body-of-205":
		t.Errorf("%s: %s: the body is %.100q, want %q", client, a.Name, got[1], a.Want)
	}
}
