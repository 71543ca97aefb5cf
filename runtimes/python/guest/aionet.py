"""Connections of event loops: a transport, and TLS between buffers of a library's own, which the host makes safe."""

import asyncio
import sys
import weakref

from . import calls, host, wire
from .net import SSLSocket, socket


# Libraries that do TLS between buffers of their own (anyio) send this instead of a handshake; what
# follows is plain. The transport answers with how connecting went: a dot and its number, or why not.
_TLS = b"\x16cloche-tls\n"
_SAFE = b"."
_greeted = weakref.WeakValueDictionary()  # number -> Transport


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
        self._transport = None

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
        if not answer.startswith(_SAFE):
            raise ssl.SSLCertVerificationError(1, answer.decode())
        self._safe, self._transport = True, _greeted.get(int(answer[1:]))

    def read(self, n=1024, buffer=None):
        if not self._incoming.pending:
            if self._incoming.eof:
                if self._transport is not None:
                    self._transport.tell()
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
        self._task = self._answer = self._late = None
        self._safe = False  # TLS between a library's own buffers
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
            await wire.reach("https", self._exchange.peer)
        except sys.modules["ssl"].SSLError as e:
            self._protocol.data_received(e.strerror.encode())
        except OSError as e:
            self._end(e)
        else:
            self._safe = True
            _greeted[id(self)] = self
            self._protocol.data_received(_SAFE + b"%d" % id(self))

    async def _fetch(self, head, body):
        try:
            try:
                reply = await calls.ask(host.FETCH, calls.payload(head, body))
                answer = wire.as_http(head["method"], reply)
            except host.Refused as e:
                answer = wire.ended(e)
            self._answer = answer
            while part := await answer.next():
                if self._closing:
                    return
                self._protocol.data_received(part)
                await self._flowing.wait()
            if not self._closing and not self._protocol.eof_received():
                self._end(None)
        except TimeoutError as e:
            # Libraries make errors of their own of how a connection ended, and let pass only a timeout that their call of
            # receiving raises. So it is told while one is waiting for bytes: as it pauses reading again, or from its TLS.
            await self._flowing.wait()
            self._late = e
            self._end(None if self._safe else e)
        except OSError as e:
            self._end(e)

    def tell(self):
        """Raises the timeout that ended the connection, once."""
        late, self._late = self._late, None
        if late is not None:
            raise late

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
        if not self._safe:
            self.tell()

    def resume_reading(self):
        self._flowing.set()

    def is_reading(self):
        return not self._closing and self._flowing.is_set()
