package smtpin

import (
	"context"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage/fault"
)

// mail starts a transaction (RFC 5321 section 4.1.1.2).
func (ss *session) mail(argument string) error {
	switch {
	case ss.hello == "":
		return &reply{503, "5.5.1", "Say EHLO first"}
	case ss.envelope != nil:
		return &reply{503, "5.5.1", "There is a sender already"}
	}
	from, params, err := parsePath(argument, "FROM:")
	if err != nil {
		return err
	}
	e := &envelope{from: from}
	for _, p := range params {
		if err := ss.mailParameter(e, p); err != nil {
			return err
		}
	}
	if !e.utf8 && !ascii(from) {
		return &reply{550, "5.6.7", "The address needs SMTPUTF8"}
	}
	ss.envelope = e
	ss.say(250, "2.1.0", "Sender taken")
	return nil
}

func (ss *session) mailParameter(e *envelope, parameter string) error {
	key, value, _ := strings.Cut(parameter, "=")
	switch strings.ToUpper(key) {
	case "SIZE": // RFC 1870
		size, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			return &reply{501, "5.5.4", "SIZE is no number"}
		}
		if int64(size) > ss.srv.cfg.MaxSize {
			return errTooLarge
		}
	case "BODY": // RFC 6152
		if !strings.EqualFold(value, "7BIT") && !strings.EqualFold(value, "8BITMIME") {
			return &reply{501, "5.5.4", "BODY must be 7BIT or 8BITMIME"}
		}
	case "SMTPUTF8": // RFC 6531
		e.utf8 = true
	default:
		return &reply{555, "5.5.4", "Parameter not recognised"}
	}
	return nil
}

// recipient adds a recipient to the transaction (RFC 5321 section 4.1.1.3).
func (ss *session) recipient(ctx context.Context, argument string) error {
	e := ss.envelope
	if e == nil {
		return &reply{503, "5.5.1", "Say MAIL first"}
	}
	to, params, err := parsePath(argument, "TO:")
	switch {
	case err != nil:
		return err
	case len(params) > 0:
		return &reply{555, "5.5.4", "Parameter not recognised"}
	case to == "":
		return &reply{501, "5.1.3", "The address is empty"}
	case e.recipients >= ss.srv.cfg.MaxRecipients:
		return &reply{452, "4.5.3", "Too many recipients"}
	case !e.utf8 && !ascii(to):
		return &reply{553, "5.6.7", "The address needs SMTPUTF8"}
	}
	mailbox, err := ss.srv.cfg.Intake.Recipient(ctx, to)
	switch {
	case fault.Is(err, fault.NotFound):
		return &reply{550, "5.1.1", "There is no such mailbox here"}
	case err != nil:
		ss.srv.cfg.Logger.WarnContext(ctx, "smtp: looking up a recipient failed", "error", err)
		return &reply{451, "4.3.0", "Try again later"}
	}
	e.add(target{mailbox, []string{to}})
	ss.say(250, "2.1.5", "Recipient taken")
	return nil
}

// add adds a recipient, such that a mailbox gets the message once.
func (e *envelope) add(t target) {
	e.recipients++
	for i, known := range e.mailboxes {
		if known.mailbox.ID == t.mailbox.ID && known.mailbox.AccountID == t.mailbox.AccountID {
			e.mailboxes[i].addresses = append(known.addresses, t.addresses...)
			e.order = append(e.order, i)
			return
		}
	}
	e.order = append(e.order, len(e.mailboxes))
	e.mailboxes = append(e.mailboxes, t)
}

// parsePath parses "FROM:<a@b> SIZE=1": the address without brackets and source route, then the parameters. It accepts
// spaces after the colon and an address without brackets, which are invalid but common and harmless.
func parsePath(argument, prefix string) (address string, params []string, err error) {
	bad := &reply{501, "5.5.4", "Say " + prefix + "<address>"}
	if len(argument) < len(prefix) || !strings.EqualFold(argument[:len(prefix)], prefix) || !utf8.ValidString(argument) {
		return "", nil, bad
	}
	rest := strings.TrimLeft(argument[len(prefix):], " ")
	if strings.HasPrefix(rest, "<") {
		end := pathEnd(rest)
		if end < 0 || end+1 < len(rest) && rest[end+1] != ' ' {
			return "", nil, bad
		}
		address, rest = rest[1:end], rest[end+1:]
	} else {
		address, rest, _ = strings.Cut(rest, " ")
		if address == "" {
			return "", nil, bad
		}
	}
	if strings.HasPrefix(address, "@") { // a source route (RFC 5321 appendix C): ignored
		_, after, found := strings.Cut(address, ":")
		if !found || after == "" {
			return "", nil, bad
		}
		address = after
	}
	if len(address) > 320 || strings.ContainsFunc(address, func(r rune) bool { return unicode.IsControl(r) }) {
		return "", nil, bad
	}
	return address, strings.Fields(rest), nil
}

// pathEnd finds the closing bracket, which a quoted local part may contain.
func pathEnd(s string) int {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == '>' && !quoted:
			return i
		}
	}
	return -1
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}
