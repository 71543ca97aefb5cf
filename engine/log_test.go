package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
)

func TestLog(t *testing.T) {
	var out bytes.Buffer
	eng, err := engine.New(engine.Config{Logger: slog.New(slog.NewJSONHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	res, err := eng.Run(context.Background(), engine.Job{Language: engine.JavaScript, Code: "console.log('private'); throw new Error('private')"})
	if err != nil {
		t.Fatal(err)
	}
	if err := eng.Close(); err != nil {
		t.Error(err)
	}
	var record struct {
		Msg, Level, Run, Language, Status string
		Fuel, Wall                        uint64
		PrivateBytes                      uint64 `json:"private_bytes"`
	}
	if err := json.Unmarshal(out.Bytes(), &record); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if record.Msg != "turn" || record.Level != "INFO" || record.Run != res.ID || record.Language != "javascript" || record.Status != "error" ||
		record.Fuel != res.Usage.Fuel || record.Wall == 0 || record.PrivateBytes == 0 {
		t.Errorf("record %+v", record)
	}
	if strings.Contains(out.String(), "private'") || strings.Contains(out.String(), "Error") {
		t.Errorf("the log has the program's words: %s", out.String())
	}
}
