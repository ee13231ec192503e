package helpdesk

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// credentialMailLife is how long a mail about a changed credential is worth sending.
const credentialMailLife = 7 * 24 * time.Hour

// credentialChange is the payload of a job of kind [JobCredentialMail]. It holds no secret.
type credentialChange struct {
	UserID  int64     `json:"user_id"`
	Action  string    `json:"action"`         // of the audit log
	Name    string    `json:"name,omitempty"` // of the identity provider or the passkey
	To      string    `json:"to,omitempty"`   // "": the user's address when the mail is sent
	ActorID int64     `json:"actor_id"`       // 0: the operator
	Address string    `json:"address,omitempty"`
	At      time.Time `json:"at"`
}

// credentialChanged records a change of what a user signs in with, in the audit logs and in a mail to the user. Every such
// change calls it, in the transaction of the change. name is that of the identity provider or passkey, or the former
// address.
func (s *Service) credentialChanged(ctx context.Context, tx SystemTx, userID int64, entry AuditEntry, name string) error {
	if err := s.noteFor(ctx, tx, userID, entry); err != nil || s.cfg.NoCredentialMails {
		return err
	}
	change := credentialChange{
		UserID: userID, Action: entry.Action, Name: name, ActorID: entry.UserID, Address: entry.Address, At: entry.CreatedAt,
	}
	if entry.Action == auditEmail { // only the former address can belong to somebody who did not change it
		change.Name, change.To = "", name
	}
	payload, err := json.Marshal(change)
	if err != nil {
		return fault.Wrap(fault.Internal, "making a job", err)
	}
	return tx.Within(Scope{}).Enqueue(ctx, storage.Job{Kind: JobCredentialMail, Subject: userID, Payload: payload, RunAt: entry.CreatedAt})
}

// ownCredentialChanged is credentialChanged for a user who changed it.
func (s *Service) ownCredentialChanged(ctx context.Context, tx SystemTx, action string, subject, userID, tokenID int64, name string) error {
	return s.credentialChanged(ctx, tx, userID, s.entry(action, subject, userID, tokenID, s.now()), name)
}

// credentialMail builds the mail about a changed credential, from the first account that the user is a member of and in its
// language. Without a user or an account there is none.
func (s *Service) credentialMail(ctx context.Context, job storage.ClaimedJob, links sending.MailLinks) (sending.SystemMail, error) {
	var change credentialChange
	if err := json.Unmarshal(job.Payload, &change); err != nil {
		return sending.SystemMail{}, fault.Wrap(fault.Internal, "reading a job", err)
	}
	if s.now().Sub(change.At) > credentialMailLife {
		return sending.SystemMail{}, fault.Missing("mail", job.ID)
	}
	out, account, err := s.mailToUser(ctx, change.UserID, change.To)
	if err != nil {
		return sending.SystemMail{}, err
	}
	words := credentialWordsIn(account.DefaultLocale)
	text, known := words.changes[change.Action]
	if !known { // written by a later release
		return sending.SystemMail{}, fault.Missing("mail", job.ID)
	}
	out.MessageID = fmt.Sprintf("credential.%d.%d.%d@%s", change.UserID, change.At.UnixMicro(), job.ID, s.cfg.IntakeDomain)
	out.Date, out.Subject = change.At, text.subject
	out.Text = words.letter(out.To.Name, account.Name, text, change, links)
	return out, nil
}

// mailToUser addresses a mail to a user, from the first account that the user is a member of. email is an address to write
// to instead of the user's; "": none.
func (s *Service) mailToUser(ctx context.Context, userID int64, email string) (sending.SystemMail, identity.Account, error) {
	accounts, err := s.cfg.Store.AccountsOf(ctx, userID, storage.Seek{Limit: 1})
	if err != nil {
		return sending.SystemMail{}, identity.Account{}, err
	}
	if len(accounts) == 0 {
		return sending.SystemMail{}, identity.Account{}, fault.Missing("account", 0)
	}
	r := s.cfg.Store.Within(Scope{AccountID: accounts[0].ID})
	user, err := s.memberToMail(ctx, r, userID, email)
	if err != nil {
		return sending.SystemMail{}, identity.Account{}, err
	}
	from, _, err := s.sender(ctx, r, 0)
	if err != nil {
		return sending.SystemMail{}, identity.Account{}, err
	}
	dkim, err := s.signers(ctx, r, from.Email)
	return sending.SystemMail{From: from, To: mailaddr.Address{Name: user.Name, Email: user.Email}, DKIM: dkim}, accounts[0], err
}

// credentialText is what a mail says about one kind of change. In text, %[1]s is the account's name and %[2]s that of the
// identity provider or passkey.
type credentialText struct{ subject, text string }

// credentialWords are the texts of these mails in one language.
type credentialWords struct {
	hello, date, when, from, operator, admin, fine, act, tell string
	changes                                                   map[string]credentialText
}

// letter writes a mail.
func (w credentialWords) letter(name, account string, text credentialText, change credentialChange, links sending.MailLinks) string {
	hello := strings.TrimSpace(w.hello+" "+name) + ","
	what := text.text
	if strings.Contains(what, "%[2]s") {
		what = fmt.Sprintf(what, account, change.Name)
	} else {
		what = fmt.Sprintf(what, account)
	}
	facts := fmt.Sprintf(w.when, change.At.UTC().Format(w.date))
	switch {
	case change.ActorID == 0:
		facts += "\n" + w.operator
	case change.ActorID != change.UserID:
		facts += "\n" + w.admin
	}
	if change.Address != "" && change.ActorID == change.UserID {
		facts += "\n" + fmt.Sprintf(w.from, change.Address)
	}
	act := w.act + "."
	if links.Forgotten != nil {
		act = w.act + ":\n" + links.Forgotten()
	}
	return paragraphs(hello, what, facts, w.fine, act, w.tell)
}

