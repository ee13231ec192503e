package memstore

import (
	"cmp"
	"iter"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// data is everything there is. While a transaction runs, every change leaves the
// function that takes it back.
type data struct {
	users          table[helpdesk.User]
	tokens         table[helpdesk.AccessToken]
	accounts       table[helpdesk.Account]
	roles          table[helpdesk.Role]
	memberships    table[helpdesk.Membership]
	mailboxes      table[helpdesk.Mailbox]
	statuses       table[helpdesk.FetchStatus] // by mailbox
	cursors        table[[]folderCursor]       // by mailbox
	customers      table[helpdesk.Customer]
	conversations  table[helpdesk.Conversation]
	participants   table[[]string] // by conversation
	interactions   table[helpdesk.Interaction]
	deliveries     table[helpdesk.Delivery]
	attachments    table[helpdesk.Attachment]
	ledger         table[helpdesk.InboundMail]
	events         table[storage.Event] // by sequence number
	jobs           table[jobRow]
	domains        table[helpdesk.Domain]
	pgpKeys        table[helpdesk.PGPKey]
	lastItem       int64            // id of the last email, phone or website of a customer
	searchDocs     table[searchDoc] // by conversation
	customerTerms  table[[]string]  // by customer
	tags           table[helpdesk.Tag]
	teams          table[helpdesk.Team]
	taggings       table[[]int64]             // by conversation
	readMarks      table[[]helpdesk.ReadMark] // by conversation
	presence       table[[]helpdesk.Presence] // by conversation
	views          table[helpdesk.View]
	redirects      table[redirect] // by merged conversation
	moves          table[helpdesk.Move]
	invitations    table[helpdesk.Invitation]
	suppressions   table[helpdesk.Suppression]
	blockedSenders table[helpdesk.BlockedSender]
	savedReplies   table[helpdesk.SavedReply]
	replyFiles     table[helpdesk.ReplyFile]
	signatures     table[helpdesk.Signature]
	portalKeys     table[helpdesk.PortalKey]
	audit          table[helpdesk.AuditEntry]
	webhooks       table[helpdesk.Webhook]
	memberMails    table[helpdesk.MemberMail]
	notifications  table[helpdesk.Notification]
	followers      table[[]helpdesk.Follower]    // by conversation
	notifyChoices  table[helpdesk.NotifyChoices] // by user

	webhookDeliveries table[helpdesk.WebhookDelivery]
	webhookCursors    table[int64] // of all accounts, by account

	sites        table[kb.Site]
	siteFiles    table[kb.File]
	themes       table[kb.Theme]
	themeFiles   table[kb.ThemeFile]
	collections  table[kb.Collection]
	categories   table[kb.Category]
	articles     table[kb.Article]
	revisions    table[kb.Revision] // see revisionID
	documents    table[documentRow]
	spellings    table[spellingRow]
	feedback     table[kb.Feedback]
	reactions    table[kb.VisitorReaction]
	exchangeKeys table[exchangeKeyRow]

	notes map[string]*storage.Note     // by key; of no account
	items map[string]storage.VaultItem // likewise
	locks map[string]vaultLock         // by name; likewise
	mark  string                       // see storage.Marks

	recording bool
	undo      []func()
	enqueued  bool    // by the running transaction
	emitted   []int64 // accounts whose logs have grown in it
}

// global is the account of what belongs to none.
const global = 0

func newData() *data {
	db := &data{notes: map[string]*storage.Note{}, items: map[string]storage.VaultItem{}, locks: map[string]vaultLock{}}
	db.users.make(db, "user")
	db.tokens.make(db, "token")
	db.accounts.make(db, "account")
	db.roles.make(db, "role")
	db.memberships.make(db, "membership")
	db.mailboxes.make(db, "mailbox")
	db.statuses.make(db, "mailbox")
	db.cursors.make(db, "mailbox")
	db.customers.make(db, "customer")
	db.conversations.make(db, "conversation")
	db.participants.make(db, "conversation")
	db.interactions.make(db, "interaction")
	db.deliveries.make(db, "delivery")
	db.attachments.make(db, "attachment")
	db.ledger.make(db, "mail")
	db.events.make(db, "event")
	db.jobs.make(db, "job")
	db.domains.make(db, "domain")
	db.pgpKeys.make(db, "key")
	db.searchDocs.make(db, "conversation")
	db.customerTerms.make(db, "customer")
	db.tags.make(db, "tag")
	db.teams.make(db, "team")
	db.taggings.make(db, "conversation")
	db.readMarks.make(db, "conversation")
	db.presence.make(db, "conversation")
	db.views.make(db, "view")
	db.redirects.make(db, "conversation")
	db.moves.make(db, "move")
	db.invitations.make(db, "invitation")
	db.suppressions.make(db, "suppression")
	db.memberMails.make(db, "member mail")
	db.savedReplies.make(db, "saved reply")
	db.replyFiles.make(db, "file")
	db.signatures.make(db, "signature")
	db.blockedSenders.make(db, "blocked sender")
	db.notifications.make(db, "notification")
	db.followers.make(db, "conversation")
	db.notifyChoices.make(db, "user")
	db.portalKeys.make(db, "key")
	db.audit.make(db, "audit entry")
	db.webhooks.make(db, "webhook")
	db.webhookDeliveries.make(db, "delivery")
	db.webhookCursors.make(db, "webhook cursor")
	db.sites.make(db, "site")
	db.siteFiles.make(db, "file")
	db.themes.make(db, "theme")
	db.themeFiles.make(db, "file")
	db.collections.make(db, "collection")
	db.categories.make(db, "category")
	db.articles.make(db, "article")
	db.revisions.make(db, "revision")
	db.documents.make(db, "article")
	db.spellings.make(db, "word")
	db.feedback.make(db, "feedback")
	db.reactions.make(db, "reaction")
	db.exchangeKeys.make(db, "key")
	return db
}

// removeAccount removes every row of an account; the jobs stay, whose handlers
// find nothing.
func (db *data) removeAccount(id int64) {
	db.accounts.set(global, id, nil)
	db.roles.removeAll(id)
	db.memberships.removeAll(id)
	db.mailboxes.removeAll(id)
	db.statuses.removeAll(id)
	db.cursors.removeAll(id)
	db.customers.removeAll(id)
	db.conversations.removeAll(id)
	db.participants.removeAll(id)
	db.interactions.removeAll(id)
	db.deliveries.removeAll(id)
	db.attachments.removeAll(id)
	db.ledger.removeAll(id)
	db.events.removeAll(id)
	db.domains.removeAll(id)
	db.pgpKeys.removeAll(id)
	db.searchDocs.removeAll(id)
	db.customerTerms.removeAll(id)
	db.tags.removeAll(id)
	db.teams.removeAll(id)
	db.taggings.removeAll(id)
	db.readMarks.removeAll(id)
	db.presence.removeAll(id)
	db.views.removeAll(id)
	db.redirects.removeAll(id)
	db.moves.removeAll(id)
	db.invitations.removeAll(id)
	db.suppressions.removeAll(id)
	db.memberMails.removeAll(id)
	db.savedReplies.removeAll(id)
	db.replyFiles.removeAll(id)
	db.signatures.removeAll(id)
	db.blockedSenders.removeAll(id)
	db.notifications.removeAll(id)
	db.followers.removeAll(id)
	db.notifyChoices.removeAll(id)
	db.portalKeys.removeAll(id)
	db.audit.removeAll(id)
	db.webhooks.removeAll(id)
	db.webhookDeliveries.removeAll(id)
	db.webhookCursors.set(global, id, nil)
	db.sites.removeAll(id)
	db.siteFiles.removeAll(id)
	db.themes.removeAll(id)
	db.themeFiles.removeAll(id)
	db.collections.removeAll(id)
	db.categories.removeAll(id)
	db.articles.removeAll(id)
	db.revisions.removeAll(id)
	db.documents.removeAll(id)
	db.spellings.removeAll(id)
	db.feedback.removeAll(id)
	db.reactions.removeAll(id)
	db.exchangeKeys.removeAll(id)
}

func (db *data) journal(undo func()) {
	if db.recording {
		db.undo = append(db.undo, undo)
	}
}

// rollback takes back all changes but the first mark.
func (db *data) rollback(mark int) {
	undo := db.undo[mark:]
	db.undo, db.recording = db.undo[:mark], false
	for _, f := range slices.Backward(undo) {
		f()
	}
	db.recording = true
	db.enqueued = db.enqueued && mark > 0
}

// table holds the rows of one noun by account, each account's in the order of
// their ids. A stored value is never changed, only replaced.
type table[T any] struct {
	db   *data
	noun string
	last int64
	rows map[int64][]row[T]
}

type row[T any] struct {
	id    int64
	value *T
}

func (t *table[T]) make(db *data, noun string) {
	t.db, t.noun, t.rows = db, noun, map[int64][]row[T]{}
}

func (t *table[T]) missing(id int64) error { return fault.Missing(t.noun, id) }

func (t *table[T]) find(account, id int64) (int, bool) {
	return slices.BinarySearchFunc(t.rows[account], id, func(r row[T], id int64) int { return cmp.Compare(r.id, id) })
}

// get returns the stored value, not a copy.
func (t *table[T]) get(account, id int64) (*T, error) {
	i, ok := t.find(account, id)
	if !ok {
		return nil, t.missing(id)
	}
	return t.rows[account][i].value, nil
}

// set stores a value, or removes it when v is nil.
func (t *table[T]) set(account, id int64, v *T) {
	i, found := t.find(account, id)
	rows := t.rows[account]
	var old *T
	switch {
	case found && v == nil:
		old = rows[i].value
		t.rows[account] = slices.Delete(rows, i, i+1)
	case found:
		old, rows[i].value = rows[i].value, v
	case v != nil:
		t.rows[account] = slices.Insert(rows, i, row[T]{id, v})
	default:
		return
	}
	t.db.journal(func() { t.set(account, id, old) })
}

// insert stores a checked copy of v under a new id, which it writes to *id.
func (t *table[T]) insert(account int64, v *T, id *int64) error {
	if err := check(v); err != nil {
		return err
	}
	t.last++
	*id = t.last
	t.set(account, t.last, clone(v))
	return nil
}

// update replaces a row that is known to exist by a checked copy of v.
func (t *table[T]) update(account, id int64, v *T) error {
	if err := check(v); err != nil {
		return err
	}
	t.set(account, id, clone(v))
	return nil
}

func (t *table[T]) removeAll(account int64) {
	old := t.rows[account]
	delete(t.rows, account)
	t.db.journal(func() { t.rows[account] = old })
}

// removeIf removes the rows that match.
func (t *table[T]) removeIf(account int64, match func(*T) bool) {
	for _, r := range slices.Clone(t.rows[account]) {
		if match(r.value) {
			t.set(account, r.id, nil)
		}
	}
}

// all walks an account's rows in the order of their ids. The loop may not change them.
func (t *table[T]) all(account int64) iter.Seq2[int64, *T] {
	return func(yield func(int64, *T) bool) {
		for _, r := range t.rows[account] {
			if !yield(r.id, r.value) {
				return
			}
		}
	}
}

// conflict reports whether a row other than id matches.
func (t *table[T]) conflict(account, id int64, match func(*T) bool) bool {
	for other, v := range t.all(account) {
		if other != id && match(v) {
			return true
		}
	}
	return false
}

// first returns a copy of the first row that matches.
func (t *table[T]) first(account int64, match func(*T) bool) (T, error) {
	for _, v := range t.all(account) {
		if match(v) {
			return *clone(v), nil
		}
	}
	var none T
	return none, t.missing(0)
}

// list copies the rows that match, by id. Lists by id look at the id of a
// position only.
func (t *table[T]) list(account int64, seek storage.Seek, match func(*T) bool) []T {
	return page(slices.Values(t.rows[account]), seek, match)
}

func page[T any](rows iter.Seq[row[T]], seek storage.Seek, match func(*T) bool) []T {
	var found []row[T]
	for r := range rows {
		beyond := seek.From == nil || !seek.Desc && r.id > seek.From.ID || seek.Desc && r.id < seek.From.ID
		if beyond && match(r.value) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b row[T]) int { return cmp.Compare(a.id, b.id) })
	if seek.Desc {
		slices.Reverse(found)
	}
	return copies(found[:min(max(seek.Limit, 0), len(found))])
}

func copies[T any](rows []row[T]) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = *clone(r.value)
	}
	return out
}

// where copies all rows that match, by id.
func (t *table[T]) where(account int64, match func(*T) bool) []T {
	var found []row[T]
	for id, v := range t.all(account) {
		if match(v) {
			found = append(found, row[T]{id, v})
		}
	}
	return copies(found)
}

func unique(code, message string) error {
	return &fault.Error{Kind: fault.Conflict, Code: code, Message: message}
}
