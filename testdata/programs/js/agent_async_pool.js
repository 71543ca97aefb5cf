// Work with a bound on how much runs at once, retries, timeouts, cancellation.
const sleep = (ms, signal) => new Promise((resolve, reject) => {
  const t = setTimeout(resolve, ms);
  signal?.addEventListener("abort", () => { clearTimeout(t); reject(signal.reason); }, { once: true });
});
async function pool(limit, items, work) {
  const results = []; let next = 0, running = 0, most = 0;
  await Promise.all(Array.from({ length: limit }, async () => {
    while (next < items.length) {
      const i = next++;
      most = Math.max(most, ++running);
      results[i] = await work(items[i]).finally(() => running--);
    }
  }));
  return { results, most };
}
async function retry(times, work) {
  for (let i = 1; ; i++) try { return await work(i); } catch (e) { if (i >= times) throw new Error(`gave up after ${i}`, { cause: e }); await sleep(1); }
}
(async () => {
  console.log(await pool(2, [5, 1, 3, 2], async (n) => { await sleep(n); return n * n; }));
  console.log(await retry(3, async (i) => { if (i < 3) throw new Error(`try ${i}`); return `fine at ${i}`; }));
  await retry(2, async (i) => { throw new RangeError(`no ${i}`); }).catch((e) => console.log(e.message, "<-", e.cause.name, e.cause.message));
  const stop = new AbortController();
  setTimeout(() => stop.abort(new Error("enough")), 5);
  await sleep(10_000, stop.signal).catch((e) => console.log("stopped:", e.message));
  console.log(await Promise.race([sleep(1000).then(() => "slow"), sleep(1).then(() => "fast")]));
  process.exit(0);
})();
