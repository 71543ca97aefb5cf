// Integer arithmetic and array elements in a loop.
let begun = Date.now();
let sum = 0;
const table = new Array(1024).fill(0);
for (let i = 0; i < 2000000; i++) {
  sum = (sum + i * 7) & 0xffffff;
  table[i & 1023] = sum;
}
`${Date.now() - begun} ${sum + table[17]}`;
