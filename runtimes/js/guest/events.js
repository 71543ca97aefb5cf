// node:events, and the web's Event, EventTarget, AbortController and DOMException users.
(function (cloche) {
  "use strict";

  const custom = Symbol.for("nodejs.util.inspect.custom");
  const { defineProperty } = Object;

  // ---- EventEmitter

  const handlers = Symbol("events");
  const errorMonitor = Symbol("events.errorMonitor");
  const captureRejection = Symbol.for("nodejs.rejection");
  const capturing = Symbol("events.capturing");

  function listenersOf(emitter) {
    if (!Object.hasOwn(emitter, handlers)) {
      defineProperty(emitter, handlers, { value: new Map(), writable: true, configurable: true, enumerable: false });
    }
    return emitter[handlers];
  }

  function checkListener(fn) {
    if (typeof fn !== "function") throw cloche.wrongType("listener", "of type function", fn);
  }

  // Classes made the old way call EventEmitter.call(this), so it is a function.
  function EventEmitter(options) {
    if (options?.captureRejections) defineProperty(this, capturing, { value: true });
  }

  function add(emitter, event, fn, prepend) {
    checkListener(fn);
    const all = listenersOf(emitter);
    if (all.has("newListener")) emitter.emit("newListener", event, fn.listener ?? fn);
    const list = all.get(event);
    if (list === undefined) all.set(event, [fn]);
    else if (prepend) all.set(event, [fn, ...list]);
    else all.set(event, [...list, fn]);
    const max = emitter._maxListeners ?? EventEmitter.defaultMaxListeners;
    const n = all.get(event).length;
    if (max > 0 && n === max + 1) {
      const warning = new Error(`Possible EventEmitter memory leak detected. ${n} ${String(event)} listeners added to [${emitter.constructor?.name || "Object"}]. MaxListeners is ${max}. Use emitter.setMaxListeners() to increase limit`);
      cloche.process.emitWarning(Object.assign(warning, { name: "MaxListenersExceededWarning", emitter, type: event, count: n }));
    }
    return emitter;
  }

  function onceWrap(emitter, event, fn) {
    checkListener(fn);
    const wrapped = function (...args) {
      emitter.removeListener(event, wrapped);
      return fn.apply(emitter, args);
    };
    wrapped.listener = fn;
    return wrapped;
  }

  const methods = {
    on(event, fn) { return add(this, event, fn, false); },
    addListener(event, fn) { return add(this, event, fn, false); },
    prependListener(event, fn) { return add(this, event, fn, true); },
    once(event, fn) { return add(this, event, onceWrap(this, event, fn), false); },
    prependOnceListener(event, fn) { return add(this, event, onceWrap(this, event, fn), true); },
    removeListener(event, fn) {
      checkListener(fn);
      const all = listenersOf(this);
      const list = all.get(event);
      if (list === undefined) return this;
      const i = list.findLastIndex((f) => f === fn || f.listener === fn);
      if (i < 0) return this;
      if (list.length === 1) all.delete(event);
      else all.set(event, list.toSpliced(i, 1));
      if (all.has("removeListener")) this.emit("removeListener", event, list[i].listener ?? list[i]);
      return this;
    },
    removeAllListeners(event) {
      const all = listenersOf(this);
      if (all.has("removeListener")) { // whose listeners are told of each, the last ones first, and are the last to go
        const events = event === undefined ? [...all.keys()].filter((name) => name !== "removeListener") : [event];
        for (const name of events) for (const fn of all.get(name)?.toReversed() ?? []) this.removeListener(name, fn);
      }
      if (event === undefined) all.clear();
      else all.delete(event);
      return this;
    },
    emit(event, ...args) {
      const list = listenersOf(this).get(event);
      if (event === "error") {
        const monitors = listenersOf(this).get(errorMonitor);
        if (monitors !== undefined) for (const fn of monitors) fn.apply(this, args);
        if (list === undefined) {
          if (args[0] instanceof Error) throw args[0];
          const shown = cloche.inspect(args[0]);
          throw cloche.nodeError(Error, "ERR_UNHANDLED_ERROR", `Unhandled error. (${shown})`, { context: args[0] });
        }
      }
      if (list === undefined) return false;
      for (const fn of list) {
        const result = fn.apply(this, args);
        if (this[capturing] && typeof result?.then === "function") {
          result.then(undefined, (error) => cloche.nextTick(() => {
            if (typeof this[captureRejection] === "function") this[captureRejection](error, event, ...args);
            else this.emit("error", error);
          }));
        }
      }
      return true;
    },
    listenerCount(event, fn) {
      const list = listenersOf(this).get(event) ?? [];
      return fn === undefined ? list.length : list.filter((f) => f === fn || f.listener === fn).length;
    },
    listeners(event) { return (listenersOf(this).get(event) ?? []).map((f) => f.listener ?? f); },
    rawListeners(event) { return [...listenersOf(this).get(event) ?? []]; },
    eventNames() { return [...listenersOf(this).keys()]; },
    setMaxListeners(n) {
      if (typeof n !== "number" || !(n >= 0)) {
        throw cloche.nodeError(RangeError, "ERR_OUT_OF_RANGE", `The value of "n" is out of range. It must be a non-negative number. Received ${cloche.inspect(n)}`);
      }
      this._maxListeners = n;
      return this;
    },
    getMaxListeners() { return this._maxListeners ?? EventEmitter.defaultMaxListeners; },
  };
  methods.off = methods.removeListener; // neither calls the other: classes that override one call the other one
  for (const name of Object.keys(methods)) {
    defineProperty(EventEmitter.prototype, name, { value: methods[name], writable: true, configurable: true, enumerable: true });
  }

  // A promise for the next event, rejected by an "error" meanwhile.
  function once(emitter, event, options) {
    return new Promise((resolve, reject) => {
      const signal = options?.signal;
      if (signal?.aborted) return reject(cloche.abortError(signal));
      if (typeof emitter.addEventListener === "function") {
        emitter.addEventListener(event, (e) => resolve([e]), { once: true });
        return;
      }
      const onEvent = (...args) => {
        emitter.removeListener("error", onError);
        resolve(args);
      };
      const onError = (error) => {
        emitter.removeListener(event, onEvent);
        reject(error);
      };
      emitter.once(event, onEvent);
      if (event !== "error") emitter.once("error", onError);
      signal?.addEventListener("abort", () => {
        emitter.removeListener(event, onEvent);
        emitter.removeListener("error", onError);
        reject(cloche.abortError(signal));
      }, { once: true });
    });
  }

  // An async iterator over events.
  function on(emitter, event, options) {
    const queue = [];
    const waiting = [];
    let failure;
    let ended = false;
    const settle = (value) => waiting.length > 0 ? waiting.shift().resolve({ value, done: false }) : queue.push(value);
    const onEvent = (...args) => settle(args);
    const onError = (error) => {
      if (waiting.length > 0) waiting.shift().reject(error);
      else failure = error;
    };
    const end = () => {
      ended = true;
      emitter.off(event, onEvent);
      emitter.off("error", onError);
      for (const w of waiting.splice(0)) w.resolve({ value: undefined, done: true });
      return Promise.resolve({ value: undefined, done: true });
    };
    emitter.on(event, onEvent);
    if (event !== "error") emitter.on("error", onError);
    for (const close of options?.close ?? []) emitter.on(close, end);
    options?.signal?.addEventListener("abort", () => {
      onError(cloche.abortError(options.signal));
      end();
    });
    return {
      next() {
        if (queue.length > 0) return Promise.resolve({ value: queue.shift(), done: false });
        if (failure !== undefined) {
          const error = failure;
          failure = undefined;
          return Promise.reject(error);
        }
        if (ended) return Promise.resolve({ value: undefined, done: true });
        return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
      },
      return: end,
      throw(error) {
        onError(error);
        return end();
      },
      [Symbol.asyncIterator]() { return this; },
    };
  }

  Object.assign(EventEmitter, {
    EventEmitter, once, on, defaultMaxListeners: 10, errorMonitor, captureRejectionSymbol: captureRejection,
    listenerCount: (emitter, event) => emitter.listenerCount(event),
    getEventListeners: (emitter, event) => emitter.listeners?.(event) ?? [],
    setMaxListeners(n, ...emitters) {
      if (emitters.length === 0) EventEmitter.defaultMaxListeners = n;
      for (const e of emitters) e.setMaxListeners?.(n);
    },
  });
  cloche.EventEmitter = EventEmitter;

  // ---- Event and EventTarget

  class Event {
    #type;
    #options;
    #target = null;
    #current = null;
    #prevented = false;
    #stopped = 0;
    #phase = 0;
    #stamp = cloche.now();
    constructor(type, options) {
      if (arguments.length === 0) {
        throw cloche.nodeError(TypeError, "ERR_MISSING_ARGS", 'The "type" argument must be specified');
      }
      this.#type = `${type}`;
      this.#options = { bubbles: !!options?.bubbles, cancelable: !!options?.cancelable, composed: !!options?.composed };
    }
    get type() { return this.#type; }
    get target() { return this.#target; }
    get srcElement() { return this.#target; }
    get currentTarget() { return this.#current; }
    get bubbles() { return this.#options.bubbles; }
    get cancelable() { return this.#options.cancelable; }
    get composed() { return this.#options.composed; }
    get defaultPrevented() { return this.#prevented; }
    get returnValue() { return !this.#prevented; }
    get eventPhase() { return this.#phase; }
    get timeStamp() { return this.#stamp; }
    get isTrusted() { return false; }
    get cancelBubble() { return this.#stopped > 0; }
    set cancelBubble(value) { if (value) this.stopPropagation(); }
    composedPath() { return this.#current === null ? [] : [this.#current]; }
    preventDefault() { if (this.#options.cancelable) this.#prevented = true; }
    stopPropagation() { this.#stopped = Math.max(this.#stopped, 1); }
    stopImmediatePropagation() { this.#stopped = 2; }
    [custom](depth, options, inspect) {
      return `${this.constructor.name} ${inspect({
        type: this.type, defaultPrevented: this.defaultPrevented, cancelable: this.cancelable, timeStamp: this.timeStamp,
      }, options)}`;
    }
    static dispatch(event, target, listeners) {
      event.#target = event.#current = target;
      event.#phase = 2;
      event.#stopped = 0;
      for (const call of listeners) {
        call(event);
        if (event.#stopped === 2) break;
      }
      event.#phase = 0;
      event.#current = null;
      return !event.#prevented;
    }
    static { for (const [i, name] of ["NONE", "CAPTURING_PHASE", "AT_TARGET", "BUBBLING_PHASE"].entries()) this[name] = this.prototype[name] = i; }
  }
  const { dispatch } = Event;
  delete Event.dispatch;

  class CustomEvent extends Event {
    #detail;
    constructor(type, options) {
      super(type, options);
      this.#detail = options?.detail ?? null;
    }
    get detail() { return this.#detail; }
  }

  class EventTarget {
    #listeners = new Map();
    addEventListener(type, listener, options) {
      if (listener == null) return;
      if (typeof listener !== "function" && typeof listener !== "object") throw cloche.wrongType("listener", "an instance of EventListener", listener);
      const capture = typeof options === "boolean" ? options : !!options?.capture;
      const { once, signal, passive } = typeof options === "object" && options !== null ? options : {};
      if (signal?.aborted) return;
      type = `${type}`;
      let list = this.#listeners.get(type);
      if (list === undefined) this.#listeners.set(type, list = []);
      if (list.some((l) => l.listener === listener && l.capture === capture)) return;
      list.push({ listener, capture, once: !!once, passive: !!passive });
      signal?.addEventListener("abort", () => this.removeEventListener(type, listener, capture), { once: true });
    }
    removeEventListener(type, listener, options) {
      const capture = typeof options === "boolean" ? options : !!options?.capture;
      const list = this.#listeners.get(`${type}`);
      const i = list?.findIndex((l) => l.listener === listener && l.capture === capture) ?? -1;
      if (i >= 0) {
        list[i].gone = true;
        list.splice(i, 1);
      }
    }
    dispatchEvent(event) {
      if (!(event instanceof Event)) throw cloche.wrongType("event", "an instance of Event", event);
      const target = this;
      const list = [...this.#listeners.get(event.type) ?? []];
      return dispatch(event, target, list.map((l) => (e) => {
        if (l.gone) return;
        if (l.once) target.removeEventListener(e.type, l.listener, l.capture);
        try {
          if (typeof l.listener === "function") l.listener.call(target, e);
          else l.listener.handleEvent?.(e);
        } catch (error) {
          cloche.nextTick(() => { throw error; });
        }
      }));
    }
    [custom]() { return `${this.constructor.name} {}`; }
  }

  // Gives a class the attribute on<type>, which is one more listener.
  function eventAttribute(Class, type) {
    const current = new WeakMap();
    defineProperty(Class.prototype, `on${type}`, {
      configurable: true,
      enumerable: true,
      get() { return current.get(this)?.fn ?? null; },
      set(fn) {
        const old = current.get(this);
        if (old) this.removeEventListener(type, old.listener);
        current.delete(this);
        if (typeof fn !== "function") return;
        const listener = (event) => fn.call(this, event);
        current.set(this, { fn, listener });
        this.addEventListener(type, listener);
      },
    });
  }

  let construct = false; // AbortSignal has no constructor for programs
  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason = undefined;
    constructor() {
      if (!construct) throw cloche.nodeError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor");
      super();
    }
    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    throwIfAborted() { if (this.#aborted) throw this.#reason; }
    [custom]() { return `AbortSignal { aborted: ${this.#aborted} }`; }
    static make() {
      construct = true;
      try {
        return new AbortSignal();
      } finally {
        construct = false;
      }
    }
    static trip(signal, reason) {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
      signal.dispatchEvent(new Event("abort"));
    }
    static abort(reason) {
      const signal = makeSignal();
      trip(signal, reason);
      return signal;
    }
    static timeout(ms) {
      const signal = makeSignal();
      cloche.timers.setTimeout(() => trip(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms).unref();
      return signal;
    }
    static any(signals) {
      const signal = makeSignal();
      for (const s of signals) {
        if (s.aborted) {
          trip(signal, s.reason);
          return signal;
        }
      }
      for (const s of signals) s.addEventListener("abort", () => trip(signal, s.reason), { once: true });
      return signal;
    }
  }
  const { make: makeSignal, trip } = AbortSignal;
  delete AbortSignal.make;
  delete AbortSignal.trip;
  eventAttribute(AbortSignal, "abort");

  class AbortController {
    #signal = makeSignal();
    get signal() { return this.#signal; }
    abort(reason) { trip(this.#signal, reason); }
    [custom]() { return `AbortController { signal: AbortSignal { aborted: ${this.#signal.aborted} } }`; }
  }

  for (const Class of [Event, CustomEvent, EventTarget, AbortSignal, AbortController]) {
    defineProperty(Class.prototype, Symbol.toStringTag, { value: Class.name, configurable: true });
  }
  cloche.eventAttribute = eventAttribute;
  cloche.globals({ Event, CustomEvent, EventTarget, AbortSignal, AbortController });
})
