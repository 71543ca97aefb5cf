// Packages that drive zlib's objects by themselves: classes made the old way, their handles, and whole chunks at once.
const zlib = require("zlib");
const util = require("util");
const { Z_FINISH, Z_NO_FLUSH } = zlib.constants;
const text = "hello zlib ".repeat(300);
const packed = zlib.deflateSync(text);

function Old(options) {
  if (!(this instanceof Old)) return new Old(options);
  zlib.Inflate.call(this, options);
}
util.inherits(Old, zlib.Inflate);
const old = Old({ chunkSize: 1000 });
console.log(old instanceof zlib.Inflate, old instanceof require("stream").Transform, old._chunkSize, old._outBuffer.length, zlib.Gzip() instanceof zlib.Gzip);

// What pngjs does: it writes to the handle until all has come.
let out = [];
let at = 0;
let left = packed.length;
do {
  old._handle.writeSync(Z_FINISH, packed, at, left, old._outBuffer, 0, old._chunkSize);
  const [free, rest] = old._writeState;
  out.push(Buffer.from(old._outBuffer.subarray(0, old._chunkSize - free)));
  at += left - rest;
  left = rest;
  if (free > 0) break;
} while (true);
console.log(out.map((b) => b.length), Buffer.concat(out).toString() === text);

// What tar does: chunk after chunk, with a handle that stays open.
const all = (stream, input) => {
  const handle = stream._handle;
  handle.close = () => {};
  const parts = [];
  for (let i = 0; i <= input.length; i += 50) {
    const part = input.subarray(i, i + 50);
    parts.push(Buffer.from(stream._processChunk(part, i + 50 > input.length ? Z_FINISH : Z_NO_FLUSH))); // what it gave is used again
    stream._handle = handle;
  }
  return Buffer.concat(parts);
};
const gz = all(new zlib.Gzip({ level: 9 }), Buffer.from(text));
console.log(zlib.gunzipSync(gz).toString() === text, all(new zlib.Unzip(), gz).toString() === text);
const broken = new zlib.Inflate();
broken.on("error", () => {});
try { broken._processChunk(Buffer.from("nothing of that kind"), Z_FINISH); } catch (error) { console.log(error.code, error.errno, error.message); }

const stream = zlib.createGzip();
const got = [];
stream.on("data", (chunk) => got.push(chunk)).on("end", () => console.log(zlib.gunzipSync(Buffer.concat(got)).toString(), stream.bytesWritten));
stream.write("as a stream, ");
stream.end("in parts");
console.log(zlib.codes.Z_OK, zlib.codes.Z_DATA_ERROR);
