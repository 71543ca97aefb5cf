// Streams that an AbortSignal ends.
const { Readable, Writable, PassThrough, addAbortSignal } = require('stream');
const { pipeline } = require('stream/promises');
const idle = () => new Readable({ read() {} });
const tell = async (name, run) => { try { console.log(name, 'ok', await run()); } catch (e) { console.log(name, e.name, e.code, e.message, e.cause?.message); } };
const ended = (stream) => new Promise((resolve, reject) => stream.on('error', reject).on('close', resolve));
(async () => {
  await tell('later', () => {
    const c = new AbortController();
    setTimeout(() => c.abort(new Error('enough')), 1);
    return pipeline(idle(), new PassThrough(), { signal: c.signal });
  });
  await tell('before', () => pipeline(Readable.from(['a']), new PassThrough(), { signal: AbortSignal.abort() }));
  await tell('never', () => pipeline(Readable.from(['a']), new PassThrough().resume(), { signal: new AbortController().signal }));
  await tell('added', () => {
    const c = new AbortController();
    const stream = addAbortSignal(c.signal, idle());
    setTimeout(() => c.abort(), 1);
    return ended(stream);
  });
  await tell('iterated', async () => {
    const c = new AbortController();
    const stream = new Readable({ objectMode: true, signal: c.signal, read() { this.push(1); } });
    let n = 0;
    for await (const x of stream) if ((n += x) === 3) c.abort();
  });
  await tell('writable', () => {
    const c = new AbortController();
    const stream = new Writable({ signal: c.signal, write(chunk, encoding, done) { c.abort(); setTimeout(done, 5); } });
    stream.write('x');
    return ended(stream);
  });
  await tell('no signal', () => addAbortSignal({}, idle()));
})();
