package demo

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
)

//go:embed stories/*.png
var photos embed.FS

// letter is a customer's mail.
type letter struct {
	id         string
	at         time.Time
	from       *customer
	to         string
	subject    string
	references []string
	text       string
	photo      string
	copied     string // address in Cc; "" for none
}

// raw returns the mail as received.
func (l letter) raw() ([]byte, error) {
	out := mail.Outgoing{
		MessageID: l.id, Date: l.at, From: mailaddr.Address{Name: l.from.name(), Email: l.from.email}, To: []mailaddr.Address{{Email: l.to}},
		Subject: l.subject, References: l.references, Text: l.text,
	}
	if n := len(l.references); n > 0 {
		out.InReplyTo = l.references[n-1]
	}
	if l.copied != "" {
		out.Cc = []mailaddr.Address{{Email: l.copied}}
	}
	if l.photo != "" {
		open := func() (io.ReadCloser, error) { return photos.Open("stories/" + l.photo) }
		out.Attachments = []mail.File{{Filename: l.photo, ContentType: "image/png", Open: open}}
	}
	var b bytes.Buffer
	_, err := out.WriteTo(&b)
	return b.Bytes(), err
}

// returnedMail is a mail system's report that a mail could not be delivered (RFC 3464).
func returnedMail(id string, at time.Time, to, messageID, recipient, status, diagnostic string) []byte {
	_, host, _ := strings.Cut(recipient, "@")
	text := fmt.Sprintf(`Return-Path: <>
From: Mail Delivery System <MAILER-DAEMON@%[1]s>
To: <%[2]s>
Subject: Undelivered Mail Returned to Sender
Date: %[3]s
Message-ID: <%[4]s>
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="%[4]s"

--%[4]s
Content-Type: text/plain; charset=us-ascii

This is the mail system at host %[1]s.

I'm sorry to have to inform you that your message could not be
delivered to one or more recipients.

<%[5]s>: %[7]s

--%[4]s
Content-Type: message/delivery-status

Reporting-MTA: dns; %[1]s

Final-Recipient: rfc822; %[5]s
Action: failed
Status: %[6]s
Diagnostic-Code: smtp; %[7]s

--%[4]s
Content-Type: text/rfc822-headers

From: <%[2]s>
To: <%[5]s>
Message-ID: <%[8]s>

--%[4]s--
`, "mx."+host, to, at.Format(time.RFC1123Z), id, recipient, status, diagnostic, messageID)
	return []byte(strings.ReplaceAll(text, "\n", "\r\n"))
}
