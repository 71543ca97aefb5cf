// Streams: state and back-pressure, helpers, consumers, Duplex.from, compression of the web, and rejections of listeners.
const { EventEmitter } = require("node:events");
const { Readable, Writable, PassThrough, Duplex, pipeline } = require("node:stream");
const { text, json, buffer } = require("node:stream/consumers");
const { setTimeout: sleep } = require("node:timers/promises");

async function main() {
  const emitter = new EventEmitter({ captureRejections: true });
  emitter.on("error", (error) => console.log("caught", error.message));
  emitter.on("go", async () => { throw new Error("in a listener"); });
  emitter.emit("go");
  await sleep(5);

  console.log(await text(Readable.from(["he", "llo"])), await json(Readable.from(['{"a":', "1}"])), await buffer(Readable.from([Buffer.from("x")])));

  const out = new Writable({ highWaterMark: 3, write(chunk, encoding, done) { setTimeout(done, 1); } });
  console.log(out.write("ab"), out.write("cd"), out.writableLength, out.writableNeedDrain, out.writableEnded, out.writableHighWaterMark);
  await new Promise((resolve) => out.once("drain", resolve));
  console.log("drained", out.writableLength);
  out.end();
  await new Promise((resolve) => out.on("finish", resolve));
  console.log(out.writableEnded, out.writableFinished);

  const slow = new Writable({ objectMode: true, highWaterMark: 2, write(chunk, encoding, done) { setTimeout(done, 1); } });
  let waits = 0;
  for (let i = 0; i < 10; i++) {
    if (slow.write({ i })) continue;
    waits++;
    await new Promise((resolve) => slow.once("drain", resolve));
  }
  console.log("waits", waits);

  const source = new Readable({ read() {} });
  source.push("abcdef");
  console.log(source.readableLength, source.readableFlowing, source.readableEnded, String(source.read()));

  const lengths = Duplex.from(async function* (chunks) { for await (const chunk of chunks) yield String(chunk).length; });
  lengths.end("12345");
  for await (const length of lengths) console.log("length", length);
  for await (const item of Duplex.from(["a", "b"])) console.log(item);
  const through = new PassThrough();
  const both = Duplex.from({ readable: through, writable: through });
  both.end("both");
  for await (const chunk of both) console.log(String(chunk));

  const numbers = () => Readable.from([1, 2, 3, 4]);
  console.log(await numbers().take(2).toArray(), await numbers().drop(3).toArray(), await numbers().take(1).flatMap((x) => [x, x]).toArray());
  console.log(await numbers().find((x) => x > 2), await numbers().some((x) => x > 9), await numbers().every((x) => x > 0));
  console.log(await new Response(Readable.toWeb(Readable.from([Buffer.from("web")]))).text());

  const packed = new Blob(["zip ".repeat(50)]).stream().pipeThrough(new CompressionStream("gzip"));
  console.log((await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text()).length);
  try { new CompressionStream("br"); } catch (error) { console.log(error.name, error.code); }

  await new Promise((resolve) => pipeline(Readable.from(["z"]), new PassThrough(), (error) => resolve(console.log("written", error))));
}
main();
