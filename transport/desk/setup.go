package desk

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// setUpHold is how long answers can be called back in an account that the set-up has created.
const setUpHold = 10 * time.Second

// setUpStep is a step in the list next to the form.
type setUpStep struct {
	Number            int
	Title, Detail, To string
	Done, Now         bool
}

type setUpView struct {
	Unsent  string // where outgoing mail is set up, if mail reaches nobody
	Steps   []setUpStep
	Now     int
	Errors  map[string]string
	Problem string
	Action  string

	Token, Name, Email string // of the owner
	Team               string

	Form      connectionForm // of the first mailbox
	Found     string         // its server, in words
	Checks    []check
	Connected bool
	Past      bool        // older mail can be chosen
	SignIn    *mailSignIn // nil: with a password only
	Mailbox   int64

	Addresses string // of colleagues
	Roles     []Link
	Skip      string
}

// setUpSteps lists the steps; now is that of the page.
func (v *visit) setUpSteps(now int) []setUpStep {
	w := v.words
	all := []setUpStep{{Title: w.T("You")}, {Title: w.T("Your team")}, {Title: w.T("First mailbox")}, {Title: w.T("Colleagues")}}
	if v.Desk != nil {
		all[0].Detail, all[1].Detail = v.user.Email, v.account.Name
		for i, path := range []string{"", "/setup/team", "/setup/mailbox", "/setup/colleagues"} {
			if path != "" && i+1 < now {
				all[i].To = v.at(path)
			}
		}
	}
	for i := range all {
		all[i].Number, all[i].Done, all[i].Now = i+1, i+1 < now, i+1 == now
		if !all[i].Done {
			all[i].Detail = ""
		}
	}
	return all
}

func (v *visit) showSetUp(template, title string, now int, view setUpView, status int) error {
	view.Steps, view.Now = v.setUpSteps(now), now
	if view.Errors == nil {
		view.Errors = map[string]string{}
	}
	return v.show(screen{template: template, title: title, data: view, bare: true, status: status})
}

// setUpPage begins the set-up with the token printed by the server, or continues it for a member who is signed in.
func (v *visit) setUpPage() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	token := v.r.URL.Query().Get("token")
	if token == "" {
		if v.signedIn() == nil {
			return v.resumeSetUp()
		}
		return v.askForToken("", 0)
	}
	user, err := v.h.cfg.Service.SignIn().PasswordTokenUser(v.ctx(), token)
	if fault.Is(err, fault.NotFound) || err == nil && user.PasswordHash != "" {
		if v.signedIn() == nil {
			return v.resumeSetUp()
		}
		return v.askForToken(v.words.T("This link has already been used. Sign in, or use the latest link that the server printed."), http.StatusNotFound)
	}
	if err != nil {
		return err
	}
	view := setUpView{Token: token, Email: user.Email}
	if !strings.Contains(user.Email, ".") { // a made-up address of the server
		view.Email = ""
	}
	return v.askForYou(view, 0)
}

func (v *visit) askForYou(view setUpView, status int) error {
	view.Action = v.h.url("/setup")
	return v.showSetUp("setup-you", v.words.T("Set up your help desk"), 1, view, status)
}

func (v *visit) askForToken(problem string, status int) error {
	view := setUpView{Problem: problem, Action: v.h.url("/setup/token"), Skip: v.h.url("/sign-in")}
	return v.showSetUp("setup-token", v.words.T("Set up your help desk"), 1, view, status)
}

// takeToken exchanges the access token that the operator has chosen for the owner for a set-up link.
func (v *visit) takeToken() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 16<<10)
	token := strings.TrimSpace(v.r.PostFormValue("token"))
	if !strings.HasPrefix(token, identity.PasswordTokenPrefix) {
		var err error
		token, err = v.linkToken(token)
		if fault.Is(err, fault.Unauthenticated) || fault.Is(err, fault.Forbidden) {
			return v.askForToken(v.words.T("This token is not valid for the set-up. It may already have been used."), http.StatusUnprocessableEntity)
		}
		if err != nil {
			return err
		}
	}
	return v.see(v.h.url("/setup") + "?token=" + url.QueryEscape(token))
}

