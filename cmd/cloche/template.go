package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cloche-dev/cloche/cmd/cloche/internal/wall"
	"github.com/cloche-dev/cloche/engine"
	"github.com/cloche-dev/cloche/limits"
)

type templateCmd struct {
	Build templateBuildCmd `cmd:"" help:"Run a program and keep what it leaves: imports, names, files."`
	List  templateListCmd  `cmd:"" help:"List the templates."`
	Rm    templateRmCmd    `cmd:"" help:"Remove templates."`
}

type templateBuildCmd struct {
	Name     string       `required:"" placeholder:"NAME" help:"Small letters, digits, - and _. An earlier template of that name is replaced."`
	Preload  string       `required:"" type:"existingfile" placeholder:"FILE" help:"The program to run. The language follows the suffix: .py, .js, .mjs, .ts."`
	Packages []string     `name:"package" sep:"none" placeholder:"NAME" help:"A pure-Python package that the program, and every one that starts from the template, can import. Repeatable."`
	Files    []fileFlag   `name:"file" sep:"none" placeholder:"GUEST=HOST" help:"Copy a host file in; HOST alone keeps its name. Repeatable."`
	Timeout  durationFlag `placeholder:"30s" help:"Wall time of the program."`
	Memory   sizeFlag     `placeholder:"512MiB" help:"Linear memory of the sandbox."`
	NoWall   bool         `help:"Leave out the second wall (see cloche doctor)."`
}

func (templateBuildCmd) Help() string {
	return `A sandbox that starts from the template (cloche run --template NAME) has all that the program left, and starts as fast as one without. The template is kept in the cache folder, and has to be built again when Cloche's interpreters change.

` + exitHelp
}

// Run builds a template.
func (c *templateBuildCmd) Run(a *app) (err error) {
	code, err := readProgram(c.Preload)
	if err != nil {
		return usageError{err}
	}
	flags := sandboxFlags{Files: c.Files, Packages: c.Packages, Timeout: c.Timeout, Memory: c.Memory, NoWall: c.NoWall}
	language := languageOf(c.Preload)
	if err := flags.checkPackages(language); err != nil {
		return err
	}
	p, err := flags.policy(a)
	if err != nil {
		return err
	}
	o, err := flags.options(p)
	if err != nil {
		return err
	}
	o.Language = language
	eng, err := a.engine(p.limits)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	folder, err := eng.PrepareBuild()
	if err != nil {
		return err
	}
	if err := flags.raiseWall(a, eng, p, language, wall.Config{Write: []string{folder}}); err != nil {
		return err
	}
	res, err := eng.BuildTemplate(a.ctx, c.Name, o, engine.Turn{
		Code: string(code), Name: filepath.Base(c.Preload), Stdout: onScreen(a.out), Stderr: onScreen(a.err),
	})
	if err != nil {
		return err
	}
	if code := exitStatus(res); code != 0 {
		fmt.Fprintf(a.err, "cloche: the program did not end well (%s): no template was made\n", res.Status)
		return statusError(code)
	}
	fmt.Fprintf(a.out, "%s: built\n", c.Name)
	return nil
}

type templateListCmd struct {
	JSON bool `name:"json" help:"Print a list of objects."`
}

// Run lists the templates.
func (c *templateListCmd) Run(a *app) (err error) {
	eng, err := a.engine(limits.Limits{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	list, err := eng.Templates()
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(jsonOnScreen{a.out}).Encode(list)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, t := range list {
		if t.Problem != "" {
			fmt.Fprintf(w, "%s\tcannot be used: %s\n", t.Name, printable(t.Problem))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", t.Name, t.Language, t.Made.Local().Format(time.DateTime), limits.ApproxSize(t.MemoryBytes), strings.Join(t.Packages, " "))
	}
	return w.Flush()
}

type templateRmCmd struct {
	Name []string `arg:"" help:"Names of templates."`
}

// Run removes templates.
func (c *templateRmCmd) Run(a *app) (err error) {
	eng, err := a.engine(limits.Limits{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	var errs []error
	for _, name := range c.Name {
		errs = append(errs, eng.RemoveTemplate(name))
	}
	return errors.Join(errs...)
}
