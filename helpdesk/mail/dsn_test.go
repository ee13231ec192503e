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
	status := "Final-Recipient: rfc822; ada@example.com\nAction: failed\nStatus: 5.1.1\n\n"
	failed := []mail.ReportedRecipient{{Address: "ada@example.com", Action: mail.ReportFailed, Status: "5.1.1"}}
	complaint := "Return-Path: <fbl@isp.example>\nFrom: Feedback <fbl@isp.example>\nTo: support@desk.example\nSubject: complaint\nMIME-Version: 1.0\n" +
		"Content-Type: multipart/report; report-type=feedback-report; boundary=cut\n\n--cut\n\nThis is an abuse report.\n--cut\nContent-Type: message/feedback-report\n\n" +
		"Feedback-Type: abuse\nOriginal-Mail-From: <support+b-x@desk.example>\nOriginal-Rcpt-To: ada@example.com\n\n--cut\nContent-Type: message/rfc822\n\n" + returned + "--cut--\n"
	ordinary := "Return-Path: <bob@example.com>\nFrom: Bob <bob@example.com>\n"
	for name, test := range map[string]struct {
		raw  string
		want *mail.Report // nil: no report; its MessageIDs are those of the returned mail
	}{
		"failed": {dsn("Final-Recipient: rfc822; ada@example.com\nOriginal-Recipient: rfc822;Ada@example.org\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1\n  no such user\n\n"),
			&mail.Report{Recipients: []mail.ReportedRecipient{{Address: "ada@example.com", Original: "Ada@example.org", Action: mail.ReportFailed, Status: "5.1.1", Diagnostic: "smtp; 550 5.1.1 no such user"}}}},
		"delayed and relayed": {dsn("Final-Recipient: rfc822; ada@example.com\nAction: delayed (for 4 hours)\nStatus: 4.4.1\n\nFinal-Recipient: rfc822; <bob@example.com>\nAction: relayed\nStatus: 2.0.0\n\n"),
			&mail.Report{Recipients: []mail.ReportedRecipient{{Address: "ada@example.com", Action: mail.ReportDelayed, Status: "4.4.1"}, {Address: "bob@example.com", Action: mail.ReportRelayed, Status: "2.0.0"}}}},
		"for an X.400 address": {dsn("Final-Recipient: x400; /G=Ada/S=Marsh/O=Example/C=DE/\nAction: failed\nStatus: 5.1.1\nX-Supplementary-Info: <mx.example #5.1.1 smtp;550 5.1.1 no such user>\n\n"),
			&mail.Report{Recipients: []mail.ReportedRecipient{{Action: mail.ReportFailed, Status: "5.1.1", Diagnostic: "<mx.example #5.1.1 smtp;550 5.1.1 no such user>"}}}},
		"for one whose original address is known": {dsn("Final-Recipient: X400;c=de;s=Marsh\nOriginal-Recipient: rfc822;ada@example.com\nAction: failed\nDiagnostic-Code: X400; code 1 5.2.2 full\n\n"),
			&mail.Report{Recipients: []mail.ReportedRecipient{{Address: "ada@example.com", Action: mail.ReportFailed, Status: "5.2.2", Diagnostic: "X400; code 1 5.2.2 full"}}}},
		"without the type of its address": {dsn("Final-Recipient: ada@example.com\nAction: failed\nStatus: 5.1.1\n\n"), &mail.Report{Recipients: failed}},
		"for a local name":                {dsn("Final-Recipient: local; ada\nAction: failed\nStatus: 5.1.1\n\n"), &mail.Report{Recipients: []mail.ReportedRecipient{{Action: mail.ReportFailed, Status: "5.1.1"}}}},
		"of a multipart/report alone":     {strings.Replace(dsn(status), daemon, "From: Exchange <notices@mx.example>\nTo: support@desk.example\n", 1), &mail.Report{Recipients: failed}},
		"in a mixed mail of a daemon":     {strings.Replace(dsn(status), "multipart/report; report-type=delivery-status;", "multipart/mixed;", 1), &mail.Report{Recipients: failed}},
		"in a mixed mail from nobody":     {strings.NewReplacer("MAILER-DAEMON@", "sysadmin@", "multipart/report; report-type=delivery-status;", "multipart/mixed;").Replace(dsn(status)), &mail.Report{Recipients: failed}},
		"with a footer around it": {daemon + "Subject: x\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=outer\n\n--outer\n" +
			strings.TrimPrefix(dsn(status), daemon+"Subject: Undelivered Mail Returned to Sender\n") + "\n--outer\nContent-Type: text/plain\n\nScanned.\n--outer--\n",
			&mail.Report{Recipients: failed}},
		"handed on as a whole mail": {strings.Replace(daemon, "report@", "outer@", 1) + "Subject: Notice\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=outer\n\n--outer\n\nFor your information.\n--outer\nContent-Type: message/rfc822\n\n" +
			dsn(status) + "\n--outer--\n", &mail.Report{Recipients: failed}},
		"qmail": {daemon + "Subject: failure notice\n\nHi. This is the qmail-send program at mx.example.\nI'm afraid I wasn't able to deliver your message to the following addresses.\n\n" +
			"<ada@example.com>:\nRemote host said: 550 5.1.1 unknown user\n\n--- Below this line is a copy of the message.\n\n" + returned,
			&mail.Report{InWords: true, Recipients: failed}},
		"Exim": {daemon + "Subject: Mail delivery failed: returning message to sender\nX-Failed-Recipients: ada@example.com\n\nThe following address(es) failed:\n\n  ada@example.com\n    Unrouteable address\n\n" +
			"------ This is a copy of the message, including all the headers. ------\n\n" + returned,
			&mail.Report{InWords: true, Recipients: []mail.ReportedRecipient{{Address: "ada@example.com", Action: mail.ReportFailed}}}},
		"sendmail warns": {daemon + "Subject: Warning: could not send message for past 4 hours\n\n** THIS IS A WARNING MESSAGE ONLY **\n** YOU DO NOT NEED TO RESEND YOUR MESSAGE **\n\n<ada@example.com>... Deferred: Connection timed out\n\n   ----- Original message follows -----\n" + returned,
			&mail.Report{InWords: true, Recipients: []mail.ReportedRecipient{{Address: "ada@example.com", Action: mail.ReportDelayed}}}},
		"nobody's words":  {strings.Replace(daemon, "From: MAILER-DAEMON@mx.example\n", "", 1) + "Subject: failure notice\n\n<ada@example.com>:\n550 5.1.1 no\n\n--- Below this line is a copy of the message.\n\n" + returned, &mail.Report{InWords: true, Recipients: failed}},
		"who is not said": {dsn(""), &mail.Report{InWords: true}},
		"a complaint":     {complaint, &mail.Report{Complaint: true, Senders: []string{"support+b-x@desk.example", "support@desk.example"}}},

		"a complaint that somebody forwards": {strings.Replace(complaint, "multipart/report; report-type=feedback-report;", "multipart/mixed;", 1), nil},
		"a receipt":                          {strings.ReplaceAll(dsn(status), "message/delivery-status", "message/disposition-notification"), nil},
		"a daemon's other mail":              {daemon + "Subject: Quota\n\nYour mailbox ada@example.com is nearly full.\n", nil},
		"a customer":                         {"From: ada@example.com\nTo: support@desk.example\nSubject: door\n\nbob@example.com told me 550 times\n", nil},
		"a report that somebody forwards": {ordinary + "Subject: Fwd: Undelivered Mail Returned to Sender\n" +
			strings.Replace(strings.TrimPrefix(dsn(status), daemon+"Subject: Undelivered Mail Returned to Sender\n"), "multipart/report; report-type=delivery-status;", "multipart/mixed;", 1), nil},
		"one that comes with the null return path": {"Return-Path: <>\nFrom: Bob <bob@example.com>\nSubject: Fwd: Undelivered Mail Returned to Sender\n" +
			strings.Replace(strings.TrimPrefix(dsn(status), daemon+"Subject: Undelivered Mail Returned to Sender\n"), "multipart/report; report-type=delivery-status;", "multipart/mixed;", 1), nil},
		"a report that somebody attaches": {ordinary + "Subject: See this\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=outer\n\n--outer\n\nWhat is it?\n--outer\nContent-Type: message/rfc822\n\n" +
			dsn(status) + "\n--outer--\n", nil},
		"a vacation":               {"Return-Path: <>\nFrom: Ada <ada@example.com>\nAuto-Submitted: auto-replied\nIn-Reply-To: <answer@desk.example>\nSubject: Delivery problem: I am away\n\nAsk bob@example.com, extension 550 .\n", nil},
		"a postmaster who answers": {"Return-Path: <postmaster@example.com>\nFrom: Post Master <postmaster@example.com>\nIn-Reply-To: <answer@desk.example>\nSubject: Re: Undelivered mail\n\nbob@example.com gets 550 5.1.1 here.\n", nil},
		"a postmaster as a person": {"Return-Path: <bob@example.com>\nFrom: Bob <postmaster@example.com>\nSubject: Undelivered mail\n\nada@example.com gets 550 5.1.1 here.\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := mail.Parse([]byte(strings.ReplaceAll(test.raw, "\n", "\r\n")), mail.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got, ok := m.Report()
			if ok != (test.want != nil) {
				t.Fatalf("it is a report: %v, %+v", ok, got)
			}
			if !ok {
				return
			}
			options := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(mail.Report{}, "MessageIDs")}
			if name != "failed" {
				options = append(options, cmpopts.IgnoreFields(mail.ReportedRecipient{}, "Diagnostic"))
			}
			if test.want.Senders == nil {
				test.want.Senders = []string{"support@desk.example"}
			}
			if diff := cmp.Diff(*test.want, got, options); diff != "" {
				t.Error(diff)
			}
			if len(got.MessageIDs) == 0 || got.MessageIDs[0] != "answer@desk.example" {
				t.Errorf("it is about %q", got.MessageIDs)
			}
		})
	}
}

