// Objects of Node's and the web's modules as the console shows them, and what of them is looked at from outside.
const url = require("node:url");
console.log({ a: { b: { c: new URLSearchParams("a=1"), u: new URL("http://a"), e: new URLSearchParams() } } });
const items = new URLSearchParams("a=1&b=2&c=3").entries();
items.next();
console.log(items, new URLSearchParams("a=1").keys(), [...items], `${items}`);
console.log(url.parse("http://u:p@h/b?c=d", true), url.parse("/a") instanceof url.Url);
console.log(url.urlToHttpOptions(new URL("http://u:p@a:1/b?c")));
console.log(new URL("blob:http://a.b:80/c").origin, new URL("blob:x").origin);
console.log(Object.assign(Buffer.from("a"), { p: 1, q: [2] }), Object.assign(Buffer.alloc(0), { x: 1 }));
console.log(new (require("node:buffer").File)(["x"], "n.txt", { lastModified: 5, type: "a/b" }), new TextDecoder("utf-16le"));
const buffer = new ArrayBuffer(2);
structuredClone(buffer, { transfer: [buffer] });
console.log(buffer, { buffer });
console.table(new Map([["a", { x: 1 }]]).entries());
console.table(new Set(["b"]).values());
for (const text of ["%", "%E2%82", "%FF", "%C3%28"]) {
  try {
    decodeURIComponent(text);
  } catch (error) {
    console.log(error.name, error.message);
  }
}
try {
  encodeURIComponent("\ud800");
} catch (error) {
  console.log(error.name, error.message);
}
for (const style of ["long", "short", "narrow"]) {
  const always = new Intl.RelativeTimeFormat("en", { style });
  const auto = new Intl.RelativeTimeFormat("en", { style, numeric: "auto" });
  for (const unit of ["second", "minutes", "hour", "day", "week", "month", "quarter", "years"]) {
    console.log([always.format(1, unit), always.format(-2, unit), auto.format(-1, unit), auto.format(0, unit), auto.format(1, unit)].join(" | "));
  }
}
console.log(new Intl.RelativeTimeFormat("en").formatToParts(-1234.5, "day"));
const { Readable } = require("node:stream");
const stream = new Readable({ read() {} });
stream.on("error", (error) => console.log(error.code, error.message));
stream.push(5);
(async () => {
  const fs = require("node:fs/promises");
  const file = await fs.open("/tmp/cloche-handle.txt", "w+");
  await file.write("hello");
  await file.writeFile(" world");
  await file.appendFile("!");
  console.log((await file.stat()).size, `${(await file.read(Buffer.alloc(12), 0, 12, 0)).buffer}`);
  await file.close();
  await fs.rm("/tmp/cloche-handle.txt");
})();
