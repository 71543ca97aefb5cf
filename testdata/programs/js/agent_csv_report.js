// A report from a CSV file: groups, sums, a table.
const fs = require("fs");
const { join } = require("path");
const dir = fs.mkdtempSync(join(require("os").tmpdir(), "report-"));
const file = join(dir, "sales.csv");
fs.writeFileSync(file, 'region,item,units,price\nNorth,"Lamp, small",3,19.99\nSouth,Desk,1,149\nNorth,Chair,4,45.5\nSouth,"Lamp ""XL""",2,39\n');
const parse = (line) => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].slice(0, 4).map(([, f]) => f.startsWith('"') ? f.slice(1, -1).replaceAll('""', '"') : f);
const [head, ...rows] = fs.readFileSync(file, "utf8").trim().split("\n").map(parse);
const records = rows.map((r) => Object.fromEntries(head.map((h, i) => [h, Number.isNaN(+r[i]) ? r[i] : +r[i]])));
console.table(records);
const total = records.reduce((sum, { region, units, price }) => sum.set(region, (sum.get(region) ?? 0) + units * price), new Map());
for (const [region, sum] of [...total].sort((a, b) => b[1] - a[1])) console.log(region.padEnd(8), sum.toLocaleString("en-US", { style: "currency", currency: "USD" }).padStart(10));
fs.rmSync(dir, { recursive: true });
console.log(fs.existsSync(file));
