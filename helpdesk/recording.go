package helpdesk

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// recorded returns a store whose transactions add to their events what changed, and the actor. Each transaction remembers
// the conversations, interactions and customers that it reads and writes; before it commits, it compares their states. No
// operation of the service says itself what it changes.
//
// Before the commit, the follow-ups get the record, for what follows from all that was done.
func recorded(store Store, now func() time.Time, then followUps) Store {
	if _, inside := store.(joined); inside {
		return store // its transaction is recorded
	}
	return recordedStore{store, now, then}
}

// followUps are what follows from all that a transaction did.
type followUps struct {
	measure func(context.Context, *record) error // before the events get their changes, and for what handOut changed
	handOut func(context.Context, *record) error // after it
}

type recordedStore struct {
	Store
	now  func() time.Time
	then followUps
}

// InTx implements [Store].
func (s recordedStore) InTx(ctx context.Context, scope Scope, fn func(ctx context.Context, tx Tx) error) error {
	return s.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error {
		r := newRecord(tx, scope.AccountID, s.now) // a store may run fn again
		if err := fn(ctx, recording{Tx: tx, record: r}); err != nil {
			return err
		}
		return r.commitEvents(ctx, s.then)
	})
}

// InSystemTx implements [Store].
func (s recordedStore) InSystemTx(ctx context.Context, fn func(ctx context.Context, tx SystemTx) error) error {
	return s.Store.InSystemTx(ctx, func(ctx context.Context, system SystemTx) error {
		all := &accountRecords{now: s.now}
		if err := fn(ctx, recordingSystem{system, all}); err != nil {
			return err
		}
		for _, r := range all.list {
			if err := r.commitEvents(ctx, s.then); err != nil {
				return err
			}
		}
		return nil
	})
}

// unrecorded returns the store below, which may implement more than [Store].
func unrecorded(store Store) Store {
	if s, ok := store.(recordedStore); ok {
		return s.Store
	}
	return store
}

// accountRecords are the records of a transaction above accounts.
type accountRecords struct {
	now  func() time.Time
	list []*record
	of   map[int64]*record
}

type recordingSystem struct {
	SystemTx
	all *accountRecords
}

// Within implements [SystemTx].
func (s recordingSystem) Within(scope Scope) Tx {
	tx := s.SystemTx.Within(scope)
	r := s.all.of[scope.AccountID]
	if r == nil {
		r = newRecord(tx, scope.AccountID, s.all.now)
		if s.all.of == nil {
			s.all.of = map[int64]*record{}
		}
		s.all.of[scope.AccountID] = r
		s.all.list = append(s.all.list, r)
	}
	return recording{Tx: tx, record: r}
}

// actAs returns the transaction with an actor of its events, in place of the user that an event names or the server.
func actAs(tx Tx, by subscription.Actor) Tx {
	switch tx := tx.(type) {
	case recording:
		tx.by = by
		return tx
	case byMail:
		return byMail{actAs(tx.Tx, by)}
	case auditing:
		tx.Tx = actAs(tx.Tx, by)
		return tx
	}
	return tx
}

// endOperation ends an operation that is followed by others in the same transaction: its events do not have their changes.
func endOperation(ctx context.Context, tx Tx) error {
	switch tx := tx.(type) {
	case recording:
		return tx.record.settleEvents(ctx)
	case byMail:
		return endOperation(ctx, tx.Tx)
	case auditing:
		return endOperation(ctx, tx.Tx)
	}
	return nil
}

// sighting is a resource in a transaction: its state when it was first read or locked, and as last written.
type sighting[S any] struct {
	first, last S
	created     bool
	written     bool // later reads see our own changes
	by          subscription.Actor

	origin         S // as it was before the transaction, or when its targets were computed
	isNew, touched bool
}

// sightings are resources by id.
type sightings[S any] map[int64]*sighting[S]

func (all sightings[S]) noteRead(id int64, state S) {
	if s := all[id]; s == nil {
		all[id] = &sighting[S]{first: state, last: state, origin: state}
	} else if !s.written {
		s.first, s.last = state, state // locked after it was read
		if !s.touched {
			s.origin = state
		}
	}
}

