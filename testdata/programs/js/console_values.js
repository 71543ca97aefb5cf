// What console.log writes for every kind of value, compared with Node's own output.
const circ = { name: "loop" };
circ.self = circ;
circ.list = [circ, { circ }];
class Point { constructor(x) { this.x = x; } get len() { return 1; } static zero = 0; }
class Sub extends Point { #hidden = 1; }
class Named { get [Symbol.toStringTag]() { return "Tagged"; } }
const anonymous = class {};
function Old() { this.a = 1; }
const nul = Object.assign(Object.create(null), { bare: 7 });
const sparse = [1, , 3, , , 6];
sparse.extra = "x";
const fnProps = Object.assign(function withProps() {}, { a: 1, b: { c: 2 } });
const sym = Symbol("sy");
const values = {
  numbers: [0, -0, 1.5, NaN, Infinity, -Infinity, 1e21, 1e-7, 123456789],
  bigints: [0n, -5n, 2n ** 70n],
  strings: ["", "plain", "it's", 'say "hi"', `both ' and "`, "all ' \" `", "line\nbreak", "tab\t", "nul\0", "\x7f\x1b", "ü 数 👍", "\ud800", "back\\slash"],
  others: [true, false, null, undefined, sym, Symbol(), Symbol.iterator, Symbol("a b")],
  functions: [function named() {}, () => 1, async () => {}, function* gen() {}, async function* agen() {}, class A {}, class B extends Point {}, anonymous, Math.max, fnProps, Point, Sub],
  dates: [new Date(0), new Date(NaN), Object.assign(new Date(1e12), { note: 1 })],
  regexps: [/re+/g, Object.assign(/x/, { p: 1 }), new RegExp("/")],
  boxed: [new Number(3), new Number(-0), new String("abc"), new Boolean(false), Object(sym), Object(1n), Object.assign(new String("ab"), { z: 1 })],
  maps: [new Map(), new Map([["k", 1], [{ a: 1 }, new Map([[1, 2]])]]), new Set(), new Set(["v", { w: 1 }, [1]]), new WeakMap(), new WeakSet()],
  typed: [new Uint8Array([9, 8]), new Float64Array([1.5, -0]), new BigInt64Array(2), new Uint8Array(0), new ArrayBuffer(4), new DataView(new ArrayBuffer(2)), Buffer.from("hi")],
  promises: [Promise.resolve(42), new Promise(() => {}), Promise.resolve({ a: [1] })],
  arrays: [[], [[]], [[], {}], [undefined, null], sparse, new Array(5), [, 1], Object.assign([1], { "-1": 2, key: 3 }), Array.from({ length: 120 }, (_, i) => i)],
  instances: [new Point(4), new Sub(5), new Named(), new anonymous(), new Old(), Object.create({}), Object.create(Point.prototype), Object.create(Object.create(null))],
  nul,
  args: (function () { return arguments; })(1, "two"),
  proxies: [new Proxy({ a: 1 }, {}), new Proxy([1, 2], {}), new Proxy(function f() {}, {}), new Proxy(new Proxy({ deep: 1 }, {}), {})],
  generators: [(function* () {})(), [1][Symbol.iterator]().toString()],
  globals: [Math, JSON, Reflect, globalThis === global],
};
for (const [name, value] of Object.entries(values)) {
  console.log(name, value);
  if (Array.isArray(value)) for (const v of value) console.log(v);
}
console.log(circ);
console.log([circ]);
console.log({ getter: { get a() { return 1; } }, setter: { set b(v) {} }, both: { get c() { return 1; }, set c(v) {} } });
console.log({ [sym]: 1, "needs quotes": 2, "with-dash": 3, 4: 5, valid_id: 6, $dollar: 7, "ünï": 8, "": 9, __proto__: null });
console.log(Object.defineProperty({}, "hidden", { value: 1 }), Object.defineProperty({}, sym, { value: 1, enumerable: false }));
console.log({ a: { b: { c: { d: 1 } } } }, { a: [[[[1]]]] }, [[[[]]]], { a: { b: { c: {} } } }, { a: { b: { c: [] } } }, [[[new Map([[1, 2]])]]], [[[new Point(1)]]]);
console.log({ method() {}, arrow: () => {}, klass: class X {}, async am() {} });
console.log(process.versions.node !== undefined, typeof globalThis);
console.log([1.25, "a", { b: 1 }], "and", "strings", 1, { c: "d" });
console.log();
console.log("");
console.log("%s is %d years and %i, %f, %j %o %O %% %c styled", "Bob", 42.5, 42.9, "3.5", { a: 1 }, [1], { b: { c: {} } }, "css", "extra", { x: 1 });
console.log("%s", null, "%s", undefined, 5n, Symbol("q"), {}, [1, [2]], class Q {}, function f() {}, new Date(0), -0);
console.log("%s|%s|%s|%s|%s|%s", "a", 1, 2n, -0, { a: { b: 1 } }, [1, 2]);
console.log("%d|%d|%d|%i|%f", "12", 3n, {}, "7.9", "x");
console.log("100%", "%", "%x", "%s");
console.log("a%sb%sc", 1);
console.log({ a: 1n, b: Symbol.for("s"), c: [undefined, , null] });
