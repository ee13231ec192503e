package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// folderMail is a mail to be put into a folder.
type folderMail struct{ folder, raw string }

// signIn connects to Dovecot as a user. Whoever writes on before the answer may find that the server is not ready for so
// much.
func signIn(t *testing.T, server testenv.DovecotServer, user string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	r := bufio.NewReader(conn)
	fmt.Fprintf(conn, "in LOGIN %s %s\r\n", user, server.Password)
	answerTo(t, r, "in")
	return conn, r
}

// answerTo reads up to the tagged answer, which must be OK, and returns the untagged lines before it.
func answerTo(t *testing.T, r *bufio.Reader, tag string) (lines []string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("waiting for %s: %v", tag, err)
		}
		if rest, found := strings.CutPrefix(line, tag+" "); found {
			if !strings.HasPrefix(rest, "OK") {
				t.Fatalf("command %s: %s", tag, rest)
			}
			return lines
		}
		lines = append(lines, line)
	}
}

// appendAll puts mails into folders of a Dovecot user, in order (RFC 9051 section 6.3.12, with non-synchronizing literals:
// RFC 7888).
func appendAll(t *testing.T, server testenv.DovecotServer, user string, mails []folderMail) {
	t.Helper()
	conn, r := signIn(t, server, user)
	defer conn.Close()
	var commands []string
	created := map[string]bool{"INBOX": true}
	for _, m := range mails {
		if !created[m.folder] {
			created[m.folder] = true
			commands = append(commands, "CREATE "+m.folder)
		}
		commands = append(commands, fmt.Sprintf("APPEND %s {%d+}\r\n%s", m.folder, len(m.raw), m.raw))
	}
	failed := make(chan error, 1)
	go func() {
		w := bufio.NewWriter(conn)
		for i, c := range commands {
			fmt.Fprintf(w, "a%d %s\r\n", i, c)
		}
		failed <- w.Flush()
	}()
	for i := range commands {
		answerTo(t, r, fmt.Sprintf("a%d", i))
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

// flagsOf returns the FETCH FLAGS answers of all mails of a folder.
func flagsOf(t *testing.T, server testenv.DovecotServer, user, folder string) []string {
	t.Helper()
	conn, r := signIn(t, server, user)
	defer conn.Close()
	fmt.Fprintf(conn, "b EXAMINE %s\r\n", folder)
	answerTo(t, r, "b")
	fmt.Fprint(conn, "c FETCH 1:* FLAGS\r\n")
	return answerTo(t, r, "c")
}

// imapForm are the form fields of a mailbox that is fetched from Dovecot.
func imapForm(server testenv.DovecotServer, user, email string, folders ...string) map[string][]string {
	host, port, _ := net.SplitHostPort(server.Addr)
	form := map[string][]string{
		"name": {"Support"}, "email": {email},
		"connection[inbound][type]": {"IMAP"}, "connection[inbound][host]": {host}, "connection[inbound][port]": {port},
		"connection[inbound][username]": {user}, "connection[inbound][password]": {server.Password},
		"connection[inbound][encryption]": {"TLS"}, "connection[inbound][validate_certificate]": {"0"},
	}
	if len(folders) > 0 {
		form["connection[inbound][folders][]"] = folders
	}
	return form
}
