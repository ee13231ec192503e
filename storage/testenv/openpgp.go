package testenv

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// GnuPG runs gpg with its own home folder.
type GnuPG struct {
	t    testing.TB
	home string
}

// NewGnuPG returns a GnuPG without keys. Its home is removed at the end of the test.
func NewGnuPG(t testing.TB) *GnuPG {
	t.Helper()
	if _, err := exec.LookPath("gpg"); err != nil {
		Skip(t, "no GnuPG: there is no gpg")
	}
	// Not t.TempDir: the home holds the agent's socket, whose path must be short.
	home, err := os.MkdirTemp("", "gpg")
	if err != nil {
		t.Fatal(err)
	}
	g := &GnuPG{t, home}
	t.Cleanup(func() {
		kill := exec.Command("gpgconf", "--kill", "all") // only the agent of this home
		kill.Env = g.env()
		_ = kill.Run()
		_ = os.RemoveAll(home)
	})
	return g
}

func (g *GnuPG) env() []string { return append(os.Environ(), "GNUPGHOME="+g.home, "LC_ALL=C") }

// Run passes input to gpg and returns its output. It fails the test when gpg fails.
func (g *GnuPG) Run(input []byte, args ...string) []byte {
	g.t.Helper()
	out, err := g.Try(input, args...)
	if err != nil {
		g.t.Fatal(err)
	}
	return out
}

// Try is Run that returns gpg's error.
func (g *GnuPG) Try(input []byte, args ...string) ([]byte, error) {
	args = append([]string{"--batch", "--no-tty", "--pinentry-mode", "loopback", "--passphrase", "", "--trust-model", "always"}, args...)
	return run(g.env(), input, "gpg", args...)
}

// NewKey creates a key for an address and returns its public part, armored.
func (g *GnuPG) NewKey(userID, algorithm string) []byte {
	g.t.Helper()
	g.Run(nil, "--quick-generate-key", userID, algorithm, "default", "never")
	return g.Run(nil, "--armor", "--export", userID)
}

// SQOP runs Sequoia's sqop command; without it the test is skipped.
func SQOP(t testing.TB, input []byte, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath("sqop"); err != nil {
		Skip(t, "no Sequoia: there is no sqop")
	}
	out, err := run(os.Environ(), input, "sqop", args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func run(env []string, input []byte, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Stdin = env, bytes.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s %v: %w\n%s", name, args, err, errs.String())
	}
	return out.Bytes(), nil
}
