// Attempts: to hold more in files than the limits on bytes and inodes allow.
// Stopped by: ENOSPC at the disk and inode limits, ERR_OUT_OF_RANGE or EFBIG for sizes.
// run: status=ok,out_of_memory timeout=60s disk=1MiB inodes=300
const fs = require("fs");
const count = (f, most) => { let n = 0; try { while (n < most) { f(n); n++; } } catch (e) { if (!e.code) console.log("BROKEN", e); } return n; };
const chunk = Buffer.alloc(65536);
let n = count(() => fs.appendFileSync("/data/a", chunk), 1000);
if (n > 16) console.log("BROKEN bytes", n);
fs.unlinkSync("/data/a");
for (const size of [2 ** 31, 2 ** 33, 2 ** 40, 2 ** 53 - 1]) for (const f of [() => fs.truncateSync("/data/b", size), () => { const fd = fs.openSync("/data/b", "w+"); fs.writeSync(fd, "x", size - 1); }, () => fs.readFileSync("/data/b")]) { try { f(); } catch (e) { } }
try { fs.unlinkSync("/data/b"); } catch { }
n = count((i) => fs.writeFileSync("/tmp/f" + i, ""), 1e5);
if (n > 300) console.log("BROKEN inodes", n);
for (const f of fs.readdirSync("/tmp")) fs.unlinkSync("/tmp/" + f);
n = count((i) => fs.mkdirSync("/tmp/" + "d/".repeat(i + 1)), 1e5);
if (n > 300) console.log("BROKEN folders", n);
n = count(() => fs.openSync("/data/c", "w+"), 1e4);
console.log(n, "descriptors: they are the guest's own, the host holds none");
console.log("end");
