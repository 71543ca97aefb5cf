// Command agent is a small agent whose one way to act is to run Python in a sandbox. The model writes code; what the code
// printed, or why it failed, goes back to the model, until it answers without code.
//
//	make setup  # once
//	go run ./examples/agent --file sales.csv=testdata/sales.csv "Which region sold most, in euros?"
//
// Without --api the model is a script, so that the example runs offline and its test always sees the same. With it, it is
// a chat API of the usual shape: --api URL --model NAME, and the key in the environment variable AGENT_API_KEY.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	api := flags.String("api", "", "URL of a chat completions API; without it, a script answers")
	name := flags.String("model", "", "name of the model behind the API")
	file := flags.String("file", "", "GUEST=HOST: a file for the program")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *api == "" && *file == "" {
		return errors.New("without --api the model is a script about sales: give it --file sales.csv=testdata/sales.csv")
	}
	var options engine.Options
	if guest, host, ok := strings.Cut(*file, "="); ok {
		content, err := os.ReadFile(host)
		if err != nil {
			return err
		}
		options.Files = []engine.File{{Path: guest, Content: content}}
	}
	if options.Tools, err = offered(); err != nil {
		return err
	}
	var m model = &script{}
	if *api != "" {
		m = &chat{url: *api, name: *name, key: os.Getenv("AGENT_API_KEY")}
	}
	eng, err := engine.New(engine.Config{Limits: limits.Limits{Timeout: 30 * time.Second, MemoryBytes: 1 << 30}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	session, err := eng.Open(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	answer, err := solve(ctx, m, session, prompt(options.Tools), strings.Join(flags.Args(), " "), out)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, answer)
	return nil
}

// offered are the functions of this program that the model's code may call.
func offered() (*hostfuncs.Registry, error) {
	reg := &hostfuncs.Registry{MaxCalls: 100}
	type pair struct {
		From string `json:"from" jsonschema:"ISO 4217 code"`
		To   string `json:"to" jsonschema:"ISO 4217 code"`
	}
	rates := map[pair]float64{{"USD", "EUR"}: 0.5} // a round one, to be seen in the answer
	err := hostfuncs.Register(reg, "exchange_rate", func(_ context.Context, p pair) (float64, error) {
		rate, ok := rates[p]
		if !ok {
			return 0, hostfuncs.Refuse("KeyError", "no rate from %s to %s", p.From, p.To)
		}
		return rate, nil
	}, hostfuncs.Description("How much of one currency a unit of another is worth today."))
	return reg, err
}

// prompt tells the model what it can do. The tools are declared as Python would.
func prompt(tools *hostfuncs.Registry) string {
	return "Answer the question. To act, reply with one ```python block and nothing else: it runs in a sandbox that keeps its variables, " +
		"and you are told what it printed. Files are in the working folder. Functions of the module tools:\n\n" + tools.PythonStub()
}

// maxSteps bounds how often the model may act.
const maxSteps = 10

// solve lets the model act until it answers.
func solve(ctx context.Context, m model, session *engine.Session, system, question string, out io.Writer) (string, error) {
	talk := []message{{"system", system}, {"user", question}}
	for range maxSteps {
		reply, err := m.next(ctx, talk)
		if err != nil {
			return "", err
		}
		code, acts := codeIn(reply)
		if !acts {
			return reply, nil
		}
		res, err := session.Run(ctx, engine.Turn{Code: code})
		if err != nil {
			return "", err
		}
		seen := observation(res)
		fmt.Fprintf(out, "--- runs\n%s\n--- sees (%s, %d tool calls)\n%s\n", code, res.Status, len(res.ToolCalls), seen)
		talk = append(talk, message{"assistant", reply}, message{"user", seen})
	}
	return "", fmt.Errorf("no answer after %d steps", maxSteps)
}

// codeIn finds the program in a reply.
func codeIn(reply string) (code string, ok bool) {
	_, rest, ok := strings.Cut(reply, "```python\n")
	code, _, closed := strings.Cut(rest, "```")
	return strings.TrimSpace(code), ok && closed
}

// observation is what the model is told of a run: data of a stranger's, for it to judge.
func observation(res *engine.Result) string {
	text := strings.TrimSpace(res.Stdout)
	if v, ok := res.Value(); ok {
		text = strings.TrimSpace(text + "\n" + v)
	}
	if e := res.Error; e != nil {
		text = strings.TrimSpace(text + "\n" + e.Name + ": " + e.Value)
		if e.Hint != "" {
			text += "\nhint: " + e.Hint
		}
	}
	if text == "" {
		text = "(nothing was printed)"
	}
	return text
}
