package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/hostfuncs"
	"github.com/cloche-dev/cloche/limits"
)

func ExampleEngine_Run() {
	eng, err := engine.New(engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	res, err := eng.Run(context.Background(), engine.Job{
		Code: "import statistics\nprint('mean', statistics.mean(values))\nmax(values)",
		Inputs: map[string]any{
			"values": []int{3, 1, 8},
		},
	})
	if err != nil {
		log.Fatal(err) // the job was malformed, or the host failed
	}
	value, _ := res.Value()
	fmt.Print(res.Status, "\n", res.Stdout, value, "\n")
	// Output:
	// ok
	// mean 4
	// 8
}

// A CSV goes in, a table and a chart come out.
func ExampleEngine_Run_files() {
	eng, err := engine.New(engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	res, err := eng.Run(context.Background(), engine.Job{
		Code: `
import pandas as pd
df = pd.read_csv("sales.csv")
print(df.groupby("region")["units"].sum())
df.plot.bar(x="region", y="units")
df.to_json("sales.json", orient="records")
`,
		Files: []engine.File{{Path: "sales.csv", Content: []byte("region,units\nNorth,3\nSouth,10\n")}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(res.Stdout)
	fmt.Println(len(res.Charts()), "chart")
	for _, change := range res.FilesChanged {
		content, err := res.Files().ReadFile(change.Path)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(change.Op, change.Path, string(content))
	}
	// Output:
	// region
	// North     3
	// South    10
	// Name: units, dtype: int64
	// 1 chart
	// created /data/sales.json [{"region":"North","units":3},{"region":"South","units":10}]
}

// What the guest did wrong is part of the result; Err makes an error of it.
func ExampleResult_Err() {
	eng, err := engine.New(engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	for _, job := range []engine.Job{
		{Code: "[][1]"},
		{Code: "while True: pass", Limits: limits.Limits{Timeout: 200 * time.Millisecond}},
	} {
		res, err := eng.Run(context.Background(), job)
		if err != nil {
			log.Fatal(err)
		}
		if exception, ok := errors.AsType[*engine.Exception](res.Err()); ok {
			fmt.Println(res.Status, "in line", exception.Guest.Line, "-", exception)
		}
		if exceeded, ok := errors.AsType[*limits.ExceededError](res.Err()); ok {
			fmt.Println(res.Status, "-", exceeded)
		}
	}
	// Output:
	// error in line 1 - IndexError: list index out of range
	// timeout - time limit reached: 200ms
}

// A session keeps its variables. A turn that has to be stopped costs that turn only.
func ExampleSession_Run() {
	eng, err := engine.New(engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	ctx := context.Background()
	session, err := eng.Open(ctx, engine.Options{Language: engine.JavaScript})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for _, code := range []string{"let n = 20", "n = 0; for (;;) ;", "n + 1"} {
		res, err := session.Run(ctx, engine.Turn{Code: code, Limits: limits.Limits{Fuel: 10_000_000}})
		if err != nil {
			log.Fatal(err)
		}
		value, _ := res.Value()
		fmt.Printf("%s, rolled back: %v, value %q\n", res.Status, res.RolledBack, value)
	}
	// Output:
	// ok, rolled back: false, value ""
	// out_of_fuel, rolled back: true, value ""
	// ok, rolled back: false, value "21"
}

// A turn that waits for an answer that comes later is suspended: nothing of it runs, and it goes on when the answer is there.
func ExampleSession_Resume() {
	tools := &hostfuncs.Registry{}
	err := tools.Add(hostfuncs.Tool{Name: "approve", Description: "Asks a person.", Call: hostfuncs.Later})
	if err != nil {
		log.Fatal(err)
	}
	eng, err := engine.New(engine.Config{}) // with a Store the session outlives the process
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	ctx := context.Background()
	session, err := eng.Open(ctx, engine.Options{Tools: tools})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	res, err := session.Run(ctx, engine.Turn{Code: `
total = sum(range(101))
answer = await tools.approve.aio(total=total)
print(answer["by"], "approves", total)`})
	if err != nil {
		log.Fatal(err)
	}
	call := res.PendingCalls[0]
	fmt.Println(res.Status, call.Name, string(call.Arguments))
	res, err = session.Resume(ctx, engine.Resumption{Results: []hostfuncs.ToolResult{
		{CallID: call.ID, Result: json.RawMessage(`{"by": "Ada"}`)},
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(res.Status, " ", res.Stdout)
	// Output:
	// suspended approve {"total":5050}
	// ok Ada approves 5050
}
