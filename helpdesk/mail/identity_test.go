package mail_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mail"
)

func identities(t *testing.T, raw string) (identity, former [32]byte) {
	t.Helper()
	m, err := mail.Parse([]byte(raw), mail.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m.Identity(), m.FormerIdentity()
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	const head = "From: Ann <ann@example.org>\nDate: Mon, 02 Jan 2023 15:04:05 +0100\nMessage-ID: <1@example.org>\nSubject: x\n"
	base, former := identities(t, head+"\nbody ä\n")
	same := map[string]string{
		"list copy":      "Received: by x\nDelivered-To: y@example.org\nList-Id: <l.example.org>\n" + strings.Replace(head, "Subject: x", "Subject: [l] x", 1) + "\nbody ä\n\n",
		"answer to list": "List-Post: <mailto:l@example.org>\n" + strings.Replace(head, "Subject: x", "Subject: Re: [l] Re: x", 1) + "\nbody ä\n\n",
		"other coding":   head + "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\nbody =C3=A4\n",
		"other newline":  strings.ReplaceAll(head+"\nbody ä\n", "\n", "\r\n"),
		"other zone":     strings.Replace(head, "15:04:05 +0100", "14:04:05 +0000", 1) + "\nbody ä\n",
		"name":           strings.Replace(head, "Ann ", "Ann via List ", 1) + "\nbody ä\n",
	}
	for name, raw := range same {
		if now, before := identities(t, raw); now != base || before != former {
			t.Errorf("%s: should be the same mail", name)
		}
	}
	file := func(name string) string {
		return head + "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nbody ä\n--b\nContent-Type: application/pdf; name=\"" + name + "\"\n\nx\n--b--\n"
	}
	other := map[string]string{
		"body":              head + "\nother\n",
		"date":              strings.Replace(head, "15:04:05", "15:04:06", 1) + "\nbody ä\n",
		"from":              strings.Replace(head, "ann@", "bob@", 1) + "\nbody ä\n",
		"id":                strings.Replace(head, "<1@", "<2@", 1) + "\nbody ä\n",
		"subject":           strings.Replace(head, "Subject: x", "Subject: y", 1) + "\nbody ä\n",
		"no subject":        strings.Replace(head, "Subject: x\n", "", 1) + "\nbody ä\n",
		"brackets, no list": strings.Replace(head, "Subject: x", "Subject: [Room 7] x", 1) + "\nbody ä\n",
		"only brackets":     "List-Id: <l.example.org>\n" + strings.Replace(head, "Subject: x", "Subject: [x]", 1) + "\nbody ä\n",
		"file":              file("a.pdf"),
		"file's name":       file("b.pdf"),
	}
	seen := map[[32]byte]string{base: "the first"}
	for name, raw := range other {
		now, _ := identities(t, raw)
		if seen[now] != "" {
			t.Errorf("%s and %s should be two mails", name, seen[now])
		}
		seen[now] = name
	}
}

// Where a mail has no Message-ID or no date, one delivery is one mail.
func TestIdentityOfDevices(t *testing.T) {
	t.Parallel()
	const door = "Received: from door by mx.example.org; Mon, 02 Jan 2023 15:04:05 +0100\nFrom: door@example.org\nTo: support@example.org\nSubject: Door 3 opened\nDate: Mon, 02 Jan 2023 15:04:05 +0100\n\nalarm\n"
	replaced := func(old, new string) string { return strings.Replace(door, old, new, 1) }
	base, former := identities(t, door)
	for name, raw := range map[string]string{
		"read again":      door,
		"other newline":   strings.ReplaceAll(door, "\n", "\r\n"),
		"an mbox's line":  "From door@example.org Mon Jan  2 15:04:05 2023\n" + door,
		"marked as read":  "Status: RO\nX-Keywords: NonJunk\nX-UID: 17\n" + door,
		"an empty line":   door + "\n",
		"folded elsewise": replaced("from door by", "from door\n by"),
	} {
		if now, before := identities(t, raw); now != base || before != former {
			t.Errorf("%s: should be the same mail", name)
		}
	}
	for name, raw := range map[string]string{
		"subject":        replaced("Door 3 opened", "Fire in room 7"),
		"delivery":       replaced("15:04:05", "15:04:09"),
		"recipient":      replaced("support@", "sales@"),
		"name":           replaced("From: door", "From: Door 4 <door"),
		"no date":        replaced("Date: Mon, 02 Jan 2023 15:04:05 +0100\n", ""),
		"unreadable":     replaced("Date: Mon, 02 Jan 2023 15:04:05 +0100", "Date: now"),
		"id but no date": replaced("Date: Mon, 02 Jan 2023 15:04:05 +0100", "Message-ID: <alarm@door>"),
		"its twin":       strings.Replace(replaced("Date: Mon, 02 Jan 2023 15:04:05 +0100", "Message-ID: <alarm@door>"), "15:04:05", "16:04:05", 1),
		"body":           replaced("alarm", "Alarm"),
	} {
		now, _ := identities(t, raw)
		if now == base {
			t.Errorf("%s: should be another mail", name)
		}
	}
	twin, _ := identities(t, strings.Replace(replaced("Date: Mon, 02 Jan 2023 15:04:05 +0100", "Message-ID: <alarm@door>"), "15:04:05", "16:04:05", 1))
	if first, _ := identities(t, replaced("Date: Mon, 02 Jan 2023 15:04:05 +0100", "Message-ID: <alarm@door>")); twin == first {
		t.Error("two deliveries under one Message-ID without a date should be two mails")
	}
}
