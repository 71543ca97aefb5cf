// What packages of npm do when they are loaded: classes made the old way, frames of the stack, modules for sockets, channels.
const util = require("util");
const stream = require("stream");
const http = require("http");
const https = require("node:https");
const net = require("net");

function Upper(options) {
  if (!(this instanceof Upper)) return new Upper(options);
  stream.Transform.call(this, options);
}
util.inherits(Upper, stream.Transform);
Upper.prototype._transform = function (chunk, encoding, done) { done(null, chunk.toString().toUpperCase()); };
const u = Upper();
const texts = [];
u.on("data", (d) => texts.push(d.toString())).on("end", () => console.log("old", texts));
u.end("text");
function Plain() { stream.call(this); }
util.inherits(Plain, stream);
console.log(new Plain() instanceof stream.Stream, new Plain().pipe !== undefined, stream.Readable.name, stream.Writable({ write() {} }) instanceof stream.Writable);
class Numbers extends stream.Readable {
  n = 0;
  constructor() { super({ objectMode: true }); }
  _read() { this.push(this.n < 3 ? String(this.n++) : null); }
}
const kept = new stream.Writable({ autoDestroy: false, write(c, e, done) { done(); } });
kept.end("x", () => setTimeout(async () => {
  console.log("kept", kept.destroyed, kept.writableFinished);
  for await (const d of new Numbers()) console.log("class", d);
}, 5));

function frames() {
  const had = Error.prepareStackTrace;
  Error.prepareStackTrace = (error, sites) => sites;
  const holder = {};
  Error.captureStackTrace(holder, frames);
  const { stack } = holder;
  Error.prepareStackTrace = had;
  return stack;
}
function caller() { return frames()[0]; }
const site = caller();
console.log(site.getFunctionName(), site.isEval(), site.isNative(), site.isConstructor(), site.isAsync(), typeof site.getLineNumber(), site.getEvalOrigin(), /^caller \(.*:\d+:\d+\)$/.test(`${site}`));

console.log(http.METHODS.length, http.STATUS_CODES[418], http.STATUS_CODES[200], typeof http.Agent, https.globalAgent.defaultPort, https.globalAgent.protocol, http.maxHeaderSize);
console.log(["::1", "1.2.3.4", "1.2.3", "256.1.1.1", "fe80::1%eth0", "x", "::ffff:1.2.3.4", "1:2"].map((a) => net.isIP(a)).join());
class Mine extends http.Agent {}
console.log(new Mine({ keepAlive: true }).maxSockets, typeof require("dns").promises.lookup, typeof require("tls").connect, typeof require("vm").Script, require("cluster").isPrimary);
for (const bad of [
  () => http.get("https://x.example/"), () => http.request({ path: "/a b" }), () => http.request("http://h.example", { method: "A B" }),
  () => http.request("http://h.example", { headers: { "a b": "1" } }), () => http.request("http://h.example", { headers: { a: undefined } }),
  () => http.request("http://h.example", { headers: { a: "x\n" } }), () => https.get("nonsense"), () => http.request("http://h.example", { method: 5 }),
]) {
  try {
    bad();
    console.log("no error");
  } catch (e) {
    console.log(e.name, e.code, e.message);
  }
}

const channels = require("diagnostics_channel");
const channel = channels.channel("mine");
console.log(channel.hasSubscribers, channels.hasSubscribers("mine"));
const told = (message, name) => console.log("told", message, name);
channel.subscribe(told);
channel.publish({ a: 1 });
console.log(channel.unsubscribe(told), channel.unsubscribe(told), channels.channel("mine") === channel);
