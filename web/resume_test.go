package web_test

import (
	"fmt"
	"testing"

	"github.com/cloche-dev/cloche/web"
)

// TestResume: a turn that waits for the result of a deferred tool is suspended, and goes on in the next process.
func TestResume(t *testing.T) {
	tools := []object{{"name": "approve", "deferred": true}}
	for language, code := range map[string]string{
		"python":     "rows = list(range(1000))\nprint('asking')\na = await tools.approve.aio(amount=len(rows))\nb = await tools.approve.aio(amount=2)\nprint(a['by'], b, len(rows))",
		"javascript": "const rows = Array(1000).fill(0); console.log('asking'); const a = await tools.approve({ amount: rows.length });\nconst b = await tools.approve({ amount: 2 }); console.log(a.by, b, rows.length)",
	} {
		t.Run(language, func(t *testing.T) {
			dir := t.TempDir() + "/store"
			var path, call string
			life(t, dir, func(s *server) {
				path = s.session(object{"language": language, "tools": tools, "idle_timeout_s": 1})
				res := s.execute(path+"/execute", object{"code": code}, "suspended")
				if len(res.PendingCalls) != 1 || res.PendingCalls[0].Name != "approve" || string(res.PendingCalls[0].Arguments) != `{"amount":1000}` || res.Stdout != "asking\n" {
					t.Errorf("%+v", res)
				}
				call = res.PendingCalls[0].ID
				s.do("POST", path+"/execute", object{"code": "1"}).mustFail(409, "suspended", "resume or cancel it")
			})
			life(t, dir, func(s *server) {
				var info web.SessionInfo
				s.do("GET", path, nil).must(200, &info)
				if len(info.PendingCalls) != 1 || info.PendingCalls[0].ID != call {
					t.Errorf("%+v", info)
				}
				s.do("POST", path+"/resume", object{"results": []object{{"call_id": "call_x", "result": 1}}}).mustFail(409, "conflict", "no such call waits")
				s.do("POST", path+"/resume", object{"results": []object{}}).mustFail(400, "invalid_request", "no results")
				s.do("POST", path+"/resume", object{"results": []object{{"call_id": call, "result": 1, "error": object{"message": "x"}}}}).mustFail(400, "invalid_request", "give one of them")
				s.do("POST", path+"/resume", object{"results": []object{{"call_id": call}}}).mustFail(400, "invalid_request", "neither a result nor an error")
				s.key = otherKey
				s.do("POST", path+"/resume", object{"results": []object{{"call_id": call, "result": 1}}}).mustFail(404, "not_found", "session")
				s.key = secret
				body := object{"results": []object{{"call_id": call, "result": object{"by": "Ada"}}}}
				var first, again result
				s.do("POST", path+"/resume", body, "Idempotency-Key: once").must(200, &first)
				s.do("POST", path+"/resume", body, "Idempotency-Key: once").must(200, &again)
				if first.Status != "suspended" || len(first.PendingCalls) != 1 || again.ID != first.ID {
					t.Errorf("%+v, then %+v", first, again)
				}
				s.do("POST", path+"/resume", body).mustFail(409, "conflict", "no such call waits")
				var forks web.SessionList
				s.do("POST", path+"/fork", object{"count": 1}).must(201, &forks)
				call = first.PendingCalls[0].ID
				st := s.stream("POST", path+"/resume", object{"results": []object{{"call_id": call, "error": object{"message": "x"}}}}, "Accept: text/event-stream")
				if e := st.until("end"); e.Result.Status != "error" || e.Result.Error.Value != "x" {
					t.Errorf("%+v", e.Result)
				}
				fork := "/v1/sessions/" + forks.Sessions[0].ID
				k, _, err := s.socket(fork, bearer(secret))
				if err != nil {
					t.Fatal(err)
				}
				k.send(object{"type": "resume", "results": []object{{"call_id": call, "result": true}}})
				e := k.next()
				for e.Type != "end" {
					e = k.next()
				}
				if want := map[string]string{"python": "Ada True 1000\n", "javascript": "Ada true 1000\n"}[language]; e.Result.Stdout != want || e.Result.Status != "ok" {
					t.Errorf("%+v", e.Result)
				}
				s.do("POST", fork+"/resume", object{"cancel": true}).mustFail(409, "conflict", "not suspended")
				call = s.execute(fork+"/execute", object{"code": code}, "suspended").PendingCalls[0].ID
				if res := s.execute(fork+"/resume", object{"cancel": true}, "cancelled"); res.RolledBack {
					t.Errorf("%+v", res)
				}
				s.execute(fork+"/execute", object{"code": "rows"}, "ok")
				if language == "python" { // a call that blocks: the turn is run again
					res := s.execute(fork+"/execute", object{"code": "print('asking')\nprint(tools.approve(amount=3), len(rows))"}, "suspended")
					if !res.RolledBack || len(res.PendingCalls) != 1 {
						t.Errorf("%+v", res)
					}
					res = s.execute(fork+"/resume", object{"results": []object{{"call_id": res.PendingCalls[0].ID, "result": true}}}, "ok")
					if res.Stdout != "asking\nTrue 1000\n" {
						t.Errorf("%+v", res)
					}
				}
			})
		})
	}
	s := serve(t, nil)
	s.do("POST", "/v1/execute", object{"code": "1", "tools": tools}, "Accept: text/event-stream").mustFail(400, "invalid_request", "tools[0] is deferred")
}

