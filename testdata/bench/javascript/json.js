// JSON out and in.
const rows = [];
for (let i = 0; i < 2000; i++) {
  rows.push({ id: i, name: `customer ${i}`, tags: ["a", "b", `t${i % 7}`], price: i * 1.25, address: { city: "Lyon", zip: `${10000 + i}` }, active: i % 3 === 0 });
}
let begun = Date.now();
let length = 0;
for (let round = 0; round < 6; round++) {
  const text = JSON.stringify(rows);
  length += text.length + JSON.parse(text).length;
}
`${Date.now() - begun} ${length}`;
