package storagetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// base is the time of all fixtures; it has microseconds.
var base = time.Date(2026, 3, 4, 5, 6, 7, 891011000, time.UTC)

// at returns the time n minutes after base.
func at(n int) time.Time { return base.Add(time.Duration(n) * time.Minute) }

// world is an account with one row of every noun. All its texts contain mark, which is unique.
type world struct {
	hired []int64 // users who are not members yet, see hire
	Backend
	mark    string
	scope   helpdesk.Scope
	user    identity.User
	token   identity.AccessToken
	account identity.Account
	role    identity.Role
	member  identity.Membership
	mailbox helpdesk.Mailbox // has all of the following
	empty   helpdesk.Mailbox // has nothing

	invitation   identity.Invitation
	joinRule     identity.JoinRule
	identity     identity.Identity
	passkey      identity.Passkey
	customer     helpdesk.Customer
	conversation helpdesk.Conversation
	question     helpdesk.Interaction // of the customer, with an attachment and the ledger row
	answer       helpdesk.Interaction // of the user, with a delivery
	attachment   helpdesk.Attachment
	delivery     sending.Delivery
	mail         ledger.Mail
	number       int64 // of the last conversation

	domain sending.Domain
	pgpKey helpdesk.PGPKey // of the customer's first address
	tag    helpdesk.Tag
	field  helpdesk.Field // of conversations
	trait  helpdesk.Field // a field of customers
	fact   helpdesk.Field // a field of companies
	values []helpdesk.FieldValue
	team   helpdesk.Team

	company    helpdesk.Company
	companyKey helpdesk.CompanyKey
	view       helpdesk.View
	shelf      shelf
	moves      []helpdesk.Move
	merged     int64 // id of the conversation merged into conversation; it had answer for a while

	suppression  sending.Suppression
	memberMail   helpdesk.MemberMail
	calendar     helpdesk.Calendar
	autoReply    helpdesk.AutoReply
	autoResponse helpdesk.AutoResponse
	rule         helpdesk.Rule
	ruleSet      helpdesk.RuleSet
	sla          helpdesk.SLA
	survey       helpdesk.Survey
	rating       helpdesk.Rating
	retention    helpdesk.RetentionPolicy
	folded       helpdesk.ConversationFact
	factLog      helpdesk.FactLog
	reading      helpdesk.SiteReading
	ruleRun      helpdesk.RuleRun
	replay       helpdesk.RuleReplay
	replayed     helpdesk.ReplayedConversation
	rulePass     helpdesk.RulePass
	savedReply   helpdesk.SavedReply
	replyFile    helpdesk.ReplyFile
	signature    helpdesk.Signature
	pushDevice   helpdesk.PushDevice
	blocked      helpdesk.BlockedSender
	erasure      helpdesk.Erasure
	portalKey    helpdesk.PortalKey
	webhook      subscription.Webhook
	hooked       subscription.WebhookDelivery
	audit        helpdesk.AuditEntry
	notification helpdesk.Notification
	failedJob    storage.FailedJob
}

// picture is that of the user.
func (w *world) picture() []byte { return []byte("\xff\xd8\x00" + w.mark) }

