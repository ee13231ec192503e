package helpdesk

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// BlockedSender is an address, or a domain with its subdomains, whose mail is filed as spam. No mail is lost: it starts new
// conversations that are spam.
type BlockedSender struct {
	ID        int64
	Sender    string // as entered: ada@example.org, or example.org
	Key       string // mailaddr.Key of an address; of a domain its ASCII form after "@"; unique in the account
	UserID    int64  // who blocked it
	CreatedAt time.Time
}

// UniqueBlockedSender is the code of a store's Conflict fault for a duplicate (account, Key).
const UniqueBlockedSender = "blocked_sender"

func blockedSenderNoun() storage.Declared[BlockedSender, BlockedSenderFilter] {
	return storage.Declared[BlockedSender, BlockedSenderFilter]{
		Noun: storage.Noun[BlockedSender]{
			Name: "blocked sender",
			ID:   func(t *BlockedSender) *int64 { return &t.ID },
			Unique: []storage.Unique[BlockedSender]{
				{Code: UniqueBlockedSender, Index: "key", Fields: func(t *BlockedSender) []any { return []any{&t.Key} }},
			},
		},
		Key: "blocked_sender", Plural: "blocked_senders",
		Columns: []storage.Column[BlockedSender]{
			{Name: "sender", Field: func(t *BlockedSender) any { return &t.Sender }},
			{Name: "sender_key", Field: func(t *BlockedSender) any { return &t.Key }},
			{Name: "user_id", Field: func(t *BlockedSender) any { return &t.UserID }, Refers: "user"},
			{Name: "created_at", Field: func(t *BlockedSender) any { return &t.CreatedAt }},
		},
		Where: func(f BlockedSenderFilter) []storage.Condition { return storage.AnyOf("sender_key", f.Keys) },
	}
}

// BlockedSenderFilter narrows a list of blocked senders.
type BlockedSenderFilter struct {
	Keys []string // with any of these; empty: all
}

// IsDomain reports whether the blocked sender is a domain.
func (b BlockedSender) IsDomain() bool { return strings.HasPrefix(b.Key, "@") }

// Blocks reports whether it blocks an address.
func (b BlockedSender) Blocks(address string) bool { return slices.Contains(blockKeys(address), b.Key) }

// blockKeys returns the keys that block an address: its own, its domain's and those of parent domains.
func blockKeys(address string) []string {
	key := mailaddr.Key(address)
	_, domain, found := plain.CutLast(key, "@")
	if !found {
		return nil
	}
	keys := []string{key}
	for range 127 { // the maximum number of labels in a domain
		keys = append(keys, "@"+domain)
		if _, domain, found = strings.Cut(domain, "."); !found {
			break
		}
	}
	return keys
}

// newBlockedSender parses an address or a domain to block.
func newBlockedSender(text string) (BlockedSender, error) {
	b := BlockedSender{Sender: strings.TrimPrefix(plain.Line(text), "@")}
	if b.Sender == "" {
		return b, fault.Field("sender", "is required")
	}
	if strings.Contains(b.Sender, "@") {
		b.Key = mailaddr.Key(b.Sender)
		if !mailaddr.Valid(b.Sender) || len(b.Key) > 320 {
			return b, fault.Field("sender", "is neither an email address nor a domain")
		}
		return b, nil
	}
	domain, err := idna.Lookup.ToASCII(strings.TrimSuffix(b.Sender, "."))
	if err != nil || !strings.Contains(domain, ".") || !mailaddr.Valid("a@"+domain) {
		return b, fault.Field("sender", "is neither an email address nor a domain")
	}
	if b.Key = "@" + mailaddr.Fold(domain); isSuffix(b.Key[1:]) {
		return b, fault.Field("sender", "is a public suffix: block a domain below it")
	}
	return b, nil
}

// isSuffix reports whether a domain is a public suffix, under which anybody can register.
func isSuffix(domain string) bool {
	suffix, official := publicsuffix.PublicSuffix(domain)
	return official && suffix == domain
}

// BlockedSenders are the senders whose mail is filed as spam.
type BlockedSenders struct{ *desk }

// BlockedSenders returns the handle of blocked senders.
func (d *Desk) BlockedSenders() BlockedSenders { return BlockedSenders{&d.desk} }

// Get returns a blocked sender. It needs customers.view.
func (d BlockedSenders) Get(ctx context.Context, id int64) (BlockedSender, error) {
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return BlockedSender{}, err
	}
	return blockedSenderNoun().Reader(r).Get(ctx, id)
}

// List lists the blocked senders, newest first. A non-empty address limits the list to those that block it. It
// needs customers.view.
func (d BlockedSenders) List(ctx context.Context, address string, req storage.PageRequest) (storage.Page[BlockedSender], error) {
	var none storage.Page[BlockedSender]
	r, err := d.guard.Read(identity.CustomersView)
	if err != nil {
		return none, err
	}
	var filter BlockedSenderFilter
	if address = plain.Line(address); address != "" {
		if filter.Keys = blockKeys(plain.Cut(address, 320)); len(filter.Keys) == 0 {
			return none, nil
		}
	}
	return storage.List(req, true, func(b BlockedSender) storage.Position { return storage.Position{ID: b.ID} },
		func(seek storage.Seek) ([]BlockedSender, error) {
			return blockedSenderNoun().Reader(r).List(ctx, filter, seek)
		})
}

