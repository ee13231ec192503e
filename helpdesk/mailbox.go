package helpdesk

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// Mailbox is an email address that customers write to.
type Mailbox struct {
	ID            int64
	AccountID     int64
	Name          string
	Email         string // sender address of all replies; may be empty until set
	EmailKey      string // normalised Email, "" when empty; unique in the account
	From          string // sender's display name with the placeholders of FromPlaceholders
	InternalLocal string // local part of the internal address; unique over all accounts
	Inbound       ledger.Inbound
	Outbound      sending.Outbound
	// ReplyAddress selects the address that replies are directed to. Stores keep the configured value, "" if none. The service
	// returns the effective one: for a forwarded mailbox ReplyIntake, for others ReplyPlain until Probe shows that
	// ReplySubaddress works.
	ReplyAddress ReplyAddress
	Probe        AddressProbe
	Signature    string      // appended to replies, below the member's own: sanitized HTML with placeholders
	Quotes       QuotePolicy // how much to quote below replies
	// FormFields are the keys of the fields of conversations that contact forms ask for, in order. Those that customers no longer
	// see are not asked for, see [Service.FormFields].
	FormFields []string
	IsDefault  bool // set by the service; stores ignore it, see Account.DefaultMailboxID
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// InboundInput sets how a mailbox's mail is fetched.
type InboundInput struct {
	Type ledger.InboundType // required; the rest only for IMAP and POP3, where all but Folders is required

	Host     string
	Port     int
	Username string
	// Password may be absent in an update that keeps Host and Username; the stored one is then kept.
	Password            storage.Opt[string]
	Encryption          mailserver.Encryption
	ValidateCertificate storage.Opt[bool]
	Folders             []string

	// Auth defaults to AuthPassword. If empty in an update without a password, it is unchanged.
	Auth  ledger.InboundAuth
	OAuth OAuthInput // for AuthOAuth2
	// ImportSince skips messages that the server received before that day; absent in an update, it is unchanged. IMAP only,
	// because POP3 has no dates.
	ImportSince storage.Opt[time.Time]
}

// OAuthInput sets how access tokens are obtained.
type OAuthInput struct {
	ClientID string // required
	TokenURL string // required: https, or http on this machine
	Scope    string
	// ClientSecret may be empty, since not every client has one. RefreshToken may be absent in an update that keeps the
	// servers, the user and the client; both secrets are then kept.
	ClientSecret storage.Opt[string]
	RefreshToken storage.Opt[string]
}

// MailboxInput creates or changes a mailbox. Absent fields are unchanged, or empty in a new mailbox. An absent Inbound means
// FWD in a new mailbox.
type MailboxInput struct {
	Name    storage.Opt[string] // at most 200 characters; empty: the address
	Email   storage.Opt[string]
	From    storage.Opt[string] // at most 200 characters, with the placeholders of FromPlaceholders; empty: the mailbox's name
	Inbound storage.Opt[InboundInput]
	// Outbound null or absent in a new mailbox means the server's relay.
	Outbound storage.Opt[OutboundInput]
	// ReplyAddress selects the address that replies are directed to. Null selects one known to work, see [Mailbox].
	ReplyAddress storage.Opt[ReplyAddress]
	// Signature is HTML or text with the placeholders of [SignaturePlaceholders], at most 16 KiB. Empty means no signature.
	Signature storage.Opt[string]
	// Quotes defaults to QuoteNone.
	Quotes storage.Opt[QuotePolicy]
	// FormFields are keys of fields of conversations that customers see, at most [MaxFormFields]; null: none.
	FormFields storage.Opt[[]string]
	// IsDefault true makes the mailbox the default for conversations that name none. False, on the current default, makes the
	// account's oldest mailbox the default again.
	IsDefault storage.Opt[bool]
}

// Mailboxes are the addresses that the account receives and sends mail with.
type Mailboxes struct{ *desk }

// Mailboxes returns the handle of mailboxes.
func (d *Desk) Mailboxes() Mailboxes { return Mailboxes{&d.desk} }

// Create creates a mailbox. It needs mailboxes.create, and mailboxes.connection to set Inbound to anything but
// FWD or Outbound to anything but the server's relay.
// An address that another mailbox has is an Invalid fault on email.
func (d Mailboxes) Create(ctx context.Context, in MailboxInput) (Mailbox, error) {
	begin, err := d.guard.Write(identity.MailboxesCreate)
	if err != nil {
		return Mailbox{}, err
	}
	if err := d.reachesAll(); err != nil {
		return Mailbox{}, err
	}
	now := d.svc.now()
	m := Mailbox{
		AccountID: d.scope.AccountID, InternalLocal: "mb-" + strings.ToLower(rand.Text()[:16]),
		Inbound: ledger.Inbound{Type: ledger.InboundForward}, Outbound: sending.Outbound{Type: sending.OutboundServer}, CreatedAt: now, UpdatedAt: now,
	}
	if err := d.apply(&m, in); err != nil {
		return Mailbox{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := checkFormFields(ctx, tx, m.FormFields); err != nil {
			return err
		}
		if err := tx.Mailboxes().Insert(ctx, &m); err != nil {
			return err
		}
		if err := d.chooseDefault(ctx, tx, &m, in.IsDefault); err != nil {
			return err
		}
		return d.emit(ctx, tx, "mailbox.created", m.ID, m.ID)
	})
	if err != nil {
		return Mailbox{}, takenField(err, UniqueMailboxEmail, "email")
	}
	return d.shown(m), nil
}

// Update changes a mailbox. It needs mailboxes.update, and mailboxes.connection to set Inbound or Outbound.
func (d Mailboxes) Update(ctx context.Context, id int64, in MailboxInput) (Mailbox, error) {
	begin, err := d.guard.Write(identity.MailboxesUpdate)
	if err != nil {
		return Mailbox{}, err
	}
	var m Mailbox
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if m, err = tx.Mailboxes().Lock(ctx, id); err != nil {
			return err
		}
		old := m
		if err := d.apply(&m, in); err != nil {
			return err
		}
		if in.FormFields.IsSet() {
			if err := checkFormFields(ctx, tx, m.FormFields); err != nil {
				return err
			}
		}
		m.UpdatedAt = d.svc.now()
		if err := tx.Mailboxes().Update(ctx, &m); err != nil {
			return err
		}
		if err := d.chooseDefault(ctx, tx, &m, in.IsDefault); err != nil {
			return err
		}
		if in.Outbound.IsSet() && !in.Inbound.IsSet() {
			if err := d.emitChanged(ctx, tx, "mailbox.connection_updated", m.ID, m.ID, ofConnection(old, m)); err != nil {
				return err
			}
		}
		if in.Inbound.IsSet() {
			if err := unparked(ctx, tx, m.ID); err != nil {
				return err
			}
			if err := d.emitChanged(ctx, tx, "mailbox.connection_updated", m.ID, m.ID, ofConnection(old, m)); err != nil {
				return err
			}
		}
		return d.emitChanged(ctx, tx, "mailbox.updated", m.ID, m.ID, ofMailbox(old, m))
	})
	if err != nil {
		return Mailbox{}, takenField(err, UniqueMailboxEmail, "email")
	}
	return d.shown(m), nil
}