// Mails from people are not reports, whatever their topic: the subjects and words of reports, in several languages and in
// the forms of several programs.
func TestRepliesAreNoReports(t *testing.T) {
	t.Parallel()
	subjects := []string{
		"Re: Delivery problem with my parcel", "Undelivered parcel", "Failed delivery", "Could not be delivered", "RE: Mail delivery failed",
		"AW: Nicht zugestellt: Returned mail", "Delivery Status Notification (Failure)", "Re: Undeliverable: my order", "Returned mail: see transcript for details",
		"failure notice", "TR : Échec de remise", "RV: No se puede entregar", "回复: 投递失败", "Re: Mail System Error - Returned Mail", "Non-delivery",
	}
	bodies := map[string]string{
		"Gmail":       "Please send it to bob@example.com instead.\n\nOn Mon, 2 Jan 2026 at 10:00, Support <support@desk.example> wrote:\n> 550 5.1.1 user unknown\n> Message-ID: <answer@desk.example>\n",
		"Outlook":     "It could not be delivered, error 550 5.1.1.\n\nFrom: Support <support@desk.example>\nSent: Monday\nTo: Ada\nSubject: x\n\n<bob@example.com>: host said: 550 5.1.1 unknown\n",
		"Apple Mail":  "No.\n\n> On 2 Jan 2026, at 10:00, Support <support@desk.example> wrote:\n> bob@example.com 554 delivery error: no such user\n",
		"Thunderbird": "Am 02.01.26 um 10:00 schrieb Support:\n> x\nEmpfänger unbekannt: 550 5.1.1\n-- \nAda, ada@example.org, Tel. 550 123\n",
		"iPhone":      "The following address failed: bob@example.com\n\nSent from my iPhone\n",
	}
	for _, path := range []string{"Return-Path: <ada@example.com>\n", "Return-Path: <>\n", ""} {
		for _, subject := range subjects {
			for client, body := range bodies {
				raw := path + "From: Ada <ada@example.com>\nTo: support@desk.example\nX-Failed-Recipients: bob@example.com\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n" +
					"In-Reply-To: <answer@desk.example>\nMessage-ID: <x@example.com>\nSubject: " + subject + "\n\n" + body
				m, err := mail.Parse([]byte(strings.ReplaceAll(raw, "\n", "\r\n")), mail.Limits{})
				if err != nil {
					t.Fatal(err)
				}
				if r, ok := m.Report(); ok {
					t.Errorf("%q of %s with %q is a report: %+v", subject, client, path, r)
				}
			}
		}
	}
}

