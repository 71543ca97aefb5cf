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

// badEnds are the errors by which a library says how an answer ended.
var badEnds = map[string]map[string]string{
	"urllib.request.urlopen(u, timeout=60).read()": {
		fetchtest.Slow: "TimeoutError", fetchtest.Cut: "RemoteDisconnected|IncompleteRead", fetchtest.Malformed: "BadStatusLine|IncompleteRead",
		fetchtest.Refused: "ConnectionError|HTTPError", fetchtest.Denied: "PermissionError|OSError",
	},
	"plain(u)": {
		fetchtest.Slow: "TimeoutError", fetchtest.Cut: "RemoteDisconnected|IncompleteRead", fetchtest.Malformed: "BadStatusLine|IncompleteRead",
		fetchtest.Refused: "ConnectionError|", fetchtest.Denied: "",
	},
	"requests.get(u, timeout=60).content": {
		fetchtest.Slow: "ReadTimeout|ConnectionError", fetchtest.Cut: "ConnectionError|ChunkedEncodingError", fetchtest.Malformed: "ConnectionError|ChunkedEncodingError",
		fetchtest.Refused: "ConnectionError|ChunkedEncodingError|TooManyRedirects", fetchtest.Denied: "ConnectionError",
	},
	"httpx.get(u, timeout=60, follow_redirects=True).content": {
		fetchtest.Slow: "ReadTimeout", fetchtest.Cut: "RemoteProtocolError", fetchtest.Malformed: "RemoteProtocolError",
		fetchtest.Refused: "ReadError|TooManyRedirects", fetchtest.Denied: "ReadError",
	},
	"asyncio.run(later(u))": {
		fetchtest.Slow: "ReadTimeout", fetchtest.Cut: "RemoteProtocolError", fetchtest.Malformed: "RemoteProtocolError",
		fetchtest.Refused: "ReadError|TooManyRedirects", fetchtest.Denied: "ReadError",
	},
	"fetch": {
		fetchtest.Slow: "TypeError TimeoutError ETIMEDOUT", fetchtest.Cut: "TypeError ConnectionResetError ECONNRESET",
		fetchtest.Malformed: "TypeError ProtocolError HPE_INVALID_CONSTANT", fetchtest.Refused: "TypeError ConnectionError ECONNABORTED",
		fetchtest.Denied: "TypeError PermissionError EACCES",
	},
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
			checkEnd(t, client, badEnds[client], a, rows[i])
		}
	}
	var wg sync.WaitGroup
	for client := range badEnds {
		wg.Go(func() { ask(client, quick, time.Minute) })
		wg.Go(func() { ask(client, slow, 500*time.Millisecond) })
	}
	wg.Wait()
}

// checkEnd looks at what a client made of an answer: its name, the body and the error.
func checkEnd(t *testing.T, client string, kinds map[string]string, a fetchtest.Answer, row string) {
	var got [3]string
	if err := json.Unmarshal([]byte(row), &got); err != nil {
		t.Fatalf("%s: %q: %v", client, row, err)
	}
	kind, _, _ := strings.Cut(a.Want, ":")
	want, fails := kinds[kind]
	switch coded := strings.Contains(a.Name, "gzip") || strings.Contains(a.Name, "deflate"); {
	case client != "fetch" && (coded && kind != fetchtest.Slow || a.Name == "redirect-body-endless"): // Python's clients read these themselves, or do not
	case fails && !regexp.MustCompile("^("+want+")$").MatchString(got[2]):
		t.Errorf("%s: %s: ended with %q, want %q", client, a.Name, got[2], want)
	case !fails && got[2] != "" && got[2] != "HTTPError" && !strings.HasPrefix(got[2], "TooManyRedirects"):
		t.Errorf("%s: %s: failed with %q", client, a.Name, got[2])
	case !fails && got[2] == "" && got[1] != a.Want && (!coded || client == "fetch") && a.Name != "body-of-205":
		t.Errorf("%s: %s: the body is %.100q, want %q", client, a.Name, got[1], a.Want)
	}
}
