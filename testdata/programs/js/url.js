// URL, URLSearchParams, node:url and node:querystring, compared with Node's own output.
const { fileURLToPath, pathToFileURL, parse, format, resolve, domainToASCII } = require("node:url");
const qs = require("node:querystring");
const show = (f) => {
  try {
    const v = f();
    console.log(v);
  } catch (e) {
    console.log(e.name, e.code, e.message);
  }
};
const inputs = [
  ["https://example.com"], ["https://user:pa%20ss@EXAMPLE.com:8443/a/../b/./c?x=1&y=a b#h <>"], ["http://example.com:80/"], ["https://example.com:0443"],
  ["//other/x", "https://a.b/c"], ["../x?q", "https://a.b/c/d/e"], ["?q=2", "https://a.b/c?x=1#y"], ["#h", "https://a.b/c?x=1"], ["", "https://a.b/c?x=1#z"],
  ["/abs", "https://a.b/c/d"], ["x/y", "https://a.b"], [".", "https://a.b/c/d"], ["..", "https://a.b/c/d/"], ["%2e%2e/x", "https://a.b/c/d/e"],
  ["http:\\\\a\\b"], ["http:a", "http://x/y/z"], ["https:a", "http://x/y"], ["mailto:a@b.c"], ["data:text/plain,hi there#f"], ["javascript:alert(1)"],
  ["file:///etc/../x"], ["file://host/p"], ["file:c:\\x"], ["file:///C|/x"], ["blob:https://a/b"], ["ftp://a:21/b"], ["ws://a:80/"], ["wss://a:443/?x"],
  ["http://[::1]:3000/"], ["http://[2001:db8::0:1]/"], ["http://[::ffff:192.168.0.1]/"], ["http://192.168.0.1.:80/"], ["http://0x7f.1/"], ["http://256/"], ["http://1.2.3.4.5/"],
  ["http://bücher.example/ü?ü#ü"], ["http://日本語.jp/"], ["http://xn--bcher-kva.example/"], ["http://ＧＯ.com"], ["http://a%41.com/"],
  ["nonsense"], ["http://"], ["http://a b/"], ["http://a:99999/"], ["http://a:x/"], ["https://exa%23mple.com"], ["http://@/"], ["http://user@/x"],
  ["  http://trim.me/\n\t "], ["http://a/\tb\nc"], ["HTTP://A/B"], ["x-scheme:/a/b"], ["x-scheme://a b/"], ["x:y?z#w"], ["http://a/?a='b'&c=\"d\""], ["http://a/%zz%41"],
  ["http://a?b"], ["http://a#b"], ["http://a/b?"], ["http://a/b#"], ["http://a/b?#"], ["tel:+1 2"], ["http://a/ü%"], ["http://ex.com/a|b`{}^"],
];
for (const [input, base] of inputs) show(() => new URL(input, base).href);
show(() => new URL("https://user:pw@host.example:8080/p/a/t/h?query=string#hash"));
const u = new URL("https://example.com/path?x=1#h");
for (const [key, values] of Object.entries({
  protocol: ["http", "ftp:", "mailto:", "1x"], host: ["other.com:81", "bad host", "[::1]"], hostname: ["h.com:99", "a/b", ""], port: ["8080", "443", "abc", "99999", "12x", ""],
  pathname: ["a b", "/x?y#z", ""], search: ["?q=ü", "z", "", "a#b"], hash: ["#x y", "", "q"], username: ["me@x", ""], password: ["p:w", ""], href: ["http://new.example/"],
})) {
  for (const v of values) {
    u[key] = v;
    console.log(key, JSON.stringify(v), u.href);
  }
}
show(() => { u.href = "nope"; });
const p = new URL("http://a/?b=1&b=2&c=%20x+y");
console.log(p.searchParams.getAll("b"), p.searchParams.get("c"), p.searchParams.get("none"), p.searchParams.has("b", "2"), p.searchParams.size);
p.searchParams.append("d", "é&=");
p.searchParams.delete("b", "1");
p.searchParams.set("c", "new value");
console.log(p.href, String(p.searchParams));
p.searchParams.sort();
p.search = "?z=1&y=2";
console.log(p.searchParams.toString(), [...p.searchParams], [...p.searchParams.keys()], [...p.searchParams.values()]);
for (const init of [undefined, "", "?a=1&b", "a=b=c&&d", [["k", "v"], ["k", "w"]], { x: 1, y: [1, 2], z: null }, new URLSearchParams("q=1"), new Map([["m", "n"]]), "a=%zz&b=%41", "💩=😀"]) {
  console.log(new URLSearchParams(init).toString(), new URLSearchParams(init));
}
show(() => new URLSearchParams([["only"]]));
show(() => new URLSearchParams([1]));
console.log(URL.canParse("x:y"), URL.canParse("nope"), URL.canParse("a", "http://b"), new URL("http://o:8/").origin, new URL("data:x").origin, new URL("file:///x").origin);
console.log(JSON.stringify({ u: new URL("http://j/") }), `${new URL("http://s/")}`, Object.keys(new URL("http://k/")), Object.prototype.toString.call(u));
console.log(fileURLToPath("file:///a/b%20c"), pathToFileURL("/x y/#1?%").href, domainToASCII("español.com"));
show(() => fileURLToPath("http://a/"));
for (const s of ["http://user:pass@host.com:8080/p/a?q=1#h", "/just/path?x", "mailto:a@b", "//h/p", "HTTP://UP.com", "a.b/c", ""]) {
  const o = parse(s);
  console.log(JSON.stringify(o), format(o));
}
console.log(parse("/a?b=1&b=2&c", true).query);
console.log(format({ protocol: "https", hostname: "x.com", port: 1, pathname: "p", query: { a: 1, b: ["c", "d"] }, hash: "h" }), format(new URL("http://u:p@h/p?q#f"), { auth: false, fragment: false }));
console.log(resolve("/one/two/three", "four"), resolve("http://example.com/", "/one"), resolve("http://example.com/one", "../two"));
console.log(qs.parse("a=1&a=2&b=%20x+y&c"), qs.stringify({ a: [1, 2], b: "x y&", c: true, d: null, e: undefined, f: 5n }), qs.parse("a:1;b:2", ";", ":"), qs.escape("a b&c'()"), qs.unescape("%41+b"));