func (all sightings[S]) noteWrite(id int64, state S, created bool, by subscription.Actor) {
	s := all[id]
	if s == nil {
		s = &sighting[S]{created: created, isNew: created}
		all[id] = s
	}
	s.last, s.written, s.touched, s.by = state, true, true, by
}

// settleAll makes the last states the first of what follows.
func (all sightings[S]) settleAll() {
	for _, s := range all {
		s.first, s.created, s.written = s.last, false, false
	}
}

// tagging is a conversation's tags before and after.
type tagging struct{ first, last []int64 }

// heldEvent is an event that waits for the changes.
type heldEvent struct {
	storage.Event
	by subscription.Actor
}

// record is what a transaction has read and changed in an account.
type record struct {
	tx            Tx
	accountID     int64
	chain         ruleChain  // of the events of a rule
	cause         *ruleCause // of what changes until it is settled; nil: no rule
	macro         int64      // likewise, the macro; 0: none
	now           func() time.Time
	seed          maphash.Seed
	conversations sightings[Conversation]
	interactions  sightings[interactionState]
	customers     sightings[Customer]
	tags          map[int64]*tagging
	values        map[fieldSubject]*valuing
	fields        map[FieldKind][]Field // of kinds whose values changed
	moved         map[int64]Move        // interactions
	seen          map[int64]time.Time   // interactions
	merged        map[int64]int64       // customers that took over another
	held          []heldEvent
	ready         []storage.Event
	queued        map[int64]bool         // conversations that came into the queue of a team
	freed         map[int64]bool         // users who have an open conversation less
	remeasure     map[int64]bool         // conversations whose targets are computed, whether these changed or not
	slas          int64                  // RuleSet.SLAs, at least
	dues          map[int64][2]time.Time // when something was due in a conversation, and is now, as a promise changed
}

func newRecord(tx Tx, accountID int64, now func() time.Time) *record {
	r := &record{tx: tx, accountID: accountID, now: now, queued: map[int64]bool{}, freed: map[int64]bool{}, seed: maphash.MakeSeed(), conversations: sightings[Conversation]{}, interactions: sightings[interactionState]{}, customers: sightings[Customer]{}}
	r.values, r.fields = map[fieldSubject]*valuing{}, map[FieldKind][]Field{}
	r.remeasure = map[int64]bool{}
	r.forgetSettled()
	return r
}

// forgetSettled forgets changes that are settled.
func (r *record) forgetSettled() {
	r.tags, r.moved, r.seen, r.merged, r.held = map[int64]*tagging{}, map[int64]Move{}, map[int64]time.Time{}, map[int64]int64{}, nil
	r.dues = map[int64][2]time.Time{}
}

// commitEvents appends the events of the transaction to the log, and enqueues the rules that may want them.
func (r *record) commitEvents(ctx context.Context, then followUps) error {
	if err := then.measure(ctx, r); err != nil {
		return err
	}
	if err := r.settleEvents(ctx); err != nil {
		return err
	}
	if err := then.handOut(ctx, r); err != nil {
		return err
	}
	if err := then.measure(ctx, r); err != nil {
		return err
	}
	if err := r.settleEvents(ctx); err != nil || len(r.ready) == 0 {
		return err
	}
	if err := r.enqueueRules(ctx); err != nil {
		return err
	}
	if err := r.enqueueSurveys(ctx); err != nil {
		return err
	}
	if err := r.enqueueFold(ctx); err != nil {
		return err
	}
	return r.tx.Emit(ctx, r.ready...)
}

// settleEvents gives the events that wait their changes, and one time, by which a history knows them to be of one operation. A
// change without an event gets one.
func (r *record) settleEvents(ctx context.Context) error {
	if err := r.readFields(ctx); err != nil {
		return err
	}
	if err := r.supplement(ctx); err != nil {
		return err
	}
	if r.cause != nil || r.macro != 0 {
		r.held = onceEach(r.held)
	}
	r.noteQueues()
	for _, h := range r.held {
		e := h.Event
		e.Time = r.held[0].Time
		switch areaOf(e.Type) {
		case "conversation":
			e = withChanges(e, r.ofConversation(e), h.by)
		case "interaction":
			e = withChanges(e, r.ofInteraction(e.Subject), h.by)
		case "customer":
			e = withChanges(e, r.ofCustomer(e.Subject), h.by)
		case "rating":
			e = withChanges(e, differences{}, h.by)
		case "sla":
			if SLAOutcomeEvent(e.Type) {
				e = withChanges(e, differences{}, h.by)
			}
		}
		if r.cause != nil && h.by.Type == subscription.ActorRule {
			e = r.cause.explain(e)
		}
		if r.macro != 0 {
			e = byMacro(e, r.macro)
		}
		r.ready = append(r.ready, e)
	}
	for id, t := range r.tags {
		r.tags[id] = &tagging{t.last, t.last}
	}
	for _, v := range r.values {
		v.first = v.last
	}
	tags := r.tags
	r.conversations.settleAll()
	r.interactions.settleAll()
	r.customers.settleAll()
	r.forgetSettled()
	r.tags = tags
	return nil
}

