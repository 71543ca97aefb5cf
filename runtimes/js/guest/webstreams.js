// The streams of the web (WHATWG Streams): ReadableStream, WritableStream, TransformStream and what is built of them. A source of
// bytes is one of chunks here; its reader with a buffer of its own copies into that. In this order: queues, the readable
// side (Source is its state), tee and pipe, the writable side (Sink), transforms, and what is built of them.
(function (cloche) {
  "use strict";

  const custom = Symbol.for("nodejs.util.inspect.custom");
  const then = cloche.uncurry(Promise.prototype.then);
  const nothing = () => {};
  const invalid = (message) => cloche.nodeError(TypeError, "ERR_INVALID_STATE", `Invalid state: ${message}`);
  const notOne = (name) => cloche.nodeError(TypeError, "ERR_INVALID_THIS", `Value of "this" must be of type ${name}`);

  // A promise whose rejection nobody need look at.
  function handled(promise) {
    then(promise, undefined, nothing);
    return promise;
  }
  function deferred() {
    const d = Promise.withResolvers();
    handled(d.promise);
    return d;
  }
  const rejected = (error) => handled(Promise.reject(error));
  // What a function of the program's gives, as a promise.
  const call = (fn) => new Promise((resolve) => { resolve(fn()); });

  function method(object, name) {
    const fn = object?.[name];
    if (fn === undefined) return undefined;
    if (typeof fn !== "function") throw cloche.wrongType(`${name}`, "of type function", fn);
    return fn.bind(object);
  }

  // How much a queue may hold, and what a chunk counts.
  function bounds(strategy, mark) {
    const given = strategy?.highWaterMark;
    mark = given === undefined ? mark : Number(given);
    if (Number.isNaN(mark) || mark < 0) throw cloche.nodeError(RangeError, "ERR_INVALID_ARG_VALUE", `The property 'strategy.highWaterMark' is invalid. Received ${cloche.inspect(given)}`);
    const count = method(strategy, "size") ?? (() => 1);
    return {
      mark,
      size(chunk) {
        const size = Number(count(chunk));
        if (Number.isNaN(size) || size < 0 || size === Infinity) throw cloche.nodeError(RangeError, "ERR_INVALID_ARG_VALUE", `The argument 'size' is invalid. Received ${size}`);
        return size;
      },
    };
  }

  class Queue {
    #list = [];
    total = 0;
    get empty() { return this.#list.length === 0; }
    get first() { return this.#list[0]; }
    push(item) {
      this.#list.push(item);
      this.total += item.size;
    }
    shift() {
      const item = this.#list.shift();
      this.total = Math.max(0, this.total - item.size);
      return item;
    }
    clear() {
      const all = this.#list;
      this.#list = [];
      this.total = 0;
      return all;
    }
  }

  // ---- Readable

  // The state of a stream, and what is done to it. `left` is what a reader with a buffer of its own had no room for.
  class Source {
    state = "readable";
    error;
    reader;
    disturbed = false;
    queue = new Queue();
    started = false;
    closing = false;
    left;
    #pulling = false;
    #again = false;
    constructor(source, strategy, controller) {
      this.bytes = source.type !== undefined;
      if (this.bytes && `${source.type}` !== "bytes") throw cloche.nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The property 'source.type' is invalid. Received ${cloche.inspect(source.type)}`);
      Object.assign(this, bounds(strategy, this.bytes ? 0 : 1));
      this.pullFn = method(source, "pull") ?? nothing;
      this.cancelFn = method(source, "cancel") ?? nothing;
      this.controller = new controller(this);
      const start = method(source, "start");
      const begun = start?.(this.controller);
      then(Promise.resolve(begun), () => {
        this.started = true;
        this.pull();
      }, (error) => this.fail(error));
    }
    get wanted() {
      return this.state === "readable" && !this.closing && this.started && (this.reader?.waiting.length > 0 || this.room > 0);
    }
    get room() { return this.state === "errored" ? null : this.state === "closed" ? 0 : this.mark - this.queue.total; }
    pull() {
      if (!this.wanted) return;
      if (this.#pulling) {
        this.#again = true;
        return;
      }
      this.#pulling = true;
      then(call(() => this.pullFn(this.controller)), () => {
        this.#pulling = false;
        if (!this.#again) return;
        this.#again = false;
        this.pull();
      }, (error) => this.fail(error));
    }
    enqueue(chunk) {
      if (this.closing || this.state !== "readable") throw invalid("Controller is already closed");
      if (this.bytes) {
        if (!ArrayBuffer.isView(chunk)) throw cloche.wrongType("chunk", "an instance of Buffer, TypedArray, or DataView", chunk);
        chunk = new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      }
      if (this.reader?.waiting.length > 0) {
        this.reader.waiting.shift().resolve({ value: chunk, done: false });
      } else {
        try {
          this.queue.push({ chunk, size: this.bytes ? chunk.byteLength : this.size(chunk) });
        } catch (error) {
          this.fail(error);
          throw error;
        }
      }
      this.pull();
    }
    close() {
      if (this.closing || this.state !== "readable") throw invalid("Controller is already closed");
      this.closing = true;
      if (this.queue.empty) this.end();
    }
    end() {
      this.state = "closed";
      for (const d of this.reader?.waiting.splice(0) ?? []) d.resolve({ value: undefined, done: true });
      this.reader?.closed.resolve();
    }
    fail(error) {
      if (this.state !== "readable") return;
      this.state = "errored";
      this.error = error;
      this.queue.clear();
      for (const d of this.reader?.waiting.splice(0) ?? []) d.reject(error);
      this.reader?.closed.reject(error);
    }
    // The next chunk. Preconditions: there is a reader.
    read() {
      this.disturbed = true;
      if (this.left !== undefined) {
        const value = this.left;
        this.left = undefined;
        return Promise.resolve({ value, done: false });
      }
      if (this.state === "closed") return Promise.resolve({ value: undefined, done: true });
      if (this.state === "errored") return rejected(this.error);
      if (this.queue.empty) {
        const d = deferred();
        this.reader.waiting.push(d);
        this.pull();
        return d.promise;
      }
      const { chunk } = this.queue.shift();
      if (this.closing && this.queue.empty) this.end();
      else this.pull();
      return Promise.resolve({ value: chunk, done: false });
    }
    cancel(reason) {
      this.disturbed = true;
      this.left = undefined;
      if (this.state === "closed") return Promise.resolve();
      if (this.state === "errored") return rejected(this.error);
      this.queue.clear();
      this.end();
      return then(call(() => this.cancelFn(reason)), nothing);
    }
    // Gives the stream a reader.
    attach() {
      if (this.reader !== undefined) throw invalid("ReadableStream is locked");
      this.reader = { waiting: [], closed: deferred() };
      if (this.state === "closed") this.reader.closed.resolve();
      if (this.state === "errored") this.reader.closed.reject(this.error);
    }
    detach() {
      const gone = invalid("Releasing reader");
      for (const d of this.reader.waiting.splice(0)) d.reject(gone);
      this.reader.closed.reject(gone); // does nothing when it is settled
      const was = this.state === "readable" ? this.reader.closed.promise : rejected(gone);
      this.reader = undefined;
      return was;
    }
  }

  const making = Symbol("making");
  function controllerClass(name) {
    return {
      [name]: class {
        #s;
        constructor(s) {
          if (!(s instanceof Source)) throw cloche.nodeError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor");
          this.#s = s;
        }
        get desiredSize() { return this.#s.room; }
        get byobRequest() { return null; }
        enqueue(chunk = undefined) { this.#s.enqueue(chunk); }
        close() { this.#s.close(); }
        error(error = undefined) { this.#s.fail(error); }
        get [Symbol.toStringTag]() { return name; }
      },
    }[name];
  }
  const ReadableStreamDefaultController = controllerClass("ReadableStreamDefaultController");
  const ReadableByteStreamController = controllerClass("ReadableByteStreamController");
  delete ReadableStreamDefaultController.prototype.byobRequest;

  let sourceOf;
  class ReadableStream {
    #s;
    constructor(source = {}, strategy = {}) {
      if (typeof source !== "object" || source === null) throw cloche.wrongType("source", "of type object", source);
      this.#s = new Source(source, strategy, source.type === undefined ? ReadableStreamDefaultController : ReadableByteStreamController);
    }
    static {
      sourceOf = (stream) => {
        if (typeof stream !== "object" || stream === null || !(#s in stream)) throw notOne("ReadableStream");
        return stream.#s;
      };
    }
    static from(iterable) {
      const begin = iterable?.[Symbol.asyncIterator] ?? iterable?.[Symbol.iterator];
      if (typeof begin !== "function") throw cloche.wrongType("iterable", "an instance of Iterable", iterable);
      const iterator = begin.call(iterable);
      return new ReadableStream({
        async pull(controller) {
          const { done, value } = await iterator.next();
          if (done) controller.close();
          else controller.enqueue(await value);
        },
        async cancel(reason) { await iterator.return?.(reason); },
      }, { highWaterMark: 0 });
    }
    get locked() { return this.#s.reader !== undefined; }
    cancel(reason = undefined) { return this.locked ? rejected(invalid("ReadableStream is locked")) : this.#s.cancel(reason); }
    getReader(options = undefined) {
      if (options?.mode === undefined) return new ReadableStreamDefaultReader(this);
      if (`${options.mode}` !== "byob") throw cloche.nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The property 'options.mode' is invalid. Received ${cloche.inspect(options.mode)}`);
      return new ReadableStreamBYOBReader(this);
    }
    pipeThrough(pair, options = undefined) {
      const { readable, writable } = pair;
      if (this.locked) throw invalid("The ReadableStream is locked");
      if (sinkOf(writable).writer !== undefined) throw invalid("The WritableStream is locked");
      handled(this.pipeTo(writable, options));
      return readable;
    }
    async pipeTo(target, options = undefined) {
      if (this.locked) throw invalid("The ReadableStream is locked");
      if (sinkOf(target).writer !== undefined) throw invalid("The WritableStream is locked");
      const signal = options?.signal;
      if (signal !== undefined && !(signal instanceof AbortSignal)) throw cloche.wrongType("options.signal", "an instance of AbortSignal", signal);
      return pipe(this.getReader(), target.getWriter(), options ?? {});
    }
    tee() { return tee(this.getReader()); }
    values(options = undefined) { return new Values(this.getReader(), !!options?.preventCancel); }
    [Symbol.asyncIterator](options) { return this.values(options); }
    get [Symbol.toStringTag]() { return "ReadableStream"; }
    [custom](depth, options, inspect) {
      const { state, bytes } = this.#s;
      return `ReadableStream ${inspect({ locked: this.locked, state, supportsBYOB: bytes }, options)}`;
    }
  }

  class Reader {
    #s;
    #closed;
    constructor(stream) {
      this.#s = sourceOf(stream);
      this.#s.attach();
      this.#closed = this.#s.reader.closed.promise;
    }
    get closed() { return this.#closed; }
    get source() { return this.#s; }
    cancel(reason = undefined) { return this.#s?.cancel(reason) ?? rejected(invalid("The reader is not attached to a stream")); }
    releaseLock() {
      if (this.#s === undefined) return;
      this.#closed = this.#s.detach();
      this.#s = undefined;
    }
  }
  const attached = Object.getOwnPropertyDescriptor(Reader.prototype, "source").get;
  delete Reader.prototype.source;

  class ReadableStreamDefaultReader extends Reader {
    read() { return attached.call(this)?.read() ?? rejected(invalid("The reader is not attached to a stream")); }
    get [Symbol.toStringTag]() { return "ReadableStreamDefaultReader"; }
  }

  class ReadableStreamBYOBReader extends Reader {
    constructor(stream) {
      if (!sourceOf(stream).bytes) throw cloche.wrongType("reader", "an instance of a stream of bytes", stream);
      super(stream);
    }
    async read(view) {
      if (!ArrayBuffer.isView(view)) throw cloche.wrongType("view", "an instance of Buffer, TypedArray, or DataView", view);
      if (view.byteLength === 0) throw invalid("View or underlying buffer is zero-length");
      const s = attached.call(this);
      if (s === undefined) throw invalid("The reader is not attached to a stream");
      const { done, value } = await s.read();
      const given = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
      const unit = view.BYTES_PER_ELEMENT ?? 1;
      const n = done ? 0 : Math.min(given.length, value.length);
      if (!done) given.set(value.subarray(0, n));
      if (!done && n < value.length) s.left = value.subarray(n);
      return { done, value: new view.constructor(view.buffer, view.byteOffset, Math.floor(n / unit)) };
    }
    get [Symbol.toStringTag]() { return "ReadableStreamBYOBReader"; }
  }

  const asyncIterator = Object.getPrototypeOf(Object.getPrototypeOf(async function* () {}).prototype);
  class Values {
    #reader;
    #keep;
    #last = Promise.resolve();
    #done = false;
    constructor(reader, keep) {
      this.#reader = reader;
      this.#keep = keep;
    }
    #after(fn) { return (this.#last = then(this.#last, fn, fn)); }
    next() {
      return this.#after(async () => {
        if (this.#done) return { value: undefined, done: true };
        try {
          const step = await this.#reader.read();
          if (step.done) this.#end();
          return step;
        } catch (error) {
          this.#end();
          throw error;
        }
      });
    }
    return(value = undefined) {
      return this.#after(async () => {
        if (!this.#done) {
          const cancelled = this.#keep ? undefined : this.#reader.cancel(value);
          this.#end();
          await cancelled;
        }
        return { value, done: true };
      });
    }
    #end() {
      this.#done = true;
      this.#reader.releaseLock();
    }
  }
  Object.setPrototypeOf(Values.prototype, asyncIterator);

  function tee(reader) {
    const branches = [];
    const gone = [];
    const reasons = [];
    const all = deferred();
    let reading = false;
    let again = false;
    async function pull() {
      if (reading) {
        again = true;
        return;
      }
      do {
        again = false;
        reading = true;
        const { done, value } = await reader.read().finally(() => { reading = false; });
        for (const [i, controller] of branches.entries()) {
          if (gone[i]) continue;
          if (done) controller.close();
          else controller.enqueue(value);
        }
        if (done) all.resolve();
      } while (again);
    }
    const branch = (i) => new ReadableStream({
      start(controller) { branches[i] = controller; },
      pull,
      cancel(reason) {
        gone[i] = true;
        reasons[i] = reason;
        if (gone[0] && gone[1]) all.resolve(reader.cancel(reasons));
        return all.promise;
      },
    });
    const both = [branch(0), branch(1)];
    then(reader.closed, undefined, (error) => {
      for (const controller of branches) controller.error(error);
      all.resolve();
    });
    return both;
  }

  async function pipe(reader, writer, { preventClose, preventAbort, preventCancel, signal }) {
    let over; // {error}: what ends the pipe before its source does
    let giveUp = nothing;
    const stop = (error) => {
      over ??= { error };
      giveUp(error);
    };
    // One promise for the whole pipe to race with would remember each of its races.
    const unlessOver = (promise) => over !== undefined ? rejected(over.error) : new Promise((resolve, reject) => {
      giveUp = reject;
      then(promise, resolve, reject);
    });
    let aborted = false;
    let broken = false;
    const abort = () => {
      aborted = true;
      stop(signal.reason);
    };
    const broke = (error) => {
      broken = true;
      stop(error);
    };
    then(writer.closed, () => broke(invalid("Destination WritableStream closed")), broke);
    if (signal !== undefined) {
      if (signal.aborted) abort();
      signal.addEventListener("abort", abort, { once: true });
    }
    let written = Promise.resolve();
    try {
      for (;;) {
        await unlessOver(writer.ready);
        const { done, value } = await unlessOver(reader.read());
        if (done) break;
        written = handled(writer.write(value));
      }
      if (preventClose) await written;
      else await writer.close();
    } catch (error) {
      const ends = [];
      if (!broken && !preventAbort) ends.push(writer.abort(error));
      if ((aborted || broken) && !preventCancel) ends.push(reader.cancel(error));
      await Promise.all(ends);
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
      reader.releaseLock();
      writer.releaseLock();
    }
  }

  // ---- Writable

  class Sink {
    state = "writable"; // erroring: what is being written is waited for
    error;
    writer;
    queue = new Queue();
    closing;
    #abort;
    #busy = true; // until it has started
    constructor(sink, strategy) {
      if (sink.type !== undefined) throw cloche.nodeError(RangeError, "ERR_INVALID_ARG_VALUE", `The property 'sink.type' is invalid. Received ${cloche.inspect(sink.type)}`);
      Object.assign(this, bounds(strategy, 1));
      this.writeFn = method(sink, "write") ?? nothing;
      this.closeFn = method(sink, "close") ?? nothing;
      this.abortFn = method(sink, "abort") ?? nothing;
      this.signal = new AbortController();
      this.controller = new WritableStreamDefaultController(this);
      const start = method(sink, "start");
      const begun = start?.(this.controller);
      then(Promise.resolve(begun), () => {
        this.#busy = false;
        this.advance();
      }, (error) => {
        this.#busy = false;
        this.fail(error);
      });
    }
    get room() { return this.state === "erroring" || this.state === "errored" ? null : this.state === "closed" ? 0 : this.mark - this.queue.total; }
    write(chunk) {
      if (this.state === "erroring" || this.state === "errored") return rejected(this.error);
      if (this.state === "closed" || this.closing) return rejected(invalid("WritableStream is closed"));
      let size;
      try {
        size = this.size(chunk);
      } catch (error) {
        this.fail(error);
        return rejected(error);
      }
      const d = deferred();
      this.queue.push({ chunk, size, d });
      this.press();
      this.advance();
      return d.promise;
    }
    close() {
      if (this.state === "closed" || this.closing) return rejected(invalid("WritableStream is closed"));
      if (this.state === "errored") return rejected(this.error);
      this.closing = deferred();
      this.writer?.ready.resolve();
      this.advance();
      return this.closing.promise;
    }
    abort(reason) {
      if (this.state === "closed" || this.state === "errored") return Promise.resolve();
      if (this.#abort === undefined) {
        this.#abort = deferred();
        this.#abort.reason = reason;
        this.signal.abort(reason);
        if (this.state === "closed" || this.state === "errored") return Promise.resolve(); // by a listener
        this.fail(reason);
      }
      return this.#abort.promise;
    }
    // Does the next thing that waits.
    advance() {
      if (this.#busy || this.state === "closed" || this.state === "errored") return;
      if (this.state === "erroring") return this.#finish();
      const item = this.queue.first;
      if (item !== undefined) {
        this.#work(() => this.writeFn(item.chunk, this.controller), () => {
          this.queue.shift();
          item.d.resolve();
          this.press();
        }, (error) => {
          this.queue.shift();
          item.d.reject(error);
        });
      } else if (this.closing !== undefined) {
        this.#work(() => this.closeFn(), () => {
          this.state = "closed";
          this.closing.resolve();
          this.#abort?.resolve();
          this.writer?.closed.resolve();
        }, (error) => this.closing.reject(error));
      }
    }
    #work(fn, done, failed) {
      this.#busy = true;
      then(call(fn), () => {
        this.#busy = false;
        done();
        this.advance();
      }, (error) => {
        this.#busy = false;
        failed(error);
        if (this.state === "erroring") this.advance();
        else this.fail(error);
      });
    }
    fail(error) {
      if (this.state !== "writable") return;
      this.state = "erroring";
      this.error = error;
      this.writer?.refuse(error);
      this.advance();
    }
    #finish() {
      this.state = "errored";
      for (const { d } of this.queue.clear()) d.reject(this.error);
      const settle = () => {
        this.closing?.reject(this.error);
        this.writer?.closed.reject(this.error);
      };
      if (this.#abort === undefined) return settle();
      then(call(() => this.abortFn(this.#abort.reason)), () => this.#abort.resolve(), (error) => this.#abort.reject(error));
      settle();
    }
    // Tells the writer whether there is room.
    press() {
      if (this.writer === undefined || this.state !== "writable" || this.closing) return;
      if (this.room > 0) this.writer.ready.resolve();
      else this.writer.wait();
    }
  }

  class WritableStreamDefaultController {
    #s;
    constructor(s) {
      if (!(s instanceof Sink)) throw cloche.nodeError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor");
      this.#s = s;
    }
    get signal() { return this.#s.signal.signal; }
    error(error = undefined) { this.#s.fail(error); }
    get [Symbol.toStringTag]() { return "WritableStreamDefaultController"; }
  }

  let sinkOf;
  class WritableStream {
    #s;
    constructor(sink = {}, strategy = {}) { this.#s = new Sink(sink ?? {}, strategy); }
    static {
      sinkOf = (stream) => {
        if (typeof stream !== "object" || stream === null || !(#s in stream)) throw notOne("WritableStream");
        return stream.#s;
      };
    }
    get locked() { return this.#s.writer !== undefined; }
    abort(reason = undefined) { return this.locked ? rejected(invalid("WritableStream is locked")) : this.#s.abort(reason); }
    close() { return this.locked ? rejected(invalid("WritableStream is locked")) : this.#s.close(); }
    getWriter() { return new WritableStreamDefaultWriter(this); }
    get [Symbol.toStringTag]() { return "WritableStream"; }
    [custom](depth, options, inspect) { return `WritableStream ${inspect({ locked: this.locked, state: this.#s.state }, options)}`; }
  }

  class WritableStreamDefaultWriter {
    #s;
    #state;
    constructor(stream) {
      const s = sinkOf(stream);
      if (s.writer !== undefined) throw invalid("WritableStream is locked");
      const state = {
        closed: deferred(),
        ready: deferred(),
        settled: false,
        wait() {
          if (state.waits) return;
          state.waits = true;
          state.ready = deferred();
          const { resolve } = state.ready;
          state.ready.resolve = () => {
            state.waits = false;
            resolve();
          };
        },
        refuse(error) {
          state.ready.reject(error);
          state.ready = deferred();
          state.ready.reject(error);
        },
      };
      this.#s = s;
      this.#state = s.writer = state;
      if (s.state === "writable") {
        if (s.room > 0 || s.closing) state.ready.resolve();
        else state.wait();
      } else if (s.state === "closed") {
        state.ready.resolve();
        state.closed.resolve();
      } else {
        state.ready.reject(s.error);
        if (s.state === "errored") state.closed.reject(s.error);
      }
    }
    get closed() { return this.#state.closed.promise; }
    get ready() { return this.#state.ready.promise; }
    get desiredSize() {
      if (this.#s === undefined) throw invalid("Writer is not bound to a WritableStream");
      return this.#s.room;
    }
    #do(fn) { return this.#s === undefined ? rejected(invalid("Writer is not bound to a WritableStream")) : fn(this.#s); }
    write(chunk = undefined) { return this.#do((s) => s.write(chunk)); }
    close() { return this.#do((s) => s.close()); }
    abort(reason = undefined) { return this.#do((s) => s.abort(reason)); }
    releaseLock() {
      if (this.#s === undefined) return;
      const gone = invalid("Writer has been released");
      this.#state.refuse(gone);
      this.#state.closed.reject(gone);
      this.#s.writer = undefined;
      this.#s = undefined;
    }
    get [Symbol.toStringTag]() { return "WritableStreamDefaultWriter"; }
  }

  // ---- Transform

  class TransformStreamDefaultController {
    #t;
    constructor(t, key) {
      if (key !== making) throw cloche.nodeError(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor");
      this.#t = t;
    }
    get desiredSize() { return this.#t.source.room; }
    enqueue(chunk = undefined) { this.#t.enqueue(chunk); }
    error(error = undefined) { this.#t.fail(error); }
    terminate() { this.#t.terminate(); }
    get [Symbol.toStringTag]() { return "TransformStreamDefaultController"; }
  }

  class TransformStream {
    #readable;
    #writable;
    constructor(transformer = {}, writableStrategy = {}, readableStrategy = {}) {
      transformer ??= {};
      for (const type of ["readableType", "writableType"]) {
        if (transformer[type] !== undefined) throw cloche.nodeError(RangeError, "ERR_INVALID_ARG_VALUE", `The property 'transformer.${type}' is invalid. Received ${cloche.inspect(transformer[type])}`);
      }
      const transform = method(transformer, "transform") ?? ((chunk, controller) => controller.enqueue(chunk));
      const flush = method(transformer, "flush") ?? nothing;
      const cancel = method(transformer, "cancel") ?? nothing;
      const start = method(transformer, "start") ?? nothing;
      let full; // whether the readable side has no room
      let change;
      const press = (value) => {
        change?.resolve();
        change = deferred();
        full = value;
      };
      press(true);
      const begun = deferred();
      const t = {
        enqueue(chunk) {
          t.source.enqueue(chunk);
          if (!t.source.wanted && !full) press(true);
        },
        fail(error) {
          t.source.fail(error);
          t.sink.fail(error);
          if (full) press(false);
        },
        terminate() {
          if (t.source.state === "readable" && !t.source.closing) t.source.close();
          t.sink.fail(invalid("TransformStream terminated"));
          if (full) press(false);
        },
      };
      const controller = new TransformStreamDefaultController(t, making);
      this.#readable = new ReadableStream({
        start: () => begun.promise,
        pull() {
          press(false);
          return change.promise;
        },
        async cancel(reason) {
          t.sink.fail(reason);
          if (full) press(false);
          await cancel(reason);
        },
      }, { highWaterMark: 0, ...readableStrategy });
      this.#writable = new WritableStream({
        start: () => begun.promise,
        async write(chunk) {
          if (full) await change.promise;
          if (t.sink.state === "erroring") throw t.sink.error;
          try {
            await transform(chunk, controller);
          } catch (error) {
            t.fail(error);
            throw error;
          }
        },
        async close() {
          try {
            await flush(controller);
          } catch (error) {
            t.fail(error);
            throw error;
          }
          if (t.source.state === "errored") throw t.source.error;
          if (t.source.state === "readable" && !t.source.closing) t.source.close();
        },
        async abort(reason) {
          await cancel(reason);
          t.source.fail(reason);
        },
      }, writableStrategy);
      t.source = sourceOf(this.#readable);
      t.sink = sinkOf(this.#writable);
      begun.resolve(start(controller));
    }
    get readable() { return this.#readable; }
    get writable() { return this.#writable; }
    get [Symbol.toStringTag]() { return "TransformStream"; }
  }

  // A class whose instances are pairs of streams around a transformer of ours.
  class Pair {
    #transform;
    constructor(transformer) { this.#transform = new TransformStream(transformer); }
    get readable() { return this.#transform.readable; }
    get writable() { return this.#transform.writable; }
  }

  class TextEncoderStream extends Pair {
    constructor() {
      const encoder = new TextEncoder();
      let high = ""; // the first half of a character that two chunks share
      super({
        transform(chunk, controller) {
          let text = high + chunk;
          high = "";
          const last = text.charCodeAt(text.length - 1);
          if (last >= 0xd800 && last < 0xdc00) {
            high = text.at(-1);
            text = text.slice(0, -1);
          }
          if (text !== "") controller.enqueue(encoder.encode(text));
        },
        flush(controller) { if (high !== "") controller.enqueue(encoder.encode("\ufffd")); },
      });
    }
    get encoding() { return "utf-8"; }
    get [Symbol.toStringTag]() { return "TextEncoderStream"; }
  }

  class TextDecoderStream extends Pair {
    #decoder;
    constructor(label = "utf-8", options = undefined) {
      const decoder = new TextDecoder(label, options);
      super({
        transform(chunk, controller) {
          const text = decoder.decode(chunk, { stream: true });
          if (text !== "") controller.enqueue(text);
        },
        flush(controller) {
          const text = decoder.decode();
          if (text !== "") controller.enqueue(text);
        },
      });
      this.#decoder = decoder;
    }
    get encoding() { return this.#decoder.encoding; }
    get fatal() { return this.#decoder.fatal; }
    get ignoreBOM() { return this.#decoder.ignoreBOM; }
    get [Symbol.toStringTag]() { return "TextDecoderStream"; }
  }

  class CountQueuingStrategy {
    #mark;
    constructor({ highWaterMark }) { this.#mark = Number(highWaterMark); }
    get highWaterMark() { return this.#mark; }
    get size() { return () => 1; }
  }
  class ByteLengthQueuingStrategy {
    #mark;
    constructor({ highWaterMark }) { this.#mark = Number(highWaterMark); }
    get highWaterMark() { return this.#mark; }
    get size() { return (chunk) => chunk.byteLength; }
  }

  // What other files make and ask of streams: one of bytes, and whether one was read from.
  cloche.byteStream = (next, cancel) => new ReadableStream({
    type: "bytes",
    async pull(controller) {
      let piece;
      do piece = await next(); while (piece?.byteLength === 0);
      if (piece === undefined) controller.close();
      else controller.enqueue(piece);
    },
    cancel,
  });
  cloche.isReadable = (value) => value instanceof ReadableStream;
  cloche.isDisturbed = (stream) => sourceOf(stream).disturbed;
  cloche.webStreams = {
    ReadableStream, ReadableStreamDefaultReader, ReadableStreamBYOBReader, ReadableStreamDefaultController, ReadableByteStreamController,
    WritableStream, WritableStreamDefaultWriter, WritableStreamDefaultController, TransformStream, TransformStreamDefaultController,
    CountQueuingStrategy, ByteLengthQueuingStrategy, TextEncoderStream, TextDecoderStream,
  };
  cloche.globals(cloche.webStreams);
})
