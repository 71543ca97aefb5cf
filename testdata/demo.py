"""The demo: what is in the sales file, as a table and as a chart. `make demo` runs it in the sandbox."""

import matplotlib.pyplot as plt
import pandas as pd

df = pd.read_csv("sales.csv", index_col="order", parse_dates=["date"])
print(df.describe(include="number").round(2).to_string())

monthly = df.pivot_table(index=df["date"].dt.to_period("M"), columns="region", values="revenue", aggfunc="sum") / 1000
by_category = df.groupby("category")["revenue"].sum().sort_values() / 1000

colours = {"North": "#4c78a8", "South": "#f2a541", "West": "#59a14f"}
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.titleweight": "bold", "font.size": 10})
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), width_ratios=[2, 1], layout="constrained")

months = [p.strftime("%b") for p in monthly.index]
base = 0
for region in monthly.columns:
    left.bar(months, monthly[region], bottom=base, color=colours[region], label=region, width=0.75)
    base = base + monthly[region].values
left.set_title("Revenue by month", loc="left")
left.set_ylabel("thousand euros")
left.legend(frameon=False, ncols=3, loc="upper left")
left.set_ylim(top=base.max() * 1.18)
left.yaxis.grid(True, color="#dddddd")
left.set_axisbelow(True)

bars = right.barh(by_category.index, by_category, color="#8e6bbf", height=0.65)
right.bar_label(bars, fmt="%.0f", padding=4)
right.set_title("Revenue by category", loc="left")
right.set_xlabel("thousand euros")
right.set_xlim(right=by_category.max() * 1.12)

fig.suptitle(f"Sales 2025: {len(df):,} orders, {df['revenue'].sum():,.0f} euros", x=0.01, ha="left", size=14)
plt.show()
