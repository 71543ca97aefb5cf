package hostfuncs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
)

// A Display is one thing that the guest shows, as a MIME bundle: the same thing in several forms.
type Display struct {
	// Data has for each MIME type a string, bytes ([]byte), or for JSON types the value as it came
	// (json.RawMessage).
	Data map[string]any `json:"data"`
	// Main marks the value of the last expression.
	Main bool `json:"main,omitempty"`
}

// Bounds of a display frame, far above what real ones hold.
const (
	maxForms     = 32
	maxHeader    = 16 << 20 // takes a tenth of a second to read
	maxMIMEBytes = 128
	maxJSONDepth = 64
)

// DecodeDisplay reads a display frame: the length of a JSON header (u32, little-endian), the header
//
//	{"main": bool, "data": {MIME type: string | {"$bytes": n} | any JSON for a JSON type}}
//
// and after it the bytes of its attachments, n each, in the order in which the header names them. Nothing of the
// result refers to payload.
func DecodeDisplay(payload []byte) (Display, error) {
	var d Display
	header, attached, err := splitFrame(payload)
	if err != nil {
		return d, fmt.Errorf("display frame: %w", err)
	}
	s, err := newJSON(header)
	if err != nil {
		return d, fmt.Errorf("display frame: header: %w", err)
	}
	err = s.object(func(key string) error {
		switch key {
		case "main":
			value, err := s.raw()
			if err != nil {
				return err
			}
			if d.Main = string(value) == "true"; !d.Main && string(value) != "false" {
				return fmt.Errorf("main is %.20q, neither true nor false", value)
			}
			return nil
		case "data":
			if d.Data != nil {
				return errors.New("data is there twice")
			}
			var err error
			d.Data, attached, err = s.bundle(attached)
			return err
		}
		return fmt.Errorf("unknown field %q", key)
	})
	if err == nil {
		err = s.end()
	}
	switch {
	case err != nil:
		return d, fmt.Errorf("display frame: %w", err)
	case len(d.Data) == 0:
		return d, errors.New("display frame: it shows nothing")
	case len(attached) > 0:
		return d, fmt.Errorf("display frame: %d bytes are attached that nothing names", len(attached))
	}
	return d, nil
}

// bundle reads the object at which the scanner stands, and takes its attachments from the front of attached.
func (s *jsonScanner) bundle(attached []byte) (map[string]any, []byte, error) {
	data := map[string]any{}
	err := s.object(func(key string) error {
		if !validMIME(key) {
			return fmt.Errorf("%.40q is not a MIME type", key)
		}
		if _, twice := data[key]; twice || len(data) == maxForms {
			return fmt.Errorf("%s is there twice or is one form too many", key)
		}
		value, err := s.raw()
		if err != nil {
			return err
		}
		if n, ok := attachment(value); ok {
			if n > uint64(len(attached)) {
				return fmt.Errorf("%s: %d bytes are said to be attached, %d are", key, n, len(attached))
			}
			data[key], attached = bytes.Clone(attached[:n]), attached[n:]
			return nil
		}
		if isJSON(key) {
			data[key] = json.RawMessage(bytes.Clone(value))
			return nil
		}
		text, ok := jsonString(value)
		if !ok {
			return fmt.Errorf("%s: neither text nor attached bytes", key)
		}
		data[key] = text
		return nil
	})
	return data, attached, err
}

// attachment says whether value is {"$bytes": n}.
func attachment(value json.RawMessage) (uint64, bool) {
	if !bytes.HasPrefix(value, []byte(`{`)) || len(value) > 64 {
		return 0, false
	}
	var n uint64
	var fields map[string]json.RawMessage
	if json.Unmarshal(value, &fields) != nil || len(fields) != 1 {
		return 0, false
	}
	err := json.Unmarshal(fields["$bytes"], &n) // an error without that field
	return n, err == nil
}

func isJSON(t string) bool { return t == "application/json" || strings.HasSuffix(t, "+json") }

func validMIME(s string) bool {
	if s == "text/plain" || s == "application/json" {
		return true // what nearly every value has
	}
	if len(s) > maxMIMEBytes || !strings.Contains(s, "/") {
		return false
	}
	_, _, err := mime.ParseMediaType(s)
	return err == nil
}
