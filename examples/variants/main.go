// Command variants tries several ways to do a thing from one prepared state, and keeps the best: the data is loaded once,
// each variant runs in a fork of the session, and none sees what another did.
//
//	make setup  # once
//	go run ./examples/variants
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"

	"github.com/cloche-dev/cloche/engine"
)

// prepare makes the state from which all variants begin.
const prepare = `
import numpy as np
rng = np.random.default_rng(7)
x = np.linspace(0, 6, 200)
y = np.sin(x) + rng.normal(0, 0.05, x.size)
train, test = np.arange(x.size) % 2 == 0, np.arange(x.size) % 2 == 1
`

// fit is one variant: a polynomial of some degree. Its last value is the error on the other half of the data.
const fit = `
degree = %d
curve = np.polynomial.Polynomial.fit(x[train], y[train], degree)
float(np.sqrt(np.mean((curve(x[test]) - y[test]) ** 2)))
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "variants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	eng, err := engine.New(engine.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	session, err := eng.Open(ctx, engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	res, err := session.Run(ctx, engine.Turn{Code: prepare})
	if err == nil {
		err = res.Err()
	}
	if err != nil {
		return err
	}
	degrees := []int{1, 3, 5, 7}
	var turns []engine.Turn
	for _, d := range degrees {
		turns = append(turns, engine.Turn{Code: fmt.Sprintf(fit, d)})
	}
	compared, err := session.Variants(ctx, turns...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, compared.Close()) }()
	best, least := 0, 0.0
	for i, res := range compared.Results {
		value, _ := res.Value()
		e, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("variant %d: %w, %w", i, err, res.Err())
		}
		fmt.Fprintf(out, "degree %d: error %.3f\n", degrees[i], e)
		if i == 0 || e < least {
			best, least = i, e
		}
	}
	if err := compared.Keep(ctx, best); err != nil {
		return err
	}
	res, err = session.Run(ctx, engine.Turn{Code: "print('kept degree', degree)"})
	if err != nil {
		return err
	}
	fmt.Fprint(out, res.Stdout)
	return nil
}