// TestListOfSuspended: what programs have given their calls is not in a list, which would be as large as all of it together.
func TestListOfSuspended(t *testing.T) {
	s := serve(t, nil)
	path := s.session(object{"language": "javascript", "tools": []object{{"name": "approve", "deferred": true}}})
	call := s.execute(path+"/execute", object{"code": "await tools.approve({ text: 'x'.repeat(100_000) })"}, "suspended").PendingCalls[0]
	var lists [2]web.SessionList
	s.do("GET", "/v1/sessions", nil).must(200, &lists[0])
	s.do("POST", path+"/fork", object{"count": 1}).must(201, &lists[1])
	for _, list := range lists {
		if len(list.Sessions) != 1 || len(list.Sessions[0].PendingCalls) != 1 {
			t.Fatalf("%+v", list)
		}
		if c := list.Sessions[0].PendingCalls[0]; c.ID != call.ID || c.Name != "approve" || c.Arguments != nil {
			t.Errorf("%.100v", c)
		}
	}
	var info web.SessionInfo
	s.do("GET", path, nil).must(200, &info)
	if len(info.PendingCalls) != 1 || len(info.PendingCalls[0].Arguments) < 100_000 {
		t.Errorf("%.100v", info)
	}
}

// TestSuspendedIsNotIdle: a suspended session waits longer than one that nobody uses, but not for ever.
func TestSuspendedIsNotIdle(t *testing.T) {
	s := serve(t, nil)
	for _, lifetime := range []float64{60, 3} {
		path := s.session(object{"language": "javascript", "tools": []object{{"name": "approve", "deferred": true}}})
		call := s.execute(path+"/execute", object{"code": "await tools.approve()"}, "suspended").PendingCalls[0].ID
		s.do("PATCH", path, object{"idle_timeout_s": 1, "max_lifetime_s": lifetime}).must(200, nil)
		idle := s.session(object{"language": "javascript", "idle_timeout_s": 1})
		eventually(t, "the idle session is gone", func() bool { return s.do("GET", idle, nil).status == 410 })
		if lifetime > 10 {
			s.execute(path+"/resume", object{"results": []object{{"call_id": call, "result": nil}}}, "ok")
			continue
		}
		eventually(t, fmt.Sprintf("a session of %g s is gone", lifetime), func() bool { return s.do("GET", path, nil).status == 410 })
	}
}
