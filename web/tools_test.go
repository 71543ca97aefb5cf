package web_test

import (
	"strings"
	"testing"
)

func TestTools(t *testing.T) {
	s := serve(t, nil)
	tools := []object{{"name": "lookup", "description": "Looks a name up.", "input_schema": object{"type": "object", "properties": object{"name": object{"type": "string"}}, "required": []string{"name"}}}}
	const code = "from tools import lookup\nprint(lookup(name='Ann')['age'])\ntry:\n  lookup(name='Bob')\nexcept Exception as e:\n  print(e)"
	answer := func(next func() event, reply func(id string, body object)) event {
		t.Helper()
		for {
			e := next()
			switch {
			case e.Type == "end":
				return e
			case e.Type == "tool_call" && e.Outcome == "pending" && e.Arguments["name"] == "Ann":
				reply(e.CallID, object{"result": object{"age": 42}})
			case e.Type == "tool_call" && e.Outcome == "pending":
				reply(e.CallID, object{"error": object{"message": "nobody of that name"}})
			}
		}
	}
	st := s.stream("POST", "/v1/execute", object{"code": code, "tools": tools}, "Accept: text/event-stream")
	id := st.until("start").ExecutionID
	e := answer(func() event { e, _ := st.next(); return e }, func(call string, body object) {
		s.do("POST", "/v1/executions/"+id+"/tool_results", object{"call_id": call}).mustFail(400, "invalid_request", "neither a result nor an error")
		body["call_id"] = call
		if r := s.do("POST", "/v1/executions/"+id+"/tool_results", body); r.status != 204 {
			t.Errorf("result: %d %s", r.status, r.body)
		}
		s.do("POST", "/v1/executions/"+id+"/tool_results", body).mustFail(404, "not_found", "waits")
	})
	if !strings.HasPrefix(e.Result.Stdout, "42\n") || !strings.Contains(e.Result.Stdout, "nobody of that name") || len(e.Result.ToolCalls) != 2 {
		t.Errorf("%+v", e.Result)
	}

	p := s.session(object{"tools": tools})
	k, _, err := s.socket(p, bearer(secret))
	if err != nil {
		t.Fatal(err)
	}
	k.send(object{"type": "execute", "code": code})
	e = answer(k.next, func(call string, body object) {
		body["type"], body["call_id"] = "tool_result", call
		k.send(body)
	})
	if !strings.HasPrefix(e.Result.Stdout, "42\n") {
		t.Errorf("%+v", e.Result)
	}

	s.do("POST", "/v1/execute", object{"code": "1", "tools": tools}).mustFail(400, "invalid_request", "need a stream")
	s.do("POST", "/v1/execute", object{"code": "1", "tools": []object{{"name": "1"}}}, "Accept: text/event-stream").mustFail(400, "invalid_request", "tools[0]")
}
