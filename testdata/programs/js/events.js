// EventEmitter, EventTarget, AbortController, compared with Node's own output.
const EventEmitter = require("events");
const { once, on } = EventEmitter;
const show = (f) => {
  try {
    console.log(f());
  } catch (e) {
    console.log(e.name, e.code, e.message);
  }
};
const e = new EventEmitter();
e.on("a", (...args) => console.log("a1", args));
e.prependListener("a", () => console.log("a0"));
e.once("a", () => console.log("once"));
const f = () => console.log("f");
e.addListener("a", f);
console.log(e.emit("a", 1, 2), e.emit("a"), e.emit("none"), e.listenerCount("a"), e.eventNames());
e.off("a", f);
console.log(e.listenerCount("a"), e.listeners("a").length, e.rawListeners("a").length, e.getMaxListeners(), EventEmitter.defaultMaxListeners);
e.removeAllListeners("a");
console.log(e.emit("a"));
show(() => e.emit("error", new RangeError("boom")));
show(() => e.emit("error", { not: "an error" }));
show(() => e.on("x", "not a function"));
e.on("error", (err) => console.log("handled", err.message));
e.emit("error", new Error("ok"));
e.on("newListener", (name) => console.log("new", name));
e.on("b", () => {});
e.on("removeListener", (name) => console.log("removed", name));
e.off("b", e.listeners("b")[0]);
class Sub extends EventEmitter { constructor() { super(); this.x = 1; } }
const s = new Sub();
s.on("y", function () { console.log(this === s, this.x); });
s.emit("y");
function Legacy() { EventEmitter.call(this); }
require("util").inherits(Legacy, EventEmitter);
const l = new Legacy();
l.on("z", () => console.log("legacy"));
l.emit("z");
console.log(l instanceof EventEmitter, EventEmitter.EventEmitter === EventEmitter, typeof EventEmitter.once);
const order = new EventEmitter();
order.on("t", () => { console.log("first"); order.on("t", () => console.log("added later")); });
order.emit("t");
order.emit("t");

const t = new EventTarget();
const handler = { handleEvent(ev) { console.log("object", ev.type, this === handler); } };
t.addEventListener("x", (ev) => { console.log(ev.type, ev.target === t, ev.cancelable, ev.defaultPrevented); ev.preventDefault(); });
t.addEventListener("x", handler);
t.addEventListener("x", handler);
t.addEventListener("x", () => console.log("once"), { once: true });
console.log(t.dispatchEvent(new Event("x", { cancelable: true })), t.dispatchEvent(new Event("x")));
t.removeEventListener("x", handler);
t.addEventListener("x", (ev) => { ev.stopImmediatePropagation(); console.log("stop"); });
t.addEventListener("x", () => console.log("never"));
t.dispatchEvent(new CustomEvent("x", { detail: { d: 1 } }));
console.log(new CustomEvent("c", { detail: 5 }).detail, new Event("q").bubbles, typeof new Event("q").timeStamp, Object.prototype.toString.call(new Event("z")));
show(() => new Event());
show(() => t.dispatchEvent({}));

const ac = new AbortController();
ac.signal.addEventListener("abort", (ev) => console.log("abort event", ev.type, ac.signal.reason.name));
ac.signal.onabort = () => console.log("onabort");
console.log(ac.signal.aborted, ac.signal.reason);
ac.abort();
ac.abort("again");
console.log(ac.signal.aborted, ac.signal.reason.name, ac.signal.reason.code, ac.signal.reason instanceof DOMException);
show(() => ac.signal.throwIfAborted());
console.log(AbortSignal.abort("why").reason, AbortSignal.any([AbortSignal.abort(1)]).reason);
show(() => new AbortSignal());
const ac2 = new AbortController();
const any = AbortSignal.any([ac2.signal, new AbortController().signal]);
any.onabort = () => console.log("any aborted", any.reason);
ac2.abort("two");
console.log(ac, any);
const limited = new AbortController();
t.addEventListener("s", () => console.log("with signal"), { signal: limited.signal });
t.dispatchEvent(new Event("s"));
limited.abort();
t.dispatchEvent(new Event("s"));

(async () => {
  const em = new EventEmitter();
  setTimeout(() => em.emit("go", 1, 2), 1);
  console.log(await once(em, "go"));
  setTimeout(() => em.emit("error", new Error("rejected")), 1);
  await once(em, "never").catch((err) => console.log(err.message));
  setTimeout(() => { em.emit("n", 1); em.emit("n", 2); em.emit("n", 3); }, 1);
  for await (const [n] of on(em, "n")) {
    console.log("n", n);
    if (n === 3) break;
  }
  const timeout = AbortSignal.timeout(5);
  timeout.addEventListener("abort", () => console.log(timeout.reason.name));
  await new Promise((r) => setTimeout(r, 20));
  const waiting = new AbortController();
  setTimeout(() => waiting.abort(), 1);
  await require("timers/promises").setTimeout(1000, "v", { signal: waiting.signal }).catch((err) => console.log(err.name, err.code));
  console.log(await require("timers/promises").setTimeout(1, "value"));
})();

// Listeners that are removed all at once are told of one by one.
{
  const { EventEmitter } = require("node:events");
  const e = new EventEmitter();
  const names = new Map();
  const named = (name) => { const f = () => {}; names.set(f, name); return f; };
  e.on("removeListener", (event, fn) => console.log("removed", event, names.get(fn)));
  e.on("a", named("a1")).on("a", named("a2")).on("b", named("b1"));
  e.removeAllListeners("a");
  e.removeAllListeners("none");
  console.log(e.eventNames());
  e.removeAllListeners();
  console.log(e.eventNames());
}
