package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runHere runs a command that needs no process of its own.
func runHere(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, problems bytes.Buffer
	code = run(t.Context(), args, &out, &problems)
	return out.String(), problems.String(), code
}

// The candidates are words that the program accepts.
func TestCandidates(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"us":                           "user",
		"user ":                        "list show create disable enable delete reset-second-factor remove-passkeys reset-password",
		"user cr":                      "create",
		"user create --r":              "--role",
		"user create --role ":          "owner admin agent collaborator editor",
		"user create --role ag":        "agent",
		"user create --role agent --e": "--email",
		"completion ":                  "bash zsh fish",
		"healthcheck --l":              "--listen",
		"healthcheck --sm":             "", // a setting that it does not use
		"serve --smt":                  "--smtp-url",
		"--conf":                       "--config",
		"kb import --site ":            "", // a number
		"comple":                       "completion",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"complete", "--"}, strings.Split(line, " ")...)
			stdout, stderr, code := runHere(t, args...)
			var got []string
			for found := range strings.Lines(stdout) {
				word, _, _ := strings.Cut(found, "\t")
				got = append(got, word)
			}
			if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" || code != exitDone {
				t.Errorf("%d %s %s", code, stderr, diff)
			}
		})
	}
}

// The scripts work in the shells that they are for.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	built := program(t)
	if err := os.Symlink(built, filepath.Join(dir, "helpwright")); err != nil {
		t.Fatal(err)
	}
	for shell, ask := range map[string]string{
		"bash": `source "$1"; COMP_WORDS=(helpwright user create --role a); COMP_CWORD=4; _helpwright; printf '%s\n' "${COMPREPLY[@]}"`,
		"zsh": `autoload -U compinit; compinit -u -d "$1.dump"; source "$1"; _describe() { print -l -- "${(@)${(P)2}%%:*}"; }
			words=(helpwright user create --role a); CURRENT=5; _helpwright`,
		"fish": `source $argv[1]; complete -C 'helpwright user create --role a' | string split -f 1 \t; true`,
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			path := installed(t, shell)
			stdout, stderr, code := runHere(t, "completion", shell)
			if code != exitDone {
				t.Fatal(code, stderr)
			}
			script := write(t, filepath.Join(t.TempDir(), "script"), stdout)
			args := []string{"-c", ask, shell, script}
			if shell == "fish" {
				args = []string{"--no-config", "-c", ask, script}
			}
			cmd := exec.CommandContext(t.Context(), path, args...)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if diff := cmp.Diff([]string{"admin", "agent"}, strings.Fields(string(out))); err != nil || diff != "" {
				t.Errorf("%v %s\n%s", err, diff, out)
			}
		})
	}
}

// The manual page has every command and setting, and is one that formatters find nothing wrong with.
func TestMan(t *testing.T) {
	t.Parallel()
	mandoc := installed(t, "mandoc")
	page, stderr, code := runHere(t, "man")
	if code != exitDone {
		t.Fatal(code, stderr)
	}
	path := write(t, filepath.Join(t.TempDir(), "helpwright.1"), page)
	if out, err := exec.CommandContext(t.Context(), mandoc, "-T", "lint", "-W", "warning", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	text, err := exec.CommandContext(t.Context(), mandoc, "-T", "ascii", "-O", "width=500", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(".\b").ReplaceAllString(string(text), "") // bold is a letter twice in one place
	for _, want := range []string{"user create", "kb import", "HELPWRIGHT_SMTP_URL", "--smtp-url", "--role=owner|admin|agent|collaborator|editor", "EXIT STATUS"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}
