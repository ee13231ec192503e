package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/alecthomas/kong"

	"github.com/helpwright/helpwright/storage/fault"
)

// Exit codes of the program.
const (
	exitDone  = 0
	exitFail  = 1
	exitUsage = 2
)

// cli is the command line: its commands and, on all of them, the configuration.
type cli struct {
	Config kong.ConfigFlag `help:"JSON file with the same settings, named like the flags with underscores." placeholder:"FILE"`
	Settings

	Serve   serveCmd   `cmd:"" help:"Run the server: API, mail intake, fetching and sending."`
	Demo    demoCmd    `cmd:"" help:"Show it all: run a server over a temporary database with the help centre and the conversations of a company that does not exist. Of the settings, those of HTTP hold; no mail leaves, and nothing is left behind."`
	Migrate migrateCmd `cmd:"" help:"Bring the database's schema up to date."`
	User    userCmd    `cmd:"" help:"Manage users."`
	Token   tokenCmd   `cmd:"" help:"Manage access tokens."`
	KB      kbCmd      `cmd:"" name:"kb" help:"Export and import sites of the knowledge base."`
	Blobs   blobsCmd   `cmd:"" help:"Tidy up the files of mails, attachments and sites."`
	Doctor  doctorCmd  `cmd:"" help:"Check configuration, database, files, DNS and mail connections, and say what to do."`
	OpenAPI openapiCmd `cmd:"" name:"openapi" help:"Print the OpenAPI document of the API."`
	Version versionCmd `cmd:"" help:"Print the version."`
}

// session is what a command runs with.
type session struct {
	ctx            context.Context
	settings       *Settings
	stdout, stderr io.Writer
	log            *slog.Logger
	data           string           // folder of what the server makes itself
	now            func() time.Time // nil: time.Now
	fleeting       bool             // nothing has to survive the process: it waits for no disk
	adopting       bool             // files and database are to be tied whatever they are
}

// usageError is a mistake in the configuration or on the command line: exit code 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exited stops kong after it printed help.
type exited int

// run does one command and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(exited)
			if !ok {
				panic(p)
			}
			code = int(e)
		}
	}()
	var c cli
	parser, err := newParser(&c, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "helpwright:", err)
		return exitUsage
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "helpwright: %v\nRun helpwright --help for the commands and settings.\n", err)
		return exitUsage
	}
	s := &session{
		ctx: ctx, settings: &c.Settings, stdout: stdout, stderr: stderr,
		log: slog.New(slog.NewJSONHandler(stderr, nil)), data: dataDir,
	}
	if err := command.Run(s); err != nil {
		fmt.Fprintln(stderr, "helpwright:", shown(err))
		if _, usage := errors.AsType[usageError](err); usage {
			return exitUsage
		}
		return exitFail
	}
	return exitDone
}

// shown is the text of an error for who runs the program, who may see its cause.
func shown(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid {
		return f.Text() + " " + f.Fields.String()
	}
	return err.Error()
}

func newParser(c *cli, stdout, stderr io.Writer) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("helpwright"),
		kong.Description("A help desk in one binary. Every setting is a flag, a variable and a key of the file given with --config."),
		kong.Configuration(kong.JSON),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
	)
}
