"""A matplotlib figure as data: titles, axes and their labels, and series with their points.

Read off the artists when the figure is handed over, for clients that draw it again or check what it shows. What has no
such form (3-D surfaces, arrows, free shapes) is left to the picture.
"""

import math
from json import dumps

MIME = "application/vnd.cloche.figure+json"
POINTS_MAX = 2_000  # of a series
TOTAL_MAX = 20_000  # points of a figure
TEXT_MAX = 500  # characters of a label


def form(figure):
    """The figure as JSON text, or None where there is nothing to tell."""
    reader = _Reader()
    axes = [reader.axes(ax) for ax in figure.axes if ax.get_visible()]
    axes = [a for a in axes if a is not None]
    if not axes:
        return None
    width, height = figure.get_size_inches() * figure.dpi
    data = {"version": 1, "width_px": round(float(width)), "height_px": round(float(height))}
    title = figure._suptitle.get_text() if figure._suptitle is not None else ""
    if title:
        data["title"] = title[:TEXT_MAX]
    data["axes"] = axes
    return dumps(data, allow_nan=False)


def install():
    """Has box and violin plots leave a note of their numbers, which their artists no longer have."""
    import functools

    from matplotlib.axes import Axes

    def noting(name, kind):
        original = getattr(Axes, name)

        @functools.wraps(original)
        def draw(self, *args, **kwargs):
            artists = original(self, *args, **kwargs)
            stats = args[0] if args else kwargs.get("bxpstats", kwargs.get("vpstats", ()))
            positions = kwargs.get("positions", args[1] if len(args) > 1 else None)
            flat = []
            for value in artists.values():
                flat.extend(value if isinstance(value, (list, tuple)) else [value])
            vars(self).setdefault("_cloche_stats", []).append((kind, list(stats), positions, set(map(id, flat)), flat))
            return artists

        setattr(Axes, name, draw)

    noting("bxp", "box")
    noting("violin", "violin")


