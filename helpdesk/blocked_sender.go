package helpdesk

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// BlockedSender is an address, or a domain with all below it, whose mail is filed as spam.
// No mail is lost: it begins conversations that are spam from their beginning.
type BlockedSender struct {
	ID        int64
	Sender    string // as it was given: ada@example.org, or example.org
	Key       string // EmailKey of an address; of a domain its ASCII form after "@"; unique in the account
	UserID    int64  // who blocked it
	CreatedAt time.Time
}

// UniqueBlockedSender is the code of the Conflict fault of a store for a second blocked
// sender with the same (account, Key).
const UniqueBlockedSender = "blocked_sender"

func blockedSenderNoun() storage.Noun[BlockedSender] {
	return storage.Noun[BlockedSender]{
		Name: "blocked sender",
		ID:   func(b *BlockedSender) *int64 { return &b.ID },
		Unique: []storage.Unique[BlockedSender]{
			{Code: UniqueBlockedSender, Fields: func(b *BlockedSender) []any { return []any{&b.Key} }},
		},
	}
}

// BlockedSenderFilter narrows a list of blocked senders.
type BlockedSenderFilter struct {
	Keys []string // with any of these; empty: all
}

// IsDomain reports whether it is a domain.
func (b BlockedSender) IsDomain() bool { return strings.HasPrefix(b.Key, "@") }

// Blocks reports whether mail of an address is filed as spam because of it.
func (b BlockedSender) Blocks(address string) bool { return slices.Contains(blockKeys(address), b.Key) }

// blockKeys are the keys of what blocks an address: it, its domain and those above that.
func blockKeys(address string) []string {
	key := EmailKey(address)
	_, domain, found := cutLast(key, "@")
	if !found {
		return nil
	}
	keys := []string{key}
	for range 127 { // more labels than a domain has
		keys = append(keys, "@"+domain)
		if _, domain, found = strings.Cut(domain, "."); !found {
			break
		}
	}
	return keys
}

// newBlockedSender reads what is to be blocked.
func newBlockedSender(text string) (BlockedSender, error) {
	b := BlockedSender{Sender: strings.TrimPrefix(cleanLine(text), "@")}
	if b.Sender == "" {
		return b, fault.Field("sender", "is required")
	}
	if strings.Contains(b.Sender, "@") {
		b.Key = EmailKey(b.Sender)
		if !ValidEmail(b.Sender) || len(b.Key) > 320 {
			return b, fault.Field("sender", "is no mail address and no domain")
		}
		return b, nil
	}
	domain, err := idna.Lookup.ToASCII(strings.TrimSuffix(b.Sender, "."))
	if err != nil || !strings.Contains(domain, ".") || !ValidEmail("a@"+domain) {
		return b, fault.Field("sender", "is no mail address and no domain")
	}
	if b.Key = "@" + foldCase(domain); isSuffix(b.Key[1:]) {
		return b, fault.Field("sender", "is an ending that many domains have: block a domain below it")
	}
	return b, nil
}

// isSuffix reports whether anybody can have a domain below this one.
func isSuffix(domain string) bool {
	suffix, official := publicsuffix.PublicSuffix(domain)
	return official && suffix == domain
}

// BlockedSender returns a blocked sender. It needs customers.view.
func (d *Desk) BlockedSender(ctx context.Context, id int64) (BlockedSender, error) {
	r, err := d.guard.Read(CustomersView)
	if err != nil {
		return BlockedSender{}, err
	}
	return r.BlockedSenders().Get(ctx, id)
}

// BlockedSenders lists the blocked senders, newest first; of an address those that block
// it, unless that is "". It needs customers.view.
func (d *Desk) BlockedSenders(ctx context.Context, address string, req storage.PageRequest) (storage.Page[BlockedSender], error) {
	var none storage.Page[BlockedSender]
	r, err := d.guard.Read(CustomersView)
	if err != nil {
		return none, err
	}
	var filter BlockedSenderFilter
	if address = cleanLine(address); address != "" {
		if filter.Keys = blockKeys(cut(address, 320)); len(filter.Keys) == 0 {
			return none, nil
		}
	}
	return storage.List(req, true, func(b BlockedSender) storage.Position { return storage.Position{ID: b.ID} },
		func(seek storage.Seek) ([]BlockedSender, error) { return r.BlockedSenders().List(ctx, filter, seek) })
}