// newAccount creates a user who is a member of a new account, and two mailboxes.
func newAccount(t *testing.T, b Backend) *world {
	t.Helper()
	w := &world{Backend: b, mark: strings.ToLower(rand.Text()), number: 1000}
	w.user = identity.User{Name: "Ada " + w.mark, Email: "Ada@" + w.mark + ".example", EmailKey: "ada@" + w.mark + ".example", PasswordHash: "$argon2id$" + w.mark,
		EmailVerifiedAt: at(-3), SecondFactorAt: at(-1), SealedSecondFactor: []byte{1, 0, 255}, CreatedAt: at(-2), UpdatedAt: at(-1),
		Picture: "picture" + w.mark, Preferences: identity.Preferences{
			Language: "pt-BR", TimeZone: "Europe/Lisbon", AfterSending: identity.AfterSendingList, LeaveUnassigned: true,
		}}
	w.account = identity.Account{Name: "Account " + w.mark, NextNumber: 1, DefaultLocale: "pt-BR", DefaultMailboxID: 77, RemoteImages: identity.ProxyImages, TrackSeen: true, RequireSecondFactor: true,
		SendHold: 90 * time.Second, SealedErasureKeys: []byte{7, 0, 255}, Listens: []string{"conversation.created"}, Origin: identity.Origin{Archive: "archive" + w.mark, FinishedAt: at(9)},
		Languages: []string{"pt-BR", "en"}, CreatedAt: base, UpdatedAt: at(1)}
	w.role = w.newRole("Role")
	w.role.Key = ""
	err := b.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		if err := tx.InsertUser(ctx, &w.user); err != nil {
			return err
		}
		if err := tx.SetPicture(ctx, w.user.ID, w.picture()); err != nil {
			return err
		}
		w.token = identity.AccessToken{UserID: w.user.ID, Name: "Token " + w.mark, Hash: []byte("hash " + w.mark),
			Scopes: []identity.Permission{identity.ConversationsView}, ExpiresAt: at(1000), LastUsedAt: at(2), CreatedAt: base, Factors: 2}
		if err := tx.InsertToken(ctx, &w.token); err != nil {
			return err
		}
		w.identity = w.newIdentity("held")
		if err := tx.InsertIdentity(ctx, &w.identity); err != nil {
			return err
		}
		w.passkey = w.newPasskey("held")
		if err := tx.InsertPasskey(ctx, &w.passkey); err != nil {
			return err
		}
		if err := tx.InsertAccount(ctx, &w.account); err != nil {
			return err
		}
		w.scope = helpdesk.Scope{AccountID: w.account.ID}
		in := tx.Within(w.scope)
		if err := helpdesk.Nouns().Roles.Rows(in).Insert(ctx, &w.role); err != nil {
			return err
		}
		w.mailbox, w.empty = w.newMailbox("first"), w.newMailbox("second")
		if err := in.Mailboxes().Insert(ctx, &w.mailbox); err != nil {
			return err
		}
		if err := in.Mailboxes().Insert(ctx, &w.empty); err != nil {
			return err
		}
		w.member = w.newMember(0)
		if err := in.Memberships().Insert(ctx, &w.member); err != nil {
			return err
		}
		w.invitation = w.newInvitation("lise")
		if err := helpdesk.Nouns().Invitations.Rows(in).Insert(ctx, &w.invitation); err != nil {
			return err
		}
		w.joinRule = w.newJoinRule("held")
		return helpdesk.Nouns().JoinRules.Rows(in).Insert(ctx, &w.joinRule)
	})
	ok(t, err)
	return w
}

