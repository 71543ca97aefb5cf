package python_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFigureData shows figures and reads the data that comes with their pictures.
func TestFigureData(t *testing.T) {
	type chart = map[string]any
	s := open(t)
	s.run("import matplotlib.pyplot as plt, numpy as np, pandas as pd, seaborn as sns, datetime as dt\ndf = pd.DataFrame({'k': ['a', 'b', 'a', 'b'], 'v': [1, 2, 3, 4], 'h': ['m', 'm', 'n', 'n']})").ok(t)
	for _, tt := range []struct{ name, code, want string }{
		{"lines", `plt.plot([1, 2, 3], [4, float("nan"), 5.5], color="red", label="up"); plt.axhline(5); plt.title("T"); plt.xlabel("x"); plt.ylabel("y"); plt.legend(); plt.show()`,
			`{"kind": "mixed", "title": "T", "x_label": "x", "y_label": "y", "legend": ["up"], "series": [
				{"kind": "line", "label": "up", "color": "#ff0000", "points": [[1, 4], [2, null], [3, 5.5]]}, {"kind": "horizontal line", "points": [[null, 5]]}]}`},
		{"bars", `plt.bar(["p", "q"], [3, 4], color="#00ff00"); plt.show()`, `{"kind": "bar", "series": [{"kind": "bar", "color": "#00ff00", "points": [["p", 3], ["q", 4]]}]}`},
		{"bars to the right", `plt.barh(["p", "q"], [3, 4]); plt.show()`, `{"kind": "bar", "series": [{"kind": "bar", "horizontal": true, "color": "#1f77b4", "points": [["p", 3], ["q", 4]]}]}`},
		{"stacked by pandas", `pd.DataFrame({"u": [1, 2], "v": [3, 4]}, index=["r", "s"]).plot.bar(stacked=True)`,
			`{"kind": "bar", "legend": ["u", "v"], "series": [{"kind": "bar", "label": "u", "color": "#1f77b4", "points": [["r", 1], ["s", 2]]},
				{"kind": "bar", "label": "v", "color": "#ff7f0e", "base": [1, 2], "points": [["r", 3], ["s", 4]]}]}`},
		{"histogram", `plt.hist([1, 2, 2, 3], bins=2); plt.show()`, `{"kind": "histogram", "series": [{"kind": "histogram", "color": "#1f77b4", "edges": [1, 2, 3], "points": [[1.5, 1], [2.5, 3]]}]}`},
		{"pie", `plt.pie([1, 3], labels=["p", "q"], autopct="%d%%"); plt.show()`, `{"kind": "pie", "series": [{"kind": "pie", "points": [["p", 0.25], ["q", 0.75]]}]}`},
		{"scatter", `plt.scatter([1, 2], [3, 4], c=[5, 6]); plt.colorbar(); plt.yscale("log"); plt.show()`,
			`{"kind": "scatter", "y_scale": "log", "series": [{"kind": "scatter", "values": [5, 6], "points": [[1, 3], [2, 4]]}]}`},
		{"dates", `plt.plot([dt.date(2024, 1, 1), dt.date(2024, 2, 1)], [1, 2], "o"); plt.show()`,
			`{"kind": "scatter", "series": [{"kind": "scatter", "color": "#1f77b4", "points": [["2024-01-01", 1], ["2024-02-01", 2]]}]}`},
		{"boxes", `plt.boxplot([[1, 2, 3, 4, 50]]); plt.show()`,
			`{"kind": "box", "series": [{"kind": "box", "points": [{"label": "1", "position": 1, "median": 3, "q1": 2, "q3": 4, "low": 1, "high": 4, "mean": 12, "outliers": [50]}]}]}`},
		{"seaborn by hue", `sns.barplot(df, x="k", y="v", hue="h", errorbar=None)`,
			`{"kind": "bar", "x_label": "k", "y_label": "v", "legend": ["m", "n"], "legend_title": "h", "series": [
				{"kind": "bar", "label": "m", "color": "#3274a1", "points": [["a", 1], ["b", 2]]}, {"kind": "bar", "label": "n", "color": "#e1812c", "points": [["a", 3], ["b", 4]]}]}`},
		{"heatmap", `sns.heatmap(pd.DataFrame([[1, 2]], index=["r"], columns=["c", "d"]))`,
			`{"kind": "heatmap", "series": [{"kind": "heatmap", "shape": [1, 2], "x_names": ["c", "d"], "y_names": ["r"], "values": [[1, 2]]}]}`},
		{"only what has no form", `plt.contourf(np.arange(9).reshape(3, 3)); plt.colorbar(); plt.show()`, `{"kind": "other", "others": ["QuadContourSet"], "series": []}`},
		{"and what has none", `plt.plot([1, 2], [3, 4]); plt.vlines([1], 3, 4); plt.show()`,
			`{"kind": "line", "others": ["LineCollection"], "series": [{"kind": "line", "color": "#1f77b4", "points": [[1, 3], [2, 4]]}]}`},
		{"steps", `plt.hist([1, 2, 2, 3], bins=2, histtype="step"); plt.show()`,
			`{"kind": "line", "series": [{"kind": "line", "color": "#1f77b4", "points": [[1, 0], [1, 1], [2, 1], [2, 3], [3, 3], [3, 0]]}]}`},
		{"outline", `plt.fill([0, 1, 1], [0, 0, 1], "r"); plt.axhspan(1, 2); plt.show()`,
			`{"kind": "area", "others": ["Rectangle"], "series": [{"kind": "area", "color": "#ff0000", "points": [[0, 0], [1, 0], [1, 1], [0, 0]]}]}`},
		{"errors", `plt.errorbar([1, 2], [3, 4], yerr=[[1, 1], [2, 2]], fmt="o"); plt.bar([5], [6], yerr=[1]); plt.show()`,
			`{"kind": "mixed", "series": [{"kind": "bar", "color": "#1f77b4", "points": [[5, 6]], "y_errors": [[5, 7]]},
				{"kind": "scatter", "color": "#1f77b4", "points": [[1, 3], [2, 4]], "y_errors": [[2, 5], [3, 6]]}]}`},
		{"hexagons", `plt.hexbin([0, 0, 1], [0, 0, 1], gridsize=(2, 1)); plt.show()`,
			`{"kind": "hexbin", "series": [{"kind": "hexbin", "values": [2, 0, 0, 0, 0, 1, 0, 0],
				"points": [[-1e-9, 0], [-1e-9, 1], [0.5, 0], [0.5, 1], [1.000000001, 0], [1.000000001, 1], [0.2499999995, 0.5], [0.7500000005, 0.5]]}]}`},
		{"a line in space", `ax = plt.figure().add_subplot(projection="3d"); ax.plot([1, 2], [3, 4], [5, 6]); ax.scatter([1], [2], [3]); ax.set_zlabel("z"); ax.set_zlim(0, 7); plt.show()`,
			`{"kind": "mixed", "projection": "3d", "z_label": "z", "z_range": [0, 7], "series": [{"kind": "line", "color": "#1f77b4", "points": [[1, 3, 5], [2, 4, 6]]},
				{"kind": "scatter", "points": [[1, 2, 3]]}]}`},
		{"seaborn's lines by hue", `sns.lineplot(df, x="v", y="v", hue="h"); plt.show()`,
			`{"kind": "line", "x_label": "v", "y_label": "v", "legend": ["m", "n"], "legend_title": "h", "series": [
				{"kind": "line", "label": "m", "color": "#1f77b4", "points": [[1, 1], [2, 2]]}, {"kind": "line", "label": "n", "color": "#ff7f0e", "points": [[3, 3], [4, 4]]}]}`},
		{"seaborn's points by hue", `sns.scatterplot(df, x="v", y="v", hue="h"); plt.show()`,
			`{"kind": "scatter", "x_label": "v", "y_label": "v", "legend": ["m", "n"], "legend_title": "h", "series": [
				{"kind": "scatter", "groups": ["m", "m", "n", "n"], "points": [[1, 1], [2, 2], [3, 3], [4, 4]]}]}`},
		{"long", `plt.plot(range(5000)); plt.show()`, ""},
		{"last value", `fig, ax = plt.subplots(); ax.plot([1], [2]); fig`, `{"kind": "line", "series": [{"kind": "line", "color": "#1f77b4", "points": [[1, 2]]}]}`},
	} {
		r := s.run(tt.code).ok(t)
		var figures []chart
		for _, d := range r.shown {
			if raw, ok := d.Data["application/vnd.cloche.figure+json"]; ok {
				if d.Data["image/png"] == nil {
					t.Errorf("%s: data without a picture", tt.name)
				}
				b, err := json.Marshal(raw)
				if err != nil {
					t.Fatal(err)
				}
				var c chart
				if err := json.Unmarshal(b, &c); err != nil {
					t.Fatal(err)
				}
				figures = append(figures, c)
			}
		}
		if len(figures) != 1 || figures[0]["version"] != 1.0 {
			t.Errorf("%s: %d figures as data: %v", tt.name, len(figures), figures)
			continue
		}
		axes := figures[0]["axes"].([]any)
		if len(axes) != 1 {
			t.Errorf("%s: %d axes", tt.name, len(axes))
			continue
		}
		got := axes[0].(chart)
		if tt.want == "" {
			one := got["series"].([]any)[0].(chart)
			if len(one["points"].([]any)) != 2000 || one["points_total"] != 5000.0 {
				t.Errorf("%s: %d points of %v", tt.name, len(one["points"].([]any)), one["points_total"])
			}
			continue
		}
		delete(got, "x_range")
		delete(got, "y_range")
		var want chart
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
