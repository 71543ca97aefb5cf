// Smaller modules and classes: punycode, messages, marks of time, types of media, colours of text, Node's loader.
const punycode = require("module").createRequire(__filename)("punycode");
const util = require("util");
const { BroadcastChannel, MessageChannel, receiveMessageOnPort, setEnvironmentData, getEnvironmentData } = require("worker_threads");
const { PerformanceObserver, performance } = require("perf_hooks");
const Module = require("module");

async function main() {
  console.log(punycode.encode("mañana"), punycode.decode("maana-pta"), punycode.toASCII("mañana.com"), punycode.toUnicode("xn--maana-pta.com"), punycode.toASCII("джумла@джpумлатест.bрфa"), punycode.ucs2.decode("a💩"), punycode.ucs2.encode([97, 128169]));
  try { punycode.decode("\u00e9"); } catch (error) { console.log(error.name); }

  const [a, b, other] = ["news", "news", "else"].map((name) => new BroadcastChannel(name));
  const heard = new Promise((resolve) => { b.onmessage = (event) => resolve([event.data, event.type, event instanceof MessageEvent]); });
  other.onmessage = () => console.log("not for this one");
  a.onmessage = () => console.log("not for its sender");
  a.postMessage({ n: [1, 2] });
  console.log(await heard);
  for (const channel of [a, b, other]) channel.close();
  try { a.postMessage(1); } catch (error) { console.log(error.name); }
  const { port1, port2 } = new MessageChannel();
  port1.postMessage("first");
  console.log(receiveMessageOnPort(port2), receiveMessageOnPort(port2));
  port1.close();
  setEnvironmentData("k", { v: 1 });
  console.log(getEnvironmentData("k"), new MessageEvent("message", { data: 5 }).data);

  const seen = new Promise((resolve) => new PerformanceObserver((list, observer) => {
    observer.disconnect();
    resolve(list.getEntries().map((e) => [e.constructor.name, e.entryType, e.name]));
  }).observe({ entryTypes: ["mark", "measure"] }));
  performance.mark("begin");
  performance.measure("whole", "begin");
  console.log(await seen, performance.getEntriesByName("whole")[0] instanceof PerformanceMeasure);

  const mime = new util.MIMEType("Text/HTML; charset=\"utf-8\"; q=a b");
  console.log(mime.essence, mime.params.get("charset"), String(mime), mime.type, mime.subtype);
  try { new util.MIMEType("nothing"); } catch (error) { console.log(error.code); }
  console.log(JSON.stringify([util.styleText(["red", "bold"], "x", { validateStream: false }), util.styleText("green", "plain")]));
  console.log(require("buffer").transcode(Buffer.from("€é"), "utf8", "latin1"));

  const made = new Module("/tmp/made.js");
  made.filename = "/tmp/made.js";
  made._compile("exports.file = __filename; exports.sum = require('path').join('a', 'b');", "/tmp/made.js");
  console.log(made.exports, Module.Module === Module, Module.wrap("x").startsWith("(function (exports"), Module._nodeModulePaths("/a/b"), process.getBuiltinModule("fs") === require("fs"), process.getBuiltinModule("nope"));
}
main();
