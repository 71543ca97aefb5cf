// Ciphers and key derivation of node:crypto and of the web's: AES (CBC, CTR, ECB, GCM), scrypt, HKDF. The host works on whole
// blocks (cipher.go); what is left of one, and padding, are kept here.
(function (cloche) {
  "use strict";

  const { Buffer, span } = cloche;
  const { cryptoModule } = cloche;
  const blockSize = 16;
  const none = new Uint8Array(0);

  const bytesOf = (data, name, encoding) => {
    if (typeof data === "string") return Buffer.from(data, encoding);
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    if (cloche.is.arrayBuffer(data)) return new Uint8Array(data);
    throw cloche.wrongType(name, "of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView", data);
  };
  const run = (mode, key, iv, data) => Buffer.from(cloche.cipher(mode, ...span(key), ...span(iv), ...span(data)));

  // The counter block n blocks on.
  function counter(start, n) {
    const c = Buffer.from(start);
    for (let i = blockSize - 1; i >= 0 && n > 0; i--) {
      n += c[i];
      c[i] = n % 256;
      n = Math.floor(n / 256);
    }
    return c;
  }

  const coded = (message, code, props) => Object.assign(new Error(message), { code, ...props });
  const known = /^aes-?(128|192|256)-(cbc|ctr|ecb|gcm)$/i;

  class Cipher extends cloche.stream.Transform {
    #mode; #key; #iv; #decrypts;
    #rest = none; // of a block
    #padding = true;
    #done = 0; // bytes, of a key stream
    #plain = []; // for the tag of GCM
    #extra = [];
    #tag;
    #finished = false;
    #text;

    constructor(algorithm, key, iv, options, decrypts) {
      super(options);
      const [, bits, mode] = known.exec(`${algorithm}`) ?? [];
      if (mode === undefined) throw coded("Unknown cipher", "ERR_CRYPTO_UNKNOWN_CIPHER");
      this.#mode = mode.toLowerCase();
      this.#decrypts = decrypts;
      this.#key = Buffer.from(key?.export?.() ?? bytesOf(key, "key"));
      if (this.#key.length * 8 !== +bits) throw cloche.nodeError(RangeError, "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
      iv = iv === null ? none : bytesOf(iv, "iv");
      const wanted = { cbc: 16, ctr: 16, ecb: 0, gcm: iv.length }[this.#mode];
      if (iv.length !== wanted || this.#mode === "gcm" && iv.length === 0) throw cloche.nodeError(TypeError, "ERR_CRYPTO_INVALID_IV", "Invalid initialization vector");
      if (this.#mode === "gcm" && iv.length !== 12) throw cloche.unavailable("AES-GCM with a nonce that has not 12 bytes", "use 12 bytes");
      this.#iv = Buffer.from(iv);
    }

    update(data, from, to) {
      if (this.#finished) throw coded("Trying to add data in unsupported state", "ERR_CRYPTO_INVALID_STATE");
      return this.#told(this.#work(bytesOf(data, "data", from)), to, false);
    }

    #work(data) {
      if (this.#mode === "ctr" || this.#mode === "gcm") {
        const out = this.#stream(data);
        if (this.#mode === "gcm") this.#plain.push(Buffer.from(this.#decrypts ? out : data));
        return out;
      }
      const all = Buffer.concat([this.#rest, data]);
      let n = all.length - all.length % blockSize;
      if (this.#decrypts && this.#padding && n === all.length && n > 0) n -= blockSize; // it may be the last, with the padding
      this.#rest = all.subarray(n);
      return this.#blocks(all.subarray(0, n));
    }

    #stream(data) {
      const start = this.#mode === "gcm" ? Buffer.concat([this.#iv, Buffer.from([0, 0, 0, 2])]) : this.#iv;
      const skip = this.#done % blockSize;
      const out = run("ctr", this.#key, counter(start, Math.floor(this.#done / blockSize)), Buffer.concat([Buffer.alloc(skip), data]));
      this.#done += data.length;
      return out.subarray(skip);
    }

    #blocks(data) {
      if (data.length === 0) return Buffer.alloc(0);
      const out = run(`${this.#mode}-${this.#decrypts ? "decrypt" : "encrypt"}`, this.#key, this.#iv, data);
      if (this.#mode === "cbc") this.#iv = Buffer.from((this.#decrypts ? data : out).subarray(-blockSize));
      return out;
    }

    final(to) {
      if (this.#finished) throw coded("Invalid state", "ERR_CRYPTO_INVALID_STATE");
      this.#finished = true;
      return this.#told(this.#last(), to, true);
    }

    #last() {
      if (this.#mode === "ctr") return Buffer.alloc(0);
      if (this.#mode === "gcm") {
        const tag = Buffer.from(cloche.gcmTag(...span(this.#key), ...span(this.#iv), ...span(Buffer.concat(this.#extra)), ...span(Buffer.concat(this.#plain))));
        if (!this.#decrypts) this.#tag = tag;
        else if (this.#tag === undefined || !tag.subarray(0, this.#tag.length).equals(this.#tag)) throw new Error("Unsupported state or unable to authenticate data");
        return Buffer.alloc(0);
      }
      const left = this.#rest.length;
      if (!this.#padding) {
        if (left > 0) throw coded("error:1C80006B:Provider routines::wrong final block length", "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH");
        return Buffer.alloc(0);
      }
      if (!this.#decrypts) return this.#blocks(Buffer.concat([this.#rest, Buffer.alloc(blockSize - left, blockSize - left)]));
      if (left !== blockSize) throw coded("error:1C80006B:Provider routines::wrong final block length", "ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", { library: "Provider routines", reason: "wrong final block length" });
      const out = this.#blocks(this.#rest);
      const pad = out[blockSize - 1];
      if (pad < 1 || pad > blockSize || !out.subarray(blockSize - pad).every((b) => b === pad)) {
        throw coded("error:1C800064:Provider routines::bad decrypt", "ERR_OSSL_BAD_DECRYPT", { library: "Provider routines", reason: "bad decrypt" });
      }
      return out.subarray(0, blockSize - pad);
    }

    #told(bytes, encoding, last) {
      if (encoding === undefined || encoding === "buffer") return bytes;
      this.#text ??= new cloche.StringDecoder(encoding); // pieces of base64 do not end where blocks do
      return this.#text.write(bytes) + (last ? this.#text.end() : "");
    }

    setAutoPadding(on = true) {
      this.#padding = !!on;
      return this;
    }
    setAAD(data) {
      this.#extra.push(Buffer.from(bytesOf(data, "buffer")));
      return this;
    }
    setAuthTag(tag, encoding) {
      tag = bytesOf(tag, "buffer", encoding);
      if (![4, 8, 12, 13, 14, 15, 16].includes(tag.length)) throw cloche.nodeError(TypeError, "ERR_CRYPTO_INVALID_AUTH_TAG", `Invalid authentication tag length: ${tag.length}`);
      this.#tag = Buffer.from(tag);
      return this;
    }
    getAuthTag() {
      if (this.#decrypts || this.#tag === undefined) throw coded("Invalid state for operation getAuthTag", "ERR_CRYPTO_INVALID_STATE");
      return this.#tag;
    }
    _transform(chunk, encoding, done) { done(null, this.update(chunk, encoding)); }
    _flush(done) {
      let out;
      try {
        out = this.final();
      } catch (error) {
        return done(error);
      }
      done(null, out.length > 0 ? out : undefined);
    }
  }

  // ---- keys from passwords

  const bytesAtOnce = 2 << 20; // what the host works through in one call of mix

  // An option of scrypt, which has two names, as Node reads it: zero is as if it were not given.
  function scryptOption(options, name, longName, usual, most = 2 ** 32 - 1) {
    const value = options?.[name] ?? options?.[longName];
    if (value === undefined) return usual;
    cloche.checkCount(name, value, 0, most);
    if (name !== longName && options[name] !== undefined && options[longName] !== undefined) {
      throw cloche.nodeError(Error, "ERR_CRYPTO_SCRYPT_INVALID_PARAMETER", "Invalid scrypt parameter");
    }
    return value || usual;
  }

  function scryptSync(password, salt, length, options) {
    cloche.checkCount("keylen", length, 0, 2 ** 31 - 1);
    const N = scryptOption(options, "N", "cost", 16384);
    const r = scryptOption(options, "r", "blockSize", 8);
    const p = scryptOption(options, "p", "parallelization", 1);
    const most = scryptOption(options, "maxmem", "maxmem", 32 << 20, Number.MAX_SAFE_INTEGER);
    const invalid = (why = "") => cloche.nodeError(RangeError, "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", `Invalid scrypt params${why}`);
    if (N < 2 || !Number.isInteger(Math.log2(N))) throw invalid();
    if (128 * r * (N + p + 2) > most || p * r >= 2 ** 30) throw invalid(": error:030000AC:digital envelope routines::memory limit exceeded");
    if (r > 1024) throw cloche.unavailable("crypto.scrypt with r above 1024", "its blocks are of 128 KiB at most");
    const size = 128 * r;
    const start = cryptoModule.pbkdf2Sync(password, salt, 1, p * size, "sha256");
    const table = new Uint8Array(N * size);
    const atOnce = Math.max(1, Math.floor(bytesAtOnce / size));
    for (let i = 0; i < p; i++) {
      const block = span(start.subarray(i * size, (i + 1) * size));
      for (let from = 0; from < 2 * N; from += atOnce) cloche.mix(from, Math.min(2 * N, from + atOnce), ...block, ...span(table));
    }
    return cryptoModule.pbkdf2Sync(password, start, 1, length, "sha256");
  }

  function hkdfSync(digest, key, salt, info, length) {
    cloche.checkCount("length", length, 0, 2 ** 32);
    const hmac = (k, data) => cryptoModule.createHmac(digest, k).update(data).digest();
    const fresh = hmac(bytesOf(salt, "salt"), bytesOf(key, "ikm"));
    const out = [];
    let block = Buffer.alloc(0);
    for (let i = 1, have = 0; have < length; i++) {
      if (i > 255) throw cloche.nodeError(RangeError, "ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
      block = hmac(fresh, Buffer.concat([block, bytesOf(info, "info"), Buffer.from([i])]));
      out.push(block);
      have += block.length;
    }
    return new Uint8Array(Buffer.concat(out, length)).buffer;
  }

  const later = (work) => (...args) => {
    const done = args.pop();
    cloche.timers.setImmediate(() => {
      let out;
      try {
        out = work(...args);
      } catch (error) {
        return done(error);
      }
      done(null, out);
    });
  };
  Object.assign(cryptoModule, {
    createCipheriv: (algorithm, key, iv, options) => new Cipher(algorithm, key, iv, options, false),
    createDecipheriv: (algorithm, key, iv, options) => new Cipher(algorithm, key, iv, options, true),
    getCiphers: () => ["128", "192", "256"].flatMap((bits) => ["cbc", "ctr", "ecb", "gcm"].map((mode) => `aes-${bits}-${mode}`)),
    scryptSync, scrypt: later(scryptSync), hkdfSync, hkdf: later(hkdfSync),
  });
})
