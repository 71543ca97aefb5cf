package js_test

import (
	"strings"
	"testing"
)

// TestStringify compares what the host writes as JSON with what the interpreter does, which is asked by a replacer that changes
// nothing. In Node, where both ways are one, the program prints the same.
func TestStringify(t *testing.T) {
	source := `
		let seed = 7;
		const random = (n) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
		class Base { constructor() { this.x = make(9); } get y() { return 1; } }
		class Derived extends Base { z = "own"; #hidden = 1; }
		class Told extends Base { toJSON(key) { return "told " + key; } }
		const long = "0123456789 long and longer ".repeat(200), wide = "長い文 \u{1f600} ".repeat(400);
		let rope = "";
		for (let i = 0; i < 40; i++) rope += long.slice(i, 300 + i) + i + '"';
		const texts = ["", "a", "é", 'quote " and \\', "\b\t\n\f\r\0\x1f\x7f", "漢字", "\u{1f600}", "\ud800", "\udc00x", "x\ud83d", "\u2028\u2029", long, wide,
			long.slice(7, 2000), wide.slice(3, 1100), rope, rope.slice(5, 5000), "\ud83d" + long + "\ude00"];
		const numbers = [0, -0, 1, -1, 1.5, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, NaN, Infinity, 2 ** 31, -(2 ** 31), 123456789012345680000, 0.1 + 0.2];
		const names = ["a", "b c", "é", "漢", "", "12", "3000000000", "4294967295", "-1", "1.5", "toString", "length", "__proto__x", 'q"', long.slice(2, 1900)];
		const others = [() => undefined, () => null, () => true, () => false, () => () => 1, () => Symbol("s"), () => new Date(86400e3 * random(9999)),
			() => new Map([[1, 2]]), () => new Set([1]), () => new Uint8Array([1, 2]), () => Object(1), () => Object("s"), () => /x/, () => new Base(), () => new Derived(),
			() => new Told(), () => [, 1], () => Object.create({ inherited: 1 }), () => Object.create(null), () => new Error("e"), () => new Proxy({ p: 1 }, {}),
			() => Object.defineProperty({ v: 1 }, "toJSON", { value: () => "hidden" }), () => ({ get g() { return 1; } }), () => ({ [Symbol("k")]: 1, k: 2 }),
			() => Object.defineProperty({ a: 1 }, "n", { value: 2 }), () => Object.freeze([1, { a: 1 }]), () => { const o = { a: 1, b: 2, c: 3 }; delete o.b; return o; },
			() => { const a = [1, 2, 3]; a.length = 1; return a; }, () => { const a = [1, 2, 3]; a.length = 5; return a; }, () => Array(random(4)), () => { const a = [1]; a.length = 0; a.length = 2; return a; }, () => Object.assign([1], { extra: 1 }),
			() => Object.setPrototypeOf([1], { toJSON: () => "array" }), () => ({ toJSON: 1 }), () => ({ toJSON() { return [this.toJSON.name]; } }), () => Object.create(new Base()),
			() => Object.setPrototypeOf({ a: 1 }, new Proxy({}, {})), () => [undefined, () => 1, Symbol("s")]];
		function make(depth) {
			switch (depth > 8 ? 3 + random(3) : random(9)) {
			case 0: case 1: { const o = {}; for (let i = random(6); i > 0; i--) o[names[random(names.length)]] = make(depth + 1); return o; }
			case 2: return Array.from({ length: random(5) }, () => make(depth + 1));
			case 3: case 4: return texts[random(texts.length)];
			case 5: return numbers[random(numbers.length)];
			case 6: return random(1000);
			default: return others[random(others.length)]();
			}
		}
		let checked = 0, bytes = 0;
		for (let i = 0; i < 4000; i++) {
			const value = make(0), gap = [undefined, null, 2, "\t", "", 0, "=".repeat(12), 3.9, -1, NaN, Object(1)][random(11)];
			const got = JSON.stringify(value, null, gap), want = JSON.stringify(value, (key, v) => v, gap);
			if (got !== want) { console.log("different:", gap, got, want); break; }
			checked++;
			bytes += got?.length ?? 0;
		}
		const deep = []; for (let i = 0, at = deep; i < 300; i++) at.push(at = []);
		console.log(checked, bytes > 1e6, JSON.stringify(deep).length, JSON.stringify(Array(70000).fill(0)).length);
		const circle = { name: "c", list: [] }; circle.list.push({ circle });
		for (const bad of [circle, { big: 1n }]) try { JSON.stringify(bad) } catch (e) { console.log(e.name, e.message.split("\n")[0]); }
		Object.prototype.toJSON = function () { return "patched"; };
		console.log(JSON.stringify({ a: 1 }), JSON.stringify([1]));
		delete Object.prototype.toJSON;
		Array.prototype.toJSON = function () { return this.length; };
		console.log(JSON.stringify({ a: [1, 2] }));
		delete Array.prototype.toJSON;
		console.log(JSON.stringify.name, JSON.stringify.length, JSON.stringify(), JSON.stringify({ a: [1] }, ["a"]));`
	want := `4000 true 602 140001
TypeError Converting circular structure to JSON
TypeError Do not know how to serialize a BigInt
"patched" "patched"
{"a":2}
stringify 3 undefined {"a":[1]}
`
	if got := run(t, source).stdout; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestLongTextsInState: the interpreter keeps a long part of a text as a reference to the whole.
func TestLongTextsInState(t *testing.T) {
	s := newSandbox(t)
	s.session = true
	r := s.ok(`const whole = "abcdefghij".repeat(500), part = whole.slice(3, 4000), wide = "数字".repeat(2000).slice(1, 3000), named = { [part]: 1 }`)
	for _, want := range []string{`"part","type":"string","length":3997,"preview":"\"defghijabc`, `"wide","type":"string","length":2999,"preview":"\"字数字数`, `"{defghijabc`} {
		if !strings.Contains(string(r.State), want) {
			t.Errorf("no %s in %.600s", want, r.State)
		}
	}
}
