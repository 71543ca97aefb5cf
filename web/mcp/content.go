package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
)

// maxLinks is how many changed files are linked to; the structured content has all.
const maxLinks = 50

// pictures are the types that clients show, the best first.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// render makes a tool result of what a run did. Each kind of output is a content block of its own, so that nothing that
// the guest prints can pass for something else. Pictures are image content; in the structured content their place has
// the index of that.
func render(s *session, res *engine.Result) (*sdk.CallToolResult, any, error) {
	out := &sdk.CallToolResult{IsError: res.Status != engine.StatusOK}
	add := func(title, text string) {
		if text != "" {
			out.Content = append(out.Content, &sdk.TextContent{Text: title + ":\n" + strings.ToValidUTF8(text, "\uFFFD")})
		}
	}
	out.Content = append(out.Content, &sdk.TextContent{Text: headline(s, res)})
	add("stdout", res.Stdout)
	add("stderr", res.Stderr)
	if e := res.Error; e != nil && e.Traceback != "" && !strings.Contains(res.Stderr, strings.TrimSpace(e.Traceback)) {
		add("traceback", e.Traceback)
	}
	plain := *res
	plain.Results = slices.Clone(res.Results)
	for i, d := range res.Results {
		if kind, data := picture(d); kind != "" {
			out.Content = append(out.Content, &sdk.ImageContent{MIMEType: kind, Data: data})
		} else if text := textOf(d); d.Main {
			add("value", text)
		} else {
			add("shown", text)
		}
		plain.Results[i] = withoutPictures(d, len(out.Content)-1)
	}
	addLinks(out, s, res)
	structured, err := json.Marshal(&plain)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the result: %w", err)
	}
	return out, json.RawMessage(structured), nil
}

// addAutopsy tells what the turn was doing when it was stopped. It is a help, so that one that cannot be had is left out.
func (c *connection) addAutopsy(ctx context.Context, s *session, out *sdk.CallToolResult) {
	about, err := s.run.Autopsy(ctx)
	if err != nil {
		return
	}
	out.Content = append(out.Content, &sdk.TextContent{Text: "stopped at:\n" + strings.ToValidUTF8(about.Text(), "\uFFFD")})
}

// headline is how the run went, in our words.
func headline(s *session, res *engine.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s after %s, exit code %d (session %s)", res.Status, res.Usage.Wall.Round(time.Millisecond), res.ExitCode, s.name)
	if e := res.Error; e != nil {
		fmt.Fprintf(&b, "\n%s: %s", e.Name, e.Value)
		if e.Line > 0 {
			fmt.Fprintf(&b, "\nat line %d", e.Line)
		}
		if e.Hint != "" {
			fmt.Fprintf(&b, "\nhint: %s", e.Hint)
		}
	}
	if res.RolledBack {
		b.WriteString("\nThe session is as it was before this call.")
	}
	if t := res.Truncated; t != nil {
		for _, cut := range []struct {
			what string
			cut  *engine.Cut
		}{{"stdout", t.Stdout}, {"stderr", t.Stderr}, {"shown values", t.Results}} {
			if cut.cut != nil {
				fmt.Fprintf(&b, "\n%s was cut: the first %d of %d bytes were kept.", cut.what, cut.cut.KeptBytes, cut.cut.TotalBytes)
			}
		}
	}
	for _, f := range res.FilesChanged {
		if f.Op == "deleted" {
			fmt.Fprintf(&b, "\ndeleted: %s", f.Path)
		}
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// picture is the form of d that a client can show as an image.
func picture(d hostfuncs.Display) (kind string, data []byte) {
	for _, kind := range pictures {
		if data, ok := d.Data[kind].([]byte); ok {
			return kind, data
		}
	}
	return "", nil
}

// textOf is the form of d that a model reads best.
func textOf(d hostfuncs.Display) string {
	for _, kind := range []string{"text/plain", "text/markdown", "text/latex", "image/svg+xml", "text/html"} {
		if text, ok := d.Data[kind].(string); ok {
			return text
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(d.Data)) {
		if raw, ok := d.Data[kind].(json.RawMessage); ok {
			return string(raw)
		}
	}
	return ""
}

// withoutPictures is d with the index of a content block in place of each binary form.
func withoutPictures(d hostfuncs.Display, content int) hostfuncs.Display {
	data := make(map[string]any, len(d.Data))
	for kind, v := range d.Data {
		if _, binary := v.([]byte); binary {
			v = map[string]int{"content_index": content}
		}
		data[kind] = v
	}
	d.Data = data
	return d
}

// addLinks adds a link to each file that is there after the run.
func addLinks(out *sdk.CallToolResult, s *session, res *engine.Result) {
	n := 0
	for _, f := range res.FilesChanged {
		if f.Op == "deleted" || n == maxLinks {
			continue
		}
		n++
		size := int64(f.Bytes)
		out.Content = append(out.Content, &sdk.ResourceLink{
			URI: uriOf(s.name, f.Path), Name: path.Base(f.Path), Description: f.Op + ": " + f.Path, MIMEType: f.MIME, Size: &size,
		})
	}
}
