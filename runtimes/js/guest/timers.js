// Timers, immediates, process.nextTick and queueMicrotask. The host calls fire until nothing is pending (loop.go).
(function (cloche) {
  "use strict";

  const { now, signal } = cloche;
  cloche.carry = (fn) => fn; // what a callback takes along of the place where it was set (util.js)
  const maxDelay = 2 ** 31 - 1;

  // Timers fire in the order of `due`, which counts from the start of the task that set them, as in
  // Node; `ready` counts from the moment they were set, and they never fire before it.
  class Timeout {
    constructor(fn, delay, args, repeat) {
      this._fn = fn;
      this._args = args;
      this._delay = delay;
      this._repeat = repeat;
      this._id = 0;
      this._live = false;
      this._ref = true;
    }
    ref() {
      if (!this._ref) {
        this._ref = true;
        if (this._live) held++;
      }
      return this;
    }
    unref() {
      if (this._ref) {
        this._ref = false;
        if (this._live) held--;
      }
      return this;
    }
    hasRef() { return this._ref; }
    refresh() {
      if (this._live) {
        remove(this);
        arm(this);
      }
      return this;
    }
    close() {
      clear(this);
      return this;
    }
    [Symbol.toPrimitive]() { return this._id; }
    [Symbol.dispose]() { clear(this); }
    [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
      return `Timeout { delay: ${this._delay}, repeat: ${this._repeat}, pending: ${this._live} }`;
    }
  }
  class Immediate {
    constructor(fn, args) {
      this._fn = fn;
      this._args = args;
      this._ref = true;
    }
    ref() { this._ref = true; return this; }
    unref() { this._ref = false; return this; }
    hasRef() { return this._ref; }
    [Symbol.for("nodejs.util.inspect.custom")]() { return `Immediate { pending: ${immediates.includes(this)} }`; }
    [Symbol.dispose]() { clearImmediate(this); }
  }

  let heap = []; // a binary heap by due, then by id
  let held = 0; // live timers that keep the program running
  let lastId = 0;
  let byId = new Map();
  let immediates = [];
  let taskStart; // the clock when the running task began; undefined in a main script that has not asked yet

  const before = (a, b) => a._due < b._due || a._due === b._due && a._id < b._id;

  function place(i, t) {
    heap[i] = t;
    t._at = i;
  }

  function up(i, t) {
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(t, heap[parent])) break;
      place(i, heap[parent]);
      i = parent;
    }
    place(i, t);
  }

  function down(i, t) {
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1], heap[child])) child++;
      if (!before(heap[child], t)) break;
      place(i, heap[child]);
      i = child;
    }
    place(i, t);
  }

  function arm(t) {
    const at = now();
    taskStart ??= at;
    t._due = Math.floor(taskStart) + t._delay;
    t._ready = at + t._delay;
    t._id = ++lastId;
    t._live = true;
    if (t._ref) held++;
    byId.set(t._id, t);
    heap.push(t);
    up(heap.length - 1, t);
    if (heap.length === 1) signal(1, 0);
  }

  function remove(t) {
    if (!t._live) return;
    t._live = false;
    if (t._ref) held--;
    byId.delete(t._id);
    const last = heap.pop();
    if (last !== t) {
      const at = t._at;
      if (at > 0 && before(last, heap[(at - 1) >> 1])) up(at, last);
      else down(at, last);
    }
  }

  function make(fn, delay, args, repeat) {
    if (typeof fn !== "function") throw cloche.wrongType("callback", "of type function", fn);
    delay = Number(delay);
    if (!(delay >= 1 && delay <= maxDelay)) delay = 1;
    const t = new Timeout(cloche.carry(fn), Math.trunc(delay), args, repeat);
    arm(t);
    return t;
  }

  function setTimeout(fn, delay, ...args) { return make(fn, delay, args, false); }
  function setInterval(fn, delay, ...args) { return make(fn, delay, args, true); }

  function clear(t) {
    if (t instanceof Timeout) remove(t);
    else if (typeof t === "number" || typeof t === "string") {
      const found = byId.get(+t);
      if (found) remove(found);
    } else return;
    if (t instanceof Timeout) t._repeat = false;
  }
  function clearTimeout(t) { clear(t); }
  function clearInterval(t) { clear(t); }

  function setImmediate(fn, ...args) {
    if (typeof fn !== "function") throw cloche.wrongType("callback", "of type function", fn);
    const im = new Immediate(cloche.carry(fn), args);
    immediates.push(im);
    signal(1, 0);
    return im;
  }
  function clearImmediate(im) {
    const i = immediates.indexOf(im);
    if (i >= 0) immediates.splice(i, 1);
  }

  let phase = 0; // 0: timers; 1: immediates
  let round; // timers set later than this one wait for the next round; undefined between rounds
  let batch = []; // the immediates of this round

  // Runs the next thing that is due at the time `at`, in ms. Returns 0 when it ran something, else how long to wait, or
  // -1 when nothing is left that keeps the program running.
  cloche.fire = (at) => {
    taskStart = at;
    if (phase === 0) {
      const t = heap[0];
      round ??= lastId;
      const due = t !== undefined && t._ready <= at + 0.5;
      if (due && t._id <= round) {
        remove(t);
        if (t._repeat) {
          try {
            t._fn(...t._args);
          } finally {
            if (t._repeat && !t._live) {
              taskStart = now();
              arm(t);
            }
          }
        } else {
          t._fn(...t._args);
        }
        return 0;
      }
      round = undefined;
      if (immediates.length > 0) {
        phase = 1;
        batch = immediates;
        immediates = [];
      } else if (due) {
        return 0;
      }
    }
    if (phase === 1) {
      const im = batch.shift();
      if (im !== undefined) {
        im._fn(...im._args);
        return 0;
      }
      phase = 0;
      return 0;
    }
    if (held === 0 && !cloche.going()) {
      drop();
      return -1;
    }
    if (heap.length === 0) return -1;
    return Math.max(heap[0]._ready - at, 0.01);
  };

  function drop() {
    for (const t of heap) t._live = false;
    heap = [];
    byId = new Map();
    immediates = [];
    batch = [];
    phase = 0;
    round = undefined;
    held = 0;
    taskStart = undefined;
  }

  // ---- process.nextTick

  let ticks = [];

  cloche.nextTick = (fn, ...args) => {
    if (typeof fn !== "function") throw cloche.wrongType("callback", "of type function", fn);
    if (ticks.push([cloche.carry(fn), args]) === 1) signal(2, 0);
  };

  cloche.ticks = () => {
    let i = 0;
    try {
      while (i < ticks.length) {
        const [fn, args] = ticks[i++];
        fn(...args);
      }
    } finally {
      ticks = ticks.slice(i);
      if (ticks.length > 0) signal(2, 0);
    }
  };

  cloche.reset = () => {
    drop();
    cloche.forget();
    ticks = [];
  };
  cloche.onBegin.push(() => { taskStart = undefined; });

  cloche.timers = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };
  cloche.globals(cloche.timers);
  if (typeof queueMicrotask === "undefined") {
    cloche.globals({
      queueMicrotask(fn) {
        if (typeof fn !== "function") throw cloche.wrongType("callback", "of type function", fn);
        Promise.resolve().then(fn);
      },
    });
  }

  // node:timers/promises
  const abortable = (options, start) => new Promise((resolve, reject) => {
    const signal = options?.signal;
    if (signal?.aborted) return reject(abortError(signal));
    const stop = start((value) => {
      signal?.removeEventListener("abort", onAbort);
      resolve(value);
    });
    const onAbort = () => {
      stop();
      reject(abortError(signal));
    };
    signal?.addEventListener("abort", onAbort, { once: true });
  });
  const abortError = cloche.abortError = (signal) => {
    const error = new Error("The operation was aborted", { cause: signal.reason });
    error.name = "AbortError";
    error.code = "ABORT_ERR";
    return error;
  };
  cloche.timersPromises = {
    setTimeout: (delay, value, options) => abortable(options, (done) => {
      const t = setTimeout(done, delay, value);
      if (options?.ref === false) t.unref();
      return () => clearTimeout(t);
    }),
    setImmediate: (value, options) => abortable(options, (done) => {
      const im = setImmediate(done, value);
      return () => clearImmediate(im);
    }),
    async *setInterval(delay, value, options) {
      for (;;) yield await cloche.timersPromises.setTimeout(delay, value, options);
    },
    scheduler: {
      wait: (delay, options) => cloche.timersPromises.setTimeout(delay, undefined, options),
      yield: () => cloche.timersPromises.setImmediate(),
    },
  };
})
