// node:stream in its usual uses (events, pipe, async iteration, pipeline, finished), node:readline, and the
// refusal of node:child_process. Buffers are not limited by highWaterMark but for what write() and push() return.
(function (cloche) {
  "use strict";

  const { EventEmitter, Buffer, nextTick } = cloche;
  const highWaterMarks = [16384, 16]; // of bytes, of objects

  // A class that is an ordinary function, to be called without new, too: classes made the old way call Readable.call(this). init makes an object one of it.
  function ordinary(name, Class, init) {
    const F = {
      [name]: function (...given) {
        if (new.target === undefined && !(this instanceof F)) return new F(...given);
        init(this, ...given);
      },
    }[name];
    Object.setPrototypeOf(F, Object.getPrototypeOf(Class));
    for (const [key, d] of Object.entries(Object.getOwnPropertyDescriptors(Class))) {
      if (key !== "prototype" && key !== "name" && key !== "length") Object.defineProperty(F, key, d);
    }
    F.prototype = Class.prototype;
    Object.defineProperty(F.prototype, "constructor", { value: F, writable: true, configurable: true });
    return F;
  }
  cloche.ordinary = ordinary;

  const Stream = ordinary("Stream", class extends EventEmitter {
    destroy(error) {
      if (this.destroyed) return this;
      this.destroyed = true;
      this.errored = error ?? null;
      const done = (failure) => nextTick(() => {
        failure ??= error;
        if (failure) this.emit("error", failure);
        this.closed = true;
        this.emit("close");
      });
      if (this._destroy) this._destroy(error ?? null, done);
      else done();
      return this;
    }
    pipe(target, options) { return pipe(this, target, options); }
  }, initStream);

  function initStream(stream, options) {
    EventEmitter.call(stream, options);
    stream.destroyed = false;
    stream.errored = null;
    stream.closed = false;
  }

  const pipes = new WeakMap(); // of a source: what it is written to

  function pipe(source, target, options) {
    const onData = (chunk) => {
      if (target.write(chunk) === false) {
        source.pause?.();
        target.once("drain", () => source.resume?.());
      }
    };
    const onEnd = () => target.end();
    const ends = options?.end !== false && target !== cloche.process.stdout && target !== cloche.process.stderr;
    const leave = () => unpipe(source, target);
    pipes.set(source, [...pipes.get(source) ?? [], {
      target,
      undo() {
        source.off("data", onData).off("end", onEnd);
        target.off?.("finish", leave).off("close", leave);
        target.emit("unpipe", source);
      },
    }]);
    target.once("finish", leave);
    target.once("close", leave);
    if (ends) source.on("end", onEnd);
    target.emit("pipe", source);
    source.on("data", onData);
    return target;
  }

  function unpipe(source, target) {
    const all = pipes.get(source) ?? [];
    const left = all.filter((p) => target !== undefined && p.target !== target);
    pipes.set(source, left);
    if (left.length === 0 && all.length > 0) source.pause?.(); // one made the old way may have none
    for (const p of all) if (!left.includes(p)) p.undo();
    return source;
  }

  const callable = (fn, name = "fn") => { if (typeof fn !== "function") throw cloche.wrongType(name, "of type function or an instance of AsyncFunction", fn); };
  const count = (n) => {
    if (!(n >= 0)) throw cloche.nodeError(RangeError, "ERR_OUT_OF_RANGE", `The value of "number" is out of range. It must be >= 0. Received ${cloche.inspect(n)}`);
  };

  // ---- Readable

  const readable = {
    push(chunk, encoding) {
      const s = this._in;
      if (chunk === null) {
        s.ended = true;
      } else {
        if (!s.objects && typeof chunk !== "string" && !ArrayBuffer.isView(chunk)) {
          this.destroy(cloche.wrongType("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk));
          return false;
        }
        if (!s.objects && typeof chunk === "string") chunk = s.decoder ? chunk : Buffer.from(chunk, encoding);
        if (s.decoder && typeof chunk !== "string") chunk = s.decoder.write(chunk);
        if (s.objects || chunk.length > 0) s.queue.push(chunk);
      }
      s.reading = false;
      schedule(this);
      return s.queue.length < s.high;
    },
    unshift(chunk) { this._in.queue.unshift(chunk); },
    setEncoding(name) {
      const s = this._in;
      s.decoder = new cloche.StringDecoder(name);
      if (!s.objects && s.queue.length > 0) { // what waits becomes one text
        let text = "";
        for (const chunk of s.queue) text += typeof chunk === "string" ? chunk : s.decoder.write(chunk);
        s.queue = text === "" ? [] : [text];
      }
      return this;
    },
    on(event, fn) {
      EventEmitter.prototype.on.call(this, event, fn);
      if (event === "data" && this._in.flowing !== false) this.resume();
      if (event === "readable") {
        this._in.wanted = true;
        schedule(this);
      }
      return this;
    },
    read(size) {
      const s = this._in;
      if (size !== undefined && !s.objects) return part(this, size);
      if (s.queue.length === 0) {
        fill(this);
        if (s.queue.length === 0) {
          schedule(this);
          return null;
        }
      }
      const chunk = take(s);
      if (!s.objects) schedule(this);
      return chunk;
    },
    resume() {
      this._in.flowing = true;
      schedule(this);
      return this;
    },
    pause() {
      this._in.flowing = false;
      return this;
    },
    isPaused() { return this._in.flowing === false; },
    unpipe(target) { return unpipe(this, target); },
    [Symbol.asyncIterator]() { return this.iterator(); },
    async *iterator(options) {
      const s = this._in;
      let left = true; // by its caller, before the end
      let wake;
      const onChange = () => wake?.();
      this.on("error", onChange);
      this.on("close", onChange);
      s.onChange = onChange;
      try {
        for (;;) {
          if (this.errored) {
            left = false;
            throw this.errored;
          }
          if (s.queue.length > 0) {
            yield take(s);
            continue;
          }
          if (s.ended || this.destroyed) break;
          const waiting = new Promise((resolve) => { wake = resolve; });
          fill(this);
          if (s.queue.length === 0 && !s.ended && !this.errored) await waiting;
        }
        left = false;
        if (!s.endEmitted) {
          s.endEmitted = true;
          this.emit("end");
        }
      } finally {
        s.onChange = undefined;
        if (left && options?.destroyOnReturn === false) this.off("error", onChange).off("close", onChange);
        else this.destroy();
      }
    },
    // Helpers that gather or transform.
    async toArray() {
      const out = [];
      for await (const chunk of this) out.push(chunk);
      return out;
    },
    async forEach(fn) {
      callable(fn);
      for await (const chunk of this) await fn(chunk);
    },
    async reduce(fn, ...initial) {
      callable(fn, "reducer");
      let empty = initial.length === 0;
      let [value] = initial;
      for await (const chunk of this) {
        value = empty ? chunk : await fn(value, chunk);
        empty = false;
      }
      if (empty) throw cloche.nodeError(TypeError, "ERR_MISSING_ARGS", "Reduce of an empty stream requires an initial value");
      return value;
    },
    map(fn, options) {
      callable(fn);
      return Readable.from(mapped(this, fn, options?.concurrency ?? 1));
    },
    filter(fn) {
      callable(fn);
      const source = this;
      return Readable.from((async function* () { for await (const chunk of source) if (await fn(chunk)) yield chunk; })());
    },
    flatMap(fn, options) {
      callable(fn);
      const source = mapped(this, fn, options?.concurrency ?? 1);
      return Readable.from((async function* () { for await (const list of source) yield* list; })());
    },
    take(n) {
      count(n);
      const source = this;
      return Readable.from((async function* () {
        let left = n;
        if (left > 0) for await (const chunk of source) {
          yield chunk;
          if (--left <= 0) return;
        }
      })());
    },
    drop(n) {
      count(n);
      const source = this;
      return Readable.from((async function* () {
        let left = n;
        for await (const chunk of source) if (left-- <= 0) yield chunk;
      })());
    },
    async find(fn) {
      callable(fn);
      for await (const chunk of this) if (await fn(chunk)) return chunk;
    },
    async some(fn) {
      callable(fn);
      for await (const chunk of this) if (await fn(chunk)) return true;
      return false;
    },
    async every(fn) {
      callable(fn);
      for await (const chunk of this) if (!await fn(chunk)) return false;
      return true;
    },
    compose(...parts) { return compose(this, ...parts); },
  };

  // What a reader gets next: an object, or all bytes or characters that are there.
  function take(s) {
    if (s.objects) return s.queue.shift();
    const all = s.queue.splice(0);
    return all.length === 1 ? all[0] : typeof all[0] === "string" ? all.join("") : Buffer.concat(all);
  }

  // What fn makes of each chunk, in order, of several at once.
  async function* mapped(source, fn, atOnce) {
    const running = [];
    for await (const chunk of source) {
      const value = (async () => fn(chunk))();
      value.catch(() => {}); // it is awaited later
      running.push(value);
      if (running.length >= atOnce) yield await running.shift();
    }
    for (const value of running) yield await value;
  }

  // The next bytes or characters of a stream; null until there are as many, but for its end.
  function part(stream, size) {
    const s = stream._in;
    const held = () => s.queue.reduce((n, chunk) => n + chunk.length, 0);
    if (held() < size) fill(stream);
    if (held() < size && !s.ended || size <= 0 || held() === 0) {
      if (s.queue.length === 0) schedule(stream);
      return null;
    }
    const all = typeof s.queue[0] === "string" ? s.queue.join("") : Buffer.concat(s.queue);
    s.queue = size < all.length ? [all.slice(size)] : [];
    if (s.queue.length === 0) schedule(stream);
    return all.slice(0, size);
  }

  function initReadable(stream, options) {
    stream._in = {
      queue: [], ended: false, endEmitted: false, reading: false, flowing: null, scheduled: false, wanted: false, onChange: undefined,
      objects: !!(options?.objectMode || options?.readableObjectMode), high: options?.highWaterMark ?? 16, auto: options?.autoDestroy !== false,
      decoder: options?.encoding ? new cloche.StringDecoder(options.encoding) : undefined,
    };
    if (options?.signal) addAbortSignal(options.signal, stream);
    if (options?.read) stream._read = options.read;
    if (options?.destroy) stream._destroy = options.destroy;
    stream.readable = true;
    construct(stream, "_in", options, "reading", schedule);
  }

  function fill(stream) {
    const s = stream._in;
    if (s.reading || s.ended || stream.destroyed || !stream._read) return;
    s.reading = true;
    try {
      stream._read(Math.max(s.high, 16384));
    } catch (error) {
      stream.destroy(error);
    }
  }

  function schedule(stream) {
    const s = stream._in;
    s.onChange?.();
    if (s.scheduled) return;
    s.scheduled = true;
    nextTick(() => {
      s.scheduled = false;
      if (s.onChange || stream.destroyed) return;
      if (s.wanted) {
        if (s.queue.length === 0) fill(stream);
        if (s.queue.length > 0 || s.ended && !s.endEmitted) stream.emit("readable");
      } else if (s.flowing) {
        if (s.queue.length === 0) fill(stream);
        while (s.flowing && s.queue.length > 0) {
          const chunk = s.queue.shift();
          if (s.queue.length < s.high) fill(stream);
          stream.emit("data", chunk);
        }
      }
      if (s.ended && s.queue.length === 0 && !s.endEmitted && (s.flowing || s.wanted)) {
        const tail = s.decoder?.end();
        if (tail) stream.emit("data", tail);
        s.endEmitted = true;
        stream.readable = false;
        stream.emit("end");
        if (stream._in.auto && (!stream._out || stream._out.finished)) stream.destroy();
      }
    });
  }

  const Readable = ordinary("Readable", class extends Stream {
    static toWeb(source) {
      const it = source[Symbol.asyncIterator]();
      return new ReadableStream({
        async pull(controller) {
          const { done, value } = await it.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        async cancel() { await it.return(); },
      });
    }
    static fromWeb(source, options) { return Readable.from(source, options); }
    static from(source, options) {
      const it = typeof source === "string" || source instanceof Uint8Array ? [source].values() : source[Symbol.asyncIterator]?.() ?? source[Symbol.iterator]();
      return new Readable({
        objectMode: true, highWaterMark: 1,
        async destroy(error, done) {
          try {
            const { done: over } = error && it.throw ? await it.throw(error) : {};
            if (!over) await it.return?.();
            done(error);
          } catch (failure) {
            done(failure);
          }
        },
        ...options,
        read() {
          try {
            const step = it.next();
            if (typeof step.then === "function" || typeof step.value?.then === "function") pushLater(this, step);
            else this.push(step.done ? null : step.value);
          } catch (error) {
            this.destroy(error);
          }
        },
      });
    }
  }, (stream, options) => {
    initStream(stream, options);
    initReadable(stream, options);
  });
  install(Readable, readable);

  async function pushLater(stream, step) {
    try {
      const { done, value } = await step;
      stream.push(done ? null : await value);
    } catch (error) {
      stream.destroy(error);
    }
  }

  // ---- Writable

  const writable = {
    write(chunk, encoding, done) {
      if (typeof encoding === "function") [done, encoding] = [encoding, undefined];
      const s = this._out;
      if (s.ending) {
        const error = cloche.nodeError(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end");
        if (done) nextTick(() => done(error));
        this.destroy(error);
        return false;
      }
      if (!s.objects && s.strings && typeof chunk === "string") {
        chunk = Buffer.from(chunk, encoding ?? s.encoding);
        encoding = "buffer";
      } else if (!s.objects && typeof chunk !== "string" && !ArrayBuffer.isView(chunk)) {
        throw cloche.wrongType("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk);
      }
      const length = s.objects ? 1 : chunk.length;
      s.length += length;
      s.queue.push([chunk, encoding ?? "utf8", done, length]);
      const room = s.length < s.high;
      s.needDrain ||= !room;
      pump(this);
      return room;
    },
    end(chunk, encoding, done) {
      if (typeof chunk === "function") [done, chunk] = [chunk, undefined];
      if (typeof encoding === "function") [done, encoding] = [encoding, undefined];
      if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
      if (done) this.once("finish", done);
      this._out.corked = 0;
      this._out.ending = true;
      this.writable = false;
      pump(this);
      return this;
    },
    cork() { this._out.corked++; },
    uncork() {
      if (this._out.corked > 0 && --this._out.corked === 0) pump(this);
    },
    setDefaultEncoding(name) {
      this._out.encoding = name;
      return this;
    },
  };

  function initWritable(stream, options) {
    const objects = !!(options?.objectMode || options?.writableObjectMode);
    stream._out = {
      queue: [], writing: false, corked: 0, ending: false, finished: false, needDrain: false, length: 0, encoding: options?.defaultEncoding ?? "utf8",
      objects, high: options?.writableHighWaterMark ?? options?.highWaterMark ?? highWaterMarks[+objects], strings: options?.decodeStrings !== false, auto: options?.autoDestroy !== false,
    };
    if (options?.signal && !stream._in) addAbortSignal(options.signal, stream);
    for (const name of ["write", "final", "destroy", "writev"]) if (options?.[name]) stream[`_${name}`] = options[name];
    stream.writable = true;
    construct(stream, "_out", options, "writing", pump);
  }

  // Holds what a stream does until its construct has said that it may begin; of one that both reads and writes, too.
  function construct(stream, side, options, flag, go) {
    const begin = options?.construct ?? stream._construct;
    if (typeof begin !== "function") return;
    stream[side][flag] = true;
    const free = () => {
      stream[side][flag] = false;
      go(stream);
    };
    const waiting = constructing.get(stream);
    if (waiting !== undefined) return waiting.push(free);
    const all = [free];
    constructing.set(stream, all);
    nextTick(() => begin.call(stream, (error) => {
      if (error) return stream.destroy(error);
      for (const f of all) f();
    }));
  }
  const constructing = new WeakMap(); // what is to be done once a stream has been constructed

  function pump(stream) {
    const s = stream._out;
    if (s.writing || s.corked > 0 || stream.destroyed) return;
    if (s.queue.length === 0) {
      if (s.needDrain && !s.ending) {
        s.needDrain = false;
        nextTick(() => stream.emit("drain"));
      }
      if (s.ending && !s.finished) {
        s.finished = true;
        const finish = (error) => {
          if (error) return stream.destroy(error);
          nextTick(() => {
            stream.emit("finish");
            if (s.auto && (!stream._in || stream._in.endEmitted)) stream.destroy();
          });
        };
        if (stream._final) stream._final(finish);
        else finish();
      }
      return;
    }
    const batch = s.queue.splice(0, stream._writev && (s.queue.length > 1 || !stream._write) ? s.queue.length : 1);
    const [[chunk, encoding]] = batch;
    s.writing = true;
    let sync = true;
    const after = (error) => {
      s.writing = false;
      for (const [, , done, length] of batch) {
        s.length -= length;
        if (error) done?.(error);
        else if (done) nextTick(done);
      }
      if (error) {
        stream.destroy(error);
        return;
      }
      if (sync) nextTick(() => pump(stream));
      else pump(stream);
    };
    try {
      if (batch.length > 1 || stream._writev && !stream._write) stream._writev(batch.map(([chunk, encoding]) => ({ chunk, encoding })), after);
      else if (stream._write) stream._write(chunk, encoding, after);
      else after();
    } catch (error) {
      after(error);
    }
    sync = false;
  }

  const Writable = ordinary("Writable", class extends Stream {}, (stream, options) => {
    initStream(stream, options);
    initWritable(stream, options);
  });
  install(Writable, writable);
  const isOrdinary = cloche.uncurry(Function.prototype[Symbol.hasInstance]);
  Object.defineProperty(Writable, Symbol.hasInstance, { // a Duplex is of both kinds
    value(stream) { return isOrdinary(this, stream) || this === Writable && stream?._out !== undefined; },
  });
  const states = { // of both kinds, by their names
    readableEnded: (s) => s._in.endEmitted,
    readableFlowing: (s) => s._in.flowing,
    readableHighWaterMark: (s) => s._in.high,
    readableObjectMode: (s) => s._in.objects,
    readableLength: (s) => s._in.objects ? s._in.queue.length : s._in.queue.reduce((n, chunk) => n + chunk.length, 0),
    writableEnded: (s) => s._out.ending,
    writableFinished: (s) => s._out.finished,
    writableHighWaterMark: (s) => s._out.high,
    writableLength: (s) => s._out.length,
    writableNeedDrain: (s) => s._out.needDrain && !s._out.ending && !s.destroyed,
    writableObjectMode: (s) => s._out.objects,
  };
  const tell = (Class, kind) => {
    for (const [name, get] of Object.entries(states)) {
      if (name.startsWith(kind)) Object.defineProperty(Class.prototype, name, { get() { return get(this); }, configurable: true });
    }
  };
  tell(Readable, "readable");
  tell(Writable, "writable");

  // What Node keeps of a stream, under the names that packages look at.
  const kept = (key) => [(s) => s[key], (s, value) => { s[key] = value; }];
  const told = (key) => [(_, stream) => stream[key]];
  const common = { objectMode: kept("objects"), highWaterMark: kept("high"), autoDestroy: kept("auto"), destroyed: told("destroyed"), errored: told("errored"), closed: told("closed"), constructed: [() => true] };
  const viewOf = {
    _in: {
      ...common, flowing: kept("flowing"), ended: kept("ended"), endEmitted: kept("endEmitted"), reading: kept("reading"), needReadable: kept("wanted"), readableListening: kept("wanted"),
      buffer: kept("queue"), length: told("readableLength"), decoder: kept("decoder"), encoding: [(s) => s.decoder?.encoding ?? null], pipes: [(_, stream) => (pipes.get(stream) ?? []).map((p) => p.target)],
    },
    _out: {
      ...common, length: kept("length"), writing: kept("writing"), corked: kept("corked"), ending: kept("ending"), ended: kept("ending"), finished: kept("finished"), needDrain: kept("needDrain"),
      decodeStrings: kept("strings"), defaultEncoding: kept("encoding"), bufferedRequestCount: [(s) => s.queue.length],
      getBuffer: [(s) => () => s.queue.map(([chunk, encoding, callback]) => ({ chunk, encoding, callback }))],
    },
  };
  for (const side of ["_in", "_out"]) {
    viewOf[side] = Object.defineProperties({}, Object.fromEntries(Object.entries(viewOf[side]).map(([key, [get, set]]) => [key, {
      get() { return get(this.stream[side], this.stream); },
      set(value) { set?.(this.stream[side], value); },
    }])));
  }
  const views = new WeakMap();
  const lookedAt = (Class, name, side) => Object.defineProperty(Class.prototype, name, {
    get() {
      if (this[side] === undefined) return undefined;
      let both = views.get(this);
      if (both === undefined) views.set(this, both = {});
      return both[side] ??= { __proto__: viewOf[side], stream: this };
    },
    set(value) { Object.defineProperty(this, name, { value, writable: true, configurable: true, enumerable: true }); },
    configurable: true,
  });
  lookedAt(Readable, "_readableState", "_in");
  lookedAt(Writable, "_writableState", "_out");

  const Duplex = ordinary("Duplex", class extends Readable {
    // One stream of a source, of a function from source to source, or of two streams.
    static from(source) {
      if (source instanceof Duplex) return source;
      if (source instanceof Readable) return Duplex.from({ readable: source });
      if (source instanceof Writable) return Duplex.from({ writable: source });
      if (typeof source === "function") {
        const writable = new PassThrough({ objectMode: true });
        return Duplex.from({ readable: Readable.from(source(writable)), writable });
      }
      if (typeof source.then === "function") source = (async function* (value) { yield await value; })(source);
      if (source[Symbol.asyncIterator] !== undefined || source[Symbol.iterator] !== undefined) return Duplex.from({ readable: Readable.from(source) });
      const { readable, writable } = source;
      const both = new Duplex({
        objectMode: true,
        read() { readable?.resume(); },
        write(chunk, encoding, done) { if (writable.write(chunk, encoding)) done(); else writable.once("drain", done); },
        final(done) { if (writable === undefined) done(); else writable.end(done); },
        destroy(error, done) {
          readable?.destroy(error);
          writable?.destroy(error);
          done(error);
        },
      });
      for (const s of [readable, writable]) s?.on("error", (error) => both.destroy(error));
      if (readable === undefined) both.push(null);
      else readable.on("data", (chunk) => { if (!both.push(chunk)) readable.pause(); }).on("end", () => both.push(null));
      if (writable === undefined) both.end();
      return both;
    }
  }, initDuplex);
  install(Duplex, writable);
  tell(Duplex, "writable");
  lookedAt(Duplex, "_writableState", "_out");

  function initDuplex(stream, options) {
    initStream(stream, options);
    initReadable(stream, options);
    initWritable(stream, options);
  }

  const Transform = ordinary("Transform", class extends Duplex {
    _write(chunk, encoding, done) {
      this._transform(chunk, encoding, (error, value) => {
        if (!error && value !== undefined && value !== null) this.push(value);
        done(error);
      });
    }
    _final(done) {
      if (!this._flush) {
        this.push(null);
        return done();
      }
      this._flush((error, value) => {
        if (!error && value !== undefined && value !== null) this.push(value);
        this.push(null);
        done(error);
      });
    }
    _transform(chunk, encoding, done) { done(null, chunk); }
  }, initTransform);
  const PassThrough = ordinary("PassThrough", class extends Transform {}, initTransform);

  function initTransform(stream, options) {
    initDuplex(stream, { ...options, read: undefined, write: undefined, final: undefined });
    if (options?.transform) stream._transform = options.transform;
    if (options?.flush) stream._flush = options.flush;
  }

  function install(Class, methods) {
    for (const name of Reflect.ownKeys(methods)) {
      Object.defineProperty(Class.prototype, name, { value: methods[name], writable: true, configurable: true });
    }
  }

  // Calls done when a stream has ended, finished or failed.
  function finished(stream, options, done) {
    if (typeof options === "function") [done, options] = [options, undefined];
    let called = false;
    const call = (error) => {
      if (called) return;
      called = true;
      done.call(stream, error);
    };
    stream.on("error", call);
    stream.on(stream._out ? "finish" : "end", () => { if (!stream._in || !stream._out || stream._in.endEmitted || options?.readable === false) call(); });
    if (stream._in && stream._out) stream.on("end", () => { if (stream._out.finished) call(); });
    stream.on("close", () => {
      if (stream.errored) call(stream.errored);
      else if (stream._in && !stream._in.endEmitted && options?.readable !== false || stream._out && !stream._out.finished && options?.writable !== false) {
        call(cloche.nodeError(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close"));
      }
      else call();
    });
    return () => { called = true; };
  }

  function pipeline(...streams) {
    const done = typeof streams.at(-1) === "function" && streams.length > 1 && streams.at(-1).length <= 2 && !isGenerator(streams.at(-1)) ? streams.pop() : () => {};
    streams = streams.flat();
    let failed = false;
    const fail = (error) => {
      if (failed) return;
      failed = true;
      for (const s of streams) s.destroy?.();
      done(error);
    };
    let source = streams[0];
    if (typeof source === "function") source = source();
    if (typeof source.pipe !== "function") source = Readable.from(source);
    source.on("error", fail);
    for (let i = 1; i < streams.length; i++) {
      const last = i === streams.length - 1;
      let next = streams[i];
      if (typeof next === "function") {
        const out = next(source, {});
        if (last && typeof out?.then === "function") {
          out.then((value) => { if (!failed) done(undefined, value); }, fail);
          return;
        }
        next = Readable.from(out);
        next.on("error", fail);
      } else {
        next.on("error", fail);
        source.pipe(next);
        if (last && (next === cloche.process.stdout || next === cloche.process.stderr)) { // which never end
          source.on("end", () => { if (!failed) done(); });
          return next;
        }
      }
      source = next;
    }
    finished(source, { readable: false }, (error) => { // of the last one only that it was written to
      if (error) fail(error);
      else if (!failed) done();
    });
    if (source._in && !source._out) source.resume();
    return source;
  }

  // Destroys a stream when a signal says so.
  function addAbortSignal(signal, stream) {
    if (typeof signal?.addEventListener !== "function") throw cloche.wrongType("signal", "an instance of AbortSignal", signal);
    const stop = () => stream.destroy(cloche.abortError(signal));
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    return stream;
  }

  const isGenerator = (fn) => /GeneratorFunction/.test(Object.prototype.toString.call(fn));

  const promises = {
    pipeline: (...streams) => new Promise((resolve, reject) => {
      const last = streams.at(-1);
      const plain = typeof last === "object" && last?.pipe === undefined && last?.write === undefined && !last?.[Symbol.asyncIterator];
      const signal = plain ? streams.pop()?.signal : undefined;
      if (signal?.aborted) return reject(cloche.abortError(signal));
      signal?.addEventListener("abort", () => {
        const error = cloche.abortError(signal);
        reject(error);
        for (const stream of streams.flat()) stream.destroy?.(error);
      }, { once: true });
      pipeline(...streams, (error, value) => error ? reject(error) : resolve(value));
    }),
    finished: (stream, options) => new Promise((resolve, reject) => finished(stream, options, (error) => error ? reject(error) : resolve())),
  };

  // One stream of several: what is written goes to the first, what is read comes from the last.
  function compose(...parts) {
    if (parts.length === 0) throw cloche.nodeError(TypeError, "ERR_MISSING_ARGS", 'The "streams" argument must be specified');
    if (parts.length === 1) return Duplex.from(parts[0]);
    const streams = parts.map((part) => typeof part === "function" || typeof part.pipe !== "function" && part._out === undefined ? Duplex.from(part) : part);
    const [first] = streams;
    const last = streams.at(-1);
    const both = Duplex.from({ writable: first._out && first, readable: last._in && last });
    pipeline(...streams, (error) => { if (error) both.destroy(error); });
    return both;
  }
  const helpers = {
    compose,
    destroy(stream, error) { return stream.destroy(error); },
    duplexPair(options) {
      const side = () => new Duplex({
        ...options,
        read() { this.drained?.(); this.drained = undefined; },
        write(chunk, encoding, done) {
          if (this.other.push(chunk)) done();
          else this.other.drained = done;
        },
        final(done) { this.other.push(null); done(); },
      });
      const [a, b] = [side(), side()];
      a.other = b;
      b.other = a;
      return [a, b];
    },
    isDisturbed: (stream) => !!(stream?._in && (stream._in.endEmitted || stream._in.flowing !== null || stream.destroyed)),
    isErrored: (stream) => !!stream?.errored,
    isReadable: (stream) => stream?._in === undefined ? null : !stream.destroyed && !stream.errored && !stream._in.endEmitted,
    isWritable: (stream) => stream?._out === undefined ? null : !stream.destroyed && !stream.errored && !stream._out.ending,
    isDestroyed: (stream) => stream?._in === undefined && stream?._out === undefined ? null : stream.destroyed,
    getDefaultHighWaterMark: (objects) => highWaterMarks[+!!objects],
    setDefaultHighWaterMark(objects, value) { highWaterMarks[+!!objects] = value; },
  };

  cloche.stream = Object.assign(Stream, { Stream, Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, addAbortSignal, ...helpers, promises });

  // The classes of files' streams (fs.js works for them).
  const closing = { close(done) { if (done) this.closed ? nextTick(done) : this.once("close", done); this._out ? this.end() : this.destroy(); } };
  cloche.fs.ReadStream = cloche.fs.FileReadStream = ordinary("ReadStream", class extends Readable {}, cloche.fileStreams.readFrom);
  cloche.fs.WriteStream = cloche.fs.FileWriteStream = ordinary("WriteStream", class extends Writable {}, cloche.fileStreams.writeTo);
  for (const Class of [cloche.fs.ReadStream, cloche.fs.WriteStream]) install(Class, closing);

  // ---- node:stream/consumers

  const buffer = async (source) => {
    const parts = [];
    for await (const chunk of source) parts.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
    return Buffer.concat(parts);
  };
  const text = async (source) => (await buffer(source)).toString();
  cloche.streamConsumers = {
    arrayBuffer: async (source) => new Uint8Array(await buffer(source)).buffer,
    blob: async (source) => new Blob([await buffer(source)]),
    buffer,
    json: async (source) => JSON.parse(await text(source)),
    text,
  };

  // ---- node:readline

  class Interface extends EventEmitter {
    #lines;
    #closed = false;
    #waiting = [];
    constructor(options) {
      super();
      this.input = options?.input;
      this.output = options?.output;
      this.terminal = false;
      this.prompts = options?.prompt ?? "> ";
      this.#lines = this.#read();
      cloche.timers.setImmediate(() => this.#run());
    }
    async *#read() {
      let rest = "";
      const decoder = new cloche.StringDecoder("utf8");
      for await (const chunk of this.input) {
        rest += typeof chunk === "string" ? chunk : decoder.write(chunk);
        const all = rest.split(/\r\n|\n|\r/);
        rest = all.pop();
        yield* all;
      }
      rest += decoder.end();
      if (rest !== "") yield rest;
    }
    async #run() {
      while (!this.#closed) {
        if (this.iterating) return;
        if (this.listenerCount("line") === 0 && this.#waiting.length === 0) {
          await cloche.timersPromises.setImmediate();
          if (this.idle && this.listenerCount("line") === 0 && this.#waiting.length === 0) return;
          this.idle = true;
          continue;
        }
        this.idle = false;
        let next;
        try {
          next = await this.#lines.next();
        } catch (error) {
          this.emit("error", error);
          return this.close();
        }
        if (next.done) return this.close();
        if (this.#waiting.length > 0) this.#waiting.shift()(next.value);
        else this.emit("line", next.value);
      }
    }
    setPrompt(text) { this.prompts = text; }
    getPrompt() { return this.prompts; }
    prompt() { this.output?.write(this.prompts); }
    question(text, options, done) {
      if (typeof options === "function") done = options;
      this.output?.write(text);
      this.#waiting.push(done);
      if (this.idle) {
        this.idle = false;
        cloche.timers.setImmediate(() => this.#run());
      }
    }
    write() {}
    pause() { return this; }
    resume() { return this; }
    get closed() { return this.#closed; }
    close() {
      if (this.#closed) return;
      this.#closed = true;
      this.emit("close");
    }
    async *[Symbol.asyncIterator]() {
      this.iterating = true;
      yield* this.#lines;
      this.close();
    }
    [Symbol.dispose]() { this.close(); }
  }
  class PromiseInterface extends Interface {
    question(text) { return new Promise((resolve) => super.question(text, resolve)); }
  }
  const make = (Class) => (input, output) => new Class(input?.input !== undefined || input?.output !== undefined ? input : { input, output });
  cloche.readline = {
    Interface, createInterface: make(Interface), clearLine: () => true, cursorTo: () => true, moveCursor: () => true, clearScreenDown: () => true,
    emitKeypressEvents() {},
    promises: { Interface: PromiseInterface, createInterface: make(PromiseInterface) },
  };

  // ---- node:child_process

  cloche.childProcess = cloche.refusals("child_process", "programs cannot start processes here; do the work in JavaScript", "exec execSync execFile execFileSync spawn spawnSync fork");
})
