package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the generated parts of the README and the manual")

//go:generate go test -run ^TestDocumentsAreGenerated$ . -update

// TestDocumentsAreGenerated keeps the README's example and the manual's tables in line with the code.
func TestDocumentsAreGenerated(t *testing.T) {
	t.Parallel()
	for _, part := range []struct{ path, name, text string }{
		{"../../README.md", "example", exampleProgram(t)},
		{"manual/reference/settings.md", "settings", settingsTable(t)},
		{"manual/reference/commands.md", "commands", commandsTable(t)},
	} {
		text, err := os.ReadFile(part.path)
		if err != nil {
			t.Fatal(err)
		}
		want := replacePart(t, string(text), part.name, part.text)
		if *update {
			if err := os.WriteFile(part.path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, string(text)); diff != "" {
			t.Errorf("%s: run go generate ./cmd/helpwright:\n%s", part.path, diff)
		}
	}
}

func replacePart(t *testing.T, text, name, part string) string {
	t.Helper()
	begin, end := "<!-- "+name+":begin -->\n", "<!-- "+name+":end -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("there is no part %s", name)
	}
	return before + begin + part + end + after
}

// settingsTable is made from the command line's own description.
func settingsTable(t *testing.T) string {
	t.Helper()
	parser, err := newParser(&cli{}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| variable | flag | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, f := range parser.Model.Flags {
		if len(f.Envs) == 0 {
			continue
		}
		value := "(empty)"
		if f.Default != "" {
			value = "`" + f.Default + "`"
		} else if f.IsBool() {
			value = "`false`"
		}
		fmt.Fprintf(&b, "| %s | --%s | %s | %s |\n", f.Envs[0], f.Name, value, f.Help)
	}
	return b.String()
}

// commandsTable is made from the command line's own description, too.
func commandsTable(t *testing.T) string {
	t.Helper()
	parser, err := newParser(&cli{}, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| command | does |\n| --- | --- |\n")
	for _, leaf := range parser.Model.Leaves(true) {
		fmt.Fprintf(&b, "| `%s` | %s |\n", leaf.Path(), leaf.Help)
	}
	return b.String()
}

// exampleProgram is the body of the runnable example.
func exampleProgram(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("../../transport/server/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, body, ok := strings.Cut(string(source), "func Example() {\n")
	body, _, ok2 := strings.Cut(body, "\n}\n")
	if !ok || !ok2 {
		t.Fatal("there is no example")
	}
	return "```go\n" + strings.ReplaceAll(strings.TrimPrefix(body, "\t"), "\n\t", "\n") + "\n```\n"
}
