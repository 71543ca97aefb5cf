"""Sockets that carry HTTP to the host, which decides what may be reached and makes the request itself.

A program's own library (http.client, urllib, requests, httpx) writes a request into what it takes for a
socket. It is read back (wire.py), handed over in one frame, and the answer is written out again as HTTP. So the
libraries keep their behaviour, redirects included: each hop is a request of its own that the host judges. Any
other protocol, and everything where the host offers no network, is an OSError.

Connecting asks the host to connect (method CONNECT), so that a server that is not there is an error where
libraries expect it. What the policy refuses is told to the request.
"""

import errno
import io
import operator
import sys

import _socket

from . import closed, host, wire


def offered():
    """Whether the host answers requests at all. It may still refuse each."""
    try:
        host.call(host.FETCH)
    except host.Refused as e:
        return e.name not in ("PermissionError", "Unsupported")
    return True


class socket:
    """A stream socket that speaks HTTP as a client, and nothing else."""

    def __init__(self, family=-1, type=-1, proto=-1, fileno=None):
        if not offered():
            closed.no_network()
        self.family = _socket.AF_INET if family == -1 else family
        self.type = _socket.SOCK_STREAM if type == -1 else type
        self.proto = max(proto, 0)
        self._timeout = _socket.getdefaulttimeout()
        self._exchange = None
        self._closed = False
        self._files = 0  # made of it and still open: they outlive it

    def connect(self, address):
        if self.type & 0xF != _socket.SOCK_STREAM or not isinstance(address, tuple):
            raise OSError(errno.EPROTONOSUPPORT, "only HTTP over TCP leaves this sandbox")
        wire.connect("http", address[:2], self._timeout)
        self._adopt(address[:2])

    def _adopt(self, address):
        """Takes the connection to be there."""
        self._exchange = wire.Exchange(address)
        self._exchange.timeout = self._timeout

    def connect_ex(self, address):
        try:
            self.connect(address)
        except OSError as e:
            return e.errno
        return 0

    def sendall(self, data, flags=0):
        self._connected().write(data)

    def send(self, data, flags=0):
        self.sendall(data)
        return len(data)

    def recv(self, size, flags=0):
        return self._connected().answer().read(size)

    def recv_into(self, buffer, nbytes=0, flags=0):
        with memoryview(buffer).cast("B") as view:
            return self._connected().answer().readinto(view[: nbytes or len(view)])

    def makefile(self, mode="r", buffering=None, *, encoding=None, errors=None, newline=None):
        self._files += 1
        if "w" in mode:
            stream = io.BufferedWriter(_Raw(self))
        else:
            stream = io.BufferedReader(_Raw(self))
        if "b" in mode:
            return stream
        return io.TextIOWrapper(stream, encoding, errors, newline)

    def settimeout(self, timeout):
        if timeout is not None and not isinstance(timeout, (int, float)):
            timeout = operator.index(timeout)
        if timeout is not None and not 0 <= timeout < 1e10:
            raise ValueError("Timeout value out of range")
        self._timeout = timeout
        if self._exchange is not None:
            self._exchange.timeout = timeout

    def gettimeout(self):
        return self._timeout

    @property
    def timeout(self):
        return self._timeout

    def setblocking(self, flag):
        self._timeout = None if flag else 0.0

    def getblocking(self):
        return self._timeout != 0

    def setsockopt(self, *args):
        pass

    def getsockopt(self, level, option, size=0):
        return bytes(size) if size else 0

    def getpeername(self):
        return self._connected().peer

    def _connected(self):
        if self._closed and self._files == 0:
            raise OSError(errno.EBADF, "Bad file descriptor")
        if self._exchange is None:
            raise OSError(errno.ENOTCONN, "Socket not connected")
        return self._exchange

    def getsockname(self):
        return ("127.0.0.1", 0)

    def bind(self, address):
        raise OSError(errno.EACCES, "nothing can be served from this sandbox")

    listen = accept = bind

    def shutdown(self, how):
        pass

    def fileno(self):
        return -1

    def detach(self):
        self._closed = True
        return -1

    def close(self):
        self._closed = True
        if self._exchange is not None and self._files == 0:
            self._exchange.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def __repr__(self):
        return f"<{type(self).__name__} to {self._exchange and self._exchange.peer}>"


class SSLSocket(socket):
    """What SSLContext.wrap_socket makes of a socket: the host makes the connection safe."""

    @property
    def _sslobj(self):
        return self

    def getpeercert(self, binary_form=False):
        return b"" if binary_form else {}

    def selected_alpn_protocol(self):
        return None

    def selected_npn_protocol(self):
        return None

    def version(self):
        return "TLSv1.3"

    def cipher(self):
        return None

    def compression(self):
        return None

    shared_ciphers = compression

    def get_channel_binding(self, cb_type="tls-unique"):
        return None

    def do_handshake(self, block=False):
        pass

    def pending(self):
        return 0

    def unwrap(self):
        return self

    read = socket.recv
    write = socket.send