// ofConversation returns what an event about a conversation tells. Members of a mailbox that it left learn only that.
func (r *record) ofConversation(e storage.Event) differences {
	s := r.conversations[e.Subject]
	d := r.conversationDifferences(e.Subject)
	if s == nil || e.MailboxID == s.last.MailboxID {
		return d
	}
	left := differences{}
	if c, ok := d["mailbox_id"]; ok {
		left["mailbox_id"] = c
	}
	return left
}

func (r *record) conversationDifferences(id int64) differences {
	d := differences{}
	if s := r.conversations[id]; s != nil && s.written {
		d = conversationChanges(s.first, s.last)
	}
	if t := r.tags[id]; t != nil {
		d.tags(t.first, t.last)
	}
	r.addFields(d, fieldSubject{FieldOfConversation, id})
	if due, changed := r.dues[id]; changed {
		d.moment("due_at", due[0], due[1])
	}
	return d
}

func (r *record) ofInteraction(id int64) differences {
	d := differences{}
	if s := r.interactions[id]; s != nil && s.written {
		d = changesOfInteraction(s.first, s.last)
	}
	if m, ok := r.moved[id]; ok {
		between(d, "conversation_id", m.FromID, m.IntoID)
	}
	if at, ok := r.seen[id]; ok {
		d.moment("seen_at", time.Time{}, at)
	}
	return d
}

func (r *record) ofCustomer(id int64) differences {
	d := differences{}
	if s := r.customers[id]; s != nil && s.written {
		d = customerChanges(s.first, s.last)
	}
	r.addFields(d, fieldSubject{FieldOfCustomer, id})
	if from := r.merged[id]; from != 0 { // of all conversations of the other customer
		between(d, "customer_id", from, id)
	}
	return d
}

// supplement adds events for changes that have none. Creations without an event are parts of an import, which has its own.
func (r *record) supplement(ctx context.Context) error {
	has, actor := map[string]map[int64]bool{"conversation": {}, "interaction": {}, "customer": {}}, int64(0)
	for _, h := range r.held {
		if of := has[areaOf(h.Type)]; of != nil {
			of[h.Subject] = true
		}
		actor = max(actor, h.ActorID)
	}
	add := func(kind string, id, mailbox, conversation int64, by subscription.Actor) {
		e := storage.Event{Type: kind, Subject: id, MailboxID: mailbox, ConversationID: conversation, ActorID: actor, Data: eventData(id), Time: r.now().UTC().Truncate(time.Microsecond)}
		r.held = append(r.held, heldEvent{e, actorOf(e, by)})
	}
	for _, id := range sortedIDs(r.conversations) {
		s := r.conversations[id]
		if !has["conversation"][id] && !s.created && len(r.conversationDifferences(id)) > 0 {
			add("conversation.updated", id, s.last.MailboxID, id, s.by)
		}
	}
	for _, id := range sortedIDs(r.customers) {
		s := r.customers[id]
		if !has["customer"][id] && !s.created && len(r.ofCustomer(id)) > 0 {
			add("customer.updated", id, 0, 0, s.by)
		}
	}
	for _, id := range sortedIDs(r.interactions) {
		s := r.interactions[id]
		if has["interaction"][id] || s.created || len(r.ofInteraction(id)) == 0 {
			continue
		}
		in, err := r.conversationOf(ctx, s.last.ConversationID)
		if err != nil {
			return err
		}
		add("interaction.updated", id, in.MailboxID, in.ID, s.by)
	}
	return nil
}

