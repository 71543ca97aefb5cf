// TextEncoder, TextDecoder, StringDecoder, and text from and to bytes for the other files.
(function (cloche) {
  "use strict";

  const { encode, decode } = cloche;
  const custom = Symbol.for("nodejs.util.inspect.custom");

  // Bytes of a buffer or view as (buffer, offset, length).
  cloche.span = (source, what = "input") => {
    if (ArrayBuffer.isView(source)) return [source.buffer, source.byteOffset, source.byteLength];
    if (cloche.is.arrayBuffer(source) || cloche.is.sharedArrayBuffer(source)) return [source, 0, source.byteLength];
    throw cloche.wrongType(what, "an instance of ArrayBuffer or ArrayBufferView", source);
  };

  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return new Uint8Array(encode("utf8", `${text}`)); }
    encodeInto(text, target) {
      let read = 0;
      let written = 0;
      for (const c of `${text}`) {
        const bytes = new Uint8Array(encode("utf8", c));
        if (written + bytes.length > target.length) break;
        target.set(bytes, written);
        written += bytes.length;
        read += c.length;
      }
      return { read, written };
    }
    get [Symbol.toStringTag]() { return "TextEncoder"; }
  }

  const labels = {
    "utf-8": ["utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "x-unicode20utf8"],
    "utf-16le": ["utf-16le", "utf-16", "ucs-2", "unicode", "csunicode", "iso-10646-ucs-2"],
    "utf-16be": ["utf-16be", "unicodefffe"],
    "windows-1252": ["windows-1252", "latin1", "iso-8859-1", "ascii", "us-ascii", "cp1252", "l1", "iso8859-1", "x-cp1252", "iso_8859-1"],
  };
  // Other encodings are the host's, by any label that the Encoding Standard knows.
  const canonical = { gb2312: "gbk", "x-gbk": "gbk", cp936: "gbk", sjis: "shift_jis", "shift-jis": "shift_jis", "windows-31j": "shift_jis", "big5-hkscs": "big5", cp1251: "windows-1251" };
  const multibyte = /^(gb|x-gbk|cp936|big5|euc|shift|sjis|iso-2022|windows-31j|ks)/;
  const byLabel = new Map(Object.entries(labels).flatMap(([name, all]) => all.map((label) => [label, name])));
  const c1 = "\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178";

  // The number of bytes at the end of b that begin a UTF-8 sequence which is not complete.
  function incomplete(b) {
    for (let back = 1; back <= Math.min(3, b.length); back++) {
      const c = b[b.length - back];
      if (c < 0x80) return 0;
      if (c >= 0xc0) {
        const need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
        return need > back ? back : 0;
      }
    }
    return 0;
  }

  const join = (a, b) => {
    if (a.length === 0) return b;
    const out = new Uint8Array(a.length + b.length);
    out.set(a);
    out.set(b, a.length);
    return out;
  };
  const none = new Uint8Array(0);

  class TextDecoder {
    #encoding;
    #fatal;
    #ignoreBOM;
    #rest = none;
    #started = false;
    constructor(label = "utf-8", options) {
      label = `${label}`.trim().toLowerCase();
      const name = byLabel.get(label) ?? (cloche.decode(`label:${label}`, new ArrayBuffer(0), 0, 0) === null ? undefined : label);
      if (name === undefined) {
        throw cloche.nodeError(RangeError, "ERR_ENCODING_NOT_SUPPORTED", `The "${label}" encoding is not supported`);
      }
      this.#encoding = name;
      this.#fatal = !!options?.fatal;
      this.#ignoreBOM = !!options?.ignoreBOM;
    }
    get encoding() { return canonical[this.#encoding] ?? this.#encoding; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    [custom](depth, options, inspect) {
      return `TextDecoder ${inspect({ encoding: this.encoding, fatal: this.fatal, ignoreBOM: this.ignoreBOM }, options)}`;
    }
    decode(input = none, options) {
      const [buffer, offset, length] = cloche.span(input);
      let bytes = join(this.#rest, new Uint8Array(buffer, offset, length));
      this.#rest = none;
      const stream = !!options?.stream;
      if (stream) {
        const keep = this.#encoding === "utf-8" ? incomplete(bytes) : this.#encoding.startsWith("utf-16") ? bytes.length % 2 : 0;
        if (multibyte.test(this.#encoding)) throw cloche.unavailable(`TextDecoder.decode with stream: true of ${this.#encoding}`, "decode all bytes at once");
        if (keep > 0) {
          this.#rest = bytes.slice(bytes.length - keep);
          bytes = bytes.subarray(0, bytes.length - keep);
        }
      }
      let text = this.#text(bytes);
      if (!this.#started && !this.#ignoreBOM && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
      this.#started = stream && (this.#started || bytes.length > 0);
      return text;
    }
    #text(bytes) {
      const { buffer, byteOffset, length } = bytes;
      switch (this.#encoding) {
        case "utf-8": {
          const text = decode(this.#fatal ? "utf8-fatal" : "utf8", buffer, byteOffset, length);
          if (text === null) throw this.#invalid();
          return text;
        }
        case "windows-1252":
          return decode("latin1", buffer, byteOffset, length).replace(/[\x80-\x9f]/g, (c) => c1[c.charCodeAt(0) - 0x80]);
      }
      if (!this.#encoding.startsWith("utf-16")) return decode(`label:${this.#encoding}`, buffer, byteOffset, length);
      if (this.#encoding === "utf-16be") {
        bytes = bytes.slice();
        for (let i = 0; i + 1 < bytes.length; i += 2) [bytes[i], bytes[i + 1]] = [bytes[i + 1], bytes[i]];
      }
      const text = decode("utf16le", bytes.buffer, bytes.byteOffset, bytes.length & ~1);
      const odd = bytes.length % 2 === 1;
      if (this.#fatal && (odd || !text.isWellFormed())) throw this.#invalid();
      return text.toWellFormed() + (odd ? "\ufffd" : "");
    }
    #invalid() {
      return cloche.nodeError(TypeError, "ERR_ENCODING_INVALID_ENCODED_DATA", `The encoded data was not valid for encoding ${this.#encoding}`);
    }
    get [Symbol.toStringTag]() { return "TextDecoder"; }
  }

  // node:string_decoder
  class StringDecoder {
    #rest = none;
    constructor(encoding = "utf8") { this.encoding = cloche.encodingName(encoding, true); }
    write(bytes) {
      if (typeof bytes === "string") return bytes;
      let all = join(this.#rest, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      const keep = this.encoding === "utf8" ? incomplete(all) : this.encoding === "utf16le" ? all.length % 2
        : this.encoding.startsWith("base64") ? all.length % 3 : 0;
      this.#rest = all.slice(all.length - keep);
      all = all.subarray(0, all.length - keep);
      return decode(this.encoding, all.buffer, all.byteOffset, all.length);
    }
    end(bytes) {
      const text = bytes === undefined ? "" : this.write(bytes);
      const rest = this.#rest;
      this.#rest = none;
      return text + decode(this.encoding, rest.buffer, rest.byteOffset, rest.length);
    }
  }

  const encodings = {
    utf8: "utf8", "utf-8": "utf8", latin1: "latin1", binary: "latin1", ascii: "ascii", hex: "hex", base64: "base64",
    base64url: "base64url", ucs2: "utf16le", "ucs-2": "utf16le", utf16le: "utf16le", "utf-16le": "utf16le",
  };
  // Node's name of an encoding; undefined, or an error, when there is none.
  cloche.encodingName = (name, must) => {
    const known = typeof name === "string" ? encodings[name] ?? encodings[name.toLowerCase()] : undefined;
    if (known === undefined && must) {
      throw cloche.nodeError(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`);
    }
    return known;
  };

  cloche.StringDecoder = StringDecoder;
  cloche.globals({ TextEncoder, TextDecoder });
})
