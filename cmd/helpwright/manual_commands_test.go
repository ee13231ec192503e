package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// manualCommands are the blocks of commands in a page of the manual.
func manualCommands(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile("manual/" + page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	inside := false
	for line := range strings.Lines(string(text)) {
		command, is := strings.CutPrefix(line, "    ")
		switch {
		case is && inside:
			blocks[len(blocks)-1] += command
		case is:
			blocks = append(blocks, command)
		}
		inside = is
	}
	return blocks
}

// shell runs commands as somebody would paste them, in a folder of the server's.
func (s *process) shell(dir, script string) (out string) {
	s.t.Helper()
	path := program(s.t)
	cmd := exec.CommandContext(s.t.Context(), "sh", "-e", "-c", script)
	cmd.Dir, cmd.Env = filepath.Join(s.dir, dir), append(s.env, "PATH="+filepath.Dir(path)+":"+os.Getenv("PATH"))
	text, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v: %s\n%s", err, script, text)
	}
	return string(text)
}

// TestManualBackup runs the manual's commands for backups.
func TestManualBackup(t *testing.T) {
	t.Parallel()
	commands := manualCommands(t, "keep/backup.md")
	if len(commands) != 4 {
		t.Fatalf("there are %d blocks of commands: %q", len(commands), commands)
	}
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		s := newServer(t)
		s.received()
		if out := s.shell(".", commands[0]); !strings.Contains(out, "whole: sqlite") {
			t.Error(out)
		}
		s.stop()
		if out := s.shell(".", commands[1]); !strings.Contains(out, "ok    files that the database names (3)") {
			t.Error(out)
		}
		s.sameAs(s.at(filepath.Join(s.dir, "elsewhere")))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("pg_dump"); err != nil {
			testenv.Skip(t, "there is no pg_dump")
		}
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+testenv.Postgres(t))
		s.received()
		s.shell(".", "mkdir backups\n"+commands[2])
		s.stop()
		s.env = append(s.env, "HELPWRIGHT_DATABASE_URL="+testenv.Postgres(t))
		s.shell(".", "mkdir elsewhere")
		if out := s.shell("elsewhere", commands[3]+"helpwright doctor"); !strings.Contains(out, "ok    files that the database names (3)") {
			t.Error(out)
		}
	})
}