socket.__module__ = "socket"
SSLSocket.__module__ = "ssl"


class _Raw(io.RawIOBase):
    """A socket as a raw file."""

    def __init__(self, sock):
        self._sock = sock

    def readable(self):
        return True

    def writable(self):
        return True

    def readinto(self, buffer):
        return self._sock.recv_into(buffer)

    def write(self, data):
        return self._sock.send(data)

    def close(self):
        if not self.closed:
            super().close()
            self._sock._files -= 1
            if self._sock._closed:
                self._sock.close()


def wrap_socket(
    self,
    sock,
    server_side=False,
    do_handshake_on_connect=True,
    suppress_ragged_eofs=True,
    server_hostname=None,
    session=None,
):
    """SSLContext.wrap_socket."""
    sock.__class__ = SSLSocket
    exchange = sock._connected()
    exchange.scheme = "https"
    if server_hostname:
        exchange.peer = (server_hostname, exchange.peer[1])
    if do_handshake_on_connect:
        wire.connect("https", exchange.peer, sock._timeout)
    return sock


# What programs set on sockets, numbered as on Linux.
_OPTIONS = dict(
    SO_REUSEADDR=2, SO_ERROR=4, SO_BROADCAST=6, SO_SNDBUF=7, SO_RCVBUF=8, SO_KEEPALIVE=9, SO_LINGER=13, SO_REUSEPORT=15, SO_RCVTIMEO=20,
    SO_SNDTIMEO=21, SOCK_RAW=3,
)  # fmt: skip


def install():
    """Puts these sockets where the standard library looks for sockets."""
    import socket as module

    from . import aionet  # which is made of these sockets

    module.socket = module.SocketType = socket
    for name, value in _OPTIONS.items():
        setattr(module, name, value)

    def unknown(host, *args, **kwargs):
        why = "the host looks names up itself, for HTTP requests" if offered() else wire.CLOSED
        raise module.gaierror(module.EAI_AGAIN, f"cannot look up {host!r}: {why}")

    def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
        if not offered():
            unknown(host)
        # The host looks names up itself; here a name is its own address.
        if isinstance(port, str):
            port = {"http": 80, "https": 443}.get(port) or int(port)
        if isinstance(host, bytes):
            host = host.decode()
        return [(module.AF_INET, module.SOCK_STREAM, 6, "", (host or "127.0.0.1", port or 0))]

    def create_connection(
        address, timeout=module._GLOBAL_DEFAULT_TIMEOUT, source_address=None, *, all_errors=False
    ):
        sock = socket()
        if timeout is not module._GLOBAL_DEFAULT_TIMEOUT:
            sock.settimeout(timeout)
        sock.connect(address)
        return sock

    module.getaddrinfo = _socket.getaddrinfo = getaddrinfo
    module.create_connection = create_connection
    for name in ("gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo"):
        for place in (module, _socket):
            setattr(place, name, unknown)
    for place in (module, _socket):
        place.gethostname = lambda: "localhost"

    def create_server(address, **kwargs):
        raise OSError(errno.EACCES, "nothing can be served from this sandbox")

    def socketpair(*args):
        raise OSError(errno.ENOTSUP, closed.NO_NETWORK)

    module.create_server = create_server
    module.socketpair = socketpair
    module.has_ipv6 = False
    _strip_credentials()
    ssl = sys.modules["ssl"]
    ssl.SSLContext.wrap_socket = wrap_socket
    ssl.SSLContext.wrap_bio = aionet.wrap_bio
    for thing in (SSLSocket, aionet.SSLObject, aionet.MemoryBIO):
        thing.__module__ = "ssl"
        setattr(ssl, thing.__name__, thing)


def _strip_credentials():
    """Has urllib follow redirects as other libraries do: what is meant for one server is not sent to another."""
    from urllib.parse import urlsplit
    from urllib.request import HTTPRedirectHandler

    ports = {"http": 80, "https": 443}

    def origin(url):
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port or ports.get(parts.scheme)

    follow = HTTPRedirectHandler.redirect_request

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        new = follow(self, req, fp, code, msg, headers, newurl)
        if new is not None and origin(req.full_url) != origin(newurl):
            for name in ("Authorization", "Cookie", "Proxy-authorization"):
                new.remove_header(name)
        return new

    redirect_request.__doc__ = follow.__doc__
    HTTPRedirectHandler.redirect_request = redirect_request
