"""Frames to the host: one byte says what is asked, the rest is its payload.

The reply's first byte is 0 when it was granted; 1 comes with JSON that says why not.
"""

import _host
from json import dumps, loads

# Between this package and its driver.
TURN, OUTCOME, BOOTED = b"\x01", b"\x02", b"\x03"  # 4 is in start.py
REHEARSE, IMMORTAL = b"\x05", b"\x06"  # while baking only
DISK = b"\x07"
STATE = b"\x08"  # after a session's turn
AUTOPSY = b"\x09"  # of a turn that was stopped
RENEW = b"\x0a"  # in a copy's first turn
DISPATCH = b"\x0b"  # while baking only
STRETCH, MIX = b"\x0c", b"\x0d"  # see derive.py
# Shared with other languages.
DISPLAY, TOOL, FETCH, LOG = b"\x10", b"\x11", b"\x12", b"\x13"
WAIT, CANCEL, READ, TOOLS = b"\x14", b"\x15", b"\x16", b"\x17"

raw = _host.call


class Refused(Exception):
    """The host said no. `name` is the kind of error that it names."""

    def __init__(self, name, message):
        super().__init__(message)
        self.name = name


def call(op, payload=b""):
    """What the host answers to op; a refusal is an exception of type Refused."""
    reply = raw(op + payload)
    if reply[:1] == b"\x00":
        return reply[1:]
    raise refused(reply)


def refused(reply):
    """The exception that a frame stands for."""
    try:
        why = loads(reply[1:])
        name, message = why["name"], why["message"]
    except (ValueError, KeyError, TypeError):
        name, message = "Error", "the host refused the request"
    return Refused(name, message)


def call_json(op, value):
    return call(op, dumps(value).encode())
