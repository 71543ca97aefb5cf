// What packages look at and set of a stream's state, streams of several, and classes of files' streams.
const { Readable, Writable, Duplex, PassThrough, Transform, Stream, compose, duplexPair, isReadable, isWritable, isErrored, isDisturbed, destroy } = require("stream");
const { EventEmitter } = require("events");
const fs = require("fs");
const util = require("util");
const tick = () => new Promise((resolve) => setTimeout(resolve, 5));

async function main() {
  const r = new Readable({ objectMode: true, read() {} });
  console.log(r._readableState.objectMode, r._readableState.ended, r._readableState.flowing, r._readableState.length, r._writableState);
  r.push({ a: 1 });
  console.log(r._readableState.length, isReadable(r), isWritable(r), isDisturbed(r));
  r.push(null);
  console.log(r._readableState.ended, r._readableState.endEmitted, await r.toArray(), r._readableState.endEmitted, isReadable(r));
  const w = new Writable({ write(chunk, encoding, done) { this.kept = chunk; done(); } });
  console.log(w._writableState.objectMode, w._writableState.highWaterMark > 0, w._writableState.ending, w._writableState.getBuffer(), w._readableState);
  w._writableState.objectMode = true;
  w.write({ now: "an object" });
  console.log(w.kept, isWritable(w));
  w.end();
  await tick();
  console.log(w._writableState.finished, w._writableState.ended, isWritable(w));
  const both = new PassThrough();
  console.log(typeof both._readableState, typeof both._writableState, both._readableState === both._readableState);
  destroy(both.on("error", (error) => console.log("destroyed:", error.message)), new Error("enough"));
  await tick();
  console.log(isErrored(both), both._readableState.destroyed);

  const upper = new Transform({ transform(chunk, encoding, done) { done(null, String(chunk).toUpperCase()); } });
  const twice = compose(upper, async function* (source) { for await (const chunk of source) yield `${chunk}${chunk}`; });
  twice.end("ab");
  console.log(String(await twice.toArray()));
  const [left, right] = duplexPair();
  right.on("data", (chunk) => right.write(`echo ${chunk}`));
  left.on("data", (chunk) => console.log(String(chunk)));
  left.write("hi");
  await tick();

  const late = new Writable({
    construct(done) { setTimeout(() => { console.log("constructed"); done(); }, 2); },
    write(chunk, encoding, done) { console.log("written", String(chunk)); done(); },
  });
  late.write("x");
  await tick();
  class Source extends Readable {
    _construct(done) { console.log("begins"); this.n = 0; done(); }
    _read() { this.push(this.n++ < 2 ? String(this.n) : null); }
  }
  console.log(Buffer.concat(await new Source().toArray()).toString());
  new Duplex({ construct(done) { done(new Error("no")); }, read() {}, write() {} }).on("error", (error) => console.log(error.message));
  await tick();

  // Made the old way, without pause and resume.
  function Legacy() { Stream.call(this); this.readable = true; }
  util.inherits(Legacy, Stream);
  const legacy = new Legacy();
  const sink = new Writable({ write(chunk, encoding, done) { console.log("from legacy", String(chunk)); done(); } });
  legacy.pipe(sink);
  legacy.emit("data", "1");
  legacy.emit("end");
  await tick();
  console.log(sink.writableFinished);

  // off and removeListener do not call each other.
  class Odd extends EventEmitter {
    off(event, fn) { console.log("off"); return super.off(event, fn); }
    removeListener(event, fn) { return this.off(event, fn); }
  }
  const odd = new Odd();
  const listener = () => {};
  odd.on("x", listener).removeListener("x", listener);
  console.log(odd.listenerCount("x"));

  const file = require("path").join(require("os").tmpdir(), `cloche-states-${process.pid}.txt`);
  const out = new fs.WriteStream(file);
  out.end("in a file");
  await new Promise((resolve) => out.on("close", resolve));
  const back = fs.createReadStream(file);
  console.log(back instanceof fs.ReadStream, back instanceof Readable, fs.createWriteStream(file, { flags: "a" }).end() instanceof fs.WriteStream, String(await back.toArray()));
  function Wrapped(path) { return fs.ReadStream.call(this, path); }
  Object.setPrototypeOf(Wrapped.prototype, fs.ReadStream.prototype);
  console.log(String(await new Wrapped(file).toArray()), fs.realpath.native === undefined);
  fs.unlinkSync(file);
}
main();