class _Reader:
    def __init__(self):
        self.left = TOTAL_MAX
        self.errors = {}  # of lines, by their identity

    def axes(self, ax):
        if getattr(ax, "_colorbar", None) is not None:
            return None
        series = []
        done = set()  # artists that are told already
        xnames, ynames = _names(ax.xaxis), _names(ax.yaxis)
        for kind, stats, positions, ids, _ in vars(ax).get("_cloche_stats", ()):
            done |= ids
            series.append(self.stats(kind, stats, positions, xnames or ynames))
        for container in ax.containers:
            made = self.container(container, xnames, ynames, done)
            if made:
                series.append(made)
        others = []
        wedges = [p for p in ax.patches if type(p).__name__ == "Wedge"]
        if wedges:
            series.append(self.pie(ax, wedges))
        contained = {id(p) for c in ax.containers for p in getattr(c, "patches", ())}
        for patch in ax.patches:
            if id(patch) not in contained and id(patch) not in done and patch not in wedges and patch.get_visible():
                kind = type(patch).__name__
                if kind == "Polygon" and patch.get_transform() == ax.transData:
                    series.append(self.outline(ax, patch))
                elif kind != "Rectangle" or patch.get_width() or patch.get_height():  # seaborn's legends have such without a size
                    others.append(kind)
        for line in ax.lines:
            if id(line) not in done and line.get_visible():
                made = self.line(ax, line, xnames, ynames)
                if made:
                    if id(line) in self.errors:
                        made.update(self.errors[id(line)])
                    series.append(made)
        for collection in ax.collections:
            if id(collection) not in done and collection.get_visible():
                made = self.collection(ax, collection, xnames, ynames)
                if made:
                    series.append(made)
                elif len(collection.get_paths()):
                    others.append(type(collection).__name__)
        for image in ax.images:
            series.append(self.matrix("image", image.get_array()))
        if not series and not ax.get_title() and not ax.has_data():
            return None
        kinds = list(dict.fromkeys(s["kind"] for s in series))
        others = list(dict.fromkeys(others))
        out = {"kind": kinds[0] if len(kinds) == 1 else "mixed" if kinds else "other" if others else "empty"}
        if others:
            out["others"] = others  # what is drawn, too, and not told of
        solid = hasattr(ax, "get_zlim")
        if getattr(ax, "name", "") not in ("", "rectilinear"):
            out["projection"] = ax.name
        for key, text in (
            ("title", ax.get_title() or ax.get_title("left") or ax.get_title("right")),
            ("x_label", ax.get_xlabel()),
            ("y_label", ax.get_ylabel()),
            ("z_label", ax.get_zlabel() if solid else ""),
        ):
            if text:
                out[key] = text[:TEXT_MAX]
        for key, scale in (("x_scale", ax.get_xscale()), ("y_scale", ax.get_yscale())):
            if scale != "linear":
                out[key] = scale
        if "pie" not in kinds:
            for key, axis, limits in (("x_range", ax.xaxis, ax.get_xlim()), ("y_range", ax.yaxis, ax.get_ylim())):
                out[key] = [_value(axis, v) for v in limits]
            if solid:
                out["z_range"] = [_number(v) for v in ax.get_zlim()]
        legend = ax.get_legend()
        if legend is not None:
            out["legend"] = [t.get_text()[:TEXT_MAX] for t in legend.get_texts()]
            if legend.get_title().get_text():
                out["legend_title"] = legend.get_title().get_text()[:TEXT_MAX]
        out["series"] = series
        return out

    def series(self, kind, points, artist=None, label=None, **more):
        points = list(points)
        out = {"kind": kind}
        if label is None and artist is not None:
            label = artist.get_label()
        if isinstance(label, str) and label and not label.startswith("_"):
            out["label"] = label[:TEXT_MAX]
        out.update(more)
        most = min(POINTS_MAX, self.left)
        if len(points) > most:
            out["points_total"] = len(points)
            points = points[:most]
        self.left -= len(points)
        out["points"] = points
        return out

    def line(self, ax, line, xnames, ynames):
        if hasattr(line, "get_data_3d"):  # what it has else is where it lies on the picture
            points = ([_number(v) for v in point] for point in zip(*line.get_data_3d()))
            return self.series("line", points, line, color=_color(line.get_color()))
        x, y = line.get_xdata(orig=True), line.get_ydata(orig=True)
        trans = line.get_transform()
        if trans == ax.get_yaxis_transform(which="grid") and len(y):
            return self.series("horizontal line", [[None, _value(ax.yaxis, y[0])]], line)
        if trans == ax.get_xaxis_transform(which="grid") and len(x):
            return self.series("vertical line", [[_value(ax.xaxis, x[0]), None]], line)
        if len(x) != len(y) or not len(x):
            return None
        kind = "line"
        if line.get_linestyle() in ("None", "none", " ", "") and line.get_marker() not in ("None", "none", " ", "", None):
            kind = "scatter"
        points = [[_named(ax.xaxis, a, xnames), _named(ax.yaxis, b, ynames)] for a, b in zip(x, y)]
        if all(None in p for p in points):
            return None  # nothing is drawn
        label = line.get_label()
        if not isinstance(label, str) or label.startswith("_"):
            label = _legend_text(ax, line.get_color())
        return self.series(kind, points, label=label, color=_color(line.get_color()))

    def outline(self, ax, polygon):
        points = ([_value(ax.xaxis, a), _value(ax.yaxis, b)] for a, b in polygon.get_xy())
        if polygon.get_fill():
            return self.series("area", points, polygon, color=_color(polygon.get_facecolor()))
        return self.series("line", points, polygon, color=_color(polygon.get_edgecolor()))

    def container(self, container, xnames, ynames, done):
        kind = type(container).__name__
        if kind == "BarContainer":
            return self.bars(container, xnames, ynames)
        if kind == "ErrorbarContainer":
            self.errors[id(container.lines[0])] = dict(_errors(container))
            for part in (container.lines[0], *container.lines[1], *container.lines[2]):
                if part is not None and part is not container.lines[0]:
                    done.add(id(part))
        return None

    def bars(self, container, xnames, ynames):
        bars = [p for p in container.patches if hasattr(p, "get_width")]
        if not bars:
            return None
        ax = bars[0].axes
        flat = getattr(container, "orientation", "vertical") == "horizontal"
        axis, names = (ax.yaxis, ynames) if flat else (ax.xaxis, xnames)
        points, edges = [], []
        for p in bars:
            start, width = (p.get_y(), p.get_height()) if flat else (p.get_x(), p.get_width())
            length = p.get_width() if flat else p.get_height()
            edges.append((float(start), float(start + width)))
            middle = float(start + width / 2)
            name = names.get(round(middle, 6)) or names.get(round(middle))  # bars side by side around one name
            points.append([name or _value(axis, middle), _number(length)])
        more = {"color": _color(bars[0].get_facecolor())}
        if flat:
            more["horizontal"] = True
        base = [_number(p.get_x() if flat else p.get_y()) for p in bars]
        if any(base):
            more["base"] = base[:POINTS_MAX]
        if container.errorbar is not None:
            more.update(_errors(container.errorbar))
        touching = all(abs(a[1] - b[0]) <= 1e-9 * max(1.0, abs(a[1])) for a, b in zip(edges, edges[1:]))
        if len(bars) > 1 and touching and not any(isinstance(x, str) for x, _ in points):
            more["edges"] = [_value(axis, e[0]) for e in edges[:POINTS_MAX]] + [_value(axis, edges[min(len(edges), POINTS_MAX) - 1][1])]
            return self.series("histogram", points, container, **more)
        label = container.get_label()
        if not isinstance(label, str) or label.startswith("_"):
            label = _legend_text(ax, bars[0].get_facecolor())
        return self.series("bar", points, label=label, **more)

    def pie(self, ax, wedges):
        angles = [w.theta2 - w.theta1 for w in wedges]
        total = sum(angles) or 1
        texts = [t.get_text() for t in ax.texts]
        labels = [w.get_label() for w in wedges]
        points = []
        for i, (label, angle) in enumerate(zip(labels, angles)):
            if label.startswith("_"):
                label = texts[i] if i < len(texts) else ""
            points.append([label[:TEXT_MAX], round(float(angle) / total, 6)])
        return self.series("pie", points)

    def collection(self, ax, c, xnames, ynames):
        kind = type(c).__name__
        if kind == "Path3DCollection":
            return self.series("scatter", ([_number(v) for v in point] for point in zip(*c._offsets3d)), c)
        if kind == "PolyCollection" and len(c.get_offsets()) > 1 and c.get_array() is not None:
            points = ([_value(ax.xaxis, a), _value(ax.yaxis, b)] for a, b in c.get_offsets())
            return self.series("hexbin", points, c, values=[_number(v) for v in c.get_array()[:POINTS_MAX]])
        if kind == "PathCollection":
            offsets = c.get_offsets()
            points = [[_named(ax.xaxis, a, xnames), _named(ax.yaxis, b, ynames)] for a, b in offsets]
            more = {}
            values = c.get_array()
            if values is not None and len(values) == len(points):
                more["values"] = [_number(v) for v in values[:POINTS_MAX]]
            sizes = c.get_sizes()
            if len(sizes) == len(points) > 1:
                more["sizes"] = [_number(v) for v in sizes[:POINTS_MAX]]
            colors = c.get_facecolors()
            if values is None and ax.get_legend() is not None and len(colors) == len(points) > 1:
                texts = {color: _legend_text(ax, color) for color in set(map(tuple, colors))}
                if len(texts) > 1 and all(texts.values()):
                    more["groups"] = [texts[tuple(color)] for color in colors[:POINTS_MAX]]
            return self.series("scatter", points, c, **more) if points else None
        if kind in ("FillBetweenPolyCollection", "PolyCollection") and len(c.get_paths()) == 1:
            outline = c.get_paths()[0].vertices
            points = [[_value(ax.xaxis, a), _value(ax.yaxis, b)] for a, b in outline]
            return self.series("area", points, c)
        if kind == "QuadMesh":
            values = c.get_array()
            shape = (c._coordinates.shape[0] - 1, c._coordinates.shape[1] - 1)
            more = {}
            for key, names, n in (("x_names", xnames, shape[1]), ("y_names", ynames, shape[0])):
                found = [names.get(round(i + 0.5, 6)) for i in range(n)]
                if n and all(found):
                    more[key] = found
            return self.matrix("heatmap", values.reshape(shape), **more)
        return None

    def matrix(self, kind, values, **more):
        out = {"kind": kind, "shape": list(map(int, values.shape)), **more}
        if values.ndim == 2 and values.size <= self.left:
            self.left -= values.size
            out["values"] = [[_number(v) for v in row] for row in values.tolist()]
        return out

    def stats(self, kind, stats, positions, names):
        points = []
        for i, s in enumerate(stats[:POINTS_MAX]):
            p = {"label": str(s.get("label", ""))[:TEXT_MAX]} if s.get("label") else {}
            position = _number(positions[i]) if positions is not None and i < len(positions) else i + 1
            if "label" not in p and names.get(position):
                p["label"] = names[position]
            p["position"] = position
            keys = dict(med="median", q1="q1", q3="q3", whislo="low", whishi="high", mean="mean", median="median", min="low", max="high")
            for key, name in keys.items():
                if key in s and name not in p:
                    p[name] = _number(s[key])
            fliers = s.get("fliers")
            if fliers is not None and len(fliers):
                p["outliers"] = [_number(v) for v in fliers[:100]]
            points.append(p)
        return self.series(kind, points)


