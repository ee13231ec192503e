package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/emersion/go-smtp"
	"golang.org/x/net/idna"

	"github.com/helpwright/helpwright/helpdesk/sending"
)

// transaction is the transfer of one message in a session.
type transaction struct {
	*session
	ctx     context.Context //nolint:containedctx // it is for one transaction
	results []Result
	clean   bool // the session can take another mail
	doubt   bool // the relay may have taken the message without confirming
}

// send fills in the results.
func (t *transaction) send(from string, to []string, m *Mail) {
	t.clean = true                                     // no command sent yet
	international, _ := t.client.Extension("SMTPUTF8") // RFC 6531
	if m.EightBit && !international && m.Plain != nil {
		m = m.Plain
	}
	sender, problem := t.envelopeAddress(from)
	if problem == nil {
		problem = t.tooLarge(m)
	}
	if any8bit, _ := t.client.Extension("8BITMIME"); problem == nil && m.EightBit && !international && !any8bit { // RFC 6152
		problem = &Result{
			State: sending.Failed, EnhancedCode: "5.6.3",
			Response: "The mail has characters beyond ASCII, and the mail relay takes none (8BITMIME, SMTPUTF8).",
		}
	}
	if problem != nil {
		t.completeResults(*problem)
		return
	}
	recipients := make([]string, len(to))
	for i, address := range to {
		if recipients[i], problem = t.envelopeAddress(address); problem != nil {
			t.results[i] = *problem
		}
	}
	if !slices.ContainsFunc(t.results, func(r Result) bool { return r.State == "" }) {
		return
	}
	needed := m.EightBit || !ascii(sender) || !ascii(strings.Join(recipients, ""))
	if err := t.client.Mail(sender, &smtp.MailOptions{Size: m.Size, UTF8: international && needed}); err != nil {
		t.completeResults(t.outcome(err, "sender"))
		t.reset(err)
		return
	}
	if accepted := t.recipients(recipients); len(accepted) > 0 {
		outcome := t.data(m)
		for _, i := range accepted {
			t.results[i] = outcome
		}
	}
}

func (t *transaction) tooLarge(m *Mail) *Result {
	limit, ok := t.client.MaxMessageSize() // RFC 1870
	if !ok || limit == 0 || m.Size <= int64(limit) {
		return nil
	}
	text := fmt.Sprintf("The mail has %d bytes, and the mail relay takes at most %d.", m.Size, limit)
	return &Result{State: sending.Failed, EnhancedCode: "5.3.4", Response: text}
}

// completeResults sets the result of recipients without one.
func (t *transaction) completeResults(r Result) {
	for i := range t.results {
		if t.results[i].State == "" {
			t.results[i] = r
		}
	}
}

// reset prepares the session for another message after a rejection, unless the connection failed or the relay is about to
// close it.
func (t *transaction) reset(err error) {
	answer, ok := errors.AsType[*smtp.SMTPError](err)
	t.clean = ok && answer.Code != 421 && t.client.Reset() == nil
}

// recipients sends the recipients without a result to the relay and returns the accepted ones; none if the connection ends.
func (t *transaction) recipients(to []string) (accepted []int) {
	var err error
	for i, address := range to {
		if t.results[i].State != "" {
			continue
		}
		if err = t.client.Rcpt(address, nil); err == nil {
			accepted = append(accepted, i)
			continue
		}
		refusal := t.outcome(err, "recipient")
		if refusal.Code == 0 || refusal.Code == 421 {
			t.completeResults(refusal)
			t.clean = false
			return nil
		}
		t.results[i] = refusal
	}
	if len(accepted) == 0 {
		t.reset(err)
	}
	return accepted
}

// data sends the message and returns the result for the accepted recipients.
func (t *transaction) data(m *Mail) Result {
	w, err := t.client.Data()
	if err != nil {
		t.reset(err)
		return t.outcome(err, "mail")
	}
	t.clean = false
	network := &watched{w: w}
	if _, err := m.WriteTo(network); err != nil {
		// The message is incomplete, so the relay drops it when the connection closes.
		t.client.Close()
		if network.err == nil && t.ctx.Err() == nil {
			return Result{State: sending.Deferred, Response: "Reading an attachment failed."}
		}
		return t.outcome(err, "mail")
	}
	t.wire.timeout, t.wire.whole = t.relay.cfg.SubmitTimeout, true
	answer, err := w.CloseWithResponse()
	t.wire.timeout, t.wire.whole = t.relay.cfg.CommandTimeout, false
	if err != nil {
		refusal := t.outcome(err, "mail")
		t.clean = refusal.Code != 0 && refusal.Code != 421
		t.doubt = refusal.Code == 0
		return refusal
	}
	t.clean = true
	code, text := splitEnhanced(answer.StatusText)
	return Result{State: sending.Sent, Code: 250, EnhancedCode: code, Response: text, MessageID: sending.RelayMessageID(text, m.MessageID)}
}

// watched records whether writing failed.
type watched struct {
	w   io.Writer
	err error
}

func (w *watched) Write(b []byte) (n int, err error) {
	n, w.err = w.w.Write(b)
	return n, w.err
}

// outcome converts an error to a result: 5xx is permanent, everything else temporary.
func (t *transaction) outcome(err error, about string) Result {
	answer, ok := errors.AsType[*smtp.SMTPError](err)
	if !ok {
		if cause := context.Cause(t.ctx); cause != nil {
			err = cause
		}
		return Result{State: sending.Deferred, Response: "The connection to the mail relay failed: " + reason(err)}
	}
	r := Result{State: sending.Deferred, Code: answer.Code, EnhancedCode: enhancedCode(answer), Response: answer.Message}
	switch {
	case answer.Code/100 != 5:
	case answer.Code == 530, answer.Code == 534, answer.Code == 535, answer.Code == 538:
		// It requires authentication: our configuration is wrong, not the message.
	case answer.Code == 552 && about == "recipient" && (r.EnhancedCode == "" || r.EnhancedCode == "5.5.3"):
		// Too many recipients at once (RFC 5321 section 4.5.3.1.10).
	default:
		r.State = sending.Failed
	}
	return r
}

// envelopeAddress returns an address in the form that the relay accepts: the domain in ASCII (RFC 5891), the local part in
// UTF-8 only with SMTPUTF8.
func (t *transaction) envelopeAddress(address string) (string, *Result) {
	bad := &Result{State: sending.Failed, EnhancedCode: "5.1.3", Response: "This is not an email address."}
	at := strings.LastIndexByte(address, '@')
	if at <= 0 || !utf8.ValidString(address) || strings.ContainsFunc(address, unicode.IsControl) || strings.ContainsAny(address[at:], " <>") ||
		!strings.HasPrefix(address, `"`) && strings.ContainsAny(address, " <>") {
		return "", bad
	}
	local, domain := address[:at], address[at+1:]
	if !ascii(domain) {
		converted, err := idna.Lookup.ToASCII(domain)
		if err != nil {
			return "", bad
		}
		domain = converted
	}
	if offered, _ := t.client.Extension("SMTPUTF8"); !offered && !ascii(local) {
		return "", &Result{
			State: sending.Failed, EnhancedCode: "5.6.7",
			Response: "The address has characters beyond ASCII before its @, and the mail relay does not take such addresses (SMTPUTF8).",
		}
	}
	return local + "@" + domain, nil
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
