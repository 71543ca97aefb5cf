package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
)

type query struct {
	Name string `json:"name" jsonschema:"the customer's full name"`
	Max  int    `json:"max,omitempty"`
}

type row struct {
	ID   int      `json:"id"`
	Name string   `json:"name"`
	Tags []string `json:"tags,omitempty"`
}

// tools offers one of each kind of tool.
func tools(t testing.TB) *hostfuncs.Registry {
	t.Helper()
	reg := &hostfuncs.Registry{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(hostfuncs.Register(reg, "lookup", func(_ context.Context, q query) (row, error) {
		if q.Name == "Nobody" {
			return row{}, hostfuncs.Refuse("KeyError", "no customer %s", q.Name)
		}
		return row{ID: 7 + q.Max, Name: q.Name}, nil
	}, hostfuncs.Description("Find a customer.\nThe name must be exact.")))
	var came atomic.Int64
	all := make(chan struct{})
	must(hostfuncs.Register(reg, "slow", func(ctx context.Context, in struct {
		MS     int   `json:"ms"`
		Beside int64 `json:"beside,omitempty"` // so many calls return, once they are there at the same time
	}) (int, error) {
		if in.Beside > 0 {
			if came.Add(1) == in.Beside {
				close(all)
			}
			select {
			case <-all:
				return in.MS, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		select {
		case <-time.After(time.Duration(max(in.MS, -in.MS)) * time.Millisecond):
			if in.MS < 0 {
				return 0, hostfuncs.Refuse("RangeError", "less than no time")
			}
			return in.MS, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}))
	must(hostfuncs.Register(reg, "broken", func(context.Context, struct{}) (any, error) {
		return nil, errors.New("open /etc/secret: permission denied")
	}))
	must(hostfuncs.Register(reg, "crm.count", func(context.Context, struct{}) (int, error) { return 3, nil }, hostfuncs.MaxCalls(2)))
	return reg
}

func outcomes(res *engine.Result) string {
	var list []string
	for _, c := range res.ToolCalls {
		list = append(list, c.Name+" "+c.Outcome)
	}
	return strings.Join(list, ", ")
}

func TestTools(t *testing.T) {
	tests := []struct{ language, code, want, calls string }{
		{engine.Python, `
import asyncio
print(tools.lookup(name="Ada"), tools.lookup("Ada", 2)["id"], tools.lookup("Ada", max=None)["id"])
for bad in (lambda: tools.lookup("Nobody"), lambda: tools.broken(), lambda: tools.lookup(), lambda: tools.lookup(name=1),
            lambda: tools.lookup("a", 1, 2), lambda: tools.lookup("a", nme=2), lambda: tools.nothing(), lambda: tools.lookup(float("nan"))):
    try:
        print(bad())
    except Exception as e:
        print(type(e).__name__, isinstance(e, tools.ToolError), e)
async def main():
    print(await asyncio.gather(*[tools.slow.aio(ms=200, beside=8) for _ in range(8)]))
    task = asyncio.create_task(tools.slow.aio(60000))
    await asyncio.sleep(0.01)
    task.cancel()
    try:
        await asyncio.wait_for(tools.slow.aio(60000), 0.05)
    except TimeoutError:
        print("timed out")
    try:
        await tools.lookup.aio("Nobody")
    except KeyError as e:
        print(e)
asyncio.run(main())
import tools as t
print(t, t.crm.count(), t.crm.count())
print(t.search("find CUSTOMER"), t.search("crm"), t.search("no such"))
try:
    t.crm.count()
except t.ToolError as e:
    print(e)
`, `{'id': 7, 'name': 'Ada'} 9 7
KeyError True no customer Nobody
ToolError True the tool broken failed
TypeError True lookup: missing argument "name"
TypeError True name cannot be a number
TypeError False lookup() takes 2 arguments but 3 were given
TypeError True lookup: unexpected argument "nme"
AttributeError False there is no tool 'nothing': there are broken, crm, lookup, slow
ValueError False Out of range float values are not JSON compliant: nan
[200, 200, 200, 200, 200, 200, 200, 200]
timed out
no customer Nobody
<tools: broken, crm, lookup, slow> 3 3
['lookup: Find a customer.'] ['crm.count: '] []
this run may call crm.count 2 times
`, "lookup ok, lookup ok, lookup ok, lookup error, broken error, lookup refused, lookup error, lookup refused, " +
			"slow ok, slow ok, slow ok, slow ok, slow ok, slow ok, slow ok, slow ok, slow cancelled, slow cancelled, lookup error, " +
			"crm.count ok, crm.count ok, crm.count refused"},
		{engine.JavaScript, `
console.log(await tools.lookup({ name: "Ada" }), (await tools.lookup("Ada", 2)).id);
for (const bad of [() => tools.lookup("Nobody"), () => tools.broken(), () => tools.lookup({}), () => tools.lookup({ name: 1 }), () => tools.lookup(1, 2, 3), () => tools.nothing(), () => tools.lookup({ name: 1n })]) {
  try { console.log(await bad()); } catch (e) { console.log(e.name, e instanceof Error, e.message); }
}
console.log(await Promise.all(Array(8).fill(0).map(() => tools.slow(200, 8))));
const timer = new Promise((resolve) => setTimeout(resolve, 20, "timer"));
console.log(await Promise.race([tools.slow(1000), timer]));
console.log(await tools.crm.count(), tools.lookup.declaration, tools.lookup.description);
console.log(tools.search("find CUSTOMER"), Object.keys(tools));
`, `{ id: 7, name: 'Ada' } 9
KeyError true no customer Nobody
ToolError true the tool broken failed
TypeError true lookup: missing argument "name"
TypeError true name cannot be a number
TypeError true lookup takes 2 arguments (name, max), 3 were given
TypeError true tools.nothing is not a function
TypeError true Do not know how to serialize a BigInt
[
  200, 200, 200,
  200, 200, 200,
  200, 200
]
timer
3 lookup(args: { name: string; max?: number }): Promise<{ id: number; name: string; tags?: string[] | null }>; Find a customer.
The name must be exact.
[ 'lookup: Find a customer.' ] [ 'lookup', 'slow', 'broken', 'crm' ]
`, "lookup ok, lookup ok, lookup error, broken error, lookup refused, lookup error, " +
			"slow ok, slow ok, slow ok, slow ok, slow ok, slow ok, slow ok, slow ok, crm.count ok, slow ok"},
	}
	for _, tt := range tests {
		t.Run(tt.language, func(t *testing.T) {
			res := run(t, engine.Job{Language: tt.language, Code: tt.code, Tools: tools(t)})
			if d := cmp.Diff(tt.want, res.Stdout); d != "" {
				t.Errorf("stdout (-want +got):\n%s%s", d, res.Stderr)
			}
			if got := outcomes(res); got != tt.calls {
				t.Errorf("calls %s\nwant  %s", got, tt.calls)
			}
		})
	}
}

// TestToolIsCut: a tool that does not heed its context does not hold up a run.
func TestToolIsCut(t *testing.T) {
	reg := &hostfuncs.Registry{}
	release := make(chan struct{})
	defer close(release)
	err := reg.Add(hostfuncs.Tool{Name: "stuck", Call: func(context.Context, json.RawMessage) (json.RawMessage, error) { <-release; return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for language, code := range map[string]string{
		engine.Python: "tools.stuck()", engine.JavaScript: "await tools.stuck()",
	} {
		j := engine.Job{Language: language, Code: code, Tools: reg}
		j.Limits.Timeout = 300 * time.Millisecond
		begin := time.Now()
		res := run(t, j)
		if took := time.Since(begin); res.Status != engine.StatusTimeout || took > 20*time.Second || outcomes(res) != "stuck cancelled" {
			t.Errorf("%s: status %s after %s, calls %s", language, res.Status, took, outcomes(res))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		res, err := testEngine(t).Run(ctx, engine.Job{Language: language, Code: code, Tools: reg})
		cancel()
		if err != nil || res.Status != engine.StatusCancelled {
			t.Errorf("%s: status %v, error %v after cancellation", language, res, err)
		}
	}
}

func BenchmarkToolCall(b *testing.B) {
	reg := tools(b)
	err := hostfuncs.Register(reg, "quick", func(_ context.Context, q query) (row, error) { return row{ID: 7, Name: q.Name}, nil }, hostfuncs.Quick())
	if err != nil {
		b.Fatal(err)
	}
	for language, code := range map[string]string{
		engine.Python:     "def go(n):\n    f = tools.lookup\n    for _ in range(n):\n        f(name='Ada')\ngo(%d)",
		engine.JavaScript: "(async () => { const { lookup } = tools; for (let i = 0; i < %d; i++) await lookup({ name: 'Ada' }); })()",
	} {
		for _, name := range []string{"lookup", "quick"} {
			b.Run(language+"/"+name, func(b *testing.B) {
				const calls = 1000
				var total time.Duration
				code := strings.ReplaceAll(code, "lookup", name)
				for b.Loop() {
					for _, n := range []int{0, calls} {
						res := run(b, engine.Job{Language: language, Code: strings.Replace(code, "%d", map[int]string{0: "1", calls: "1001"}[n], 1), Tools: reg})
						if res.Status != engine.StatusOK {
							b.Fatal(res.Stderr)
						}
						if n == 0 {
							total -= res.Usage.Wall
						} else {
							total += res.Usage.Wall
						}
					}
				}
				b.ReportMetric(float64(total.Nanoseconds())/float64(b.N)/calls/1000, "us/call")
			})
		}
	}
}
