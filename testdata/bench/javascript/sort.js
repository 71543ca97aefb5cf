// Sorting numbers, by a function, and texts.
let seed = 42;
const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) / 0x7fffffff;
const numbers = Array.from({ length: 40000 }, random);
const words = numbers.slice(0, 20000).map((n) => Math.floor(n * 1e9).toString(36));
let begun = Date.now();
const sorted = numbers.slice().sort((a, b) => a - b);
const byKey = numbers.map((n, i) => ({ n, i })).sort((a, b) => b.n - a.n);
const texts = words.slice().sort();
`${Date.now() - begun} ${sorted[1000] + byKey[1000].i + texts[100]}`;
