// Attempts: to fill the host's memory and the reader's screen with output and displayed values.
// Stopped by: the limits on output and results.
// run: status=ok timeout=60s output=10000B results=100000B host_calls=500
for (let i = 0; i < 100; i++) { console.log("o".repeat(1e5)); console.error("e".repeat(1e5)); process.stdout.write(Buffer.alloc(1e5, 255)); process.stderr.write("\x1b[2J\x07\0\ud800"); }
console.table([...Array(200).keys()].map((n) => ({ n, s: "x".repeat(n) })));
console.dir(new Array(1e4).fill({ a: { b: { c: {} } } }), { maxArrayLength: Infinity, depth: Infinity, breakLength: 1 });
console.log("%s".repeat(1e5), ...new Array(1e3).fill("%s%d%o%j"));
new Array(1e4).fill("v".repeat(1000))
