package main

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// tally is the expected result of a mixture of mails.
type tally struct {
	Conversations, Interactions, Attachments, Ignored, Quarantined int
}

// mixture makes n mails of all kinds, always the same ones, in two folders, and returns the expected result.
func mixture(n int) ([]folderMail, tally) {
	m := &mixer{}
	kinds := []func(int){
		m.plain, m.html, m.attached, m.reply, m.charset, m.noMessageID, m.reusedMessageID, m.twice, m.plain, m.reply,
		m.inline, m.nested, m.broken, m.hostile,
	}
	for i := 0; len(m.mails) < n; i++ {
		kinds[i%len(kinds)](i)
	}
	// The pair of a double may be one too many.
	if len(m.mails) > n {
		m.mails = m.mails[:n]
		m.want.Ignored--
	}
	return m.mails, m.want
}

type mixer struct {
	mails    []folderMail
	want     tally
	last     map[string]string // folder: Message-ID of the last plain mail there
	lastOf   map[string]int    // and whose it was
	hostiles int
}

func (m *mixer) add(i int, raw string) {
	m.mails = append(m.mails, folderMail{folderOf(i), strings.ReplaceAll(raw, "\n", "\r\n")})
}

// folderOf puts a mail and the mails that refer to it into one folder: folders are read in parallel, mails of one in order.
func folderOf(i int) string {
	if i/14%2 == 0 {
		return "INBOX"
	}
	return "Archive"
}

func (m *mixer) filed(attachments int, isNew bool) {
	m.want.Interactions++
	m.want.Attachments += attachments
	if isNew {
		m.want.Conversations++
	}
}

func head(i int, extra string) string {
	return fmt.Sprintf("From: Customer %d <customer%d@example.com>\nTo: support@example.org\nSubject: Mail %d\nDate: Mon, 02 Nov 2026 10:%02d:%02d +0100\n%s",
		i, i, i, i/60%60, i%60, extra)
}

func id(i int) string { return fmt.Sprintf("mail-%d@example.com", i) }

func (m *mixer) plain(i int) {
	m.add(i, head(i, "Message-ID: <"+id(i)+">\n\nText of mail "+fmt.Sprint(i)+".\n"))
	m.filed(0, true)
	if m.last == nil {
		m.last, m.lastOf = map[string]string{}, map[string]int{}
	}
	m.last[folderOf(i)], m.lastOf[folderOf(i)] = id(i), i
}

func (m *mixer) html(i int) {
	m.add(i, head(i, "Message-ID: <"+id(i)+`>
MIME-Version: 1.0
Content-Type: multipart/alternative; boundary=b

--b
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

Gr=C3=BC=C3=9Fe
--b
Content-Type: text/html; charset=utf-8

<p>Grüße <script>alert(1)</script><b>fett</p>
--b--
`))
	m.filed(0, true)
}

func (m *mixer) attached(i int) {
	n := 1 + i%3
	var b strings.Builder
	b.WriteString(head(i, "Message-ID: <"+id(i)+">\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nSee the files.\n"))
	for f := range n {
		fmt.Fprintf(&b, "--b\nContent-Type: application/octet-stream\nContent-Disposition: attachment; filename*0*=utf-8''%%C3%%A4nderung-; filename*1=%d.bin\nContent-Transfer-Encoding: base64\n\n%s\n",
			f, base64.StdEncoding.EncodeToString([]byte(strings.Repeat("data", 100+f))))
	}
	b.WriteString("--b--\n")
	m.add(i, b.String())
	m.filed(n, true)
}

// reply answers the folder's last plain mail, as its sender.
func (m *mixer) reply(i int) {
	parent, of := m.last[folderOf(i)], m.lastOf[folderOf(i)]
	raw := strings.Replace(head(i, fmt.Sprintf("Message-ID: <%s>\nIn-Reply-To: <%s>\nReferences: <unknown@example.net> <%s>\n\nOne more thing.\n\n> quoted\n", id(i), parent, parent)),
		fmt.Sprintf("customer%d@", i), fmt.Sprintf("customer%d@", of), 1)
	m.add(i, raw)
	m.filed(0, false)
}

