package memimage

// The Copy method keeps the memory in Go's heap and moves it when it grows.

func (l *Linear) copyReserve(capacity uint64) {
	l.base = make([]byte, l.size, max(l.size, PageSize))
	if l.image != nil {
		copy(l.base, l.image.Bytes())
	}
	l.reserved = capacity
}

func (l *Linear) copyGrow(size uint64) {
	if size > uint64(cap(l.base)) {
		grown := make([]byte, size, min(max(size, 2*uint64(cap(l.base))), l.reserved))
		copy(grown, l.base[:l.size])
		l.base = grown
	}
	l.base = l.base[:size]
}
