// structuredClone, compared with Node's own output.
const show = (f) => {
  try {
    console.log(f());
  } catch (e) {
    console.log(e.name, e.code, e.message, e instanceof DOMException);
  }
};
const src = { d: new Date(0), m: new Map([[1, { z: 2 }]]), s: new Set(["a", { b: 1 }]), a: [1, , 3], r: /x/gi, n: null, u: undefined, big: 5n, nan: NaN, neg: -0, b: new Boolean(false), num: new Number(7), str: new String("s"), nested: { deep: [[1]] } };
src.self = src;
src.m.set("me", src);
const c = structuredClone(src);
console.log(c);
console.log(c !== src, c.self === c, c.m.get("me") === c, c.d instanceof Date, c.d !== src.d, 1 in c.a, c.a.length, Object.is(c.neg, -0));
class P { constructor() { this.x = 1; } get y() { return 2; } }
console.log(structuredClone(new P()), structuredClone(new P()) instanceof P, structuredClone(Object.create({ inherited: 1 })), structuredClone(Object.create(null)));
console.log(structuredClone(new Uint8Array([1, 2])), structuredClone(new DataView(new ArrayBuffer(2))), structuredClone(new Float64Array([1.5]).buffer), structuredClone(Buffer.from("hi")));
const shared = new ArrayBuffer(4);
const two = structuredClone({ a: new Uint8Array(shared), b: new Uint8Array(shared, 1, 2) });
console.log(two.a.buffer === two.b.buffer, two.b.byteOffset, two.b.length);
const moved = new ArrayBuffer(3);
const got = structuredClone({ moved }, { transfer: [moved] });
console.log(moved.byteLength, got.moved.byteLength);
const e = structuredClone(new RangeError("bad", { cause: { why: 1 } }));
console.log(e.name, e.message, e.cause, e instanceof RangeError);
class MyError extends Error { constructor() { super("mine"); this.name = "MyError"; this.extra = 1; } }
const m = structuredClone(new MyError());
console.log(m.name, m.message, m.constructor.name, m.extra);
for (const v of [1, "s", true, null, undefined, 5n, [], {}, new Date(NaN), Object(1n)]) show(() => structuredClone(v));
for (const v of [() => {}, Symbol("s"), { f() {} }, [Symbol.iterator], Promise.resolve(), new WeakMap(), new WeakSet()]) show(() => structuredClone(v));
show(() => structuredClone());
show(() => structuredClone({ get a() { return 1; } }));
show(() => structuredClone({ get a() { throw new Error("from getter"); } }));
console.log(structuredClone({ __proto__: { x: 1 }, ["__proto__"]: 5, own: 2 }));

// MessageChannel
{
  const { port1, port2 } = new MessageChannel();
  const sent = { list: [1], when: new Date(0) };
  port2.onmessage = ({ data }) => {
    console.log("port2 got", data, data === sent);
    port2.postMessage("back");
  };
  port1.on("message", (data) => {
    console.log("port1 got", data);
    port1.close();
  });
  port1.postMessage(sent);
  sent.list.push(2);
  console.log("posted", port1 instanceof EventTarget, require("worker_threads").MessageChannel === MessageChannel);
}
