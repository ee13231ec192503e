package desk

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// since formats how long ago something happened.
func (v *visit) since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return v.words.ago(v.now.Sub(t))
}

type mailboxesView struct {
	Boxes      []mailboxRow
	Next       string
	CanCreate  bool
	Form       connectionForm
	Errors     map[string]string
	Action     string
	MayConnect bool
	SignIn     *mailSignIn // nil: with a password only
}

type mailboxRow struct {
	Name, Email, URL string
	Default          bool
	State            check
	SignIn           string // signs it in again; "" if that is not needed
}

func (v *visit) mailboxesPage() error {
	return v.listMailboxes(connectionForm{Type: string(ledger.InboundIMAP)}, nil, 0)
}

func (v *visit) listMailboxes(form connectionForm, problems map[string]string, status int) error {
	page, err := v.Mailboxes().List(v.ctx(), v.pageOf(50))
	if err != nil {
		return err
	}
	view := mailboxesView{Form: form, Errors: orEmpty(problems), Action: v.at("/settings/mailboxes"), CanCreate: v.may(identity.MailboxesCreate),
		MayConnect: v.may(identity.MailboxesConnection), Next: v.older("/settings/mailboxes", page.Next)}
	view.SignIn = v.mailSignInOf(helpdesk.Mailbox{}, "")
	for _, m := range page.Items {
		row := mailboxRow{Name: m.Name, Email: m.Email, URL: v.at("/settings/mailboxes/" + itoa(m.ID)), Default: m.IsDefault}
		if view.MayConnect {
			if row.State, err = v.liveState(m); err != nil {
				return err
			}
			row.SignIn = row.State.Link.URL
		}
		view.Boxes = append(view.Boxes, row)
	}
	return v.settingsPage("mailboxes", v.words.T("Mailboxes"), view, status)
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// liveState describes the state of fetching a mailbox.
func (v *visit) liveState(m helpdesk.Mailbox) (check, error) {
	w := v.words
	if m.Inbound.Type == ledger.InboundForward {
		return v.forwardingState(m)
	}
	status, err := v.Mailboxes().FetchStatus(v.ctx(), m.ID)
	if err != nil {
		return check{}, err
	}
	folders := strings.Join(m.Inbound.Folders, ", ")
	last := v.since(status.LastSuccessAt)
	switch state := status.State(); {
	case status.NeedsReauth:
		return v.signedOut(m, status), nil
	case state == ledger.FetchConnected:
		return good(w.T("Connected"), w.T("Watching %s for new mail", cmp.Or(folders, w.T("Inbox"))), last), nil
	case state == ledger.FetchFailing:
		c := wrong(w.T("Trying again"), v.whyFailed(status.LastError), v.since(status.LastErrorAt))
		c.Class = "warn"
		return c, nil
	case state == ledger.FetchParked:
		return wrong(w.T("Paused"), w.T("This mailbox crashed the server, so it is retried less and less often. %s", status.LastError), v.since(status.ParkedAt)), nil
	}
	return waits(w.T("Connecting"), m.Inbound.Host, ""), nil
}

// connectionFrom reads the form of a connection; a missing server is guessed.
func (v *visit) connectionFrom() connectionForm {
	f := v.typed()
	if f.Type == "" {
		f.Type = string(ledger.InboundIMAP)
	}
	if f.Host == "" && f.Email != "" && f.Type != string(ledger.InboundForward) {
		s := v.h.guess(v.ctx(), f.Email)
		f.Host, f.Port, f.Encryption = s.host, itoa(int64(s.port)), string(s.encryption)
		if f.Type == string(ledger.InboundPOP3) {
			f.Host, f.Port = strings.Replace(f.Host, "imap.", "pop.", 1), "995"
		}
	}
	if f.Username == "" {
		f.Username = f.Email
	}
	return f
}

func (v *visit) addMailbox() error {
	f := v.connectionFrom()
	in := helpdesk.MailboxInput{Email: storage.Some(f.Email), Name: storage.Some(cmp.Or(strings.TrimSpace(v.r.PostFormValue("name")), helpdesk.MailboxName(f.Email)))}
	fetched := f.Type != string(ledger.InboundForward)
	if fetched {
		inbound := f.inbound(v.r.PostFormValue("password"))
		if inbound.Type == ledger.InboundIMAP {
			inbound.ImportSince = storage.Some(v.now.UTC().Truncate(24 * time.Hour))
		}
		in.Inbound = storage.Some(inbound)
	}
	err := error(fault.Field("email", "is required"))
	var m helpdesk.Mailbox
	if f.Email != "" {
		m, err = v.Mailboxes().Create(v.ctx(), in)
	}
	if fault.Is(err, fault.Invalid) {
		return v.listMailboxes(f, v.problems(err), http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	if fetched {
		if _, err := v.try(m.ID); err != nil {
			return err
		}
	}
	return v.saved("mailboxes/"+itoa(m.ID), v.words.T("Added %s", m.Name))
}

type mailboxView struct {
	ID                  int64
	Name, Email, Action string
	From                string
	Places              []tick // placeholders of From
	Hold                int
	Holds               []hold
	Default             bool
	Internal            string
	Live                string
	Checks, Tested      []check
	Form                connectionForm
	Errors              map[string]string
	CanUpdate, CanHold  bool
	CanConnect          bool
	CanDelete           bool
	Outgoing            *outgoingView // nil if the member may not see it
	Domain              *domainCard
	Signature           *signatureForm // nil if the member may not change it
	Asked               []tick         // fields that contact forms may ask for
	Fields              string         // where fields are made
	List                string
	SignIn              *mailSignIn // nil: with a password only
}

type hold struct {
	Seconds int
	Text    string
	On      bool
}

func (v *visit) mailboxPage() error {
	m, err := v.Mailboxes().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	view, err := v.mailboxView(m)
	if err != nil {
		return err
	}
	return v.settingsPage("mailbox", m.Name, view, 0)
}

func (v *visit) mailboxView(m helpdesk.Mailbox) (mailboxView, error) {
	view := mailboxView{
		ID: m.ID, Name: m.Name, Email: m.Email, Action: v.at("/settings/mailboxes/" + itoa(m.ID)), From: m.From, Places: v.places(helpdesk.FromPlaceholders()), Default: m.IsDefault,
		Internal: v.Mailboxes().InternalAddress(m), List: v.at("/settings/mailboxes"), Form: formOf(m), Errors: map[string]string{}, CanUpdate: v.may(identity.MailboxesUpdate),
		CanHold: v.may(identity.AccountsUpdate), CanConnect: v.may(identity.MailboxesConnection), CanDelete: v.may(identity.MailboxesDelete),
	}
	if view.CanUpdate {
		view.Signature = v.mailboxSignature(m)
		if err := v.fillAsked(m, &view); err != nil {
			return view, err
		}
	}
	view.Holds = v.holds(int(v.account.SendHold / time.Second))
	if view.CanConnect {
		view.Outgoing, view.SignIn = v.outgoing(m), v.mailSignInOf(m, "")
		if err := v.connectionState(m, &view); err != nil {
			return view, err
		}
	}
	var err error
	view.Domain, err = v.domainOf(m.Email)
	return view, err
}

// fillAsked adds the fields that contact forms may ask for: those that they do ask for first.
func (v *visit) fillAsked(m helpdesk.Mailbox, view *mailboxView) error {
	fields, err := v.conversationFields()
	if fault.Is(err, fault.Forbidden) { // of who has nothing to do with conversations
		return nil
	}
	if err != nil {
		return err
	}
	view.Fields = v.at("/settings/fields")
	for _, key := range m.FormFields {
		if i := slices.IndexFunc(fields, func(f helpdesk.Field) bool { return f.Key == key && f.CustomerVisible }); i >= 0 {
			view.Asked = append(view.Asked, tick{ID: key, Text: fields[i].Label, On: true})
		}
	}
	for _, f := range fields {
		if f.CustomerVisible && !slices.Contains(m.FormFields, f.Key) {
			view.Asked = append(view.Asked, tick{ID: f.Key, Text: f.Label})
		}
	}
	return nil
}

// saveAsked changes the fields that contact forms ask for.
func (v *visit) saveAsked() error {
	id := v.number("id")
	if err := v.r.ParseForm(); err != nil {
		return fault.New(fault.Malformed, "The form could not be read.")
	}
	_, err := v.Mailboxes().Update(v.ctx(), id, helpdesk.MailboxInput{FormFields: storage.Some(v.r.PostForm["asked"])})
	return v.unless(err, "mailboxes/"+itoa(id), v.words.T("Saved"))
}

// holds are the choices for how long answers can be called back.
func (v *visit) holds(now int) []hold {
	var out []hold
	all := []int{0, 5, 10, 20, 30, 60}
	if !slices.Contains(all, now) {
		all = append(all, now)
	}
	for _, s := range all {
		text := v.words.N(s, "%s second|%s seconds")
		if s == 0 {
			text = v.words.T("Send immediately")
		}
		out = append(out, hold{Seconds: s, Text: text, On: s == now})
	}
	return out
}

// connectionState describes how mail gets into a mailbox.
func (v *visit) connectionState(m helpdesk.Mailbox, view *mailboxView) error {
	w := v.words
	state, err := v.liveState(m)
	if err != nil {
		return err
	}
	if state.Link.URL != "" { // shown as a notice with a button
		view.SignIn.Needed, state.Link = state.Text, Link{}
	}
	forwarded := m.Inbound.Type == ledger.InboundForward
	if forwarded && state.Class != "ok" && m.Email != "" {
		state.Link = Link{Text: w.T("Send a test email"), URL: "mailto:" + m.Email}
	}
	view.Checks = []check{state}
	view.Live = w.T("Live. New mail arrives within seconds.")
	if state.Class != "ok" {
		view.Live = w.T("New mail waits on the mail server.")
		if forwarded {
			view.Live = w.T("It receives the mail that is forwarded to it.")
		}
	}
	last, err := v.InboundMails().List(v.ctx(), ledger.Filter{MailboxID: m.ID}, storage.PageRequest{Limit: 1})
	if err != nil {
		return err
	}
	if len(last.Items) > 0 {
		one := last.Items[0]
		view.Checks = append(view.Checks, good(w.T("Last email received"), cmp.Or(one.Subject, w.T("(no subject)")), v.since(one.ReceivedAt)))
	} else {
		view.Checks = append(view.Checks, waits(w.T("Last email received"), w.T("None yet"), ""))
	}
	counts, err := v.InboundMails().Counts(v.ctx(), m.ID)
	if err != nil {
		return err
	}
	if counts.Quarantined > 0 {
		c := wrong(w.T("Could not be read"), w.N(int(counts.Quarantined), "%s email could not be imported. We kept it.|%s emails could not be imported. We kept them."), "")
		c.Link = Link{Text: w.T("Show"), URL: v.at("/settings/ledger")}
		view.Checks = append(view.Checks, c)
	}
	if t, ok := v.lastTest(m.ID); ok && m.Inbound.Type != ledger.InboundForward {
		view.Tested = v.steps(m, t)
	}
	return nil
}

func (v *visit) saveMailbox() error {
	old, err := v.Mailboxes().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	in := helpdesk.MailboxInput{
		Name: storage.Some(v.r.PostFormValue("name")), Email: storage.Some(v.r.PostFormValue("email")), From: storage.Some(v.r.PostFormValue("from")),
	}
	if v.r.PostForm.Has("default") {
		in.IsDefault = storage.Some(true)
	}
	form := v.connectionFrom()
	if v.may(identity.MailboxesConnection) && v.r.PostForm.Has("type") {
		if inbound, changed := form.changed(old, v.r.PostFormValue("password")); changed {
			in.Inbound = storage.Some(inbound)
		}
	}
	m, err := v.Mailboxes().Update(v.ctx(), old.ID, in)
	if fault.Is(err, fault.Invalid) {
		return v.mailboxNotSaved(old, form, err)
	}
	if err != nil {
		return err
	}
	if v.may(identity.AccountsUpdate) && v.r.PostForm.Has("hold") {
		seconds := time.Duration(v.field("hold")) * time.Second
		if seconds != v.account.SendHold {
			if _, err := v.Account().Update(v.ctx(), identity.AccountUpdate{Name: v.account.Name, SendHold: storage.Some(seconds)}); err != nil {
				return err
			}
		}
	}
	return v.saved("mailboxes/"+itoa(m.ID), v.words.T("Saved"))
}

// mailboxNotSaved shows the form again with its problems.
func (v *visit) mailboxNotSaved(old helpdesk.Mailbox, form connectionForm, err error) error {
	view, failed := v.mailboxView(old)
	if failed != nil {
		return failed
	}
	form.Stored = old.Inbound.HasPassword
	view.Form, view.Name, view.Email, view.From = form, v.r.PostFormValue("name"), v.r.PostFormValue("email"), v.r.PostFormValue("from")
	view.Errors = v.problems(err)
	return v.settingsPage("mailbox", old.Name, view, http.StatusUnprocessableEntity)
}

func (v *visit) testMailbox() error {
	id := v.number("id")
	path := "mailboxes/" + itoa(id)
	t, err := v.try(id)
	if err == nil && t.Mailbox == 0 {
		v.say(toast{Text: v.words.T("This server cannot test connections"), Bad: true})
		return v.see(v.at("/settings/" + path))
	}
	if err == nil && t.Failure != "" {
		v.say(toast{Text: v.words.T("The connection does not work"), Bad: true})
		return v.see(v.at("/settings/" + path))
	}
	return v.unless(err, path, v.words.T("The connection works"))
}

func (v *visit) deleteMailbox() error {
	id := v.number("id")
	err := v.Mailboxes().Delete(v.ctx(), id, false)
	if fault.Is(err, fault.Conflict) {
		v.say(toast{Text: v.words.T("This mailbox has conversations. Move or delete them first."), Bad: true})
		return v.see(v.at("/settings/mailboxes/" + itoa(id)))
	}
	return v.unless(err, "mailboxes", v.words.T("Mailbox deleted"))
}

// domainCard is a domain with the records to publish.
type domainCard struct {
	ID                  int64
	Name, Action        string
	Records             []recordRow
	CanCheck, CanDelete bool
	Missing             string
}

type recordRow struct {
	Label, Type, Host, Value, Problem string
	Found                             bool
}

func (v *visit) cardOf(d sending.Domain) domainCard {
	c := domainCard{ID: d.ID, Name: d.Name, Action: v.at("/settings/domains/" + itoa(d.ID)), CanCheck: v.may(identity.DomainsUpdate), CanDelete: v.may(identity.DomainsDelete)}
	for _, r := range d.Records {
		c.Records = append(c.Records, recordRow{Label: r.Label, Type: r.Type, Host: r.Hostname, Value: r.Value, Found: r.Verified, Problem: r.Problem})
		if r.Label == sending.LabelDMARC && !r.Verified && c.Missing == "" {
			c.Missing = v.words.T("Without a DMARC record, some providers may treat your replies as spam.")
		}
		if r.Label == sending.LabelDKIM && !r.Verified {
			c.Missing = v.words.T("Replies are signed as soon as the DKIM record is found.")
		}
	}
	return c
}

// domainOf returns the card of the domain of an address, nil if there is none.
func (v *visit) domainOf(email string) (*domainCard, error) {
	_, name, _ := strings.Cut(strings.ToLower(email), "@")
	if name == "" || !v.may(identity.DomainsView) {
		return nil, nil //nolint:nilnil // there is none
	}
	page, err := v.Domains().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return nil, err
	}
	for _, d := range page.Items {
		if d.Name == name {
			c := v.cardOf(d)
			return &c, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

type domainsView struct {
	Cards        []domainCard
	Next, Action string
	CanCreate    bool
	Name         string
	Errors       map[string]string
}

func (v *visit) domainsPage() error { return v.listDomains("", nil, 0) }

func (v *visit) listDomains(name string, problems map[string]string, status int) error {
	page, err := v.Domains().List(v.ctx(), v.pageOf(20))
	if err != nil {
		return err
	}
	view := domainsView{Action: v.at("/settings/domains"), CanCreate: v.may(identity.DomainsCreate), Name: name, Errors: orEmpty(problems), Next: v.older("/settings/domains", page.Next)}
	for _, d := range page.Items {
		view.Cards = append(view.Cards, v.cardOf(d))
	}
	return v.settingsPage("domains", v.words.T("Sending domains"), view, status)
}

func (v *visit) addDomain() error {
	name := v.r.PostFormValue("domain")
	d, err := v.Domains().Create(v.ctx(), name)
	if fault.Is(err, fault.Invalid) {
		return v.listDomains(name, v.problems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "domains", v.words.T("Added %s", d.Name))
}

func (v *visit) checkDomain() error {
	d, err := v.Domains().Verify(v.ctx(), v.number("id"))
	found := 0
	for _, r := range d.Records {
		if r.Verified {
			found++
		}
	}
	return v.unless(err, "domains", v.words.T("%s of %s records found", found, len(d.Records)))
}

func (v *visit) deleteDomain() error {
	return v.unless(v.Domains().Delete(v.ctx(), v.number("id")), "domains", v.words.T("Domain deleted"))
}

type ledgerView struct{ Rows []ledgerRow }

type ledgerRow struct {
	Subject, From, Mailbox, Reason, When, Size string
	Action                                     string
	Raw                                        bool
}

// maxLedger is the number of a mailbox's mails that the page shows; the next ones follow when these are dealt with.
const maxLedger = 25

func (v *visit) ledgerPage() error {
	boxes, err := v.Mailboxes().List(v.ctx(), storage.PageRequest{Limit: maxNav})
	if err != nil {
		return err
	}
	var view ledgerView
	for _, m := range boxes.Items {
		page, err := v.InboundMails().List(v.ctx(), ledger.Filter{MailboxID: m.ID, States: []ledger.State{ledger.Quarantined}}, storage.PageRequest{Limit: maxLedger})
		if err != nil {
			return err
		}
		for _, one := range page.Items {
			view.Rows = append(view.Rows, ledgerRow{
				Subject: cmp.Or(one.Subject, v.words.T("(no subject)")), From: cmp.Or(one.From.Name, one.From.Email), Mailbox: m.Name, Reason: one.Reason,
				When: v.when(one.ReceivedAt), Action: v.at("/settings/ledger/" + itoa(m.ID) + "/" + itoa(one.ID)), Raw: one.RawKey != "",
			})
		}
	}
	return v.settingsPage("ledger", v.words.T("Unreadable mail"), view, 0)
}

func (v *visit) replayMail() error {
	_, err := v.InboundMails().Replay(v.ctx(), v.number("mailbox"), v.number("id"))
	return v.unless(err, "ledger", v.words.T("Trying it again"))
}

func (v *visit) ignoreMail() error {
	_, err := v.InboundMails().Ignore(v.ctx(), v.number("mailbox"), v.number("id"), v.r.PostFormValue("note"))
	return v.unless(err, "ledger", v.words.T("Dismissed"))
}

// rawMail sends a mail in its original form, as a download.
func (v *visit) rawMail() error {
	body, err := v.InboundMails().Open(v.ctx(), v.number("mailbox"), v.number("id"))
	if err != nil {
		return err
	}
	defer body.Close()
	h := v.w.Header()
	h.Set("Content-Type", "message/rfc822")
	h.Set("Content-Disposition", `attachment; filename="mail-`+itoa(v.number("id"))+`.eml"`)
	_, _ = io.Copy(v.w, body) // the browser may have disconnected
	return nil
}