// Block files future mail of an address, or of a domain and its subdomains, as spam: it reopens nothing and joins only
// spam conversations. The relevant address is the one that a message is filed under. It needs customers.update and all
// mailboxes. Addresses of the account's mailboxes and members, and their domains, cannot be blocked.
func (d BlockedSenders) Block(ctx context.Context, sender string) (BlockedSender, error) {
	begin, err := d.guard.Write(identity.CustomersUpdate)
	if err != nil {
		return BlockedSender{}, err
	}
	if err := d.reachesAll(); err != nil {
		return BlockedSender{}, err
	}
	b, err := newBlockedSender(sender)
	if err != nil {
		return BlockedSender{}, err
	}
	b.UserID, b.CreatedAt = d.userID, d.svc.now()
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := d.mayBlock(ctx, tx, b); err != nil {
			return err
		}
		b.ID = 0 // the transaction may run fn again
		if err := blockedSenderNoun().Rows(tx).Insert(ctx, &b); err != nil {
			return err
		}
		return d.emit(ctx, tx, "blocked_sender.created", b.ID, 0)
	})
	return b, takenField(err, UniqueBlockedSender, "sender")
}

// mayBlock returns a fault if the block would affect the account's own mail.
func (d *desk) mayBlock(ctx context.Context, tx Tx, b BlockedSender) error {
	if b.Blocks(ledger.UnknownSender) || b.Blocks(ErasedCustomer) {
		return fault.Field("sender", "is the placeholder for mail without a sender")
	}
	own, err := d.svc.ownAddresses(ctx, tx.Reader(), d.scope.AccountID)
	if err != nil {
		return err
	}
	if !b.IsDomain() && own.receives(b.Sender) || b.Blocks("a@"+d.svc.cfg.IntakeDomain) {
		return fault.Field("sender", "is the address of a mailbox of this account")
	}
	for mailbox := range own.mailboxes {
		if b.Blocks(mailbox) {
			return fault.Field("sender", "contains the address of a mailbox of this account")
		}
	}
	var users []int64
	if err := eachRow(ctx, tx.Reader().Memberships(), func(m identity.Membership) int64 { users = append(users, m.UserID); return m.ID }); err != nil {
		return err
	}
	for some := range slices.Chunk(users, 200) {
		found, err := tx.UsersByID(ctx, some)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(found, func(u identity.User) bool { return b.Blocks(u.EmailKey) }) {
			return fault.Field("sender", "is the address of a member, or the domain of one")
		}
	}
	return nil
}

// Unblock stops filing a sender's mail as spam. Existing spam stays spam. It needs customers.update and all mailboxes.
func (d BlockedSenders) Unblock(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.CustomersUpdate)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := blockedSenderNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "blocked_sender.deleted", id, 0)
	})
}

// blocked returns the entry that blocks a message's customer address. It queries once for all messages filed together, with
// all addresses that they could be filed under.
func (shared *filingTogether) blocked(ctx context.Context, tx Tx, f *filing) (BlockedSender, error) {
	if shared.blocks == nil {
		var keys []string
		for _, one := range shared.all {
			for _, a := range speakers(&one.mail) {
				keys = append(keys, blockKeys(a.Email)...)
			}
			if one.passed != nil {
				for _, a := range append([]mailaddr.Address{one.passed.mail.From}, one.passed.mail.ReplyTo...) {
					keys = append(keys, blockKeys(a.Email)...)
				}
			}
		}
		slices.Sort(keys)
		found, err := blockedSenderNoun().Rows(tx).List(ctx, BlockedSenderFilter{Keys: append(slices.Compact(keys), "")}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return BlockedSender{}, err
		}
		shared.blocks = map[string]BlockedSender{}
		for _, b := range found {
			shared.blocks[b.Key] = b
		}
	}
	for _, key := range blockKeys(f.customer.Email) {
		b, ok := shared.blocks[key]
		if !ok {
			continue
		}
		user := f.users[mailaddr.Key(f.customer.Email)]
		if user == 0 {
			return b, nil
		}
		members, err := tx.UsersByID(ctx, []int64{user}) // the user may have joined since
		if err != nil || len(members) > 0 {
			return BlockedSender{}, err
		}
		return b, nil
	}
	return BlockedSender{}, nil
}

// judge marks the match as spam if the sender is blocked. Delivery reports are exempt, since they come from mail systems.
func (m *match) judge(ctx context.Context, tx Tx, f *filing, shared *filingTogether) error {
	if m.why.Rule == RuleReport {
		return nil
	}
	b, err := shared.blocked(ctx, tx, f)
	if err == nil && b.ID != 0 {
		m.asSpam(b)
	}
	return err
}

// asSpam marks the match of a blocked sender's message as spam. The message joins the conversation only if that is spam,
// too.
func (m *match) asSpam(b BlockedSender) {
	m.why.Blocked = b.Sender
	if m.conversation.ID == 0 || m.conversation.IsSpam() {
		return
	}
	m.refuse(m.conversation.ID, "its sender is blocked, and the conversation is no spam")
	m.conversation, m.answersForward, m.parent, m.thread = Conversation{}, false, 0, 0
	m.why.Rule, m.why.Matched, m.why.Colleague = RuleNew, "", ""
}