// unparked resumes fetching of a mailbox whose connection changed. The caller has locked it in tx.
func unparked(ctx context.Context, tx Tx, id int64) error {
	status, err := tx.FetchStatus(ctx, id)
	if err != nil || status.Worker == "" && len(status.Deaths) == 0 && status.ParkedAt.IsZero() {
		return err
	}
	status.Worker = "" // it used the previous connection
	unpark(&status)
	return tx.SaveFetchStatus(ctx, status)
}

// chooseDefault changes the account's default mailbox as requested, and sets m.IsDefault.
func (d *desk) chooseDefault(ctx context.Context, tx Tx, m *Mailbox, choice storage.Opt[bool]) error {
	account, err := tx.Account(ctx)
	if err != nil {
		return err
	}
	chosen, old := account.DefaultMailboxID, account.DefaultMailboxID
	if wanted, given := choice.Get(); given {
		if wanted {
			if err := d.reachesAll(); err != nil && chosen != m.ID {
				return err // conversations that name no mailbox would use this one
			}
			chosen = m.ID
		} else if chosen == m.ID {
			chosen = 0
		}
	}
	if chosen != old {
		if err := tx.LockAccount(ctx); err != nil { // others may be changing other fields
			return err
		}
		if account, err = tx.Account(ctx); err != nil {
			return err
		}
		account.DefaultMailboxID = chosen
		if err := tx.UpdateAccount(ctx, &account); err != nil {
			return err
		}
	}
	def, err := defaultMailbox(ctx, tx.Reader(), account)
	m.IsDefault = def == m.ID
	return err
}

// defaultMailbox returns the configured default mailbox, or the oldest visible one; 0 if there is none.
func defaultMailbox(ctx context.Context, r Reader, account identity.Account) (int64, error) {
	if account.DefaultMailboxID != 0 {
		return account.DefaultMailboxID, nil
	}
	oldest, err := r.Mailboxes().List(ctx, storage.NoFilter{}, storage.Seek{Limit: 1})
	if err != nil || len(oldest) == 0 {
		return 0, err
	}
	return oldest[0].ID, nil
}