def _errors(container):
    """How far the bars of errors go, by their direction."""
    bars = list(container.lines[2])
    for name, at, there in (("x_errors", 0, container.has_xerr), ("y_errors", 1, container.has_yerr)):
        if there and bars:
            yield name, [[_number(end[at]) for end in ends] for ends in bars.pop(0).get_segments()[:POINTS_MAX]]


def _legend_text(ax, color):
    """What the legend says about a colour."""
    legend = ax.get_legend()
    for handle, text in zip(getattr(legend, "legend_handles", ()), legend.get_texts() if legend is not None else ()):
        for shown in ("get_facecolor", "get_markerfacecolor", "get_color"):
            if hasattr(handle, shown) and _color(getattr(handle, shown)()) == _color(color):
                return text.get_text()
    return ""


def _names(axis):
    """The texts that stand at positions of an axis, where they are not the numbers themselves."""
    names = {}
    try:
        formatter = type(axis.get_major_formatter()).__name__
        if formatter in ("FixedFormatter", "StrCategoryFormatter", "FuncFormatter"):
            for position, label in zip(axis.get_majorticklocs(), axis.get_ticklabels()):
                text = label.get_text()
                if text:
                    names[round(float(position), 6)] = text[:TEXT_MAX]
    except Exception:
        pass  # a locator or formatter of the program's own
    return names


