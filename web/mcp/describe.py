# Says what this interpreter offers, as one JSON object on standard output.
import importlib.metadata
import json
import sys

print(json.dumps({
    "version": "CPython " + sys.version.split()[0],
    "packages": sorted({f"{d.name} {d.version}" for d in importlib.metadata.distributions()}, key=str.lower),
    "notes": [
        "The standard library is there; nothing can be installed.",
        "No threads (a thread runs to its end when it is started), processes or sockets.",
        "Matplotlib figures are shown at the end of a call, or by plt.show().",
        "input() reads an empty standard input.",
    ],
}))
