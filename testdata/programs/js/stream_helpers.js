// Helpers of readable streams, parts of their data, and what writable ones tell.
const { Readable, Writable, PassThrough, finished } = require("stream");
const { pipeline, finished: whenFinished } = require("stream/promises");
const of = (...list) => Readable.from(list);
const check = async (name, act) => {
  try {
    console.log(name, await act());
  } catch (error) {
    console.log(name, error.name, error.code, error.message);
  }
};
const tick = () => new Promise((resolve) => setTimeout(resolve, 1));

async function main() {
  const add = (a, b) => a + b;
  await check("reduce", () => of(1, 2, 3).reduce(add));
  await check("reduce from", () => of(1, 2, 3).reduce(add, 10));
  await check("reduce from undefined", () => of(1, 2).reduce(add, undefined));
  await check("reduce nothing", () => of().reduce(add));
  await check("reduce nothing from", () => of().reduce(add, 5));
  await check("map", () => of(3, 1, 2).map(async (x) => x * 2, { concurrency: 2 }).toArray());
  await check("map fails", () => of(1, 2).map((x) => { if (x === 2) throw new Error("two"); return x; }, { concurrency: 3 }).toArray());
  await check("flatMap", () => of(1, 2).flatMap((x) => [x, x]).toArray());
  for (const name of ["map", "filter", "flatMap", "forEach", "reduce", "find", "some", "every"]) await check(name, () => of(1)[name](5));
  await check("take", () => of(1).take(-1).toArray());
  await check("drop", () => of(1).drop(-1).toArray());
  await check("compose", () => of("a", "b").compose(async function* (source) { for await (const x of source) yield x.toUpperCase(); }).toArray());
  await check("iterator", async () => {
    const stream = of(1, 2, 3);
    for await (const x of stream.iterator({ destroyOnReturn: false })) if (x === 1) break;
    return [stream.destroyed, await stream.toArray(), stream.destroyed];
  });
  await check("a generator is told that nobody reads on", async () => {
    const made = (async function* () { try { yield 1; yield 2; } finally { console.log("cleaned up"); } })();
    for await (const x of Readable.from(made)) if (x === 1) break;
    await tick();
  });
  await check("parts", async () => {
    const stream = new Readable({ read() {} });
    const parts = [];
    stream.on("readable", () => { for (let part; (part = stream.read(4)) !== null;) parts.push(String(part)); });
    stream.push("hello");
    await tick();
    parts.push("then");
    stream.push("world");
    stream.push(null);
    await whenFinished(stream);
    return parts;
  });
  await check("corked", async () => {
    const stream = new Writable({ writev(chunks, done) { console.log(chunks.map((c) => `${c.chunk}`)); done(); } });
    stream.cork();
    for (const c of "abc") stream.write(c);
    console.log(stream.writableLength);
    stream.uncork();
    stream.end("d");
    await whenFinished(stream);
  });
  await check("written after its end", async () => {
    const stream = new Writable({ write(chunk, encoding, done) { done(); } });
    stream.on("error", (error) => console.log("event", error.code));
    stream.end();
    stream.write("x", (error) => console.log("callback", error.code));
    await tick();
  });
  await check("ended too early", async () => {
    const stream = new PassThrough();
    setImmediate(() => stream.destroy());
    await whenFinished(stream);
  });
  await check("piped", async () => {
    const events = [];
    const target = new Writable({ write(chunk, encoding, done) { events.push(`${chunk}`); done(); } });
    for (const name of ["pipe", "unpipe", "finish", "close"]) target.on(name, () => events.push(name));
    of("x", "y").pipe(target);
    await whenFinished(target);
    await tick();
    return events;
  });
  await check("piped no more", async () => {
    const source = new Readable({ read() {} });
    const target = new PassThrough();
    source.pipe(target);
    source.push("a");
    await tick();
    source.unpipe(target);
    source.push("b");
    await tick();
    return [`${target.read()}`, `${source.read()}`, target.writableEnded];
  });
  const both = new PassThrough();
  const lines = require("readline").createInterface({ input: of("a") });
  lines.close();
  console.log(lines.closed);
  console.log(both instanceof Readable, both instanceof Writable, of(1) instanceof Writable, of(1).readableHighWaterMark, finished.length > 0);
  await check("pipeline", () => pipeline(of("a", "b"), async function* (source) { for await (const x of source) yield `${x}!`; }, async (source) => (await source[Symbol.asyncIterator]().next()).value));
  try {
    require("fs").createReadStream();
  } catch (error) {
    console.log(error.name, error.code);
  }
}
main();
