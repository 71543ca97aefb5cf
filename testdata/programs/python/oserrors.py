# Errors of the operating system read as on Linux, and mean what module errno says.
import errno
import os
import pickle


def error_of(call, *args):
    try:
        call(*args)
    except OSError as e:
        return e
    raise AssertionError("no error")


missing = error_of(open, "none.csv")
assert str(missing) == "[Errno 2] No such file or directory: 'none.csv'"
assert repr(missing) == "FileNotFoundError(2, 'No such file or directory')"
assert missing.errno == errno.ENOENT and missing.filename == "none.csv"
assert str(error_of(os.rename, "none", "other")) == "[Errno 2] No such file or directory: 'none' -> 'other'"
assert str(error_of(open, "n" * 300)).startswith("[Errno 36] File name too long: 'nnn")
os.symlink("circle", "circle")
assert repr(error_of(open, "circle")) == "OSError(40, 'Too many levels of symbolic links')"
os.remove("circle")
assert str(error_of(open, ".")) == "[Errno 21] Is a directory: '.'"
os.mkdir("folder")
assert str(error_of(os.mkdir, "folder")) == "[Errno 17] File exists: 'folder'"
open("folder/file", "w").close()
assert str(error_of(os.rmdir, "folder")) == "[Errno 39] Directory not empty: 'folder'"
assert str(error_of(os.listdir, "folder/file")) == "[Errno 20] Not a directory: 'folder/file'"
assert str(error_of(os.read, 99, 1)) == "[Errno 9] Bad file descriptor"
again = pickle.loads(pickle.dumps(missing))
assert str(again) == str(missing) and type(again) is FileNotFoundError

# What a program makes is its own.
assert str(OSError("text")) == "text" and str(OSError()) == "" and str(OSError(5, "mine")) == "[Errno 5] mine"
assert repr(OSError(5, "mine")).endswith("(5, 'mine')") and str(OSError([], "odd")) == "[Errno []] odd"
made = OSError(errno.ENOENT, os.strerror(errno.ENOENT), "f")
assert str(made) == "[Errno 2] No such file or directory: 'f'" and type(made) is FileNotFoundError


class Mine(OSError):
    def __str__(self):
        return "my own"


assert str(Mine(errno.ENOENT, os.strerror(errno.ENOENT))) == "my own"
try:
    OSError.x = 1
except TypeError:
    pass
else:
    raise AssertionError("OSError can be changed")