// BlockSender has mail of an address, or of a domain and all below it, filed as spam from
// now on: without reopening anything, and never into a conversation that is no spam. What
// counts is whom the mail is filed under. It needs customers.update and all mailboxes.
// Addresses of the account's mailboxes and members cannot be blocked, nor domains of them.
func (d *Desk) BlockSender(ctx context.Context, sender string) (BlockedSender, error) {
	begin, err := d.guard.Write(CustomersUpdate)
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
		b.ID = 0 // fn of a transaction may run again
		if err := tx.BlockedSenders().Insert(ctx, &b); err != nil {
			return err
		}
		return d.emit(ctx, tx, "blocked_sender.created", b.ID, 0)
	})
	return b, takenField(err, UniqueBlockedSender, "sender")
}

// mayBlock refuses what would make spam of the account's own mail.
func (d *Desk) mayBlock(ctx context.Context, tx Tx, b BlockedSender) error {
	if b.Blocks(UnknownSender) {
		return fault.Field("sender", "stands for mails that name no sender")
	}
	own, err := d.svc.ownAddresses(ctx, tx.Reader(), d.scope.AccountID)
	if err != nil {
		return err
	}
	if !b.IsDomain() && own.receives(b.Sender) || b.Blocks("a@"+d.svc.cfg.IntakeDomain) {
		return fault.Field("sender", "is an address of a mailbox of this account")
	}
	for mailbox := range own.mailboxes {
		if b.Blocks(mailbox) {
			return fault.Field("sender", "has an address of a mailbox of this account")
		}
	}
	var users []int64
	if err := eachRow(ctx, tx.Reader().Memberships(), func(m Membership) int64 { users = append(users, m.UserID); return m.ID }); err != nil {
		return err
	}
	for some := range slices.Chunk(users, 200) {
		found, err := tx.UsersByID(ctx, some)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(found, func(u User) bool { return b.Blocks(u.EmailKey) }) {
			return fault.Field("sender", "is the address of a member, or has one")
		}
	}
	return nil
}

// UnblockSender has mail of a sender filed as that of others again. What is spam already
// stays so. It needs customers.update and all mailboxes.
func (d *Desk) UnblockSender(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(CustomersUpdate)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.BlockedSenders().Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "blocked_sender.deleted", id, 0)
	})
}

// blocked finds what blocks whom mails are filed under: once for all that are filed
// together, by the addresses of which one will be that.
func (shared *filingTogether) blocked(ctx context.Context, tx Tx, f *filing) (BlockedSender, error) {
	if shared.blocks == nil {
		var keys []string
		for _, one := range shared.all {
			for _, a := range one.mail.speakers() {
				keys = append(keys, blockKeys(a.Email)...)
			}
			if one.passed != nil {
				for _, a := range append([]Address{one.passed.mail.From}, one.passed.mail.ReplyTo...) {
					keys = append(keys, blockKeys(a.Email)...)
				}
			}
		}
		slices.Sort(keys)
		found, err := tx.BlockedSenders().List(ctx, BlockedSenderFilter{Keys: append(slices.Compact(keys), "")}, storage.Seek{Limit: storage.NoLimit})
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
		user := f.users[EmailKey(f.customer.Email)]
		if user == 0 {
			return b, nil
		}
		members, err := tx.UsersByID(ctx, []int64{user}) // one may have joined since
		if err != nil || len(members) > 0 {
			return BlockedSender{}, err
		}
		return b, nil
	}
	return BlockedSender{}, nil
}

// judge makes the match one of spam when the sender is blocked. A report is the mail
// system's, whoever that is.
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

// asSpam makes the match of a blocked sender's mail one of spam: a conversation that is
// spam takes it, and every other one is left alone.
func (m *match) asSpam(b BlockedSender) {
	m.why.Blocked = b.Sender
	if m.conversation.ID == 0 || m.conversation.IsSpam() {
		return
	}
	m.refuse(m.conversation.ID, "its sender is blocked, and the conversation is no spam")
	m.conversation, m.answersForward, m.parent, m.thread = Conversation{}, false, 0, 0
	m.why.Rule, m.why.Matched, m.why.Colleague = RuleNew, "", ""
}
