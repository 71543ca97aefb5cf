package main

import (
	"context"
	"errors"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/hostfuncs/fetch"
	"github.com/cloche-dev/cloche/limits"
)

// shims give guests the suite's names for what Cloche calls otherwise. rt_fetch writes the frame itself, as a program would
// that owns its interpreter, and lets the host follow redirects.
var shims = map[string]string{
	engine.Python: `
def rt_door(data):
    import _host
    return _host.call(bytes(data))

def rt_tool(name, **arguments):
    if not name.isidentifier() or not hasattr(tools, name):
        import json
        head = json.dumps({"name": name, "arguments": arguments}).encode()
        reply = rt_door(b"\x11" + len(head).to_bytes(4, "little") + head)
        if reply[0]:
            raise RuntimeError(json.loads(reply[1:])["message"])
        return json.loads(reply[1:])
    return getattr(tools, name)(**arguments)

def rt_fetch(url, method="GET", headers=None, body=None):
    import json
    head = {"url": url, "method": method, "headers": [[k, v] for k, v in (headers or {}).items()]}
    body = b"" if body is None else body if isinstance(body, bytes) else str(body).encode("utf-8", "surrogatepass")
    if body:
        head["body"] = {"$bytes": len(body)}

    def ask(op, header, data=b""):
        text = json.dumps(header).encode()
        reply = rt_door(op + len(text).to_bytes(4, "little") + text + data)
        if reply[0]:
            raise OSError(json.loads(reply[1:])["message"])
        return reply[1:]

    reply = ask(b"\x12", head, body)
    end = 4 + int.from_bytes(reply[:4], "little")
    got, data = json.loads(reply[4:end]), [reply[end:]]
    while got.get("stream") and (part := ask(b"\x16", {"id": got["stream"], "max": 1 << 20})):
        data.append(part)
    return {"status": got["status"], "body": b"".join(data).decode("utf-8", "replace")}
`,
	engine.JavaScript: `
var rt_tool = (name, object) => Object.hasOwn(tools, name) ? tools[name](object) : Promise.reject(new TypeError("no tool " + name));
var rt_fetch = async (url, { method = "GET", headers = {}, body } = {}) => {
  const r = await fetch(url, { method, headers, body });
  return { status: r.status, body: await r.text() };
};
`,
}

// network is the case's allow-list.
func (r *request) network() (*fetch.Policy, error) {
	if len(r.Policy.FetchAllow) == 0 {
		return nil, nil
	}
	return fetch.FromPolicy(&limits.Network{
		Allow: r.Policy.FetchAllow, Private: r.Policy.FetchPrivate, Requests: r.Limits.FetchCalls,
	}, func(string) string { return "" })
}

// tools are those of the suite that the case asks for.
func (r *request) tools() (*hostfuncs.Registry, error) {
	if len(r.Policy.Tools) == 0 {
		return nil, nil
	}
	reg := &hostfuncs.Registry{MaxCalls: r.Limits.ToolCalls}
	var errs []error
	for _, name := range r.Policy.Tools {
		switch name {
		case "echo":
			type value struct {
				Value any `json:"value"`
			}
			errs = append(errs, hostfuncs.Register(reg, name, func(_ context.Context, in value) (any, error) { return in.Value, nil }))
		case "boom":
			errs = append(errs, hostfuncs.Register(reg, name, func(context.Context, struct{}) (any, error) {
				return nil, errors.New("open /etc/shadow: permission denied (tool.go:42)")
			}))
		case "nap":
			type nap struct {
				Seconds float64 `json:"seconds"`
			}
			// It does not heed its context: the run has to end all the same.
			errs = append(errs, hostfuncs.Register(reg, name, func(_ context.Context, in nap) (any, error) {
				time.Sleep(time.Duration(in.Seconds * float64(time.Second)))
				return nil, nil
			}))
		}
	}
	return reg, errors.Join(errs...)
}