// Nearly all bounces in many dialects are understood, and other mails are not mistaken for bounces.
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
			if ok && (!r.Complaint || len(r.Recipients) > 0) {
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
	if reports*100 < total*97 {
		t.Errorf("only %d of %d bounces are understood", reports, total)
	}
}

func FuzzReport(f *testing.F) {
	f.Add([]byte(dsn("Final-Recipient: rfc822; ada@example.com\nAction: failed\nStatus: 5.1.1\n\n")))
	f.Add([]byte(daemon + "Subject: failure notice\n\n<ada@example.com>:\n550 no\n\n" + returned))
	f.Add([]byte("From: fbl@isp.example\nContent-Type: multipart/report; boundary=cut\n\n--cut\nContent-Type: message/feedback-report\n\nFeedback-Type: abuse\nOriginal-Mail-From: <a@b>\n\n--cut--\n"))
	f.Add([]byte(daemon + "Content-Type: multipart/mixed; boundary=outer\n\n--outer\nContent-Type: message/rfc822\n\n" + dsn("Final-Recipient: rfc822; a@b.example\n\n") + "--outer--\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := mail.Parse(raw, mail.Limits{})
		if err != nil {
			return
		}
		r, ok := m.Report()
		if ok != (len(r.Recipients) > 0 || r.Complaint || r.InWords) || len(r.Recipients) > 100 || len(r.MessageIDs) > 100 || len(r.Senders) > 100 {
			t.Errorf("%v: %+v", ok, r)
		}
		for _, one := range r.Recipients {
			if !strings.Contains(one.Address, "@") && !strings.EqualFold(one.Address, "mailer-daemon") || len(one.Diagnostic) > 500 {
				t.Errorf("%+v", one)
			}
		}
	})
}