// newWorld is newAccount with a conversation.
func newWorld(t *testing.T, b Backend) *world {
	t.Helper()
	w := newAccount(t, b)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		if err := w.ask(ctx, tx); err != nil {
			return err
		}
		w.team = w.newTeam("held")
		if err := helpdesk.Nouns().Teams.Rows(tx).Insert(ctx, &w.team); err != nil {
			return err
		}
		w.conversation = w.newConversation()
		if err := tx.Conversations().Insert(ctx, &w.conversation); err != nil {
			return err
		}
		w.question, w.answer = w.newQuestion(w.conversation), w.newAnswer(w.conversation)
		for _, i := range []*helpdesk.Interaction{&w.question, &w.answer} {
			if err := tx.Interactions().Insert(ctx, i); err != nil {
				return err
			}
		}
		w.attachment = w.newAttachment(w.question, "scan.pdf")
		if err := tx.Attachments().Insert(ctx, &w.attachment); err != nil {
			return err
		}
		d := []sending.Delivery{w.newDelivery(w.answer)}
		if err := tx.Deliveries().Insert(ctx, storage.Pointers(d)...); err != nil {
			return err
		}
		w.delivery = d[0]
		w.mail = w.newMail("1")
		w.mail.State, w.mail.ConversationID, w.mail.InteractionID = ledger.Ignored, // so that it is counted; stores treat all states alike
			w.conversation.ID, w.question.ID
		if err := tx.InsertInbound(ctx, []*ledger.Mail{&w.mail}); err != nil {
			return err
		}
		if err := tx.AddParticipants(ctx, w.conversation.ID, []string{w.address("grace")}); err != nil {
			return err
		}
		if err := tx.SaveFetchStatus(ctx, w.newStatus()); err != nil {
			return err
		}
		w.domain, w.pgpKey = w.newDomain("first"), w.newPGPKey("A1")
		if err := helpdesk.Nouns().Domains.Rows(tx).Insert(ctx, &w.domain); err != nil {
			return err
		}
		if err := helpdesk.Nouns().PGPKeys.Rows(tx).Insert(ctx, &w.pgpKey); err != nil {
			return err
		}
		audit := []helpdesk.AuditEntry{w.newAudit()}
		if err := tx.InsertAudit(ctx, audit); err != nil {
			return err
		}
		w.audit, w.portalKey = audit[0], w.newPortalKey()
		if err := helpdesk.Nouns().PortalKeys.Rows(tx).Insert(ctx, &w.portalKey); err != nil {
			return err
		}
		if err := w.organise(ctx, tx); err != nil {
			return err
		}
		if err := w.describe(ctx, tx); err != nil {
			return err
		}
		if err := w.hook(ctx, tx); err != nil {
			return err
		}
		there := helpdesk.Presence{ConversationID: w.conversation.ID, UserID: w.user.ID, Doing: helpdesk.Replying, SeenAt: base}
		if err := tx.SavePresence(ctx, there, base.AddDate(-1, 0, 0)); err != nil {
			return err
		}
		if err := w.remember(ctx, tx); err != nil {
			return err
		}
		if err := w.automate(ctx, tx); err != nil {
			return err
		}
		if err := w.writeReplies(ctx, tx); err != nil {
			return err
		}
		if err := w.notify(ctx, tx); err != nil {
			return err
		}
		w.suppression = w.newSuppression("gone")
		if err := helpdesk.Nouns().Suppressions.Rows(tx).Insert(ctx, &w.suppression); err != nil {
			return err
		}
		mark := helpdesk.ReadMark{UserID: passer, ConversationID: w.conversation.ID, InteractionID: w.question.ID}
		if err := tx.SaveReadMark(ctx, mark); err != nil {
			return err
		}
		return tx.SaveFetchCursor(ctx, w.mailbox.ID, "INBOX", mailserver.Cursor{UIDValidity: 7, UID: 99})
	})
	w.failedJob = w.bury(t, storage.Job{Kind: "given-up-" + w.mark, Subject: 7, Payload: []byte(`{"a":1}`), UniqueKey: "given up " + w.mark, RunAt: base})
	return w
}

// ask makes a customer and their company.
func (w *world) ask(ctx context.Context, tx helpdesk.Tx) error {
	w.company = w.newCompany("held")
	if err := helpdesk.Nouns().Companies.Rows(tx).Insert(ctx, &w.company); err != nil {
		return err
	}
	w.companyKey = w.newCompanyKey("held")
	if err := helpdesk.Nouns().CompanyKeys.Rows(tx).Insert(ctx, &w.companyKey); err != nil {
		return err
	}
	w.customer = w.newCustomer("grace")
	return tx.InsertCustomer(ctx, &w.customer)
}

// remember makes a blocked sender, an erasure and a mail of a member.
func (w *world) remember(ctx context.Context, tx helpdesk.Tx) error {
	w.blocked = w.newBlockedSender("held")
	if err := helpdesk.Nouns().BlockedSenders.Rows(tx).Insert(ctx, &w.blocked); err != nil {
		return err
	}
	w.erasure = w.newErasure("held")
	if err := helpdesk.Nouns().Erasures.Rows(tx).Insert(ctx, &w.erasure); err != nil {
		return err
	}
	w.memberMail = w.newMemberMail("held")
	return helpdesk.Nouns().MemberMails.Rows(tx).Insert(ctx, &w.memberMail)
}

// writeReplies makes a saved reply with a file, a signature, and a device.
func (w *world) writeReplies(ctx context.Context, tx helpdesk.Tx) error {
	w.savedReply = w.newSavedReply("held")
	if err := helpdesk.Nouns().SavedReplies.Rows(tx).Insert(ctx, &w.savedReply); err != nil {
		return err
	}
	w.replyFile = w.newReplyFile(w.savedReply.ID, "held")
	if err := helpdesk.Nouns().ReplyFiles.Rows(tx).Insert(ctx, &w.replyFile); err != nil {
		return err
	}
	w.pushDevice = w.newPushDevice("held")
	if err := helpdesk.Nouns().PushDevices.Rows(tx).Insert(ctx, &w.pushDevice); err != nil {
		return err
	}
	w.signature = w.newSignature(0)
	return helpdesk.Nouns().Signatures.Rows(tx).Insert(ctx, &w.signature)
}

