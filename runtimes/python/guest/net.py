"""Sockets that carry HTTP to the host, which decides what may be reached and makes the request itself.

A program's own library (http.client, urllib, requests, httpx) writes a request into what it takes for a
socket. It is read back here, handed over in one frame, and the answer is written out again as HTTP. So the
libraries keep their behaviour, redirects included: each hop is a request of its own that the host judges. Any
other protocol, and everything where the host offers no network, is an OSError.

Request: {method, url, headers: [[name, value]], redirect: "manual", body: {"$bytes": n}?}, and the body.
Reply: {status, statusText, headers, url, redirected}, and the body. Each is a length (u32, little endian),
as many bytes of JSON, then the body.
"""

import asyncio
import errno
import io
import sys
from json import dumps, loads

import _socket

from . import closed, host

_CLOSED = "the network is closed in this sandbox"


def offered():
    """Whether the host answers requests at all. It may still refuse each."""
    try:
        host.call(host.FETCH)
    except host.Refused as e:
        return e.name not in ("PermissionError", "Unsupported")
    return True


def refuse(*args, **kwargs):
    raise OSError(errno.ENETUNREACH, _CLOSED)


def fetch(method, url, headers=(), body=b""):
    """Makes one request: status, reason, headers and body of the answer."""
    head = {"method": method, "url": url, "headers": list(headers), "redirect": "manual"}
    if body:
        head["body"] = {"$bytes": len(body)}
    text = dumps(head).encode()
    try:
        reply = host.call(host.FETCH, b"".join((len(text).to_bytes(4, "little"), text, body)))
    except host.Refused as e:
        if e.name == "PermissionError" and "not offered" in str(e):
            refuse()
        raise _error(e) from None
    end = 4 + int.from_bytes(reply[:4], "little")
    answer = loads(reply[4:end])
    return answer["status"], answer.get("statusText", ""), answer.get("headers") or [], reply[end:]


def _error(refused):
    if refused.name == "TimeoutError":
        return TimeoutError(errno.ETIMEDOUT, str(refused))
    if refused.name in ("PermissionError", "NotAllowed", "Denied"):
        return PermissionError(errno.EACCES, str(refused))
    return ConnectionError(errno.ECONNREFUSED, str(refused))


class socket:
    """A stream socket that speaks HTTP as a client, and nothing else."""

    def __init__(self, family=-1, type=-1, proto=-1, fileno=None):
        if not offered():
            raise OSError(errno.ENETUNREACH, closed.NO_NETWORK)
        self.family = _socket.AF_INET if family == -1 else family
        self.type = _socket.SOCK_STREAM if type == -1 else type
        self.proto = max(proto, 0)
        self._timeout = None
        self._exchange = None
        self._closed = False

    def connect(self, address):
        if self.type & 0xF != _socket.SOCK_STREAM or not isinstance(address, tuple):
            raise OSError(errno.EPROTONOSUPPORT, "only HTTP over TCP leaves this sandbox")
        self._exchange = _Exchange(address[:2])

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
        if "w" in mode:
            stream = io.BufferedWriter(_Raw(self))
        else:
            stream = io.BufferedReader(_Raw(self))
        if "b" in mode:
            return stream
        return io.TextIOWrapper(stream, encoding, errors, newline)

    def settimeout(self, timeout):
        self._timeout = timeout

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
        if self._exchange is None:
            raise OSError(errno.ENOTCONN, "socket is not connected")
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


class _Exchange:
    """Requests that are written, each answered once it is whole."""

    def __init__(self, peer):
        self.peer, self.scheme = peer, "http"
        self._out = bytearray()
        self._in = io.BytesIO()
        self._error = None

    def write(self, data):
        data = bytes(data)
        if not self._out and data.startswith(_TLS):
            data = data[len(_TLS) :]
            self.scheme = "https"
        if not self._out and data and not data[:1].isalpha():
            raise OSError(errno.EPROTONOSUPPORT, "only HTTP requests leave this sandbox")
        self._out += data
        if _whole(self._out):
            self._make()  # here already, so that a refusal is an error of connecting

    def _make(self):
        request, self._out = bytes(self._out), bytearray()
        self._in = io.BytesIO()
        try:
            self._in = io.BytesIO(_roundtrip(self.scheme, self.peer, request))
        except OSError as e:
            self._error = e
            raise

    def answer(self):
        """The bytes that have come back and are not read yet."""
        if self._error is not None:
            raise self._error
        if self._out:
            self._make()
        return self._in

    def take(self):
        return self._in.read()


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
    return sock


# Libraries that do TLS between buffers of their own (anyio) send this instead of a handshake; what
# follows is plain.
_TLS = b"\x16cloche-tls\n"


class MemoryBIO:
    """A buffer of bytes."""

    def __init__(self):
        self._data, self._ended = bytearray(), False

    @property
    def pending(self):
        return len(self._data)

    @property
    def eof(self):
        return self._ended and not self._data

    def write(self, data):
        self._data += data
        return len(data)

    def write_eof(self):
        self._ended = True

    def read(self, n=-1):
        n = len(self._data) if n < 0 else n
        data = bytes(self._data[:n])
        del self._data[:n]
        return data


