package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Exit codes of the program.
const (
	exitDone  = 0
	exitFail  = 1
	exitUsage = 2
	// exitInterrupted is 3
	exitIncomplete = 4 // done, except for missing parts
)

// cli is the command line: its commands and the configuration that all of them share.
type cli struct {
	Config kong.ConfigFlag `help:"JSON file with settings. Its keys are the flags with underscores. Environment variables override it; flags override both." placeholder:"FILE"`
	Settings

	Serve       serveCmd       `cmd:"" help:"Run the server: API, mail intake, fetching and sending."`
	Demo        demoCmd        `cmd:"" help:"Run a server over a temporary database filled with the help centre and conversations of an invented company. Only the HTTP settings apply. No mail is sent, and everything is removed at the end."`
	Manual      manualCmd      `cmd:"" help:"Serve the manual as a help centre, over a temporary database. Only the HTTP settings apply."`
	Migrate     migrateCmd     `cmd:"" help:"Bring the database's schema up to date."`
	User        userCmd        `cmd:"" help:"Manage users."`
	Account     accountCmd     `cmd:"" help:"Move whole accounts between servers."`
	Token       tokenCmd       `cmd:"" help:"Manage access tokens."`
	KB          kbCmd          `cmd:"" name:"kb" help:"Export and import sites of the knowledge base."`
	Desk        deskCmd        `cmd:"" help:"Export and apply how a desk is set up: fields, rules, SLAs, saved replies and more."`
	Mail        mailCmd        `cmd:"" help:"Import mails from files."`
	Import      importCmd      `cmd:"" help:"Import from another help desk."`
	Customers   customersCmd   `cmd:"" help:"Erase customers, and keep erased ones from coming back with backups."`
	Reports     reportsCmd     `cmd:"" help:"Rebuild what reports know."`
	Blobs       blobsCmd       `cmd:"" help:"Manage the files of mails, attachments and sites."`
	Jobs        jobsCmd        `cmd:"" help:"List, retry and drop jobs that failed for good, such as mails that could not be sent."`
	Keys        keysCmd        `cmd:"" help:"List, add, rotate and drop the secret keys that encrypt stored passwords."`
	Backup      backupCmd      `cmd:"" help:"Write an archive of everything (database, files, secret key) while the server runs, or verify one."`
	Restore     restoreCmd     `cmd:"" help:"Restore an archive into the database, blob store and data folder of the settings, which must be empty."`
	Conf        configCmd      `cmd:"" name:"config" help:"Show the settings."`
	Doctor      doctorCmd      `cmd:"" help:"Check configuration, database, files, DNS and mail connections, and explain how to fix what is wrong."`
	Log         logCmd         `cmd:"" help:"Change what a running server logs, and how."`
	Healthcheck healthcheckCmd `cmd:"" help:"Ask the running server with these settings whether it is ready. Exit code 1 if it is not."`
	OpenAPI     openapiCmd     `cmd:"" name:"openapi" help:"Print the OpenAPI document of the API."`
	Completion  completionCmd  `cmd:"" help:"Print a shell completion script."`
	Complete    completeCmd    `cmd:"" hidden:"" help:"Print the possible next words of a command line, for completion scripts."`
	Man         manCmd         `cmd:"" help:"Print the manual page: helpwright man >helpwright.1."`
	Version     versionCmd     `cmd:"" help:"Print the version."`
}

// session is the environment of a command.
type session struct {
	ctx            context.Context //nolint:containedctx // it lives as long as the command
	settings       *Settings
	stdout, stderr io.Writer
	log            *slog.Logger
	logs           *logs // the target of log
	model          *kong.Application
	data           string           // folder of the server's own files
	now            func() time.Time // nil: time.Now
	shown          []setting        // effective settings
	fleeting       bool             // no data must survive the process, so writes need not be synced
	tracer         storage.Tracer   // nil: no tracing
	adopting       bool             // tie files and database regardless of what they belonged to
	serves         bool             // lists are read from the replica of the database, if there is one
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
	for _, name := range unknownVariables(parser.Model, os.Environ()) {
		fmt.Fprintln(stderr, "helpwright: warning:", name)
	}
	c.complete()
	s := &session{
		ctx: ctx, settings: &c.Settings, model: parser.Model, stdout: stdout, stderr: stderr, shown: inForce(command, string(c.Config)),
		data: c.Data,
	}
	s.logs = newLogs(stderr, c.LogLevel, c.LogFormat)
	s.log = slog.New(s.logs)
	if err := command.Run(s); err != nil {
		fmt.Fprintln(stderr, "helpwright:", shown(err))
		if _, usage := errors.AsType[usageError](err); usage {
			return exitUsage
		}
		if _, incomplete := errors.AsType[incompleteError](err); incomplete {
			return exitIncomplete
		}
		return exitFail
	}
	return exitDone
}

// shown returns the text of an error for the operator, who may see its cause.
func shown(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Invalid {
		return f.Text() + " " + f.Fields.String()
	}
	return err.Error()
}

func newParser(c *cli, stdout, stderr io.Writer) (*kong.Kong, error) {
	return kong.New(c,
		kong.Name("helpwright"),
		kong.Description("A help desk in one binary. Every setting is a flag, a variable and a key of the file given with --config: helpwright serve --help has them all, and helpwright config show tells what is in force."),
		kong.Configuration(readConfig),
		kong.Help(printHelp),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true}),
	)
}
