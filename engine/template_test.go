package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cloche-dev/cloche/engine"
)

func TestTemplate(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct{ name, language, setup, use, want string }{
		{"test-python", "python", "import random, numpy as np\nr = random.Random(); g = np.random.default_rng()\nclass Rates:\n  of = {'a': 2}\nopen('table.csv', 'w').write('x\\n1\\n')",
			"print(Rates.of['a'], open('table.csv').read().split()); Rates.of['a'] = 3; open('table.csv', 'w').write('gone')\nprint(random.random(), r.random(), g.random())", "2 ['x', '1']\n"},
		{"test-js", "javascript", "const rates = {a: 2}; require('fs').writeFileSync('table.csv', 'x 1')",
			"console.log(rates.a, require('fs').readFileSync('table.csv', 'utf8')); rates.a = 3; require('fs').writeFileSync('table.csv', 'gone'); console.log(Math.random())", "2 x 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := testEngine(t)
			res, err := e.BuildTemplate(ctx, tt.name, engine.Options{Language: tt.language}, engine.Turn{Code: tt.setup})
			if err != nil || res.Status != engine.StatusOK {
				t.Fatalf("build: %v, %+v", err, res)
			}
			defer func() {
				if err := e.RemoveTemplate(tt.name); err != nil {
					t.Error(err)
				}
				if err := e.RemoveTemplate(tt.name); !errors.Is(err, engine.ErrNoTemplate) {
					t.Errorf("removed twice: %v", err)
				}
			}()
			drawn := map[string]bool{}
			for range 4 { // some of them in an instance that was used
				res := run(t, engine.Job{Language: tt.language, Template: tt.name, Code: tt.use})
				rest, ok := strings.CutPrefix(res.Stdout, tt.want)
				if !ok {
					t.Errorf("stdout %q, want %q (%+v)", res.Stdout, tt.want, res.Error)
				}
				for _, number := range strings.Fields(rest) {
					if drawn[number] {
						t.Errorf("%s was drawn twice", number)
					}
					drawn[number] = true
				}
			}
			s := open(t, engine.Options{Language: tt.language, Template: tt.name})
			if res := turn(t, s, engine.Turn{Code: tt.use}); !strings.HasPrefix(res.Stdout, tt.want) {
				t.Errorf("session: %q", res.Stdout)
			}
			back := restored(t, e, written(t, s))
			if res := turn(t, back, engine.Turn{Code: strings.Split(tt.use, ";")[0]}); !strings.HasPrefix(res.Stdout, "3") {
				t.Errorf("restored session: %q (%+v)", res.Stdout, res.Error)
			}
			list, err := e.Templates()
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, l := range list {
				found = found || l.Name == tt.name && l.Language == tt.language && l.Problem == "" && l.MemoryBytes > 0
			}
			if !found {
				t.Errorf("templates %+v", list)
			}
			other := map[string]string{"python": "javascript", "javascript": "python"}[tt.language]
			if _, err := e.Run(ctx, engine.Job{Language: other, Template: tt.name, Code: "1"}); !errors.Is(err, engine.ErrInvalid) {
				t.Errorf("in the other language: %v", err)
			}
		})
	}
	e := testEngine(t)
	if res, err := e.BuildTemplate(ctx, "test-bad", engine.Options{}, engine.Turn{Code: "1/0"}); err != nil || res.Status != engine.StatusError {
		t.Errorf("a program that fails: %v, %+v", err, res)
	}
	if _, err := e.Run(ctx, engine.Job{Template: "test-bad", Code: "1"}); !errors.Is(err, engine.ErrNoTemplate) || !errors.Is(err, engine.ErrInvalid) {
		t.Errorf("a template that was not made: %v", err)
	}
	for _, name := range []string{"../x", "A", "", strings.Repeat("a", 64), "a.b"} {
		if _, err := e.BuildTemplate(ctx, name, engine.Options{}, engine.Turn{Code: "1"}); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("name %q: %v", name, err)
		}
	}
}
