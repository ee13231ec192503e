package mail_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/storage/testenv"
)

// TestGrowth checks that the cost of hostile mails is linear in their size. Each is a beginning and a repeated piece, with
// the limits raised.
func TestGrowth(t *testing.T) { //nolint:paralleltest // it measures
	limits := mail.Limits{Size: 1 << 30, HeaderBytes: 1 << 28, Parts: 1 << 24, Depth: 1000}
	const multipart = "From: a@b.example\nContent-Type: multipart/mixed; boundary=b\n\n"
	for name, m := range map[string][2]string{
		"fields":             {"From: a@b.example\n", "X: y\n"},
		"folded":             {"From: a@b.example\nSubject: x", "\n y"},
		"addresses":          {"From: a@b.example\nTo: ", "A <a@b.example>, "},
		"open comments":      {"From: a@b.example\nTo: ", "(\\"},
		"open quotes":        {"From: a@b.example\nTo: ", "\" <"},
		"groups":             {"From: a@b.example\nTo: ", "x:;"},
		"ids":                {"From: a@b.example\nReferences: ", "<a@b.example> "},
		"half ids":           {"From: a@b.example\nReferences: ", "<a@"},
		"words":              {"From: a@b.example\nSubject: ", "=?utf-8?q?x?= "},
		"half words":         {"From: a@b.example\nSubject: ", "=?utf-8?q?"},
		"words in addresses": {"From: a@b.example\nTo: ", "=?utf-8?q?x,y?= <a@b.example>, "},
		"half words in them": {"From: a@b.example\nTo: ", "=?utf-8?q?"},
		"hidden":             {"From: a@b.example\nContent-Type: text/html\n\n", "<div style='display:none'>x"},
		"attendees":          {"From: a@b.example\nContent-Type: text/calendar\n\nBEGIN:VEVENT\n", "ATTENDEE;CN=\"x:\";A=b:mailto:a@b.example\n"},
		"raw bytes":          {"From: a@b.example\nSubject: ", "\xe1\xec "},
		"parameters":         {"From: a@b.example\nContent-Type: text/plain", "; a*1=b"},
		"no fields":          {"From: a@b.example\n", "no field\n"},
		"parts":              {multipart, "--b\n\nx\n"},
		"likely boundaries":  {multipart, "--bb\n"},
		"texts":              {multipart, "--b\nContent-Type: text/html\n\n<p>x\n"},
		"files":              {multipart, "--b\nContent-Type: image/png; name=a.png\nContent-ID: <a@b>\n\nx\n"},
		"base64":             {"From: a@b.example\nContent-Transfer-Encoding: base64\n\n", "YQ==?"},
		"quoted":             {"From: a@b.example\nContent-Transfer-Encoding: quoted-printable\n\n", "=3D=\n="},
		"uuencoded":          {"From: a@b.example\n\n", "begin 644 a\n#0V%T\nend\n"},
		"half uuencoded":     {"From: a@b.example\n\nend\n", "begin 644 a\n#0V%T\n"},
		"flowed":             {"From: a@b.example\nContent-Type: text/plain; format=flowed\n\n", "> x \n"},
		"undeclared":         {"From: a@b.example\n\n", "\xc4\xfa\xba\xc3 "},
		"in disguise":        {"From: a@b.example\nContent-Type: text/plain; charset=iso-8859-1\n\n", "ü\xff "},
		"returns":            {"From: a@b.example\rSubject: x\r\r", "x\r"},
		"mbox lines":         {"", "From x\n"},
		"signed":             {"From: a@b.example\nContent-Type: application/pkcs7-mime\n\n0\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0\x80", "0\x80"},
		"signed in pieces": {"From: a@b.example\nContent-Type: application/pkcs7-mime\n\n0\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02\xa0\x80" +
			"0\x80\x02\x01\x01\x31\x000\x80\x06\x01\x00\xa0\x80\x24\x80", "\x04\x01x"},
		"reports":            {"From: a@b.example\nContent-Type: multipart/report; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\n", "Final-Recipient: rfc822; a@b.example\nAction: failed\n\n"},
		"reports in words":   {"From: MAILER-DAEMON@b.example\nSubject: failure notice\n\n", "<a@b.example>: 550 5.1.1 no\n"},
		"what came back":     {"From: MAILER-DAEMON@b.example\nSubject: failure notice\n\n", "Message-ID: <a@b.example>\nFrom: a@b.example\n"},
		"reports in a mail":  {"From: MAILER-DAEMON@b.example\nContent-Type: multipart/mixed; boundary=b\n\n", "--b\nContent-Type: message/rfc822\n\nFrom: MAILER-DAEMON@b.example\n\nx\n"},
		"complaints":         {"From: a@b.example\nContent-Type: multipart/report; boundary=b\n\n--b\nContent-Type: message/feedback-report\n\n", "Original-Mail-From: <a@b.example>\n\n"},
		"texts with names":   {multipart, "--b\nContent-Type: text/plain; name=a\n\nx\n"},
		"returns below":      {"Received: x\nFrom: a@b.example\r", "X: y\r"},
		"returns in fields":  {"From: a@b.example\n", "X: y\rz\n"},
		"comments":           {"To: a@b.example\nFrom: ", "(a) . "},
		"addresses apart":    {"To: a@b.example\nFrom: ", "a @ b . example "},
		"dates":              {"From: a@b.example\nDate: ", "1-2-3 4:5 +0100 "},
		"hops":               {"From: a@b.example\nReceived: ", "x; 1 Jan 2026 10:00:00 +0000 (a) "},
		"ids without a sign": {"From: a@b.example\nReferences: ", "a@b.example, "},
		"words of letters":   {"From: a@b.example\n\n", "\xf8\xec\xe1 \xb3a "},
		"escapes":            {"From: a@b.example\n\n", "\x1b$B$\"\x1b(B"},
		"UTF-7":              {"From: a@b.example\nContent-Type: text/plain; charset=utf-7\n\n", "+AOQ-+"},
		"UTF-16":             {"From: a@b.example\nContent-Type: text/plain; charset=utf-16\n\n", "a\x00\x00b"},
		"encoded multiparts": {"From: a@b.example\nContent-Type: multipart/mixed; boundary=b\nContent-Transfer-Encoding: quoted-printable\n\n", "--b\nA: =3D\n\n=3D\n"},
		"headers inside":     {multipart, "--b\nContent-Type: text/plain; boundary=b\n\n--a\nContent-Type: x; boundary=b\n\n"},
		"final boundaries":   {multipart, "--b--\n"},
		"headers, no end":    {multipart + "--b\n", "--a\nContent-Type: message/rfc822; boundary=b\n\n"},
		"dashes":             {multipart + "--b\n", "--\n"},
		"dashes and fields":  {"From: a@b.example\n", "--\nX: y\n"},
		"words and base64":   {"From: a@b.example\nContent-Transfer-Encoding: base64\n\n", "A word.\nSGVsbG8h\n"},
		"tags and base64":    {"From: a@b.example\nContent-Type: text/html\nContent-Transfer-Encoding: base64\n\n", "<p>SGVsbG8hSGVsbG8h</p>"},
		"lines of digits":    {"From: a@b.example\nContent-Transfer-Encoding: base64\n\nA word.\n", "SGVsbG8h\nSGVs\n"},
		"comments in types":  {"From: a@b.example\nContent-Type: text/plain", "; (a) b=(c) d"},
		"open in types":      {"From: a@b.example\nContent-Type: text/plain; a=\"", "\"(;"},
		"quotes in names":    {"From: a@b.example\nContent-Disposition: inline; filename=\"", "a\"b; "},
		"escapes in names":   {"From: a@b.example\nContent-Disposition: inline; filename=\"", "\\\"; b="},
		"doubled returns":    {"From: a@b.example\r\r\n\r\r\n", "x\r\r\n"},
		"many returns":       {"From: a@b.example\r\r\n\r\r\n", "\r\r"},
		"enriched":           {"From: a@b.example\nContent-Type: text/enriched\n\n", "<param><\n"},
		"invitations":        {"From: a@b.example\nContent-Type: text/calendar\n\n", "BEGIN:VEVENT\nSUMMARY:x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Growth(t, 16<<10, func(n int) func() {
				raw := []byte(m[0] + strings.Repeat(m[1], n/len(m[1])))
				return func() {
					mail.Head(raw)
					if m, err := mail.Parse(raw, limits); err == nil {
						m.Identity()
						m.Report()
					}
				}
			})
		})
	}
	t.Run("reused boundaries", func(t *testing.T) {
		testenv.Growth(t, 64<<10, func(n int) func() {
			const piece = "--b\nContent-Type: multipart/mixed; boundary=b\n\n"
			raw := []byte(multipart + strings.Repeat(piece, n/len(piece)))
			return func() { _, _ = mail.Parse(raw, mail.Limits{Depth: 20}) }
		})
	})
	for _, piece := range []string{"> x\n", "x\n", "\n", "From: a\n", "From: a\nSent: b\nTo: c\nSubject: d\n\n", "On 1/2/24 10:15, A <a@b.example> wrote:\n",
		"1 wrote:\n", "-----Original Message-----\n", "----- a -----\n", ">", ":", "_____\n"} {
		t.Run("quotes, "+piece, func(t *testing.T) {
			testenv.Growth(t, 16<<10, func(n int) func() {
				s := "new\n" + strings.Repeat(piece, n/len(piece))
				return func() { mail.SplitQuote(s, true) }
			})
		})
	}
}
