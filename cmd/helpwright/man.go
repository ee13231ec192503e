package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

type manCmd struct{}

// Run prints the manual page.
func (manCmd) Run(s *session) error { return writeManual(s.stdout, s.model, time.Now()) }

// writeManual writes man(7) of all commands and settings.
func writeManual(w io.Writer, app *kong.Application, today time.Time) error {
	var m manual
	fmt.Fprintf(&m, ".TH HELPWRIGHT 1 %s %q %q\n", today.Format(time.DateOnly), "helpwright "+version(), "User Commands")
	m.macro("SH", "NAME")
	m.text("helpwright - a help desk with a knowledge base, in one binary")
	m.macro("SH", "SYNOPSIS")
	m.macro("B", "helpwright")
	m.text("command [flags]")
	m.macro("SH", "DESCRIPTION")
	m.text(app.Help)
	m.macro("SH", "COMMANDS")
	for _, node := range app.Leaves(true) {
		m.command(node)
	}
	m.macro("SH", "SETTINGS")
	m.text("Each is a flag, an environment variable, and a key of the JSON file that --config names, which is called like the flag with underscores. Flags overrule variables, and variables the file.")
	for _, flag := range app.Flags {
		if len(flag.Envs) > 0 && !flag.Hidden {
			m.flag(flag)
		}
	}
	m.text("GOMEMLIMIT and GOGC are those of Go's runtime, which the server leaves as they are: GOMEMLIMIT=100MiB bounds its memory, and GOGC=400 makes a busy server with memory to spare collect its garbage less often.")
	m.macro("SH", "EXIT STATUS")
	for _, code := range [][2]string{
		{"0", "Done."}, {"1", "Failed; the last line says why."}, {"2", "Wrong usage or configuration."},
		{"3", "Interrupted twice: the second SIGTERM or interrupt does not wait for what is being done."},
		{"4", "A backup was made, but files were missing for it."},
	} {
		m.macro("TP")
		m.macro("B", code[0])
		m.text(code[1])
	}
	_, err := io.WriteString(w, m.String())
	return err
}

// manual is a page in the macros of man(7).
type manual struct{ strings.Builder }

// macro writes a line with a macro and its arguments.
func (m *manual) macro(name string, args ...string) {
	m.WriteString("." + name)
	for _, arg := range args {
		fmt.Fprintf(m, ` "%s"`, strings.ReplaceAll(roff(arg), `"`, `\(dq`))
	}
	m.WriteByte('\n')
}

// text writes a line of text, which is never read as a macro, whatever it begins with.
func (m *manual) text(text string) {
	if text = roff(strings.Join(strings.Fields(text), " ")); strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	m.WriteString(text + "\n")
}

// roff escapes text for roff: backslashes, and hyphens, which would otherwise be printed as characters that cannot be typed.
func roff(text string) string { return strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text) }

func (m *manual) command(node *kong.Node) {
	m.macro("SS", strings.TrimPrefix(node.Summary(), "helpwright "))
	m.text(node.Help)
	for _, argument := range node.Positional {
		m.macro("TP")
		m.macro("I", argument.Summary())
		m.text(argument.Help)
	}
	for _, flag := range node.Flags {
		if !flag.Hidden && flag.Name != "help" {
			m.flag(flag)
		}
	}
}

func (m *manual) flag(flag *kong.Flag) {
	m.macro("TP")
	name := "--" + flag.Name
	switch values := choices(flag.Value); {
	case flag.IsBool():
	case len(values) > 0:
		words := make([]string, len(values))
		for i, one := range values {
			words[i] = one.word
		}
		name += "=" + strings.Join(words, "|")
	default:
		name += "=" + cmp.Or(flag.PlaceHolder, strings.ToUpper(flag.Name[strings.LastIndexByte(flag.Name, '-')+1:]))
	}
	m.macro("B", strings.Join(append([]string{name}, flag.Envs...), ", "))
	help := flag.Help
	if flag.HasDefault && flag.Default != "" && !flag.IsBool() {
		help += " Default: " + flag.Default + "."
	}
	m.text(help)
}
