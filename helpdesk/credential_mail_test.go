package helpdesk_test

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
)

// watchful is a store that fails a test in which something that a user signs in with changes and no mail about it is queued
// in the same transaction.
type watchful struct {
	helpdesk.Store
	t *testing.T
}

func (s watchful) InSystemTx(ctx context.Context, fn func(context.Context, helpdesk.SystemTx) error) error {
	return s.Store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		watched := &watchedTx{SystemTx: tx, fresh: map[int64]bool{}, changed: map[int64]string{}}
		if err := fn(ctx, watched); err != nil {
			return err
		}
		for id, what := range watched.changed {
			if !slices.Contains(watched.told, id) && !watched.fresh[id] {
				s.t.Errorf("user %d is not told of a change: %s", id, what)
			}
		}
		return nil
	})
}

type watchedTx struct {
	helpdesk.SystemTx
	fresh   map[int64]bool
	changed map[int64]string
	told    []int64
}

func (t *watchedTx) Within(s helpdesk.Scope) helpdesk.Tx {
	return watchedScope{t.SystemTx.Within(s), t}
}

func (t *watchedTx) InsertUser(ctx context.Context, u *identity.User) error {
	err := t.SystemTx.InsertUser(ctx, u)
	t.fresh[u.ID] = true
	return err
}

func (t *watchedTx) UpdateUser(ctx context.Context, u *identity.User) error {
	before, err := t.User(ctx, u.ID)
	if err != nil {
		return err
	}
	switch {
	case before.PasswordHash != u.PasswordHash:
		t.changed[u.ID] = "password"
	case before.EmailKey != u.EmailKey:
		t.changed[u.ID] = "address"
	case !before.SecondFactorAt.Equal(u.SecondFactorAt):
		t.changed[u.ID] = "second factor"
	}
	return t.SystemTx.UpdateUser(ctx, u)
}

func (t *watchedTx) InsertIdentity(ctx context.Context, i *identity.Identity) error {
	t.changed[i.UserID] = "identity"
	return t.SystemTx.InsertIdentity(ctx, i)
}

func (t *watchedTx) DeleteIdentity(ctx context.Context, userID, id int64) error {
	t.changed[userID] = "identity"
	return t.SystemTx.DeleteIdentity(ctx, userID, id)
}

func (t *watchedTx) InsertPasskey(ctx context.Context, p *identity.Passkey) error {
	t.changed[p.UserID] = "passkey"
	return t.SystemTx.InsertPasskey(ctx, p)
}

func (t *watchedTx) DeletePasskey(ctx context.Context, userID, id int64) error {
	t.changed[userID] = "passkey"
	return t.SystemTx.DeletePasskey(ctx, userID, id)
}

type watchedScope struct {
	helpdesk.Tx
	all *watchedTx
}

func (t watchedScope) Enqueue(ctx context.Context, jobs ...storage.Job) error {
	for _, job := range jobs {
		if job.Kind == helpdesk.JobCredentialMail {
			t.all.told = append(t.all.told, job.Subject)
		}
	}
	return t.Tx.Enqueue(ctx, jobs...)
}

// credentialMails are the mails that wait, each composed twice.
func (b *bundle) credentialMails() (all []sending.SystemMail) {
	b.t.Helper()
	links := pages
	links.Forgotten = func() string { return "https://desk.example/forgot" }
	for _, job := range b.jobs(helpdesk.JobCredentialMail) {
		m := must(b.svc.Outgoing().SystemMail(b.ctx, job, links))(b.t)
		if diff := cmp.Diff(m, must(b.svc.Outgoing().SystemMail(b.ctx, job, links))(b.t)); diff != "" {
			b.t.Error(diff)
		}
		all = append(all, m)
	}
	return all
}

