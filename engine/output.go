package engine

import "io"

// capped is one of the guest's output streams: the first limit bytes are kept, and passed on to the caller's
// writer as they come; the rest is counted and dropped, and the guest goes on.
type capped struct {
	limit uint64
	to    io.Writer // nil: nobody listens
	text  text

	kept  []byte
	total uint64
}

// Write never fails: a caller who went away is no concern of the guest's.
func (c *capped) Write(p []byte) (int, error) {
	c.total += uint64(len(p))
	if room := c.limit - uint64(len(c.kept)); room > 0 {
		part := p[:min(uint64(len(p)), room)]
		c.kept = append(c.kept, part...)
		if c.to != nil {
			if _, err := c.to.Write(part); err != nil {
				c.to = nil
			}
		}
		c.text.write(part)
	}
	return len(p), nil
}

// cut is nil when nothing was dropped.
func (c *capped) cut() *Cut {
	if c.total == uint64(len(c.kept)) {
		return nil
	}
	return &Cut{KeptBytes: uint64(len(c.kept)), TotalBytes: c.total}
}
