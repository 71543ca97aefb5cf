// structuredClone, MessageChannel, BroadcastChannel.
(function (cloche) {
  "use strict";

  const { is, kindOf, uncurry } = cloche;
  const dateTime = uncurry(Date.prototype.getTime);
  const typedTag = uncurry(Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get);
  const { hasOwn } = Object;
  const errorClasses = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const views = Object.fromEntries([Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
    Float32Array, Float64Array, BigInt64Array, BigUint64Array].map((C) => [C.name, C]));
  if (typeof Float16Array !== "undefined") views.Float16Array = Float16Array;

  function refuse(value) {
    const shown = typeof value === "symbol" ? value.toString() : typeof value === "function" ? `${value}` : `#<${value.constructor?.name ?? "Object"}>`;
    return new DOMException(`${shown} could not be cloned.`, "DataCloneError");
  }

  function clone(value, seen) {
    if (typeof value === "symbol" || typeof value === "function") throw refuse(value);
    if (typeof value !== "object" || value === null) return value;
    const known = seen.get(value);
    if (known !== undefined) return known;
    const keep = (copy) => {
      seen.set(value, copy);
      return copy;
    };
    let copy;
    switch (kindOf(value)) {
      case "Date": return keep(new Date(dateTime(value)));
      case "RegExp": return keep(new RegExp(value.source, value.flags));
      case "ArrayBuffer": return keep(value.slice(0));
      case "SharedArrayBuffer": return keep(value);
      case "DataView": return keep(new DataView(clone(value.buffer, seen), value.byteOffset, value.byteLength));
      case "TypedArray": {
        const Class = views[typedTag(value)];
        return keep(new Class(clone(value.buffer, seen), value.byteOffset, value.length));
      }
      case "Number": case "String": case "Boolean": case "BigInt": return keep(Object(value.valueOf()));
      case "Map": {
        copy = keep(new Map());
        for (const [k, v] of [...value]) copy.set(clone(k, seen), clone(v, seen));
        return copy;
      }
      case "Set": {
        copy = keep(new Set());
        for (const v of [...value]) copy.add(clone(v, seen));
        return copy;
      }
      case "Error": {
        const Class = hasOwn(errorClasses, value.name) ? errorClasses[value.name] : Error;
        copy = keep(new Class(value.message));
        if (typeof value.stack === "string") copy.stack = value.stack;
        if (hasOwn(value, "cause")) {
          Object.defineProperty(copy, "cause", { value: clone(value.cause, seen), writable: true, configurable: true });
        }
        return copy;
      }
      case "Array":
        copy = keep([]);
        copy.length = value.length;
        break;
      case "Object":
        if (value instanceof Blob) return value;
        copy = keep({});
        break;
      case "Arguments":
        copy = keep({});
        break;
      default: throw refuse(value);
    }
    for (const key of Object.keys(value)) {
      const inner = clone(value[key], seen);
      if (key === "__proto__") Object.defineProperty(copy, key, { value: inner, writable: true, enumerable: true, configurable: true });
      else copy[key] = inner;
    }
    return copy;
  }

  function structuredClone(value, options) {
    if (arguments.length === 0) throw cloche.nodeError(TypeError, "ERR_MISSING_ARGS", 'The value argument must be specified');
    const seen = new Map();
    const moved = [];
    for (const item of options?.transfer ?? []) {
      if (!is.arrayBuffer(item)) throw new DOMException("Value at index 0 is not a transferable object.", "DataCloneError");
      if (seen.has(item)) throw new DOMException("ArrayBuffer occurs in the transfer list more than once.", "DataCloneError");
      seen.set(item, item.slice(0));
      moved.push(item);
    }
    const copy = clone(value, seen);
    for (const item of moved) item.transfer?.();
    return copy;
  }

  class MessageEvent extends Event {
    #given;
    constructor(type, options) {
      super(type, options);
      this.#given = { data: null, origin: "", lastEventId: "", source: null, ports: [], ...options };
    }
    get data() { return this.#given.data; }
    get origin() { return this.#given.origin; }
    get lastEventId() { return this.#given.lastEventId; }
    get source() { return this.#given.source; }
    get ports() { return this.#given.ports; }
  }

  // A port hands what it is sent to the other one, which tells its listeners in a task of its own, once somebody listens.
  class MessagePort extends EventTarget {
    #other; #waiting = []; #started = false; #closed = false; #onmessage = null;
    static take(port) { return port.#waiting.length > 0 ? { message: port.#waiting.shift() } : undefined; }
    static pair() {
      const [a, b] = [new MessagePort(), new MessagePort()];
      a.#other = b;
      b.#other = a;
      return [a, b];
    }
    postMessage(message, options) {
      const data = structuredClone(message, Array.isArray(options) ? { transfer: options } : options);
      const to = this.#other;
      if (this.#closed || to.#closed) return;
      to.#waiting.push(data);
      to.#deliver();
    }
    #deliver() {
      if (!this.#started) return;
      for (const data of this.#waiting.splice(0)) {
        cloche.timers.setImmediate(() => {
          if (this.#closed) return;
          this.dispatchEvent(new MessageEvent("message", { data }));
        });
      }
    }
    start() {
      this.#started = true;
      this.#deliver();
    }
    close() { this.#closed = true; }
    ref() { return this; }
    unref() { return this; }
    get onmessage() { return this.#onmessage; }
    set onmessage(fn) {
      if (this.#onmessage !== null) this.removeEventListener("message", this.#onmessage);
      this.#onmessage = typeof fn === "function" ? fn : null;
      if (this.#onmessage !== null) {
        this.addEventListener("message", fn);
        this.start();
      }
    }
    on(name, fn) { return this.#listen(name, fn); }
    once(name, fn) { return this.#listen(name, fn, { once: true }); }
    #listen(name, fn, options) {
      this.addEventListener(name, (event) => fn(name === "message" ? event.data : event), options);
      if (name === "message") this.start();
      return this;
    }
  }
  const { pair } = MessagePort;
  cloche.receiveMessageOnPort = MessagePort.take;
  delete MessagePort.pair;
  delete MessagePort.take;
  class MessageChannel {
    constructor() { [this.port1, this.port2] = pair(); }
  }

  // All channels of one name tell each other.
  const channels = new Map(); // name -> set of them
  class BroadcastChannel extends EventTarget {
    #name; #closed = false;
    constructor(name) {
      super();
      if (arguments.length === 0) throw cloche.nodeError(TypeError, "ERR_MISSING_ARGS", 'The "name" argument must be specified');
      this.#name = `${name}`;
      if (!channels.has(this.#name)) channels.set(this.#name, new Set());
      channels.get(this.#name).add(this);
    }
    get name() { return this.#name; }
    postMessage(message) {
      if (this.#closed) throw new DOMException("BroadcastChannel is closed.", "InvalidStateError");
      for (const other of channels.get(this.#name)) {
        if (other === this) continue;
        const data = structuredClone(message);
        cloche.timers.setImmediate(() => { if (!other.#closed) other.dispatchEvent(new MessageEvent("message", { data })); });
      }
    }
    close() {
      this.#closed = true;
      channels.get(this.#name).delete(this);
    }
    ref() { return this; }
    unref() { return this; }
  }
  cloche.eventAttribute(BroadcastChannel, "message");
  cloche.eventAttribute(BroadcastChannel, "messageerror");

  cloche.globals({ structuredClone, MessageChannel, MessagePort, MessageEvent, BroadcastChannel });
})