// TestManualErase runs the manual's commands for erasing customers, with an earlier backup that is restored.
func TestManualErase(t *testing.T) {
	t.Parallel()
	commands := manualCommands(t, "keep/erase.md")
	if len(commands) != 3 {
		t.Fatalf("there are %d blocks of commands: %q", len(commands), commands)
	}
	s := newServer(t)
	s.received()
	s.shell(".", "mkdir backups elsewhere\nhelpwright backup backups/\n"+strings.ReplaceAll(commands[0], "ada@example.com", "customer100000@example.com")+commands[1])
	if n := len(s.conversations()); n != 3 {
		t.Errorf("%d conversations are left", n)
	}
	if out := s.shell(".", "helpwright customers erased list --email CUSTOMER100000@example.com; ! grep example.com erased.jsonl"); strings.Count(out, "the operator") != 1 {
		t.Error(out)
	}
	s.stop()
	out := s.shell("elsewhere", "helpwright restore ../backups/helpwright-*.tar.zst\ncp ../erased.jsonl .\n"+commands[2]+
		commands[2]+"helpwright customers erased list")
	for _, want := range []string{
		"1 tombstone in the file; to erase: 1 customer; nothing was changed\n1 tombstone in the file, 1 of them new here; erased: 1 customer\n",
		"1 tombstone in the file; to erase: 0 customers; nothing was changed\n1 tombstone in the file, 0 of them new here; erased: 0 customers\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out, err := s.command("customers", "erase", "nobody@example.com"); err == nil || !strings.Contains(out, "no customer of the account has this address") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestManualMove runs the manual's commands for old mail.
func TestManualMove(t *testing.T) {
	t.Parallel()
	commands := manualCommands(t, "move-in/old-mail.md")
	if len(commands) != 1 {
		t.Fatalf("there are %d blocks of commands: %q", len(commands), commands)
	}
	s := newServer(t)
	s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	for name, mail := range map[string]string{
		"cur/1.ask:2,S":         "From: ada@example.com\nTo: support@example.org\nMessage-ID: <1@example.com>\nDate: Mon, 2 Mar 2020 10:00:00 +0000\n\nHow?\n",
		".Sent/cur/2.answer:2,": "From: support@example.org\nTo: ada@example.com\nIn-Reply-To: <1@example.com>\nDate: Mon, 2 Mar 2020 11:00:00 +0000\n\nSo.\n",
	} {
		path := filepath.Join(s.dir, "Maildir", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.MkdirAll(filepath.Join(filepath.Dir(filepath.Dir(path)), "new"), 0o700),
			os.WriteFile(path, []byte(mail), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if out := s.shell(".", commands[0]); !strings.Contains(out, "2 mails to import, 0 were imported before") || !strings.Contains(out, "2 mails were imported, 0 were before") {
		t.Error(out)
	}
	if all := s.conversations(); len(all) != 1 || len(s.interactions(all[0].ID)) != 2 || all[0].Status != "closed" {
		t.Errorf("%+v", all)
	}
}

// TestManualKeys runs the manual's commands for keys, with the restarts between them.
func TestManualKeys(t *testing.T) {
	t.Parallel()
	commands := manualCommands(t, "keep/keys.md")
	if len(commands) != 3 {
		t.Fatalf("there are %d blocks of commands: %q", len(commands), commands)
	}
	s := newServer(t)
	s.ok("POST", "/accounts/1/webhooks", url.Values{"url": {"https://example.org"}, "events[]": {"*"}}, nil)
	restart := func() {
		s.stop()
		s.start()
	}
	added, _, _ := strings.Cut(s.shell(".", commands[0]+`echo "$NEW"`), "\n")
	added = strings.TrimSpace(added[strings.LastIndexByte(added, ' ')+1:])
	restart()
	if out := s.shell(".", "NEW="+added+"\n"+commands[1]); !strings.Contains(out, "1 secrets are sealed with "+added) {
		t.Error(out)
	}
	restart()
	if out := s.shell(".", commands[2]); !strings.Contains(out, "no stored secret needs") || !strings.Contains(out, added+"  seals") {
		t.Error(out)
	}
}

// TestManualServers starts three servers as the manual describes.
func TestManualServers(t *testing.T) {
	t.Parallel()
	commands := manualCommands(t, "run/several-servers.md")
	if len(commands) != 1 {
		t.Fatalf("there are %d blocks of commands: %q", len(commands), commands)
	}
	path := program(t)
	dir, script, addresses, changes := t.TempDir(), commands[0], []string{}, []string{}
	replace := func(old, by string) {
		if !strings.Contains(script, old) {
			t.Fatalf("there is no %s in\n%s", old, script)
		}
		changes = append(changes, old, by)
	}
	replace("postgres://helpwright@127.0.0.1:5432/helpwright", "'"+testenv.Postgres(t)+"'")
	replace("file:/srv/helpwright/blobs ", "file:"+filepath.Join(dir, "blobs")+" ")
	for n := range 3 {
		addresses = append(addresses, freeAddress(t))
		replace(fmt.Sprintf("--listen 127.0.0.1:808%d", n+1), "--listen "+addresses[n])
		replace(fmt.Sprintf("--intake-listen 127.0.0.1:252%d", n+1), "--intake-listen "+freeAddress(t))
	}
	script = strings.NewReplacer(changes...).Replace(script) // all at once: a port may begin like one of the manual
	cmd := exec.Command("sh", "-e", "-c", script+"wait\n")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + filepath.Dir(path) + ":" + os.Getenv("PATH"), "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	said := &testenv.Output{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the servers said:\n%s", said)
		}
	})
	for _, address := range addresses {
		testenv.Eventually(t, address+" is ready", func() bool { status, _ := read("http://" + address + "/readyz"); return status == http.StatusOK })
	}
}

// TestManualWatch queries a server as the manual describes.
func TestManualWatch(t *testing.T) {
	t.Parallel()
	commands := manualCommands(t, "run/watch.md")
	if len(commands) != 1 {
		t.Fatalf("there are %d blocks of commands: %q", len(commands), commands)
	}
	metrics := freeAddress(t)
	s := newServer(t, "HELPWRIGHT_METRICS_LISTEN="+metrics)
	script := strings.NewReplacer("127.0.0.1:9464", metrics, "helpwright doctor\n", "helpwright doctor || test $? -eq 1\n").Replace(commands[0])
	out := s.shell(".", script)
	for _, want := range []string{"helpwright_jobs{", "ok    database", "debug", "info"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// received waits until the server has three mails.
func (s *process) received() {
	s.t.Helper()
	m := s.mailbox(url.Values{"name": {"Support"}, "email": {"support@example.org"}})
	submitAll(s, m.InternalEmailAddress, 3)
	testenv.Eventually(s.t, "every mail is filed", func() bool { return len(s.conversations()) == 3 && len(ledgerOf(s, m.ID, "received")) == 0 })
	testenv.Eventually(s.t, "its notifications are there", func() bool { return len(all[struct{}](s, "/accounts/1/notifications")) == 3 })
}
