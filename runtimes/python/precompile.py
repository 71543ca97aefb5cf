"""Compiles the modules of packages that stdin names: its JSON has their folder and their names in it. The bytecode of number n
becomes n.pyc. It says that it needs no look at its source. What cannot be compiled is left out, to fail where it is imported.
"""

import importlib.machinery
import importlib.util
import json
import sys
import warnings
from importlib import _bootstrap_external

warnings.simplefilter("ignore")
asked = json.load(sys.stdin)
for number, name in enumerate(asked["names"]):
    path = f"{asked['folder']}/{name}"
    try:
        with open(path, "rb") as file:
            source = file.read()
        code = importlib.machinery.SourceFileLoader("module", path).source_to_code(source, path)
        bytecode = _bootstrap_external._code_to_hash_pyc(code, importlib.util.source_hash(source), False)
    except Exception:  # a syntax of other versions, a template that is no Python, nesting without end
        continue
    with open(f"{number}.pyc", "wb") as file:
        file.write(bytecode)
