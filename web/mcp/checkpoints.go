package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloche-dev/cloche/engine"
)

// maxCheckpoints is how many a session keeps; the oldest one makes room. Each holds what the session changed since the
// one before.
const maxCheckpoints = 16

// checkpoint is a state of a session, under the name that the client knows.
type checkpoint struct {
	name string
	runs int
	snap *engine.Snapshot
}

type checkpointInput struct {
	Name      string `json:"name,omitempty" jsonschema:"What to call the checkpoint; one of that name is replaced. Default: a number."`
	SessionID string `json:"session_id,omitempty" jsonschema:"The session. Default: the one used last."`
}

type rollbackInput struct {
	Name      string `json:"name,omitempty" jsonschema:"The checkpoint to go back to. Default: the last one."`
	SessionID string `json:"session_id,omitempty" jsonschema:"The session. Default: the one used last."`
}

type checkpointOutput struct {
	SessionID   string   `json:"session_id"`
	Name        string   `json:"name" jsonschema:"the checkpoint made, or gone back to"`
	Checkpoints []string `json:"checkpoints" jsonschema:"all of the session, oldest first"`
}

func (c *connection) addCheckpoints(s *sdk.Server) {
	no, yes := false, true
	sdk.AddTool(s, &sdk.Tool{
		Name: "checkpoint", Title: "Make a checkpoint",
		Description: "Keep a session's state, variables and files, to come back to it with rollback: before a step that may go wrong, or to try several ways from one point.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no},
	}, c.checkpoint)
	sdk.AddTool(s, &sdk.Tool{
		Name: "rollback", Title: "Roll back",
		Description: "Make a session what it was at a checkpoint: variables, imports and files. The checkpoint stays.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes, IdempotentHint: true, OpenWorldHint: &no},
	}, c.rollback)
}

func (c *connection) checkpoint(ctx context.Context, _ *sdk.CallToolRequest, in checkpointInput) (*sdk.CallToolResult, checkpointOutput, error) {
	if in.Name != "" && !sessionName.MatchString(in.Name) {
		return nil, checkpointOutput{}, fmt.Errorf("name %.80q: use up to 64 letters, digits, - and _", in.Name)
	}
	s, release, err := c.forFiles(ctx, in.SessionID, false)
	if err != nil {
		return nil, checkpointOutput{}, err
	}
	defer release()
	snap, err := s.run.Snapshot(ctx)
	if err != nil {
		return nil, checkpointOutput{}, c.lost(s, err)
	}
	s.made++
	if in.Name == "" {
		in.Name = fmt.Sprint(s.made)
	}
	var errs []error
	keep := s.checkpoints[:0]
	for i, old := range s.checkpoints {
		if old.name == in.Name || len(s.checkpoints)-i >= maxCheckpoints {
			errs = append(errs, old.snap.Close())
			continue
		}
		keep = append(keep, old)
	}
	s.checkpoints = append(keep, checkpoint{in.Name, s.runs, snap})
	return nil, s.checkpointed(in.Name), errors.Join(errs...)
}

func (c *connection) rollback(ctx context.Context, _ *sdk.CallToolRequest, in rollbackInput) (*sdk.CallToolResult, checkpointOutput, error) {
	s, release, err := c.forFiles(ctx, in.SessionID, false)
	if err != nil {
		return nil, checkpointOutput{}, err
	}
	defer release()
	if len(s.checkpoints) == 0 {
		return nil, checkpointOutput{}, fmt.Errorf("session %s has no checkpoint to go back to", s.name)
	}
	i := len(s.checkpoints) - 1
	if in.Name != "" {
		if i = slices.IndexFunc(s.checkpoints, func(p checkpoint) bool { return p.name == in.Name }); i < 0 {
			return nil, checkpointOutput{}, fmt.Errorf("session %s has no checkpoint %.80q: there are %s", s.name, in.Name, orNone(s.names()))
		}
	}
	to := s.checkpoints[i]
	restored, err := c.cfg.Engine.Restore(ctx, to.snap)
	if err != nil {
		return nil, checkpointOutput{}, err
	}
	old := s.run
	s.run, s.runs = restored, to.runs
	return nil, s.checkpointed(to.name), old.Close()
}

func (s *session) names() []string {
	names := []string{}
	for _, p := range s.checkpoints {
		names = append(names, p.name)
	}
	return names
}

func (s *session) checkpointed(name string) checkpointOutput {
	return checkpointOutput{SessionID: s.name, Name: name, Checkpoints: s.names()}
}

// dropCheckpoints frees them. Preconditions: the turn is held.
func (s *session) dropCheckpoints() error {
	var errs []error
	for _, p := range s.checkpoints {
		errs = append(errs, p.snap.Close())
	}
	s.checkpoints = nil
	return errors.Join(errs...)
}
