// process, require and other globals, compared with Node's own output.
const show = (f) => {
  try {
    console.log(f());
  } catch (e) {
    console.log(e.name, e.code, e.message.split("\n")[0]);
  }
};
console.log(process.argv.length >= 2, process.argv.slice(2), typeof process.env, process.env.NOT_THERE, typeof process.pid, process.platform, typeof process.version, typeof process.uptime(), process.exitCode);
process.env.SET_HERE = 5;
console.log(process.env.SET_HERE, "SET_HERE" in process.env, delete process.env.SET_HERE, process.env.SET_HERE);
console.log(process.stdout.write("written\n"), process.stdout.isTTY === true, typeof process.stdout.fd);
const [s, ns] = process.hrtime();
console.log(typeof s, typeof ns, typeof process.hrtime.bigint(), process.hrtime([s, ns])[0] >= 0);
console.log(typeof process.memoryUsage().heapUsed, typeof process.cwd(), process.release.name, Object.prototype.toString.call(process), String(process));
console.log(typeof require, typeof module, typeof exports, typeof __filename, typeof __dirname, module.exports === exports, require.main === module, typeof require.resolve);
console.log(require("path") === require("node:path"), require("fs").promises === require("fs/promises"), require("events") === require("node:events"), require("assert").strict === require("assert/strict"));
show(() => require("lodash"));
show(() => require("./none.js"));
show(() => require("node:nope"));
show(() => require(""));
show(() => require(5));
for (const name of ["globalThis", "global", "console", "process", "Buffer", "URL", "URLSearchParams", "TextEncoder", "TextDecoder", "structuredClone", "queueMicrotask", "setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate", "fetch", "Headers", "Request", "Response", "FormData", "Blob", "AbortController", "AbortSignal", "Event", "EventTarget", "crypto", "performance", "atob", "btoa", "DOMException", "Intl", "WeakRef", "FinalizationRegistry"]) {
  const d = Object.getOwnPropertyDescriptor(globalThis, name);
  console.log(name, typeof globalThis[name], d.enumerable === (["setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate", "queueMicrotask", "structuredClone", "atob", "btoa", "performance", "fetch", "crypto", "global"].includes(name)));
}
const t0 = performance.now();
console.log(typeof t0, performance.now() >= t0, typeof performance.timeOrigin, performance.mark("m").name, performance.measure("x", "m").entryType, performance.getEntriesByName("m").length);
console.log(new DOMException("msg", "AbortError").code, new DOMException("m").name, new DOMException("a", "DataCloneError") instanceof Error);
process.on("exit", (code) => console.log("exit listener", code, process.exitCode));
process.exitCode = 0;
const { EOL, platform, tmpdir, constants } = require("os");
console.log(JSON.stringify(EOL), typeof platform(), typeof tmpdir(), constants.errno.ENOENT, constants.signals.SIGINT);
