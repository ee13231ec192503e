package helpdesk

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Mailbox is one mail address that customers write to.
type Mailbox struct {
	ID            int64
	AccountID     int64
	Name          string
	Email         string // sender of all answers; may be empty until it is set
	EmailKey      string // normalised Email, "" when empty; unique in the account
	From          string // sender's display name with placeholders :mailbox.name and :user.name
	InternalLocal string // local part of the internal address; unique over all accounts
	Inbound       Inbound
	// ReplyAddress is where answers ask for replies to. Stores keep the one that was
	// chosen, "" if none was; what the service returns has the one that holds: of a
	// forwarded mailbox ReplyIntake, of another ReplyPlain until Probe shows that
	// ReplySubaddress works.
	ReplyAddress ReplyAddress
	Probe        AddressProbe
	Signature    string      // what answers end with, below the member's own: HTML that is safe to show, with placeholders
	Quotes       QuotePolicy // what is quoted below answers
	IsDefault    bool        // set on what the service returns; stores ignore it: see Account.DefaultMailboxID
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// InboundType says how mail reaches a mailbox.
type InboundType string

// The ways mail reaches a mailbox.
const (
	InboundForward InboundType = "FWD" // forwarded to the internal address
	InboundIMAP    InboundType = "IMAP"
	InboundPOP3    InboundType = "POP3"
)

// Encryption of a connection to a mail server.
type Encryption string

// The encryptions of the specification.
const (
	EncryptionTLS  Encryption = "TLS" // STARTTLS on a plain connection
	EncryptionSSL  Encryption = "SSL" // TLS from the first byte
	EncryptionNone Encryption = "NONE"
)

// Inbound is how a mailbox's mail is fetched. The fields after Type mean nothing
// for InboundForward. A [Desk] returns the zero value to who may not see it.
type Inbound struct {
	Type                InboundType
	Host                string
	Port                int
	Username            string
	SealedPassword      []byte // never leaves the service
	HasPassword         bool   // set on what the service returns; stores ignore it
	Encryption          Encryption
	ValidateCertificate bool
	Folders             []string // empty: INBOX

	Auth  InboundAuth
	OAuth OAuth // of AuthOAuth2
	// ImportSince leaves mail alone that the server received before that day, until it
	// is asked for with [Desk.Backfill]; zero: all is imported. IMAP only.
	ImportSince time.Time
	// Epoch counts the changes of the server or its user: positions and cursors of one
	// mean nothing to another.
	Epoch int
}

// InboundAuth is how a mailbox signs in to its server.
type InboundAuth string

// The ways to sign in.
const (
	AuthPassword InboundAuth = "PASSWORD" // the zero value means it too
	AuthOAuth2   InboundAuth = "OAUTH2"   // an access token, by OAUTHBEARER (RFC 7628) or XOAUTH2
)

// OAuth says how to get access tokens for a mail server with a refresh token (RFC
// 6749 section 6).
type OAuth struct {
	ClientID        string
	TokenURL        string
	Scope           string // separated by spaces; empty: what was granted
	SealedSecrets   []byte // client secret and refresh token; never leaves the service
	HasRefreshToken bool   // set on what the service returns; stores ignore it
}

// FetchCursor is how far a folder was taken (RFC 9051 section 2.3.1).
type FetchCursor struct{ UIDValidity, UID uint32 }

// FetchStatus tells how fetching a mailbox goes.
type FetchStatus struct {
	MailboxID     int64
	Connected     bool
	LastSuccessAt time.Time
	LastErrorAt   time.Time
	LastError     string // what failed, safe to show to who may see the connection
	// NeedsReauth: the server or the token endpoint refuses the password or the grant.
	// Nothing is fetched until there is another one.
	NeedsReauth bool
	// Worker is the process that is at work on the mailbox in a way that may end it, see
	// [Intake.BeginFetch]; "": none is. Deaths are when processes died so, the last first,
	// as far as they still count; Fruitless of them came in a row, with nothing fetched in
	// between.
	Worker    string
	Deaths    []time.Time
	Fruitless int
	// ParkedAt is when the mailbox was parked because too many processes died; zero: it is
	// not. It is tried again after a minute, and twice as late with each death that follows,
	// up to a day. A fetch that works ends that, and so does a connection that works when
	// [Desk.TestMailbox] tries it, or another one.
	ParkedAt  time.Time
	UpdatedAt time.Time
}

// InboundInput sets how a mailbox's mail is fetched.
type InboundInput struct {
	Type InboundType // required; the rest only for IMAP and POP3, where all but Folders is required

	Host     string
	Port     int
	Username string
	// Password may be absent in an update that leaves Host and Username as they
	// are: the stored one is kept.
	Password            storage.Opt[string]
	Encryption          Encryption
	ValidateCertificate storage.Opt[bool]
	Folders             []string

	// Auth is AuthPassword unless it is given; empty in an update without a password,
	// it stays as it is.
	Auth  InboundAuth
	OAuth OAuthInput // of AuthOAuth2
	// ImportSince leaves mail alone that the server received before that day; absent in
	// an update, it stays as it is. IMAP only: POP3 knows no dates.
	ImportSince storage.Opt[time.Time]
}

// OAuthInput sets how access tokens are got.
type OAuthInput struct {
	ClientID string // required
	TokenURL string // required: https, or http on this machine
	Scope    string
	// ClientSecret may be empty: not every client has one. RefreshToken may be absent in
	// an update that leaves the servers, the user and the client as they are: both
	// secrets are kept then.
	ClientSecret storage.Opt[string]
	RefreshToken storage.Opt[string]
}

// MailboxInput makes or changes a mailbox. Absent fields stay as they are, or are
// empty in a new mailbox; an absent Inbound is FWD in a new mailbox.
type MailboxInput struct {
	Name    storage.Opt[string] // at most 200 characters; empty: the address
	Email   storage.Opt[string]
	From    storage.Opt[string] // at most 200 characters; empty: the mailbox's name
	Inbound storage.Opt[InboundInput]
	// ReplyAddress chooses where answers ask for replies to; null: what is known to work,
	// see [Mailbox].
	ReplyAddress storage.Opt[ReplyAddress]
	// Signature is HTML or text with the placeholders of [SignaturePlaceholders], at most
	// 16 KiB; empty: there is none.
	Signature storage.Opt[string]
	// Quotes is QuoteNone unless it is given.
	Quotes storage.Opt[QuotePolicy]
	// IsDefault makes the mailbox that of conversations that name none, in place of
	// the one before. False leaves the choice to the account's oldest mailbox again, if
	// it was this one.
	IsDefault storage.Opt[bool]
}

// FetchState is how fetching a mailbox goes, in a word.
type FetchState string

// The states of fetching.
const (
	FetchWaiting    FetchState = "waiting"    // nothing has tried to fetch it since it was made
	FetchConnecting FetchState = "connecting" // it is tried, and the server has not answered yet
	FetchConnected  FetchState = "connected"
	FetchFailing    FetchState = "failing" // LastError says why; it is tried again
	FetchParked     FetchState = "parked"  // LastError says why; it is tried again ever more rarely
)

// State sums the status up.
func (s FetchStatus) State() FetchState {
	switch {
	case !s.ParkedAt.IsZero():
		return FetchParked
	case s.Connected:
		return FetchConnected
	case s.LastErrorAt.After(s.LastSuccessAt):
		return FetchFailing
	case s.UpdatedAt.IsZero():
		return FetchWaiting
	}
	return FetchConnecting
}

// CreateMailbox makes a mailbox. It needs mailboxes.create, and
// mailboxes.connection to set Inbound to anything but FWD. An address that another
// mailbox has is an Invalid fault on email.
func (d *Desk) CreateMailbox(ctx context.Context, in MailboxInput) (Mailbox, error) {
	begin, err := d.guard.Write(MailboxesCreate)
	if err != nil {
		return Mailbox{}, err
	}
	if err := d.reachesAll(); err != nil {
		return Mailbox{}, err
	}
	now := d.svc.now()
	m := Mailbox{
		AccountID: d.scope.AccountID, InternalLocal: "mb-" + strings.ToLower(rand.Text()[:16]),
		Inbound: Inbound{Type: InboundForward}, CreatedAt: now, UpdatedAt: now,
	}
	if err := d.apply(&m, in); err != nil {
		return Mailbox{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
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

// UpdateMailbox changes a mailbox. It needs mailboxes.update, and
// mailboxes.connection to set Inbound.
func (d *Desk) UpdateMailbox(ctx context.Context, id int64, in MailboxInput) (Mailbox, error) {
	begin, err := d.guard.Write(MailboxesUpdate)
	if err != nil {
		return Mailbox{}, err
	}
	var m Mailbox
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if m, err = tx.Mailboxes().Lock(ctx, id); err != nil {
			return err
		}
		if err := d.apply(&m, in); err != nil {
			return err
		}
		m.UpdatedAt = d.svc.now()
		if err := tx.Mailboxes().Update(ctx, &m); err != nil {
			return err
		}
		if err := d.chooseDefault(ctx, tx, &m, in.IsDefault); err != nil {
			return err
		}
		if in.Inbound.IsSet() {
			if err := unparked(ctx, tx, m.ID); err != nil {
				return err
			}
			if err := d.emit(ctx, tx, "mailbox.connection_updated", m.ID, m.ID); err != nil {
				return err
			}
		}
		return d.emit(ctx, tx, "mailbox.updated", m.ID, m.ID)
	})
	if err != nil {
		return Mailbox{}, takenField(err, UniqueMailboxEmail, "email")
	}
	return d.shown(m), nil
}

// unparked has a mailbox fetched again that has another connection now. tx has locked it.
func unparked(ctx context.Context, tx Tx, id int64) error {
	status, err := tx.FetchStatus(ctx, id)
	if err != nil || status.Worker == "" && len(status.Deaths) == 0 && status.ParkedAt.IsZero() {
		return err
	}
	status.Worker = "" // it was at work with the connection of before
	status.unpark()
	return tx.SaveFetchStatus(ctx, status)
}

// chooseDefault changes the account's default mailbox as asked, and tells m whether
// it is the one.
func (d *Desk) chooseDefault(ctx context.Context, tx Tx, m *Mailbox, choice storage.Opt[bool]) error {
	account, err := tx.Account(ctx)
	if err != nil {
		return err
	}
	chosen, old := account.DefaultMailboxID, account.DefaultMailboxID
	if wanted, given := choice.Get(); given {
		if wanted {
			if err := d.reachesAll(); err != nil && chosen != m.ID {
				return err // conversations that name no mailbox would come to this one
			}
			chosen = m.ID
		} else if chosen == m.ID {
			chosen = 0
		}
	}
	if chosen != old {
		account.DefaultMailboxID = chosen
		if err := tx.UpdateAccount(ctx, &account); err != nil {
			return err
		}
	}
	def, err := defaultMailbox(ctx, tx.Reader(), account)
	m.IsDefault = def == m.ID
	return err
}

// defaultMailbox is the mailbox chosen, or the oldest that can be seen; 0 when
// there is none.
func defaultMailbox(ctx context.Context, r Reader, account Account) (int64, error) {
	if account.DefaultMailboxID != 0 {
		return account.DefaultMailboxID, nil
	}
	oldest, err := r.Mailboxes().List(ctx, storage.NoFilter{}, storage.Seek{Limit: 1})
	if err != nil || len(oldest) == 0 {
		return 0, err
	}
	return oldest[0].ID, nil
}

// withDefault marks the default mailbox among some.
func (d *Desk) withDefault(ctx context.Context, r Reader, all []Mailbox, err error) ([]Mailbox, error) {
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

// apply validates in and puts it into m.
func (d *Desk) apply(m *Mailbox, in MailboxInput) error {
	var problems fault.Collector
	old := *m
	m.Email = cleanLine(in.Email.Or(m.Email))
	m.EmailKey = EmailKey(m.Email)
	m.Name = cleanLine(in.Name.Or(m.Name))
	m.From = cleanLine(in.From.Or(m.From))
	problems.Check(m.Email == "" || ValidEmail(m.Email), "email", "is no mail address")
	bounded(&problems, "name", m.Name, 200)
	bounded(&problems, "from", m.From, 200)
	if m.Name == "" {
		m.Name = m.Email
	}
	if in.Inbound.IsNull() {
		in.Inbound = storage.Some(InboundInput{Type: InboundForward})
	}
	if inbound, given := in.Inbound.Get(); given {
		if inbound.Type != m.Inbound.Type || inbound.Type != InboundForward {
			if _, err := d.guard.Write(MailboxesConnection); err != nil {
				return err
			}
		}
		if err := d.applyInbound(&problems, m, inbound); err != nil {
			return err
		}
	}
	if !old.sameRoute(*m) {
		m.Probe = AddressProbe{} // what it found out was of another server, or address
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
	return problems.Err()
}

// sameRoute tells whether mail to the address takes the same way to the mailbox.
func (m Mailbox) sameRoute(other Mailbox) bool {
	return m.EmailKey == other.EmailKey && m.Inbound.sameLogin(other.Inbound)
}

// shown is what the caller may see of a mailbox.
func (d *Desk) shown(m Mailbox) Mailbox {
	m.ReplyAddress = m.repliesTo(d.svc.now())
	if !d.guard.Allows(MailboxesConnection) {
		m.Inbound = Inbound{}
		return m
	}
	m.Inbound.HasPassword = len(m.Inbound.SealedPassword) > 0
	m.Inbound.SealedPassword = nil
	m.Inbound.OAuth.HasRefreshToken = len(m.Inbound.OAuth.SealedSecrets) > 0
	m.Inbound.OAuth.SealedSecrets = nil
	return m
}

// InternalAddress is where mail of a mailbox can be forwarded to.
func (s *Service) InternalAddress(m Mailbox) string {
	return m.InternalLocal + "@" + s.cfg.IntakeDomain
}

// InternalAddress is where mail of a mailbox can be forwarded to.
func (d *Desk) InternalAddress(m Mailbox) string { return d.svc.InternalAddress(m) }

// Mailbox returns a mailbox. It needs mailboxes.view; its Inbound is empty
// without mailboxes.connection.
func (d *Desk) Mailbox(ctx context.Context, id int64) (Mailbox, error) {
	r, err := d.guard.Read(MailboxesView)
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

// Mailboxes lists the mailboxes that the member reaches, by id. It needs
// mailboxes.view.
func (d *Desk) Mailboxes(ctx context.Context, req storage.PageRequest) (storage.Page[Mailbox], error) {
	r, err := d.guard.Read(MailboxesView)
	if err != nil {
		return storage.Page[Mailbox]{}, err
	}
	return storage.List(req, false, func(m Mailbox) storage.Position { return storage.Position{ID: m.ID} },
		func(seek storage.Seek) ([]Mailbox, error) {
			all, err := r.Mailboxes().List(ctx, storage.NoFilter{}, seek)
			return d.withDefault(ctx, r, all, err)
		})
}

// MailboxesByID returns those of the mailboxes that the member reaches. It needs
// mailboxes.view.
func (d *Desk) MailboxesByID(ctx context.Context, ids []int64) ([]Mailbox, error) {
	r, err := d.guard.Read(MailboxesView)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	all, err := r.Mailboxes().ByIDs(ctx, ids)
	return d.withDefault(ctx, r, all, err)
}

// FetchStatus tells how fetching a mailbox goes. It needs mailboxes.connection.
func (d *Desk) FetchStatus(ctx context.Context, mailboxID int64) (FetchStatus, error) {
	r, err := d.guard.Read(MailboxesConnection)
	if err != nil {
		return FetchStatus{}, err
	}
	if _, err := r.Mailboxes().Get(ctx, mailboxID); err != nil {
		return FetchStatus{}, err
	}
	status, err := r.FetchStatus(ctx, mailboxID)
	status.MailboxID = mailboxID
	return status, err
}

// DeleteMailbox removes a mailbox. One with conversations is a Conflict fault,
// unless force is set: then they are removed with it, before it and in pieces if they
// are many, so that some may be gone after an error. It needs mailboxes.delete, and
// conversations.delete to force.
func (d *Desk) DeleteMailbox(ctx context.Context, id int64, force bool) error {
	begin, err := d.guard.Write(MailboxesDelete)
	if err != nil {
		return err
	}
	if force {
		if begin, err = d.guard.Write(ConversationsDelete); err != nil {
			return err
		}
	}
	may := func(ctx context.Context, tx Tx) error {
		_, err := tx.Mailboxes().Lock(ctx, id)
		return err
	}
	if force {
		if err := d.deleteInPieces(ctx, begin, ConversationFilter{MailboxID: id}, may); err != nil {
			return err
		}
	}
	return begin(storage.Alone(ctx), func(ctx context.Context, tx Tx) error {
		if err := may(ctx, tx); err != nil {
			return err
		}
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
		if err := tx.Enqueue(ctx, purgePrefix(mailboxPrefix(d.scope.AccountID, id))); err != nil {
			return err
		}
		return d.emit(ctx, tx, "mailbox.deleted", id, id)
	})
}
