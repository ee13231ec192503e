package mail_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk/mail"
)

const daemon = "Return-Path: <>\nFrom: MAILER-DAEMON@mx.example\nTo: support@desk.example\nMessage-ID: <report@mx.example>\n"

// returned is a copy of the mail that came back.
const returned = "From: support@desk.example\nTo: ada@example.com\nMessage-ID: <answer@desk.example>\nSubject: Re: door\n\nPull.\n"

func dsn(status string) string {
	return daemon + "Subject: Undelivered Mail Returned to Sender\nMIME-Version: 1.0\n" +
		"Content-Type: multipart/report; report-type=delivery-status; boundary=cut\n\n--cut\n\nSorry.\n" +
		"--cut\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example\n\n" + status +
		"--cut\nContent-Type: message/rfc822\n\n" + returned + "--cut--\n"
}

func TestReport(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		raw  string
		want []mail.ReportedRecipient // nil: no report
	}{
		"failed": {dsn("Final-Recipient: rfc822; ada@example.com\nOriginal-Recipient: rfc822;Ada@example.org\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1\n  no such user\n\n"),
			[]mail.ReportedRecipient{{Address: "ada@example.com", Original: "Ada@example.org", Action: mail.ReportFailed, Status: "5.1.1", Diagnostic: "smtp; 550 5.1.1 no such user"}}},
		"delayed and delivered": {dsn("Final-Recipient: rfc822; ada@example.com\nAction: delayed (for 4 hours)\nStatus: 4.4.1\n\nFinal-Recipient: rfc822; <bob@example.com>\nAction: relayed\nStatus: 2.0.0\n\n"),
			[]mail.ReportedRecipient{{Address: "ada@example.com", Action: mail.ReportDelayed, Status: "4.4.1"}, {Address: "bob@example.com", Action: mail.ReportDelivered, Status: "2.0.0"}}},
		"qmail": {daemon + "Subject: failure notice\n\nHi. This is the qmail-send program at mx.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\n\n" +
			"<ada@example.com>:\nRemote host said: 550 5.1.1 unknown user\n\n--- Below this line is a copy of the message.\n\n" + returned,
			[]mail.ReportedRecipient{{Address: "ada@example.com", Action: mail.ReportFailed, Status: "5.1.1"}}},
		"Exim": {daemon + "Subject: Mail delivery failed: returning message to sender\nX-Failed-Recipients: ada@example.com\n\nThe following address(es) failed:\n\n  ada@example.com\n    Unrouteable address\n\n" +
			"------ This is a copy of the message, including all the headers. ------\n\n" + returned,
			[]mail.ReportedRecipient{{Address: "ada@example.com", Action: mail.ReportFailed}}},
		"sendmail warns": {daemon + "Subject: Warning: could not send message for past 4 hours\n\n** THIS IS A WARNING MESSAGE ONLY **\n** YOU DO NOT NEED TO RESEND YOUR MESSAGE **\n\n<ada@example.com>... Deferred: Connection timed out\n\n   ----- Original message follows -----\n" + returned,
			[]mail.ReportedRecipient{{Address: "ada@example.com", Action: mail.ReportDelayed}}},
		"a customer":   {"From: ada@example.com\nTo: support@desk.example\nSubject: door\n\nbob@example.com told me 550 times\n", nil},
		"a complaint":  {strings.ReplaceAll(dsn("Feedback-Type: abuse\n\n"), "message/delivery-status", "message/feedback-report"), nil},
		"an empty one": {dsn(""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := mail.Parse([]byte(strings.ReplaceAll(test.raw, "\n", "\r\n")), mail.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got, ok := m.Report()
			ignore := cmpopts.IgnoreFields(mail.ReportedRecipient{}, "Diagnostic")
			if name == "failed" {
				ignore = nil
			}
			var options cmp.Options
			if ignore != nil {
				options = append(options, ignore)
			}
			if diff := cmp.Diff(test.want, got.Recipients, options); diff != "" || ok != (test.want != nil) {
				t.Error(diff)
			}
			if ok && (len(got.MessageIDs) == 0 || got.MessageIDs[0] != "answer@desk.example") {
				t.Errorf("it is about %q", got.MessageIDs)
			}
		})
	}
}

// Of the bounces in many dialects nearly all are understood, and what is none is
// not taken for one.
func TestReportDialects(t *testing.T) {
	t.Parallel()
	reports, known, total := 0, 0, 0
	for name, raw := range corpusMails(t, "bounces") {
		m, err := mail.Parse(raw, mail.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, ok := m.Report()
		switch {
		case strings.Contains(name, "_arf-"):
			if ok {
				t.Errorf("%s, a complaint, was taken for a bounce", name)
			}
		case strings.Contains(name, "lhost-"), strings.Contains(name, "rhost-"), strings.Contains(name, "rfc3464"):
			if total++; ok {
				reports++
			} else {
				t.Logf("%s is not understood: %q", name, m.Subject)
			}
			if len(r.MessageIDs) > 0 {
				known++
			}
		}
	}
	t.Logf("%d of %d bounces understood, %d name the mail they are about", reports, total, known)
	if reports*100 < total*95 {
		t.Errorf("only %d of %d bounces are understood", reports, total)
	}
}

func FuzzReport(f *testing.F) {
	f.Add([]byte(dsn("Final-Recipient: rfc822; ada@example.com\nAction: failed\nStatus: 5.1.1\n\n")))
	f.Add([]byte(daemon + "Subject: failure notice\n\n<ada@example.com>:\n550 no\n\n" + returned))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := mail.Parse(raw, mail.Limits{})
		if err != nil {
			return
		}
		r, ok := m.Report()
		if ok != (len(r.Recipients) > 0) || len(r.Recipients) > 100 || len(r.MessageIDs) > 100 {
			t.Errorf("%v: %+v", ok, r)
		}
		for _, one := range r.Recipients {
			if !strings.Contains(one.Address, "@") && !strings.EqualFold(one.Address, "mailer-daemon") || len(one.Diagnostic) > 500 {
				t.Errorf("%+v", one)
			}
		}
	})
}
