package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// readJSON reads a JSON body into v, whose fields are all that it may have. An empty body is refused unless optional.
func (x *exchange) readJSON(v any, optional bool) ([]byte, error) {
	if e := checkEncoding(x.r); e != nil {
		return nil, e
	}
	if x.r.ContentLength == 0 && optional {
		return nil, nil
	}
	if !isJSON(x.r.Header.Get("Content-Type")) {
		return nil, fail(http.StatusUnsupportedMediaType, codeMediaType, "the body must be declared as Content-Type: application/json")
	}
	body, err := x.readBody(x.s.cfg.MaxBodyBytes)
	if err != nil {
		return nil, err
	}
	return body, decodeJSON(body, v)
}

// readNothing reads a body that says nothing: none, or an object without fields.
func (x *exchange) readNothing() error {
	_, err := x.readJSON(&struct{}{}, true)
	return err
}

// isJSON says whether a Content-Type is that of JSON, whatever its parameters.
func isJSON(contentType string) bool {
	const want = "application/json"
	if contentType == want {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && t == want
}

// checkEncoding refuses compressed bodies: their size says nothing of what they hold.
func checkEncoding(r *http.Request) *apiError {
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return fail(http.StatusUnsupportedMediaType, codeMediaType, "the body must be sent without Content-Encoding, not as %s", quoted(enc))
	}
	return nil
}

// readBody reads a whole body of at most that many bytes, in the time that it has.
func (x *exchange) readBody(most int64) ([]byte, error) {
	n := x.r.ContentLength
	if n > most {
		return nil, &http.MaxBytesError{Limit: most}
	}
	_ = x.control.SetReadDeadline(time.Now().Add(x.s.cfg.BodyTimeout))
	x.hold()
	var b []byte
	var err error
	if n >= 0 && n <= 1<<20 { // what is claimed is allocated only while it is little
		b = make([]byte, n)
		_, err = io.ReadFull(x.r.Body, b)
	} else {
		b, err = io.ReadAll(http.MaxBytesReader(x.ResponseWriter, x.r.Body, most))
	}
	if err != nil {
		return nil, readError(err)
	}
	x.bodyRead.Store(true)
	return b, x.control.SetReadDeadline(time.Time{})
}

// dropBody sees that the rest of a body that nobody wants does not hold the connection: net/http would wait for it. In HTTP/2
// it does not, and closing the connection there would cut the answer. It says whether there was something to drop.
func (x *exchange) dropBody() bool {
	if x.bodyRead.Load() || x.r.ContentLength == 0 || x.r.ProtoMajor > 1 {
		return false
	}
	x.Header().Set("Connection", "close")
	_ = x.control.SetReadDeadline(time.Now().Add(dropTimeout))
	return true
}

// dropTimeout is the time for the rest of a body that nobody wants.
const dropTimeout = time.Second

// drain sends the answer, and then reads what still comes of a body that was dropped.
func (x *exchange) drain() {
	if x.control.Flush() != nil || x.r.Header.Get("Expect") != "" { // which sends nothing unless it is asked to
		return
	}
	conn, buffered, err := x.control.Hijack()
	if err != nil {
		return // net/http does what it can
	}
	defer conn.Close()
	most := int64(maxPartedUnknown)
	if x.key != nil {
		most = maxPartedKnown
	}
	part(conn, buffered, most)
}

func readError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fail(http.StatusRequestTimeout, codeTimeout, "the body did not come in time")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return invalidf("the body ended before its Content-Length")
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	return invalidf("the body could not be read")
}

// decodeJSON reads one JSON value strictly: text that is no UTF-8, unknown fields, wrong types and what follows the value are
// refused.
func decodeJSON(body []byte, v any) error {
	if !utf8.Valid(body) {
		return invalidf("the body is not UTF-8")
	}
	if bytes.HasPrefix(body, []byte("\ufeff")) {
		return invalidf("the body begins with a byte order mark (U+FEFF), which JSON goes without")
	}
	if e := checkJSON(body, reflect.TypeOf(v).Elem()); e != nil {
		return e
	}
	err := json.Unmarshal(body, v)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		switch {
		case len(bytes.TrimSpace(body)) == 0:
			return invalidf("the body is empty: it must be a JSON object")
		case strings.HasSuffix(e.Error(), "after top-level value"):
			return invalidf("after the JSON object there is more")
		case int(e.Offset) == len(body) && strings.HasPrefix(e.Error(), "unexpected end"):
			return invalidf("the JSON ends too early")
		}
		line, column := position(body, e.Offset)
		return invalidf("the JSON is malformed at line %d, column %d: %s", line, column, e.Error())
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return wrongType(e, reflect.TypeOf(v).Elem())
	}
	return invalidf("%s", strings.TrimPrefix(err.Error(), "json: "))
}

// wrongType says what a value is that cannot become a part of a t, and what it must be.
func wrongType(e *json.UnmarshalTypeError, t reflect.Type) error {
	path := fieldPath(e.Field)
	name, want := cmp.Or(path, "the body"), kindOf(e.Type)
	if in := typeAt(t, path); in != e.Type && in != nil && (in.Kind() == reflect.Slice || in.Kind() == reflect.Map) {
		name = "each of " + name
	}
	if number, ok := strings.CutPrefix(e.Value, "number "); ok {
		return invalidf("%s must be %s, not %.40s", name, want, number)
	}
	is := map[string]string{"array": "a list", "object": "an object", "string": "a string", "bool": "true or false", "number": "a number"}
	return invalidf("%s must be %s, not %s", name, want, cmp.Or(is[e.Value], e.Value))
}

// typeAt is the type of what a path of fields leads to in a t; lists and maps on the way are passed through.
func typeAt(t reflect.Type, path string) reflect.Type {
	if path == "" {
		return t
	}
	for name := range strings.SplitSeq(path, ".") {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct || fieldsOf(t)[name] == nil {
			return nil
		}
		t = fieldsOf(t)[name]
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// fieldPath is the path of a field without the names of the Go types that it is embedded in, which begin with a capital.
func fieldPath(path string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(path, "."), func(name string) bool {
		return name != "" && name[0] >= 'A' && name[0] <= 'Z'
	}), ".")
}

// kindOf is what a client calls what becomes a value of a Go type.
func kindOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64>>(64-t.Bits())))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

func position(text []byte, offset int64) (line, column int) {
	before := text[:min(max(offset-1, 0), int64(len(text)))]
	line = bytes.Count(before, []byte("\n")) + 1
	return line, len(before) - bytes.LastIndexByte(before, '\n')
}
