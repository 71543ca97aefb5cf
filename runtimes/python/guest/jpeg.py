"""JPEG for Pillow, whose build has no libjpeg: a baseline encoder, and a decoder for baseline and progressive files.

Written after ITU-T T.81 with numpy for what is the same for all blocks. A megapixel takes a few seconds each way. Pillow's own
plugin reads and writes the headers around the data.
"""

import numpy as np
from PIL import Image, ImageFile, JpegImagePlugin

_ZIGZAG = np.array([
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6, 7, 14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
])  # fmt: skip
PIXELS_MAX = 50_000_000  # of a picture that is decoded

_k = np.arange(8)
_DCT = np.cos((2 * _k[None, :] + 1) * _k[:, None] * np.pi / 16) * 0.5
_DCT[0] *= 2**-0.5
_DCT = _DCT.astype("f4")


# Encoding. Tables of Annex K.

_LUMA = [
    16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
    18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
]  # fmt: skip
_CHROMA = [
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,
] + [99] * 32  # fmt: skip
_DC = (
    ([0, 1, 5, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0], list(range(12))),
    ([0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0], list(range(12))),
)
_AC = (
    ([0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125], bytes.fromhex(
        "01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a"
        "434445464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9"
        "aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa")),
    ([0, 2, 1, 2, 4, 4, 3, 4, 7, 5, 4, 4, 0, 1, 2, 119], bytes.fromhex(
        "000102031104052131061241510761711322328108144291a1b1c109233352f0156272d10a162434e125f11718191a262728292a35363738393a"
        "434445464748494a535455565758595a636465666768696a737475767778797a82838485868788898a92939495969798999aa2a3a4a5a6a7a8"
        "a9aab2b3b4b5b6b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae2e3e4e5e6e7e8e9eaf2f3f4f5f6f7f8f9fa")),
)  # fmt: skip


def _codes(counts, symbols):
    """Code and length by symbol."""
    codes, lengths = np.zeros(256, "i8"), np.zeros(256, "i8")
    code = at = 0
    for length, n in enumerate(counts, 1):
        for s in symbols[at : at + n]:
            codes[s], lengths[s] = code, length
            code += 1
        at += n
        code <<= 1
    return codes, lengths


