// node:zlib but for Brotli. The host compresses (zlib.go); its streams gather what they are given and hand on the whole.
(function (cloche) {
  "use strict";

  const { Buffer } = cloche;
  const { Transform } = cloche.stream;
  const { ordinary } = cloche;
  const concat = Buffer.concat; // which packages replace while they work

  const constants = {
    Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5, Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2,
    Z_ERRNO: -1, Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5, Z_VERSION_ERROR: -6,
    Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4,
    Z_DEFAULT_STRATEGY: 0, Z_MIN_WINDOWBITS: 8, Z_MAX_WINDOWBITS: 15, Z_DEFAULT_WINDOWBITS: 15, Z_MIN_CHUNK: 64, Z_MAX_CHUNK: Infinity,
    Z_DEFAULT_CHUNK: 16384, Z_MIN_MEMLEVEL: 1, Z_MAX_MEMLEVEL: 9, Z_DEFAULT_MEMLEVEL: 8, Z_MIN_LEVEL: -1, Z_MAX_LEVEL: 9, Z_DEFAULT_LEVEL: -1,
  };

  const bytesOf = (data) => {
    if (typeof data === "string") return Buffer.from(data);
    if (ArrayBuffer.isView(data) || cloche.is.arrayBuffer(data)) return data;
    throw cloche.wrongType("buffer", "of type string or an instance of Buffer, TypedArray, DataView, or ArrayBuffer", data);
  };

  function pack(format, data, options) {
    const level = options?.level ?? -1;
    if (!Number.isInteger(level) || level < -1 || level > 9) {
      throw cloche.nodeError(RangeError, "ERR_OUT_OF_RANGE", `The value of "options.level" is out of range. It must be >= -1 and <= 9. Received ${cloche.inspect(level)}`);
    }
    if (options?.dictionary !== undefined) throw cloche.unavailable("zlib's option dictionary", "it compresses without one");
    return Buffer.from(cloche.deflate(format, level, ...cloche.span(bytesOf(data))));
  }

  function unpack(format, data, options) {
    if (options?.dictionary !== undefined) throw cloche.unavailable("zlib's option dictionary", "it decompresses without one");
    const most = options?.maxOutputLength ?? 2 ** 31 - 1;
    const out = cloche.inflate(format, most, ...cloche.span(bytesOf(data)));
    if (typeof out !== "string") return Buffer.from(out);
    const [, code, errno, message] = /^(\S+) (\S+) (.*)$/s.exec(out);
    if (code === "ERR_BUFFER_TOO_LARGE") throw cloche.nodeError(RangeError, code, `Cannot create a Buffer larger than ${most} bytes`);
    throw Object.assign(new Error(message), { errno: +errno, code });
  }

  const zlib = { constants, ...Object.fromEntries(Object.entries(constants).filter(([name]) => !/LEVEL$|CHUNK$|WINDOWBITS$/.test(name))) };

  const isLast = (stream, kind) => kind === constants.Z_FINISH || kind === stream._finishFlushFlag;

  // What works for a stream: packages that do without its events drive it by themselves. It gives nothing before the last of its input.
  class Handle {
    parts = [];
    #out; // what is still to be given
    constructor(stream, work, options) {
      this.stream = stream;
      this.work = work;
      this.options = options;
    }
    add(bytes, copy) {
      if (bytes.byteLength > 0) this.parts.push(copy ? Buffer.from(bytes) : bytes);
      return bytes.byteLength;
    }
    finish() {
      const { parts } = this;
      this.parts = [];
      return this.work(parts.length === 1 ? parts[0] : concat(parts), this.options);
    }
    writeSync(kind, input, inOffset, inLength, output, outOffset, outLength) {
      const { stream } = this;
      if (inLength > 0) this.add(input.subarray(inOffset, inOffset + inLength), true);
      let given = 0;
      try {
        if (isLast(stream, kind)) {
          this.#out ??= this.finish();
          given = this.#out.copy(output, outOffset, 0, outLength);
          this.#out = this.#out.subarray(given);
        }
      } catch (error) {
        stream.destroy(error);
      }
      stream._writeState.set([outLength - given, 0]);
    }
    write(...given) {
      this.writeSync(...given);
      cloche.nextTick(() => this.onDone?.());
    }
    close() {}
  }

  // The three doors of one way to work on data: at once, with a callback, as a stream.
  function offer(name, work) {
    const Codec = ordinary(name, class extends Transform {
      _transform(chunk, encoding, done) {
        this.bytesWritten += this._handle.add(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk);
        done();
      }
      _flush(done) {
        let out;
        try {
          out = this._handle.finish();
        } catch (error) {
          return done(error);
        }
        done(null, out.length > 0 ? out : undefined);
      }
      get _outBuffer() {
        const value = Buffer.alloc(this._chunkSize);
        Object.defineProperty(this, "_outBuffer", { value, writable: true, configurable: true });
        return value;
      }
      _processChunk(chunk, kind, done) {
        const last = isLast(this, kind);
        this.bytesWritten += this._handle.add(chunk, !last);
        const out = last ? this._handle.finish() : Buffer.alloc(0);
        if (done === undefined) {
          this._handle.close();
          this._handle = null;
          return out;
        }
        if (out.length > 0) this.push(out);
        cloche.nextTick(done);
      }
      flush(kind, done) { cloche.nextTick(typeof kind === "function" ? kind : done ?? (() => {})); }
      params(level, strategy, done) {
        this._handle.options = { ...this._handle.options, level, strategy };
        if (done) cloche.nextTick(done);
      }
      reset() { this._handle.parts = []; }
      close(done) {
        if (done) this.once("close", done);
        this.destroy();
      }
    }, (stream, options) => {
      Transform.call(stream, options);
      stream.bytesWritten = 0;
      stream._handle = new Handle(stream, work, options);
      stream._chunkSize = options?.chunkSize ?? 16384;
      stream._finishFlushFlag = options?.finishFlush ?? constants.Z_FINISH;
      stream._outOffset = 0;
      stream._writeState = new Uint32Array(2);
    });
    const method = name[0].toLowerCase() + name.slice(1);
    const named = (key, value) => { zlib[key] = Object.defineProperty(value, "name", { value: key }); };
    zlib[name] = Codec;
    named(`create${name}`, (options) => new Codec(options));
    named(`${method}Sync`, (data, options) => work(data, options));
    named(method, (data, options, done) => {
      if (typeof options === "function") [options, done] = [undefined, options];
      if (typeof done !== "function") throw cloche.wrongType("callback", "of type function", done);
      bytesOf(data);
      cloche.timers.setImmediate(() => {
        let out;
        try {
          out = work(data, options);
        } catch (error) {
          return done(error);
        }
        done(null, out);
      });
    });
  }
  offer("Gzip", (data, options) => pack("gzip", data, options));
  offer("Deflate", (data, options) => pack("deflate", data, options));
  offer("DeflateRaw", (data, options) => pack("deflate-raw", data, options));
  offer("Gunzip", (data, options) => unpack("gzip", data, options));
  offer("Inflate", (data, options) => unpack("deflate", data, options));
  offer("InflateRaw", (data, options) => unpack("deflate-raw", data, options));
  offer("Unzip", (data, options) => unpack("auto", data, options));
  const noBrotli = () => { throw cloche.unavailable("Brotli compression", "use gzip or deflate"); };
  for (const name of ["brotliCompress", "brotliCompressSync", "brotliDecompress", "brotliDecompressSync", "createBrotliCompress", "createBrotliDecompress"]) {
    zlib[name] = noBrotli;
  }

  let table;
  zlib.crc32 = function crc32(data, value = 0) {
    table ??= Int32Array.from({ length: 256 }, (_, n) => {
      for (let k = 0; k < 8; k++) n = n & 1 ? n >>> 1 ^ 0xedb88320 : n >>> 1;
      return n;
    });
    let c = ~value;
    for (const b of new Uint8Array(...cloche.span(bytesOf(data)))) c = table[(c ^ b) & 255] ^ c >>> 8;
    return ~c >>> 0;
  };

  // The web's streams gather, too.
  const webStream = (work) => class {
    #pair;
    constructor(format) {
      if (!["gzip", "deflate", "deflate-raw"].includes(`${format}`)) {
        throw cloche.nodeError(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'format' is invalid. Received ${cloche.inspect(format)}`);
      }
      const parts = [];
      this.#pair = new TransformStream({
        transform(chunk) { parts.push(Buffer.from(bytesOf(chunk))); },
        flush(controller) {
          const out = work(`${format}`, Buffer.concat(parts));
          if (out.length > 0) controller.enqueue(new Uint8Array(out));
        },
      });
    }
    get readable() { return this.#pair.readable; }
    get writable() { return this.#pair.writable; }
  };
  class CompressionStream extends webStream(pack) {}
  class DecompressionStream extends webStream(unpack) {}
  Object.assign(cloche.webStreams, { CompressionStream, DecompressionStream });
  cloche.globals({ CompressionStream, DecompressionStream });

  cloche.zlib = zlib;
})
