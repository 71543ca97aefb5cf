// What a reader of bytes gets at once: all that is there.
const { PassThrough, Readable, Transform } = require("stream");
const first = (async () => { const pt = new PassThrough(); pt.write('a'); pt.write('b'); pt.end('c'); for await (const c of pt) console.log(c.toString());
const p2 = new PassThrough(); p2.write('a'); p2.write('b'); p2.on('readable',()=>{let c; while((c=p2.read())!==null) console.log('r',c.toString())}); p2.end('z'); await new Promise(r=>p2.on('end',r));
const r=new Readable({read(){}}); r.push('x'); r.push('y'); r.push(null); for await (const c of r) console.log(String(c));
const r2=new Readable({read(){}}); r2.setEncoding('utf8'); r2.push(Buffer.from([0xc3])); r2.push(Buffer.from([0xbc])); r2.push('q'); r2.push(null); for await (const c of r2) console.log(c);
const r3=new Readable({read(){}}); r3.push('hello'); r3.push(' world'); r3.push(null); console.log(r3.read(3)?.toString(), r3.read(4)?.toString(), r3.read(100), r3.readableLength, r3.read()?.toString());
const r4=new Readable({read(){}}); r4.push('x'); r4.push('y'); r4.push(null); r4.on('data',c=>console.log('d',String(c))); await new Promise(r=>r4.on('end',r));
const t=new Transform({transform(c,e,cb){for(const x of c.toString()) this.push(x); cb()}}); t.end('abc'); const o=[]; for await(const c of t) o.push(c.toString()); console.log(o);
const t2=new Transform({transform(c,e,cb){for(const x of c.toString()) this.push(x); cb()}}); t2.end('abc'); const o2=[]; t2.on('data',c=>o2.push(c.toString())); await new Promise(r=>t2.on('end',r)); console.log(o2, t2.readableEnded);
})();
first.then(async () => {
  const { pipeline } = require('stream/promises');
  const up = new Transform({ transform(c, e, cb) { cb(null, c.toString().toUpperCase()); }, flush(cb) { this.push('!'); cb(); } });
  const got = [];
  await pipeline(Readable.from(['a', 'b', 'ü']), up, async function* (source) { for await (const c of source) yield `<${c}>`; }, async (source) => { for await (const c of source) got.push(c); });
  console.log(got);
  const numbers = Readable.from((function* () { for (let i = 0; i < 3; i++) { console.log('made', i); yield i; } })());
  numbers.on('data', (n) => console.log('got', n));
  await new Promise((r) => numbers.on('end', r));
  const paused = Readable.from([1, 2, 3]);
  paused.on('data', (n) => { console.log(n, paused.isPaused()); paused.pause(); setTimeout(() => paused.resume(), 1); });
  await new Promise((r) => paused.on('end', r));
  for await (const p of Readable.from([Promise.resolve('later'), 'now'])) console.log(p);
  await Readable.from([1, 2, Promise.reject(new Error('third'))]).forEach((n) => console.log(n)).catch((e) => console.log(e.message));
});
