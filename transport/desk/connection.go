package desk

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// check is a line that reports whether something works.
type check struct {
	Icon, Class      string // "check" and "ok", "alert" and "bad", "clock" and "wait"
	Name, Text, When string
	Link             Link
}

func good(name, text, when string) check {
	return check{Icon: "done", Class: "ok", Name: name, Text: text, When: when}
}

func wrong(name, text, when string) check {
	return check{Icon: "failed", Class: "bad", Name: name, Text: text, When: when}
}

func waits(name, text, when string) check {
	return check{Icon: "clock", Class: "wait", Name: name, Text: text, When: when}
}

// tested is the result of a test of a mailbox's connection, for the next page.
type tested struct {
	Mailbox int64  `json:"m"`
	Failure string `json:"f,omitempty"`
	Millis  int64  `json:"t"`
}

// The cookies with results of tests: of fetching, and of sending.
const (
	testCookie    = "desk_test"
	testOutCookie = "desk_test_out"
)

// try tests the connection of a mailbox, and keeps the result for the next page.
func (v *visit) try(id int64) (tested, error) {
	began := time.Now()
	got, err := v.Mailboxes().Test(v.ctx(), id)
	if fault.Is(err, fault.Disabled) { // this program has no access to mail servers
		return tested{}, nil
	}
	if err != nil {
		return tested{}, err
	}
	out := tested{Mailbox: id, Failure: got.Failure, Millis: time.Since(began).Milliseconds()}
	c := v.setting(testCookie, pack(out))
	c.MaxAge = 600
	http.SetCookie(v.w, c)
	return out, nil
}

// lastTest returns the result of the last test of fetching a mailbox, if it was made in this browser a moment ago.
func (v *visit) lastTest(id int64) (tested, bool) { return v.lastTestIn(testCookie, id) }

func (v *visit) lastTestIn(name string, id int64) (tested, bool) {
	c, err := v.r.Cookie(name)
	if err != nil {
		return tested{}, false
	}
	var out tested
	return out, unpack(c.Value, &out) && out.Mailbox == id
}

// steps reports a test step by step.
func (v *visit) steps(m helpdesk.Mailbox, t tested) []check {
	w := v.words
	folders := strings.Join(m.Inbound.Folders, ", ")
	if folders == "" {
		folders = w.T("Inbox")
	}
	all := []check{
		good(w.T("Server reached"), m.Inbound.Host, ""),
		good(w.T("Signed in"), w.T("as %s", m.Inbound.Username), ""),
		good(w.T("Folders"), folders, ""),
	}
	took := w.T("%s s", w.seconds(t.Millis))
	if t.Failure == "" {
		all[len(all)-1].When = took
		return all
	}
	at := failedStep(t.Failure)
	all[at] = wrong([]string{w.T("Could not connect"), w.T("Sign-in failed"), w.T("Could not open the folder")}[at], v.whyNotFetched(m, t.Failure), took)
	return all[:at+1]
}

// failedStep returns the step that the text of a failure names.
func failedStep(failure string) int {
	_, rest, _ := strings.Cut(failure, ": ")
	step, _, _ := strings.Cut(rest, ":")
	step, _, _ = strings.Cut(step, " ")
	switch step {
	case "token", "login", "auth":
		return 1
	case "select", "search", "fetch", "list", "stat", "uidl":
		return 2
	}
	return 0
}

// whyFailed explains a failure and its remedy, with the server's own text.
func (v *visit) whyFailed(failure string) string {
	_, rest, _ := strings.Cut(failure, ": ")
	step, reason, found := strings.Cut(rest, ": ")
	if !found {
		return failure
	}
	step, _, _ = strings.Cut(step, " ")
	switch step {
	case "resolve":
		return v.words.T("No server found with this name. Check the name.")
	case "connect", "greeting":
		return v.words.T("No response from there. Check the server and port. (%s)", reason)
	case "tls", "starttls":
		return v.words.T("The connection could not be encrypted. Try the other encryption, or check the certificate. (%s)", reason)
	case "login":
		return v.words.T("The password was rejected. Some providers require an app password. (%s)", reason)
	case "select":
		return v.words.T("Folder not found. (%s)", reason)
	}
	return reason
}

// connectionForm is the part of a form that sets how mail is fetched.
type connectionForm struct {
	Email, Type, Host, Port, Encryption, Username string
	Stored                                        bool // there is a stored password
	Folders                                       string
	Insecure                                      bool // the certificate is not verified
}

func formOf(m helpdesk.Mailbox) connectionForm {
	f := connectionForm{Email: m.Email, Type: string(m.Inbound.Type), Host: m.Inbound.Host, Encryption: string(m.Inbound.Encryption),
		Username: m.Inbound.Username, Stored: m.Inbound.HasPassword, Folders: strings.Join(m.Inbound.Folders, "\n")}
	if m.Inbound.Port != 0 {
		f.Port = itoa(int64(m.Inbound.Port))
	}
	f.Insecure = m.Inbound.Host != "" && !m.Inbound.ValidateCertificate
	return f
}

// typed returns the form as submitted.
func (v *visit) typed() connectionForm {
	value := func(name string) string { return strings.TrimSpace(v.r.PostFormValue(name)) }
	return connectionForm{
		Email: value("email"), Type: value("type"), Host: value("host"), Port: value("port"), Encryption: value("encryption"),
		Username: value("username"), Folders: value("folders"), Insecure: value("insecure") != "",
	}
}

