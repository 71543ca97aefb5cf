// Attempts: to go on after its deadline: loops in every place in which the language runs a program's code, loops in its
//   library, the job queue that never ends, host functions; a form a turn.
// Stopped by: the timeout; the program cannot catch it. Where memory is full first, by that.
// run: status=ok timeout=60s
globalThis.kept = { a: 1 };
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;);
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
while (true) { try { while (true); } catch { } finally { continue; } }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
try { for (;;); } finally { for (;;); }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
(function f() { Promise.resolve().then(f); })()
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
(function f() { queueMicrotask(f); })()
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
(function f() { process.nextTick(f); })()
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
(function f() { setImmediate(f); })()
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
(function f() { setTimeout(f, 0); })()
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
setInterval(() => {}, 0)
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
await new Promise(() => setTimeout(() => {}, 1e8))
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
(async () => { for (;;) { try { await null; } catch { } finally { } } })()
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
async function* g() { for (;;) yield 1; } for await (const x of g());
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const g = (function* () { for (;;) try { yield; } finally { continue; } })(); g.next(); for (;;) g.return(); }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
process.on('exit', () => { for (;;); })
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
process.on('uncaughtException', () => { for (;;); }); throw 1
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
process.on('unhandledRejection', () => { for (;;); }); Promise.reject(1)
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
process.on('beforeExit', () => { for (;;); })
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
process.on('SIGINT', () => { }); for (;;);
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
({ get x() { for (;;); }, toJSON() { for (;;); } }).x
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
({ [Symbol.for('nodejs.util.inspect.custom')]() { for (;;); } })
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
JSON.stringify({ toJSON() { for (;;); } })
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
Object.keys(new Proxy({}, { ownKeys() { for (;;); } }))
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
Promise.resolve({ then(r) { for (;;); } })
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
await ({ then() { for (;;); } })
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
Error.prepareStackTrace = () => { for (;;); }; throw new Error
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const e = new Error; Object.defineProperty(e, 'stack', { get() { for (;;); } }); throw e }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const e = { get name() { for (;;); }, get message() { for (;;); }, toString() { for (;;); } }; throw e }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
class E extends Error { get message() { for (;;); } } throw new E
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
globalThis.console = { get log() { for (;;); } }; console.log()
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
new FinalizationRegistry(() => { for (;;); }).register({}, 1); for (;;) ({});
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
/(a+)+$/.test('a'.repeat(64) + 'b')
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
/(?:a|a)*$/.exec('a'.repeat(50) + 'b')
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
'x'.repeat(2 ** 20).replace(/(x+x+)+y/, '')
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
2n ** (2n ** 40n)
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ let b = 3n; for (;;) b = b * b; }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
BigInt('9'.repeat(1e6)).toString(7)
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
[...Array(1e6).keys()].sort(() => { for (;;); })
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;) new Float64Array(1e6).map(Math.random).sort()
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
new Array(2 ** 32 - 1).indexOf(1)
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
new Array(2 ** 32 - 1).fill(0)
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1)
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;) 'a'.repeat(1e7).split('').join('b')
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;) JSON.stringify([...Array(1e5).keys()])
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const s = 'ab'.repeat(1e6); for (;;) s.replaceAll('ab', 'c') }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;) '\u0340'.repeat(1e5).normalize('NFKD')
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const s = ('a'.repeat(5000) + 'b').repeat(1000); for (;;) s.indexOf('a'.repeat(5000) + 'c') }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const c = require('crypto'), b = Buffer.alloc(100e6); for (;;) c.createHash('sha512').update(b).digest() }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const c = require('crypto'); for (;;) c.randomBytes(1e6) }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const b = Buffer.alloc(50e6); for (;;) b.toString('hex') }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const b = Buffer.alloc(50e6, 255); for (;;) b.toString('utf8') }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const s = 'ü'.repeat(1e7); for (;;) Buffer.from(s, 'latin1') }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const s = 'x'.repeat(5e7); for (;;) new TextEncoder().encode(s) }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const fs = require('fs'); fs.writeFileSync('a', Buffer.alloc(20e6)); for (;;) fs.readFileSync('a') }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const fs = require('fs'); for (let i = 0; i < 5000; i++) fs.writeFileSync('f' + i, ''); for (;;) fs.readdirSync('.') }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const s = 'x'.repeat(1e7); for (;;) console.log(s) }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;) process.stdout.write('x')
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const b = new Uint8Array(1e8); for (;;) b.fill(1), b.slice() }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9); for (;;);
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;) structuredClone([...Array(1e5).keys()])
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;) new Intl.NumberFormat('de').format(Math.random())
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const d = new Intl.DateTimeFormat('en', { timeZone: 'Asia/Tokyo' }); for (;;) d.format(new Date(Math.random() * 1e12)) }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;) ['b', 'a'].sort(new Intl.Collator('de').compare)
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;) eval('1')
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;) new Function('return ' + '1+'.repeat(1e5) + '1')
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (;;) try { null.x } catch { }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
{ const p = new Proxy([], {}); p[Symbol.iterator] = function* () { for (;;) yield 1; }; [...p] }
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for (const x of { [Symbol.iterator]: () => ({ next: () => ({ value: 1 }) }) });
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
require('fs').readFileSync(0); for (;;);
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
for await (const l of require('readline').createInterface({ input: process.stdin })); for (;;);
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=timeout,out_of_memory,error timeout=150ms
await new Promise((r) => process.stdin.on('end', r).resume()); for (;;);
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=ok timeout=60s
try { process.exit(0) } catch { } finally { for (;;); }
for (;;);
// turn: status=ok timeout=60s
if (kept.a !== 1) console.log('BROKEN', kept);
