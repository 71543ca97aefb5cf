"""The modules fcntl, termios, pwd and grp, which libraries import wherever it is not Windows.

They answer as Linux does for one user whose program has no terminal and no other process beside it: there is nothing
whose settings could be asked for, and every lock on a file is free.
"""

import errno
import os
import sys
import types

_NAME, _ID = "user", 1000


def install():
    for make in (_fcntl, _termios, _pwd, _grp):
        module = make()
        for name, thing in vars(module).items():
            if callable(thing):
                thing.__module__, thing.__qualname__ = module.__name__, name
        sys.modules[module.__name__] = module


def _descriptor(fd):
    fd = fd if isinstance(fd, int) else fd.fileno()
    os.fstat(fd)  # or its error
    return fd


def _fcntl():
    module = types.ModuleType("fcntl", "Locks on files, which are all free, and controls that nothing here has.")
    vars(module).update(
        F_DUPFD=0, F_GETFD=1, F_SETFD=2, F_GETFL=3, F_SETFL=4, F_GETLK=5, F_SETLK=6, F_SETLKW=7, F_DUPFD_CLOEXEC=1030,
        FD_CLOEXEC=1, F_RDLCK=0, F_WRLCK=1, F_UNLCK=2, LOCK_SH=1, LOCK_EX=2, LOCK_NB=4, LOCK_UN=8,
    )  # fmt: skip

    def flock(fd, operation, /):
        _descriptor(fd)

    def lockf(fd, cmd, len=0, start=0, whence=0, /):
        _descriptor(fd)

    def fcntl(fd, cmd, arg=0, /):
        _descriptor(fd)
        if cmd in (module.F_GETFD, module.F_GETFL):
            return 0
        if cmd in (module.F_SETFD, module.F_SETFL, module.F_SETLK, module.F_SETLKW):
            return 0 if isinstance(arg, int) else bytes(arg)
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    def ioctl(fd, request, arg=0, mutate_flag=True, /):
        _descriptor(fd)
        raise OSError(errno.ENOTTY, "not a terminal")

    module.flock, module.lockf, module.fcntl, module.ioctl = flock, lockf, fcntl, ioctl
    return module


# What programs name of termios, with the numbers that Linux gives it.
_TERMINAL = dict(
    BRKINT=0o2, IGNBRK=0o1, IGNPAR=0o4, PARMRK=0o10, INPCK=0o20, ISTRIP=0o40, INLCR=0o100, IGNCR=0o200, ICRNL=0o400,
    IUCLC=0o1000, IXON=0o2000, IXANY=0o4000, IXOFF=0o10000, IMAXBEL=0o20000, OPOST=0o1, OLCUC=0o2, ONLCR=0o4, OCRNL=0o10,
    ONOCR=0o20, ONLRET=0o40, OFILL=0o100, OFDEL=0o200, NLDLY=0o400, CRDLY=0o3000, TABDLY=0o14000, BSDLY=0o20000,
    VTDLY=0o40000, FFDLY=0o100000, CSIZE=0o60, CS5=0, CS6=0o20, CS7=0o40, CS8=0o60, CSTOPB=0o100, CREAD=0o200,
    PARENB=0o400, PARODD=0o1000, HUPCL=0o2000, CLOCAL=0o4000, CRTSCTS=0o20000000000, ISIG=0o1, ICANON=0o2, XCASE=0o4,
    ECHO=0o10, ECHOE=0o20, ECHOK=0o40, ECHONL=0o100, NOFLSH=0o200, TOSTOP=0o400, ECHOCTL=0o1000, ECHOPRT=0o2000,
    ECHOKE=0o4000, FLUSHO=0o10000, PENDIN=0o40000, IEXTEN=0o100000, VINTR=0, VQUIT=1, VERASE=2, VKILL=3, VEOF=4, VTIME=5,
    VMIN=6, VSWTC=7, VSTART=8, VSTOP=9, VSUSP=10, VEOL=11, VREPRINT=12, VDISCARD=13, VWERASE=14, VLNEXT=15, VEOL2=16,
    NCCS=32, TCSANOW=0, TCSADRAIN=1, TCSAFLUSH=2, TCIFLUSH=0, TCOFLUSH=1, TCIOFLUSH=2, TCOOFF=0, TCOON=1, TCIOFF=2, TCION=3,
    B0=0, B9600=13, B19200=14, B38400=15, B57600=4097, B115200=4098, TIOCGWINSZ=0x5413, TIOCSWINSZ=0x5414,
    TIOCGPGRP=0x540F, TIOCSPGRP=0x5410, TIOCSCTTY=0x540E, TIOCNOTTY=0x5422, TIOCSTI=0x5412, TIOCOUTQ=0x5411, FIONREAD=0x541B,
    FIONBIO=0x5421, TCGETS=0x5401, TCSETS=0x5402,
)  # fmt: skip


def _termios():
    module = types.ModuleType("termios", "Settings of terminals, of which there is none.")
    vars(module).update(_TERMINAL)
    module.error = type("error", (Exception,), {})

    def refuser(name):
        def refuse(fd, *args):
            _descriptor(fd)
            raise module.error(errno.ENOTTY, os.strerror(errno.ENOTTY))

        refuse.__name__ = name
        return refuse

    for name in "tcgetattr tcsetattr tcsendbreak tcdrain tcflush tcflow tcgetwinsize tcsetwinsize".split():
        setattr(module, name, refuser(name))
    return module


def _record(name, fields):
    from collections import namedtuple

    return namedtuple(name, fields)


def _pwd():
    module = types.ModuleType("pwd", "The one user that there is.")
    module.struct_passwd = _record("struct_passwd", "pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell")

    def getpwall():
        return [module.struct_passwd(_NAME, "x", _ID, _ID, "", os.environ.get("HOME", "/data"), "/bin/sh")]

    def getpwuid(uid, /):
        if uid != _ID:
            raise KeyError(f"getpwuid(): uid not found: {uid}")
        return getpwall()[0]

    def getpwnam(name, /):
        if name != _NAME:
            raise KeyError(f"getpwnam(): name not found: {name!r}")
        return getpwall()[0]

    module.getpwall, module.getpwuid, module.getpwnam = getpwall, getpwuid, getpwnam
    return module


def _grp():
    module = types.ModuleType("grp", "The one user's group.")
    module.struct_group = _record("struct_group", "gr_name gr_passwd gr_gid gr_mem")

    def getgrall():
        return [module.struct_group(_NAME, "x", _ID, [])]

    def getgrgid(id):
        if id != _ID:
            raise KeyError(f"getgrgid(): gid not found: {id}")
        return getgrall()[0]

    def getgrnam(name):
        if name != _NAME:
            raise KeyError(f"getgrnam(): name not found: {name!r}")
        return getgrall()[0]

    module.getgrall, module.getgrgid, module.getgrnam = getgrall, getgrgid, getgrnam
    return module
