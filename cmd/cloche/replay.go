package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

type replayCmd struct {
	Receipt string `arg:"" type:"existingfile" help:"What cloche run --receipt wrote."`
	JSON    bool   `name:"json" help:"Print what came out as JSON: same, differences, result."`
	NoWall  bool   `help:"Leave out the second wall (see cloche doctor)."`
}

func (replayCmd) Help() string {
	return `Code, files, input, limits, seed and clock are the receipt's, and so are the answers of tools and network, which are not asked. Status, output, displayed values, files and fuel must come out again.

Exit status:

    0      everything came out again
    1      something differs, as is told
    2      wrong usage, or the receipt cannot be replayed here, as is told
    125    Cloche itself failed
    130    interrupted
`
}

// Run replays a receipt.
func (c *replayCmd) Run(a *app) (err error) {
	rec, err := readReceipt(c.Receipt)
	if err != nil {
		return err
	}
	eng, err := a.engine(limits.Default())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	given := effective{packages: rec.Job.Packages}
	flags := sandboxFlags{Template: rec.Image.Template, NoWall: c.NoWall}
	if err := flags.raiseWall(a, eng, given, rec.Job.Language, wall.Config{}); err != nil {
		return err
	}
	again, err := eng.Replay(a.ctx, rec)
	if err != nil {
		return err
	}
	if err := c.tell(a, rec, again); err != nil {
		return err
	}
	if !again.Same {
		return statusError(1)
	}
	return nil
}

func readReceipt(name string) (*engine.Receipt, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, usageError{err}
	}
	defer f.Close()
	return engine.ReadReceipt(f)
}

func (c *replayCmd) tell(a *app, rec *engine.Receipt, again *engine.Replay) error {
	if c.JSON {
		b, err := json.Marshal(again)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(jsonOnScreen{a.out}, "%s\n", b)
		return err
	}
	if again.Same {
		o := rec.Outcome
		_, err := fmt.Fprintf(a.out, "the same: status %s, %s instructions, %s of output, files changed: %d, answers of the host: %d\n",
			o.Status, limits.FormatCount(o.Fuel), limits.FormatSize(o.Stdout.Bytes+o.Stderr.Bytes), len(o.FilesChanged), len(rec.HostCalls))
		return err
	}
	for _, d := range again.Differences {
		if _, err := fmt.Fprintf(a.out, "differs: %s\n    expected %s\n    got      %s\n", shown(d.Field), shown(d.Expected), shown(d.Got)); err != nil {
			return err
		}
	}
	return nil
}

// shown is a value of a receipt on one line of a terminal.
func shown(s string) string {
	const most = 500
	if len(s) > most {
		s = s[:most] + "…"
	}
	return printable(s)
}

// writeReceipt writes the receipt of a run to the file that was made for it, and takes it out of the result.
func writeReceipt(to *os.File, res *engine.Result) error {
	text, err := json.MarshalIndent(res.Receipt, "", "  ")
	if err != nil {
		return err
	}
	res.Receipt = nil
	if _, err := to.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the receipt: %w", err)
	}
	return nil
}

// closeReceipt closes the file of a receipt, and takes it away if there came none, so that the same command can be tried again. Once
// the second wall stands the system does not let it, and it stays empty.
func closeReceipt(f *os.File) error {
	info, err := f.Stat()
	if err == nil && info.Size() == 0 {
		defer func() { _ = os.Remove(f.Name()) }()
	}
	return errors.Join(err, f.Close())
}
