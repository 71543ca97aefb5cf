// node:buffer.
(function (cloche) {
  "use strict";

  const { encode, decode, encodingName } = cloche;
  const custom = Symbol.for("nodejs.util.inspect.custom");
  const { defineProperty } = Object;

  const outOfRange = (name, range, value) =>
    cloche.nodeError(RangeError, "ERR_OUT_OF_RANGE", `The value of "${name}" is out of range. It must be ${range}. Received ${cloche.inspect(value)}`);

  cloche.checkCount = (name, value, min, max) => {
    if (typeof value !== "number") throw cloche.wrongType(name, "of type number", value);
    if (!Number.isInteger(value) && Math.abs(value) !== Infinity) throw outOfRange(name, "an integer", value);
    if (!(value >= min && value <= max)) throw outOfRange(name, `>= ${min} && <= ${max}`, value);
  };

  function checkSize(size) {
    if (typeof size !== "number") throw cloche.wrongType("size", "of type number", size);
    if (!(size >= 0 && size <= 2 ** 32)) throw outOfRange("size", ">= 0 && <= 4294967296", size);
  }

  // A Uint8Array whose constructor is a function, so that Buffer(n) works without new.
  class FastBuffer extends Uint8Array {}
  function Buffer(arg, encodingOrOffset, length) {
    if (typeof arg === "number") return Buffer.alloc(arg);
    return Buffer.from(arg, encodingOrOffset, length);
  }
  Buffer.prototype = FastBuffer.prototype;
  defineProperty(Buffer.prototype, "constructor", { value: Buffer, writable: true, configurable: true });
  Object.setPrototypeOf(Buffer, Uint8Array);
  defineProperty(Buffer, Symbol.species, { get: () => FastBuffer, configurable: true });
  defineProperty(Buffer, Symbol.hasInstance, {
    value(v) { return typeof v === "object" && v !== null && (this === Buffer ? Buffer.prototype : this.prototype)?.isPrototypeOf(v) === true; },
  });

  const wrap = (buffer) => new FastBuffer(buffer);

  // Bytes are compared and searched as text of one letter a byte, piece by piece: the engine does that at once, and a byte at a
  // time in JavaScript takes seconds for a megabyte.
  const piece = 1 << 16;
  const letters = (bytes, from, to) => decode("latin1", bytes.buffer, bytes.byteOffset + from, to - from);
  cloche.sameBytes = (a, b) => Buffer.compare(a, b) === 0;

  function fromText(text, encoding = "utf8") {
    let name = encodingName(encoding, true);
    if (name === "ascii") name = "latin1";
    if (name === "base64url") name = "base64";
    return wrap(encode(name, text));
  }

  Object.assign(Buffer, {
    poolSize: 8192,
    from(value, encodingOrOffset, length) {
      if (typeof value === "string") return fromText(value, typeof encodingOrOffset === "string" ? encodingOrOffset : "utf8");
      if (typeof value === "object" && value !== null) {
        if (cloche.is.arrayBuffer(value) || cloche.is.sharedArrayBuffer(value)) {
          return new FastBuffer(value, encodingOrOffset, length);
        }
        if (ArrayBuffer.isView(value)) return new FastBuffer(value);
        const inner = value.valueOf?.();
        if (inner != null && inner !== value && (typeof inner === "string" || typeof inner === "object")) {
          return Buffer.from(inner, encodingOrOffset, length);
        }
        if (value.type === "Buffer" && Array.isArray(value.data)) return new FastBuffer(value.data);
        if (typeof value.length === "number") return new FastBuffer(Array.from(value, (n) => n & 255));
        if (typeof value[Symbol.toPrimitive] === "function") {
          const text = value[Symbol.toPrimitive]("string");
          if (typeof text === "string") return fromText(text, encodingOrOffset);
        }
      }
      throw cloche.wrongType("first argument", "of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object", value);
    },
    alloc(size, fill, encoding) {
      checkSize(size);
      const b = new FastBuffer(size);
      return fill === undefined || fill === 0 ? b : b.fill(fill, encoding);
    },
    allocUnsafe(size) {
      checkSize(size);
      return new FastBuffer(size);
    },
    allocUnsafeSlow(size) { return Buffer.allocUnsafe(size); },
    of: (...bytes) => new FastBuffer(bytes),
    isBuffer: (v) => v instanceof Buffer,
    isEncoding: (name) => encodingName(name) !== undefined,
    byteLength(value, encoding = "utf8") {
      if (typeof value === "string") return fromText(value, encodingName(encoding) ?? "utf8").length;
      if (ArrayBuffer.isView(value) || cloche.is.arrayBuffer(value)) return value.byteLength;
      throw cloche.wrongType("string", "of type string or an instance of Buffer or ArrayBuffer", value);
    },
    concat(list, total) {
      if (!Array.isArray(list)) throw cloche.wrongType("list", "an instance of Array", list);
      if (list.length === 0) return Buffer.alloc(0);
      total ??= list.reduce((n, b) => n + b.length, 0);
      const out = Buffer.alloc(total);
      let at = 0;
      for (const b of list) {
        if (!(b instanceof Uint8Array)) throw cloche.wrongType("list[0]", "an instance of Buffer or Uint8Array", b);
        if (at >= total) break;
        out.set(at + b.length > total ? b.subarray(0, total - at) : b, at);
        at += b.length;
      }
      return out;
    },
    compare(a, b) {
      const n = Math.min(a.length, b.length);
      for (let from = 0; from < n; from += piece) {
        const x = letters(a, from, Math.min(n, from + piece));
        const y = letters(b, from, Math.min(n, from + piece));
        if (x !== y) return x < y ? -1 : 1;
      }
      return Math.sign(a.length - b.length);
    },
    copyBytesFrom(view, offset = 0, length = view.length - offset) {
      const part = view.subarray(offset, offset + length);
      return wrap(part.buffer.slice(part.byteOffset, part.byteOffset + part.byteLength));
    },
  });

  const clampIndex = (value, missing, length) => {
    if (value === undefined) return missing;
    value = Math.trunc(+value) || 0;
    return value < 0 ? 0 : Math.min(value, length);
  };

  const { subarray, fill: fillBytes, indexOf: indexOfByte, lastIndexOf: lastIndexOfByte, set, copyWithin } = Uint8Array.prototype;

  const needle = (value, encoding) => typeof value === "string" ? fromText(value, encoding) : value;

  function search(buffer, value, from, encoding, backwards) {
    if (typeof from === "string") {
      encoding = from;
      from = undefined;
    }
    if (typeof value === "number") {
      if (from === undefined) return (backwards ? lastIndexOfByte : indexOfByte).call(buffer, value & 255);
      return (backwards ? lastIndexOfByte : indexOfByte).call(buffer, value & 255, from);
    }
    const wanted = needle(value, encoding);
    if (!(wanted instanceof Uint8Array)) throw cloche.wrongType("value", "of type number or string or an instance of Buffer or Uint8Array", value);
    const last = buffer.length - wanted.length;
    let at = from === undefined ? (backwards ? last : 0) : Math.trunc(+from) || 0;
    if (at < 0) at = backwards ? buffer.length + at : Math.max(0, buffer.length + at);
    if (backwards) at = Math.min(at, last);
    const text = letters(wanted, 0, wanted.length);
    while (backwards ? at >= 0 : at <= last) {
      const from = backwards ? Math.max(0, at - piece) : at;
      const to = backwards ? at : Math.min(last, at + piece); // where it may begin
      const part = letters(buffer, from, to + wanted.length);
      const found = backwards ? part.lastIndexOf(text) : part.indexOf(text);
      if (found >= 0) return from + found;
      at = backwards ? from - 1 : to + 1;
    }
    return -1;
  }

  const methods = {
    toString(encoding, start, end) {
      const name = encoding === undefined ? "utf8" : encodingName(encoding, true);
      start = clampIndex(start, 0, this.length);
      end = clampIndex(end, this.length, this.length);
      if (end <= start) return "";
      if (name === "ascii") {
        const masked = Uint8Array.prototype.slice.call(this, start, end);
        for (let i = 0; i < masked.length; i++) masked[i] &= 127;
        return decode("latin1", masked.buffer, masked.byteOffset, masked.length);
      }
      return decode(name, this.buffer, this.byteOffset + start, end - start);
    },
    toLocaleString(encoding, start, end) { return this.toString(encoding, start, end); },
    toJSON() { return { type: "Buffer", data: Array.from(this) }; },
    equals(other) {
      if (!(other instanceof Uint8Array)) throw cloche.wrongType("otherBuffer", "an instance of Buffer or Uint8Array", other);
      return Buffer.compare(this, other) === 0;
    },
    compare(other, targetStart = 0, targetEnd = other.length, start = 0, end = this.length) {
      return Buffer.compare(subarray.call(this, start, end), other.subarray(targetStart, targetEnd));
    },
    copy(target, at = 0, start = 0, end = this.length) {
      const part = subarray.call(this, start, Math.min(end, start + Math.max(0, target.length - at)));
      set.call(target, part, at);
      return part.length;
    },
    slice(start, end) { return subarray.call(this, start, end); },
    subarray(start, end) { return subarray.call(this, start, end); },
    write(text, offset, length, encoding) {
      if (typeof offset === "string") [encoding, offset, length] = [offset, 0, this.length];
      else if (typeof length === "string") [encoding, length] = [length, undefined];
      offset ??= 0;
      if (offset > this.length) throw outOfRange("offset", `>= 0 && <= ${this.length}`, offset);
      const room = Math.min(length ?? Infinity, this.length - offset);
      let bytes = fromText(text, encoding ?? "utf8");
      if (bytes.length > room) {
        let n = room;
        if (encodingName(encoding ?? "utf8") === "utf8") while (n > 0 && (bytes[n] & 0xc0) === 0x80) n--;
        bytes = bytes.subarray(0, n);
      }
      set.call(this, bytes, offset);
      return bytes.length;
    },
    fill(value, offset, end, encoding) {
      if (typeof offset === "string") [encoding, offset, end] = [offset, 0, this.length];
      else if (typeof end === "string") [encoding, end] = [end, undefined];
      offset ??= 0;
      end ??= this.length;
      if (typeof value === "string") value = fromText(value, encoding);
      if (typeof value === "object" && value !== null) {
        if (value.length === 0) return fillBytes.call(this, 0, offset, end);
        if (end <= offset) return this;
        set.call(this, value.length > end - offset ? value.subarray(0, end - offset) : value, offset);
        for (let done = value.length; done < end - offset; done *= 2) { // what is there is copied behind itself
          copyWithin.call(this, offset + done, offset, Math.min(offset + done, end - done));
        }
        return this;
      }
      return fillBytes.call(this, value & 255, offset, end);
    },
    indexOf(value, from, encoding) { return search(this, value, from, encoding, false); },
    lastIndexOf(value, from, encoding) { return search(this, value, from, encoding, true); },
    includes(value, from, encoding) { return search(this, value, from, encoding, false) >= 0; },
    swap16() { return swap(this, 2); },
    swap32() { return swap(this, 4); },
    swap64() { return swap(this, 8); },
    [custom](depth, options, inspect) {
      const max = 50;
      let text = "";
      for (let i = 0; i < Math.min(max, this.length); i++) text += " " + this[i].toString(16).padStart(2, "0");
      if (this.length > max) text += ` ... ${this.length - max} more byte${this.length - max > 1 ? "s" : ""}`;
      const others = Object.fromEntries(Object.entries(this).slice(this.length));
      if (Object.keys(others).length > 0) text += `${text === "" ? "" : ","} ${inspect(others, { ...options, breakLength: Infinity, compact: true }).slice(2, -2)}`;
      return `<Buffer${text === "" ? " " : text}>`;
    },
  };

  function swap(b, n) {
    if (b.length % n !== 0) throw cloche.nodeError(RangeError, "ERR_INVALID_BUFFER_SIZE", `Buffer size must be a multiple of ${8 * n}-bits`);
    for (let i = 0; i < b.length; i += n) subarray.call(b, i, i + n).reverse();
    return b;
  }

  // Numbers in both byte orders.
  const view = (b) => new DataView(b.buffer, b.byteOffset, b.byteLength);
  function checkAt(b, at, size) {
    if (typeof at !== "number") throw cloche.wrongType("offset", "of type number", at);
    if (!Number.isInteger(at)) throw outOfRange("offset", "an integer", at);
    if (b.length < size) throw cloche.nodeError(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", "Attempt to access memory outside buffer bounds");
    if (at < 0 || at + size > b.length) throw outOfRange("offset", `>= 0 and <= ${b.length - size}`, at);
  }
  const kinds = [
    ["UInt8", "Uint8", 1, 0, 255], ["Int8", "Int8", 1, -128, 127], ["UInt16", "Uint16", 2, 0, 65535],
    ["Int16", "Int16", 2, -32768, 32767], ["UInt32", "Uint32", 4, 0, 2 ** 32 - 1], ["Int32", "Int32", 4, -(2 ** 31), 2 ** 31 - 1],
    ["Float", "Float32", 4], ["Double", "Float64", 8], ["BigInt64", "BigInt64", 8, -(2n ** 63n), 2n ** 63n - 1n],
    ["BigUInt64", "BigUint64", 8, 0n, 2n ** 64n - 1n],
  ];
  for (const [name, type, size, min, max] of kinds) {
    for (const order of size === 1 ? [""] : ["LE", "BE"]) {
      const little = order === "LE";
      methods[`read${name}${order}`] = function (at = 0) {
        checkAt(this, at, size);
        return view(this)[`get${type}`](at, little);
      };
      methods[`write${name}${order}`] = function (value, at = 0) {
        if (min !== undefined && (value < min || value > max)) throw outOfRange("value", `>= ${min} and <= ${max}`, value);
        checkAt(this, at, size);
        view(this)[`set${type}`](at, value, little);
        return at + size;
      };
    }
  }
  for (const order of ["LE", "BE"]) {
    const at = (i, n) => order === "LE" ? i : n - 1 - i;
    methods[`readUInt${order}`] = function (offset, n) {
      checkAt(this, offset, n);
      let value = 0;
      for (let i = n - 1; i >= 0; i--) value = value * 256 + this[offset + at(i, n)];
      return value;
    };
    methods[`readInt${order}`] = function (offset, n) {
      const value = this[`readUInt${order}`](offset, n);
      return value >= 2 ** (8 * n - 1) ? value - 2 ** (8 * n) : value;
    };
    methods[`writeUInt${order}`] = methods[`writeInt${order}`] = function (value, offset, n) {
      checkAt(this, offset, n);
      for (let i = 0; i < n; i++) {
        this[offset + at(i, n)] = value & 255;
        value = Math.floor(value / 256);
      }
      return offset + n;
    };
  }
  for (const name of Reflect.ownKeys(methods)) {
    defineProperty(Buffer.prototype, name, { value: methods[name], writable: true, configurable: true, enumerable: typeof name === "string" });
    if (typeof name === "string" && name.includes("UInt")) {
      defineProperty(Buffer.prototype, name.replace("UInt", "Uint"), { value: methods[name], writable: true, configurable: true, enumerable: true });
    }
  }
  defineProperty(Buffer.prototype, "parent", { get() { return this.buffer; }, configurable: true });
  defineProperty(Buffer.prototype, "offset", { get() { return this.byteOffset; }, configurable: true });

  // ---- atob and btoa: QuickJS has them; these are for an engine without

  const latin = (text) => decode("latin1", text, 0, text.byteLength);
  if (typeof btoa === "undefined") {
    cloche.globals({
      btoa(text) {
        text = `${text}`;
        if (/[^\x00-\xff]/.test(text)) throw new DOMException("Invalid character", "InvalidCharacterError");
        const bytes = encode("latin1", text);
        return decode("base64", bytes, 0, bytes.byteLength);
      },
      atob(text) {
        text = `${text}`.replace(/[\t\n\f\r ]/g, "");
        if (text.length % 4 === 0) text = text.replace(/==?$/, "");
        if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) {
          throw new DOMException("The string to be decoded is not correctly encoded.", "InvalidCharacterError");
        }
        return latin(encode("base64", text));
      },
    });
  }

  // ---- Blob and File

  class Blob {
    #bytes;
    #type;
    constructor(parts = [], options) {
      if (typeof parts !== "object" || parts === null || typeof parts[Symbol.iterator] !== "function") {
        throw cloche.wrongType("sources", "a sequence", parts);
      }
      this.#bytes = Buffer.concat([...parts].map((p) => {
        if (p instanceof Blob) return p.#bytes;
        if (ArrayBuffer.isView(p)) return new FastBuffer(p.buffer, p.byteOffset, p.byteLength);
        if (cloche.is.arrayBuffer(p)) return new FastBuffer(p);
        return fromText(`${p}`);
      }));
      const type = `${options?.type ?? ""}`;
      this.#type = /[^\x20-\x7e]/.test(type) ? "" : type.toLowerCase();
    }
    get size() { return this.#bytes.length; }
    get type() { return this.#type; }
    async arrayBuffer() { return this.#bytes.buffer.slice(this.#bytes.byteOffset, this.#bytes.byteOffset + this.#bytes.length); }
    async bytes() { return new Uint8Array(await this.arrayBuffer()); }
    async text() { return this.#bytes.toString("utf8"); }
    slice(start = 0, end = this.size, type = "") {
      const b = new Blob([], { type });
      b.#bytes = Uint8Array.prototype.slice.call(this.#bytes, start, end);
      return b;
    }
    static bytes(blob) { return blob.#bytes; }
    stream() {
      const pieces = [new Uint8Array(this.#bytes)].values();
      return cloche.byteStream(async () => pieces.next().value);
    }
    get [Symbol.toStringTag]() { return "Blob"; }
    [custom](depth, options, inspect) { return `Blob ${inspect({ size: this.size, type: this.type }, options)}`; }
  }
  cloche.blobBytes = Blob.bytes;
  delete Blob.bytes;
  class File extends Blob {
    #name;
    #modified;
    constructor(parts, name, options) {
      super(parts, options);
      this.#name = `${name}`;
      this.#modified = options?.lastModified ?? Date.now();
    }
    get name() { return this.#name; }
    get lastModified() { return this.#modified; }
    get [Symbol.toStringTag]() { return "File"; }
    [custom](depth, options, inspect) {
      return `File ${inspect({ size: this.size, type: this.type, name: this.name, lastModified: this.lastModified }, options)}`;
    }
  }

  cloche.Buffer = Buffer;
  cloche.bufferModule = {
    Buffer, Blob, File, SlowBuffer: Buffer, atob, btoa, kMaxLength: 2 ** 32, kStringMaxLength: 2 ** 30 - 1,
    constants: { MAX_LENGTH: 2 ** 32, MAX_STRING_LENGTH: 2 ** 30 - 1 }, INSPECT_MAX_BYTES: 50,
    isUtf8: (bytes) => decode("utf8-fatal", ...cloche.span(bytes)) !== null,
    isAscii: (bytes) => new Uint8Array(...cloche.span(bytes)).every((c) => c < 128),
  };
  cloche.globals({ Buffer, Blob, File });
})
