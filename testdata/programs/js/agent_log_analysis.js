// A log: named groups, counts, percentiles, durations.
const log = `2024-05-01T10:00:00Z GET /a 200 12ms
2024-05-01T10:00:01Z POST /b 500 340ms
2024-05-01T10:00:03Z GET /a 200 9ms
broken line
2024-05-01T10:01:00Z GET /c 404 3ms`;
const line = /^(?<at>\S+) (?<method>[A-Z]+) (?<path>\S+) (?<status>\d{3}) (?<ms>\d+)ms$/;
const entries = [], bad = [];
for (const [i, text] of log.split("\n").entries()) {
  const m = line.exec(text);
  if (m) entries.push({ ...m.groups, status: +m.groups.status, ms: +m.groups.ms, at: new Date(m.groups.at) });
  else bad.push(i + 1);
}
console.log(entries[1], bad);
const sorted = entries.map((e) => e.ms).sort((a, b) => a - b);
console.log({ p50: sorted[Math.floor(sorted.length * 0.5)], mean: sorted.reduce((a, b) => a + b) / sorted.length, spanSeconds: (entries.at(-1).at - entries[0].at) / 1000 });
console.log(Object.entries(entries.reduce((n, e) => ({ ...n, [e.status]: (n[e.status] ?? 0) + 1 }), {})));
