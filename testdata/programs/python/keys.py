"""Keys from passwords are those that OpenSSL makes."""

import hashlib
import inspect


def said(call, *args, **kwargs):
    try:
        return call(*args, **kwargs).hex()
    except (TypeError, ValueError, OverflowError) as e:
        return f"{type(e).__name__}: {e}"


# More than the host does at once, and a length that is not that of a digest.
for name, end in {
    "md5": "bdc16ab384d1f1d07f5e0395",
    "sha1": "346ce63d7a895a68a4a95750",
    "sha224": "7f8685d70898ac1ee34019cd",
    "sha256": "76b37983e714a111166b9c7f",
    "SHA384": "b3c48f6b4da9d61dd015eb39",
    "sha512": "1c7f7b5c54df72346f32c8e3",
    "sha3_224": "9ebc4367ba98f58017473883",
    "sha3_256": "02f86007b57e064ae12af38f",
    "sha3_384": "8f5878899b3ce9f25b266b57",
    "sha3_512": "ec4847ed9729327393396a4a",
    "blake2b": "4a4092e93d898302d8fcd2e4",
    "blake2s": "25bb5886aab7ed6a90ec6d04",
}.items():
    key = hashlib.pbkdf2_hmac(name, b"pass\0word", b"salt", 20000 if name == "sha256" else 5, 70)
    assert len(key) == 70 and key.hex().endswith(end), name
assert hashlib.pbkdf2_hmac("sha256", bytearray(b"x" * 5000), memoryview(b""), iterations=3).hex().startswith("587e8c432e1eedaf73cb5746")
assert hashlib.pbkdf2_hmac("sha256", b"", b"", 8194).hex().startswith("12202c58c218732358abc10a")

for kwargs, end in (
    (dict(n=2, r=1, p=1), "26f579663c9417180e21b2b3"),
    (dict(n=16384, r=8, p=1), "5d6d0caa4f871cf51c6e9cef"),
    (dict(n=64, r=3, p=5, dklen=33), "f80c13014b661652a307547b"),
    (dict(n=2**15, r=8, p=1, maxmem=64 << 20), "4b9e91d602b0c00ab17d3a64"),
):
    assert hashlib.scrypt(b"password", salt=b"NaCl", **kwargs).hex().endswith(end), kwargs

# What is refused, in OpenSSL's words.
for args, want in {
    ("sha256", b"a", b"b", 0): "ValueError: iteration value must be greater than 0.",
    ("sha256", b"a", b"b", 2**40): "OverflowError: iteration value is too great.",
    ("sha256", b"a", b"b", 1, 0): "ValueError: key length must be greater than 0.",
    ("nope", b"a", b"b", 1): "ValueError: unsupported hash algorithm nope",
    ("sha256", "a", b"b", 1): "TypeError: a bytes-like object is required, not 'str'",
}.items():
    assert said(hashlib.pbkdf2_hmac, *args) == want, (args, said(hashlib.pbkdf2_hmac, *args))
for kwargs, want in (
    (dict(n=3, r=8, p=1), "n must be a power of 2."),
    (dict(n=16, r=0, p=1), "Invalid parameter combination for n, r, p, maxmem."),
    (dict(n=2**15, r=8, p=1), "[digital envelope routines] memory limit exceeded"),
    (dict(n=2**15, r=8, p=1, maxmem=33556480), "[digital envelope routines] memory limit exceeded"),
    (dict(n=16, r=8, p=1, maxmem=-1), "maxmem must be positive and smaller than 2147483647"),
    (dict(n=16, r=8, p=1, dklen=0), "dklen must be greater than 0 and smaller than 2147483647"),
    (dict(n=2, r=1025, p=1), "r is at most 1024 in this sandbox"),
):
    assert said(hashlib.scrypt, b"", salt=b"", **kwargs) == f"ValueError: {want}", (kwargs, said(hashlib.scrypt, b"", salt=b"", **kwargs))
assert hashlib.scrypt(b"", salt=b"", n=2**15, r=8, p=1, maxmem=33557504)
assert hashlib.scrypt.__module__ == "hashlib" and list(inspect.signature(hashlib.scrypt).parameters) == "password salt n r p maxmem dklen".split()
