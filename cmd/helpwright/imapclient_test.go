package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/storagetest/testenv"
)

// folderMail is a mail to be put into a folder.
type folderMail struct{ folder, raw string }

// appendAll puts mails into folders of a Dovecot user, in order (RFC 9051 section
// 6.3.12, with literals that wait for nobody: RFC 7888).
func appendAll(t *testing.T, server testenv.DovecotServer, user string, mails []folderMail) {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	commands := []string{fmt.Sprintf("LOGIN %s %s", user, server.Password)}
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
	r := bufio.NewReader(conn)
	for done := 0; done < len(commands); {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d commands: %v", done, err)
		}
		tag, rest, _ := strings.Cut(line, " ")
		if tag != fmt.Sprintf("a%d", done) {
			continue
		}
		if !strings.HasPrefix(rest, "OK") {
			t.Fatalf("command %d: %s", done, line)
		}
		done++
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

// flagsOf returns the FETCH FLAGS answers of all mails of a folder.
func flagsOf(t *testing.T, server testenv.DovecotServer, user, folder string) []string {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "a LOGIN %s %s\r\nb EXAMINE %s\r\nc FETCH 1:* FLAGS\r\n", user, server.Password, folder)
	var flags []string
	for r := bufio.NewReader(conn); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, "FETCH (") {
			flags = append(flags, line)
		}
		if strings.HasPrefix(line, "c ") {
			return flags
		}
	}
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
