// Calls of a function.
const fib = (n) => n < 2 ? n : fib(n - 1) + fib(n - 2);
let begun = Date.now();
const value = fib(27);
`${Date.now() - begun} ${value}`;