func (w *world) address(local string) string { return local + "@" + w.mark + ".example" }

// newMember makes the nth hired user a member; without hired users, the user of the world.
func (w *world) newMember(n int) identity.Membership {
	user := w.user.ID
	if len(w.hired) > 0 {
		user = w.hired[n%len(w.hired)]
	}
	return identity.Membership{UserID: user, RoleIDs: []int64{w.role.ID}, MailboxIDs: []int64{w.mailbox.ID, w.empty.ID},
		LastActivity: at(5), CreatedAt: base, UpdatedAt: at(1), Availability: newAvailability()}
}

// hire creates users who may become members.
func (w *world) hire(t *testing.T) {
	t.Helper()
	err := w.Store.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
		w.hired = nil
		for n := range 40 {
			u := identity.User{EmailKey: fmt.Sprint(n, "@", w.mark), CreatedAt: base, UpdatedAt: base}
			if err := tx.InsertUser(ctx, &u); err != nil {
				return err
			}
			w.hired = append(w.hired, u.ID)
		}
		return nil
	})
	ok(t, err)
}

func (w *world) newRole(name string) identity.Role {
	return identity.Role{Key: name, Name: name + " " + w.mark, Description: "Reads " + w.mark,
		Permissions: []identity.Permission{identity.ConversationsView, identity.CustomersView}, CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newMailbox(local string) helpdesk.Mailbox {
	local += "-" + strings.ToLower(rand.Text())
	return helpdesk.Mailbox{AccountID: w.account.ID, Name: "Mailbox " + w.mark, Email: "H." + w.address(local), EmailKey: "h." + w.address(local),
		From: "{{agent.name}} of " + w.mark, InternalLocal: local,
		Inbound: ledger.Inbound{Type: ledger.InboundIMAP, Host: "imap." + w.mark + ".example", Port: 993, Username: "u" + w.mark,
			SealedPassword: []byte{0, 1, 2, 255}, Encryption: mailserver.TLS, ValidateCertificate: true, Folders: []string{"INBOX", "Füße/Päckchen"}, Auth: ledger.AuthOAuth2, ImportSince: at(7), Epoch: 3,
			OAuth: ledger.OAuth{ClientID: "client " + w.mark, TokenURL: "https://" + w.mark + ".example/token", Scope: "a b", SealedSecrets: []byte{255, 0, 1}}},
		Outbound: sending.Outbound{Type: sending.OutboundSMTP, Host: "smtp." + w.mark + ".example", Port: 465, Username: "o" + w.mark,
			SealedPassword: []byte{0, 3, 2, 255}, Encryption: mailserver.TLS, ValidateCertificate: true, Auth: sending.OutboundPassword},
		ReplyAddress: helpdesk.ReplySubaddress, Probe: helpdesk.AddressProbe{SentAt: at(5), SeenAt: at(6), Refused: true, Note: "refused by " + w.mark},
		Signature: "<p>" + w.mark + "</p>", Quotes: helpdesk.QuoteAll, FormFields: []string{"plan", "f" + w.mark},
		CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newStatus() ledger.FetchStatus {
	return ledger.FetchStatus{MailboxID: w.mailbox.ID, Connected: true, LastSuccessAt: at(3), LastErrorAt: at(2),
		LastError: "refused " + w.mark, NeedsReauth: true, Worker: "worker " + w.mark, Deaths: []time.Time{at(9), at(8)}, Fruitless: 2, ParkedAt: at(9), UpdatedAt: at(4)}
}

func (w *world) newCustomer(local string) helpdesk.Customer {
	return helpdesk.Customer{FirstName: "Grace", LastName: local + w.mark, Company: "Navy " + w.mark, CompanyID: w.company.ID, Note: "Calls early.\nPays late.", ExternalID: "№ " + local + w.mark,
		Emails: []helpdesk.CustomerEmail{
			{Email: "A." + w.address(local), Key: w.address(local)}, {Email: "B." + w.address(local), Key: w.address(local + "+b")}},
		Phones:    []helpdesk.CustomerPhone{{Phone: "+49 30 1"}, {Phone: "+49 30 2"}},
		Websites:  []helpdesk.CustomerWebsite{{Website: "https://" + w.mark + ".example/1"}, {Website: "https://" + w.mark + ".example/2"}},
		CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newConversation() helpdesk.Conversation {
	w.number++
	return helpdesk.Conversation{Number: w.number, Channel: "email", MailboxID: w.mailbox.ID, CustomerID: w.customer.ID,
		CustomerEmailID: w.customer.Emails[0].ID, CustomerEmail: w.customer.Emails[0].Email, UserID: w.user.ID, TeamID: w.team.ID, Status: helpdesk.StatusPosted, Priority: helpdesk.PriorityHigh,
		Subject: "Subject " + w.mark, Preview: "Preview " + w.mark, RefersTo: 1 << 40, AwaitingSince: at(4), SnoozedUntil: at(90), SpamAt: at(3),
		SLAID: 1 << 40, SLATrack: `{"version":3}`, DueAt: at(50), SoonAt: at(40), HeldAt: at(30), HeldByID: w.user.ID, HoldReason: "größe", ErasedAt: at(20), CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newQuestion(c helpdesk.Conversation) helpdesk.Interaction {
	return helpdesk.Interaction{ConversationID: c.ID, Type: helpdesk.TypeCustomer, Status: helpdesk.StatusPosted, Body: "<p>" + w.mark + "</p>",
		Subject: "Help " + w.mark, CustomerID: w.customer.ID, CustomerEmailID: w.customer.Emails[0].ID, CustomerEmail: w.customer.Emails[0].Email,
		To: []string{w.address("to")}, Cc: []string{w.address("cc1"), w.address("cc2")}, Source: "email", IsStarter: true, AutoSubmitted: true,
		SeenAt: at(2), PostedAt: at(1), MessageID: strings.ToLower(rand.Text()) + "@" + w.mark, References: []string{"r1@" + w.mark, "r2@" + w.mark},
		Security:       ledger.Security{Protocol: "openpgp", Encrypted: true, Signature: ledger.SignatureValid, Fingerprint: "A1"},
		Authentication: w.authentication("header"),
		Mail: helpdesk.MailHeader{
			From: []mailaddr.Address{{Name: "Ada " + w.mark, Email: w.address("ada")}, {Email: w.address("grace")}}, Sender: mailaddr.Address{Email: w.address("sender")},
			ReplyTo: []mailaddr.Address{{Name: "\"Ü\" " + w.mark, Email: w.address("reply")}}, To: []mailaddr.Address{{Name: "To", Email: w.address("to")}},
			Cc: []mailaddr.Address{{Email: w.address("cc1")}}, Date: at(-5), Rewritten: true,
			Forwarded: ledger.Forwarded{UserID: w.user.ID, From: mailaddr.Address{Name: "Eve", Email: w.address("eve")},
				To: []mailaddr.Address{{Email: w.address("to")}}, Subject: "Fw " + w.mark, Date: at(-6), MessageID: "f@" + w.mark},
		},
		Threading: helpdesk.Threading{Rule: "references", Blocked: w.mark + ".example", Matched: "r2@" + w.mark, Token: 1 << 40, References: 3, Known: 2,
			Refused:     []helpdesk.RefusedThread{{ConversationID: c.ID, Reason: "no participant " + w.mark}},
			ForwardedBy: w.user.ID, NotForwarded: "not " + w.mark},
		At: at(-3), ReceivedAt: at(-2), CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) authentication(source string) ledger.Authentication {
	return ledger.Authentication{
		Source: source, Server: "mx." + w.mark, SPF: ledger.AuthCheck{Result: "pass", Domain: w.mark},
		DKIM:  []ledger.AuthCheck{{Result: "fail", Domain: "ü." + w.mark}, {Result: "none"}},
		DMARC: ledger.AuthPolicy{Result: "pass", Domain: w.mark, Policy: "reject"}, FromAligned: true, FromGuessed: true, Relayed: true,
	}
}

func (w *world) newAnswer(c helpdesk.Conversation) helpdesk.Interaction {
	return helpdesk.Interaction{ConversationID: c.ID, Type: helpdesk.TypeUser, Status: helpdesk.StatusPosted, Body: "<p>Re " + w.mark + "</p>", Ending: helpdesk.Ending{Signature: "<p>" + w.mark + "</p>", Quotes: []int64{3, 1}, Files: []int64{2}},
		UserID: w.user.ID, PostedByID: w.user.ID, To: []string{w.address("grace")}, Bcc: []string{w.address("bcc")}, PostedAt: at(3), SendAt: at(3), SendStartedAt: at(4),
		MessageID: strings.ToLower(rand.Text()) + "@" + w.mark, At: at(-3), CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newAttachment(i helpdesk.Interaction, name string) helpdesk.Attachment {
	return helpdesk.Attachment{InteractionID: i.ID, ConversationID: i.ConversationID, Filename: w.mark + name, ContentType: "application/pdf",
		ContentID: "cid@" + w.mark, Size: 1 << 40, IsInline: true, BlobKey: "a/" + w.mark + "/" + name, CreatedAt: at(1)}
}

func (w *world) newDelivery(i helpdesk.Interaction) sending.Delivery {
	return sending.Delivery{InteractionID: i.ID, Address: "A." + w.address("grace"), AddressKey: w.address("grace"), Field: "to",
		State: sending.Sent, Attempts: 2, Code: 451, EnhancedCode: "4.7.1", Response: "greylisted " + w.mark, MessageID: "relay@" + w.mark, NextAttemptAt: at(9),
		HeldBy: 42, HeldUntil: at(8), CreatedAt: base, UpdatedAt: at(1)}
}

func (w *world) newMail(position string) ledger.Mail {
	return ledger.Mail{MailboxID: w.mailbox.ID, Source: "imap", Position: "INBOX/7/" + position + "/" + w.mark, State: ledger.Received,
		Reason: "none " + w.mark, UserID: w.user.ID, Note: "note " + w.mark, Partial: true, Deaths: 1, RawKey: "raw/" + w.mark + "/" + position, Size: 1 << 33, MessageID: "m" + position + "@" + w.mark,
		Head:     ledger.Head{Subject: "subject " + w.mark, From: mailaddr.Address{Name: "name " + w.mark, Email: "from@" + w.mark}},
		Identity: []byte("identity\x00\xff" + position + w.mark), Authentication: w.authentication("intake"), DeliveredAt: at(-3), ReceivedAt: base, UpdatedAt: at(1)}
}

// in reads the whole account.
func (w *world) in() helpdesk.Reader { return w.Store.Within(w.scope) }

// tx runs a transaction that must succeed.
func (w *world) tx(t *testing.T, fn txFunc) {
	t.Helper()
	if err := w.Store.InTx(t.Context(), w.scope, fn); err != nil {
		t.Fatal(err)
	}
}

// try runs a transaction in the account and returns its error.
func (w *world) try(t *testing.T, fn txFunc) error {
	t.Helper()
	return w.Store.InTx(t.Context(), w.scope, fn)
}

// content is everything that a scope can read.
type content struct {
	Account       identity.Account
	Roles         []identity.Role
	Memberships   []identity.Membership
	Mailboxes     []helpdesk.Mailbox
	Statuses      []ledger.FetchStatus
	Cursors       []mailserver.Cursor
	Customers     []helpdesk.Customer
	Stats         []helpdesk.CustomerStats
	Conversations []helpdesk.Conversation
	Interactions  []helpdesk.Interaction
	Threads       [][]helpdesk.MessageRef
	Deliveries    []sending.Delivery
	Attachments   []helpdesk.Attachment
	Mails         []ledger.Mail
	Participant   bool
	Domains       []sending.Domain
	PGPKeys       []helpdesk.PGPKey
	Tags          []helpdesk.Tag
	Fields        []helpdesk.Field
	Values        []helpdesk.FieldValue // of conversations
	Traits        []helpdesk.FieldValue // of customers
	Facts         []helpdesk.FieldValue // of companies
	Teams         []helpdesk.Team
	Companies     []helpdesk.Company
	CompanyKeys   []helpdesk.CompanyKey
	Views         []helpdesk.View
	Marks         []helpdesk.Marks // of the first member
	Moves         []helpdesk.Move
	Invitations   []identity.Invitation
	JoinRules     []identity.JoinRule
	Suppressions  []sending.Suppression
	PortalKeys    []helpdesk.PortalKey
	Audit         []helpdesk.AuditEntry
	Buried        []storage.FailedJob
	Webhooks      []subscription.Webhook
	Notifications []helpdesk.Notification // of the first member
	Followers     []helpdesk.Follower
	Choices       []helpdesk.NotifyChoices
	Hooked        []subscription.WebhookDelivery
}

// content reads everything in the account.
func (w *world) content(t *testing.T) content {
	t.Helper()
	c, err := readAll(t.Context(), w.in(), w.address("grace"))
	ok(t, err)
	return c
}

// readAll reads everything in r, and whether participant takes part in the first conversation.
func readAll(ctx context.Context, r helpdesk.Reader, participant string) (c content, err error) {
	note := func(what string, e error) {
		if e != nil && err == nil {
			err = fmt.Errorf("%s: %w", what, e)
		}
	}
	var e error
	c.Account, e = r.Account(ctx)
	note("Account", e)
	c.Roles, e = helpdesk.Nouns().Roles.Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	note("Roles", e)
	c.Memberships, e = r.Memberships().List(ctx, storage.NoFilter{}, all())
	note("Memberships", e)
	c.Mailboxes, e = r.Mailboxes().List(ctx, storage.NoFilter{}, all())
	note("Mailboxes", e)
	for _, m := range c.Mailboxes {
		status, e := r.FetchStatus(ctx, m.ID)
		note("FetchStatus", e)
		cursor, e := r.FetchCursor(ctx, m.ID, "INBOX")
		note("FetchCursor", e)
		c.Statuses, c.Cursors = append(c.Statuses, status), append(c.Cursors, cursor)
	}
	c.Customers, e = r.Customers(ctx, helpdesk.CustomerFilter{}, all())
	note("Customers", e)
	for _, customer := range c.Customers {
		stats, e := r.CustomerStats(ctx, customer.ID)
		note("CustomerStats", e)
		c.Stats = append(c.Stats, stats)
	}
	c.Conversations, e = r.Conversations().List(ctx, helpdesk.ConversationOrder{ConversationFilter: helpdesk.ConversationFilter{}, Sort: helpdesk.ByNumber}, all())
	note("Conversations", e)
	for n, conversation := range c.Conversations {
		interactions, e := r.Interactions().List(ctx, helpdesk.InteractionFilter{ConversationID: conversation.ID}, all())
		note("Interactions", e)
		thread, e := r.Thread(ctx, conversation.ID, 10)
		note("Thread", e)
		c.Interactions, c.Threads = append(c.Interactions, interactions...), append(c.Threads, thread)
		if n == 0 {
			c.Participant, e = r.Participant(ctx, conversation.ID, []string{participant})
			note("Participant", e)
		}
	}
	of := ids(c.Interactions, func(i helpdesk.Interaction) int64 { return i.ID })
	c.Deliveries, e = r.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: of}, storage.Seek{Limit: storage.NoLimit})
	note("Deliveries", e)
	c.Attachments, e = r.Attachments().List(ctx, helpdesk.AttachmentFilter{InteractionIDs: of}, storage.Seek{Limit: storage.NoLimit})
	note("Attachments", e)
	c.Moves, e = r.Moves(ctx, of)
	note("Moves", e)
	c.Mails, e = r.InboundMails(ctx, ledger.Filter{}, all())
	note("InboundMails", e)
	c.readMore(ctx, r, note)
	return c, err
}

// readMore reads the rows other than mail.
func (c *content) readMore(ctx context.Context, r helpdesk.Reader, note func(what string, e error)) {
	var e error
	c.Domains, e = helpdesk.Nouns().Domains.Reader(r).List(ctx, storage.NoFilter{}, all())
	note("Domains", e)
	var emails []int64
	for _, customer := range c.Customers {
		emails = append(emails, ids(customer.Emails, func(e helpdesk.CustomerEmail) int64 { return e.ID })...)
	}
	c.PGPKeys, e = helpdesk.Nouns().PGPKeys.Reader(r).List(ctx, helpdesk.PGPKeyFilter{CustomerEmailIDs: emails}, all())
	note("PGPKeys", e)
	c.Tags, e = helpdesk.Nouns().Tags.Reader(r).List(ctx, storage.NoFilter{}, all())
	note("Tags", e)
	c.Fields, e = helpdesk.Nouns().Fields.Reader(r).List(ctx, helpdesk.FieldFilter{}, all())
	note("Fields", e)
	c.Values, e = r.FieldValues(ctx, helpdesk.FieldOfConversation, ids(c.Conversations, conversationID))
	note("FieldValues", e)
	c.Traits, e = r.FieldValues(ctx, helpdesk.FieldOfCustomer, ids(c.Customers, func(c helpdesk.Customer) int64 { return c.ID }))
	note("FieldValues", e)
	c.Teams, e = helpdesk.Nouns().Teams.Reader(r).List(ctx, storage.NoFilter{}, all())
	note("Teams", e)
	c.Companies, e = helpdesk.Nouns().Companies.Reader(r).List(ctx, helpdesk.CompanyFilter{}, all())
	note("Companies", e)
	c.Facts, e = r.FieldValues(ctx, helpdesk.FieldOfCompany, ids(c.Companies, func(c helpdesk.Company) int64 { return c.ID }))
	note("FieldValues", e)
	c.CompanyKeys, e = helpdesk.Nouns().CompanyKeys.Reader(r).List(ctx, helpdesk.CompanyKeyFilter{}, all())
	note("CompanyKeys", e)
	c.Views, e = helpdesk.Nouns().Views.Reader(r).List(ctx, helpdesk.ViewReader{}, all())
	note("Views", e)
	of := ids(c.Conversations, conversationID)
	if len(c.Memberships) > 0 {
		c.Marks, e = r.Marks(ctx, helpdesk.MarksQuery{ConversationIDs: of, UnreadBy: c.Memberships[0].UserID, Tags: true, Scheduled: true})
		note("Marks", e)
		c.Notifications, e = r.Notifications().List(ctx, helpdesk.NotificationFilter{UserID: c.Memberships[0].UserID}, all())
		note("Notifications", e)
	}
	c.Followers, e = r.Followers(ctx, of)
	note("Followers", e)
	c.Choices, e = r.NotifyChoices(ctx, nil)
	note("NotifyChoices", e)
	c.Invitations, e = helpdesk.Nouns().Invitations.Reader(r).List(ctx, identity.InvitationFilter{}, all())
	note("Invitations", e)
	c.JoinRules, e = helpdesk.Nouns().JoinRules.Reader(r).List(ctx, identity.JoinRuleFilter{}, all())
	note("JoinRules", e)
	c.Suppressions, e = helpdesk.Nouns().Suppressions.Reader(r).List(ctx, sending.SuppressionFilter{}, all())
	note("Suppressions", e)
	c.PortalKeys, e = helpdesk.Nouns().PortalKeys.Reader(r).List(ctx, storage.NoFilter{}, all())
	note("PortalKeys", e)
	c.Audit, e = r.AuditLog(ctx, helpdesk.AuditFilter{}, all())
	note("AuditLog", e)
	c.Buried, e = r.FailedJobs(ctx, helpdesk.FailedJobFilter{}, all())
	note("FailedJobs", e)
	c.Webhooks, e = helpdesk.Nouns().Webhooks.Reader(r).List(ctx, storage.NoFilter{}, all())
	note("Webhooks", e)
	for _, w := range c.Webhooks {
		hooked, e := r.WebhookDeliveries().List(ctx, subscription.WebhookDeliveryFilter{WebhookID: w.ID}, all())
		note("WebhookDeliveries", e)
		c.Hooked = append(c.Hooked, hooked...)
	}
}

// log reads the account's events.
func (w *world) log(t *testing.T) []storage.Event {
	t.Helper()
	events, err := w.Events.Events(t.Context(), w.account.ID, 0, 10000)
	ok(t, err)
	return events
}
