// Shortest paths, topological order, memo, recursion.
const edges = { a: { b: 7, c: 9, f: 14 }, b: { c: 10, d: 15 }, c: { d: 11, f: 2 }, d: { e: 6 }, f: { e: 9 }, e: {} };
function shortest(from) {
  const dist = new Map([[from, 0]]), open = new Set(Object.keys(edges)), via = {};
  while (open.size) {
    const u = [...open].reduce((m, n) => (dist.get(n) ?? Infinity) < (dist.get(m) ?? Infinity) ? n : m);
    open.delete(u);
    for (const [v, w] of Object.entries(edges[u])) if (dist.get(u) + w < (dist.get(v) ?? Infinity)) { dist.set(v, dist.get(u) + w); via[v] = u; }
  }
  return { dist, via };
}
console.log(shortest("a"));
const order = []; const seen = new WeakSet();
const visit = (n, path = []) => { const node = edges[n]; if (path.includes(n)) throw new Error("cycle " + [...path, n].join(">")); if (seen.has(node)) return; seen.add(node); for (const m in node) visit(m, [...path, n]); order.unshift(n); };
Object.keys(edges).forEach((n) => visit(n)); console.log(order.join(" "));
edges.e.a = 1; try { const again = new Set(); const v = (n, p) => { if (p.includes(n)) throw new Error("cycle " + [...p, n].join(">")); if (!again.has(n)) { again.add(n); for (const m in edges[n]) v(m, [...p, n]); } }; v("a", []); } catch (e) { console.log(e.message); }
const memo = (f, c = new Map()) => (n) => c.get(n) ?? (c.set(n, f(n)), c.get(n)); const fib = memo((n) => n < 2 ? BigInt(n) : fib(n - 1) + fib(n - 2)); console.log(fib(150), fib(90).toLocaleString("de-DE"));
