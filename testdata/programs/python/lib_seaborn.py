# seaborn draws from a frame.
import pandas as pd
import seaborn as sns
import matplotlib.pyplot as plt

sns.set_theme()
frame = pd.DataFrame({"day": ["一", "二"] * 4, "v": range(8), "k": list("aabb") * 2})
axes = sns.barplot(frame, x="day", y="v", hue="k")
assert len(axes.patches) >= 4
plt.close("all")
grid = sns.pairplot(pd.DataFrame({"a": [1, 2, 3], "b": [3, 1, 2]}))
grid.savefig("pairs.png")
assert open("pairs.png", "rb").read(4) == b"\x89PNG"
sns.heatmap(frame[["v"]].T, annot=True)
plt.close("all")
