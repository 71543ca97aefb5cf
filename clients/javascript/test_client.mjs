// Tests the client against a server: CLOCHE_URL and CLOCHE_KEY say which.

import assert from "node:assert/strict";
import { Client, ClocheError, ToolError } from "./cloche.js";

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
assert.equal(result.moreFilesChanged, false);

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

// Leaving a stream interrupts the program. A run that goes on has no result.
let running;
for await (const e of session.stream("console.log('up'); for (;;) await new Promise((r) => setTimeout(r, 10))")) {
  if (e.type === "start") running = e.raw.execution_id;
  if (e.type !== "stdout") continue;
  await assert.rejects(client.result(running), { name: "ClocheError", code: "busy" });
  break;
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

// Tools of ours, and such whose results come later.
const tools = [
  {
    name: "lookup", description: "Finds a person.", timeout: 10,
    inputSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    async call({ name }) {
      if (name === "nobody") throw new ToolError("nobody of that name", "RangeError");
      if (name === "") throw new Error("the secret of the host");
      if (name === "odd") return () => name; // which JSON cannot write
      return { age: name.length };
    },
  },
  { name: "approve" },
];
const ask = `for (const name of ["Ada", "nobody", "", "odd"]) try { console.log(JSON.stringify(await tools.lookup({ name }))); } catch (e) { console.log(e.name, e.message); }`;
const { error: report } = console;
console.error = () => {};
const runs = [await client.execute(ask, { language: "javascript", tools: tools.slice(0, 1) })];
for await (const e of client.stream(ask, { language: "javascript", tools: tools.slice(0, 1) })) if (e.type === "end") runs.push(e.result);
console.error = report;
assert.equal(runs.length, 2);
for (const r of runs) {
  assert.match(r.stdout, /{"age":3}\nRangeError .*nobody of that name\n.*the tool failed\n.*the tool failed\n$/);
  assert.doesNotMatch(r.stdout, /secret/);
}
const waiting = await client.session({ language: "javascript", tools });
const stopped = await waiting.execute("const n = 5; console.log(await tools.approve({ total: n }), await tools.lookup({ name: 'Bo' }))");
assert.equal(stopped.status, "suspended", JSON.stringify(stopped.raw));
assert.deepEqual(stopped.pendingCalls.map((c) => [c.name, c.arguments]), [["approve", { total: 5 }]]);
const again = await client.openSession(waiting.id, { tools });
const [call] = await again.pendingCalls();
assert.deepEqual(call, stopped.pendingCalls[0]);
await assert.rejects(() => waiting.execute("1"), (e) => e.status === 409 && e.code === "suspended");
const resumed = await again.resume({ [call.id]: null });
assert.equal(resumed.stdout, "null { age: 2 }\n");
assert.deepEqual(await again.pendingCalls(), []);
const refused = await waiting.execute("await tools.approve()");
const failed = await waiting.resume({ [refused.pendingCalls[0].id]: new ToolError("too much", "RangeError") });
assert.match(failed.error.value, /too much/);
await waiting.execute("await tools.approve()");
assert.equal((await waiting.giveUp()).status, "cancelled");
assert.equal((await waiting.execute("n")).value, "5");
await waiting.close();

console.log("all is well");
