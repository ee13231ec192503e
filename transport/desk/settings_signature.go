package desk

import (
	"cmp"
	"html/template"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// signatureForm is the form of a signature, with the same editor as for answers.
type signatureForm struct {
	Action string
	Body   string // as text
	HTML   template.HTML
	Places []tick
	Quotes []tick // of a mailbox
	Files  []fileView
	Errors map[string]string
}

func (v *visit) signatureForm(path, body string) *signatureForm {
	f := &signatureForm{Action: v.at("/settings/" + path), Body: mailhtml.Text(body), HTML: safeHTML(plainStyle(body)), Errors: map[string]string{}}
	f.Places = v.places(helpdesk.SignaturePlaceholders())
	return f
}

// places are placeholders that a text can have, with what stands there afterwards.
func (v *visit) places(names []string) []tick {
	texts := map[string]string{
		"customer.first_name": say("Customer's first name"), "customer.name": say("Customer's name"), "agent.name": say("Name of whoever replies"),
		"conversation.number": say("Conversation number"), "conversation.subject": say("Subject"),
		"rating": say("Links to rate the answer"), "mailbox.name": say("Mailbox name"), "mailbox.email": say("Mailbox address"),
	}
	var out []tick
	for _, name := range names {
		out = append(out, tick{ID: "{{" + name + "}}", Text: v.words.T(texts[name])})
	}
	return out
}

// refuse shows the form again with its problems.
func (f *signatureForm) refuse(v *visit, body string, err error) {
	problems := v.problems(err)
	f.Body, f.HTML, f.Errors = mailhtml.Text(body), safeHTML(plainStyle(mailhtml.FromInput(body))), problems
	f.Errors["body"] = cmp.Or(problems["signature"], problems["body"])
}

// showEnding returns the text below an answer, as the desk shows it. Images on other servers are not loaded.
func showEnding(signature string) template.HTML {
	return safeHTML(plainStyle(mailhtml.RewriteImages(signature, func(src string) string {
		if mailhtml.Remote(src) {
			return ""
		}
		return src
	})))
}

// mailboxSignature is the form of a mailbox.
func (v *visit) mailboxSignature(m helpdesk.Mailbox) *signatureForm {
	f := v.signatureForm("mailboxes/"+itoa(m.ID)+"/signature", m.Signature)
	now := cmp.Or(m.Quotes, helpdesk.QuoteNone)
	for _, q := range []struct {
		policy helpdesk.QuotePolicy
		text   string
	}{
		{helpdesk.QuoteNone, v.words.T("Nothing")},
		{helpdesk.QuoteLast, v.words.T("The last message")},
		{helpdesk.QuoteAll, v.words.T("All messages")},
	} {
		f.Quotes = append(f.Quotes, tick{ID: string(q.policy), Text: q.text, On: q.policy == now})
	}
	return f
}

func (v *visit) saveMailboxSignature() error {
	m, err := v.Mailboxes().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	body := v.writtenBody(m.Signature)
	in := helpdesk.MailboxInput{Signature: storage.Some(body)}
	if quotes := v.r.PostFormValue("quotes"); quotes != "" {
		in.Quotes = storage.Some(helpdesk.QuotePolicy(quotes))
	}
	if _, err = v.Mailboxes().Update(v.ctx(), m.ID, in); fault.Is(err, fault.Invalid) {
		view, failed := v.mailboxView(m)
		if failed != nil {
			return failed
		}
		view.Signature.refuse(v, body, err)
		return v.settingsPage("mailbox", m.Name, view, http.StatusUnprocessableEntity)
	}
	return v.unless(err, "mailboxes/"+itoa(m.ID), v.words.T("Saved"))
}

func (v *visit) saveSignature() error {
	old, err := v.Signatures().Get(v.ctx())
	if err != nil {
		return err
	}
	body := v.writtenBody(old)
	if _, err = v.Signatures().Set(v.ctx(), body); fault.Is(err, fault.Invalid) {
		return v.showProfile(v.user.Name, nil, http.StatusUnprocessableEntity, func(f *signatureForm) { f.refuse(v, body, err) })
	}
	return v.unless(err, "profile", v.words.T("Saved"))
}
