# Modules that libraries import wherever it is not Windows: there is no terminal, every lock is free, and there is one user.
import fcntl
import grp
import os
import pty
import pwd
import termios
import tty

me = pwd.getpwuid(os.getuid())
assert me == pwd.getpwnam(me.pw_name) == pwd.getpwall()[0] and me.pw_dir == os.path.expanduser("~") == os.path.expanduser("~" + me.pw_name)
assert grp.getgrgid(me.pw_gid) == grp.getgrnam(me.pw_name) and os.getgid() == me.pw_gid
for call, unknown in ((pwd.getpwuid, 7), (pwd.getpwnam, "nobody"), (grp.getgrgid, 7), (grp.getgrnam, "nobody")):
    try:
        call(unknown)
    except KeyError as e:
        assert call.__name__ in str(e) and repr(unknown) in str(e), e
    else:
        raise AssertionError(f"{call} found {unknown}")

with open("locked", "w") as f:
    for lock in (fcntl.flock, fcntl.lockf):
        lock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock(f.fileno(), fcntl.LOCK_UN)
    fcntl.fcntl(f, fcntl.F_SETFD, fcntl.fcntl(f, fcntl.F_GETFD) | fcntl.FD_CLOEXEC)
    for call in (lambda: termios.tcgetattr(f), lambda: tty.setraw(f), lambda: termios.tcsetattr(f, termios.TCSADRAIN, [])):
        try:
            call()
        except termios.error as e:
            assert len(e.args) == 2
        else:
            raise AssertionError("a file is a terminal")
    try:
        fcntl.ioctl(f, termios.TIOCGWINSZ, b"0" * 8)
    except OSError:
        pass
    else:
        raise AssertionError("a file has a size in lines")
try:
    fcntl.flock(99, fcntl.LOCK_EX)
except OSError:
    pass
else:
    raise AssertionError("a lock on nothing")
try:
    pty.spawn("ls")
except OSError:
    pass
else:
    raise AssertionError("a process was started")
