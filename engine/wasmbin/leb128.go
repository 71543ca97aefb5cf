package wasmbin

// AppendU32 appends v in unsigned LEB128, in as few bytes as possible.
func AppendU32(b []byte, v uint32) []byte { return AppendU64(b, uint64(v)) }

// AppendU64 appends v in unsigned LEB128, in as few bytes as possible.
func AppendU64(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// AppendS64 appends v in signed LEB128, in as few bytes as possible. It serves i32 immediates too.
func AppendS64(b []byte, v int64) []byte {
	for v >= 0x40 || v < -0x40 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v)&0x7F)
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (c *cursor) u32() uint32 {
	if c.pos < len(c.buf) && c.buf[c.pos] < 0x80 {
		c.pos++
		return uint32(c.buf[c.pos-1])
	}
	return uint32(c.unsigned(32))
}

// u64 reads an unsigned LEB128 number of at most 64 bits.
func (c *cursor) u64() uint64 { return c.unsigned(64) }

func (c *cursor) unsigned(bits uint) uint64 {
	start, v := c.pos, uint64(0)
	for shift := uint(0); ; shift += 7 {
		b := c.byte()
		if c.err != nil {
			return 0
		}
		if left := bits - shift; left < 7 && b>>left != 0 {
			c.failAt(start, "number does not fit in %d bits", bits)
			return 0
		}
		v |= uint64(b&0x7F) << shift
		if b < 0x80 {
			return v
		}
	}
}

// signed reads a signed LEB128 number of 32, 33 or 64 bits.
func (c *cursor) signed(bits uint) int64 {
	if c.pos < len(c.buf) && c.buf[c.pos] < 0x80 {
		c.pos++
		return int64(int8(c.buf[c.pos-1]<<1) >> 1)
	}
	start, v := c.pos, int64(0)
	for shift := uint(0); ; shift += 7 {
		b := c.byte()
		if c.err != nil {
			return 0
		}
		// In the last byte only copies of the sign may follow the number's own bits.
		if left := bits - shift; left < 7 {
			if rest := int8(b<<1) >> left; b >= 0x80 || rest != 0 && rest != -1 {
				c.failAt(start, "number does not fit in %d bits", bits)
				return 0
			}
		}
		v |= int64(b&0x7F) << shift
		if b < 0x80 {
			if shift+7 < 64 && b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
}
