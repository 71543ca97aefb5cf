// crypto of the web and of Node, compared with Node's own output where it does not depend on chance.
const nc = require("crypto");
const show = async (f) => {
  try {
    console.log(await f());
  } catch (e) {
    console.log(e.name, e.code);
  }
};
for (const name of ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "SHA256", "sha512-256", "sha3-256", "RSA-SHA1", "sha512-224", "sha3-224", "sha3-384", "sha3-512", "blake2b512", "blake2s256", "ripemd160"]) {
  console.log(name, nc.createHash(name).update("hello").update(Buffer.from(" world")).digest("hex"));
}
console.log(nc.createHash("sha256").update("é数", "utf8").digest("base64"), nc.createHash("sha256").update("6869", "hex").digest().length, nc.createHash("md5").digest("hex"));
console.log(nc.createHmac("sha256", "key").update("data").digest("hex"), nc.createHmac("sha1", Buffer.alloc(100, 1)).update("").digest("base64url"));
for (const [iterations, length, name] of [[20000, 70, "sha256"], [3, 5, "sha3-512"], [8194, 20, "SHA1"], [1, 0, "md5"]]) {
  console.log(nc.pbkdf2Sync("x".repeat(length * 50), "salt", iterations, length, name).toString("hex"));
}
for (const options of [
  undefined, { N: 2, r: 1, p: 1 }, { cost: 64, blockSize: 3, parallelization: 5 }, { N: 32768, maxmem: 64 << 20 }, { N: 3 }, { N: 2, r: 0 }, { N: 32768, maxmem: 33556480 },
  { N: 32768, maxmem: 33557504 }, { N: 1.5 }, { N: "4" }, { p: -1 }, { N: 2, cost: 2 }, { maxmem: "a" }, { N: 2, r: 1, p: 2 ** 30 },
]) {
  try {
    console.log(nc.scryptSync("password", "NaCl", 33, options).toString("hex"));
  } catch (e) {
    console.log(e.name, e.code, e.message);
  }
}
console.log(nc.pbkdf2Sync("pw", "salt", 10, 40, "sha512").toString("hex"), nc.timingSafeEqual(Buffer.from("a"), Buffer.from("a")), nc.getHashes().includes("sha256"));
console.log(nc.randomBytes(8).length, nc.randomInt(5) < 5, nc.randomInt(10, 11), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(nc.randomUUID()), nc.randomUUID() !== nc.randomUUID());
(async () => {
  await show(() => nc.createHash("nope"));
  await show(() => nc.createHmac("nope", "k"));
  await show(() => nc.createHash("md5").update(5));
  await show(() => { const h = nc.createHash("md5"); h.digest(); h.update("x"); });
  await show(() => nc.timingSafeEqual(Buffer.alloc(1), Buffer.alloc(2)));
  await show(() => nc.randomInt(5, 5));
  for (const n of [-1, 2 ** 31, NaN, 1.5, "5"]) {
    for (const f of [() => nc.pbkdf2Sync("a", "b", 1, n, "sha1"), () => nc.pbkdf2Sync("a", "b", n, 1, "sha1"), () => nc.scryptSync("a", "b", n, { N: 2, r: 1, p: 1 }), () => nc.hkdfSync("sha1", "a", "b", "c", n)]) {
      try {
        f();
      } catch (e) {
        console.log(e.code, e.message);
      }
    }
  }
  for (const a of ["SHA-1", "SHA-256", { name: "sha-384" }, "SHA-512"]) console.log(Buffer.from(await crypto.subtle.digest(a, new TextEncoder().encode("hi"))).toString("hex"));
  await show(() => crypto.subtle.digest("MD5", new Uint8Array(1)));
  const key = await crypto.subtle.importKey("raw", Buffer.from("secret"), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
  const sig = await crypto.subtle.sign("HMAC", key, Buffer.from("message"));
  console.log(Buffer.from(sig).toString("hex"), await crypto.subtle.verify("HMAC", key, sig, Buffer.from("message")), await crypto.subtle.verify("HMAC", key, sig, Buffer.from("other")));
  const r = crypto.getRandomValues(new Uint32Array(4));
  console.log(r.length, new Set(r).size > 1, crypto.getRandomValues(new Uint8Array(0)).length);
  await show(() => crypto.getRandomValues(new Float64Array(1)));
  await show(() => crypto.getRandomValues(new Uint8Array(70000)));
  console.log(typeof crypto.randomUUID(), crypto.subtle === nc.webcrypto.subtle);
})();
