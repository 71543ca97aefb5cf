"""Calls of the host that go on while the program does something else.

A call that is asked for with "async" is answered at once with a byte: 1 and the frame of its answer, when that was
there already, or 0 and the number of the call (u32, little endian). The answers of such calls come when the host is
asked to wait for them (op 0x14): for each the number, the length of its frame and the frame. The event loop does so
instead of sleeping (see aio).
"""

from json import dumps

from . import host

_going = {}  # number -> what takes the answer: the payload, or the Refused


def payload(header, body=b""):
    """A frame's payload: a header of JSON after its length, and a body."""
    text = dumps(header).encode()
    return b"".join((len(text).to_bytes(4, "little"), text, body))


def start(op, data, take):
    """Starts a call. take gets the answer, at once or later; the number of a call that goes on, or 0."""
    reply = host.call(op, data)
    if reply[:1] == b"\x01":
        take(_opened(reply[1:]))
        return 0
    number = int.from_bytes(reply[1:5], "little")
    _going[number] = take
    return number


def cancel(number):
    """Gives up a call, or the body of an answer."""
    _going.pop(number, None)
    host.call(host.CANCEL, payload({"id": number}))


def going():
    """Whether there is something to wait for."""
    return bool(_going)


class Suspended(BaseException):
    """The turn waits for nothing but results that come later, and is to leave until then. Nothing of the program's own is
    in the way."""


def wait(timeout=None, suspend=False):
    """Waits for answers, at most so many seconds, and hands them out. With suspend the turn may be Suspended instead."""
    if timeout is None:
        header = {"suspend": True} if suspend else {}
    else:
        header = {"timeout_ms": min(max(int(timeout * 1000 + 0.999), 0), 2**31)}
    try:
        reply = host.call(host.WAIT, payload(header))
    except host.Refused as refused:
        if suspend and refused.name == "Suspended":
            raise Suspended from None
        raise
    _hand_out(reply)


def _hand_out(reply):
    at = 0
    while at < len(reply):
        number = int.from_bytes(reply[at : at + 4], "little")
        end = at + 8 + int.from_bytes(reply[at + 4 : at + 8], "little")
        take = _going.pop(number, None)
        if take is not None:
            take(_opened(reply[at + 8 : end]))
        at = end


def renew():
    """A new turn has begun: the calls of the last one were given up with it."""
    lost = list(_going.values())
    _going.clear()
    for take in lost:
        take(host.Refused("ConnectionError", "the turn that asked for this has ended"))


def _opened(frame):
    return frame[1:] if frame[:1] == b"\x00" else host.refused(frame)


async def ask(op, data):
    """Makes a call, whose header says async, on the running event loop; its payload. A refusal is raised."""
    from asyncio import get_running_loop

    future = get_running_loop().create_future()

    def take(answer):
        if not future.done():
            if isinstance(answer, host.Refused):
                future.set_exception(answer)
            else:
                future.set_result(answer)

    number = start(op, data, take)
    try:
        return await future
    except BaseException:
        if number and number in _going:
            cancel(number)
        raise
