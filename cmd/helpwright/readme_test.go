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

var update = flag.Bool("update", false, "write the generated parts of the README")

//go:generate go test -run ^TestReadmeIsGenerated$ . -update

// TestReadmeIsGenerated keeps the README's example and tables in line with the code.
func TestReadmeIsGenerated(t *testing.T) {
	t.Parallel()
	const path = "../../README.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := replacePart(t, string(text), "settings", settingsTable(t))
	want = replacePart(t, want, "commands", commandsTable(t))
	want = replacePart(t, want, "example", exampleProgram(t))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("run go generate ./cmd/helpwright:\n%s", diff)
	}
}

func replacePart(t *testing.T, text, name, part string) string {
	t.Helper()
	begin, end := "<!-- "+name+":begin -->\n", "<!-- "+name+":end -->"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("the README has no part %s", name)
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
