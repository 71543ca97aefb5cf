"""What a sandbox does not have, answered in one clear sentence: processes, sockets, TLS, C libraries.

The build leaves most of these out, which gives errors that mislead (AttributeError for a network
that is closed). Here they exist and raise the OSError that a program can expect.
"""

import errno
import os
import sys
import types

NO_PROCESS = "processes are not available in this sandbox"
NO_NETWORK = "the network is closed: sockets are not available in this sandbox"


def no_processes(what=None):
    """The error for starting a process. With a program to start it is that of one which is not installed, after
    which libraries do without it."""
    if what:
        return FileNotFoundError(errno.ENOENT, f"{NO_PROCESS} (tried to start {what!r})")
    return OSError(errno.ENOTSUP, NO_PROCESS)


def no_network(*args, **kwargs):
    """Raises the error for opening a connection."""
    raise OSError(errno.ENETUNREACH, NO_NETWORK)


def _refuse_process(name, takes_command):
    def function(*args, **kwargs):
        instead = _instead(args[0]) if name == "system" and args else None
        if instead is not None:
            instead()
            return 0
        raise no_processes(args[0] if takes_command and args else None)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "posix"
    return function


def _instead(command):
    from . import magics

    return magics.answer(command)


def install_os():
    """Adds to os what POSIX programs ask for."""
    start = ["system", "execv", "execve", "posix_spawn", "posix_spawnp"]
    start += ["execl", "execle", "execlp", "execlpe", "execvp", "execvpe"]
    other = ["fork", "forkpty", "wait", "waitpid", "wait3", "wait4", "kill", "killpg"]
    spawn = ["spawn" + end for end in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")]
    for name in start:
        setattr(os, name, _refuse_process(name, True))
    for name in other + spawn:
        setattr(os, name, _refuse_process(name, False))
    for name, value in (("WNOHANG", 1), ("WUNTRACED", 2), ("P_WAIT", 0), ("P_NOWAIT", 1)):
        setattr(os, name, value)

    def pipe():
        raise OSError(errno.ENOTSUP, "pipes are not available in this sandbox")

    def pipe2(flags):
        pipe()

    os.pipe, os.pipe2 = pipe, pipe2

    def dup(fd, /):
        if fd in (0, 1, 2):  # which can be opened by name; another would not be where this one is in its file
            return os.open(("/dev/stdin", "/dev/stdout", "/dev/stderr")[fd], os.O_WRONLY if fd else os.O_RDONLY)
        os.fstat(fd)  # or its error
        raise OSError(errno.ENOTSUP, "a file has one descriptor in this sandbox")

    def dup2(fd, fd2, inheritable=True):
        os.fstat(fd)
        raise OSError(errno.ENOTSUP, "a file has one descriptor in this sandbox")

    os.dup, os.dup2 = dup, dup2

    # Modules that see os.fork also expect this one.
    os.register_at_fork = lambda *, before=None, after_in_child=None, after_in_parent=None: None

    # One user, who is not root.
    for name in ("getuid", "geteuid", "getgid", "getegid"):
        setattr(os, name, lambda: 1000)
    os.getppid = lambda: 1
    os.getlogin = lambda: os.environ.get("USER", "user")
    os.getgroups = lambda: [1000]
    mask = 0o022

    def umask(new, /):
        nonlocal mask
        mask, old = new & 0o777, mask
        return old

    os.umask = umask

    def get_terminal_size(fd=1, /):
        raise OSError(errno.ENOTTY, "not a terminal")

    os.get_terminal_size = get_terminal_size
    os.sched_getaffinity = lambda pid: {0}
    os.getrandom = lambda size, flags=0: os.urandom(size)

    import _thread
    import threading
    import time

    # The one thread that there is.
    time.thread_time, time.thread_time_ns = time.process_time, time.process_time_ns
    _thread.get_native_id = threading.get_native_id = os.getpid


def install_decimal():
    """Gives errors of decimal, which is the one written in Python here, the words of the one in C."""
    import _pydecimal

    original = _pydecimal.Context._raise_error

    def _raise_error(self, condition, explanation=None, *args):
        try:
            return original(self, condition, explanation, *args)
        except _pydecimal.DecimalException as e:
            e.args = ([condition],)
            raise

    _pydecimal.Context._raise_error = _raise_error


def install_subprocess():
    """Refuses every process but those that stand for what can be answered without one."""
    import contextlib
    import io
    import subprocess

    def start(self, args, *rest, stdout=None, stderr=None, text=None, universal_newlines=None, encoding=None, errors=None, **kwargs):
        self.returncode = None
        self._child_created = False
        instead = _instead(args)
        if instead is None:
            raise no_processes(args)
        said = io.StringIO()
        with contextlib.redirect_stdout(said if stdout is not None else sys.stdout):
            instead()
        if not (text or universal_newlines or encoding or errors):
            said = io.BytesIO(said.getvalue().encode())
        said.seek(0)
        self.args, self.pid, self.returncode, self.stdin = args, os.getpid(), 0, None
        self.stdout = said if stdout == subprocess.PIPE else None
        self.stderr = type(said)() if stderr == subprocess.PIPE else None
        self.wait = self.poll = lambda timeout=None: 0
        self.communicate = lambda input=None, timeout=None: tuple(f and f.read() for f in (self.stdout, self.stderr))

    subprocess.Popen.__init__ = start


def install_ssl():
    """A module ssl with the names that HTTP libraries import; see net for what becomes of its sockets."""
    ssl = types.ModuleType("ssl", "TLS is the host's affair; this module only has the names.")

    class SSLError(OSError):
        def __str__(self):
            return str(self.strerror) if self.strerror else super().__str__()

    ssl.SSLError = SSLError
    for name in (
        "SSLZeroReturnError SSLWantReadError SSLWantWriteError SSLSyscallError SSLEOFError"
        " SSLCertVerificationError"
    ).split():
        setattr(ssl, name, type(name, (SSLError,), {"__module__": "ssl"}))
    ssl.CertificateError = ssl.SSLCertVerificationError

    import enum

    class VerifyMode(enum.IntEnum):
        CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED = range(3)

    class TLSVersion(enum.IntEnum):
        MINIMUM_SUPPORTED, MAXIMUM_SUPPORTED = -2, -1
        SSLv3, TLSv1, TLSv1_1, TLSv1_2, TLSv1_3 = range(768, 773)

    class Purpose(enum.Enum):
        SERVER_AUTH, CLIENT_AUTH = "1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"

    class _SSLMethod(enum.IntEnum):
        PROTOCOL_TLS = PROTOCOL_SSLv23 = 2
        PROTOCOL_TLSv1, PROTOCOL_TLSv1_1, PROTOCOL_TLSv1_2 = range(3, 6)
        PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER = 16, 17

    class Options(enum.IntFlag):
        OP_ALL = 0x80000050
        OP_NO_SSLv2 = 0
        OP_NO_SSLv3 = 0x2000000
        OP_NO_TLSv1 = 0x4000000
        OP_NO_TLSv1_1 = 0x10000000
        OP_NO_TLSv1_2 = 0x8000000
        OP_NO_TLSv1_3 = 0x20000000
        OP_NO_COMPRESSION = 0x20000
        OP_NO_TICKET = 0x4000
        OP_NO_RENEGOTIATION = 0x40000000
        OP_CIPHER_SERVER_PREFERENCE = 0x400000
        OP_SINGLE_DH_USE = OP_SINGLE_ECDH_USE = 0
        OP_ENABLE_MIDDLEBOX_COMPAT = 0x100000
        OP_IGNORE_UNEXPECTED_EOF = 0x80
        OP_LEGACY_SERVER_CONNECT = 4

    class VerifyFlags(enum.IntFlag):
        VERIFY_DEFAULT = 0
        VERIFY_CRL_CHECK_LEAF = 4
        VERIFY_CRL_CHECK_CHAIN = 12
        VERIFY_X509_STRICT = 0x20
        VERIFY_ALLOW_PROXY_CERTS = 0x40
        VERIFY_X509_TRUSTED_FIRST = 0x8000
        VERIFY_X509_PARTIAL_CHAIN = 0x80000

    class SSLErrorNumber(enum.IntEnum):
        SSL_ERROR_SSL, SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE, SSL_ERROR_WANT_X509_LOOKUP = range(1, 5)
        SSL_ERROR_SYSCALL, SSL_ERROR_ZERO_RETURN, SSL_ERROR_WANT_CONNECT, SSL_ERROR_EOF = range(5, 9)
        SSL_ERROR_INVALID_ERROR_CODE = 10

    for kind in (VerifyMode, TLSVersion, Purpose, _SSLMethod, Options, VerifyFlags, SSLErrorNumber):
        kind.__module__ = "ssl"
        setattr(ssl, kind.__name__, kind)
        if kind not in (TLSVersion, Purpose):
            vars(ssl).update(kind.__members__)
    ssl.HAS_ECDH = ssl.HAS_SNI = ssl.HAS_ALPN = ssl.HAS_TLSv1_2 = ssl.HAS_TLSv1_3 = True
    ssl.HAS_NEVER_CHECK_COMMON_NAME = True
    ssl.HAS_SSLv2 = ssl.HAS_SSLv3 = ssl.HAS_TLSv1 = ssl.HAS_TLSv1_1 = ssl.HAS_NPN = False
    ssl.OPENSSL_VERSION = "OpenSSL 3.0.0 (stand-in of a sandbox)"
    ssl.OPENSSL_VERSION_NUMBER = 0x30000000
    ssl.OPENSSL_VERSION_INFO = (3, 0, 0, 0, 0)

    class SSLContext:
        """Holds settings, which the host does not ask for."""

        def __init__(self, protocol=ssl.PROTOCOL_TLS):
            self.protocol = protocol
            self.check_hostname = protocol == ssl.PROTOCOL_TLS_CLIENT
            self.verify_mode = VerifyMode(2 if self.check_hostname else 0)
            self.options, self.verify_flags = Options(0), VerifyFlags(0)
            self.minimum_version = TLSVersion.MINIMUM_SUPPORTED
            self.maximum_version = TLSVersion.MAXIMUM_SUPPORTED
            self.post_handshake_auth = False
            self.keylog_filename = self.sni_callback = None

        def _accept(self, *args, **kwargs):
            """Settings of a connection that the host makes."""

        load_cert_chain = load_verify_locations = load_default_certs = _accept
        set_default_verify_paths = set_ciphers = set_alpn_protocols = _accept
        set_npn_protocols = set_ecdh_curve = load_dh_params = _accept

        def get_ca_certs(self, binary_form=False):
            return []

        def cert_store_stats(self):
            return {"crl": 0, "x509_ca": 0, "x509": 0}

    def create_default_context(purpose=Purpose.SERVER_AUTH, *, cafile=None, capath=None, cadata=None):
        return SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def _create_unverified_context(*args, **kwargs):
        return SSLContext()

    class SSLSession:
        """Nothing has one: the connections are the host's."""

    SSLSession.__module__, SSLSession.__qualname__ = "ssl", "SSLSession"
    ssl.SSLSession = SSLSession
    for thing in (SSLContext, create_default_context, _create_unverified_context):
        thing.__module__ = "ssl"
        setattr(ssl, thing.__name__, thing)
    ssl._create_default_https_context = create_default_context
    ssl._create_stdlib_context = _create_unverified_context
    ssl.wrap_socket = no_network
    ssl.get_server_certificate = no_network
    ssl.match_hostname = lambda cert, hostname: None
    paths = types.SimpleNamespace(
        cafile=None,
        capath=None,
        openssl_cafile_env="SSL_CERT_FILE",
        openssl_cafile="",
        openssl_capath_env="SSL_CERT_DIR",
        openssl_capath="",
    )
    ssl.get_default_verify_paths = lambda: paths
    ssl.RAND_bytes = os.urandom
    ssl.RAND_status = lambda: True
    ssl.RAND_add = lambda string, entropy, /: None
    ssl.CHANNEL_BINDING_TYPES = []
    ssl.PEM_HEADER, ssl.PEM_FOOTER = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
    sys.modules["ssl"] = ssl
