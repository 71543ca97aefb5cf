package web

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// Sessions of an engine with a store go on in the next process. What the server knows of one is in a label of it.

// label is the name of the server's label.
const label = "cloche.server"

// labelled is what is kept of a session.
type labelled struct {
	Key string `json:"key"`
	// What was asked for; the policy is that of today.
	Network *Network       `json:"network,omitempty"`
	Tools   []ToolSpec     `json:"tools,omitempty"`
	Mounts  []MountRequest `json:"mounts,omitempty"`

	Mailbox  map[string]limits.ChannelMode `json:"mailbox,omitempty"`
	Shared   map[string]limits.SharedMode  `json:"shared,omitempty"`
	Idle     time.Duration                 `json:"idle"`
	Lifetime time.Duration                 `json:"lifetime"`
	Metadata map[string]string             `json:"metadata,omitempty"`
}

// labels are those of a session that is about to be made.
func (sn *session) labels(req *SessionRequest) (map[string]string, error) {
	b, err := json.Marshal(labelled{Key: sn.key.Name, Network: req.Network, Tools: req.Tools, Mounts: req.Mounts, Mailbox: req.Mailbox, Shared: req.Shared, Idle: sn.idle, Lifetime: sn.lifetime, Metadata: sn.metadata})
	return map[string]string{label: string(b)}, err
}

// comeBack offers the sessions of an earlier process again. Those whose key is gone stay in the store.
func (s *Server) comeBack(ctx context.Context) {
	for _, info := range s.cfg.Engine.Sessions() {
		if !info.Stored {
			continue
		}
		sn, err := s.stored(ctx, info)
		if err != nil {
			s.log(slog.LevelWarn, "operation", "a stored session is not offered", slog.String("session", info.ID), slog.String("why", err.Error()))
			continue
		}
		if sn == nil {
			continue
		}
		if err := s.sessions.enter(sn.key); err != nil {
			s.log(slog.LevelWarn, "resource", "a stored session is not offered", slog.String("session", info.ID), slog.String("why", err.Error()))
			continue
		}
		s.sessions.add(sn)
	}
}

// stored is a session of an earlier process, or nil for one that is not ours.
func (s *Server) stored(ctx context.Context, info engine.SessionInfo) (*session, error) {
	text := info.Labels[label]
	if text == "" {
		return nil, nil
	}
	var l labelled
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return nil, err
	}
	k := s.keys.named(l.Key)
	if k == nil {
		return nil, invalidf("its key %s is not there any more", quoted(l.Key))
	}
	network, err := l.Network.narrow(k.Policy.Network)
	if err != nil {
		return nil, err
	}
	tools, err := k.tools(l.Tools, l.Mailbox)
	if err != nil {
		return nil, err
	}
	shared, err := k.sharedMounts(l.Shared)
	if err != nil {
		return nil, err
	}
	mounts, err := k.Policy.mounts(l.Mounts)
	if err != nil {
		return nil, err
	}
	var o engine.Options
	eng, err := s.cfg.Engine.Session(ctx, info.ID, func(own *engine.Options) {
		own.Network, own.Tools, own.Shared, own.Mounts, own.Owner = network, tools, shared, mounts, k.Name
		own.Limits, own.Review = own.Limits.AtMost(k.Policy.Max), k.Policy.Review
		o = *own
	})
	if err != nil {
		return nil, err
	}
	return &session{
		id: info.ID, key: k, language: info.Language, limits: o.Limits.Or(k.Policy.Limits), network: network != nil, created: info.Created, eng: eng,
		use: make(chan struct{}, 1), used: time.Now(), idle: l.Idle, lifetime: l.Lifetime, metadata: l.Metadata,
	}, nil
}

func (r keyring) named(name string) *Key {
	for _, k := range r {
		if k.Name == name {
			return k
		}
	}
	return nil
}
