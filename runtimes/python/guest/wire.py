"""HTTP as the bytes of a connection: requests are read back out of what a program's library has written, and handed to the host in
one frame each; answers are written as HTTP again.

Request: {method, url, headers: [[name, value]], redirect: "manual", coded: true, async: true, body: {"$bytes": n}?},
and the body. Reply: {status, statusText, headers, url, redirected, stream?}, and what there is of the body. Each is a length
(u32, little endian), as many bytes of JSON, then the body. The rest of a body is asked for by the number of its stream, as
the program reads it.
"""

import errno
import sys
from json import loads
from time import monotonic

from . import calls, host

CLOSED = "the network is closed in this sandbox"


def _request(method, url, headers, body):
    head = {"method": method, "url": url, "headers": headers, "redirect": "manual", "coded": True, "async": True}
    if body:
        head["body"] = {"$bytes": len(body)}
    return head


def _milliseconds(timeout):
    return min(max(int(timeout * 1000), 1), 2**31)


def _error(refused):
    """The OSError for what the host did not do, in the words of the C library where it has some."""
    name, text = refused.name, str(refused)
    if name == "PermissionError" and "not offered" in text:
        return OSError(errno.ENETUNREACH, CLOSED)
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


def connect(scheme, address, timeout=None):
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


class Incoming:
    """Bytes that have come, and those that the host still has. With chunked they are given in chunks, so that an end
    that came too early is none."""

    def __init__(self, data=b"", stream=0, chunked=False):
        self._data, self._at, self._stream, self.timeout = data, 0, stream, None
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
        if self.timeout:
            head["timeout_ms"] = _milliseconds(self.timeout)
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


def ended(refused):
    """What a connection gives of a request that was refused: how it ends, or an error."""
    if refused.name not in _ENDED:
        raise _error(refused) from None
    return Incoming(_ENDED[refused.name])


class Exchange:
    """Requests that are written, each answered once it is whole.

    How long an answer may take is known when it is read: libraries set one timeout to connect and send, and then another.
    """

    def __init__(self, peer):
        self.peer, self.scheme, self.timeout = peer, "http", None
        self._out = bytearray()
        self._in = Incoming()
        self._error = None
        self._call = 0  # that goes on

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
        return _parse(self.scheme, self.peer, request)

    def _make(self):
        request, self._out = bytes(self._out), bytearray()
        self._in.close()
        try:
            head, body = _parse(self.scheme, self.peer, request)
        except OSError as e:
            self._error = e
            raise

        def take(reply):
            self._call = 0
            try:
                self._in = ended(reply) if isinstance(reply, host.Refused) else as_http(head["method"], reply)
            except OSError as e:
                self._error = e

        head["reach_ms"] = _milliseconds(self.timeout) if self.timeout else 2**31
        try:
            self._call = calls.start(host.FETCH, calls.payload(head, body), take)
        except host.Refused as e:
            take(e)
        if self._error is not None and not isinstance(self._error, TimeoutError):  # that is told to whoever reads the answer, as elsewhere
            raise self._error

    def _wait(self):
        """Waits for the answer, if it is not there, as long as it may take."""
        until = monotonic() + self.timeout if self.timeout else None
        while self._call:
            left = until - monotonic() if until else None
            if left is not None and left <= 0:
                break
            calls.wait(left)

    def close(self):
        self._give_up()
        self._in.close()

    def _give_up(self):
        call, self._call = self._call, 0
        if call:
            calls.cancel(call)

    def answer(self):
        """The bytes that have come back and are not read yet."""
        if self._out:
            self._make()
        self._wait()
        if self._call:
            self._give_up()
            self._error = TimeoutError("timed out")
        if self._error is not None:
            raise self._error
        self._in.timeout = self.timeout
        return self._in


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


def _parse(scheme, peer, request):
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
    return _request(method, target, headers, body), body


def as_http(method, reply):
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
    return Incoming(text + data, stream, chunked)


def _unchunk(data):
    body, rest = [], data
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        try:
            n = int(size.split(b";")[0] or b"0", 16)
        except ValueError:
            n = -1
        if n < 0:
            raise OSError(errno.EINVAL, "the request's body is not in chunks, as its header says")
        if n == 0:
            break
        body.append(rest[:n])
        rest = rest[n + 2 :]
    return b"".join(body)
