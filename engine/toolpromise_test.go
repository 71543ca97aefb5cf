package engine_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
)

// TestToolPromises looks for two calls whose promises are one: that of a result is given out again once nobody has it. Each program
// prints nothing when all is well.
func TestToolPromises(t *testing.T) {
	reg := &hostfuncs.Registry{}
	if err := reg.Add(hostfuncs.Tool{Name: "echo", Quick: true, Call: func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		return in, nil
	}}); err != nil {
		t.Fatal(err)
	}
	const head = `
		const call = (i) => tools.echo({ i });
		const check = async (p, i, what) => { const got = (await p).i; if (got !== i) console.log(what, got, "is not", i); };
		const touched = async (what, touch) => {
			(() => { touch(call(1)); })();
			const next = call(2);
			if (Object.getPrototypeOf(next) !== Promise.prototype || Reflect.ownKeys(next).length || !Object.isExtensible(next)) console.log(what, "has left a trace");
			await check(next, 2, what);
		};
	`
	for name, code := range map[string]string{
		"in a loop":     `for (let i = 0; i < 100; i++) await check(call(i), i, "loop");`,
		"kept":          `const kept = []; for (let i = 0; i < 100; i++) kept.push(call(i)); for (let i = 0; i < 100; i++) await check(kept[i], i, "kept");`,
		"all at once":   `(await Promise.all(Array.from({ length: 50 }, (_, i) => call(i)))).forEach((r, i) => check(r, i, "all"));`,
		"kept by then":  `const seen = []; for (let i = 0; i < 9; i++) call(i).then((r) => seen.push(r.i)); await 1; await 1; if (seen.join() !== "0,1,2,3,4,5,6,7,8") console.log(seen);`,
		"result kept":   `const a = await call(1), b = await call(2); if (a === b || a.i !== 1 || b.i !== 2) console.log(a, b);`,
		"result is new": `const a = await tools.echo({}); a.x = 1; const b = await tools.echo({}); if ("x" in b) console.log(b);`,
		"a property":    `await touched("property", (p) => { p.mark = 1; });`,
		"one deleted":   `await touched("deleted", (p) => { p.mark = 1; delete p.mark; });`,
		"a prototype":   `await touched("prototype", (p) => Object.setPrototypeOf(p, null));`,
		"frozen":        `await touched("frozen", (p) => Object.freeze(p));`,
		"a private name": `
			class Stamp extends (function (o) { return o; }) { #mine = 1; static has(o) { return #mine in o; } }
			await touched("private", (p) => { new Stamp(p); });
			if (Stamp.has(call(3))) console.log("stamped");`,
		"weakly referred to": `
			let ref; const map = new WeakMap(), set = new WeakSet();
			(() => { const p = call(1); ref = new WeakRef(p); })();
			let p = call(2);
			if (ref.deref() === p) console.log("known by WeakRef");
			p = null;
			(() => { map.set(call(3), 1); })();
			p = call(4);
			if (map.has(p)) console.log("known by WeakMap");
			p = null;
			(() => { set.add(call(5)); })();
			p = call(6);
			if (set.has(p)) console.log("known by WeakSet");`,
		"large": `
			const large = "x".repeat(100000);
			for (let i = 0; i < 5; i++) { if ((await tools.echo({ large, i })).i !== i) console.log("large"); await check(call(i), i, "after a large one"); }`,
		"a then of all objects": `
			Object.prototype.then = function (resolve) { delete Object.prototype.then; resolve("then"); };
			const got = await tools.echo({ a: 1 });
			if (got !== "then") console.log(got);
			await check(call(1), 1, "after then");`,
		"await in many functions": `
			const f = async (n) => { for (let i = 0; i < 50; i++) await check(call(n + i), n + i, "f"); };
			await Promise.all([f(0), f(1000), f(2000)]);`,
		"collected": `for (let i = 0; i < 3000; i++) { const o = { p: call(i) }; o.o = o; if (i % 100 === 0) await check(o.p, i, "cycle"); }`,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, engine.Options{Language: engine.JavaScript, Tools: reg})
			for range 2 { // what a turn has left is there in the next
				res, err := s.Run(t.Context(), engine.Turn{Code: "{" + head + code + "}"})
				if err != nil || res.Status != engine.StatusOK || res.Stdout != "" {
					t.Errorf("%v %v\n%s%v", res, err, res.Stdout, res.Err())
				}
			}
		})
	}
}