// withDefault sets IsDefault on the default mailbox in a list.
func (d *desk) withDefault(ctx context.Context, r Reader, all []Mailbox, err error) ([]Mailbox, error) {
	if err != nil || len(all) == 0 {
		return all, err
	}
	account, err := r.Account(ctx)
	if err != nil {
		return nil, err
	}
	def, err := defaultMailbox(ctx, r, account)
	for i := range all {
		all[i] = d.shown(all[i])
		all[i].IsDefault = all[i].ID == def
	}
	return all, err
}

// apply validates in and copies it into m.
func (d *desk) apply(m *Mailbox, in MailboxInput) error {
	var problems fault.Collector
	old := *m
	m.Email = plain.Line(in.Email.Or(m.Email))
	m.EmailKey = mailaddr.Key(m.Email)
	m.Name = plain.Line(in.Name.Or(m.Name))
	m.From = plain.Line(in.From.Or(m.From))
	problems.Check(m.Email == "" || mailaddr.Valid(m.Email), "email", "is not an email address")
	namedIfGiven(&problems, "name", m.Name, 200)
	namedIfGiven(&problems, "from", m.From, 200)
	if m.Name == "" {
		m.Name = m.Email
	}
	if in.Inbound.IsNull() {
		in.Inbound = storage.Some(InboundInput{Type: ledger.InboundForward})
	}
	if inbound, given := in.Inbound.Get(); given {
		if inbound.Type != m.Inbound.Type || inbound.Type != ledger.InboundForward {
			if _, err := d.guard.Write(identity.MailboxesConnection); err != nil {
				return err
			}
		}
		if err := d.applyInbound(&problems, m, inbound); err != nil {
			return err
		}
	}
	if in.Outbound.IsNull() {
		in.Outbound = storage.Some(OutboundInput{Type: sending.OutboundServer})
	}
	if outbound, given := in.Outbound.Get(); given {
		if outbound.Type != sending.OutboundServer || m.Outbound.Type == sending.OutboundSMTP {
			if _, err := d.guard.Write(identity.MailboxesConnection); err != nil {
				return err
			}
		}
		if err := d.applyOutbound(&problems, m, outbound); err != nil {
			return err
		}
	}
	if !old.sameRoute(*m) {
		m.Probe = AddressProbe{} // its result belongs to the previous server or address
	}
	m.ReplyAddress = in.ReplyAddress.Or(m.ReplyAddress)
	if in.ReplyAddress.IsNull() {
		m.ReplyAddress = ""
	}
	switch m.ReplyAddress {
	case "", ReplyPlain, ReplySubaddress, ReplyIntake:
	default:
		problems.Add("reply_address", "must be plain, subaddress or intake")
	}
	if in.Signature.IsSet() || in.Signature.IsNull() {
		m.Signature = cleanSignature(&problems, in.Signature.Or(""))
	}
	if m.Quotes = in.Quotes.Or(m.Quotes); in.Quotes.IsNull() || m.Quotes == "" {
		m.Quotes = QuoteNone
	}
	switch m.Quotes {
	case QuoteNone, QuoteLast, QuoteAll:
	default:
		problems.Add("quotes", "must be none, last or all")
	}
	m.applyFormFields(&problems, in.FormFields)
	return problems.Err()
}

// sameRoute reports whether mail to the address reaches both mailboxes in the same way.
func (m Mailbox) sameRoute(other Mailbox) bool {
	return m.EmailKey == other.EmailKey && sameLogin(m.Inbound, other.Inbound)
}

// shown returns the mailbox without what the caller may not view.
func (d *desk) shown(m Mailbox) Mailbox {
	m.ReplyAddress = d.svc.repliesTo(m)
	if !d.guard.Allows(identity.MailboxesConnection) {
		m.Inbound, m.Outbound = ledger.Inbound{}, sending.Outbound{}
		return m
	}
	if m.Outbound.Type == "" {
		m.Outbound.Type = sending.OutboundServer
	}
	m.Outbound.HasPassword = len(m.Outbound.SealedPassword) > 0
	m.Outbound.SealedPassword = nil
	m.Inbound.HasPassword = len(m.Inbound.SealedPassword) > 0
	m.Inbound.SealedPassword = nil
	m.Inbound.OAuth.HasRefreshToken = len(m.Inbound.OAuth.SealedSecrets) > 0
	m.Inbound.OAuth.SealedSecrets = nil
	return m
}

// InternalAddress returns the address that a mailbox's mail can be forwarded to.
func (s *Service) InternalAddress(m Mailbox) string {
	return m.InternalLocal + "@" + s.cfg.IntakeDomain
}

