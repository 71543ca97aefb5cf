// crypto of the web and node:crypto: random values, hashes, HMAC, PBKDF2; cipher.js has the rest. Random bytes come from the host at each call, so
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

  const hashName = (name) => `${name}`.toLowerCase().replace(/^rsa-/, "");
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
  const refused = (what) => { throw new DOMException(`crypto.subtle ${what} in this sandbox`, "NotSupportedError"); };
  const nameOf = (algorithm) => `${typeof algorithm === "object" && algorithm !== null ? algorithm.name : algorithm}`.toUpperCase();
  const hashOf = (algorithm) => ({ name: `${algorithm.hash?.name ?? algorithm.hash}` });
  const aes = { "AES-CBC": "cbc", "AES-CTR": "ctr", "AES-GCM": "gcm" };
  const derived = ["PBKDF2", "HKDF"];

  // What a key of these bytes is for.
  function described(algorithm, bytes) {
    const name = nameOf(algorithm);
    if (name === "HMAC") {
      digestOf(algorithm.hash);
      return { name, hash: hashOf(algorithm), length: bytes.length * 8 };
    }
    if (Object.hasOwn(aes, name)) {
      if (![16, 24, 32].includes(bytes.length)) throw new DOMException("Invalid key length", "DataError");
      return { name, length: bytes.length * 8 };
    }
    return derived.includes(name) ? { name } : refused(`supports digests, HMAC, AES, PBKDF2 and HKDF only, not ${name},`);
  }
  function usable(key, usage, algorithm) {
    if (!key.usages.includes(usage)) throw new DOMException(`The requested operation is not valid for the provided key`, "InvalidAccessError");
    if (nameOf(algorithm) !== key.algorithm.name) throw new DOMException("Key algorithm mismatch", "InvalidAccessError");
    return keys.get(key);
  }

  // AES as the web has it: the tag of GCM follows the text.
  function crypt(usage, algorithm, key, data) {
    const bytes = usable(key, usage, algorithm);
    const mode = aes[key.algorithm.name] ?? refused(`does not encrypt with ${key.algorithm.name}`);
    const iv = new Uint8Array(...span(algorithm.iv ?? algorithm.counter));
    let input = new Uint8Array(...span(data));
    const module = cloche.cryptoModule;
    try {
      const cipher = module[usage === "encrypt" ? "createCipheriv" : "createDecipheriv"](`aes-${bytes.length * 8}-${mode}`, bytes, iv);
      if (mode !== "gcm") return exact([cipher.update(input), cipher.final()]);
      if (algorithm.additionalData !== undefined) cipher.setAAD(new Uint8Array(...span(algorithm.additionalData)));
      const tag = (algorithm.tagLength ?? 128) / 8;
      if (usage === "encrypt") return exact([cipher.update(input), cipher.final(), cipher.getAuthTag().subarray(0, tag)]);
      cipher.setAuthTag(input.subarray(-tag));
      input = input.subarray(0, -tag);
      return exact([cipher.update(input), cipher.final()]);
    } catch (error) {
      if (error.code === "ERR_FEATURE_UNAVAILABLE_ON_PLATFORM") throw error;
      throw new DOMException("The operation failed for an operation-specific reason", { name: "OperationError", cause: error });
    }
  }
  const exact = (parts) => new Uint8Array(Buffer.concat(parts)).buffer;

  class SubtleCrypto {
    async digest(algorithm, data) { return hash(digestOf(algorithm), undefined, data); }
    async importKey(format, data, algorithm, extractable, usages) {
      if (format !== "raw") refused(`has no key format ${format}`);
      const bytes = new Uint8Array(...span(data)).slice();
      const key = new CryptoKey("secret", extractable, described(algorithm, bytes), [...usages]);
      keys.set(key, bytes);
      return key;
    }
    async exportKey(format, key) {
      if (format !== "raw") refused(`has no key format ${format}`);
      if (!key.extractable) throw new DOMException("key is not extractable", "InvalidAccessException");
      return keys.get(key).slice().buffer;
    }
    async generateKey(algorithm, extractable, usages) {
      const length = algorithm.length ?? (nameOf(algorithm) === "HMAC" ? 512 : 256);
      return this.importKey("raw", fillRandom(new Uint8Array(length / 8)), algorithm, extractable, usages);
    }
    async sign(algorithm, key, data) { return hash(digestOf(key.algorithm.hash ?? ""), usable(key, "sign", algorithm), data); }
    async verify(algorithm, key, signature, data) {
      const made = new Uint8Array(hash(digestOf(key.algorithm.hash ?? ""), usable(key, "verify", algorithm), data));
      const given = new Uint8Array(...span(signature));
      return made.length === given.length && made.every((b, i) => b === given[i]);
    }
    async encrypt(algorithm, key, data) { return crypt("encrypt", algorithm, key, data); }
    async decrypt(algorithm, key, data) { return crypt("decrypt", algorithm, key, data); }
    async deriveBits(algorithm, key, length) { return derive("deriveBits", algorithm, key, length); }
    async deriveKey(algorithm, key, made, extractable, usages) {
      const bits = derive("deriveKey", algorithm, key, made.length ?? 512);
      return this.importKey("raw", bits, made, extractable, usages);
    }
  }
  function derive(usage, algorithm, key, length) {
    const bytes = usable(key, usage, algorithm);
    const digest = digestOf(algorithm.hash);
    const salt = new Uint8Array(...span(algorithm.salt));
    if (key.algorithm.name === "HKDF") return cloche.cryptoModule.hkdfSync(digest, bytes, salt, new Uint8Array(...span(algorithm.info)), length / 8);
    return exact([pbkdf2Sync(bytes, salt, algorithm.iterations, length / 8, digest)]);
  }
  for (const name of ["wrapKey", "unwrapKey"]) SubtleCrypto.prototype[name] = async () => refused(`has no ${name}`);

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
  const names = [
    "blake2b512", "blake2s256", "md5", "ripemd160", "sha1", "sha224", "sha256", "sha3-224", "sha3-256", "sha3-384", "sha3-512", "sha384", "sha512",
    "sha512-224", "sha512-256",
  ];
  const roundsAtOnce = 8192; // what the host does in one call of stretch

  function pbkdf2Sync(password, salt, iterations, length, digest) {
    password = bytesOf(password);
    salt = bytesOf(salt);
    cloche.checkCount("iterations", iterations, 1, 2 ** 31 - 1);
    cloche.checkCount("keylen", length, 0, 2 ** 31 - 1);
    if (cloche.hash(hashName(digest), ...span(password), ...span(salt)) === null) throw cloche.nodeError(TypeError, "ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${digest}`);
    if (password.byteLength > 1024) password = new Uint8Array(hash(digest, undefined, password)); // as HMAC does with what is longer than its block
    const out = [];
    let have = 0;
    for (let block = 1; have < length; block++) {
      const seed = Buffer.concat([salt, new Uint8Array([block >>> 24, block >>> 16, block >>> 8, block])]);
      const u = new Uint8Array(hash(digest, password, seed));
      const sum = Buffer.from(u);
      for (let rest = iterations - 1; rest > 0; rest -= roundsAtOnce) {
        cloche.stretch(hashName(digest), Math.min(rest, roundsAtOnce), ...span(password), ...span(u), ...span(sum));
      }
      out.push(sum);
      have += sum.length;
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
  const refuse = (name) => () => { throw cloche.unavailable(`crypto.${name}`, "it offers hashes, HMAC, AES, key derivation and random values only"); };

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
  for (const name of ["createSign", "createVerify", "sign", "verify",
    "generateKeyPair", "generateKeyPairSync", "createPrivateKey", "createPublicKey", "createSecretKey", "createDiffieHellman", "createECDH", "publicEncrypt", "privateDecrypt"]) {
    cloche.cryptoModule[name] = refuse(name);
  }
})
