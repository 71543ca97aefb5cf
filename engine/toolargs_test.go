package engine_test

import (
	"context"
	"encoding/json"
	"runtime"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

// TestToolArguments compares what a tool gets of JavaScript's values with what JSON.stringify makes of them: plain ones are read
// by the host where they lie in the interpreter's memory.
func TestToolArguments(t *testing.T) {
	reg := &hostfuncs.Registry{}
	if err := reg.Add(hostfuncs.Tool{Name: "echo", Quick: true, Call: func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		return json.Marshal(string(in))
	}}); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]string{
		"of all kinds": `
			const long = "abcdefghij".repeat(2000), rope = long + 1 + long;
			const deleted = { a: 1, b: 2, c: 3 }; delete deleted.b;
			const hidden = Object.defineProperty({ a: 1 }, "b", { value: 2, enumerable: false });
			const sparse = [1]; sparse[3] = 4;
			const longer = [1]; longer.length = 3;
			const named = [1]; named.x = 2;
			const many = Object.fromEntries(Array.from({ length: 1500 }, (_, i) => ["k" + i, i]));
			const nest = (n) => n ? { n: nest(n - 1) } : 1;
			for (const v of [{}, { a: 1 }, { a: -0 }, { a: 1e21, b: 1e-7, c: 123456789012345680000, d: 0.1, e: -1.5e300, f: 5e-324 },
				{ a: NaN, b: Infinity }, { a: undefined, b: () => 1, c: Symbol(), [Symbol("s")]: 1 }, { a: [undefined, () => 1, null] },
				{ 10: "ten", 2: "two", b: 1, a: 2 }, { "quote\"\\\n\u0000\u007f": "\b\f\r\t\u001f" }, { é: "ÿ", ሴ: "😀", "\u2028": "\u2029" },
				{ a: "\ud800", b: "\udc00x" }, { "\udfff": 1 }, { a: "" , "": "" }, { a: rope }, { a: long.slice(5, 15000) }, deleted, hidden,
				{ a: sparse }, { a: longer }, { a: named }, { a: many }, nest(10), nest(40), { a: new Date(0) }, { a: new (class { b = 1 })() },
				{ a: new (class extends Array {})(3) }, { a: Object.create(null, { x: { value: 1, enumerable: true } }) },
				{ a: Object.create({ inherited: 1 }) }, { get a() { return 3; } }, { toJSON() { return { b: 4 }; } }, { toJSON: 5 },
				{ a: new Proxy({ x: 1 }, {}) }, new Proxy({ x: 1 }, { get: () => 2 }), { a: new Map([[1, 2]]), b: new Uint8Array([1, 2]) },
				{ a: new String("s"), b: new Number(1), c: new Boolean(false) }, { a: Object.freeze([1, Object.freeze({ b: 2 })]) },
				Object.assign(Object.create(null), { a: 1 }), { a: [[[[]]], [{}]] }, { __proto__: null, b: 1 }, { ["__proto__"]: 1 }])
				same(await tools.echo(v), v);`,
		"at random": `
			let seed = 1;
			const random = (n) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
			const text = () => Array.from({ length: random(6) }, () => String.fromCodePoint([random(128), random(256), random(0x3000), 0x1f600 + random(9)][random(4)])).join("");
			const value = (depth) => [() => random(100), () => random(1e9) / 7, () => text(), () => null, () => random(2) === 1, () => undefined,
				() => Array.from({ length: random(4) }, () => value(depth - 1)),
				() => Object.fromEntries(Array.from({ length: random(4) }, () => [text(), value(depth - 1)]))][random(depth > 0 ? 8 : 6)]();
			for (let i = 0; i < 2000; i++) { const v = { v: value(4), [text()]: value(2) }; same(await tools.echo(v), v); }`,
		"with a prototype that the program changed": `
			Object.prototype.toJSON = function () { return { changed: 1 }; };
			same(await tools.echo({ a: 1 }), { a: 1 });
			delete Object.prototype.toJSON;
			same(await tools.echo({ a: 1 }), { a: 1 });
			Array.prototype.toJSON = () => "array";
			same(await tools.echo({ a: [1] }), { a: [1] });
			delete Array.prototype.toJSON;
			Object.setPrototypeOf(Array.prototype, { __proto__: Object.prototype, toJSON: () => 5 });
			same(await tools.echo({ a: [1] }), { a: [1] });`,
		"that cannot be": `
			const cycle = {}; cycle.cycle = cycle;
			let shared = {}; for (let i = 0; i < 9; i++) shared = { a: shared, b: shared, c: shared };
			same(await tools.echo(shared), shared);
			for (const [v, name] of [[cycle, "TypeError"], [{ a: 1n }, "TypeError"], [{ get a() { throw new RangeError(); } }, "RangeError"], [{ toJSON: () => 1 }, "TypeError"]]) {
				const error = await tools.echo(v).catch((e) => e);
				if (error.name !== name) throw new Error(name + " expected: " + error);
			}
			const error = await tools.echo({ a: "x".repeat(5e6) }).catch((e) => e);
			if (!(error instanceof Error)) throw new Error("5 MB of arguments were taken");`,
	} {
		t.Run(name, func(t *testing.T) {
			code := `const same = (got, v) => {
				const want = JSON.stringify(JSON.parse(JSON.stringify(v).toWellFormed())), have = JSON.stringify(JSON.parse(got));
				if (have !== want) throw new Error(have.slice(0, 200) + " is not " + want.slice(0, 200));
			};` + code
			res := run(t, engine.Job{Language: engine.JavaScript, Code: code, Tools: reg})
			if res.Status != engine.StatusOK {
				t.Errorf("%s: %s", res.Status, res.Stderr)
			}
		})
	}
}

