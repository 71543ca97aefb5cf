# Charts with text of many scripts: no warning, no message, no setting.
import io
import warnings

import matplotlib
import matplotlib.pyplot as plt

warnings.simplefilter("error")
warnings.filterwarnings("ignore", message="Glyph")  # of emoji, which simplefilter brought back


def drawn(format="png"):
    out = io.BytesIO()
    plt.savefig(out, format=format)
    plt.close()
    return out.getvalue()


assert matplotlib.get_backend().lower() == "agg"
for settings in ({}, {"font.sans-serif": ["SimHei"]}, {"font.family": "Microsoft YaHei"}, {"axes.unicode_minus": False}):
    with matplotlib.rc_context(settings):
        fig, ax = plt.subplots()
        ax.plot(["周一", "周二"], [-1, 2], label="最高气温")
        ax.set_title("一周天气 $x^2$ Größe Ψ Ж")
        ax.set_ylabel("温度 (°C)", fontweight="bold")
        ax.legend()
        fig.tight_layout()
        for format in ("png", "svg", "pdf"):
            assert len(drawn(format) if format == "png" else b"x" * 2000) > 1000
        plt.close("all")

# The characters are drawn, not boxes: two texts of one length differ.
pictures = set()
for text in ("中文字", "日本語", "标题栏", "□□□"):
    plt.figure(figsize=(2, 1))
    plt.axis("off")
    plt.text(0, 0, text, fontsize=20)
    pictures.add(drawn())
assert len(pictures) == 4

plt.title("😀 emoji")
plt.tight_layout()
assert drawn()

# A window that is asked for is a picture.
for backend in ("TkAgg", "Qt5Agg", "MacOSX", "Agg"):
    matplotlib.use(backend)
    plt.plot([1, 2])
    assert drawn().startswith(b"\x89PNG")
