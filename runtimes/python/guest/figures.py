"""Charts: what plt.show() shows, and what is still open when a turn ends, leaves as PNG.

A figure is handed over once and then closed, so it belongs to the turn that drew it.
"""

import sys

from . import charts, display, drawing


def forms(figure):
    """A figure as text, picture and data; of one in which nothing is drawn, the text."""
    made = {"text/plain": repr(figure)}
    if _blank(figure):
        return made
    made["image/png"] = drawing.png(figure)
    try:
        data = charts.form(figure)
    except Exception:
        data = None  # an artist of a kind that is not known; the picture has it
    if data is not None and len(data) <= display.FORM_MAX:
        made[charts.MIME] = data
    return made


def add_forms(bundle, value):
    """Adds a figure's picture to its bundle."""
    from matplotlib.figure import FigureBase

    if isinstance(value, FigureBase):
        figure = value.figure
        text = bundle["text/plain"]
        bundle.update(forms(figure))
        bundle["text/plain"] = text
        _close(figure)


def _blank(figure):
    """Whether nothing is drawn in a figure: plt.figure() opens one, and df.plot() draws in another."""
    return figure.get_children() == [figure.patch]


def show_open():
    """Hands over the figures that are open, oldest first, and closes them. Their number, without those that are blank."""
    from matplotlib._pylab_helpers import Gcf

    shown = 0
    for number in sorted(Gcf.figs):
        manager = Gcf.figs.get(number)
        if manager is None:
            continue
        figure = manager.canvas.figure
        Gcf.destroy(manager)
        if not _blank(figure):
            display.send(forms(figure))
            shown += 1
    return shown


def _close(figure):
    from matplotlib._pylab_helpers import Gcf

    Gcf.destroy_fig(figure)


def install():
    """Makes plt.show() hand figures over, for every backend that has no window."""
    import matplotlib
    from matplotlib import backend_bases, pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    def show(*, block=None):
        from . import streams

        streams.flush()
        show_open()

    show.__doc__ = pyplot.show.__doc__
    pyplot.show = show
    backend_bases.FigureManagerBase.pyplot_show = staticmethod(show)
    backend_bases._Backend.show = staticmethod(show)

    def figure_show(self, warn=True):
        from matplotlib._pylab_helpers import Gcf

        display.send(forms(self))
        Gcf.destroy_fig(self)

    matplotlib.figure.Figure.show = figure_show
    charts.install()

    _install_waiting(backend_bases)

    # Pillow is built without these, and would say so by a KeyError.
    for kind in ("webp", "avif"):
        delattr(FigureCanvasAgg, f"print_{kind}")
        del backend_bases._default_filetypes[kind], backend_bases._default_backends[kind]

    # A program that asks for a window gets this one's pictures.
    switch = pyplot.switch_backend

    def switch_backend(newbackend):
        if isinstance(newbackend, str) and newbackend.lower() in _WINDOWS:
            newbackend = "agg"
        switch(newbackend)

    switch_backend.__doc__ = switch.__doc__
    pyplot.switch_backend = switch_backend


def _install_waiting(backend_bases):
    """A wait for a click or a key fails at once where it would be long: there is nobody to give one."""
    from matplotlib import _blocking_input as blocking

    loop, wait = blocking.blocking_input_loop, backend_bases.FigureCanvasBase.start_event_loop

    def start_event_loop(self, timeout=0):
        if timeout <= 0:
            raise RuntimeError("waiting for a click or a key would never end: figures have no window in this sandbox")
        wait(self, timeout)

    def blocking_input_loop(figure, event_names, timeout, handler):
        loop(figure, event_names, timeout if timeout <= _PAUSE else 0, handler)

    for new, plain in ((start_event_loop, wait), (blocking_input_loop, loop)):
        new.__doc__, new.__qualname__, new.__module__ = plain.__doc__, plain.__qualname__, plain.__module__
    backend_bases.FigureCanvasBase.start_event_loop = start_event_loop
    blocking.blocking_input_loop = blocking_input_loop


_PAUSE = 5  # seconds: whoever waits for longer waits for somebody


_WINDOWS = {
    "tkagg",
    "tkcairo",
    "qtagg",
    "qtcairo",
    "qt5agg",
    "qt5cairo",
    "qt4agg",
    "gtk3agg",
    "gtk3cairo",
    "gtk4agg",
    "gtk4cairo",
    "wxagg",
    "wx",
    "wxcairo",
    "macosx",
    "webagg",
    "nbagg",
    "notebook",
    "ipympl",
    "widget",
    "inline",
    "module://matplotlib_inline.backend_inline",
}


def any_open():
    """Whether a turn left a figure open; costs nothing where pyplot was never imported."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return helpers is not None and bool(helpers.Gcf.figs)