class SSLObject:
    """What SSLContext.wrap_bio gives."""

    def __init__(self, incoming, outgoing, server_hostname=None):
        self._incoming, self._outgoing = incoming, outgoing
        self.server_hostname, self.server_side, self.session = server_hostname, False, None
        self._greeted = False

    def do_handshake(self):
        if not self._greeted:
            self._greeted = True
            self._outgoing.write(_TLS)

    def read(self, n=1024, buffer=None):
        if not self._incoming.pending:
            if self._incoming.eof:
                return b""
            raise sys.modules["ssl"].SSLWantReadError()
        data = self._incoming.read(n)
        if buffer is not None:
            buffer[: len(data)] = data
            return len(data)
        return data

    def write(self, data):
        return self._outgoing.write(data)

    def unwrap(self):
        return None

    getpeercert = SSLSocket.getpeercert
    selected_alpn_protocol = selected_npn_protocol = SSLSocket.selected_alpn_protocol
    version = SSLSocket.version
    cipher = compression = shared_ciphers = SSLSocket.cipher
    get_channel_binding = SSLSocket.get_channel_binding
    pending = SSLSocket.pending


def wrap_bio(self, incoming, outgoing, server_side=False, server_hostname=None, session=None):
    """SSLContext.wrap_bio."""
    return SSLObject(incoming, outgoing, server_hostname)


class Transport(asyncio.Transport):
    """A connection of an event loop."""

    def __init__(self, loop, protocol, address, tls):
        sock = (SSLSocket if tls else socket)()
        sock.connect(address)
        super().__init__({"peername": address, "sockname": sock.getsockname(), "socket": sock})
        if tls:
            self._extra["ssl_object"] = sock
        self._loop, self._protocol, self._closing = loop, protocol, False
        self._exchange = sock._exchange
        self._exchange.scheme = "https" if tls else "http"

    def write(self, data):
        try:
            self._exchange.write(data)
        except OSError as e:
            self._end(e)
            return
        if answer := self._exchange.take():
            self._loop.call_soon(self._protocol.data_received, answer)

    def _end(self, error):
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._protocol.connection_lost, error)

    def is_closing(self):
        return self._closing

    def close(self):
        self._end(None)

    abort = close

    def can_write_eof(self):
        return False

    def set_protocol(self, protocol):
        self._protocol = protocol

    def get_protocol(self):
        return self._protocol

    def get_write_buffer_size(self):
        return 0

    def get_write_buffer_limits(self):
        return (0, 0)

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass

    def is_reading(self):
        return not self._closing


_HOP = {"host", "connection", "content-length", "transfer-encoding", "keep-alive", "accept-encoding", "te"}


def _whole(request):
    """Whether a request has all of its body."""
    end = request.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = bytes(request[:end]).lower()
    if b"\r\ntransfer-encoding:" in head:
        return request.endswith(b"0\r\n\r\n")
    _, given, rest = head.partition(b"\r\ncontent-length:")
    if not given:
        return True
    length = rest.split(b"\r\n", 1)[0].strip()
    return length.isdigit() and len(request) >= end + 4 + int(length)


def _roundtrip(scheme, peer, request):
    """The answer to a request, both as bytes of HTTP/1.1."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    try:
        method, target, _ = lines[0].split(" ", 2)
    except ValueError:
        raise OSError(errno.EPROTONOSUPPORT, "only HTTP requests leave this sandbox") from None
    headers = [[n.strip(), v.strip()] for n, _, v in (line.partition(":") for line in lines[1:])]
    given = {n.lower(): v for n, v in headers}
    if method == "CONNECT":
        raise OSError(errno.EPROTONOSUPPORT, "proxies are not used in this sandbox")
    if "chunked" in given.get("transfer-encoding", "").lower():
        body = _unchunk(body)
    if target.startswith("/"):
        default = 443 if scheme == "https" else 80
        where = given.get("host") or (peer[0] if peer[1] == default else f"{peer[0]}:{peer[1]}")
        target = f"{scheme}://{where}{target}"
    status, reason, got, data = fetch(method, target, [h for h in headers if h[0].lower() not in _HOP], body)
    out = [f"HTTP/1.1 {status} {reason}"]
    length = len(data)
    for name, value in got:
        low = name.lower()
        if low == "content-length":
            if method == "HEAD":
                length = value
        elif low not in ("transfer-encoding", "connection", "keep-alive"):
            out.append(f"{name}: {value}")
    if not (status < 200 or status in (204, 304)):
        out.append(f"Content-Length: {length}")
    out.append("Connection: close")
    return "\r\n".join(out).encode("latin-1", "replace") + b"\r\n\r\n" + data


def _unchunk(data):
    body, rest = [], data
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        n = int(size.split(b";")[0] or b"0", 16)
        if n == 0:
            break
        body.append(rest[:n])
        rest = rest[n + 2 :]
    return b"".join(body)


def install():
    """Puts these sockets where the standard library looks for sockets."""
    import socket as module

    module.socket = module.SocketType = socket

    def unknown(host, *args, **kwargs):
        raise module.gaierror(module.EAI_AGAIN, f"cannot look up {host!r}: {_CLOSED}")

    def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
        if not offered():
            unknown(host)
        # The host looks names up itself; here a name is its own address.
        if isinstance(port, str):
            port = {"http": 80, "https": 443}.get(port) or int(port)
        if isinstance(host, bytes):
            host = host.decode()
        return [(module.AF_INET, module.SOCK_STREAM, 6, "", (host or "127.0.0.1", port or 0))]

    def create_connection(address, timeout=None, source_address=None, *, all_errors=False):
        sock = socket()
        sock.settimeout(timeout if isinstance(timeout, (int, float)) else None)
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
    ssl = sys.modules["ssl"]
    ssl.SSLContext.wrap_socket = wrap_socket
    ssl.SSLContext.wrap_bio = wrap_bio
    for thing in (SSLSocket, SSLObject, MemoryBIO):
        thing.__module__ = "ssl"
        setattr(ssl, thing.__name__, thing)