// Whatever a user signs in with, and whoever changes it in whichever way: the user is told.
func TestCredentialMails(t *testing.T) {
	t.Parallel()
	const operator, admin = "Changed by: the server's operator", "Changed by: an admin of the help desk"
	for name, test := range map[string]struct {
		do   func(w *factored, svc *helpdesk.Service)
		want []string // subjects, in the order of the changes
		by   string   // in each mail; "": the user, from an address
	}{
		"a new password": {func(w *factored, svc *helpdesk.Service) {
			me := must(svc.Admin(w.ctx, svc.As(w.user.ID)))(w.t)
			must(me.UpdateMe(w.ctx, identity.UserUpdate{Password: "another horse", CurrentPassword: lisesPassword}))(w.t)
		}, []string{"Your password was changed"}, ""},
		"a forgotten password": {func(w *factored, svc *helpdesk.Service) {
			token := must(svc.Operator().CreatePasswordToken(w.ctx, w.user.ID, 0))(w.t)
			must(svc.SignIn().ChoosePassword(w.ctx, token, identity.PasswordChoice{Password: "another horse"}))(w.t)
		}, []string{"Your password was changed"}, ""},
		"a first password and address": {func(w *factored, svc *helpdesk.Service) {
			user := must(svc.Operator().CreateUser(w.ctx, identity.UserInput{Email: "first@example.org"}))(w.t)
			must(svc.Operator().AddMember(w.ctx, w.account.ID, user.ID, identity.RoleAgent))(w.t)
			token := must(svc.Operator().CreatePasswordToken(w.ctx, user.ID, 0))(w.t)
			must(svc.SignIn().ChoosePassword(w.ctx, token, identity.PasswordChoice{Password: "another horse", Email: "second@example.org"}))(w.t)
		}, []string{"Your email address was changed"}, ""},
		"recovery codes": {func(w *factored, svc *helpdesk.Service) {
			me := must(svc.Admin(w.ctx, svc.As(w.user.ID)))(w.t)
			must(me.RenewRecoveryCodes(w.ctx, w.app()))(w.t)
		}, []string{"You have new recovery codes"}, ""},
		"a recovery code used": {func(w *factored, svc *helpdesk.Service) {
			token, _ := w.password()
			must(svc.SignIn().WithCode(w.ctx, token, w.codes[0]))(w.t)
		}, []string{"A recovery code was used"}, ""},
		"a code of the app used": {func(w *factored, svc *helpdesk.Service) {
			token, _ := w.password()
			must(svc.SignIn().WithCode(w.ctx, token, w.app()))(w.t)
		}, nil, ""},
		"another name": {func(w *factored, svc *helpdesk.Service) {
			me := must(svc.Admin(w.ctx, svc.As(w.user.ID)))(w.t)
			must(me.UpdateMe(w.ctx, identity.UserUpdate{Name: storage.Some("Lise M")}))(w.t)
		}, nil, ""},
		"no second factor": {func(w *factored, svc *helpdesk.Service) {
			me := must(svc.Admin(w.ctx, svc.As(w.user.ID)))(w.t)
			if err := me.RemoveSecondFactor(w.ctx, lisesPassword, w.codes[0]); err != nil {
				w.t.Error(err)
			}
		}, []string{"A recovery code was used", "Two-factor authentication was turned off"}, ""},
		"no second factor, by the operator": {func(w *factored, svc *helpdesk.Service) {
			if err := svc.Operator().ResetSecondFactor(w.ctx, w.user.ID); err != nil {
				w.t.Error(err)
			}
		}, []string{"Two-factor authentication was turned off"}, operator},
		"no second factor, by an admin": {func(w *factored, svc *helpdesk.Service) {
			desk := must(svc.Desk(w.ctx, svc.As(w.owner.ID), w.account.ID))(w.t)
			if err := desk.Members().ResetSecondFactor(w.ctx, w.membership()); err != nil {
				w.t.Error(err)
			}
		}, []string{"Two-factor authentication was turned off"}, admin},
		"connected": {func(w *factored, svc *helpdesk.Service) { w.connect(svc) }, []string{"An account was connected for signing in"}, ""},
		"disconnected": {func(w *factored, svc *helpdesk.Service) {
			w.connect(svc)
			me := must(svc.Admin(w.ctx, svc.As(w.user.ID)))(w.t)
			if err := me.Unlink(w.ctx, lisesPassword, must(me.Identities(w.ctx))(w.t)[0].ID); err != nil {
				w.t.Error(err)
			}
		}, []string{"An account was connected for signing in", "An account was disconnected"}, ""},
		"disconnected by an admin": {func(w *factored, svc *helpdesk.Service) {
			w.connect(svc)
			w.credentialMails()
			desk := must(svc.Desk(w.ctx, svc.As(w.owner.ID), w.account.ID))(w.t)
			if err := desk.Members().Unlink(w.ctx, w.membership()); err != nil {
				w.t.Error(err)
			}
		}, []string{"An account was disconnected"}, admin},
		"found by the address": {func(w *factored, svc *helpdesk.Service) {
			w.confirmAddress()
			start := must(svc.SignIn().BeginWith(w.ctx, "work", ""))(w.t)
			who := url.Values{"who": {`{"Subject":"1","Email":"lise@example.org","EmailVerified":true,"SecondFactor":true}`}}
			must(svc.SignIn().FinishWith(w.ctx, helpdesk.Caller{}, "work", start.Kept, who))(w.t)
			start = must(svc.SignIn().BeginWith(w.ctx, "work", ""))(w.t) // the second time nothing changes
			must(svc.SignIn().FinishWith(w.ctx, helpdesk.Caller{}, "work", start.Kept, who))(w.t)
		}, []string{"An account was connected for signing in"}, ""},
		"a new user by a rule": {func(w *factored, svc *helpdesk.Service) {
			must(w.desk.JoinRules().Create(w.ctx, identity.JoinRuleInput{Provider: "work", Domain: "example.org", RoleIDs: []int64{w.role(identity.RoleAgent)}}))(w.t)
			must(w.arrive("work", proven{Subject: "2", Email: "new@example.org", EmailVerified: true}))(w.t)
		}, nil, ""},
		"a passkey": {func(w *factored, svc *helpdesk.Service) {
			w.passkey(svc, svc.As(w.user.ID), lisesPassword)
		}, []string{"A passkey was added"}, ""},
		"no passkey": {func(w *factored, svc *helpdesk.Service) {
			p, _ := w.passkey(svc, svc.As(w.user.ID), lisesPassword)
			me := must(svc.Admin(w.ctx, svc.As(w.user.ID)))(w.t)
			if err := me.RemovePasskey(w.ctx, lisesPassword, p.ID); err != nil {
				w.t.Error(err)
			}
		}, []string{"A passkey was added", "A passkey was removed"}, ""},
		"no passkeys, by the operator": {func(w *factored, svc *helpdesk.Service) {
			w.passkey(svc, svc.As(w.user.ID), lisesPassword)
			w.credentialMails()
			if err := svc.Operator().RemoveUserPasskeys(w.ctx, w.user.ID); err != nil {
				w.t.Error(err)
			}
		}, []string{"A passkey was removed"}, operator},
		"no passkeys, by an admin": {func(w *factored, svc *helpdesk.Service) {
			w.passkey(svc, svc.As(w.user.ID), lisesPassword)
			w.credentialMails()
			desk := must(svc.Desk(w.ctx, svc.As(w.owner.ID), w.account.ID))(w.t)
			if err := desk.Members().RemovePasskeys(w.ctx, w.membership()); err != nil {
				w.t.Error(err)
			}
		}, []string{"A passkey was removed"}, admin},
		"an address taken back": {func(w *factored, svc *helpdesk.Service) {
			must(svc.Operator().CreateUser(w.ctx, identity.UserInput{Email: "taken@example.org", Password: "the taker's"}))(w.t)
			if _, _, err := w.desk.Members().Invite(w.ctx, identity.InvitationInput{Email: "taken@example.org", RoleIDs: []int64{w.role(identity.RoleAgent)}}); err != nil {
				w.t.Fatal(err)
			}
			mail := must(w.svc.Outgoing().SystemMail(w.ctx, w.jobs(helpdesk.JobInvite)[0], pages))(w.t)
			_, rest, _ := strings.Cut(mail.Text, "/invitations/")
			token, _, _ := strings.Cut(rest, "\n")
			must(svc.SignIn().AcceptInvitation(w.ctx, helpdesk.Caller{}, token, identity.AcceptInput{Name: "T", Password: "the owner's"}))(w.t)
		}, []string{"Your password was changed"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFactored(t, withProviders, withPasskeys)
			if set := w.credentialMails(); len(set) != 1 || set[0].Subject != "Two-factor authentication was turned on" {
				t.Errorf("setting up the second factor: %+v", set)
			}
			test.do(w, w.svc.From(netip.MustParseAddr("192.0.2.7")))
			var got []string
			for _, m := range w.credentialMails() {
				got = append(got, m.Subject)
				by := test.by
				if by == "" {
					by = "IP address: 192.0.2.7"
				}
				for _, want := range []string{"Acme help desk", "1 November 2026", by, "https://desk.example/forgot"} {
					if !strings.Contains(m.Text, want) {
						t.Errorf("%q is not in\n%s", want, m.Text)
					}
				}
				for _, secret := range append(slices.Clone(w.codes), lisesPassword, "another horse", w.secret) {
					if strings.Contains(m.Text, secret) {
						t.Errorf("a secret in\n%s", m.Text)
					}
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func (w *factored) membership() int64 {
	w.t.Helper()
	return membershipOf(w.t, w.ctx, must(w.svc.Desk(w.ctx, w.svc.As(w.user.ID), w.account.ID))(w.t)).ID
}

// connect connects Lise with a provider.
func (w *factored) connect(svc *helpdesk.Service) {
	w.t.Helper()
	me := must(svc.Admin(w.ctx, svc.As(w.user.ID)))(w.t)
	start := must(me.BeginLink(w.ctx, lisesPassword, "open", ""))(w.t)
	must(svc.SignIn().FinishWith(w.ctx, svc.As(w.user.ID), "open", start.Kept, url.Values{"who": {`{"Subject":"1"}`}}))(w.t)
}

func (w *factored) confirmAddress() {
	w.t.Helper()
	err := w.store.InSystemTx(w.ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		user, err := tx.UserForUpdate(ctx, w.user.ID)
		if err != nil {
			return err
		}
		user.EmailVerifiedAt = w.clock.Now()
		return tx.UpdateUser(ctx, &user)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// The mails are in the language of the account, go to the previous address, and are not sent to deleted users or after a
// week.
func TestCredentialMailRecipients(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	must(b.desk.Account().Update(b.ctx, identity.AccountUpdate{Name: "Acme", DefaultLocale: storage.Some("de-AT"), Languages: storage.Some([]string{"de-AT"})}))(t)
	user := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Name: "Grete", Email: "old@example.org"}))(t)
	must(b.svc.Operator().AddMember(b.ctx, b.account.ID, user.ID, identity.RoleAgent))(t)
	token := must(b.svc.Operator().CreatePasswordToken(b.ctx, user.ID, 0))(t)
	must(b.svc.SignIn().ChoosePassword(b.ctx, token, identity.PasswordChoice{Password: "another horse", Email: "new@example.org"}))(t)
	jobs := b.jobs(helpdesk.JobCredentialMail)
	to := map[string]string{}
	for _, job := range jobs {
		m := must(b.svc.Outgoing().SystemMail(b.ctx, job, pages))(t)
		to[m.To.Email] = m.Subject
		if !strings.HasPrefix(m.Text, "Hallo Grete,\n") || !strings.Contains(m.Text, "01.11.2026, 12:00 UTC") || strings.Contains(m.Text, "new@example.org") {
			t.Errorf("%s", m.Text)
		}
	}
	want := map[string]string{"old@example.org": "Deine E-Mail-Adresse wurde geändert"}
	if diff := cmp.Diff(want, to); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func(){
		"disabled": func() { must(b.svc.Operator().DisableUser(b.ctx, user.ID))(t) },
		"a week later": func() {
			must(b.svc.Operator().EnableUser(b.ctx, user.ID))(t)
			b.clock.Add(8 * 24 * 3600 * 1e9)
		},
	} {
		change()
		if _, err := b.svc.Outgoing().SystemMail(b.ctx, jobs[0], pages); err == nil {
			t.Errorf("%s: a mail", name)
		}
	}
}

// An application that informs its users itself has no such mails.
func TestNoCredentialMails(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(cfg *helpdesk.Config) { cfg.NoCredentialMails = true })
	user := must(b.svc.Operator().CreateUser(b.ctx, identity.UserInput{Email: "a@example.org"}))(t)
	must(must(b.svc.Admin(b.ctx, b.svc.As(user.ID)))(t).UpdateMe(b.ctx, identity.UserUpdate{Password: "another horse"}))(t)
	if jobs := b.jobs(helpdesk.JobCredentialMail); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
}
