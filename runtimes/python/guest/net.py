"""Sockets that carry HTTP to the host, which decides what may be reached and makes the request itself.

A program's own library (http.client, urllib, requests, httpx) writes a request into what it takes for a
socket. It is read back here, handed over in one frame, and the answer is written out again as HTTP. So the
libraries keep their behaviour, redirects included: each hop is a request of its own that the host judges. Any
other protocol, and everything where the host offers no network, is an OSError.

Connecting asks the host to connect (method CONNECT), so that a server that is not there is an error where
libraries expect it. What the policy refuses is told to the request.

Request: {method, url, headers: [[name, value]], redirect: "manual", timeout_ms?, coded: true, body: {"$bytes": n}?},
and the body. Reply: {status, statusText, headers, url, redirected, stream?}, and what there is of the body. Each is a length
(u32, little endian), as many bytes of JSON, then the body. The rest of a body is asked for by the number of its stream, as
the program reads it.
"""

import asyncio
import errno
import io
import operator
import sys
from json import loads

import _socket

from . import calls, closed, host

_CLOSED = "the network is closed in this sandbox"


def offered():
    """Whether the host answers requests at all. It may still refuse each."""
    try:
        host.call(host.FETCH)
    except host.Refused as e:
        return e.name not in ("PermissionError", "Unsupported")
    return True


def _request(method, url, headers, body, timeout):
    head = {"method": method, "url": url, "headers": headers, "redirect": "manual", "coded": True}
    if body:
        head["body"] = {"$bytes": len(body)}
    if timeout:
        head["timeout_ms"] = _milliseconds(timeout)
    return head


def _milliseconds(timeout):
    return min(max(int(timeout * 1000), 1), 2**31)


def _error(refused):
    """The OSError for what the host did not do, in the words of the C library where it has some."""
    name, text = refused.name, str(refused)
    if name == "PermissionError" and "not offered" in text:
        return OSError(errno.ENETUNREACH, _CLOSED)
    if name == "TimeoutError":
        return TimeoutError("timed out")
    if name == "PermissionError":
        return PermissionError(errno.EACCES, text)
    if name == "ResolveError":
        return sys.modules["socket"].gaierror(-2, f"Name or service not known: {text}")
    if name == "CertificateError":
        text = f"[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: {text}"
        return sys.modules["ssl"].SSLCertVerificationError(1, text)
    if name == "TLSError":
        return sys.modules["ssl"].SSLError(1, f"[SSL] {text}")
    if name in _ENDED:
        return ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
    if name == "ConnectionRefusedError":
        return ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")
    if name == "ValueError":
        return OSError(errno.EINVAL, text)
    return ConnectionError(errno.ECONNABORTED, text)


# What a socket shows as its end: the library that reads it knows best what is missing.
_ENDED = {"ConnectionResetError": b"", "ProtocolError": b"the answer is not HTTP\r\n\r\n"}


def _reaching(scheme, address, timeout):
    """The payload that asks the host to connect."""
    name, port = address
    head = {"method": "CONNECT", "url": f"{scheme}://{_named(name)}:{port}/"}
    if timeout:
        head["timeout_ms"] = _milliseconds(timeout)
    return head


def _reach(scheme, address, timeout=None):
    """Connects, so to speak."""
    try:
        host.call(host.FETCH, calls.payload(_reaching(scheme, address, timeout)))
    except host.Refused as e:
        raise _error(e) from None


async def reach(scheme, address):
    """The same on an event loop."""
    try:
        await calls.ask(host.FETCH, calls.payload({**_reaching(scheme, address, None), "async": True}))
    except host.Refused as e:
        raise _error(e) from None


def _named(name):
    """A host as URLs have it."""
    if ":" in name:
        return f"[{name}]"
    return name if name.isascii() else name.encode("idna").decode()