// InternalAddress returns the address that a mailbox's mail can be forwarded to.
func (d Mailboxes) InternalAddress(m Mailbox) string { return d.svc.InternalAddress(m) }

// Get returns a mailbox. It needs mailboxes.view; its Inbound is empty
// without mailboxes.connection.
func (d Mailboxes) Get(ctx context.Context, id int64) (Mailbox, error) {
	r, err := d.guard.Read(identity.MailboxesView)
	if err != nil {
		return Mailbox{}, err
	}
	m, err := r.Mailboxes().Get(ctx, id)
	if err != nil {
		return Mailbox{}, err
	}
	one, err := d.withDefault(ctx, r, []Mailbox{m}, nil)
	if err != nil {
		return Mailbox{}, err
	}
	return one[0], nil
}

// List lists the mailboxes that the member reaches, by id. It needs mailboxes.view.
func (d Mailboxes) List(ctx context.Context, req storage.PageRequest) (storage.Page[Mailbox], error) {
	r, err := d.guard.Read(identity.MailboxesView)
	if err != nil {
		return storage.Page[Mailbox]{}, err
	}
	return storage.List(req, false, func(m Mailbox) storage.Position { return storage.Position{ID: m.ID} },
		func(seek storage.Seek) ([]Mailbox, error) {
			all, err := r.Mailboxes().List(ctx, storage.NoFilter{}, seek)
			return d.withDefault(ctx, r, all, err)
		})
}

// ByID returns those of the given mailboxes that the member reaches. It needs mailboxes.view.
func (d Mailboxes) ByID(ctx context.Context, ids []int64) ([]Mailbox, error) {
	r, err := d.guard.Read(identity.MailboxesView)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	all, err := r.Mailboxes().ByIDs(ctx, ids)
	return d.withDefault(ctx, r, all, err)
}

// FetchStatus returns the state of fetching a mailbox. It needs mailboxes.connection.
func (d Mailboxes) FetchStatus(ctx context.Context, mailboxID int64) (ledger.FetchStatus, error) {
	r, err := d.guard.Read(identity.MailboxesConnection)
	if err != nil {
		return ledger.FetchStatus{}, err
	}
	if _, err := r.Mailboxes().Get(ctx, mailboxID); err != nil {
		return ledger.FetchStatus{}, err
	}
	status, err := r.FetchStatus(ctx, mailboxID)
	status.MailboxID = mailboxID
	return status, err
}

// Delete removes a mailbox. A mailbox that has conversations is a Conflict fault unless force is set. Force removes
// the conversations first, in several transactions if there are many, so some may be gone after an error. It needs
// mailboxes.delete, and conversations.delete to force.
func (d Mailboxes) Delete(ctx context.Context, id int64, force bool) error {
	begin, err := d.guard.WriteAlone(identity.MailboxesDelete)
	if err != nil {
		return err
	}
	if force {
		if begin, err = d.guard.WriteAlone(identity.ConversationsDelete); err != nil {
			return err
		}
	}
	begin = begin.After(func(ctx context.Context, tx Tx) error { return mayDeleteMailbox(ctx, tx, id, force) })
	err = guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) {
		if force {
			if some, err := d.deleteSome(ctx, tx, ConversationFilter{MailboxID: id}); some || err != nil {
				return some, err
			}
		}
		return tx.Mailboxes().Trim(ctx, id, pieceRows)
	})
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if force {
			if err := d.deleteAll(ctx, tx, ConversationFilter{MailboxID: id}); err != nil {
				return err
			}
		}
		if err := d.chooseDefault(ctx, tx, &Mailbox{ID: id}, storage.Some(false)); err != nil {
			return err
		}
		if err := tx.Mailboxes().Delete(ctx, id); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, purgePrefix(mailboxPrefix(d.scope.AccountID, id))...); err != nil {
			return err
		}
		return d.emit(ctx, tx, "mailbox.deleted", id, id)
	})
}

// mayDeleteMailbox locks a mailbox, and refuses one that has conversations unless they are to be deleted, too. The store would
// refuse it only after it has deleted everything else.
func mayDeleteMailbox(ctx context.Context, tx Tx, id int64, force bool) error {
	if _, err := tx.Mailboxes().Lock(ctx, id); err != nil || force {
		return err
	}
	one, err := tx.Conversations().List(ctx, ConversationOrder{ConversationFilter: ConversationFilter{MailboxID: id}, Sort: ByCreated}, storage.Seek{Limit: 1})
	if err == nil && len(one) > 0 {
		err = fault.New(fault.Conflict, "The mailbox has conversations.")
	}
	return err
}