// inbound returns the input for the service. The password is not part of the form, which may be shown again.
func (f connectionForm) inbound(password string) helpdesk.InboundInput {
	in := helpdesk.InboundInput{Type: ledger.InboundType(f.Type)}
	if in.Type == ledger.InboundForward {
		return in
	}
	in.Host, in.Port, in.Username, in.Encryption = f.Host, int(number(f.Port)), f.Username, mailserver.Encryption(f.Encryption)
	in.ValidateCertificate = storage.Some(!f.Insecure)
	if password != "" {
		in.Password = storage.Some(password)
	}
	for line := range strings.Lines(f.Folders) {
		if line = strings.TrimSpace(line); line != "" {
			in.Folders = append(in.Folders, line)
		}
	}
	return in
}

// changed returns the input for the service if the connection differs from the mailbox's current one. A mailbox with access
// tokens keeps them unless it is given a password.
func (f connectionForm) changed(m helpdesk.Mailbox, password string) (helpdesk.InboundInput, bool) {
	in, now := f.inbound(password), formOf(m)
	if f.Type == now.Type && f.Type == string(ledger.InboundForward) {
		return in, false
	}
	now.Email, now.Stored = f.Email, f.Stored
	now.Folders = strings.Join(m.Inbound.Folders, "\n")
	f.Folders = strings.Join(in.Folders, "\n")
	if m.Inbound.Auth == ledger.AuthOAuth2 && password == "" {
		in.Auth = ledger.AuthOAuth2
		in.OAuth = helpdesk.OAuthInput{ClientID: m.Inbound.OAuth.ClientID, TokenURL: m.Inbound.OAuth.TokenURL, Scope: m.Inbound.OAuth.Scope}
	}
	return in, password != "" || f != now
}

// problems returns the problems of an Invalid fault by the last parts of their field names, in the member's language.
func (v *visit) problems(err error) map[string]string {
	out := map[string]string{}
	for field, text := range wholeFields(err) {
		name := strings.TrimSuffix(field, "]")
		if at := strings.LastIndexByte(name, '['); at >= 0 && number(name[at+1:]) == 0 && name[at+1:] != "0" {
			name = name[at+1:]
		} else if at >= 0 {
			name = name[:at]
		}
		out[name] = v.words.T(cmp.Or(plain[text], text))
	}
	return out
}

// plain maps texts of the domain to the wording of the desk's forms.
var plain = map[string]string{
	"has spans that overlap": say("These hours overlap."), "needs at least one span": say("Enter hours for at least one day."),
	"equals from; a whole day is 00:00 to 24:00": say("For a whole day, write 0:00–24:00."), "is before from": say("The last date is before the first."),
	"must be hh:mm, 00:00 to 23:59":      say("Write hours as in 9:00–12:30, 13:30–18:00, or leave it empty."),
	"is required, unless when is always": say("Choose business hours."), "is required: a body in at least one language": say("Write the text in at least one language."),
	"is required":                                                 say("This is required"),
	"is not an email address":                                     say("Enter a valid email address"),
	"must have 8 to 200 characters":                               say("Use at least 8 characters"),
	"is incorrect":                                                say("Incorrect"),
	"already belongs to a member":                                 say("is already a member"),
	"must be a host name or an IP address":                        say("Enter a host name or IP address"),
	"must be from 1 to 1000, or null":                             say("Enter a number from 1 to 1000, or leave it empty"),
	"must be from 1 to 720 hours":                                 say("Enter a number from 1 to 720"),
	"must be from 1 to 65535":                                     say("Enter a number from 1 to 65535"),
	"is required when host or username change":                    say("Enter it again, because the server or username has changed"),
	"is not a domain name, such as example.org":                   say("Enter a domain, such as example.org"),
	"is already taken":                                            say("This name is already taken"),
	"is not a domain that can be registered, such as example.org": say("Enter a domain, such as example.org"),
	"must be a color such as #016770":                             say("Enter a colour, such as #016770"),
	"must be an http or https address of at most 2,000 bytes, without a username and password": say("Enter a URL that begins with http:// or https://"),
	"is larger than 8 MB":                                say("Largest picture: 8 MB"),
	"must be a JPEG, PNG or GIF image":                   say("Choose a JPEG, PNG or GIF image"),
	"has more than 30 megapixels":                        say("The picture has more than 30 megapixels"),
	"is not a domain":                                    say("Enter a domain, such as example.org"),
	"is another company's":                               say("Another company has this already"),
	"is a provider's, where anybody can have an address": say("Anybody can have an address at this domain"),
	"is required: list event types, or *":                say("Choose at least one"),

	"is required to close a conversation":                 say("This is required to close the conversation"),
	"must be a number":                                    say("This must be a number"),
	"must be an http or https address":                    say("Enter a URL that begins with http:// or https://"),
	"is an archived option":                               say("This option is archived"),
	"lacks options that are in use: archive them instead": say("Options in use cannot be removed. Archive them instead."),
}

func wholeFields(err error) map[string]string {
	out := map[string]string{}
	f, ok := asFault(err)
	if !ok || f.Kind != fault.Invalid {
		return out
	}
	for field, problems := range f.Fields {
		out[field] = strings.Join(problems, " ")
	}
	return out
}
