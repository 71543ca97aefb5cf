// Attempts: what has broken interpreters of this family: buffers that shrink or go away while they are used, array lengths
//   that change under iteration, species and iterators that lie, weak references, atomics on what is detached.
// Stopped by: TypeError or RangeError, or a trap of this run; nothing of another run is there to be read.
// run: status=ok,error,trapped,out_of_memory,timeout timeout=5s repeat=3
let bad = 0;
const quiet = (f) => { try { return f(); } catch (e) { return e; } };
const detach = (b) => quiet(() => structuredClone(b, { transfer: [b] })) && quiet(() => b.transfer());
for (let round = 0; round < 3; round++) for (const C of [Int8Array, Uint8Array, Int16Array, Float32Array, Float64Array, BigInt64Array]) {
  for (const how of ["resize", "detach", "grow"]) {
    const b = quiet(() => new ArrayBuffer(4096, { maxByteLength: 1 << 20 }));
    if (!(b instanceof ArrayBuffer)) continue;
    const a = new C(b), one = C === BigInt64Array ? 1n : 1;
    const act = { valueOf() { how === "resize" ? quiet(() => b.resize(8)) : how === "grow" ? quiet(() => b.resize(1 << 20)) : detach(b); return C === BigInt64Array ? 5n : 5; } };
    const f = [() => a.fill(act, 0), () => a.fill(one, act), () => a.copyWithin(act, 1, 400), () => a.set([act, act]), () => a.set({ length: 100, get 0() { act.valueOf(); return one; } }), () => a.subarray(act, 100).fill(one), () => a.with(act, one), () => a.indexOf(one, act), () => a.lastIndexOf(one, act), () => a.slice(act, 400),
      () => a.sort(() => { act.valueOf(); return 1; }), () => a.toSorted(() => { act.valueOf(); return -1; }), () => a.map(() => act.valueOf()), () => a.filter(() => act.valueOf()), () => a.reduce((x) => act.valueOf()), () => a.forEach(() => act.valueOf()), () => a.join({ toString() { act.valueOf(); return ","; } }), () => Atomics.store(a, 100, act), () => Atomics.add(a, act, one), () => Atomics.compareExchange(a, 0, act, act),
      () => new DataView(b).setFloat64(act, 1), () => new DataView(b, act), () => new C(b, act), () => Array.from(a, () => act.valueOf()), () => { for (const x of a) act.valueOf(); }, () => a.at(act), () => String.fromCharCode.apply(null, a, act.valueOf()), () => { a.constructor = { [Symbol.species]: function () { act.valueOf(); return new C(1); } }; a.map((x) => x); a.slice(0); a.filter(() => true); }, () => Buffer.from(b, act), () => Buffer.from(b).toString("hex", act), () => new TextDecoder().decode(a, act),
      () => crypto.getRandomValues(a) && act.valueOf(), () => require("fs").writeFileSync("/data/x", { get buffer() { act.valueOf(); return b; }, length: 100 })][(round * 3 + seed * 7) % 33];
    quiet(f);
    for (let i = 0; i < a.length && i < 100; i++) if (a[i] === undefined) bad++;
  }
}
const arr = [1, 2, 3];
quiet(() => arr.sort(() => { arr.length = 0; arr.push(...Array(1e5)); return 1; }));
quiet(() => { const a = []; a.length = 5; Object.defineProperty(a, 2, { get() { a.length = 0; gc?.(); return 1; } }); a.map((x) => x); a.flat(); a.toString(); });
quiet(() => { const m = new Map([[1, 2], [3, 4]]); let turns = 0; for (const [k] of m) { m.clear(); for (let i = 0; i < 1e4; i++) m.set(i, i); if (++turns > 5) break; } });
quiet(() => { const w = new WeakRef({}), r = new FinalizationRegistry(() => {}); for (let i = 0; i < 1e4; i++) r.register({}, i, {}); w.deref(); });
quiet(() => { const re = /a/g; re.lastIndex = { valueOf() { re.compile("b".repeat(1e4)); return 0; } }; re.exec("aaa"); });
quiet(() => "aaa".replace(/a/g, () => { RegExp.prototype.exec = () => ({ index: 2 ** 53, length: 2 ** 32, 0: "x".repeat(100) }); return "b"; }));
quiet(() => { class A { constructor() { return new Proxy(this, {}); } } class B extends A { #x = 1; static g(o) { return o.#x; } } B.g(new B()); B.g({}); });
quiet(() => { function f(a) { arguments[0] = {}; delete arguments[0]; arguments.length = 1e6; return f.apply(null, arguments); } f(1); });
quiet(() => { const g = (function* () { yield g.next(); })(); g.next(); });
quiet(() => new Function("a = super.x"));
quiet(() => Reflect.construct(Array, [1e9], Uint8Array).fill(1));
console.log("lives", bad);
