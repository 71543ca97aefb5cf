// Headers, Request, Response and FormData without a network, compared with Node's own output.
const show = async (f) => {
  try {
    console.log(await f());
  } catch (e) {
    console.log(e.name);
  }
};
(async () => {
  const h = new Headers({ "Content-Type": "text/plain", "X-Two": " padded " });
  h.append("x-two", "more");
  h.append("Set-Cookie", "a=1");
  h.append("set-cookie", "b=2");
  console.log([...h], h.get("X-TWO"), h.get("none"), h.has("content-type"), h.getSetCookie(), h.get("set-cookie"));
  h.delete("x-two");
  h.set("a", "1");
  h.forEach((value, name, all) => console.log(name, value, all === h));
  console.log([...h.keys()], [...h.values()], new Headers([["q", "1"], ["q", "2"]]).get("q"), [...new Headers(h)].length);
  for (const f of [() => new Headers({ "bad name": "x" }), () => new Headers({ ok: "line\nbreak" }), () => new Headers([["one"]]), () => new Headers(5), () => h.get("b@d")]) await show(f);

  const r = new Response("héllo", { status: 201, statusText: "Made", headers: { "X-A": "b" } });
  console.log(r.status, r.ok, r.statusText, r.headers.get("x-a"), r.headers.get("content-type"), r.bodyUsed, r.type, r.url, r.redirected);
  const copy = r.clone();
  console.log(await r.text(), r.bodyUsed, new Uint8Array(await copy.arrayBuffer()).length);
  await show(() => r.text());
  await show(() => r.clone());
  console.log(await new Response('{"a":[1]}').json(), await Response.json({ b: 2 }).text(), Response.json({}).headers.get("content-type"), Response.redirect("http://x/y", 301).headers.get("location"), Response.error().status);
  await show(() => new Response("x").json());
  for (const f of [() => new Response("x", { status: 204 }), () => new Response("", { status: 99 }), () => new Response(null, { status: 204 }).ok]) await show(f);
  console.log(new Response(new URLSearchParams({ a: "1 2" })).headers.get("content-type"), await new Response(new URLSearchParams({ a: "1 2" })).text(), await new Response(new Uint8Array([104, 105])).text(), await new Response(new Blob(["bl", "ob"], { type: "x/y" })).text(), new Response(new Blob([], { type: "x/y" })).headers.get("content-type"));
  console.log((await new Response("blob").blob()).size, new Response().body, (await new Response("a=1&b=2", { headers: { "content-type": "application/x-www-form-urlencoded" } }).formData()).get("b"));
  let streamed = "";
  for await (const chunk of new Response("streamed").body) streamed += new TextDecoder().decode(chunk);
  console.log(streamed);
  const reader = new Response("read").body.getReader();
  console.log(new TextDecoder().decode((await reader.read()).value), (await reader.read()).done);

  const q = new Request("http://example.com/p?x=1#h", { method: "post", body: "data", headers: { a: "b" } });
  console.log(q.method, q.url, q.headers.get("a"), q.headers.get("content-type"), await q.clone().text(), q.bodyUsed, q.redirect, q.credentials, q.signal.aborted);
  const q2 = new Request(q, { method: "PUT" });
  console.log(q2.method, q2.url, await q2.text());
  for (const f of [() => new Request("relative"), () => new Request("http://x/", { body: "x" }), () => new Request("http://u:p@x/"), () => new Request("http://x/", { method: "bad method" })]) await show(f);

  const f = new FormData();
  f.append("a", 1);
  f.append("a", "two");
  f.append("file", new Blob(["content"], { type: "t/x" }), "n.txt");
  console.log(f.get("a"), f.getAll("a"), f.has("b"), f.get("file").name, f.get("file").size, f.get("file").type, [...f.keys()]);
  f.set("a", "only");
  f.delete("file");
  console.log([...f.entries()]);
  const form = new FormData();
  form.append("name", 'va"lue');
  form.append("up", new Blob(["bytes"]), "f.bin");
  const sent = new Response(form);
  const type = sent.headers.get("content-type");
  console.log(/^multipart\/form-data; ?boundary=/.test(type), (await sent.text()).replaceAll(type.split("boundary=")[1], "BOUNDARY").replace(/\r\n/g, "|"));
  await show(() => fetch("not a url"));
  await show(() => fetch("http://x/", { signal: AbortSignal.abort() }));
})();
