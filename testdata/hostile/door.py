# Attempts: to misuse the one function by which it asks the host: every op with every kind of frame, lengths that lie,
#   nesting, frames of many megabytes, replies not read, an outcome of its own making.
# Stopped by: a refusal (status 1) for what is malformed or not offered, the limit on host calls, the limit on results.
# run: status=ok,error,out_of_memory timeout=60s results=100000B host_calls=3000 over=2s
import _host, json, random, struct

rng = random.Random(1)
display = lambda header, attached=b"": b"\x10" + struct.pack("<I", len(header)) + header + attached
payloads = [
    b"", b"\x00", b"\xff" * 4, b"\x00" * 100, b"{}", b"[]", b"null", b"1e999", b'"\\ud800"', b"[" * 100_000, b"{" * 100_000, b'{"":' * 100_000, b"\xff\xfe", b'{"a":1,"a":2}', b"0" * 100_000, b'{"name":"echo","arguments":{}}',
    struct.pack("<I", 0), struct.pack("<I", 2**32 - 1), struct.pack("<I", 2**31) + b"{}", struct.pack("<I", 10) + b"{}",
]
headers = [
    b"{}", b'{"data":{}}', b'{"data":null}', b'{"data":[]}', b'{"data":{"text/plain":1}}', b'{"data":{"text/plain":{"$bytes":-1}}}', b'{"data":{"text/plain":{"$bytes":1e3}}}', b'{"data":{"text/plain":{"$bytes":18446744073709551616}}}',
    b'{"data":{"text/plain":"\\ud800"}}', b'{"data":{"":"x"}}', b'{"data":{"a/b\\u0000":"x"}}', b'{"data":{"a/b; c":"x"}}', b'{"data":{"application/json":' + b"[" * 60 + b"]" * 60 + b"}}", b'{"data":{"text/plain":"a"},"data":{"text/plain":"b"}}', b'{"main":"yes","data":{"text/plain":"a"}}',
    b'{"main":true,"data":{"text/plain":"\\u001b[2J</script>"}}', b'{"x":' + b"1" * 100_000 + b"}", b'{"data":{' + b",".join(b'"a/%d":"x"' % n for n in range(100)) + b"}}",
]
payloads += [display(h)[1:] for h in headers] + [display(h, b"x" * 100)[1:] for h in headers]
refused = answered = 0
for op in range(256):
    for payload in payloads if op in (1, 2, 3, 4, 5, 6, 16, 17, 18, 19) else payloads[:6]:
        try:
            reply = _host.call(bytes([op]) + payload)
        except (OSError, ValueError, RuntimeError, MemoryError) as e:
            refused += 1
            continue
        if not isinstance(reply, bytes) or not reply:
            print("BROKEN:", op, reply)
        if reply[:1] == b"\x01":
            json.loads(reply[1:])
            refused += 1
        else:
            answered += 1
for bad in (b"", None, 1, "text", [], bytearray(b"\x10"), memoryview(b"\x10\x00")):
    try:
        _host.call(bad)
    except Exception:
        refused += 1
for n in (1 << 20, 16 << 20, 64 << 20, (64 << 20) + 1, 100 << 20):
    for op in (b"\x01", b"\x02", b"\x10", b"\x11"):
        try:
            _host.call(op + bytes(n))
        except (OSError, ValueError, RuntimeError, MemoryError):
            pass
for _ in range(2000):
    frame = bytearray(display(rng.choice(headers), b"x" * rng.randrange(10)))
    for _ in range(rng.randrange(4)):
        frame[rng.randrange(len(frame))] = rng.randrange(256)
    try:
        _host.call(bytes(frame))
    except (OSError, ValueError, RuntimeError):
        pass
last = _host.call(display(b'{"data":{"text/plain":"x"}}'))
if last[:1] != b"\x01" or b"HostCallLimit" not in last:
    print("BROKEN: calls without number", last)
print(answered > 0, refused > 100)
