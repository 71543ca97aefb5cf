// Buffer, TextEncoder, TextDecoder, Blob, atob and btoa, compared with Node's own output.
const { Buffer: B, constants } = require("node:buffer");
const { StringDecoder } = require("node:string_decoder");
const show = (f) => {
  try {
    console.log(f());
  } catch (e) {
    console.log(e.name, e.code, e.message);
  }
};
console.log(B === Buffer, constants.MAX_LENGTH > 0);
for (const s of ["", "hi", "é数👍", "\ud800x", "a\0b"]) {
  for (const enc of ["utf8", "utf-8", "hex", "base64", "base64url", "latin1", "binary", "ascii", "utf16le", "ucs2", undefined]) {
    const b = Buffer.from(s, "utf8");
    console.log(JSON.stringify(s), enc, b.toString(enc), Buffer.from(s, enc));
  }
}
for (const s of ["aGVsbG8=", "aGVsbG8", "aGVs bG8\n=", "_-8", "+/8=", "a", "====", "aGVsbG8=aGk="]) console.log(JSON.stringify(s), Buffer.from(s, "base64"), Buffer.from(s, "base64url"));
for (const s of ["0aFf", "abc", "zz", "a b", "12zz34"]) console.log(s, Buffer.from(s, "hex"));
console.log(Buffer.from([1, 256, -1, 2.7, "3"]), Buffer.from(new Uint16Array([1, 257])), Buffer.from(new Uint8Array([1, 2, 3]).buffer, 1, 1), Buffer.from(Buffer.from("copy")));
console.log(Buffer.from({ type: "Buffer", data: [1, 2] }), Buffer.from(new String("boxed")), Buffer.from({ length: 2, 0: 7, 1: 8 }));
console.log(Buffer.alloc(3), Buffer.alloc(3, 1), Buffer.alloc(5, "ab"), Buffer.alloc(4, "6162", "hex"), Buffer.of(1, 2), Buffer(2));
for (const bad of [undefined, null, 5n, Symbol("s"), true, {}, () => {}]) show(() => Buffer.from(bad));
show(() => Buffer.alloc(-1));
show(() => Buffer.alloc("5"));
show(() => Buffer.from("x", "nope"));
show(() => Buffer.from("x").toString("nope"));
const b = Buffer.from("hello world");
console.log(b.length, b.slice(0, 5).toString(), b.subarray(-5).toString(), b.toString("utf8", 3, 8), b.toString("utf8", 8, 3), b.toString(undefined, -3));
console.log(b.indexOf("o"), b.indexOf("o", 5), b.lastIndexOf("o"), b.indexOf("world"), b.indexOf("nope"), b.includes("wor"), b.indexOf(111), b.indexOf(Buffer.from("ld")), b.indexOf(""), b.lastIndexOf("l", 5), b.indexOf("o", -4));
console.log(b.equals(Buffer.from("hello world")), Buffer.compare(Buffer.from("a"), Buffer.from("b")), b.compare(Buffer.from("hello")), [Buffer.from("b"), Buffer.from("a")].sort(Buffer.compare));
console.log(Buffer.concat([Buffer.from("a"), new Uint8Array([98])]), Buffer.concat([Buffer.from("abc")], 2), Buffer.concat([], 3), Buffer.byteLength("é"), Buffer.byteLength("aGk=", "base64"), Buffer.isBuffer(b), Buffer.isBuffer(new Uint8Array(1)), Buffer.isEncoding("UTF-8"), Buffer.isEncoding("x"));
const w = Buffer.alloc(16);
console.log(w.write("abc"), w.write("éé", 3), w.write("zzzz", 14), w.write("6162", 8, "hex"), w.write("xyz", 10, 2), w.write("数数", 12, 4), w);
console.log(w.copy(b, 0, 0, 3), b.toString(), w.fill("ab", 2, 7), w.fill(0), w.fill("é"), JSON.stringify(Buffer.from("hi")));
const n = Buffer.alloc(32);
console.log(n.writeUInt8(255, 0), n.writeInt16LE(-2, 1), n.writeUInt16BE(65535, 3), n.writeInt32BE(-5, 5), n.writeUInt32LE(4294967295, 9), n.writeFloatLE(1.5, 13), n.writeDoubleBE(-2.25, 17), n.writeBigInt64LE(-9n, 24), n);
console.log(n.readUInt8(0), n.readInt8(0), n.readInt16LE(1), n.readUInt16BE(3), n.readInt32BE(5), n.readUInt32LE(9), n.readFloatLE(13), n.readDoubleBE(17), n.readBigInt64LE(24), n.readBigUInt64LE(24), n.readUIntBE(0, 6), n.readIntLE(5, 3), n.readUint8(0));
show(() => n.readUInt32LE(30));
show(() => n.readInt8(1.5));
show(() => n.readInt8("1"));
show(() => n.writeUInt8(300, 0));
show(() => Buffer.alloc(2).readUInt32LE(0));
console.log(Buffer.from([1, 2, 3, 4]).swap16(), Buffer.from([1, 2, 3, 4]).swap32(), Buffer.from("abc").reverse().toString(), [...Buffer.from("ab").entries()], Buffer.from("abc").map((x) => x + 1), Buffer.from("abc").at(-1));
console.log(Buffer.from("abc") instanceof Uint8Array, Buffer.from("abc").constructor === Buffer, Buffer.from("xyz").toJSON(), `${Buffer.from("str")}`, Buffer.from("abc") + "");
console.log(Buffer.alloc(55, 255), [Buffer.from("a")], { b: Buffer.alloc(0) });
console.log(new TextEncoder().encode("é数👍\ud800"), new TextEncoder().encodeInto("é数x", new Uint8Array(4)), new TextEncoder().encoding);
for (const bytes of [[0xe2, 0x82], [0xe2, 0x82, 0xac], [0xff, 0xfe, 65], [0xf0, 0x9f, 0x98], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xef, 0xbb, 0xbf, 65], [0x80], [0xf5, 65], [0xe0, 0x80, 0x80], [0xf4, 0x90, 0x80, 0x80], [65, 0xc3]]) {
  console.log(bytes, JSON.stringify(new TextDecoder().decode(new Uint8Array(bytes))), JSON.stringify(Buffer.from(bytes).toString()));
  show(() => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(bytes)));
}
const d = new TextDecoder();
console.log(d.decode(new Uint8Array([0xe6, 0x95]), { stream: true }), d.decode(new Uint8Array([0xb0]), { stream: true }), d.decode(), d.encoding, d.fatal, d.ignoreBOM);
console.log(JSON.stringify(new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array([0xef, 0xbb, 0xbf, 65]))), new TextDecoder("utf-16le").decode(new Uint8Array([65, 0, 0x3d, 0xd8, 0, 0xde])), new TextDecoder("latin1").encoding, new TextDecoder("latin1").decode(new Uint8Array([0xe9])), new TextDecoder("utf-16be").decode(new Uint8Array([0, 65])));
console.log(new TextDecoder("gbk").decode(new Uint8Array([0xca, 0xfd])), new TextDecoder("shift_jis").decode(new Uint8Array([0x93, 0xfa])), new TextDecoder("big5").decode(new Uint8Array([0xa4, 0xa4])), new TextDecoder("euc-kr").decode(new Uint8Array([0xb0, 0xa1])), new TextDecoder("koi8-r").decode(new Uint8Array([0xc1])), new TextDecoder("windows-1251").decode(new Uint8Array([0xc1])), new TextDecoder("gb18030").decode(new Uint8Array([0x81, 0x30, 0x81, 0x30])));
show(() => new TextDecoder("nope"));
console.log(new TextDecoder().decode(new DataView(new Uint8Array([72, 105]).buffer)), new TextDecoder().decode(new Uint8Array([72, 105, 33]).subarray(1)), new TextDecoder().decode());
const sd = new StringDecoder("utf8");
console.log(sd.write(Buffer.from([0xe2, 0x82])), sd.write(Buffer.from([0xac])), sd.end(Buffer.from([0xe2])), new StringDecoder("base64").write(Buffer.from("abcd")), new StringDecoder("hex").end(Buffer.from("a")));
console.log(btoa("hi\xff"), atob("aGk="), atob(" a G k "), atob(""), btoa(""));
for (const f of [() => btoa("€"), () => atob("a"), () => atob("***")]) {
  try {
    console.log(f());
  } catch (e) {
    console.log(e.name, e.code, e instanceof DOMException);
  }
}
(async () => {
  const blob = new Blob(["ab", new Uint8Array([99]), new Blob(["d"])], { type: "Text/Plain" });
  console.log(blob.size, blob.type, await blob.text(), await blob.slice(1, 3).text(), new Uint8Array(await blob.arrayBuffer()), await blob.slice(-2, undefined, "x/y").text(), blob.slice(0, 1, "x/y").type);
  const f = new (require("node:buffer").File)(["x"], "n.txt", { type: "a/b", lastModified: 5 });
  console.log(f.name, f.size, f.type, f.lastModified, f instanceof Blob);
})();