// credentialWordsIn returns the texts for a locale: English unless there are others.
func credentialWordsIn(locale string) credentialWords {
	if lang, _, _ := strings.Cut(strings.ToLower(locale), "-"); lang == "de" {
		return germanCredentialWords()
	}
	return englishCredentialWords()
}

func englishCredentialWords() credentialWords {
	return credentialWords{
		hello: "Hello", date: "2 January 2006 15:04 UTC",
		when: "When: %s", from: "IP address: %s",
		operator: "Changed by: the server's operator", admin: "Changed by: an admin of the help desk",
		fine: "If this was you, you do not need to do anything.",
		act:  "If it was not, someone else may have access to your account. Choose a new password now",
		tell: "Then check the sessions, passkeys and connected accounts in your profile, and let an admin of the help desk know.",
		changes: map[string]credentialText{
			auditPassword:     {"Your password was changed", "your password for the %[1]s help desk was changed, and all other sessions were signed out."},
			auditEmail:        {"Your email address was changed", "your user in the %[1]s help desk now has a different email address. This one is no longer in use."},
			auditFactor:       {"Two-factor authentication was turned on", "signing in to the %[1]s help desk now also takes a code from your authenticator app."},
			auditFactorGone:   {"Two-factor authentication was turned off", "signing in to the %[1]s help desk no longer takes a code."},
			auditRecoveryUsed: {"A recovery code was used", "one of your recovery codes was used to sign in to the %[1]s help desk. It cannot be used again."},
			auditRecoveryNew:  {"You have new recovery codes", "new recovery codes were created for you in the %[1]s help desk. Your old codes no longer work."},
			auditIdentity:     {"An account was connected for signing in", "%[2]s was connected to your user in the %[1]s help desk and can now be used to sign in."},
			auditIdentityGone: {"An account was disconnected", "%[2]s was disconnected from your user in the %[1]s help desk and can no longer be used to sign in."},
			auditPasskey:      {"A passkey was added", "the passkey “%[2]s” was added to your user in the %[1]s help desk and can now be used to sign in."},
			auditPasskeyGone:  {"A passkey was removed", "the passkey “%[2]s” was removed from your user in the %[1]s help desk and no longer works."},
		},
	}
}

func germanCredentialWords() credentialWords {
	return credentialWords{
		hello: "Hallo", date: "02.01.2006, 15:04 UTC",
		when: "Wann: %s", from: "Von der Netzadresse: %s",
		operator: "Durch: den Betreiber des Servers", admin: "Durch: einen Admin des Helpdesks",
		fine: "Wenn du davon weißt, ist nichts zu tun.",
		act:  "Wenn nicht, kann sich vielleicht jemand anderes mit deinem Namen anmelden. Wähle jetzt ein neues Passwort",
		tell: "Sieh danach in deinem Profil die Sitzungen, Passkeys und verbundenen Konten durch, und sag einem Admin des Helpdesks Bescheid.",
		changes: map[string]credentialText{
			auditPassword:     {"Dein Passwort wurde geändert", "dein Passwort für den Helpdesk von %[1]s wurde geändert, und alle anderen Sitzungen wurden beendet."},
			auditEmail:        {"Deine E-Mail-Adresse wurde geändert", "dein Benutzer im Helpdesk von %[1]s hat jetzt eine andere E-Mail-Adresse, und nicht mehr diese."},
			auditFactor:       {"Dein zweiter Faktor wurde eingeschaltet", "bei der Anmeldung im Helpdesk von %[1]s wird jetzt auch nach einem Code aus deiner Authenticator-App gefragt."},
			auditFactorGone:   {"Dein zweiter Faktor wurde ausgeschaltet", "bei der Anmeldung im Helpdesk von %[1]s wird nicht mehr nach einem Code gefragt."},
			auditRecoveryUsed: {"Ein Wiederherstellungscode wurde benutzt", "einer deiner Wiederherstellungscodes wurde im Helpdesk von %[1]s benutzt. Er gilt kein zweites Mal."},
			auditRecoveryNew:  {"Du hast neue Wiederherstellungscodes", "für dich wurden im Helpdesk von %[1]s neue Wiederherstellungscodes erstellt. Die früheren gelten nicht mehr."},
			auditIdentity:     {"Ein Konto wurde für die Anmeldung verbunden", "dein Benutzer im Helpdesk von %[1]s wurde mit %[2]s verbunden, und man kann sich von jetzt an damit anmelden."},
			auditIdentityGone: {"Ein Konto wurde getrennt", "dein Benutzer im Helpdesk von %[1]s ist nicht mehr mit %[2]s verbunden, und man kann sich nicht mehr damit anmelden."},
			auditPasskey:      {"Ein Passkey wurde hinzugefügt", "der Passkey „%[2]s“ wurde deinem Benutzer im Helpdesk von %[1]s hinzugefügt, und man kann sich von jetzt an damit anmelden."},
			auditPasskeyGone:  {"Ein Passkey wurde entfernt", "der Passkey „%[2]s“ wurde von deinem Benutzer im Helpdesk von %[1]s entfernt und gilt nicht mehr."},
		},
	}
}
