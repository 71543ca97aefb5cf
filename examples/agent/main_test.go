package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

func TestAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: needs the interpreter, which cloche setup makes")
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--file", "sales.csv=../../testdata/sales.csv", "Which", "region?"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"KeyError", "(ok, 1 tool calls)"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	lines := strings.SplitAfter(out.String(), "\n")
	shown, err := os.ReadFile("../README.md")
	if last := lines[len(lines)-2]; err != nil || !strings.Contains(string(shown), "```\n"+last+"```") {
		t.Errorf("examples/README.md does not end with %q, %v", last, err)
	}
	if err := run(t.Context(), []string{"a question without a file"}, &out); err == nil || !strings.Contains(err.Error(), "--file") {
		t.Errorf("error %v", err)
	}
}

// The API gets the whole talk, and its words come back.
func TestChat(t *testing.T) {
	var asked struct {
		Model    string
		Messages []message
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" || json.NewDecoder(r.Body).Decode(&asked) != nil {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"hello"}}]}`))
	}))
	defer s.Close()
	talk := []message{{"system", "a"}, {"user", "b"}}
	reply, err := (&chat{s.URL, "m", "k"}).next(context.Background(), talk)
	if err != nil || reply != "hello" || asked.Model != "m" || len(asked.Messages) != 2 {
		t.Errorf("%q, %v, asked %+v", reply, err, asked)
	}
	if _, err := (&chat{s.URL, "m", "wrong"}).next(context.Background(), talk); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("error %v", err)
	}
}
