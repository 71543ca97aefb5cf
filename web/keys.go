package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/hostfuncs/mailbox"
	"github.com/cloche-dev/cloche/limits"
)

// Key is someone who may use the server: the hash of a secret, and what its bearer may do. It is not changed once a
// server has it.
type Key struct {
	// Name stands for the key in logs and audits. It is not secret.
	Name string
	// Hash is [HashKey] of the secret.
	Hash KeyHash
	// Admin keys see metrics, the audit of all keys, and profiles.
	Admin bool
	// Policy is what the key's programs may do.
	Policy Policy

	// Of a server's keys, each of which has its own:
	mailbox  *mailbox.Hub
	offered  *hostfuncs.Registry // what its policy leaves of the server's tools
	together *hostfuncs.Registry // these, and the tools of all channels; nil if there are none
	shared   []engine.SharedMount
}

// Together is all that the policy of a server's key offers to programs: the server's tools and those of its channels, nil if there
// are none, and its shared folders. What comes by other ways than requests of the API meets there, too.
func (k *Key) Together() (*hostfuncs.Registry, []engine.SharedMount) { return k.together, k.shared }

// meet makes the channels and folders of the key, whose policy was checked.
func (k *Key) meet() (err error) {
	if k.mailbox, err = mailbox.New(k.Policy.Mailbox...); err != nil {
		return err
	}
	if k.together, err = k.offered.Select(nil); err != nil {
		return err
	}
	if err = k.mailbox.Offer(k.together, nil); err != nil {
		return err
	}
	if k.together.Empty() {
		k.together = nil
	}
	k.shared, err = engine.NewSharedFolders(k.Policy.Shared)
	return err
}

// KeyHash is a SHA-256 hash. Keys are long and random, so that nothing slower is needed to keep them from being guessed.
type KeyHash [sha256.Size]byte

// HashKey is how secrets are kept.
func HashKey(secret string) KeyHash { return sha256.Sum256([]byte(secret)) }

// Policy is what the programs of a key may do. A request can only narrow it.
type Policy struct {
	// Name is what the configuration calls it, for the audit. Empty: it has no name.
	Name string
	// Limits are those of a request that does not say otherwise; fields that are zero are limits.Default's.
	Limits limits.Limits
	// Max is the most that a request may ask for; fields that are zero are those of [DefaultMax].
	Max limits.Limits
	// MaxRuns and MaxSessions are how many of the key's programs run, and sessions live, at once. Zero: as many as the
	// server has.
	MaxRuns, MaxSessions int
	// Network is what may be reached at most. Nil: nothing.
	Network *fetch.Policy
	// Mailbox are channels of messages between the key's programs that a request may ask for.
	Mailbox []limits.Channel
	// Shared are folders in memory that the key's programs share, as far as a request asks for them.
	Shared []limits.Shared
	// Tools are those of the server's tools that programs may call, by their names or their namespaces. Nil: all of them.
	Tools []string
	// Packages are Python packages that programs can import besides those that are always there.
	Packages []string
	// Review is what programs may not use; see engine.Options.
	Review limits.Review
	// Mounts are folders of the host that a session may ask for, by their guest paths.
	Mounts map[string]limits.Mount
	// Autopsy is how long a program that had to be stopped can be asked what it was doing, where a request does not say, up to
	// limits.MaxAutopsy. Zero: it cannot.
	Autopsy time.Duration
	// Env are variables of every program's environment; a request's own come over them.
	Env map[string]string
}

// DefaultMax is the most that requests may ask for where a policy does not say.
func DefaultMax() limits.Limits {
	return limits.Limits{
		Fuel: 1e15, Timeout: time.Hour, MemoryBytes: 4 << 30, OutputBytes: 64 << 20, ResultBytes: 256 << 20,
		DiskBytes: 8 << 30, Inodes: 1_000_000, OpenFiles: 4096, HostCalls: 1_000_000,
	}.WithDefaults()
}

func (p Policy) withDefaults() Policy {
	p.Max = p.Max.Or(DefaultMax())
	p.Limits = p.Limits.WithDefaults().AtMost(p.Max)
	return p
}

func (k *Key) check() error {
	var errs []error
	if k.Name == "" || strings.ContainsAny(k.Name, "\r\n") {
		errs = append(errs, fmt.Errorf("key name %q: it must be one line of text", k.Name))
	}
	if k.Hash == (KeyHash{}) || k.Hash == HashKey("") {
		errs = append(errs, fmt.Errorf("key %q has no hash of a secret", k.Name))
	}
	p := k.Policy.withDefaults()
	errs = append(errs, p.Limits.Validate(), p.Max.Validate(), p.Network.Check(), (&Key{Policy: p}).meet())
	if p.MaxRuns < 0 || p.MaxSessions < 0 {
		errs = append(errs, fmt.Errorf("key %q: a number of runs or sessions is negative", k.Name))
	}
	for name, value := range p.Env {
		errs = append(errs, limits.CheckEnv(name, value))
	}
	return errors.Join(errs...)
}

// keyring finds keys by their secret.
type keyring []*Key

// find takes the same time whichever key it is, or none.
func (r keyring) find(secret string) *Key {
	hash := HashKey(secret)
	var found *Key
	for _, k := range r {
		if subtle.ConstantTimeCompare(hash[:], k.Hash[:]) == 1 {
			found = k
		}
	}
	if secret == "" {
		return nil
	}
	return found
}

// bearer is the secret that a request shows, or "".
func bearer(r *http.Request) string {
	const scheme = "Bearer "
	h := r.Header["Authorization"]
	if len(h) == 0 && r.Header.Get("Upgrade") != "" { // a page cannot give a WebSocket a header
		for _, p := range subprotocols(r) {
			if encoded, ok := strings.CutPrefix(p, bearerProtocol); ok {
				b, _ := base64.RawURLEncoding.DecodeString(encoded)
				return string(b)
			}
		}
	}
	if len(h) != 1 || len(h[0]) < len(scheme) || !strings.EqualFold(h[0][:len(scheme)], scheme) {
		return ""
	}
	return h[0][len(scheme):]
}

// subprotocols are those that a WebSocket's client asks for.
func subprotocols(r *http.Request) (out []string) {
	for _, list := range r.Header["Sec-Websocket-Protocol"] {
		for p := range strings.SplitSeq(list, ",") {
			out = append(out, strings.TrimSpace(p))
		}
	}
	return out
}

type keyContext struct{}

// KeyFrom is the key of the request whose context ctx is, or nil.
func KeyFrom(ctx context.Context) *Key {
	k, _ := ctx.Value(keyContext{}).(*Key)
	return k
}

func withKey(ctx context.Context, k *Key) context.Context {
	return context.WithValue(ctx, keyContext{}, k)
}
