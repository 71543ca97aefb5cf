// crypto of the web and node:crypto: random values, hashes, HMAC, PBKDF2. Random bytes come from the host at each call, so
// that no two sandboxes share any.
(function (cloche) {
  "use strict";

  const { Buffer, span } = cloche;

  function fillRandom(bytes) {
    for (let at = 0; at < bytes.length; at += 65536) {
      const part = bytes.subarray(at, at + 65536);
      part.set(new Uint8Array(cloche.entropy(part.length)));
    }
    return bytes;
  }

  const hexPairs = Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));
  function randomUUID() {
    const b = new Uint8Array(cloche.entropy(16));
    b[6] = b[6] & 15 | 64;
    b[8] = b[8] & 63 | 128;
    const h = Array.from(b, (n) => hexPairs[n]).join("");
    return `${h.slice(0, 8)}-${h.slice(8, 12)}-${h.slice(12, 16)}-${h.slice(16, 20)}-${h.slice(20)}`;
  }

  const hashName = (name) => `${name}`.toLowerCase().replace(/^rsa-/, "").replaceAll(/[-/]/g, "");
  const hash = (name, key, bytes) => {
    const args = key === undefined ? [null] : [...span(key)];
    return cloche.hash(hashName(name), ...args, ...span(bytes));
  };

  // ---- the web's crypto

  const digests = { "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512" };
  const digestOf = (algorithm) => {
    const name = `${typeof algorithm === "object" && algorithm !== null ? algorithm.name : algorithm}`.toUpperCase();
    if (!Object.hasOwn(digests, name)) throw new DOMException(`Unrecognized algorithm name: ${name}`, "NotSupportedError");
    return digests[name];
  };

  class CryptoKey {
    constructor(type, extractable, algorithm, usages) {
      Object.assign(this, { type, extractable, algorithm, usages });
    }
  }
  const keys = new WeakMap();
  const needsHMAC = (algorithm) => {
    const name = typeof algorithm === "object" ? algorithm?.name : algorithm;
    if (`${name}`.toUpperCase() !== "HMAC") {
      throw new DOMException(`crypto.subtle supports only digest and HMAC in this sandbox, not ${name}`, "NotSupportedError");
    }
  };
  class SubtleCrypto {
    async digest(algorithm, data) { return hash(digestOf(algorithm), undefined, data); }
    async importKey(format, data, algorithm, extractable, usages) {
      needsHMAC(algorithm);
      if (format !== "raw") throw new DOMException(`key format ${format} is not supported in this sandbox`, "NotSupportedError");
      const bytes = new Uint8Array(...span(data)).slice();
      const key = new CryptoKey("secret", extractable, { name: "HMAC", hash: { name: `${algorithm.hash?.name ?? algorithm.hash}` }, length: bytes.length * 8 }, [...usages]);
      keys.set(key, bytes);
      digestOf(key.algorithm.hash);
      return key;
    }
    async exportKey(format, key) {
      if (!key.extractable) throw new DOMException("key is not extractable", "InvalidAccessException");
      return keys.get(key).slice().buffer;
    }
    async generateKey(algorithm, extractable, usages) {
      needsHMAC(algorithm);
      return this.importKey("raw", fillRandom(new Uint8Array((algorithm.length ?? 512) / 8)), algorithm, extractable, usages);
    }
    async sign(algorithm, key, data) {
      needsHMAC(algorithm);
      return hash(digestOf(key.algorithm.hash), keys.get(key), data);
    }
    async verify(algorithm, key, signature, data) {
      const made = new Uint8Array(await this.sign(algorithm, key, data));
      const given = new Uint8Array(...span(signature));
      return made.length === given.length && made.every((b, i) => b === given[i]);
    }
  }
  for (const name of ["encrypt", "decrypt", "deriveKey", "deriveBits", "wrapKey", "unwrapKey"]) {
    SubtleCrypto.prototype[name] = async () => {
      throw new DOMException(`crypto.subtle.${name} is not supported in this sandbox`, "NotSupportedError");
    };
  }

  class Crypto {
    #subtle = new SubtleCrypto();
    get subtle() { return this.#subtle; }
    getRandomValues(array) {
      if (!ArrayBuffer.isView(array) || /^(Float|DataView)/.test(array[Symbol.toStringTag] ?? "DataView")) {
        throw new DOMException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
      }
      if (array.byteLength > 65536) {
        throw new DOMException(`The requested length exceeds 65,536 bytes`, "QuotaExceededError");
      }
      fillRandom(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
      return array;
    }
    randomUUID() { return randomUUID(); }
    get [Symbol.toStringTag]() { return "Crypto"; }
  }
  const crypto = new Crypto();
  cloche.globals({ crypto, Crypto, CryptoKey, SubtleCrypto });

  // ---- node:crypto

  const bytesOf = (data, encoding) => {
    if (typeof data === "string") return Buffer.from(data, encoding);
    if (ArrayBuffer.isView(data)) return data;
    if (cloche.is.arrayBuffer(data)) return new Uint8Array(data);
    throw cloche.wrongType("data", "of type string or an instance of Buffer, TypedArray, or DataView", data);
  };
  const output = (bytes, encoding) => encoding === undefined || encoding === "buffer" ? bytes : bytes.toString(encoding);

  class Hash {
    #algorithm;
    #key;
    #parts = [];
    #done = false;
    constructor(algorithm, key) {
      this.#algorithm = algorithm;
      this.#key = key;
      if (hash(algorithm, key, new Uint8Array(0)) === null) {
        if (key === undefined) throw new Error(`Digest method not supported: ${algorithm} (available: ${names.join(", ")})`);
        throw cloche.nodeError(TypeError, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${algorithm}`);
      }
    }
    update(data, encoding) {
      if (this.#done) throw cloche.nodeError(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
      const bytes = bytesOf(data, encoding);
      this.#parts.push(Buffer.from(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)));
      return this;
    }
    digest(encoding) {
      if (this.#done) throw cloche.nodeError(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
      this.#done = true;
      const all = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
      return output(Buffer.from(hash(this.#algorithm, this.#key, all)), encoding);
    }
    copy() {
      const h = new Hash(this.#algorithm, this.#key);
      h.#parts = [...this.#parts];
      return h;
    }
    write(data) { this.update(data); return true; }
    end(data) { if (data !== undefined) this.update(data); return this; }
    read() { return this.digest(); }
  }
  const names = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha512-256", "sha3-256", "sha3-512"];

  function pbkdf2Sync(password, salt, iterations, length, digest) {
    password = bytesOf(password);
    salt = bytesOf(salt);
    if (!(iterations >= 1)) throw cloche.nodeError(RangeError, "ERR_OUT_OF_RANGE", `The value of "iterations" is out of range. It must be >= 1. Received ${iterations}`);
    if (cloche.hash(hashName(digest), ...span(password), ...span(salt)) === null) throw cloche.nodeError(TypeError, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${digest}`);
    const out = [];
    let have = 0;
    for (let block = 1; have < length; block++) {
      const seed = Buffer.concat([salt, new Uint8Array([block >>> 24, block >>> 16, block >>> 8, block])]);
      let u = new Uint8Array(hash(digest, password, seed));
      const t = Buffer.from(u);
      for (let i = 1; i < iterations; i++) {
        u = new Uint8Array(hash(digest, password, u));
        for (let j = 0; j < t.length; j++) t[j] ^= u[j];
      }
      out.push(t);
      have += t.length;
    }
    return Buffer.concat(out, length);
  }

  function randomInt(min, max, done) {
    if (max === undefined || typeof max === "function") [min, max, done] = [0, min, max];
    if (!Number.isSafeInteger(min)) throw cloche.wrongType("min", "a safe integer", min);
    if (!Number.isSafeInteger(max)) throw cloche.wrongType("max", "a safe integer", max);
    if (max <= min) throw cloche.nodeError(RangeError, "ERR_OUT_OF_RANGE", `The value of "max" is out of range. It must be greater than the value of "min" (${min}). Received ${max}`);
    const range = max - min;
    const limit = 2 ** 48 - 2 ** 48 % range;
    for (;;) {
      const n = Buffer.from(cloche.entropy(6)).readUIntBE(0, 6);
      if (n >= limit) continue;
      const value = min + n % range;
      if (done) {
        cloche.nextTick(done, null, value);
        return undefined;
      }
      return value;
    }
  }

  function randomBytes(size, done) {
    if (typeof size !== "number") throw cloche.wrongType("size", "of type number", size);
    const bytes = fillRandom(Buffer.alloc(size));
    if (!done) return bytes;
    cloche.nextTick(done, null, bytes);
  }
  const refuse = (name) => () => { throw cloche.unavailable(`crypto.${name}`, "it offers hashes, HMAC, PBKDF2 and random values only"); };

  cloche.cryptoModule = {
    webcrypto: crypto, subtle: crypto.subtle, getRandomValues: (a) => crypto.getRandomValues(a), randomUUID, randomBytes, randomInt,
    pseudoRandomBytes: randomBytes,
    randomFillSync: (b, offset = 0, size = b.byteLength - offset) => {
      fillRandom(new Uint8Array(b.buffer ?? b, (b.byteOffset ?? 0) + offset, size));
      return b;
    },
    randomFill: (b, done) => cloche.nextTick(done, null, cloche.cryptoModule.randomFillSync(b)),
    createHash: (algorithm) => new Hash(algorithm),
    createHmac: (algorithm, key, options) => new Hash(algorithm, bytesOf(key, options?.encoding)),
    hash: (algorithm, data, encoding = "hex") => new Hash(algorithm).update(data).digest(encoding),
    getHashes: () => [...names],
    getCiphers: () => [],
    pbkdf2Sync,
    pbkdf2: (password, salt, iterations, length, digest, done) => cloche.timers.setImmediate(done, null, pbkdf2Sync(password, salt, iterations, length, digest)),
    timingSafeEqual(a, b) {
      a = new Uint8Array(...span(a));
      b = new Uint8Array(...span(b));
      if (a.length !== b.length) throw cloche.nodeError(RangeError, "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length");
      let difference = 0;
      for (let i = 0; i < a.length; i++) difference |= a[i] ^ b[i];
      return difference === 0;
    },
    constants: {},
    Hash,
    Hmac: Hash,
  };
  for (const name of ["createCipheriv", "createDecipheriv", "createSign", "createVerify", "sign", "verify", "scrypt", "scryptSync", "hkdfSync",
    "generateKeyPair", "generateKeyPairSync", "createPrivateKey", "createPublicKey", "createSecretKey", "createDiffieHellman", "createECDH", "publicEncrypt", "privateDecrypt"]) {
    cloche.cryptoModule[name] = refuse(name);
  }
})
