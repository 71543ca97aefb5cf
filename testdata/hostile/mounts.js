// Attempts: to leave its mounts, or to change the read-only one, through Node's fs.
// Stopped by: ENOENT, EACCES or ENOTCAPABLE outside, EXDEV between mounts, EROFS in the read-only one.
// run: status=ok timeout=60s mounts=ro,rw
const fs = require("fs");
const quiet = (f) => { try { return f(); } catch (e) { return undefined; } };
const broken = (...a) => console.log("BROKEN", ...a);
for (const mount of ["/ro", "/rw"]) for (const way of ["..", "./..", "sub/../..", "out", "out/.", "abs/..", "../rw/..", "%2e%2e", "..\\", "a.txt/.."]) for (const tail of ["outside/secret.txt", "secret.txt", "dir/secret.txt", "../outside/secret.txt"]) {
  const p = `${mount}/${way}/${tail}`;
  for (const f of [() => fs.readFileSync(p, "utf8"), () => fs.readFileSync(p + "/", "utf8"), () => fs.readFileSync(fs.realpathSync(p), "utf8"), () => { fs.copyFileSync(p, "/data/copied"); return fs.readFileSync("/data/copied", "utf8"); }]) {
    const got = quiet(f);
    if (got !== undefined && got.includes("CANARY")) broken("read", p, got);
  }
}
["/", "/..", "../outside", "..", "../../outside/secret.txt", "out", "/proc/self/root"].forEach((target, n) => {
  const link = `/rw/l${n}`;
  quiet(() => fs.symlinkSync(target, link));
  for (const tail of ["", "/secret.txt", "/outside/secret.txt", "/dir/secret.txt"]) {
    const got = quiet(() => fs.readFileSync(link + tail, "utf8"));
    if (got && got.includes("CANARY")) broken("read", link + tail);
    for (const f of [() => fs.writeFileSync(link + tail, "x"), () => fs.appendFileSync(link + tail, "x"), () => fs.truncateSync(link + tail, 0), () => fs.utimesSync(link + tail, 1, 1), () => fs.unlinkSync(link + tail), () => fs.renameSync(link + tail, "/rw/stolen"),
      () => fs.linkSync(link + tail, "/rw/stolen"), () => fs.mkdirSync(link + tail + "/new", { recursive: true }), () => fs.rmSync(link + tail, { recursive: true, force: true }), () => fs.cpSync(link + tail, "/rw/copy", { recursive: true }), () => fs.chmodSync(link + tail, 0o777)]) quiet(f);
  }
});
for (const f of ["/rw/stolen", "/rw/copy", "/rw/copy/secret.txt"]) if ((quiet(() => fs.readFileSync(f, "utf8")) ?? "").includes("CANARY")) broken("stolen", f);
for (const f of [() => fs.writeFileSync("/ro/a.txt", "x"), () => fs.writeFileSync("/ro/new", "x"), () => fs.appendFileSync("/ro/a.txt", "x"), () => fs.truncateSync("/ro/a.txt"), () => fs.unlinkSync("/ro/a.txt"), () => fs.renameSync("/ro/a.txt", "/ro/b"), () => fs.mkdirSync("/ro/d"),
  () => fs.rmSync("/ro/sub", { recursive: true }), () => fs.symlinkSync("a", "/ro/l"), () => fs.linkSync("/ro/a.txt", "/ro/l"), () => fs.linkSync("/ro/a.txt", "/rw/l"), () => fs.renameSync("/ro/a.txt", "/rw/x"), () => fs.renameSync("/rw/a.txt", "/ro/x"), () => fs.utimesSync("/ro/a.txt", 1, 1),
  () => fs.openSync("/ro/a.txt", "r+"), () => fs.openSync("/ro/n", "wx"), () => fs.copyFileSync("/rw/a.txt", "/ro/c"), () => fs.rmdirSync("/ro"), () => fs.renameSync("/ro", "/rw/ro"), () => fs.renameSync("/rw", "/data/rw")]) {
  try { f(); broken(String(f)); } catch (e) { if (!e.code) broken(String(f), e); }
}
