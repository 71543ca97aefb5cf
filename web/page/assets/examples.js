// Programs to begin with. files are fetched from the page's own server and put beside them.

export const examples = [
  {
    name: "Describe a CSV file and draw it",
    language: "python",
    files: ["sales.csv"],
    code: `import matplotlib.pyplot as plt
import pandas as pd

df = pd.read_csv("sales.csv", parse_dates=["date"])
print(df.describe(include="number").round(2).to_string())

monthly = df.pivot_table(index=df["date"].dt.strftime("%m"), columns="region", values="revenue", aggfunc="sum") / 1000
ax = monthly.plot.bar(stacked=True, width=0.8, figsize=(9, 4), color=["#2a9d8f", "#e9c46a", "#e76f51"])
ax.set(title="Revenue by month", xlabel="", ylabel="thousand euros")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, ncols=3)
plt.show()

df.groupby("category", as_index=False)["revenue"].agg(["sum", "mean", "count"]).round(2)
`,
  },
  {
    name: "Streamed output",
    language: "python",
    code: `import time

for i in range(1, 11):
    print(f"{i:2} " + "■" * i, flush=True)
    time.sleep(0.15)
`,
  },
  {
    name: "Fit a model",
    language: "python",
    code: `import numpy as np
import matplotlib.pyplot as plt
from scipy.optimize import curve_fit

rng = np.random.default_rng(7)
x = np.linspace(0, 10, 120)
y = 2.5 * np.exp(-0.35 * x) * np.cos(2.1 * x) + rng.normal(0, 0.12, x.size)

def model(x, a, b, w):
    return a * np.exp(-b * x) * np.cos(w * x)

found, _ = curve_fit(model, x, y, p0=[2, 0.3, 2])
print("a, b, w =", found.round(3))

fig, ax = plt.subplots(figsize=(8, 3.6))
ax.plot(x, y, ".", color="#8aa", label="measured")
ax.plot(x, model(x, *found), color="#0b6e63", lw=2, label="fitted")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
`,
  },
  {
    name: "An error and its line",
    language: "python",
    code: `def mean(values):
    return sum(values) / len(values)

print(mean([3, 4, 5]))
print(mean([]))
`,
  },
  {
    name: "A loop without end",
    language: "python",
    code: `# Stopped by the limits (see below the editor), or by the Stop button.
n = 0
while True:
    n += 1
`,
  },
  {
    name: "Awaiting at the top level",
    language: "javascript",
    code: `const wait = (ms) => new Promise((done) => setTimeout(done, ms));

const results = await Promise.all([30, 10, 20].map(async (ms) => {
  await wait(ms);
  console.log("waited", ms);
  return ms * 2;
}));

results
`,
  },
  {
    name: "Types",
    language: "typescript",
    code: `interface Order { product: string; units: number; price: number }

const orders: Order[] = [
  { product: "lamp", units: 2, price: 39.5 },
  { product: "chair", units: 1, price: 129 },
];

const total = orders.reduce((sum: number, o: Order) => sum + o.units * o.price, 0);
console.log(\`total \${total.toFixed(2)}\`);

new Map(orders.map((o) => [o.product, o.units * o.price]))
`,
  },
];

export const first = {
  python: "# Ctrl-Enter runs. The value of the last line is shown.\nprint(\"Hello from a sandbox\")\nsum(n * n for n in range(10))\n",
  javascript: "// Ctrl-Enter runs. The value of the last line is shown.\nconsole.log(\"Hello from a sandbox\");\n[1, 2, 3].map((n) => n * n)\n",
  typescript: "// Ctrl-Enter runs. The value of the last line is shown.\nconst squares: number[] = [1, 2, 3].map((n) => n * n);\nsquares\n",
};
