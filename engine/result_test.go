package engine_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

// TestErr asks Results of every status for their error, those that were read from JSON too, which hold nothing beside it.
func TestErr(t *testing.T) {
	for _, tt := range []struct {
		status engine.Status
		text   string
	}{
		{engine.StatusOK, ""},
		{engine.StatusError, "ValueError: no"},
		{engine.StatusTimeout, "the run ended with status timeout"},
		{engine.StatusOutOfFuel, "the run ended with status out_of_fuel"},
		{engine.StatusOutOfMemory, "the run ended with status out_of_memory"},
		{engine.StatusCancelled, "cancelled"},
		{engine.StatusTrapped, "the run ended with status trapped"},
		{engine.StatusRefused, "refused"},
		{engine.StatusSuspended, engine.ErrSuspended.Error()},
	} {
		var res engine.Result
		if err := json.Unmarshal([]byte(`{"status": "`+string(tt.status)+`", "error": {"name": "ValueError", "value": "no"}}`), &res); err != nil {
			t.Fatal(err)
		}
		text := ""
		if err := res.Err(); err != nil {
			text = err.Error()
		}
		if text != tt.text {
			t.Errorf("%s: %q, want %q", tt.status, text, tt.text)
		}
	}
	res := run(t, engine.Job{Language: engine.JavaScript, Code: "eval('1')", Review: limits.Review{Deny: []string{"eval"}}})
	if err := res.Err(); res.Status != engine.StatusRefused || !errors.Is(err, engine.ErrRefused) {
		t.Errorf("%s: Err() is %v", res.Status, err)
	}
}
