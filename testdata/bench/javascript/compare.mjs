// Runs the tasks of this folder in Cloche, goja and quickjs-wasi under Node, in turns, and prints the best of some rounds:
//     node compare.mjs CLOCHE [ROUNDS]
// The peers are fetched into a folder for temporary files by Go and npm; nothing of them is kept in the repository.
// Each task takes its own time, without the start of its engine, and answers with a number that all must agree on.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const here = import.meta.dirname;
const cloche = process.argv[2];
const rounds = Number(process.argv[3] ?? 5);
const peers = join(tmpdir(), `cloche-javascript-peers-${process.getuid?.() ?? 0}`);
const version = "3.7.0"; // of quickjs-wasi: that of runtimes/artifacts.lock

mkdirSync(peers, { recursive: true, mode: 0o700 });
const goja = join(peers, "goja");
execFileSync("go", ["build", "-o", goja, "."], { cwd: join(here, "goja"), stdio: "inherit" });
const quickjs = join(peers, "node_modules", "quickjs-wasi");
if (!existsSync(quickjs)) {
  execFileSync("npm", ["install", "--prefix", peers, "--ignore-scripts", "--silent", `quickjs-wasi@${version}`], { stdio: "inherit" });
}

const run = (command, ...args) => execFileSync(command, args, { encoding: "utf8" }).trim();
const engines = {
  "cloche": (file) => {
    const result = JSON.parse(run(cloche, "run", "--json", "--timeout", "5m", file));
    return result.results[0].data["text/plain"].slice(1, -1);
  },
  "quickjs-wasi": (file) => run(process.execPath, join(here, "quickjs-wasi.mjs"), quickjs, file),
  "goja": (file) => run(goja, file),
};

const mean = {};
const line = (...cells) => console.log(cells.map((c, i) => i === 0 ? c.padEnd(8) : `${c}`.padStart(16)).join(""));
line("ms", ...Object.keys(engines), "to quickjs-wasi", "to goja");
for (const task of readdirSync(here).filter((f) => f.endsWith(".js")).sort()) {
  const best = {}, answers = new Set();
  for (let round = 0; round < rounds; round++) {
    for (const [name, engine] of Object.entries(engines)) {
      const [ms, answer] = engine(join(here, task)).split(" ");
      best[name] = Math.min(best[name] ?? Infinity, Number(ms));
      answers.add(answer);
    }
  }
  if (answers.size !== 1) throw new Error(`${task}: the engines do not agree: ${[...answers]}`);
  const ratios = ["quickjs-wasi", "goja"].map((peer) => best.cloche / best[peer]);
  ratios.forEach((r, i) => (mean[i] ??= []).push(Math.log(r)));
  line(task.slice(0, -3), ...Object.keys(engines).map((e) => best[e]), ...ratios.map((r) => r.toFixed(2)));
}
line("mean", "", "", "", ...Object.values(mean).map((l) => Math.exp(l.reduce((a, b) => a + b) / l.length).toFixed(2)));
