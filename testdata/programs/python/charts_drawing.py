"""What is shown and saved are matplotlib's own pixels, whatever is kept while a figure is drawn."""

import io
import sys

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

drawing = sys.modules["_cloche.drawing"]
rng = np.random.default_rng(0)


def opened(png):
    image = Image.open(io.BytesIO(png))
    assert image.mode == "RGBA", image.mode
    return np.asarray(image)


def plainly(figure):
    """The whole figure, drawn with nothing kept. A constrained layout settles at the second draw only."""
    for _ in range(3 if figure.get_layout_engine() else 1):
        figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).copy()


def check(figure):
    whole = plainly(figure)
    saved = io.BytesIO()
    figure.savefig(saved)
    assert np.array_equal(opened(saved.getvalue()), whole)

    shown = opened(drawing.png(figure))
    tight = figure.get_tightbbox().padded(0.1)
    left, top = int(np.floor(tight.x0 * figure.dpi + 0.01)), whole.shape[0] - int(np.ceil(tight.y1 * figure.dpi - 0.01))
    height, width = shown.shape[:2]
    assert abs(width - tight.width * figure.dpi) <= 2 and abs(height - tight.height * figure.dpi) <= 2, (shown.shape, tight)
    if left >= 0 and top >= 0 and left + width <= whole.shape[1] and top + height <= whole.shape[0]:
        assert np.array_equal(shown, whole[top : top + height, left : left + width])
    else:
        # It reaches beyond the figure: what both have is the same.
        part = whole[max(top, 0) : top + height, max(left, 0) : left + width]
        same = shown[max(-top, 0) :, max(-left, 0) :][: part.shape[0], : part.shape[1]]
        assert np.array_equal(part, same)
    plt.close(figure)


figure, ax = plt.subplots()
ax.plot([1e6, 2e6], [3e-7, 4e-7], label="$x^2$")
ax.set_title("标题")
ax.legend()
ax.twinx().semilogy([1e6, 2e6], [1, 1e6])
check(figure)

figure, axes = plt.subplots(1, 2, layout="constrained", dpi=80)
for ax in axes.flat:
    ax.scatter(*rng.normal(size=(2, 30)))
    ax.set_xlabel("twice\nas high", rotation=10)
axes[0].xaxis.tick_top()
axes[1].set_aspect("equal")
figure.suptitle("two")
check(figure)

figure, ax = plt.subplots()
ax.bar([f"a long name, number {i}" for i in range(4)], range(4))
ax.tick_params(axis="x", rotation=90)
ax.legend(["outside"], bbox_to_anchor=(1.3, 1.1))
check(figure)

figure, ax = plt.subplots(figsize=(2, 2))
ax.imshow(rng.random((90, 90)))  # does not repeat, so Pillow writes it
check(figure)

# A figure that changes between two draws is not drawn from what the first one kept.
figure, ax = plt.subplots()
ax.plot([1, 2, 3])
drawing.png(figure)
ax.set_ylim(0, 1000)
ax.set_xticks([0, 1], ["no", "yes"])
check(figure)