func (v *visit) linkToken(secret string) (string, error) {
	c, err := v.h.cfg.Service.Authenticate(v.ctx(), secret)
	if err != nil {
		return "", err
	}
	admin, err := v.service().Admin(v.ctx(), c)
	if err != nil {
		return "", err
	}
	return admin.CreatePasswordToken(v.ctx(), c.UserID(), time.Hour)
}

// setUp saves the owner's name and address for the first user, and signs them in.
func (v *visit) setUp() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 16<<10)
	view := setUpView{Token: v.r.PostFormValue("token"), Name: strings.TrimSpace(v.r.PostFormValue("name")), Email: strings.TrimSpace(v.r.PostFormValue("email"))}
	user, err := v.h.cfg.Service.SignIn().PasswordTokenUser(v.ctx(), view.Token)
	if err == nil && user.PasswordHash != "" {
		err = fault.Missing("password token", 0)
	}
	if err == nil && (view.Name == "" || view.Email == "") {
		view.Errors = map[string]string{}
		for field, value := range map[string]string{"name": view.Name, "email": view.Email} {
			if value == "" {
				view.Errors[field] = v.words.T("This is required")
			}
		}
		return v.askForYou(view, http.StatusUnprocessableEntity)
	}
	if err == nil {
		err = v.choosePassword(view.Token, identity.PasswordChoice{Name: view.Name, Email: view.Email, Password: v.r.PostFormValue("password")})
	}
	switch {
	case fault.Is(err, fault.NotFound):
		return v.askForToken(v.words.T("This link has already been used. Sign in, or use the latest link that the server printed."), http.StatusNotFound)
	case fault.Is(err, fault.Invalid):
		view.Errors = v.problems(err)
		return v.askForYou(view, http.StatusUnprocessableEntity)
	case err != nil:
		return err
	}
	return v.resumeSetUp()
}

// choosePassword uses up a token and signs its user in.
func (v *visit) choosePassword(token string, in identity.PasswordChoice) error {
	c, err := v.service().SignIn().ChoosePassword(v.ctx(), token, in)
	if err != nil {
		return err
	}
	if c.UserID() == 0 { // a code is required, too
		return nil
	}
	return v.letIn(c, true)
}

// resumeSetUp redirects to the first unfinished step.
func (v *visit) resumeSetUp() error {
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	accounts, err := admin.Accounts(v.ctx(), storage.PageRequest{Limit: 1})
	if err != nil {
		return err
	}
	if len(accounts.Items) == 0 {
		return v.see(v.h.url("/"))
	}
	if err := v.enter(accounts.Items[0].ID); err != nil {
		return err
	}
	if !v.may(identity.AccountsUpdate) {
		return v.see(v.at("/"))
	}
	if v.account.SendHold == 0 {
		return v.see(v.at("/setup/team"))
	}
	boxes, err := v.Mailboxes().List(v.ctx(), storage.PageRequest{Limit: 1})
	if err != nil {
		return err
	}
	members, err := v.Members().List(v.ctx(), storage.PageRequest{Limit: 2})
	switch {
	case err != nil:
		return err
	case len(boxes.Items) == 0:
		return v.see(v.at("/setup/mailbox"))
	case len(members.Items) == 1:
		return v.see(v.at("/setup/colleagues"))
	}
	return v.see(v.at("/"))
}

func (v *visit) setUpTeamPage() error {
	name := v.account.Name
	if v.account.SendHold == 0 { // not chosen yet
		name = ""
	}
	return v.askForTeam(setUpView{Team: name}, 0)
}

func (v *visit) askForTeam(view setUpView, status int) error {
	view.Action = v.at("/setup/team")
	return v.showSetUp("setup-team", v.words.T("Name your team"), 2, view, status)
}

