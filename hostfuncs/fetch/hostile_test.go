package fetch_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/hostfuncs/fetch/fetchtest"
)

// TestHostileServers: whatever a server answers, a request ends in time, in bounded memory, and with the kind of error that it is; what the
// connection holds beyond the answer is not taken for the next one.
func TestHostileServers(t *testing.T) {
	site := fetchtest.Serve(t)
	for _, a := range fetchtest.Answers {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			patience := time.Minute // which a busy machine does not try
			if a.Want == fetchtest.Slow {
				patience = 400 * time.Millisecond
			}
			p := policy(t, "127.0.0.1:*")
			p.Limits = fetch.Limits{Timeout: patience, ResponseBytes: 1 << 20}
			g := newGuest(t, p)
			for again := range 2 {
				if again > 0 && !strings.HasSuffix(a.Name, "-again") {
					break
				}
				begin := time.Now()
				res, err := g.get(site + "/" + a.Name)
				got := fmt.Sprint(err)
				if err == nil {
					got = res.body
				}
				if !strings.HasPrefix(got, a.Want) || err == nil && got != a.Want {
					t.Errorf("got %.200q, want %q", got, a.Want)
				}
				if took := time.Since(begin); took > patience+10*time.Second {
					t.Errorf("it took %s", took)
				}
				for _, r := range g.client.Records() {
					if err != nil && r.Allowed && r.Reason == "127.0.0.1:*" && r.Status == http.StatusOK {
						t.Errorf("%v is on record as %+v", err, r)
					}
				}
			}
		})
	}
	t.Cleanup(func() { // after all of them
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.Sys > 1<<30 {
			t.Errorf("the process took %d MiB", m.Sys>>20)
		}
	})
}
