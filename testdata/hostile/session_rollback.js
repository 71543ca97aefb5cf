// Attempts: to keep from a turn that was stopped what the session should not have.
// Stopped by: a turn that had to be stopped is rolled back whole. What ends by the program's own error, or by a timeout
//   that the interpreter itself carries out, leaves what it did, and only that: no timers, listeners' loops or jobs go on.
// run: status=ok timeout=60s disk=8MiB memory=96MiB
const fs = require("fs"); let x = { list: [1] }; fs.writeFileSync("/data/log", "one"); process.env.A = "1"; const fd = fs.openSync("/data/log", "a+");
var state = () => JSON.stringify([x, fs.readFileSync("/data/log", "utf8"), fs.readdirSync("/data"), fs.readdirSync("/tmp"), process.env.A, typeof extra, Array.prototype.mark, Object.keys(require.cache)]);
var before = state();
var spoil = () => { x.list.push(2); x.y = 1; fs.writeSync(fd, "two"); fs.writeFileSync("/data/new", "n"); fs.writeFileSync("/tmp/new", "n"); fs.renameSync("/data/log", "/data/moved"); process.env.A = "2"; globalThis.extra = 1; Array.prototype.mark = 1; };
// turn: status=out_of_fuel fuel=50000000
spoil(); for (;;);
// turn: status=ok
if (state() !== before) console.log("BROKEN by fuel", state(), before);
// turn: status=out_of_fuel fuel=50000000
spoil(); await null; (function f() { Promise.resolve().then(f); })();
// turn: status=ok
if (state() !== before) console.log("BROKEN by fuel in jobs", state(), before);
// turn: status=timeout timeout=300ms
setInterval(() => { x.ticks = 1; }, 1000); process.nextTick(() => { x.tick = 1; }); Promise.resolve().then(() => { x.job = 1; }); for (;;) try { for (;;); } finally { continue; }
// turn: status=ok
await new Promise((r) => setTimeout(r, 20)); if (state() !== before) console.log("BROKEN: what was left to do went on", state(), before);
// turn: status=timeout timeout=300ms
setTimeout(() => { x.late = 1; }, 310); await new Promise((r) => setTimeout(r, 1e6)).finally(() => { x.finally = 1; });
// turn: status=ok
await new Promise((r) => setTimeout(r, 30)); if (state() !== before) console.log("BROKEN: what was left to do went on", state(), before);
// turn: status=error,out_of_memory
x.list.push(3); const big = []; for (;;) big.push(new Uint8Array(1 << 20).fill(1));
// turn: status=ok timeout=60s
if (x.list.length !== 2) console.log("BROKEN: an exception rolled back", x);
// turn: status=error,trapped timeout=60s
x.list.push(4); (function f() { f(); })();
// turn: status=ok
if (x.list[0] !== 1) console.log("BROKEN", x);
