// Regular expressions over text.
const text = Array.from({ length: 4000 }, (_, i) => `2026-0${i % 9 + 1}-1${i % 10} user${i}@example.org paid ${i}.${i % 90 + 10} EUR to "shop ${i % 31}"`).join("\n");
let begun = Date.now();
let found = 0;
for (let round = 0; round < 2; round++) {
  for (const m of text.matchAll(/(\d{4})-(\d\d)-(\d\d)/g)) found += m[2].length;
  found += text.match(/[\w.]+@[\w.]+\.\w+/g).length;
  found += text.replace(/paid (\d+)\.(\d+) EUR/g, (_, a, b) => `${b},${a}`).length;
  found += text.split(/\s+/).length;
}
`${Date.now() - begun} ${found}`;