def _named(axis, value, names):
    if names and isinstance(value, (int, float)) or hasattr(value, "dtype") and names:
        try:
            name = names.get(round(float(value), 6))
        except (TypeError, ValueError):
            name = None
        if name is not None:
            return name
    return _value(axis, value)


def _value(axis, value):
    """A coordinate: a number, a text or a date."""
    if isinstance(value, str):
        return value[:TEXT_MAX]
    iso = getattr(value, "isoformat", None)
    if iso is not None:
        return iso()
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if kind == "M":
        return str(value.astype("M8[s]"))
    number = _number(value)
    if number is None or not isinstance(number, (int, float)):
        return number if number is not None else None
    converter = type(axis.get_converter()).__name__
    if converter == "PeriodConverter" and getattr(axis, "freq", None) is not None:
        import pandas

        return str(pandas.Period(ordinal=round(number), freq=axis.freq))
    if converter in ("DateConverter", "ConciseDateConverter", "_SwitchableDateConverter", "DatetimeConverter"):
        from matplotlib.dates import num2date

        try:
            return num2date(number).replace(tzinfo=None).isoformat()
        except (ValueError, OverflowError):
            return number
    return number


def _number(value):
    """A JSON number, or None for what is none."""
    try:
        number = value.item() if hasattr(value, "item") else value
        if isinstance(number, bool) or number is None or type(number).__name__ == "MaskedConstant":
            return number if isinstance(number, bool) else None
        if isinstance(number, int):
            return number
        number = float(number)
    except (TypeError, ValueError):
        return str(value)[:TEXT_MAX]
    if not math.isfinite(number):
        return None
    return float(f"{number:.10g}")


def _color(value):
    from matplotlib.colors import to_hex

    try:
        return to_hex(value)
    except ValueError:
        return None