func (v *visit) setUpTeam() error {
	view := setUpView{Team: v.r.PostFormValue("name")}
	in := identity.AccountUpdate{Name: view.Team}
	if v.account.SendHold == 0 {
		in.SendHold = storage.Some(setUpHold)
	}
	_, err := v.Account().Update(v.ctx(), in)
	if fault.Is(err, fault.Invalid) {
		view.Errors = v.problems(err)
		return v.askForTeam(view, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	return v.see(v.at("/setup/mailbox"))
}

// firstMailbox returns the oldest mailbox of the account, if there is one.
func (v *visit) firstMailbox() (m helpdesk.Mailbox, found bool, err error) {
	page, err := v.Mailboxes().List(v.ctx(), storage.PageRequest{Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return helpdesk.Mailbox{}, false, err
	}
	return page.Items[0], true, nil
}

func (v *visit) setUpMailboxPage() error {
	m, found, err := v.firstMailbox()
	if err != nil {
		return err
	}
	view := setUpView{Form: connectionForm{Type: string(ledger.InboundIMAP)}}
	if found {
		view.Form, view.Mailbox = formOf(m), m.ID
		if t, ok := v.lastTest(m.ID); ok {
			view.Checks, view.Connected = v.steps(m, t), t.Failure == ""
			if out, ok := v.lastTestIn(testOutCookie, m.ID); ok && m.Outbound.Type == sending.OutboundSMTP {
				steps := v.sendingSteps(m, out)
				view.Checks = append(view.Checks, steps[len(steps)-1])
			}
		}
		view.Past = m.Inbound.Type == ledger.InboundIMAP
	}
	return v.askForMailbox(view, 0)
}

func (v *visit) askForMailbox(view setUpView, status int) error {
	if view.SignIn == nil {
		m, _, err := v.firstMailbox()
		if err != nil {
			return err
		}
		view.SignIn = v.mailSignInOf(m, nextSetUp)
	}
	view.Action, view.Skip = v.at("/setup/mailbox"), v.at("/setup/colleagues")
	if view.Form.Host != "" {
		view.Found = v.words.T("%s, port %s, %s", view.Form.Host, view.Form.Port, v.encryption(view.Form.Encryption))
	}
	return v.showSetUp("setup-mailbox", v.words.T("Connect your first mailbox"), 3, view, status)
}

func (v *visit) encryption(e string) string {
	switch mailserver.Encryption(e) {
	case mailserver.TLS:
		return "TLS"
	case mailserver.STARTTLS:
		return "STARTTLS"
	}
	return v.words.T("not encrypted")
}

// setUpMailbox creates or changes the first mailbox, and tests it. If the form also has a choice of older mail, it continues
// with the next step.
func (v *visit) setUpMailbox() error {
	old, found, err := v.firstMailbox()
	if err != nil {
		return err
	}
	if v.r.PostFormValue("act") == "start" && found {
		return v.startMailbox(old)
	}
	if v.r.PostFormValue("act") == "skip" && found {
		return v.skipMailbox(old)
	}
	if found && old.Inbound.Auth == ledger.AuthOAuth2 && v.r.PostFormValue("password") == "" && strings.TrimSpace(v.r.PostFormValue("email")) == old.Email {
		if _, err := v.tryBoth(old); err != nil {
			return err
		}
		return v.see(v.at("/setup/mailbox"))
	}
	form := v.completed(v.typed(), old, found)
	inbound := form.inbound(v.r.PostFormValue("password"))
	if !found && inbound.Type == ledger.InboundIMAP {
		inbound.ImportSince = storage.Some(v.now.UTC().Truncate(24 * time.Hour))
	}
	in := helpdesk.MailboxInput{Email: storage.Some(form.Email), Inbound: storage.Some(inbound)}
	m, err := old, error(nil)
	if form.Email == "" {
		err = fault.Field("email", "is required")
	} else if found {
		m, err = v.Mailboxes().Update(v.ctx(), old.ID, in)
	} else {
		in.Name = storage.Some(helpdesk.MailboxName(form.Email))
		m, err = v.Mailboxes().Create(v.ctx(), in)
	}
	if fault.Is(err, fault.Invalid) {
		form.Stored = found && old.Inbound.HasPassword
		return v.askForMailbox(setUpView{Form: form, Errors: v.problems(err), Mailbox: old.ID}, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	if _, err := v.try(m.ID); err != nil {
		return err
	}
	return v.see(v.at("/setup/mailbox"))
}

// completed fills in what the form leaves out: the server by the address, IMAP, and the address as user name.
func (v *visit) completed(form connectionForm, old helpdesk.Mailbox, found bool) connectionForm {
	if form.Host == "" && form.Email != "" || found && form.Email != old.Email && form.Host == old.Inbound.Host {
		s := v.h.guess(v.ctx(), form.Email)
		form.Host, form.Port, form.Encryption = s.host, itoa(int64(s.port)), string(s.encryption)
		form.Username = form.Email
	}
	form.Username = cmp.Or(form.Username, form.Email)
	form.Type = cmp.Or(form.Type, string(ledger.InboundIMAP))
	return form
}

// startMailbox imports older mail as chosen.
func (v *visit) startMailbox(m helpdesk.Mailbox) error {
	since := time.Time{}
	switch v.r.PostFormValue("start") {
	case "month":
		since = v.now.AddDate(0, 0, -30)
	case "all":
		since = time.Unix(0, 0)
	}
	if !since.IsZero() && m.Inbound.Type == ledger.InboundIMAP {
		if err := v.Mailboxes().Backfill(v.ctx(), m.ID, since); err != nil {
			return err
		}
	}
	return v.see(v.at("/setup/colleagues"))
}

func (v *visit) setUpColleaguesPage() error { return v.askForColleagues(setUpView{}, 0) }

func (v *visit) askForColleagues(view setUpView, status int) error {
	roles, err := v.roleChoices("agent")
	if err != nil {
		return err
	}
	view.Roles, view.Action, view.Skip = roles, v.at("/setup/colleagues"), v.at("/")
	if view.Unsent, err = v.unsentLink(); err != nil {
		return err
	}
	return v.showSetUp("setup-colleagues", v.words.T("Invite your colleagues"), 4, view, status)
}

// roleChoices returns the roles of the account, the one with a key first.
func (v *visit) roleChoices(first string) ([]Link, error) {
	roles, err := v.Desk.Roles().All(v.ctx())
	if err != nil {
		return nil, err
	}
	var out []Link
	for _, r := range roles {
		one := Link{Text: v.roleName(r), URL: itoa(r.ID)}
		if r.Key == first {
			out = slices.Insert(out, 0, one)
			continue
		}
		out = append(out, one)
	}
	return out, nil
}

// builtIn are the names and descriptions of the roles that every account has.
var builtIn = []string{
	say("Owner"), say("Admin"), say("Agent"), say("Collaborator"), say("Editor"),
	say("May do everything."), say("May do everything but delete the account."), say("Works on conversations and customers, reads the settings."),
	say("Reads conversations and writes notes."), say("Works on the knowledge base only."),
}

func (v *visit) roleName(r identity.Role) string {
	if r.Key != "" && slices.Contains(builtIn, r.Name) {
		return v.words.T(r.Name)
	}
	return r.Name
}

func (v *visit) setUpColleagues() error {
	addresses := strings.FieldsFunc(v.r.PostFormValue("addresses"), func(r rune) bool { return strings.ContainsRune(" ,;\r\n\t", r) })
	if len(addresses) > maxInvited {
		addresses = addresses[:maxInvited]
	}
	var left []string
	problem, done := "", 0
	for _, address := range addresses {
		_, _, err := v.Members().Invite(v.ctx(), identity.InvitationInput{Email: address, RoleIDs: []int64{v.field("role")}})
		if fault.Is(err, fault.Invalid) {
			left = append(left, address)
			problem = address + ": " + v.problems(err)["email"]
			continue
		}
		if err != nil {
			return err
		}
		done++
	}
	if len(left) > 0 {
		view := setUpView{Addresses: strings.Join(left, "\n"), Errors: map[string]string{"addresses": problem}}
		if done > 0 {
			view.Problem = v.words.N(done, "Invited %s person. The addresses below could not be invited.|Invited %s people. The addresses below could not be invited.")
		}
		return v.askForColleagues(view, http.StatusUnprocessableEntity)
	}
	if done > 0 {
		v.say(toast{Text: v.words.N(done, "Invited %s person|Invited %s people")})
	}
	return v.see(v.at("/"))
}

// maxInvited is the maximum number of people that one form invites.
const maxInvited = 50

func asFault(err error) (*fault.Error, bool) { return errors.AsType[*fault.Error](err) }
