package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/cloche-dev/cloche/engine"
)

// apiError is an answer that is no result. Its text is for the client: it names nothing of the host.
type apiError struct {
	status     int
	code       string
	message    string
	details    any
	retryAfter time.Duration
}

func (e *apiError) Error() string { return e.message }

// The codes of errors, one for each kind of thing that a client can do about it.
const (
	codeInvalid      = "invalid_request"
	codeUnauthorized = "unauthorized"
	codeForbidden    = "forbidden"
	codeNotFound     = "not_found"
	codeMethod       = "method_not_allowed"
	codeBusy         = "busy"
	codeConflict     = "conflict"
	codeSuspended    = "suspended"
	codeExpired      = "expired"
	codeTooLarge     = "too_large"
	codeMediaType    = "unsupported_media_type"
	codeTooMany      = "too_many_requests"
	codeTimeout      = "request_timeout"
	codeRange        = "range_not_satisfiable"
	codePrecondition = "precondition_failed"
	codeMisdirected  = "misdirected_request"
	codeInternal     = "internal"
	codeUnavailable  = "unavailable"
)

func fail(status int, code, format string, args ...any) *apiError {
	return &apiError{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

func invalidf(format string, args ...any) *apiError {
	return fail(http.StatusBadRequest, codeInvalid, format, args...)
}

func notFound(what, id string) *apiError {
	return fail(http.StatusNotFound, codeNotFound, "there is no %s %s", what, quoted(id))
}

var (
	errUnauthorized = fail(http.StatusUnauthorized, codeUnauthorized, "a valid key is needed: send the header Authorization: Bearer KEY")
	errBusy         = fail(http.StatusConflict, codeBusy, "the session is busy with a turn: wait for it, or interrupt it")
	errStopping     = &apiError{status: http.StatusServiceUnavailable, code: codeUnavailable, message: "the server is stopping", retryAfter: time.Second}
)

// quoted is client text that is safe and short enough to be said back.
func quoted(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}

// ErrorBody is the body of every answer that is no result.
type ErrorBody struct {
	Error ErrorInfo `json:"error"`
}

// ErrorInfo says what was wrong with a request, or that the service failed.
type ErrorInfo struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Details any    `json:"details,omitempty"`
	// RequestID finds the request in the server's log. A request without a valid key gets it in the header X-Request-Id
	// only, so that all such answers are alike.
	RequestID string `json:"request_id,omitempty"`
}

// asAPIError turns what a handler returned into what the client is told. The second result is a fault of the host's, for
// the log.
func asAPIError(err error) (*apiError, error) {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e, nil
	}
	if e, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch e.Code {
		case http.StatusNotFound:
			return fail(http.StatusNotFound, codeNotFound, "there is no such route"), nil
		case http.StatusMethodNotAllowed:
			return fail(http.StatusMethodNotAllowed, codeMethod, "the route does not know this method"), nil
		}
	}
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fail(http.StatusRequestEntityTooLarge, codeTooLarge, "the body is larger than %d bytes", tooLarge.Limit), nil
	}
	switch {
	case errors.Is(err, errServerStopping):
		return errStopping, nil
	case errors.Is(err, errCancelled), errors.Is(err, errClientLeft), errors.Is(err, context.Canceled):
		return fail(http.StatusConflict, codeConflict, "the run was cancelled before it began"), nil
	case errors.Is(err, engine.ErrTooMany):
		return tooMany("the server has as many sessions as it takes"), nil
	case errors.Is(err, engine.ErrNoSession):
		return fail(http.StatusNotFound, codeNotFound, "there is no such session"), nil
	case errors.Is(err, engine.ErrNoAutopsy):
		return fail(http.StatusNotFound, codeNotFound, "%v (autopsy_s of a session, or of a request to execute, says how long one is kept)", err), nil
	case errors.Is(err, engine.ErrClosed):
		return fail(http.StatusGone, codeExpired, "the session is over"), nil
	case errors.Is(err, engine.ErrNoTemplate):
		return fail(http.StatusNotFound, codeNotFound, "there is no such template: the operator builds them with cloche template build"), nil
	case errors.Is(err, engine.ErrSuspended):
		return fail(http.StatusConflict, codeSuspended, "the session is suspended: its last turn waits for the results of calls; resume or cancel it, or go back to an earlier turn"), nil
	case errors.Is(err, engine.ErrNoCall):
		return fail(http.StatusConflict, codeConflict, "%s", plain(err)), nil
	case errors.Is(err, engine.ErrPackages):
		return fail(http.StatusServiceUnavailable, codeUnavailable, "the program's packages cannot be set up while the server runs: the operator restarts it after building a template with packages"), err
	case errors.Is(err, engine.ErrInvalid):
		return invalidf("%s", plain(err)), nil
	case errors.Is(err, engine.ErrBusy):
		return errBusy, nil
	}
	return fail(http.StatusInternalServerError, codeInternal, "the service failed; its log says why"), err
}

// plain is the text of an engine error without its sentinel.
func plain(err error) string {
	text := err.Error()
	if prefix := engine.ErrInvalid.Error() + ": "; len(text) > len(prefix) && text[:len(prefix)] == prefix {
		return text[len(prefix):]
	}
	return text
}

// info is what a client is told of the error.
func (e *apiError) info() ErrorInfo {
	return ErrorInfo{Code: e.code, Message: e.message, Details: e.details}
}

// writeError answers with an error. Nothing may have been written.
func (x *exchange) writeError(e *apiError) {
	body := ErrorBody{e.info()}
	if e.status == http.StatusUnauthorized {
		x.Header().Set("WWW-Authenticate", `Bearer realm="cloche"`)
	} else {
		body.Error.RequestID = x.id
	}
	dropped := x.dropBody()
	if e.retryAfter > 0 {
		x.Header().Set("Retry-After", strconv.Itoa(int((e.retryAfter+time.Second-1)/time.Second)))
	}
	b, err := json.Marshal(body)
	if err != nil {
		b = []byte(`{"error":{"code":"internal","message":"the service failed; its log says why"}}`)
	}
	x.writeJSON(e.status, b)
	if dropped {
		x.drain()
	}
}
