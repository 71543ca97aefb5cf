// Package e2b speaks the dialect of the server inside E2B's code-interpreter sandboxes: /execute, which answers with a
// line of JSON for each thing that a program does, and /contexts. So programs written for that service's SDK run here when
// it is pointed at us: with E2B_DEBUG=true it asks port 49999 of localhost, over plain HTTP.
//
// The SDK shows no key in that mode, and so there is none: whoever can connect can run code in a sandbox. The handler
// answers only requests for a loopback name that no web page can have sent; serve it on a loopback address.
//
// A Handler may be used from several goroutines. Programs of one context run one after the other.
package e2b

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/engine"
)

// Config says what contexts are given.
type Config struct {
	// Engine runs the programs. It is not closed.
	Engine *engine.Engine
	// Options are those of every context; Language and Files are left empty.
	Options engine.Options
	// MaxContexts is how many contexts there are at once; the one that was not used for longest makes room. Zero means 16.
	MaxContexts int
	// Logger gets what the host failed by. Nil: nobody.
	Logger *slog.Logger
}

// maxBody bounds a request.
const maxBody = 32 << 20

// Handler serves the dialect.
type Handler struct {
	cfg      Config
	mux      *http.ServeMux
	contexts *contexts
}

// New makes a handler. Close it.
func New(cfg Config) *Handler {
	if cfg.MaxContexts == 0 {
		cfg.MaxContexts = 16
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{cfg: cfg, mux: http.NewServeMux(), contexts: newContexts(cfg)}
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /health":                   h.health,
		"POST /execute":                 h.execute,
		"GET /contexts":                 h.list,
		"POST /contexts":                h.create,
		"DELETE /contexts/{id}":         h.remove,
		"POST /contexts/{id}/restart":   h.restart,
		"POST /contexts/{id}/interrupt": h.interrupt,
	} {
		h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := serve(w, r); err != nil {
				h.fail(w, err)
			}
		})
	}
	return h
}

// Close ends all contexts and what runs in them.
func (h *Handler) Close() error { return h.contexts.close() }

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if err := local(r); err != nil {
		h.fail(w, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	h.mux.ServeHTTP(w, r)
}

// requestError is a fault of the request's.
type requestError struct {
	status int
	text   string
}

func (e *requestError) Error() string { return e.text }

func refuse(status int, format string, args ...any) error {
	return &requestError{status, fmt.Sprintf(format, args...)}
}

// local refuses what a web page can have sent: it cannot leave out Origin for another's server, nor can it name a
// loopback address as its own.
func local(r *http.Request) error {
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	if !strings.EqualFold(name, "localhost") && (err != nil || !ip.IsLoopback()) {
		return refuse(http.StatusMisdirectedRequest, "the name in Host is not this machine's own")
	}
	if r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" {
		return refuse(http.StatusForbidden, "web pages may not use this server")
	}
	if r.Method == http.MethodPost && r.ContentLength != 0 {
		if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
			return refuse(http.StatusUnsupportedMediaType, "the body must be application/json")
		}
	}
	return nil
}

// fail answers with an error as text, which the SDK shows.
func (h *Handler) fail(w http.ResponseWriter, err error) {
	status, text := http.StatusInternalServerError, "the service failed; its log says why"
	var req *requestError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &req):
		status, text = req.status, req.text
	case errors.As(err, &tooLarge):
		status, text = http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes", maxBody)
	case errors.Is(err, engine.ErrInvalid):
		status, text = http.StatusBadRequest, err.Error()
	case errors.Is(err, context.Canceled):
		status, text = http.StatusServiceUnavailable, "the server is stopping"
	default:
		h.cfg.Logger.Error("e2b request failed", "class", "error", "error", err.Error())
	}
	http.Error(w, text, status)
}

func readJSON(r *http.Request, v any) error {
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return err
		}
		return refuse(http.StatusBadRequest, "the body is not the JSON that is expected: %v", err)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(b) // a client that went away is no concern of ours
	return nil
}

func (h *Handler) health(w http.ResponseWriter, _ *http.Request) error {
	w.Write([]byte("OK"))
	return nil
}

// contextInfo is a context as the SDK knows it.
type contextInfo struct {
	ID       string `json:"id"`
	Language string `json:"language"`
	Cwd      string `json:"cwd"`
}

func (c *codeContext) info() contextInfo { return contextInfo{c.id, c.language, c.cwd} }

func (h *Handler) list(w http.ResponseWriter, _ *http.Request) error {
	infos := []contextInfo{}
	for _, c := range h.contexts.list() {
		infos = append(infos, c.info())
	}
	slices.SortFunc(infos, func(a, b contextInfo) int { return strings.Compare(a.ID, b.ID) })
	return writeJSON(w, http.StatusOK, infos)
}

func (h *Handler) create(w http.ResponseWriter, r *http.Request) error {
	var req struct {
		Language *string `json:"language"`
		Cwd      *string `json:"cwd"`
	}
	if err := readJSON(r, &req); err != nil {
		return err
	}
	language, err := languageOf(req.Language)
	if err != nil {
		return err
	}
	c, err := h.contexts.create("ctx_"+strings.ToLower(rand.Text()), language, req.Cwd)
	if err != nil {
		return err
	}
	if err := c.with(r.Context(), func(*engine.Session) error { return nil }); err != nil {
		return errors.Join(err, h.contexts.remove(c.id))
	}
	return writeJSON(w, http.StatusOK, c.info())
}

func (h *Handler) remove(w http.ResponseWriter, r *http.Request) error {
	if err := h.contexts.remove(r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// restart gives a context a new sandbox.
func (h *Handler) restart(w http.ResponseWriter, r *http.Request) error {
	c, err := h.contexts.find(r.PathValue("id"))
	if err != nil {
		return err
	}
	if err := c.restart(r.Context()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (h *Handler) interrupt(w http.ResponseWriter, r *http.Request) error {
	c, err := h.contexts.find(r.PathValue("id"))
	if err != nil {
		return err
	}
	c.interrupt()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// languages are the names that the SDK uses.
var languages = map[string]string{
	"python": engine.Python, "python3": engine.Python, "javascript": engine.JavaScript, "js": engine.JavaScript,
	"typescript": engine.TypeScript, "ts": engine.TypeScript,
}

func languageOf(name *string) (string, error) {
	if name == nil || *name == "" {
		return engine.Python, nil
	}
	if l := languages[strings.ToLower(*name)]; l != "" {
		return l, nil
	}
	return "", refuse(http.StatusBadRequest, "language %.40q is not offered: use python, javascript or typescript", *name)
}

// leaveGrace is how long a program whose client left may take to end by itself.
const leaveGrace = time.Second
