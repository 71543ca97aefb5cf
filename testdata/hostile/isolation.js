// Attempts: to leave something for the next run: in prototypes, built-in objects, Node's modules, the environment, files,
//   listeners, timers, pending promises.
// Stopped by: the next run starts from the image, byte for byte.
// run: status=ok,error timeout=60s
const fs = require("fs");
process.on("exit", () => { globalThis.planted = 2; fs.writeFileSync("/tmp/exit", "PLANTED"); });
process.on("uncaughtException", () => {});
process.env.PLANTED = "1"; process.argv.push("PLANTED"); process.exitCode = 0; process.title = "PLANTED";
fs.writeFileSync("/data/planted", "PLANTED"); fs.writeFileSync("/data/package.json", '{"main":"planted"}'); fs.mkdirSync("/data/node_modules/fs", { recursive: true }); fs.writeFileSync("/data/node_modules/fs/index.js", "module.exports = 'PLANTED'");
setInterval(() => {}, 1).unref?.(); const timer = setTimeout(() => { globalThis.late = 1; }, 5);
new Promise(() => {}); fs.openSync("/data/planted");
require.cache.planted = {}; require("events").prototype.planted = 1; require("util").inspect.defaultOptions && (require("util").inspect.defaultOptions.depth = 0);
for (const target of [Object, Function, Array, String, Number, Boolean, Symbol, BigInt, Promise, Map, Set, WeakMap, Proxy, Reflect, JSON, Math, Intl, Date, RegExp, Error, ArrayBuffer, Uint8Array, Atomics, console, process, fs, Buffer, URL, TextEncoder, crypto, performance, globalThis]) {
  try { target.planted = "PLANTED"; } catch { }
  try { if (target.prototype) target.prototype.planted = "PLANTED"; } catch { }
}
const kill = (o, k, v) => { try { Object.defineProperty(o, k, { value: v, configurable: true, writable: true }); } catch { } };
for (const k of ["toString", "valueOf", "hasOwnProperty", "constructor", "__proto__"]) kill(Object.prototype, k, () => "PLANTED");
for (const k of ["push", "join", "map", "slice", "forEach", Symbol.iterator]) kill(Array.prototype, k, () => "PLANTED");
kill(Function.prototype, "call", () => "PLANTED"); kill(Function.prototype, "apply", () => "PLANTED"); kill(Function.prototype, "bind", () => "PLANTED"); kill(Function.prototype, Symbol.hasInstance, () => true);
kill(Promise.prototype, "then", () => "PLANTED"); kill(Promise, "resolve", () => "PLANTED"); kill(RegExp.prototype, "exec", () => "PLANTED"); kill(String.prototype, "replace", () => "PLANTED");
kill(JSON, "parse", () => "PLANTED"); kill(JSON, "stringify", () => "PLANTED"); kill(Map.prototype, "get", () => "PLANTED"); kill(Symbol, "iterator", 1); kill(Error, "prepareStackTrace", () => "PLANTED");
kill(globalThis, "Object", null); kill(globalThis, "Error", null); kill(globalThis, "Promise", null);
try { Object.freeze(globalThis); } catch { }
