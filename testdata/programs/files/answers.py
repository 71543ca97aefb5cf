"""What the programs of this folder print with: one line an answer, the same on every system.

An error is its class and the name of its number, since WASI numbers errors in its own way.
"""

import errno
import os

BASE = os.getcwd()


def show(label, f, *args, **kwargs):
    """Prints what f answers, or how it fails. The answer is returned."""
    try:
        value = f(*args, **kwargs)
    except OSError as e:
        name = errno.errorcode.get(e.errno, str(e.errno))
        files = [x for x in (e.filename, e.filename2) if x is not None]
        _print(f"{label}: {type(e).__name__} {name}", *map(repr, files))
        return None
    except Exception as e:
        _print(f"{label}: {type(e).__name__}: {e}")
        return None
    _print(f"{label}: {value!r}")
    return value


def _print(*words):
    print(" ".join(words).replace(BASE, "BASE"))


def tree(top="."):
    """Everything below a folder, sorted: kind, path, size or what a link says."""
    found = []
    for dir, dirs, files in os.walk(top):
        dirs.sort()
        for name in sorted(dirs + files):
            path = os.path.join(dir, name)
            short = os.path.relpath(path, top)
            if os.path.islink(path):
                found.append(f"{short} -> {os.readlink(path)}")
            elif os.path.isdir(path):
                found.append(short + "/")
            else:
                found.append(f"{short} {os.path.getsize(path)}")
    return found
