// The order of jobs, ticks, timers and immediates, and what promises do, compared with Node's own output.
console.log("start");
setTimeout((a, b) => console.log("timeout 0", a, b), 0, "x", "y");
process.nextTick(() => console.log("tick 1"));
Promise.resolve().then(() => {
  console.log("micro 1");
  process.nextTick(() => console.log("tick from micro"));
}).then(() => console.log("micro 2"));
queueMicrotask(() => console.log("queued"));
process.nextTick((v) => {
  console.log("tick 2", v);
  process.nextTick(() => console.log("tick nested"));
  Promise.resolve().then(() => console.log("micro from tick"));
}, "arg");
setTimeout(() => {
  console.log("timeout 1");
  Promise.resolve().then(() => console.log("micro after timeout 1"));
  process.nextTick(() => console.log("tick after timeout 1"));
  setTimeout(() => console.log("nested timeout"), 0);
  setImmediate(() => console.log("nested immediate"));
}, 200);
setTimeout(() => console.log("timeout 2"), 200);
setTimeout(() => console.log("late"), 260);
setTimeout(() => console.log("not number", 1), "30");
const cleared = setTimeout(() => console.log("never"), 5);
clearTimeout(cleared);
clearTimeout(undefined);
clearTimeout(12345);
const im = setImmediate(() => console.log("never"));
clearImmediate(im);
let n = 0;
const iv = setInterval(() => {
  console.log("interval", ++n);
  if (n === 3) clearInterval(iv);
}, 40);
(async () => {
  console.log("async body");
  await null;
  console.log("after await");
  for await (const x of (async function* () { yield 1; yield Promise.resolve(2); })()) console.log("gen", x);
  try {
    await Promise.any([Promise.reject(new Error("a")), Promise.reject(new Error("b"))]);
  } catch (e) {
    console.log(e.constructor.name, e.errors.map((x) => x.message));
  }
  console.log(await Promise.allSettled([1, Promise.reject("r")]), await Promise.race([new Promise((r) => setTimeout(r, 20, "slow")), "fast"]));
  const { promise, resolve } = Promise.withResolvers ? Promise.withResolvers() : (() => { let resolve; const promise = new Promise((r) => (resolve = r)); return { promise, resolve }; })();
  setTimeout(resolve, 10, "resolved");
  console.log(await promise);
  await Promise.reject(new Error("caught")).catch((e) => console.log(e.message)).finally(() => console.log("finally"));
})();
const t = setTimeout(() => {}, 1000);
console.log(typeof t, t.hasRef(), t.unref() === t, t.hasRef(), t.ref().hasRef(), typeof t[Symbol.toPrimitive]());
clearTimeout(+t);
setTimeout(() => console.log("unref'd does not keep the program"), 5000).unref();
for (const bad of [undefined, null, "code", 5]) {
  try {
    setTimeout(bad, 1);
  } catch (e) {
    console.log(e.name, e.code);
  }
}
process.on("exit", (code) => console.log("exit", code));
console.log("end");
