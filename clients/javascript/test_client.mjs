// Tests the client against a server: CLOCHE_URL and CLOCHE_KEY say which.

import assert from "node:assert/strict";
import { Client, ClocheError } from "./cloche.js";

const url = process.env.CLOCHE_URL;
const client = new Client(url);
const bytes = (...b) => Uint8Array.from(b);

let result = await client.execute("6 * 7");
assert.deepEqual([result.ok, result.value], [true, "42"]);
assert.ok(result.usage.fuel > 0);

result = await client.execute(
  "import matplotlib.pyplot as plt\nprint(open('in.txt').read(), factor)\nplt.plot([1, 2])\nopen('out.bin', 'wb').write(b'\\xff')",
  { files: { "in.txt": "text", "b.bin": bytes(0, 255) }, inputs: { factor: [1, 2] }, collect: ["*.bin"], timeout: 20 });
assert.equal(result.stdout, "text [1, 2]\n");
assert.deepEqual([...result.charts[0].slice(1, 4)], [0x50, 0x4e, 0x47]);
assert.deepEqual(result.files, { "/data/b.bin": bytes(0, 255), "/data/out.bin": bytes(255) });
assert.deepEqual(result.filesChanged.map((c) => [c.path, c.op]), [["/data/out.bin", "created"]]);

result = await client.execute("throw new TypeError('no')", { language: "javascript" });
assert.deepEqual([result.status, result.error.name, result.error.value], ["error", "TypeError", "no"]);
assert.equal((await client.execute("while True: pass", { timeout: 0.2 })).status, "timeout");
assert.equal((await client.execute("const a: number = 2; a", { language: "typescript" })).value, "2");

const events = [];
for await (const e of client.stream("print('a')\n5")) events.push(e);
assert.deepEqual(events.map((e) => e.type), ["start", "stdout", "result", "end"]);
assert.equal(events[1].text, "a\n");
assert.equal(events[3].result.value, "5");

for (const [wrong, status] of [
  [() => client.execute("1", { language: "cobol" }), 400],
  [() => client.openSession("ses_none"), 404],
  [() => new Client(url, { key: "wrong" }).execute("1"), 401],
]) {
  await assert.rejects(wrong, (e) => e instanceof ClocheError && e.status === status && e.code !== "" && e.requestId !== "");
}

const session = await client.session({ language: "javascript", files: { "a/b.txt": "x" } });
await session.execute("let n = 1");
await session.execute("n += 1");
assert.equal((await session.execute("n")).value, "2");
assert.deepEqual((await session.history()).map((h) => h.turn), [0, 1, 2, 3]);
const [fork] = await session.fork({ turn: 1 });
assert.equal((await fork.execute("n")).value, "1");
await fork.close();
await session.rollback(1);
assert.equal((await session.execute("n")).value, "1");
const snapshot = await session.snapshot();
const restored = await client.session({ language: "javascript", snapshot: snapshot.id });
assert.equal((await restored.execute("n + 10")).value, "11");
await restored.close();
assert.ok((await client.snapshots()).some((s) => s.id === snapshot.id));
await client.deleteSnapshot(snapshot.id);
await session.writeFile("ü &?.bin", bytes(0, 1));
assert.deepEqual(await session.readFile("ü &?.bin"), bytes(0, 1));
assert.deepEqual((await session.listFiles()).map((f) => f.name).sort(), ["a", "ü &?.bin"]);
await session.deleteFile("ü &?.bin");
assert.equal(await session.interrupt(), false);
await session.reset();
assert.equal((await session.execute("typeof n")).value, "'undefined'");
assert.ok((await client.sessions()).some((s) => s.id === session.id));

// Leaving a stream interrupts the program.
for await (const e of session.stream("console.log('up'); for (;;) await new Promise((r) => setTimeout(r, 10))")) {
  if (e.type === "stdout") break;
}
for (let i = 0; i < 200; i++) {
  try {
    assert.equal((await session.execute("1 + 1")).value, "2");
    break;
  } catch (e) {
    if (e.status !== 409) throw e;
  }
}
await session.close();
await assert.rejects(() => session.execute("1"), (e) => e.status === 404 || e.status === 410);
assert.ok((await client.runtimes()).runtimes.length > 0);

console.log("all is well");