func (m *mixer) charset(i int) {
	samples := []struct{ name, bytes string }{
		{"koi8-r", "\xf0\xd2\xc9\xd7\xc5\xd4"}, {"iso-2022-jp", "\x1b$B$3$s\x1b(B"}, {"gb18030", "\xc4\xe3\xba\xc3"},
		{"no-such-charset", "na\xefve"}, {"utf-8", "broken \xff utf-8"}, {"windows-1252", "\x80 10"},
	}
	s := samples[i/14%len(samples)]
	m.add(i, head(i, fmt.Sprintf("Message-ID: <%s>\nMIME-Version: 1.0\nContent-Type: text/plain; charset=%s\nContent-Transfer-Encoding: 8bit\n\n%s\n", id(i), s.name, s.bytes)))
	m.filed(0, true)
}

func (m *mixer) noMessageID(i int) {
	m.add(i, head(i, "\nNobody named me.\n"))
	m.filed(0, true)
}

func (m *mixer) reusedMessageID(i int) {
	m.add(i, head(i, "Message-ID: <always-the-same@example.com>\n\nAnother text, number "+fmt.Sprint(i)+".\n"))
	m.filed(0, true)
}

// twice is one mail that was delivered two times: by the list and directly.
func (m *mixer) twice(i int) {
	raw := head(i, "Message-ID: <"+id(i)+">\n\nI come twice.\n")
	m.add(i, raw)
	m.filed(0, true)
	m.add(i, "Received: from list.example.net by mx.example.org; Mon, 02 Nov 2026 10:00:00 +0100\nDelivered-To: support@example.org\n"+raw)
	m.want.Ignored++
}

func (m *mixer) inline(i int) {
	m.add(i, head(i, "Message-ID: <"+id(i)+`>
MIME-Version: 1.0
Content-Type: multipart/related; boundary=b

--b
Content-Type: text/html

<p>Look: <img src="cid:pic@example.com"></p>
--b
Content-Type: image/png; name="pic.png"
Content-ID: <pic@example.com>
Content-Transfer-Encoding: base64

iVBORw0KGgo=
--b--
`))
	m.filed(1, true)
}

func (m *mixer) nested(i int) {
	m.add(i, head(i, "Message-ID: <"+id(i)+`>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain

Forwarded:
--b
Content-Type: message/rfc822

From: inner@example.net
Subject: Inner
Message-ID: <inner@example.net>

Inner text.
--b--
`))
	m.filed(1, true)
}

// broken mails are damaged and must be filed all the same.
func (m *mixer) broken(i int) {
	samples := []string{
		"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nThe end is missing",
		"MIME-Version: 1.0\nContent-Type: multipart/mixed\n\nThere is no boundary.\n",
		"This is no header line\nX-Ok: yes\n\nA junk line in the header.\n",
		"MIME-Version: 1.0\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\nSGVsbG8gd29ybGQ\n",
		"MIME-Version: 1.0\nContent-Type: text/plain; charset=\"\nContent-Transfer-Encoding: x-unknown\n\nUnknown encoding.\n",
	}
	m.add(i, head(i, "Message-ID: <"+id(i)+">\n"+samples[i/14%len(samples)]))
	m.filed(0, true)
}

// nobody makes a mail without a sender: it must still be readable.
func (m *mixer) nobody(i int) {
	m.add(i, "Subject: no sender\nMessage-ID: <"+id(i)+">\n\nWho am I?\n")
	m.filed(0, true)
}

// hostile mails must be quarantined and delay no others.
func (m *mixer) hostile(i int) {
	samples := []string{
		head(i, "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"+strings.Repeat("--b\n\nx\n", 10000)+"--b--\n"),
		head(i, "X-Long: "+strings.Repeat("x ", 600_000)+"\n\nA header of more than 1 MiB.\n"),
		head(i, nestedMultiparts(100)),
	}
	m.hostiles++
	if m.hostiles%4 == 0 {
		m.nobody(i)
		return
	}
	m.add(i, samples[m.hostiles%len(samples)])
	m.want.Quarantined++
}

func nestedMultiparts(depth int) string {
	var b strings.Builder
	for d := range depth {
		fmt.Fprintf(&b, "Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n", d, d)
	}
	b.WriteString("Content-Type: text/plain\n\nDeep.\n")
	for d := depth - 1; d >= 0; d-- {
		fmt.Fprintf(&b, "--b%d--\n", d)
	}
	return "MIME-Version: 1.0\n" + b.String()
}
