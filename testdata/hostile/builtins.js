// Attempts: to reach what the interpreter's own JavaScript is made with, the functions by which it calls the host, and to
//   call them with arguments of every kind: by replacing what its code uses, by call sites, by arguments and callers.
// Stopped by: its code took what it uses before any program ran. Even the host's functions, should one get out, check every
//   argument: an error, null, or the end of this run.
// run: status=ok,error,trapped,out_of_memory timeout=60s
const fs = require("fs"), util = require("util"), { log } = console;
const found = [];
const note = (v) => { if (typeof v === "function" && found.length < 5000) found[found.length] = v; };
const { apply, ownKeys } = Reflect, source = Function.prototype.toString;
Error.stackTraceLimit = 100;
Error.prepareStackTrace = (e, sites) => { for (const s of sites) for (const m of ["getFunction", "getThis"]) try { note(s[m]()); } catch { } return "x"; };
const spy = (o, k) => {
  const real = o[k];
  if (typeof real !== "function") return;
  try { o[k] = function (...a) { note(this); for (let i = 0; i < a.length; i++) note(a[i]); return apply(real, this, a); }; } catch { }
};
for (const [o, keys] of [[Function.prototype, ["call", "apply", "bind"]], [Array.prototype, ["push", "map", "forEach", "join", "slice", "shift", "concat"]], [String.prototype, ["replace", "split", "slice", "indexOf"]], [Map.prototype, ["get", "set", "has"]], [RegExp.prototype, ["exec", "test"]], [Promise.prototype, ["then"]], [JSON, ["parse", "stringify"]], [Object, ["keys", "assign", "defineProperty", "entries"]]]) for (const k of keys) spy(o, k);
const quiet = (f) => { try { return f(); } catch (e) { return e; } };
class Evil { get [Symbol.toStringTag]() { new Error().stack; return "x"; } toString() { new Error().stack; return "/data/x"; } valueOf() { new Error().stack; return 1; } toJSON() { new Error().stack; return 1; } [Symbol.for("nodejs.util.inspect.custom")]() { new Error().stack; return "x"; } }
const evil = new Evil(), proxy = new Proxy(function () {}, { get(t, k) { new Error().stack; return t[k]; }, ownKeys(t) { new Error().stack; return Reflect.ownKeys(t); } });
for (const module of ["fs", "path", "util", "url", "crypto", "buffer", "events", "os", "timers", "stream", "assert", "string_decoder", "querystring", "readline"]) {
  const m = require(module);
  for (const k of Object.keys(m)) {
    if (typeof m[k] !== "function" || /exit|abort/.test(k)) continue;
    for (const args of [[], [evil], [proxy, proxy], ["/data/x", evil], ["\0"], [evil, evil, evil], [new Uint8Array(8), evil], [Symbol("x")], [1e308, -1], [null, undefined, NaN]]) quiet(() => m[k](...args));
  }
}
for (const name of "URL URLSearchParams TextDecoder TextEncoder Buffer AbortController Event EventTarget Headers Request Response Blob FormData ReadableStream structuredClone queueMicrotask setTimeout fetch atob btoa".split(" ")) { const C = globalThis[name]; for (const a of [[], [evil], [proxy], [1, evil]]) { quiet(() => new C(...a)); quiet(() => C(...a)); } }
quiet(() => console.log(evil, proxy)); quiet(() => util.inspect(proxy, { showProxy: true }));
// What was found, and what is reachable from it, is called with everything.
const hostile = [undefined, null, 0, -1, 2 ** 31, 2 ** 53, NaN, "", "x".repeat(1e5), "\ud800", Symbol("s"), 1n, {}, [], () => 1, new Uint8Array(4), new ArrayBuffer(4), new Proxy({}, {}), /x/];
let called = 0;
const natives = new Set();
for (const f of found) {
  if (natives.has(f) || natives.size > 300 || !String(quiet(() => apply(source, f, []))).includes("native code")) continue;
  natives.add(f);
  for (let i = 0; i < 60; i++) { quiet(() => apply(f, hostile[(i * 7) % hostile.length], [hostile[i % hostile.length], hostile[(i * 3) % hostile.length], hostile[(i * 5) % hostile.length], hostile[(i * 11) % hostile.length], hostile[(i * 13) % hostile.length]])); called++; }
}
log(found.length > 0, natives.size, called);
