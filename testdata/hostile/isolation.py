# Attempts: to leave something behind for the next run: in builtins, modules, hooks, caches, defaults, the environment,
#   files, descriptors, generators of random numbers, immortal objects, memory that it frees.
# Stopped by: the next run starts from the image, byte for byte, with files, descriptors and randomness of its own.
# run: status=ok,error timeout=60s
import atexit, builtins, codecs, collections, copyreg, decimal, encodings, functools, gc, io, json, linecache, locale, logging, os, pickle, random, re, signal, string, sys, threading, types, warnings, weakref

builtins.planted = "PLANTED"
builtins.open = builtins.print
builtins.__import__ = (lambda real: lambda *a, **k: real(*a, **k))(builtins.__import__)
for module in list(sys.modules.values()):
    try:
        module.planted = "PLANTED"
    except (AttributeError, TypeError):
        pass
for cls in (collections.OrderedDict, json.JSONEncoder, json.JSONDecoder, random.Random, threading.Thread, io.TextIOWrapper, logging.Logger, string.Template, decimal.Context):
    try:
        cls.planted = "PLANTED"
    except TypeError:
        pass
json.dumps.__defaults__, json.dumps.__kwdefaults__ = ("PLANTED",), {"cls": None}
json.loads.__code__ = (lambda s, **k: "PLANTED").__code__
re.compile("PLANTED" * 3); re.purge()
linecache.cache["x"] = (1, None, ["PLANTED\n"], "x")
codecs.register(lambda name: codecs.lookup("utf-8") if name == "planted" else None)
codecs.register_error("planted", lambda e: ("PLANTED", e.end))
copyreg.pickle(int, lambda x: (int, (x,)))
sys.path.insert(0, "/planted"); sys.path_hooks.clear(); sys.meta_path.append(object()); sys.path_importer_cache["x"] = None
sys.modules["planted"] = types.ModuleType("planted"); del sys.modules["json.decoder"]
sys.setrecursionlimit(150); sys.setswitchinterval(9.0); sys.set_int_max_str_digits(0)
sys.excepthook = sys.unraisablehook = sys.displayhook = lambda *a: None
sys.settrace(None); sys.setprofile(lambda *a: None); sys.addaudithook(lambda *a: None)
sys.stdout.reconfigure(encoding="latin-1", errors="replace"); sys.flags
os.environ["PLANTED"] = "1"; os.chdir("/tmp"); os.umask(0) if hasattr(os, "umask") else None
open_ = io.open
for path in ("/data/planted", "/tmp/planted", "/data/sitecustomize.py", "/tmp/usercustomize.py", "/data/json.py"):
    open_(path, "w").write("PLANTED = 1\n")
held = [os.open("/tmp/planted", os.O_RDWR) for _ in range(20)]
gc.disable(); gc.set_threshold(1); gc.callbacks.append(lambda *a: None); gc.freeze()
warnings.simplefilter("error"); warnings.warn = lambda *a, **k: None
locale.setlocale(locale.LC_ALL, "C"); decimal.getcontext().prec = 3
signal.signal(signal.SIGINT, signal.SIG_IGN); threading.excepthook = lambda *a: None; threading.settrace(lambda *a: None); threading.stack_size
random.seed(1); random.random = lambda: 4
atexit.register(lambda: open_("/tmp/atexit", "w").write("PLANTED"))
logging.basicConfig(level=1); logging.root.handlers.append(logging.NullHandler())
functools.lru_cache.planted = 1
try:
    import numpy as np, pandas as pd, matplotlib, matplotlib.pyplot as plt
    np.random.seed(1); np.seterr(all="raise"); np.set_printoptions(precision=1); np.planted = 1; np.ndarray.__module__; np.zeros = np.ones
    pd.options.display.max_rows = 1; pd.DataFrame.planted = 1; pd.read_csv = None
    plt.rcParams["figure.figsize"] = (1, 1); matplotlib.use("svg"); plt.figure(); plt.plot([1]); plt.show = None
except ImportError:
    pass
encodings._cache["planted"] = None
ids = [object() for _ in range(10_000)]
secret = bytearray(b"PLANTED" * 1_000_000)
weakref.finalize(ids[0].__class__, lambda: None)
print("left behind")
