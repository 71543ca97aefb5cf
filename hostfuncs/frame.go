package hostfuncs

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// splitFrame takes a payload apart: the length of a JSON header (u32, little-endian), the header, and what is attached.
// It says nothing of the header but its length.
func splitFrame(payload []byte) (header, attached []byte, err error) {
	if len(payload) < 4 {
		return nil, nil, errors.New("shorter than its length field")
	}
	n, rest := binary.LittleEndian.Uint32(payload), payload[4:]
	switch {
	case uint64(n) > uint64(len(rest)):
		return nil, nil, fmt.Errorf("a header of %d bytes in a frame of %d", n, len(payload))
	case n > maxHeader:
		return nil, nil, fmt.Errorf("a header of %d bytes is more than %d", n, maxHeader)
	}
	return rest[:n], rest[n:], nil
}

// A HeaderFields reads the fields of a frame's header. It returns false for a name that it does not know.
type HeaderFields func(name string, value json.RawMessage) (known bool, err error)

// DecodeFrame reads a frame whose header is a JSON object, field by field: a name may be there once, and must be known.
// The values and what is attached are parts of payload.
func DecodeFrame(payload []byte, field HeaderFields) (attached []byte, err error) {
	header, attached, err := splitFrame(payload)
	if err != nil {
		return nil, err
	}
	s, err := newJSON(header)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	var seen []string
	err = s.object(func(key string) error {
		if slices.Contains(seen, key) {
			return fmt.Errorf("%.40q is there twice", key)
		}
		value, err := s.raw()
		if err != nil {
			return err
		}
		known, err := field(key, value)
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			err = fmt.Errorf("cannot be %s", aKind(wrong)) // without the name of a Go type
		}
		switch {
		case err != nil:
			return fmt.Errorf("%.40q: %w", key, err)
		case !known:
			return fmt.Errorf("unknown field %.40q", key)
		}
		seen = append(seen, key)
		return nil
	})
	if err == nil {
		err = s.end()
	}
	return attached, err
}

// EncodeFrame is the counterpart of [DecodeFrame] for replies.
func EncodeFrame(header any, attached []byte) ([]byte, error) {
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, 4+len(text)+len(attached))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	b = append(b, text...)
	return append(b, attached...), nil
}