def _quality(table, quality):
    quality = min(max(quality, 1), 100)
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    return np.clip((np.array(table) * scale + 50) // 100, 1, 255)


def _blocks(plane, rows, columns):
    """A plane of samples as blocks of 8 by 8, its edge repeated."""
    h, w = plane.shape
    plane = np.pad(plane, ((0, rows * 8 - h), (0, columns * 8 - w)), mode="edge")
    return plane.reshape(rows, 8, columns, 8).swapaxes(1, 2)


def _bits(blocks, dc, ac):
    """Codes and lengths of blocks, in order; one row a block of quantised coefficients in zigzag order, whose first is a
    difference already. Each block's symbols keep their order by a key."""
    n = len(blocks)
    order, codes, lengths = [], [], []

    def add(block, position, step, code, length):
        order.append((block * 64 + position) * 8 + step)
        codes.append(code)
        lengths.append(length)

    def value_bits(v):
        size = np.zeros(v.shape, "i8")
        a = np.abs(v)
        while (a > 0).any():
            size += a > 0
            a = a >> 1
        return size, np.where(v < 0, v + (1 << size) - 1, v)

    first = blocks[:, 0]
    size, bits = value_bits(first)
    every = np.arange(n)
    add(every, 0, 0, dc[0][size], dc[1][size])
    add(every, 0, 1, bits, size)
    b, p = np.nonzero(blocks[:, 1:])
    b, p = b.astype("i8"), p.astype("i8") + 1
    v = blocks[b, p]
    before = np.where(np.r_[True, b[1:] != b[:-1]], 0, np.r_[0, p[:-1]]) if len(b) else p
    run = p - before - 1
    for i in range(3):  # a run of 16 zeros has a symbol of its own
        more = run >= 16 * (i + 1)
        add(b[more], p[more], i, np.full(more.sum(), ac[0][0xF0]), np.full(more.sum(), ac[1][0xF0]))
    size, bits = value_bits(v)
    symbol = (run % 16) << 4 | size
    add(b, p, 3, ac[0][symbol], ac[1][symbol])
    add(b, p, 4, bits, size)
    last = np.zeros(n, "i8")
    np.maximum.at(last, b, p)
    short = every[last < 63]
    add(short, 63, 5, np.full(len(short), ac[0][0]), np.full(len(short), ac[1][0]))
    order = np.concatenate(order)
    rank = np.argsort(order, kind="stable")
    return order[rank] // 512, np.concatenate(codes)[rank], np.concatenate(lengths)[rank]


def _pack(codes, lengths):
    """Bits as bytes, most significant first, filled with ones, and with a zero after each 255."""
    ends = np.cumsum(lengths)
    total = int(ends[-1])
    out = np.ones(-(-total // 8) * 8, "u1")
    starts = ends - lengths
    for i in range(int(lengths.max())):
        has = lengths > i
        out[starts[has] + i] = codes[has] >> (lengths[has] - 1 - i) & 1
    return np.packbits(out).tobytes().replace(b"\xff", b"\xff\x00")


def encode(im, quality=75, subsample=True, dpi=None, exif=b"", icc=None, comment=b"", tables=None):
    """A picture of mode L, RGB or CMYK as a JPEG file."""
    data = np.asarray(im)
    if data.ndim == 2:
        planes = [data.astype("f4")]
    elif im.mode == "RGB":
        r, g, b = (data[..., i].astype("f4") for i in range(3))
        y = 0.299 * r + 0.587 * g + 0.114 * b
        planes = [y, 128 + (b - y) * 0.564334, 128 + (r - y) * 0.713267]
    else:
        planes = [255 - data[..., i].astype("f4") for i in range(data.shape[2])]
    h, w = data.shape[:2]
    colour = im.mode == "RGB"
    factor = 2 if colour and subsample else 1
    quant = [_quality(_LUMA, quality), _quality(_CHROMA, quality)] if tables is None else [np.array(t) for t in tables]
    quant = (quant * 2)[:2]
    rows, columns = -(-h // (8 * factor)), -(-w // (8 * factor))
    units = []
    for i, plane in enumerate(planes):
        f = factor if i == 0 else 1
        if i and factor == 2:
            plane = np.pad(plane, ((0, h % 2), (0, w % 2)), mode="edge")
            plane = plane.reshape(plane.shape[0] // 2, 2, plane.shape[1] // 2, 2).mean((1, 3))
        blocks = _blocks(plane - 128, rows * f, columns * f)
        blocks = np.rint(_DCT @ blocks @ _DCT.T / quant[min(i, 1) if colour else 0].reshape(8, 8)).astype("i8")
        blocks = blocks.reshape(rows, f, columns, f, 64).swapaxes(1, 2).reshape(rows * columns, f * f, 64)[:, :, _ZIGZAG]
        flat = blocks.reshape(-1, 64)
        flat[1:, 0] -= flat[:-1, 0].copy()
        table = min(i, 1) if colour else 0
        block, codes, lengths = _bits(flat, _codes(*_DC[table]), _codes(*_AC[table]))
        units.append((block // (f * f), i, codes, lengths))
    # Units interleave component by component.
    order = np.concatenate([u[0] * len(units) + u[1] for u in units])
    rank = np.argsort(order, kind="stable")
    scan = _pack(np.concatenate([u[2] for u in units])[rank], np.concatenate([u[3] for u in units])[rank])

    out = [b"\xff\xd8"]

    def segment(marker, body):
        out.append(bytes((255, marker)) + (len(body) + 2).to_bytes(2, "big") + body)

    x, y = (int(round(d)) for d in dpi) if dpi else (1, 1)
    if im.mode != "CMYK":
        segment(0xE0, b"JFIF\0\1\1" + bytes([1 if dpi else 0]) + x.to_bytes(2, "big") + y.to_bytes(2, "big") + b"\0\0")
    else:
        segment(0xEE, b"Adobe\0\x64\0\0\0\0\0")
    if exif:
        segment(0xE1, exif if exif.startswith(b"Exif\0\0") else b"Exif\0\0" + exif)
    if icc:
        parts = [icc[i : i + 65519] for i in range(0, len(icc), 65519)]
        for i, part in enumerate(parts, 1):
            segment(0xE2, b"ICC_PROFILE\0" + bytes((i, len(parts))) + part)
    if comment:
        segment(0xFE, comment)
    used = 2 if colour else 1
    for i in range(used):
        segment(0xDB, bytes([i]) + bytes(quant[i][_ZIGZAG].tolist()))
    sampled = b"".join(
        bytes((i + 1, 0x22 if factor == 2 and i == 0 else 0x11, min(i, 1) if colour else 0)) for i in range(len(planes))
    )
    segment(0xC0, b"\x08" + h.to_bytes(2, "big") + w.to_bytes(2, "big") + bytes([len(planes)]) + sampled)
    for i in range(used):
        segment(0xC4, bytes([i]) + bytes(_DC[i][0]) + bytes(_DC[i][1]))
        segment(0xC4, bytes([0x10 | i]) + bytes(_AC[i][0]) + bytes(_AC[i][1]))
    scanned = b"".join(bytes((i + 1, 0x11 if colour and i else 0)) for i in range(len(planes)))
    segment(0xDA, bytes([len(planes)]) + scanned + b"\0\x3f\0")
    return b"".join((*out, scan, b"\xff\xd9"))


_PRESETS = {"low": 30, "medium": 50, "high": 75, "very_high": 85, "maximum": 95, "web_low": 30, "web_medium": 50,
            "web_high": 70, "web_very_high": 85, "web_maximum": 95, "keep": 90}  # fmt: skip


def _save(im, fp, filename):
    info = im.encoderinfo
    if im.mode not in ("L", "RGB", "CMYK", "1", "YCbCr"):
        raise OSError(f"cannot write mode {im.mode} as JPEG")
    if im.width < 1 or im.height < 1:
        raise ValueError("cannot write empty image as JPEG")
    if im.width > 65535 or im.height > 65535:
        raise ValueError("JPEG has at most 65535 pixels a side")
    if im.mode == "1":
        im = im.convert("L")
    elif im.mode == "YCbCr":
        im = im.convert("RGB")
    quality = info.get("quality", -1)
    if isinstance(quality, str):
        quality = _PRESETS.get(quality, 75)
    if quality <= 0:
        quality = 75
    exif = info.get("exif", b"")
    if isinstance(exif, Image.Exif):
        exif = exif.tobytes()
    comment = info.get("comment", im.info.get("comment", b""))
    if isinstance(comment, str):
        comment = comment.encode()
    fp.write(
        encode(
            im,
            quality,
            info.get("subsampling", "4:2:0" if quality < 90 else 0) not in (0, "4:4:4"),
            info.get("dpi"),
            exif,
            info.get("icc_profile", im.info.get("icc_profile")),
            comment or b"",
        )
    )


# Decoding.


class _Reader:
    """The bits of a scan. What lies behind its end reads as zeros."""

    def __init__(self, data):
        self.data, self.at, self.value, self.count = data, 0, 0, 0

    def fill(self):
        piece = self.data[self.at : self.at + 64]
        self.at += 64
        if len(piece) < 64:
            piece += bytes(64 - len(piece))
            if self.at > len(self.data) + 4096:
                raise OSError("the picture's data end too early")
        self.value = (self.value & ((1 << self.count) - 1)) << 512 | int.from_bytes(piece, "big")
        self.count += 512

    def bits(self, n):
        if self.count < n:
            self.fill()
        self.count -= n
        return self.value >> self.count & ((1 << n) - 1)

    def symbol(self, table):
        if self.count < 16:
            self.fill()
        found = table[self.value >> self.count - 16 & 0xFFFF]
        self.count -= found >> 8
        if not found >> 8:
            raise OSError("broken data stream when reading image file")
        return found & 255

    def number(self, size):
        """A number of so many bits, with JPEG's sign."""
        if not size:
            return 0
        if self.count < size:
            self.fill()
        self.count -= size
        v = self.value >> self.count & ((1 << size) - 1)
        return v if v >> size - 1 else v - (1 << size) + 1


def _lookup(counts, symbols):
    """For each 16 bits that may come: length of the code times 256, and its symbol."""
    table = np.zeros(1 << 16, "i4")
    code = at = 0
    for length, n in enumerate(counts, 1):
        for s in symbols[at : at + n]:
            start = code << 16 - length
            table[start : start + (1 << 16 - length)] = length << 8 | s
            code += 1
        at += n
        code <<= 1
    return table.tolist()


class _Component:
    def __init__(self, ident, h, v, table):
        self.ident, self.h, self.v, self.table = ident, h, v, table


class _Picture:
    """A JPEG file, read scan by scan into the coefficients of its components."""

    def __init__(self, data):
        self.data = data
        self.quant, self.huffman, self.components = {}, {}, []
        self.interval = 0
        self.adobe = None
        self.jfif = False
        at = 2
        while True:
            at = data.find(b"\xff", at)
            if at < 0 or at + 2 > len(data):
                break
            marker = data[at + 1]
            at += 2
            if marker in (0, 1, 0xFF) or 0xD0 <= marker <= 0xD7:
                at -= marker == 0xFF
                continue
            if marker == 0xD9:
                break
            size = int.from_bytes(data[at : at + 2], "big")
            body = data[at + 2 : at + size]
            at += size
            if marker == 0xDB:
                self._tables(body)
            elif marker == 0xC4:
                self._codes(body)
            elif marker in (0xC0, 0xC1, 0xC2):
                self._frame(body, marker == 0xC2)
            elif 0xC3 <= marker <= 0xCF and marker != 0xC8 and marker != 0xCC:
                raise OSError("this kind of JPEG (lossless, arithmetic or hierarchical) cannot be read here")
            elif marker == 0xDD:
                self.interval = int.from_bytes(body[:2], "big")
            elif marker == 0xEE and body[:5] == b"Adobe" and len(body) >= 12:
                self.adobe = body[11]
            elif marker == 0xE0 and body[:4] == b"JFIF":
                self.jfif = True
            elif marker == 0xDA:
                at = self._scan(body, at)
        if not self.components:
            raise OSError("there is no picture in the file")

    def _tables(self, body):
        while body:
            wide, ident = body[0] >> 4, body[0] & 15
            size = 128 if wide else 64
            self.quant[ident] = np.frombuffer(body[1 : 1 + size], ">u2" if wide else "u1").astype("f4")
            body = body[1 + size :]

    def _codes(self, body):
        while body:
            n = sum(body[1:17])
            self.huffman[body[0]] = _lookup(body[1:17], body[17 : 17 + n])
            body = body[17 + n :]

    def _frame(self, body, progressive):
        if self.components or body[0] != 8:
            raise OSError("this kind of JPEG (12 bits, or several frames) cannot be read here")
        self.progressive = progressive
        self.height, self.width = int.from_bytes(body[1:3], "big"), int.from_bytes(body[3:5], "big")
        if not 0 < self.height * self.width <= PIXELS_MAX:
            raise OSError(f"a picture of {self.width}x{self.height} pixels is empty or too large")
        for i in range(body[5]):
            ident, sampling, table = body[6 + 3 * i : 9 + 3 * i]
            c = _Component(ident, sampling >> 4, sampling & 15, table)
            if not 1 <= c.h <= 4 or not 1 <= c.v <= 4:
                raise OSError("bad sampling factors")
            self.components.append(c)
        self.h = max(c.h for c in self.components)
        self.v = max(c.v for c in self.components)
        self.columns = -(-self.width // (8 * self.h))
        self.rows = -(-self.height // (8 * self.v))
        for c in self.components:
            c.width, c.height = -(-self.width * c.h // self.h), -(-self.height * c.v // self.v)
            c.across = self.columns * c.h
            c.coefficients = np.zeros((self.rows * c.v * c.across, 64), "i2")

    def _scan(self, body, at):
        end = at
        pieces = []  # between restart markers
        while True:
            end = self.data.find(b"\xff", end)
            if end < 0 or end + 1 >= len(self.data):
                end = len(self.data)
                break
            marker = self.data[end + 1]
            if marker == 0:
                end += 2
            elif 0xD0 <= marker <= 0xD7:
                pieces.append(self.data[at:end])
                end += 2
                at = end
            elif marker == 0xFF:
                end += 1
            else:
                break
        pieces.append(self.data[at:end])
        chosen = []
        for i in range(body[0]):
            ident, tables = body[1 + 2 * i : 3 + 2 * i]
            c = next((c for c in self.components if c.ident == ident), None)
            if c is None:
                raise OSError("a scan of an unknown component")
            c.dc, c.ac = self.huffman.get(tables >> 4), self.huffman.get(16 | tables & 15)
            chosen.append(c)
        first, last, approx = body[1 + 2 * body[0] :][:3]
        high, low = approx >> 4, approx & 15
        if len(chosen) == 1:
            c = chosen[0]
            units = [
                ((c, y * c.across + x),) for y in range(-(-c.height // 8)) for x in range(-(-c.width // 8))
            ]
        else:
            units = [
                tuple((c, (r * c.v + v) * c.across + k * c.h + h) for c in chosen for v in range(c.v) for h in range(c.h))
                for r in range(self.rows)
                for k in range(self.columns)
            ]
        step = self.interval or len(units)
        work = self._work(first, last, high, low)
        for i, start in enumerate(range(0, len(units), step)):
            if i >= len(pieces):
                break
            reader = _Reader(pieces[i].replace(b"\xff\x00", b"\xff"))
            for c in chosen:
                c.before = 0
            self.skip = 0
            try:
                for unit in units[start : start + step]:
                    for c, block in unit:
                        work(reader, c, block)
            except OSError:
                if not ImageFile.LOAD_TRUNCATED_IMAGES:
                    raise
        return end

    def _work(self, first, last, high, low):
        """The function that reads a block in this scan."""
        if not self.progressive:
            return self._baseline
        if first == 0:
            if high:

                def refine_dc(reader, c, block):
                    if reader.bits(1):
                        c.coefficients[block, 0] |= 1 << low

                return refine_dc

            def first_dc(reader, c, block):
                c.before += reader.number(reader.symbol(c.dc))
                c.coefficients[block, 0] = c.before << low

            return first_dc
        if high:
            return lambda reader, c, block: self._refine(reader, c, block, first, last, 1 << low)
        return lambda reader, c, block: self._first(reader, c, block, first, last, low)

    def _baseline(self, reader, c, block):
        c.before += reader.number(reader.symbol(c.dc))
        out = c.coefficients[block]
        out[0] = c.before
        k, ac = 1, c.ac
        symbol, number = reader.symbol, reader.number
        while k < 64:
            s = symbol(ac)
            size = s & 15
            if size:
                k += s >> 4
                if k > 63:
                    raise OSError("broken data stream when reading image file")
                out[k] = number(size)
                k += 1
            elif s == 0xF0:
                k += 16
            else:
                return

    def _first(self, reader, c, block, first, last, low):
        if self.skip:
            self.skip -= 1
            return
        k = first
        while k <= last:
            s = reader.symbol(c.ac)
            run, size = s >> 4, s & 15
            if size:
                k += run
                if k > 63:
                    raise OSError("broken data stream when reading image file")
                c.coefficients[block, k] = reader.number(size) * (1 << low)
                k += 1
            elif run == 15:
                k += 16
            else:
                self.skip = (1 << run) - 1 + (reader.bits(run) if run else 0)
                return

    def _refine(self, reader, c, block, first, last, bit):
        out = c.coefficients[block]
        k = first

        def correct(k):
            v = out[k]
            if reader.bits(1) and not abs(int(v)) & bit:
                out[k] = v + bit if v > 0 else v - bit

        if not self.skip:
            while k <= last:
                s = reader.symbol(c.ac)
                run, size = s >> 4, s & 15
                value = 0
                if size:
                    value = bit if reader.bits(1) else -bit
                elif run < 15:
                    self.skip = (1 << run) + (reader.bits(run) if run else 0)
                    break
                while k <= last:
                    if out[k]:
                        correct(k)
                    elif run == 0:
                        if value:
                            out[k] = value
                        k += 1
                        break
                    else:
                        run -= 1
                    k += 1
        if self.skip:
            while k <= last:
                if out[k]:
                    correct(k)
                k += 1
            self.skip -= 1

    def pixels(self, mode):
        """The samples as Pillow wants them in that mode: rows of pixels."""
        planes = []
        for c in self.components:
            table = self.quant.get(c.table)
            if table is None:
                raise OSError("a quantisation table is missing")
            blocks = np.zeros(c.coefficients.shape, "f4")
            blocks[:, _ZIGZAG] = c.coefficients * table
            blocks = _DCT.T @ blocks.reshape(-1, 8, 8) @ _DCT + 128
            rows = self.rows * c.v
            plane = blocks.reshape(rows, c.across, 8, 8).swapaxes(1, 2).reshape(rows * 8, c.across * 8)
            plane = plane[: c.height, : c.width]
            planes.append(_grown(plane, self.width, self.height, self.h // c.h if self.h % c.h == 0 else 0, self.v // c.v if self.v % c.v == 0 else 0))
        data = np.stack(planes, -1)
        if len(planes) == 3 and (self.adobe is None or self.adobe == 1) and not (self.adobe is None and not self.jfif and [c.ident for c in self.components] == [82, 71, 66]):
            y, cb, cr = data[..., 0], data[..., 1] - 128, data[..., 2] - 128
            data = np.stack([y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb], -1)
        elif len(planes) == 4 and self.adobe == 2:
            y, cb, cr = data[..., 0], data[..., 1] - 128, data[..., 2] - 128
            inks = np.stack([y + 1.402 * cr, y - 0.344136 * cb - 0.714136 * cr, y + 1.772 * cb], -1)
            data = np.concatenate([255 - inks, data[..., 3:]], -1)
        data = np.clip(np.rint(data), 0, 255).astype("u1")
        if mode == "RGB" and len(planes) == 1:
            data = np.repeat(data, 3, -1)
        return data


def _grown(plane, width, height, fx, fy):
    """A plane of a component with fewer samples, in the picture's size."""
    if plane.shape == (height, width):
        return plane
    if fx and fy:
        if fx == 2:
            plane = _twice(plane, 1)
        elif fx > 1:
            plane = plane.repeat(fx, 1)
        if fy == 2:
            plane = _twice(plane, 0)
        elif fy > 1:
            plane = plane.repeat(fy, 0)
        return plane[:height, :width]
    y = np.minimum(np.arange(height) * plane.shape[0] // height, plane.shape[0] - 1)
    x = np.minimum(np.arange(width) * plane.shape[1] // width, plane.shape[1] - 1)
    return plane[y][:, x]


def _twice(plane, axis):
    """Twice as many samples along an axis, each a quarter of the way to its neighbour."""
    n = plane.shape[axis]
    i = np.arange(n)
    before, after = plane.take(np.maximum(i - 1, 0), axis), plane.take(np.minimum(i + 1, n - 1), axis)
    out = np.stack([0.75 * plane + 0.25 * before, 0.75 * plane + 0.25 * after], axis + 1)
    shape = list(plane.shape)
    shape[axis] *= 2
    return out.reshape(shape)


class Decoder(ImageFile.PyDecoder):
    """What Pillow's plugin asks for the pixels."""

    _pulls_fd = True

    def decode(self, buffer):
        self.fd.seek(0)
        data = self.fd.read()
        try:
            pixels = _Picture(data).pixels(self.mode)
        except (IndexError, TypeError, ValueError) as e:
            raise OSError("broken data stream when reading image file") from e
        if self.mode == "CMYK":
            pixels = 255 - pixels
        self.set_as_raw(np.ascontiguousarray(pixels).tobytes(), self.mode)
        return -1, 0


def install():
    """Gives Pillow the codec, if its own is missing."""
    from PIL import features

    if features.check("jpg"):
        return
    Image.register_decoder("jpeg", Decoder)
    Image.register_save("JPEG", _save)
    JpegImagePlugin._save = _save
    JpegImagePlugin.JpegImageFile.draft = lambda self, mode, size: None
