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

	"github.com/helpwright/helpwright/storage/fault"
)

// Exit codes of the program.
const (
	exitDone  = 0
	exitFail  = 1
	exitUsage = 2
	// exitInterrupted is 3
	exitIncomplete = 4 // done, but something was missing for it
)

// cli is the command line: its commands and, on all of them, the configuration.
type cli struct {
	Config kong.ConfigFlag `help:"JSON file of settings, named like the flags with underscores. Variables overrule it, and flags both." placeholder:"FILE"`
	Settings

	Serve       serveCmd       `cmd:"" help:"Run the server: API, mail intake, fetching and sending."`
	Demo        demoCmd        `cmd:"" help:"Show it all: run a server over a temporary database with the help centre and the conversations of a company that does not exist. Of the settings, those of HTTP hold; no mail leaves, and nothing is left behind."`
	Migrate     migrateCmd     `cmd:"" help:"Bring the database's schema up to date."`
	User        userCmd        `cmd:"" help:"Manage users."`
	Token       tokenCmd       `cmd:"" help:"Manage access tokens."`
	KB          kbCmd          `cmd:"" name:"kb" help:"Export and import sites of the knowledge base."`
	Mail        mailCmd        `cmd:"" help:"Import mails from files."`
	Blobs       blobsCmd       `cmd:"" help:"Tidy up the files of mails, attachments and sites."`
	Jobs        jobsCmd        `cmd:"" help:"List, retry and drop jobs that were given up, such as mails that cannot be sent."`
	Backup      backupCmd      `cmd:"" help:"Write an archive of everything: database, files and secret key, while the server runs; or check one."`
	Restore     restoreCmd     `cmd:"" help:"Put an archive of backup into an empty place: the database, the files and the folder that the settings name."`
	Conf        configCmd      `cmd:"" name:"config" help:"Show the settings."`
	Doctor      doctorCmd      `cmd:"" help:"Check configuration, database, files, DNS and mail connections, and say what to do."`
	Log         logCmd         `cmd:"" help:"Change what a running server logs, and how."`
	Healthcheck healthcheckCmd `cmd:"" help:"Ask the server of the same settings whether it is ready; exit code 1 if it is not."`
	OpenAPI     openapiCmd     `cmd:"" name:"openapi" help:"Print the OpenAPI document of the API."`
	Completion  completionCmd  `cmd:"" help:"Print a script by which a shell completes commands and flags."`
	Complete    completeCmd    `cmd:"" hidden:"" help:"Print what may come next on a command line; the scripts of completion ask."`
	Man         manCmd         `cmd:"" help:"Print the manual page: helpwright man >helpwright.1."`
	Version     versionCmd     `cmd:"" help:"Print the version."`
}

// session is what a command runs with.
type session struct {
	ctx            context.Context
	settings       *Settings
	stdout, stderr io.Writer
	log            *slog.Logger
	logs           *logs // what log writes to
	model          *kong.Application
	data           string           // folder of what the server makes itself
	now            func() time.Time // nil: time.Now
	shown          []setting        // what is in force
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
		kong.Description("A help desk in one binary. Every setting is a flag, a variable and a key of the file given with --config: helpwright serve --help has them all, and helpwright config show tells what is in force."),
		kong.Configuration(readConfig),
		kong.Help(printHelp),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true}),
	)
}
