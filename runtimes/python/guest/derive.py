"""hashlib's keys from passwords, which come from OpenSSL elsewhere. The host does their loops, a bounded part at a time: here
they would take many times as long as was meant.
"""

import hashlib
import hmac
import struct

from . import host

_ROUNDS = 1 << 13  # of PBKDF2, and
_BYTES = 1 << 21  # of scrypt's blocks, that the host does at once (runtimes/digest)
_INT_MAX = 2**31 - 1


def _bytes(data):
    try:
        return bytes(memoryview(data))
    except TypeError:
        raise TypeError(f"a bytes-like object is required, not {type(data).__name__!r}") from None


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """Password based key derivation function 2 (PKCS #5 v2.0) with HMAC as pseudorandom function."""
    function = hashlib.new(hash_name, usedforsecurity=False)
    size = function.digest_size
    if not size:
        raise ValueError(f"{hash_name} has no digest of a fixed size")
    password, salt = _bytes(password), _bytes(salt)
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    if iterations > _INT_MAX:
        raise OverflowError("iteration value is too great.")
    if dklen is None:
        dklen = size
    if dklen < 1:
        raise ValueError("key length must be greater than 0.")
    if dklen > _INT_MAX:
        raise OverflowError("key length is too great.")
    if len(password) > function.block_size:
        password = hashlib.new(hash_name, password).digest()
    name = function.name.encode()
    key = bytearray()
    for block in range(1, -(-dklen // size) + 1):
        last = total = hmac.digest(password, salt + block.to_bytes(4, "big"), function.name)
        for done in range(0, iterations - 1, _ROUNDS):
            rounds = min(_ROUNDS, iterations - 1 - done)
            head = struct.pack("<IIII", rounds, len(name), len(password), size)
            both = host.call(host.STRETCH, head + name + password + last + total)
            last, total = both[:size], both[size:]
        key += total
    return bytes(key[:dklen])


def scrypt(password, *, salt, n, r, p, maxmem=0, dklen=64):
    """scrypt password-based key derivation function."""
    import numpy

    password, salt = _bytes(password), _bytes(salt)
    if n < 2 or n & (n - 1):
        raise ValueError("n must be a power of 2.")
    if not 0 <= maxmem <= _INT_MAX:
        raise ValueError(f"maxmem must be positive and smaller than {_INT_MAX}")
    if not 1 <= dklen <= _INT_MAX:
        raise ValueError(f"dklen must be greater than 0 and smaller than {_INT_MAX}")
    if r < 1 or p < 1:
        raise ValueError("Invalid parameter combination for n, r, p, maxmem.")
    size = 128 * r
    if size * (n + p + 2) > (maxmem or 32 << 20) or p * r >= 2**30:
        raise ValueError("[digital envelope routines] memory limit exceeded")
    if r > 1024:
        raise ValueError("r is at most 1024 in this sandbox")
    # Arrays have an address that the host can be told.
    blocks = numpy.frombuffer(bytearray(pbkdf2_hmac("sha256", password, salt, 1, p * size)), numpy.uint8)
    table = numpy.empty(n * size, numpy.uint8)
    where = [array.__array_interface__["data"][0] for array in (blocks, table)]
    rounds = max(1, _BYTES // size)
    for block in range(where[0], where[0] + p * size, size):
        for start in range(0, 2 * n, rounds):
            end = min(start + rounds, 2 * n)
            host.call(host.MIX, struct.pack("<6I", start, end, block, size, where[1], n * size))
    return pbkdf2_hmac("sha256", password, blocks.tobytes(), 1, dklen)


def install():
    for function in (pbkdf2_hmac, scrypt):
        function.__module__ = "hashlib"
        setattr(hashlib, function.__name__, function)
