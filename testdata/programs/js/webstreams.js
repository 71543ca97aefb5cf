// What programs do with the web's streams. The output is Node's.
async function main() {
  const log = (...a) => console.log(...a);
  const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const failing = async (name, fn) => {
    try {
      log(name, await fn());
    } catch (e) {
      log(name, "->", e?.name ?? e, e?.message ?? "");
    }
  };
  const collect = async (stream) => {
    const all = [];
    for await (const chunk of stream) all.push(chunk);
    return all;
  };
  const numbers = (n, strategy, told = {}) => {
    let i = 0;
    return new ReadableStream({
      start() { told.events = []; },
      pull(c) {
        told.events.push(`pull ${i}`);
        if (i < n) c.enqueue(i++);
        else c.close();
      },
      cancel(reason) { told.events.push(`cancel ${reason}`); },
    }, strategy);
  };

  log(await collect(numbers(3)));
  let told = {};
  let s = numbers(9, { highWaterMark: 2 }, told);
  await sleep(5);
  log(told.events, s.locked);
  let reader = s.getReader();
  log(await reader.read(), s.locked);
  await failing("second reader", () => s.getReader());
  await failing("cancel while locked", () => s.cancel());
  await reader.cancel("enough");
  log(told.events.at(-1), await reader.read(), await reader.closed);
  reader.releaseLock();
  await failing("released", () => reader.read());

  told = {};
  for await (const n of numbers(9, undefined, told)) if (n === 1) break;
  log(told.events.at(-1));
  for await (const n of (s = numbers(3)).values({ preventCancel: true })) if (n === 0) break;
  log(s.locked, await collect(s));

  await failing("error", () => collect(new ReadableStream({ start(c) { c.enqueue(1); c.error(new RangeError("broken")); } })));
  await failing("error in pull", () => collect(new ReadableStream({ pull() { throw new RangeError("pull"); } })));
  await failing("error in start", () => new ReadableStream({ start() { throw new RangeError("start"); } }));
  await failing("enqueue after close", () => new ReadableStream({ start(c) { c.close(); c.enqueue(1); } }));
  await failing("size", () => new ReadableStream({ start(c) { c.enqueue("abc"); log(c.desiredSize); } }, { highWaterMark: 10, size: (x) => x.length }).locked);
  await failing("bad mark", () => new ReadableStream({}, { highWaterMark: -1 }));

  const [a, b] = numbers(3).tee();
  log(await Promise.all([collect(a), collect(b)]));
  told = {};
  const [c, d] = numbers(3, undefined, told).tee();
  await Promise.all([c.cancel("c"), d.cancel("d")]);
  log(told.events.at(-1));

  const bytes = new ReadableStream({ type: "bytes", start(c) { c.enqueue(new Uint8Array([1, 2, 3, 4, 5])); c.enqueue(new Uint8Array([6])); c.close(); } });
  reader = bytes.getReader({ mode: "byob" });
  log([...(await reader.read(new Uint8Array(3))).value], [...(await reader.read(new Uint8Array(2))).value], [...(await reader.read(new Uint8Array(9))).value]);
  log((await reader.read(new Uint8Array(3))).done);

  // Writing.
  const events = [];
  let w = new WritableStream({
    start() { events.push("start"); },
    async write(chunk) { await sleep(1); events.push(`write ${chunk}`); },
    close() { events.push("close"); },
    abort(reason) { events.push(`abort ${reason}`); },
  }, { highWaterMark: 2 });
  let writer = w.getWriter();
  log(writer.desiredSize);
  writer.write(1);
  const second = writer.write(2);
  log(writer.desiredSize);
  await writer.ready;
  log(writer.desiredSize);
  await second;
  await writer.close();
  log(events, writer.desiredSize);

  events.length = 0;
  w = new WritableStream({ write(x) { if (x === 2) throw new RangeError("no 2"); events.push(x); }, abort(r) { events.push(`abort ${r}`); } });
  writer = w.getWriter();
  await Promise.allSettled([writer.write(1), writer.write(2), writer.write(3)]).then((r) => log(r.map((x) => x.reason?.message ?? x.status)));
  await failing("closed", () => writer.closed);
  w = new WritableStream({ abort(r) { events.push(`abort ${r}`); } });
  await w.abort("why");
  log(events);
  await failing("after abort", () => w.getWriter().write(1));

  // Pipes.
  const upper = () => new TransformStream({ transform(x, c) { c.enqueue(String(x).toUpperCase()); }, flush(c) { c.enqueue("end"); } });
  log(await collect(ReadableStream.from(["a", "b"]).pipeThrough(upper()).pipeThrough(new TransformStream())));
  const out = [];
  told = {};
  await failing("sink fails", () => numbers(9, undefined, told).pipeTo(new WritableStream({ write(x) { if (x === 2) throw new Error("full"); out.push(x); } })));
  log(out, told.events.at(-1));
  await failing("source fails", () => ReadableStream.from((function* () { yield 1; throw new Error("dry"); })()).pipeTo(new WritableStream({ abort(r) { log("abort", r.message); } })));
  const control = new AbortController();
  setTimeout(() => control.abort(), 5);
  told = {};
  await failing("signal", () => new ReadableStream({ async pull(c) { await sleep(1); c.enqueue(1); }, cancel(r) { log("cancel", r.name); } }).pipeTo(new WritableStream(), { signal: control.signal }));
  await failing("transform fails", () => collect(numbers(3).pipeThrough(new TransformStream({ transform() { throw new RangeError("t"); } }))));
  log(await collect(numbers(9).pipeThrough(new TransformStream({ transform(x, c) { if (x === 2) c.terminate(); else c.enqueue(x); } }))));
  let made = 0;
  const slow = new ReadableStream({ pull(c) { c.enqueue(made++); } }, { highWaterMark: 0 }).pipeThrough(new TransformStream()).getReader();
  await slow.read();
  await sleep(5);
  log("read ahead", made < 5);

  // Text.
  const text = new TextEncoder().encode("aé☕😀");
  const cut = [...text].map((x) => new Uint8Array([x]));
  log((await collect(ReadableStream.from(cut).pipeThrough(new TextDecoderStream()))).join(""));
  await failing("fatal", () => collect(ReadableStream.from([new Uint8Array([0xff])]).pipeThrough(new TextDecoderStream("utf-8", { fatal: true }))).then(() => "no error", (e) => e.name));
  log(Buffer.concat(await collect(ReadableStream.from(["a\ud83d", "\ude00", "\ud83d"]).pipeThrough(new TextEncoderStream()))).toString());
  log(await new Response(new Blob(["bl", "ob"]).stream()).text(), (await new Response(ReadableStream.from([new Uint8Array([104, 105])])).blob()).size);
  const r = new Response("text");
  log(r.body === r.body, r.body.locked, r.bodyUsed, await r.text(), r.bodyUsed);
  await failing("read twice", () => r.text());
  const both = new Response(ReadableStream.from([text]));
  const copy = both.clone();
  log(await both.text(), await copy.text());
  log(Object.prototype.toString.call(new ReadableStream()), typeof ReadableStream.prototype.tee, new CountQueuingStrategy({ highWaterMark: 3 }).highWaterMark,
    new ByteLengthQueuingStrategy({ highWaterMark: 9 }).size(new Uint8Array(4)));
  const free = [ReadableStream.from([1]), new WritableStream()];
  await failing("no signal", () => free[0].pipeTo(free[1], { signal: {} }).then(() => "no error", (e) => `${e.code} ${free.map((f) => f.locked)}`));
}
main();
