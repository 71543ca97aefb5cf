// node:util, node:assert and node:path, compared with Node's own output.
const util = require("util");
const assert = require("assert");
const path = require("path");
const show = (f) => {
  try {
    console.log(f());
  } catch (e) {
    console.log(e.name, e.code, e.message);
  }
};
console.log(util.inspect({ a: { b: { c: { d: 1 } } } }, { depth: 0 }), util.inspect({ a: { b: { c: {} } } }, false, null), util.inspect("str"), util.inspect([1, [2, [3, [4]]]], { depth: 1 }));
console.log(util.inspect({ a: 1, b: "x" }, { compact: false }), util.inspect({ a: [1, 2], b: { c: 3 } }, { compact: true }), util.inspect(new Map([["a", 1]]), { showHidden: true }));
console.log(util.inspect({ b: 1, a: 2 }, { sorted: true }), util.inspect(Array(200).fill(1), { maxArrayLength: 3 }), util.inspect("x".repeat(30), { maxStringLength: 5 }), util.inspect({ a: 1, b: 2, c: 3 }, { breakLength: 10 }));
console.log(util.inspect({ get a() { return 1; }, get b() { return { c: 1 }; }, set d(v) {} }, { getters: true }), util.inspect(123456.789, { numericSeparator: true }), util.inspect(new Proxy({ a: 1 }, { get: () => 2 }), { showProxy: false }));
console.log(util.inspect({ a: 1, s: "x", n: null, u: undefined, f() {}, sy: Symbol("q"), d: new Date(0), r: /x/ }, { colors: true }));
class Money { constructor(v) { this.v = v; } [util.inspect.custom](depth, options, inspect) { return `Money<${inspect(this.v, options)}> ${depth} ${typeof options.stylize}`; } }
console.log(new Money(5), [new Money({ a: 1 })], { m: new Money("x") }, util.inspect(new Money(1), { customInspect: false }));
console.log({ [util.inspect.custom]() { return { replaced: true }; } }, { [util.inspect.custom]() { return "multi\nline"; } }, [{ [util.inspect.custom]: () => null }]);
console.log(util.format("%s %d %i %f %j %o %O %%", "a", 1, 2.5, 3.5, { x: 1 }, [1], { y: 2 }), util.format(1, 2, "3"), util.format("%s"), util.format(), util.format("a", "b", { c: 1 }), util.format("%s", { toString() { return "own"; } }), util.format("%s", new (class K { toString() { return "k"; } })()), util.format("%s", new Error("err").message));
console.log(util.isDeepStrictEqual({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] }), util.isDeepStrictEqual([1], ["1"]), util.isDeepStrictEqual(new Set([{ a: 1 }]), new Set([{ a: 1 }])), util.isDeepStrictEqual(new Map([[{ k: 1 }, 2]]), new Map([[{ k: 1 }, 2]])), util.isDeepStrictEqual(NaN, NaN), util.isDeepStrictEqual(0, -0), util.isDeepStrictEqual(new Date(0), new Date(0)), util.isDeepStrictEqual(/a/g, /a/i), util.isDeepStrictEqual(new Uint8Array([1]), new Uint8Array([1])), util.isDeepStrictEqual([, 1], [undefined, 1]));
const c1 = { a: 1 }; c1.self = c1; const c2 = { a: 1 }; c2.self = c2;
console.log(util.isDeepStrictEqual(c1, c2));
console.log(util.types.isDate(new Date()), util.types.isRegExp(/x/), util.types.isMap(new Map()), util.types.isPromise(Promise.resolve()), util.types.isProxy(new Proxy({}, {})), util.types.isAsyncFunction(async () => {}), util.types.isGeneratorFunction(function* () {}), util.types.isTypedArray(new Uint8Array()), util.types.isUint8Array(Buffer.alloc(1)), util.types.isBoxedPrimitive(Object(1)), util.types.isNativeError(new TypeError()), util.types.isArrayBuffer(new ArrayBuffer(1)), util.types.isSet({}), util.types.isDate({ __proto__: Date.prototype }));
console.log(util.stripVTControlCharacters("\u001b[31mred\u001b[0m"), util.toUSVString("a\ud800"), util.inspect(util.promisify), util.types === require("util/types"), typeof util.TextEncoder);
console.log(util.parseArgs({ args: ["-f", "--bar", "b", "--list=1", "--list", "2"], options: { foo: { type: "boolean", short: "f" }, bar: { type: "string" }, list: { type: "string", multiple: true }, dflt: { type: "string", default: "d" } } }).values);
show(() => util.parseArgs({ args: ["--nope"], options: {} }));
show(() => util.promisify("x"));
util.promisify((a, cb) => cb(null, a * 2))(21).then(console.log);
util.promisify((cb) => cb(new Error("cb failed")))().catch((e) => console.log(e.message));
util.callbackify(async (x) => x + 1)(1, (err, v) => console.log(err, v));