func sortedIDs[S any](all sightings[S]) []int64 {
	var ids []int64
	for id, s := range all {
		if s.written {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// conversationOf returns the conversation of an interaction that changed without an event.
func (r *record) conversationOf(ctx context.Context, id int64) (Conversation, error) {
	if s := r.conversations[id]; s != nil {
		return s.last, nil
	}
	return r.tx.Conversations().Get(ctx, id)
}

// actorOf returns the actor of an event: the token, rule or customer that the handle belongs to, the user whom the event names, or
// else the server.
func actorOf(e storage.Event, by subscription.Actor) subscription.Actor {
	switch {
	case by.Type == subscription.ActorToken, by.Type == subscription.ActorRule, by.Type == subscription.ActorSLA, by.Type == subscription.ActorRetention:
		return by
	case e.ActorID != 0:
		return subscription.Actor{Type: subscription.ActorUser, ID: e.ActorID}
	case by.Type != "":
		return by
	}
	return subscription.Actor{Type: subscription.ActorSystem}
}

// recording is a transaction that keeps a record.
type recording struct {
	Tx
	*record
	by subscription.Actor // zero: as the events say
}

// Emit implements [storage.Outbox]. The events are written before the transaction commits.
func (t recording) Emit(_ context.Context, events ...storage.Event) error {
	for _, e := range events {
		t.held = append(t.held, heldEvent{e, actorOf(e, t.by)})
	}
	return nil
}

// DeleteAccount implements [Tx]: the log goes with the account.
func (t recording) DeleteAccount(ctx context.Context) error {
	t.held, t.ready = nil, nil
	clear(t.conversations)
	clear(t.queued)
	clear(t.freed)
	return t.Tx.DeleteAccount(ctx)
}

// Conversations implements [Rows].
func (t recording) Conversations() storage.Rows[Conversation, ConversationOrder] {
	return watchedRows[Conversation, ConversationOrder, Conversation]{
		Rows: t.Tx.Conversations(), all: t.conversations, by: t.by,
		id: func(c *Conversation) int64 { return c.ID }, state: func(c *Conversation) Conversation { return *c },
	}
}

// Interactions implements [Rows].
func (t recording) Interactions() storage.Rows[Interaction, InteractionFilter] {
	return watchedRows[Interaction, InteractionFilter, interactionState]{
		Rows: t.Tx.Interactions(), all: t.interactions, by: t.by,
		id: func(i *Interaction) int64 { return i.ID }, skip: func(f InteractionFilter) bool { return f.Brief }, state: func(i *Interaction) interactionState { return stateOfInteraction(i, t.seed) },
	}
}

// Scheduled implements [ScheduleReader].
func (t recording) Scheduled(ctx context.Context, conversationIDs []int64) ([]Interaction, error) {
	found, err := t.Tx.Scheduled(ctx, conversationIDs)
	for n := range found {
		t.interactions.noteRead(found[n].ID, stateOfInteraction(&found[n], t.seed))
	}
	return found, err
}

// MarkSeen implements [SeenWriter].
func (t recording) MarkSeen(ctx context.Context, ids []int64, at time.Time) ([]int64, error) {
	first, err := t.Tx.MarkSeen(ctx, ids, at)
	for _, id := range first {
		t.seen[id] = at
	}
	return first, err
}

// forget forgets a conversation that is deleted.
func (r *record) forget(id int64) {
	if s := r.conversations[id]; s != nil && s.first.busies() {
		r.freed[s.first.UserID] = true
	}
	delete(r.conversations, id)
	delete(r.tags, id)
	delete(r.queued, id)
	delete(r.remeasure, id)
}

// noteQueues notes the conversations that came into the queue of a team, and who has one less. What is created without an event is
// part of an import.
func (r *record) noteQueues() {
	for id, s := range r.conversations {
		if !s.written {
			continue
		}
		c, old := s.last, s.first
		switch {
		case !c.queued():
			delete(r.queued, id)
		case s.created && !r.tells("conversation.created", id):
		case !old.queued() || old.TeamID != c.TeamID:
			r.queued[id] = true
		}
		if old.busies() && (!c.busies() || c.UserID != old.UserID) {
			r.freed[old.UserID] = true
		}
	}
}

// tells reports whether an event is held.
func (r *record) tells(kind string, subject int64) bool {
	return slices.ContainsFunc(r.held, func(e heldEvent) bool { return e.Type == kind && e.Subject == subject })
}

// MoveInteractions implements [MergeWriter].
func (t recording) MoveInteractions(ctx context.Context, ids []int64, m Move) error {
	for _, id := range ids {
		t.moved[id] = m
		if s := t.interactions[id]; s != nil {
			s.first.ConversationID, s.last.ConversationID = m.IntoID, m.IntoID
		}
	}
	return t.Tx.MoveInteractions(ctx, ids, m)
}

// MergeConversation implements [MergeWriter]. The event about the conversation that remains stands for all interactions.
func (t recording) MergeConversation(ctx context.Context, m Move) error {
	t.forget(m.FromID)
	for _, s := range t.interactions {
		if s.last.ConversationID == m.FromID {
			s.first.ConversationID, s.last.ConversationID = m.IntoID, m.IntoID
		}
	}
	return t.Tx.MergeConversation(ctx, m)
}

// DeleteConversations implements [ConversationWriter].
func (t recording) DeleteConversations(ctx context.Context, ids []int64) error {
	for _, id := range ids {
		t.forget(id)
	}
	for id, s := range t.interactions {
		if slices.Contains(ids, s.last.ConversationID) {
			delete(t.interactions, id)
		}
	}
	return t.Tx.DeleteConversations(ctx, ids)
}

// Marks implements [MarksReader]. It remembers the tags of conversations.
func (t recording) Marks(ctx context.Context, q MarksQuery) ([]Marks, error) {
	found, err := t.Tx.Marks(ctx, q)
	if err != nil || !q.Tags {
		return found, err
	}
	tags := map[int64][]int64{}
	for _, m := range found {
		for _, tag := range m.Tags {
			tags[m.ConversationID] = append(tags[m.ConversationID], tag.ID)
		}
	}
	for _, id := range q.ConversationIDs {
		if t.tags[id] == nil {
			t.tags[id] = &tagging{tags[id], tags[id]}
		}
	}
	return found, nil
}

// SetTags implements [TagWriter]. It reads the tags that nobody has read before.
func (t recording) SetTags(ctx context.Context, conversationIDs, tagIDs []int64) error {
	var unknown []int64
	for _, id := range conversationIDs {
		if s := t.conversations[id]; s != nil && s.created && t.tags[id] == nil {
			t.tags[id] = &tagging{}
		} else if t.tags[id] == nil {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		if _, err := t.Marks(ctx, MarksQuery{ConversationIDs: unknown, Tags: true}); err != nil {
			return err
		}
	}
	for _, id := range conversationIDs {
		t.tags[id].last = tagIDs
	}
	return t.Tx.SetTags(ctx, conversationIDs, tagIDs)
}

// CustomerForUpdate implements [RowLocks].
func (t recording) CustomerForUpdate(ctx context.Context, id int64) (Customer, error) {
	c, err := t.Tx.CustomerForUpdate(ctx, id)
	return t.sawCustomer(c, err)
}

// Customer implements [CustomerReader].
func (t recording) Customer(ctx context.Context, id int64) (Customer, error) {
	c, err := t.Tx.Customer(ctx, id)
	return t.sawCustomer(c, err)
}

// CustomerByEmail implements [CustomerReader].
func (t recording) CustomerByEmail(ctx context.Context, key string) (Customer, error) {
	c, err := t.Tx.CustomerByEmail(ctx, key)
	return t.sawCustomer(c, err)
}

// CustomersByID implements [CustomerReader].
func (t recording) CustomersByID(ctx context.Context, ids []int64) ([]Customer, error) {
	found, err := t.Tx.CustomersByID(ctx, ids)
	for _, c := range found {
		t.customers.noteRead(c.ID, c.copy())
	}
	return found, err
}

func (t recording) sawCustomer(c Customer, err error) (Customer, error) {
	if err == nil {
		t.customers.noteRead(c.ID, c.copy())
	}
	return c, err
}

// InsertCustomer implements [CustomerWriter].
func (t recording) InsertCustomer(ctx context.Context, c *Customer) error {
	if err := t.Tx.InsertCustomer(ctx, c); err != nil {
		return err
	}
	t.customers.noteWrite(c.ID, c.copy(), true, t.by)
	return nil
}

// UpdateCustomer implements [CustomerWriter].
func (t recording) UpdateCustomer(ctx context.Context, c *Customer) error {
	if t.customers[c.ID] == nil {
		if _, err := t.Customer(ctx, c.ID); err != nil {
			return err
		}
	}
	if err := t.Tx.UpdateCustomer(ctx, c); err != nil {
		return err
	}
	t.customers.noteWrite(c.ID, c.copy(), false, t.by)
	return nil
}

// DeleteCustomer implements [CustomerWriter].
func (t recording) DeleteCustomer(ctx context.Context, id int64) error {
	delete(t.customers, id)
	return t.Tx.DeleteCustomer(ctx, id)
}

// MoveCustomer implements [CustomerMover].
func (t recording) MoveCustomer(ctx context.Context, from, into int64) error {
	delete(t.customers, from)
	t.merged[into] = from
	if s := t.customers[into]; s != nil {
		s.written = true // its addresses change
	}
	return t.Tx.MoveCustomer(ctx, from, into)
}

// watchedRows notes what is read and written of a noun.
type watchedRows[T, F, S any] struct {
	storage.Rows[T, F]
	all   sightings[S]
	by    subscription.Actor
	id    func(*T) int64
	state func(*T) S
	skip  func(F) bool // lists of incomplete rows; nil: none
}

func (w watchedRows[T, F, S]) sawRows(rows []T, err error) ([]T, error) {
	for n := range rows {
		w.all.noteRead(w.id(&rows[n]), w.state(&rows[n]))
	}
	return rows, err
}

func (w watchedRows[T, F, S]) sawRow(row T, err error) (T, error) {
	if err == nil {
		w.all.noteRead(w.id(&row), w.state(&row))
	}
	return row, err
}

// Get implements [storage.RowReader].
func (w watchedRows[T, F, S]) Get(ctx context.Context, id int64) (T, error) {
	row, err := w.Rows.Get(ctx, id)
	return w.sawRow(row, err)
}

// List implements [storage.RowReader].
func (w watchedRows[T, F, S]) List(ctx context.Context, filter F, seek storage.Seek) ([]T, error) {
	rows, err := w.Rows.List(ctx, filter, seek)
	if w.skip != nil && w.skip(filter) {
		return rows, err
	}
	return w.sawRows(rows, err)
}

// ByIDs implements [storage.RowReader].
func (w watchedRows[T, F, S]) ByIDs(ctx context.Context, ids []int64) ([]T, error) {
	rows, err := w.Rows.ByIDs(ctx, ids)
	return w.sawRows(rows, err)
}

// Lock implements [storage.Rows].
func (w watchedRows[T, F, S]) Lock(ctx context.Context, id int64) (T, error) {
	row, err := w.Rows.Lock(ctx, id)
	return w.sawRow(row, err)
}

// LockAll implements [storage.Rows].
func (w watchedRows[T, F, S]) LockAll(ctx context.Context, ids []int64) ([]T, error) {
	rows, err := w.Rows.LockAll(ctx, ids)
	return w.sawRows(rows, err)
}

// Insert implements [storage.Rows].
func (w watchedRows[T, F, S]) Insert(ctx context.Context, rows ...*T) error {
	if err := w.Rows.Insert(ctx, rows...); err != nil {
		return err
	}
	for _, row := range rows {
		w.all.noteWrite(w.id(row), w.state(row), true, w.by)
	}
	return nil
}

// Update implements [storage.Rows]. It reads what nobody has read before.
func (w watchedRows[T, F, S]) Update(ctx context.Context, rows ...*T) error {
	var unknown []int64
	for _, row := range rows {
		if id := w.id(row); w.all[id] == nil {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) > 0 {
		if _, err := w.ByIDs(ctx, unknown); err != nil {
			return err
		}
	}
	if err := w.Rows.Update(ctx, rows...); err != nil {
		return err
	}
	for _, row := range rows {
		w.all.noteWrite(w.id(row), w.state(row), false, w.by)
	}
	return nil
}

// Delete implements [storage.Rows].
func (w watchedRows[T, F, S]) Delete(ctx context.Context, id int64) error {
	delete(w.all, id)
	return w.Rows.Delete(ctx, id)
}