class _Incoming:
    """Bytes that have come, and those that the host still has. With chunked they are given in chunks, so that an end
    that came too early is none."""

    def __init__(self, data=b"", stream=0, timeout=None, chunked=False):
        self._data, self._at, self._stream, self._timeout = data, 0, stream, timeout
        self._chunked = chunked

    def read(self, size=-1):
        if size is None or size < 0:
            parts = []
            while part := self.read(1 << 20):
                parts.append(part)
            return b"".join(parts)
        if self._at >= len(self._data) and self._stream and size:
            self._ask(size)
        part = self._data[self._at : self._at + size]
        self._at += len(part)
        return part

    def readinto(self, view):
        part = self.read(len(view))
        view[: len(part)] = part
        return len(part)

    def _header(self, size):
        head = {"id": self._stream, "max": min(max(size, 1 << 16), 1 << 20)}
        if self._timeout:
            head["timeout_ms"] = _milliseconds(self._timeout)
        return head

    def _ask(self, size):
        try:
            self._take(host.call(host.READ, calls.payload(self._header(size))))
        except host.Refused as e:
            self._fail(e)

    def _take(self, piece):
        if self._chunked:
            self._data = b"%x\r\n%b\r\n" % (len(piece), piece)
        else:
            self._data = piece
        self._at = 0
        if not piece:
            self._stream = 0

    def _fail(self, refused):
        self._data, self._at, self._stream = b"", 0, 0
        if refused.name not in _ENDED:
            raise _error(refused) from None

    async def next(self):
        """What comes next, on an event loop; nothing at the end."""
        if self._at >= len(self._data) and self._stream:
            try:
                self._take(await calls.ask(host.READ, calls.payload({**self._header(1 << 16), "async": True})))
            except host.Refused as e:
                self._fail(e)
        part = self._data[self._at :]
        self._at = len(self._data)
        return part

    def close(self):
        stream, self._stream = self._stream, 0
        if stream:
            calls.cancel(stream)

    __del__ = close


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
        _reach("http", address[:2], self._timeout)
        self._adopt(address[:2])

    def _adopt(self, address):
        """Takes the connection to be there."""
        self._exchange = _Exchange(address)
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


class _Exchange:
    """Requests that are written, each answered once it is whole."""

    def __init__(self, peer):
        self.peer, self.scheme, self.timeout = peer, "http", None
        self._out = bytearray()
        self._in = _Incoming()
        self._error = None

    def write(self, data):
        self.put(data)
        if _whole(self._out):
            self._make()  # here already, so that a refusal is an error of connecting

    def put(self, data):
        """Adds to the request."""
        data = bytes(data)
        if not self._out and data and not data[:1].isalpha():
            raise OSError(errno.EPROTONOSUPPORT, "only HTTP requests leave this sandbox")
        self._out += data

    def whole(self):
        """The request, once it has all of its body: a header and a body for the host; else None."""
        if not _whole(self._out):
            return None
        request, self._out = bytes(self._out), bytearray()
        return _parse(self.scheme, self.peer, request, self.timeout)

    def _make(self):
        request, self._out = bytes(self._out), bytearray()
        self._in.close()
        try:
            head, body = _parse(self.scheme, self.peer, request, self.timeout)
            try:
                reply = host.call(host.FETCH, calls.payload(head, body))
                self._in = _answer(head["method"], reply, self.timeout)
            except host.Refused as e:
                if e.name not in _ENDED:
                    raise _error(e) from None
                self._in = _Incoming(_ENDED[e.name])
        except TimeoutError as e:
            self._error = e  # told to whoever reads the answer, as elsewhere
        except OSError as e:
            self._error = e
            raise

    def close(self):
        self._in.close()

    def answer(self):
        """The bytes that have come back and are not read yet."""
        if self._error is not None:
            raise self._error
        if self._out:
            self._make()
        return self._in


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
        _reach("https", exchange.peer, sock._timeout)
    return sock