// TestToolCallForms calls a JavaScript tool with arguments in order, too many, none, and while others go on.
func TestToolCallForms(t *testing.T) {
	const code = `
		const eq = (a, b) => { if (JSON.stringify(a) !== JSON.stringify(b)) throw new Error(JSON.stringify(a) + " is not " + JSON.stringify(b)); };
		eq(await tools.lookup("Ada", 3), { id: 10, name: "Ada" });
		eq(await tools.lookup("Ada"), { id: 7, name: "Ada" });
		eq(await tools.crm.count(), 3);
		eq(await tools.crm.count(undefined), 3);
		eq(await tools.crm.count({}).catch((e) => [e.name, e.message]), ["ToolLimit", "this run may call crm.count 2 times"]);
		eq(await tools.lookup(1, 2, 3, 4, 5, 6, 7, 8, 9, 10).catch((e) => e.message), "lookup takes 2 arguments (name, max), 10 were given");
		eq(await tools.lookup(7).catch((e) => e.name), "TypeError");
		eq(await Promise.all([tools.slow({ ms: 30 }), tools.slow(20), tools.lookup({ name: "Eve" })]), [30, 20, { id: 7, name: "Eve" }]);
		eq([tools.lookup.name, tools.lookup.length, typeof tools.lookup, tools.lookup({ name: "x" }) instanceof Promise], ["lookup", 2, "function", true]);
		async function caller(call) { await call(); }
		for (const [call, ...want] of [
			[() => tools.lookup({ name: "Nobody" }), "KeyError", "no customer Nobody"],
			[() => tools.slow({ ms: -30 }), "RangeError", "less than no time"], // its answer comes when nobody is on the stack
		]) {
			const error = await caller(call).catch((e) => e);
			eq([error.name, error.message, error.stack.includes("caller"), error.stack.includes("cloche:")], [...want, true, false]);
		}`
	res := run(t, engine.Job{Language: engine.JavaScript, Code: code, Tools: tools(t)})
	if res.Status != engine.StatusOK {
		t.Errorf("%s: %s", res.Status, res.Stderr)
	}
}

// TestToolArgumentsAreBounded: a few objects that are in many places at once stand for a text that is larger than any memory. Writing it
// must stay within the program's limits, not the host's.
func TestToolArgumentsAreBounded(t *testing.T) {
	reg := &hostfuncs.Registry{}
	if err := reg.Add(hostfuncs.Tool{Name: "echo", Quick: true, Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage("null"), nil
	}}); err != nil {
		t.Fatal(err)
	}
	for name, code := range map[string]string{
		"arrays":            `let a = []; for (let i = 0; i < 6; i++) a = Array(16).fill(a); await tools.echo({ a })`,
		"objects":           `let a = {}; for (let i = 0; i < 6; i++) a = Array(16).fill(a); await tools.echo({ a })`,
		"hidden properties": `const a = {}; for (let i = 0; i < 1000; i++) a["k" + i] = undefined; await tools.echo({ a: Array(20000).fill(a) })`,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			res := run(t, engine.Job{Language: engine.JavaScript, Code: code, Tools: reg, Limits: limits.Limits{MemoryBytes: 32 << 20, Fuel: 50_000_000}})
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
				t.Errorf("the host took %s for it; status %s", limits.FormatSize(got), res.Status)
			}
		})
	}
}

// TestToolResultNotUTF8: bytes of a result that are no UTF-8 are replaced, and what comes after them is there.
func TestToolResultNotUTF8(t *testing.T) {
	reg := &hostfuncs.Registry{}
	if err := reg.Add(hostfuncs.Tool{Name: "raw", Quick: true, Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage("[\"a\xff\xfe\", \"end\"]"), nil
	}}); err != nil {
		t.Fatal(err)
	}
	res := run(t, engine.Job{Language: engine.JavaScript, Code: `console.log(JSON.stringify(await tools.raw({ a: 1 })))`, Tools: reg})
	if want := "[\"a\ufffd\ufffd\",\"end\"]\n"; res.Stdout != want {
		t.Errorf("%q, want %q: %s", res.Stdout, want, res.Stderr)
	}
}
