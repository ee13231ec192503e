package main

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestWorkFromMail has a member work only by mail while the server is killed repeatedly: the member is notified by mail,
// writes a note, answers the customer and closes the conversation by mail, and a mail sent by a stranger in the member's
// name is returned.
func TestWorkFromMail(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		w := newMemberWork(t, databaseURL)
		id := w.assigned()
		told := w.told()
		for _, text := range []string{"Printer jams", "It eats paper.", "/c/" + fmt.Sprint(id)} {
			if !strings.Contains(told.Subject+told.Text, text) {
				t.Errorf("%q is not in the mail to the member:\n%s", text, told.Text)
			}
		}
		w.answers(told, "pass", "@note\n\nAsk the plumber.", "Turn it left.", "@close")
		for range 4 { // while they are filed and sent
			time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
			w.kill()
			w.start()
		}
		// Three deaths in a row may have parked the mailbox for a minute.
		testenv.Eventually(t, "the conversation is closed", func() bool { return w.conversation(id).Status == "closed" })
		testenv.Eventually(t, "the answer reaches the customer", func() bool { return len(w.postfix.Mails(t, w.customer)) > 0 })
		w.answers(told, "fail", "Never send this.")
		testenv.Eventually(t, "the forged mail comes back", func() bool { return w.mailed("Not accepted") > 0 })

		var got []string
		for _, i := range all[struct{ Type, Body string }](w.process, fmt.Sprintf("/accounts/1/conversations/%d/interactions", id)) {
			got = append(got, i.Type+": "+strings.Join(strings.Fields(i.Body), " "))
		}
		want := []string{"customer: It eats paper.", "note: Ask the plumber.", "user: Turn it left."}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		w.once("the customer", w.customer, "Turn it left.")
		w.once("the member", w.member, "assigned")
		if n := w.mailed("Not accepted"); n != 1 {
			t.Errorf("%d mails came back to the member", n)
		}
	})
}

// memberWork is a server between a customer and a member who works by mail only.
type memberWork struct {
	*process
	dovecot               testenv.DovecotServer
	postfix               testenv.PostfixServer
	user                  string // of the mailbox at Dovecot
	customer, member, box string // boxes at Postfix
	mails                 int
}

func newMemberWork(t *testing.T, databaseURL string) *memberWork {
	t.Helper()
	w := &memberWork{dovecot: testenv.Dovecot(t), postfix: testenv.Postfix(t), user: testenv.Name("desk"), customer: testenv.Name("ada"), member: testenv.Name("lise"), box: testenv.Name("support")}
	appendAll(t, w.dovecot, w.user, nil)
	w.process = newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL, "HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true", "HELPWRIGHT_FETCH_INTERVAL=1s", "HELPWRIGHT_NOTIFY_AFTER=3s",
		"HELPWRIGHT_SMTP_URL=smtp://"+w.postfix.Addr+"?tls=none", "HELPWRIGHT_TRUSTED_AUTHSERV_IDS=mx.box.test")
	form := url.Values(imapForm(w.dovecot, w.user, w.postfix.Box(w.box)))
	form.Set("reply_address", "subaddress")
	w.mailbox(form)
	return w
}

// comes delivers a mail to the mailbox, in which the server in front reports how the domain of its From is authenticated.
func (w *memberWork) comes(from, to, dmarc, header, text string) {
	w.t.Helper()
	w.mails++
	raw := fmt.Sprintf("Return-Path: <%s>\nDelivered-To: %s\nAuthentication-Results: mx.box.test; spf=%s smtp.mailfrom=box.test; dmarc=%s header.from=box.test\nFrom: <%s>\nTo: %s\nMessage-ID: <%d.%s>\n%s\n%s\n",
		w.postfix.Box(from), to, dmarc, dmarc, w.postfix.Box(from), to, w.mails, w.postfix.Box(from), header, text)
	appendAll(w.t, w.dovecot, w.user, []folderMail{{"INBOX", crlf(raw)}})
}

// assigned is the customer's conversation, which becomes the member's.
func (w *memberWork) assigned() int64 {
	w.t.Helper()
	if code, _, stderr := command(w.t, w.dir, w.env, "user", "create", "--email", w.postfix.Box(w.member), "--password", "correct horse", "--account", "1"); code != exitDone {
		w.t.Fatal(stderr)
	}
	w.comes(w.customer, w.postfix.Box(w.box), "pass", "Subject: Printer jams\n", "It eats paper.")
	testenv.Eventually(w.t, "the mail is filed", func() bool { return len(w.conversations()) == 1 })
	id := w.conversations()[0].ID
	w.ok("PUT", fmt.Sprintf("/accounts/1/conversations/%d", id), url.Values{"subject": {"Printer jams"}, "user_id": {"2"}}, nil)
	return id
}

// told waits for the notification mail to the member.
func (w *memberWork) told() *mail.Message {
	w.t.Helper()
	testenv.Eventually(w.t, "the member is told by mail", func() bool { return w.mailed("Assigned to you") > 0 })
	for _, raw := range w.postfix.Mails(w.t, w.member) {
		if m, err := mail.Parse([]byte(raw), mail.Limits{}); err == nil && strings.Contains(m.Subject, "Assigned to you") {
			if len(m.ReplyTo) != 1 {
				w.t.Fatalf("it cannot be answered: %+v", m.ReplyTo)
			}
			return m
		}
	}
	return nil
}

// answers answers a mail of the desk with others, in the name of the member.
func (w *memberWork) answers(told *mail.Message, dmarc string, texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		w.comes(w.member, told.ReplyTo[0].Email, dmarc, "Subject: Re: "+told.Subject+"\nIn-Reply-To: <"+told.MessageID+">\n", text)
	}
}

// mailed counts the member's mails with a word in the subject.
func (w *memberWork) mailed(word string) (n int) {
	w.t.Helper()
	for _, raw := range w.postfix.Mails(w.t, w.member) {
		if m, err := mail.Parse([]byte(raw), mail.Limits{}); err == nil && strings.Contains(m.Subject, word) {
			n++
		}
	}
	return n
}

// once expects one mail with a text, possibly with copies made by a kill.
func (w *memberWork) once(whom, box, text string) {
	w.t.Helper()
	copies, ids := 0, map[string]bool{}
	for _, raw := range w.postfix.Mails(w.t, box) {
		if m, err := mail.Parse([]byte(raw), mail.Limits{}); err == nil && strings.Contains(m.Text, text) {
			copies++
			ids[m.MessageID] = true
		}
	}
	if len(ids) != 1 {
		w.t.Errorf("%s got %d mails with %q", whom, len(ids), text)
	}
	w.t.Logf("%s got it %d times", whom, copies)
}

// conversation is as the API shows it.
func (w *memberWork) conversation(id int64) conversationView {
	w.t.Helper()
	var c object[conversationView]
	w.ok("GET", fmt.Sprintf("/accounts/1/conversations/%d", id), nil, &c)
	return c.Data
}