# Libraries that do TLS between buffers of their own (anyio) send this instead of a handshake; what
# follows is plain. The transport answers with how connecting went: a dot, or why not and a line end.
_TLS = b"\x16cloche-tls\n"
_SAFE = b"."


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
        self._greeted = self._safe = False

    def do_handshake(self):
        ssl = sys.modules["ssl"]
        if self._safe:
            return
        if not self._greeted:
            self._greeted = True
            self._outgoing.write(_TLS)
        if not self._incoming.pending:
            raise ssl.SSLEOFError(8, "EOF in the handshake") if self._incoming.eof else ssl.SSLWantReadError()
        answer = self._incoming.read()
        if answer != _SAFE:
            raise ssl.SSLCertVerificationError(1, answer.decode())
        self._safe = True

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
    """A connection of an event loop, to a server that was reached."""

    def __init__(self, loop, protocol, address, tls):
        sock = (SSLSocket if tls else socket)()
        sock._adopt(address)
        super().__init__({"peername": address, "sockname": sock.getsockname(), "socket": sock})
        if tls:
            self._extra["ssl_object"] = sock
        self._loop, self._protocol, self._closing = loop, protocol, False
        self._task = self._answer = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._exchange = sock._exchange
        self._exchange.scheme = "https" if tls else "http"

    def write(self, data):
        if data == _TLS:
            self._task = self._loop.create_task(self._greet())
            return
        try:
            self._exchange.put(data)
            request = self._exchange.whole()
        except OSError as e:
            self._end(e)
            return
        if request is not None:
            self._task = self._loop.create_task(self._fetch(*request))

    async def _greet(self):
        self._exchange.scheme = "https"
        try:
            await reach("https", self._exchange.peer)
        except sys.modules["ssl"].SSLError as e:
            self._protocol.data_received(e.strerror.encode())
        except OSError as e:
            self._end(e)
        else:
            self._protocol.data_received(_SAFE)

    async def _fetch(self, head, body):
        try:
            try:
                reply = await calls.ask(host.FETCH, calls.payload({**head, "async": True}, body))
                answer = _answer(head["method"], reply, None)
            except host.Refused as e:
                if e.name not in _ENDED:
                    raise _error(e) from None
                answer = _Incoming(_ENDED[e.name])
            self._answer = answer
            while part := await answer.next():
                if self._closing:
                    return
                self._protocol.data_received(part)
                await self._flowing.wait()
            if not self._closing and not self._protocol.eof_received():
                self._end(None)
        except OSError as e:
            self._end(e)

    def _end(self, error):
        if not self._closing:
            self._closing = True
            self._loop.call_soon(self._protocol.connection_lost, error)
            if self._task is not None and self._task is not asyncio.current_task(self._loop):
                self._task.cancel()
            if self._answer is not None:
                self._answer.close()

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
        self._flowing.clear()

    def resume_reading(self):
        self._flowing.set()

    def is_reading(self):
        return not self._closing and self._flowing.is_set()


_HOP = {"host", "connection", "content-length", "transfer-encoding", "keep-alive", "te"}


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


def _parse(scheme, peer, request, timeout):
    """What a request in HTTP/1.1 asks for: a header and a body for the host."""
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
        # The server is the one that was connected to; a Host header must not name another.
        name = _named(peer[0])
        where = name if peer[1] == (443 if scheme == "https" else 80) else f"{name}:{peer[1]}"
        said = given.get("host", where).lower()
        if said not in (where.lower(), f"{name}:{peer[1]}".lower()):
            raise PermissionError(errno.EACCES, "the Host header must name the server that is asked")
        target = f"{scheme}://{where}{target}"
    elif target == "*":
        raise OSError(errno.EPROTONOSUPPORT, "a request must name a path")
    headers = [h for h in headers if h[0].lower() not in _HOP]
    return _request(method, target, headers, body, timeout), body


def _answer(method, reply, timeout):
    """The host's reply as bytes of HTTP/1.1, which come as they are read."""
    end = 4 + int.from_bytes(reply[:4], "little")
    head, data = loads(reply[4:end]), reply[end:]
    status, stream = head["status"], head.get("stream", 0)
    out = [f"HTTP/1.1 {status} {head.get('statusText', '')}"]
    length = None if stream else len(data)
    for name, value in head.get("headers") or ():
        low = name.lower()
        if low == "content-length":
            if stream or method == "HEAD":
                length = value
        elif low not in ("transfer-encoding", "connection", "keep-alive"):
            out.append(f"{name}: {value}")
    chunked = stream != 0 and length is None
    if chunked:
        out.append("Transfer-Encoding: chunked")
    elif length is not None and not (status < 200 or status in (204, 304)):
        out.append(f"Content-Length: {length}")
    out.append("Connection: close")
    text = "\r\n".join(out).encode("latin-1", "replace") + b"\r\n\r\n"
    return _Incoming(text + data, stream, timeout, chunked)


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
    ssl.SSLContext.wrap_bio = wrap_bio
    for thing in (SSLSocket, SSLObject, MemoryBIO):
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
