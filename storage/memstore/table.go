package memstore

import (
	"cmp"
	"iter"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// data holds all data. While a transaction runs, every change records a function that undoes it.
type data struct {
	users         table[identity.User]
	pictures      table[[]byte] // by user
	tokens        table[identity.AccessToken]
	accounts      table[identity.Account]
	memberships   table[identity.Membership]
	mailboxes     table[helpdesk.Mailbox]
	statuses      table[ledger.FetchStatus] // by mailbox
	cursors       table[[]folderCursor]     // by mailbox
	customers     table[helpdesk.Customer]
	conversations table[helpdesk.Conversation]
	participants  table[[]string] // by conversation
	interactions  table[helpdesk.Interaction]
	deliveries    table[sending.Delivery]
	attachments   table[helpdesk.Attachment]
	ledger        table[ledger.Mail]
	events        table[storage.Event] // by sequence number
	jobs          table[jobRow]
	lastItem      int64                      // id of the last email, phone or website of a customer
	searchDocs    table[searchDoc]           // by conversation
	customerTerms table[[]string]            // by customer
	taggings      table[[]int64]             // by conversation
	readMarks     table[[]helpdesk.ReadMark] // by conversation

	conversationValues table[[]helpdesk.FieldValue] // by conversation
	customerValues     table[[]helpdesk.FieldValue] // by customer
	companyValues      table[[]helpdesk.FieldValue] // by company

	presence      table[[]helpdesk.Presence] // by conversation
	redirects     table[redirect]            // by merged conversation
	moves         table[helpdesk.Move]
	identities    table[identity.Identity]
	passkeys      table[identity.Passkey]
	audit         table[helpdesk.AuditEntry]
	notifications table[helpdesk.Notification]
	followers     table[[]helpdesk.Follower]    // by conversation
	notifyChoices table[helpdesk.NotifyChoices] // by user

	webhookDeliveries table[subscription.WebhookDelivery]
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
	newIDs       table[newIDs] // see storage.IDMap

	plain map[string]*table[storage.Record] // of the plain nouns, by name

	notes map[string]*storage.Note     // by key; not per account
	items map[string]storage.VaultItem // by key; not per account
	locks map[string]vaultLock         // by name; not per account
	mark  string                       // see storage.Marks

	recording bool
	undo      []func()
	enqueued  bool    // by the running transaction
	emitted   []int64 // accounts whose logs the running transaction has extended
}

// global is the account id for data that belongs to no account.
const global = 0

func newData() *data {
	db := &data{plain: map[string]*table[storage.Record]{}, notes: map[string]*storage.Note{}, items: map[string]storage.VaultItem{}, locks: map[string]vaultLock{}}
	for _, t := range plainTables {
		db.plain[t.Name] = &table[storage.Record]{}
	}
	for _, t := range db.tables() {
		t.rows.make(db, t.noun)
	}
	return db
}

// named is a table with the name of its rows in faults.
type named struct {
	noun string
	rows interface {
		make(db *data, noun string)
		removeAll(account int64)
		take(of any)
	}
}

// tables returns all tables.
func (db *data) tables() []named {
	var plain []named
	for _, t := range plainTables {
		plain = append(plain, named{t.Noun, db.plain[t.Name]})
	}
	return append(plain, []named{
		{"user", &db.users},
		{"picture", &db.pictures},
		{"token", &db.tokens},
		{"account", &db.accounts},
		{"membership", &db.memberships},
		{"mailbox", &db.mailboxes},
		{"mailbox", &db.statuses},
		{"mailbox", &db.cursors},
		{"customer", &db.customers},
		{"conversation", &db.conversations},
		{"conversation", &db.participants},
		{"interaction", &db.interactions},
		{"delivery", &db.deliveries},
		{"attachment", &db.attachments},
		{"mail", &db.ledger},
		{"event", &db.events},
		{"job", &db.jobs},
		{"conversation", &db.searchDocs},
		{"customer", &db.customerTerms},
		{"conversation", &db.taggings},
		{"conversation", &db.conversationValues},
		{"customer", &db.customerValues},
		{"company", &db.companyValues},
		{"conversation", &db.readMarks},
		{"conversation", &db.presence},
		{"conversation", &db.redirects},
		{"move", &db.moves},
		{"identity", &db.identities},
		{"passkey", &db.passkeys},
		{"notification", &db.notifications},
		{"conversation", &db.followers},
		{"user", &db.notifyChoices},
		{"audit entry", &db.audit},
		{"delivery", &db.webhookDeliveries},
		{"webhook cursor", &db.webhookCursors},
		{"site", &db.sites},
		{"file", &db.siteFiles},
		{"theme", &db.themes},
		{"file", &db.themeFiles},
		{"collection", &db.collections},
		{"category", &db.categories},
		{"article", &db.articles},
		{"revision", &db.revisions},
		{"article", &db.documents},
		{"word", &db.spellings},
		{"feedback", &db.feedback},
		{"reaction", &db.reactions},
		{"key", &db.exchangeKeys},
		{"id", &db.newIDs},
	}...)
}

// removeAccount deletes every row of an account except jobs, whose handlers will find nothing.
func (db *data) removeAccount(id int64) {
	for _, c := range db.conversations.where(id, every) {
		db.forgetNotes(c.ID)
	}
	db.accounts.set(global, id, nil)
	db.webhookCursors.set(global, id, nil)
	for _, t := range db.tables() {
		t.rows.removeAll(id)
	}
}

func (db *data) journal(undo func()) {
	if db.recording {
		db.undo = append(db.undo, undo)
	}
}

// rollback undoes all changes after the first mark.
func (db *data) rollback(mark int) {
	undo := db.undo[mark:]
	db.undo, db.recording = db.undo[:mark], false
	for _, f := range slices.Backward(undo) {
		f()
	}
	db.recording = true
	if mark == 0 { // nothing is left to announce
		db.enqueued, db.emitted = false, nil
	}
}

// table holds the rows of one noun by account, in id order. A stored value is never changed, only replaced.
type table[T any] struct {
	db   *data
	noun string
	last int64
	rows map[int64][]row
}

// row is a row of any table. It is not generic, so that sorting and moving rows is compiled only once.
type row struct {
	id    int64
	value any // *T of a table[T]
}

// value returns the value of a row of a table[T].
func value[T any](r row) *T {
	return r.value.(*T) //nolint:forcetypeassert // a table has only its own rows
}

func (t *table[T]) make(db *data, noun string) {
	t.db, t.noun, t.rows = db, noun, map[int64][]row{}
}

func (t *table[T]) missing(id int64) error { return fault.Missing(t.noun, id) }

func (t *table[T]) find(account, id int64) (int, bool) {
	return slices.BinarySearchFunc(t.rows[account], id, func(r row, id int64) int { return cmp.Compare(r.id, id) })
}

// get returns the stored value, not a copy.
func (t *table[T]) get(account, id int64) (*T, error) {
	i, ok := t.find(account, id)
	if !ok {
		return nil, t.missing(id)
	}
	return value[T](t.rows[account][i]), nil
}

// set stores a value, or deletes it when v is nil.
func (t *table[T]) set(account, id int64, v *T) {
	i, found := t.find(account, id)
	rows := t.rows[account]
	var old *T
	switch {
	case found && v == nil:
		old = value[T](rows[i])
		t.rows[account] = slices.Delete(rows, i, i+1)
	case found:
		old, rows[i].value = value[T](rows[i]), v
	case v != nil:
		t.rows[account] = slices.Insert(rows, i, row{id, v})
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

// update replaces a row that is known to exist with a checked copy of v.
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

// removeIf deletes the rows that match.
func (t *table[T]) removeIf(account int64, match func(*T) bool) {
	for _, r := range slices.Clone(t.rows[account]) {
		if match(value[T](r)) {
			t.set(account, r.id, nil)
		}
	}
}

// all iterates over an account's rows in id order. The loop must not change them.
func (t *table[T]) all(account int64) iter.Seq2[int64, *T] {
	return func(yield func(int64, *T) bool) {
		for _, r := range t.rows[account] {
			if !yield(r.id, value[T](r)) {
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

// list copies the rows that match, by id. Lists by id use only the id of a position.
func (t *table[T]) list(account int64, seek storage.Seek, match func(*T) bool) []T {
	return page(slices.Values(t.rows[account]), seek, match)
}

func page[T any](rows iter.Seq[row], seek storage.Seek, match func(*T) bool) []T {
	var found []row
	for r := range rows {
		beyond := seek.From == nil || !seek.Desc && r.id > seek.From.ID || seek.Desc && r.id < seek.From.ID
		if beyond && match(value[T](r)) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b row) int { return cmp.Compare(a.id, b.id) })
	if seek.Desc {
		slices.Reverse(found)
	}
	return copies[T](found[:min(max(seek.Limit, 0), len(found))])
}

// sorted copies those of the rows that a list begins with, in the order of their positions.
func sorted[T any](rows []row, seek storage.Seek, position func(*T) storage.Position) []T {
	slices.SortFunc(rows, func(a, b row) int {
		if seek.Desc {
			a, b = b, a
		}
		return comparePositions(position(value[T](a)), position(value[T](b)))
	})
	return copies[T](rows[:min(max(seek.Limit, 0), len(rows))])
}

func copies[T any](rows []row) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = *clone(value[T](r))
	}
	return out
}

// where copies all rows that match, by id.
func (t *table[T]) where(account int64, match func(*T) bool) []T {
	var found []row
	for id, v := range t.all(account) {
		if match(v) {
			found = append(found, row{id, v})
		}
	}
	return copies[T](found)
}

func unique(code, message string) error {
	return &fault.Error{Kind: fault.Conflict, Code: code, Message: message}
}
