package workers

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"

	"github.com/cloche-dev/cloche/web"
)

// news is what a worker has to say, in a line of JSON: one of these.
type news struct {
	Ready *string   `json:"ready,omitempty"` // it takes requests, behind this wall
	Ran   *web.Ran  `json:"ran,omitempty"`
	Load  *web.Load `json:"load,omitempty"`
	codeNews
}

// codeNews is the program of the run that is told of next, where the operator wants it in the audit.
type codeNews struct {
	Code *string `json:"code,omitempty"`
}

// Bounds of a line. Of a longer one than maxNews nothing but a program is read: JSON makes a hundred bytes of three, where
// they are the empty elements of a list.
const (
	maxNews = 1 << 20
	maxCode = 64 << 20
)

var errNews = errors.New("it tells more at once than there is to tell")

// hear calls each for all that a worker says, until that ends. It is not trusted. Where programs are not wanted a run has none.
func hear(from io.Reader, wantCode bool, each func(news)) error {
	lines := bufio.NewScanner(from)
	most := maxNews
	if wantCode {
		most = maxCode
	}
	lines.Buffer(nil, most)
	code := ""
	for lines.Scan() {
		var n news
		var into any = &n
		if len(lines.Bytes()) >= maxNews {
			into = &n.codeNews
		}
		if err := json.Unmarshal(lines.Bytes(), into); err != nil {
			return err
		}
		switch {
		case n.Code != nil:
			code = *n.Code
			continue
		case len(lines.Bytes()) >= maxNews:
			return errNews
		case n.Ran != nil:
			n.Ran.Record.Code = ""
			if wantCode {
				n.Ran.Record.Code = code
			}
			code = ""
		}
		each(n)
	}
	return lines.Err()
}

// lines are what a worker says of a run. A program that is too long is left out, and so are calls that are.
func lines(r web.Ran) ([]byte, error) {
	var all []byte
	add := func(n news, most int) (bool, error) {
		b, err := json.Marshal(n)
		if err != nil || len(b) >= most {
			return false, err
		}
		all = append(append(all, b...), '\n')
		return true, nil
	}
	if code := r.Record.Code; code != "" {
		r.Record.Code = ""
		if _, err := add(news{codeNews: codeNews{&code}}, maxCode); err != nil {
			return nil, err
		}
	}
	ok, err := add(news{Ran: &r}, maxNews)
	if !ok && err == nil {
		r.Record.ToolCalls, r.Record.HTTPRequests = nil, nil
		_, err = add(news{Ran: &r}, maxNews)
	}
	return all, err
}
