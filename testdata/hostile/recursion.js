// Attempts: to run over the end of the stack by recursion in every part of the language and of its library; a form a turn.
// Stopped by: RangeError or InternalError where it happens; else a trap, memory or time, of that turn alone.
// run: status=ok timeout=60s
globalThis.kept = { a: 1 };
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
(function f() { return f(); })()
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
(() => { const f = () => f(); f(); })()
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
JSON.parse('['.repeat(1e6))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
JSON.parse('{"a":'.repeat(1e6))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let a = []; for (let i = 0; i < 1e6; i++) a = [a]; JSON.stringify(a); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const o = { get x() { return this.x; } }; o.x; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const p = new Proxy({}, { get(t, k, r) { return r[k]; } }); p.x; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let p = {}; for (let i = 0; i < 1e6; i++) p = new Proxy(p, {}); p.x; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let p = {}; for (let i = 0; i < 1e6; i++) p = Object.create(p); p.x; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let f = () => 1; for (let i = 0; i < 1e6; i++) f = f.bind(null); f(); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const o = { toString() { return `${this}`; } }; `${o}`; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const o = { [Symbol.toPrimitive]() { return +this; } }; +o; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
eval('('.repeat(1e5) + ')'.repeat(1e5))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
eval('['.repeat(1e6))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
new Function('return ' + '-'.repeat(1e6) + '1')
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
eval('a' + '.a'.repeat(1e6))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
eval('x=>'.repeat(1e6) + '1')
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
eval('`${'.repeat(1e5))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
eval('{'.repeat(1e6))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
eval('if(1)'.repeat(1e6) + ';')
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
eval('function f(){'.repeat(1e5))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
eval('class A extends '.repeat(1e5))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
new RegExp('('.repeat(1e6))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
new RegExp('(?:a|'.repeat(1e5) + ')'.repeat(1e5))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
/(?:a?)*?b/.test('a'.repeat(1e6)); new RegExp('(?:(?:a*)*)*'.repeat(100)).test('a'.repeat(1e5) + 'b')
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let a = []; for (let i = 0; i < 1e6; i++) a = [a]; a.flat(Infinity); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const a = []; a[0] = a; a.flat(Infinity); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const a = []; a[0] = a; String(a); a.join(); a.toLocaleString(); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let a = []; for (let i = 0; i < 1e6; i++) a = [a]; String(a); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let a = []; for (let i = 0; i < 1e6; i++) a = [a]; structuredClone(a); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let a = []; for (let i = 0; i < 1e6; i++) a = [a]; console.log(a); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let a = {}; for (let i = 0; i < 1e6; i++) a = { a }; require('util').inspect(a, { depth: Infinity }); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let a = []; for (let i = 0; i < 1e6; i++) a = [a]; require('assert').deepStrictEqual(a, a); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let a = [], b = []; for (let i = 0; i < 1e5; i++) { a = [a]; b = [b]; } require('assert').deepEqual(a, b); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let e = null; for (let i = 0; i < 1e5; i++) e = new Error('x', { cause: e }); throw e; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let e = new Error('x'); e.cause = e; throw e; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
[1, 2].sort(function c() { return [1, 2].sort(c).length; })
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
'a'.replace(/a/, function f() { return 'a'.replace(/a/, f); })
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ function* g() { yield* g(); } [...g()]; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ class A { constructor() { new A(); } } new A(); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ class A { static [Symbol.hasInstance](x) { return x instanceof A; } } 1 instanceof A; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const f = async () => { await f(); }; await f(); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let p = Promise.resolve(); for (let i = 0; i < 1e6; i++) p = p.then(() => p); await p; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const t = { then(r) { r(t); } }; await t; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let s = 'x'; for (let i = 0; i < 1e6; i++) s = s + 'y'; s.length; s[5]; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let s = 'x'; for (let i = 0; i < 1e5; i++) s = `a${s}`; s === 'b'; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let a = null; for (let i = 0; i < 3e6; i++) a = { a }; a = null; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const m = new Map(); m.set(m, m); console.log(m); structuredClone(m); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const o = { toJSON() { return { o: this }; } }; JSON.stringify(o); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
Object.defineProperty(globalThis, 'gg', { get() { return gg; } }); gg
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ let b = 1n; for (;;) b = b * b + 1n; }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const f = (...a) => f(...a, 1); f(); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
Math.max(...new Array(1e7).fill(0))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
String.fromCharCode.apply(null, new Array(1e7).fill(65))
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
{ const a = new Array(1e6); a.reduce.call({ length: 2 ** 53 - 1 }, (x) => x, 0); }
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
// turn: status=error,trapped,out_of_memory,timeout,ok timeout=200ms
Error.prepareStackTrace = () => new Error().stack; new Error().stack
// turn: status=ok
if (kept.a !== 1) console.log('BROKEN', kept);