for (const f of [
  () => assert(true), () => assert.ok(1), () => assert.equal(1, "1"), () => assert.strictEqual(1, 1), () => assert.deepEqual({ a: 1 }, { a: "1" }), () => assert.deepStrictEqual([1, { a: 2 }], [1, { a: 2 }]),
  () => assert.notEqual(1, 2), () => assert.throws(() => { throw new TypeError("bad"); }, TypeError), () => assert.throws(() => { throw new Error("bad"); }, /bad/), () => assert.throws(() => { throw new Error("bad"); }, { message: "bad", name: "Error" }),
  () => assert.doesNotThrow(() => {}), () => assert.match("abc", /b/), () => assert.ifError(null), () => assert.notDeepStrictEqual({ a: 1 }, { a: 2 }),
]) show(f);
for (const f of [
  () => assert.equal(1, 2), () => assert.equal(1, 2, "my message"), () => assert.strictEqual(1, 2), () => assert.strictEqual("a", "b"), () => assert.fail("failed"), () => assert.fail(), () => assert.ok(0, "zero is falsy"),
  () => assert.throws(() => {}), () => assert.throws(() => {}, TypeError), () => assert.throws(() => { throw new Error("x"); }, /y/), () => assert.doesNotThrow(() => { throw new Error("thrown"); }), () => assert.match("abc", /x/), () => assert.ifError(new Error("e")),
  () => assert.notStrictEqual(1, 1), () => assert.strictEqual(1, 2, new RangeError("own error")), () => assert.throws("not a function"), () => assert.equal(1),
]) show(f);
for (const f of [() => assert.deepStrictEqual({ a: 1 }, { a: 2 }), () => assert.deepEqual([1, 2], [1, 3]), () => assert.notDeepEqual({ a: 1 }, { a: 1 }), () => assert(false), () => assert.strict.equal(1, "1")]) {
  try {
    f();
    console.log("passed");
  } catch (e) {
    console.log(e.name, e.code, e.operator, e.generatedMessage, e.message.split(/[:\n]/)[0], e instanceof assert.AssertionError, e.actual, e.expected);
  }
}
assert.rejects(async () => { throw new Error("async"); }, /async/).then(() => console.log("rejects ok"));
assert.rejects(Promise.resolve(1)).catch((e) => console.log(e.message));
assert.doesNotReject(async () => 1).then(() => console.log("doesNotReject ok"));

for (const p of ["/a/b/../c/./d.txt", "a//b", "", ".", "..", "/", "a/", "./x", "../../x", "a/../..", "file.tar.gz", ".hidden", ".hidden.txt", "no_ext", "dir.d/file", "/a/b/", "a.b."]) {
  console.log(JSON.stringify(p), path.normalize(p), path.dirname(p), path.basename(p), path.extname(p), JSON.stringify(path.parse(p)), path.isAbsolute(p), path.format(path.parse(p)));
}
console.log(path.join("a", "..", "b", "/c"), path.join(), path.join("", ""), path.resolve("/a", "b", "../c"), path.resolve("/a", "/b"), path.relative("/a/b/c", "/a/d"), path.relative("/a", "/a"), path.basename("x.html", ".html"), path.basename(".html", ".html"), path.sep, path.delimiter, path.posix === path);
show(() => path.join(1));
console.log(path.format({ dir: "/d", name: "n", ext: "e" }), path.format({ root: "/", base: "b" }), path.format({ name: "x", ext: ".y" }));
