package workers

import (
	"bytes"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/web"
)

// TestNewsOfRuns: what a worker tells of runs is heard, programs as far as they are wanted.
func TestNewsOfRuns(t *testing.T) {
	ran := func(code string, calls ...hostfuncs.ToolCall) web.Ran {
		return web.Ran{Record: web.AuditRecord{ID: "run_1", Language: "python", Status: "ok", Code: code, ToolCalls: calls}}
	}
	program := strings.Repeat("# long\n", 1<<20)
	tooMuch := hostfuncs.ToolCall{Name: strings.Repeat("x", maxNews)}
	for name, c := range map[string]struct {
		told, with, without web.Ran
	}{
		"short":         {ran("1"), ran("1"), ran("")},
		"none":          {ran(""), ran(""), ran("")},
		"long program":  {ran(program), ran(program), ran("")},
		"too long":      {ran(strings.Repeat("x", maxCode)), ran(""), ran("")},
		"calls":         {ran("1", hostfuncs.ToolCall{Name: "a"}), ran("1", hostfuncs.ToolCall{Name: "a"}), ran("", hostfuncs.ToolCall{Name: "a"})},
		"too long call": {ran("1", tooMuch), ran("1"), ran("")},
	} {
		for _, wantCode := range []bool{true, false} {
			told := c.told
			want := c.with
			if !wantCode {
				want = c.without
				told.Record.Code = "" // as a worker does
			}
			b, err := lines(told)
			if err != nil {
				t.Fatal(err)
			}
			var got []web.Ran
			err = hear(bytes.NewReader(append(b, b...)), wantCode, func(n news) { got = append(got, *n.Ran) })
			if err != nil || len(got) != 2 || !reflect.DeepEqual(got[0], want) || !reflect.DeepEqual(got[1], want) {
				t.Errorf("%s, programs wanted %t: %d runs were heard, or others (%v)", name, wantCode, len(got), err)
			}
		}
	}
}

// TestNewsOfNobody: a worker that was taken over does not make the front hold more than it says.
func TestNewsOfNobody(t *testing.T) {
	const size = 40 << 20
	for name, line := range map[string]string{
		"calls":    `{"ran":{"record":{"http_requests":[{}` + strings.Repeat(",{}", size/3) + "]}}}\n",
		"counts":   `{"ran":{"tools":{"":1` + strings.Repeat(`,"":1`, size/5) + "}}}\n",
		"program":  `{"code":"1","ran":{"record":{"tool_calls":[{}` + strings.Repeat(",{}", size/3) + "]}}}\n",
		"only one": `{"code":"1","ran":{"record":{"language":"python","status":"ok","code":"2"}}}` + "\n",
	} {
		for _, wantCode := range []bool{true, false} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_ = hear(strings.NewReader(line), wantCode, func(news) { t.Errorf("%s: something was heard", name) })
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 5*size {
				t.Errorf("%s, programs wanted %t: %d MiB were allocated for a line of %d", name, wantCode, got>>20, len(line)>>20)
			}
		}
	}
}
