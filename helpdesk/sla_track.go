package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/sla"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// What is known for the targets of a conversation is in its row. Whoever changes the conversation holds the row, so that
// each event about a target is written in the transaction that changes the target, and once: whatever dies, however many
// servers there are.

// track is what is known of a conversation for its targets.
type track struct {
	sla.Track
	Version int64     `json:"version"`         // RuleSet.SLAs of which it knows
	Awaits  time.Time `json:"awaits,omitzero"` // Conversation.AwaitingSince that it knows
}

func (c Conversation) track() (t track, known bool) {
	return t, c.SLATrack != "" && json.Unmarshal([]byte(c.SLATrack), &t) == nil
}

// Targets returns what has to be done in the conversation in time, of each kind the last one.
func (c Conversation) Targets() []sla.Target {
	t, _ := c.track()
	return t.Targets
}

// DueTarget returns the target that DueAt is about; false: there is none.
func (c Conversation) DueTarget() (sla.Target, bool) {
	t, _ := c.track()
	return t.Due()
}

// JobFor returns a job that says what is due in the conversation from now on; false: nothing is. For archives.
func (c Conversation) JobFor(accountID int64) (storage.Job, bool) {
	t, _ := c.track()
	next := t.Next()
	return dueJob(accountID, c.ID, next), !next.IsZero()
}

func dueJob(accountID, conversationID int64, at time.Time) storage.Job {
	return storage.Job{
		Kind: JobSLA, AccountID: accountID, Subject: conversationID, RunAt: at, UniqueKey: fmt.Sprintf("sla/%d/%d/%d", accountID, conversationID, at.UnixMicro()),
	}
}

// standing returns how the conversation stands for its targets.
func (c Conversation) standing() sla.Standing {
	s := sla.Standing{Snoozed: !c.SnoozedUntil.IsZero()}
	switch {
	case c.IsSpam() || c.Status == StatusDraft:
		s.Status = sla.Aside
	case c.Status == StatusClosed:
		s.Status = sla.Closed
	case c.Status == StatusPending:
		s.Status = sla.Pending
	default:
		s.Status = sla.Open
	}
	return s
}

// Due selects conversations by when a target of theirs is due.
type Due string

// When a target is due.
const (
	DueSoon     Due = "soon" // and not yet overdue
	DueBreached Due = "breached"
	DueToday    Due = "today" // on this day, overdue or not
	DueAny      Due = "any"
)

func (d Due) valid() bool {
	return slices.Contains([]Due{"", DueSoon, DueBreached, DueToday, DueAny}, d)
}

// at returns what it selects at a time.
func (d Due) at(now time.Time, zone *time.Location) DueRange {
	now = now.Truncate(time.Microsecond)
	switch d {
	case DueSoon:
		return DueRange{From: now.Add(time.Microsecond), Before: time.UnixMicro(neverDue).UTC(), Soon: now}
	case DueBreached:
		return DueRange{Before: now.Add(time.Microsecond)}
	case DueToday:
		if zone == nil {
			zone = time.UTC
		}
		year, month, day := now.In(zone).Date()
		return DueRange{From: time.Date(year, month, day, 0, 0, 0, 0, zone), Before: time.Date(year, month, day+1, 0, 0, 0, 0, zone)}
	case DueAny:
		return DueRange{Before: time.UnixMicro(neverDue).UTC()}
	}
	return DueRange{}
}

// compiledSLAs are the SLAs of an account in some version, ready to match.
type compiledSLAs struct {
	version int64
	set     *rules.Set
	of      map[int64]promise
	fields  []Field
}

// promise is what an SLA promises; the zero value promises nothing.
type promise struct {
	policy sla.Policy
	hours  *hours.Calendar // nil: all hours
}

// slaCache keeps the compiled SLAs of accounts, and which accounts have any.
type slaCache struct {
	mu    sync.Mutex
	of    map[int64]compiledSLAs
	known map[int64]slaVersion
	grown int // how often it was told of changes
}

// slaVersion is the version of an account's SLAs at some time.
type slaVersion struct {
	version int64
	until   time.Time // on the clock of the process
}

// keepVersion is how long a process takes it that no other one has changed SLAs. Reading it each time would be one more
// statement in each operation on conversations.
const keepVersion = 10 * time.Second

func newSLACache() *slaCache {
	return &slaCache{of: map[int64]compiledSLAs{}, known: map[int64]slaVersion{}}
}

// slaVersion returns the version of an account's SLAs.
func (s *Service) slaVersion(ctx context.Context, r *record) (int64, error) {
	c := s.slaCache
	c.mu.Lock()
	known, grown := c.known[r.accountID], c.grown
	c.mu.Unlock()
	if time.Now().Before(known.until) {
		return known.version, nil
	}
	until := time.Now().Add(keepVersion)
	set, err := ruleSetOf(ctx, r.tx.Reader())
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCompiled {
		clear(c.known)
	}
	if c.grown == grown { // otherwise it may have been read before a change
		c.known[r.accountID] = slaVersion{set.SLAs, until}
	}
	return set.SLAs, nil
}

// used reports whether an account is known to have SLAs.
func (c *slaCache) used(accountID int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[accountID].version > 0
}

// forget forgets the version of an account's SLAs, after they may have changed.
func (c *slaCache) forget(accountID int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grown++
	delete(c.known, accountID)
}

// slaOccasion is what the conditions of SLAs are compiled for: they have no events.
const slaOccasion = "sla"

// compiledSLAs returns the SLAs of an account in a version, or a later one.
func (s *Service) compiledSLAs(ctx context.Context, r Reader, accountID, version int64) (compiledSLAs, error) {
	s.slaCache.mu.Lock()
	ready := s.slaCache.of[accountID]
	s.slaCache.mu.Unlock()
	if ready.set != nil && ready.version >= version {
		return ready, nil
	}
	stored, err := ruleSetOf(ctx, r)
	if err != nil {
		return compiledSLAs{}, err
	}
	out := compiledSLAs{version: stored.SLAs, of: map[int64]promise{}}
	if out.fields, err = allFields(ctx, r); err != nil {
		return compiledSLAs{}, err
	}
	all, err := allSLAs(ctx, r)
	if err != nil {
		return compiledSLAs{}, err
	}
	calendars, err := calendarNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return compiledSLAs{}, err
	}
	var list []rules.Rule
	for _, one := range all {
		list = append(list, rules.Rule{ID: one.ID, On: []string{slaOccasion}, All: one.All, Any: one.Any})
		p := promise{policy: one.policy()}
		for _, c := range calendars {
			if c.ID == one.CalendarID {
				p.hours, _ = c.Hours() // it was valid when it was stored
			}
		}
		out.of[one.ID] = p
	}
	out.set = rules.Compile(slaVocabulary(out.fields), list)
	s.slaCache.mu.Lock()
	defer s.slaCache.mu.Unlock()
	if len(s.slaCache.of) >= maxCompiled {
		clear(s.slaCache.of)
	}
	s.slaCache.of[accountID] = out
	return out, nil
}

// match returns the SLA of a conversation; 0: none.
func (ready compiledSLAs) match(c Conversation, facts *rules.Facts) int64 {
	on := []string{slaOccasion}
	for r := ready.set.Next(nil, on, c.MailboxID); r != nil; r = ready.set.Next(r, on, c.MailboxID) {
		if r.Matches(facts) {
			return r.ID
		}
	}
	return 0
}

// facts reads what SLAs ask about conversations, with a fixed number of queries.
func (ready compiledSLAs) facts(ctx context.Context, r Reader, all []Conversation) (map[int64]*rules.Facts, error) {
	out, ids, customers := map[int64]*rules.Facts{}, []int64{}, []int64{}
	for _, c := range all {
		f := rules.NewFacts(nil, nil)
		setPlainFacts(f, c)
		out[c.ID], ids, customers = f, append(ids, c.ID), append(customers, c.CustomerID)
	}
	uses := func(prefix string) bool { return ready.set.Uses([]string{slaOccasion}, prefix) }
	if uses(rules.FieldTags) {
		found, err := r.Marks(ctx, MarksQuery{ConversationIDs: ids, Tags: true})
		if err != nil {
			return nil, err
		}
		tags := map[int64][]int64{}
		for _, m := range found {
			for _, t := range m.Tags {
				tags[m.ConversationID] = append(tags[m.ConversationID], t.ID)
			}
		}
		for id, f := range out {
			f.Set(rules.FieldTags, idTexts(sortedSet(tags[id]))...)
		}
	}
	if uses(rules.PrefixField) {
		of := func(id int64) []*rules.Facts { return []*rules.Facts{out[id]} }
		if err := addFieldFacts(ctx, r, ready.fields, FieldOfConversation, ids, rules.PrefixField, of); err != nil {
			return nil, err
		}
	}
	if !uses("customer.") && !uses("company.") {
		return out, nil
	}
	return out, ready.customerFacts(ctx, r, all, sortedSet(customers), out)
}

// customerFacts adds what SLAs ask about customers and their companies.
func (ready compiledSLAs) customerFacts(ctx context.Context, r Reader, all []Conversation, ids []int64, facts map[int64]*rules.Facts) error {
	found, err := r.CustomersByID(ctx, ids)
	if err != nil {
		return err
	}
	customers, companies := map[int64]Customer{}, map[int64]Company{}
	var of []int64
	for _, c := range found {
		customers[c.ID] = c
		if c.CompanyID != 0 {
			of = append(of, c.CompanyID)
		}
	}
	if len(of) > 0 {
		some, err := companyNoun().Reader(r).ByIDs(ctx, sortedSet(of))
		if err != nil {
			return err
		}
		for _, c := range some {
			companies[c.ID] = c
		}
	}
	by, works := map[int64][]*rules.Facts{}, map[int64][]*rules.Facts{}
	for _, c := range all {
		customer := customers[c.CustomerID]
		setPersonFacts(facts[c.ID], customer, companies[customer.CompanyID])
		by[c.CustomerID] = append(by[c.CustomerID], facts[c.ID])
		works[customer.CompanyID] = append(works[customer.CompanyID], facts[c.ID])
	}
	if err := addFieldFacts(ctx, r, ready.fields, FieldOfCompany, sortedSet(append(of, 0)), rules.PrefixCompanyField, func(id int64) []*rules.Facts { return works[id] }); err != nil {
		return err
	}
	return addFieldFacts(ctx, r, ready.fields, FieldOfCustomer, ids, rules.PrefixCustomerField, func(id int64) []*rules.Facts { return by[id] })
}

// addFieldFacts adds the account's own fields of several subjects.
func addFieldFacts(ctx context.Context, r Reader, fields []Field, kind FieldKind, ids []int64, prefix string, of func(id int64) []*rules.Facts) error {
	if fields = slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return f.AppliesTo != kind }); len(fields) == 0 {
		return nil
	}
	values, err := r.FieldValues(ctx, kind, ids)
	for _, id := range ids {
		for _, facts := range of(id) {
			for _, f := range fields {
				facts.Set(prefix+f.Key, textsIn(valuesOfSubject(values, id), f.ID)...)
			}
		}
	}
	return err
}

// measuring is what a transaction makes of the targets of conversations.
type measuring struct {
	svc   *Service
	r     *record
	now   time.Time
	ready compiledSLAs
	rows  []*Conversation
	jobs  []storage.Job
}

// measure computes the targets of the conversations that a transaction changed, before their events get their changes. An
// account that never had an SLA costs nothing.
func (s *Service) measure(ctx context.Context, r *record) error {
	ids := r.toMeasure()
	if len(ids) == 0 {
		return nil
	}
	version, err := s.slaVersion(ctx, r)
	if err != nil {
		return err
	}
	version = max(version, r.slas)
	var all []Conversation
	for _, id := range ids {
		t, _ := r.conversations[id].last.track()
		version = max(version, t.Version)
		all = append(all, r.conversations[id].last)
	}
	if version == 0 {
		r.measured(ids)
		return nil
	}
	m := &measuring{svc: s, r: r, now: r.now().UTC().Truncate(time.Microsecond)}
	if m.ready, err = s.compiledSLAs(ctx, r.tx.Whole(), r.accountID, version); err != nil {
		return err
	}
	facts, err := m.ready.facts(ctx, r.tx.Whole(), all)
	if err != nil {
		return err
	}
	for _, c := range all {
		if err := m.one(ctx, c, facts[c.ID]); err != nil {
			return err
		}
	}
	r.measured(ids)
	return m.store(ctx)
}

// toMeasure returns the conversations that the transaction wrote since they were measured. Those created without an event
// are parts of an import.
func (r *record) toMeasure() []int64 {
	created := map[int64]bool{}
	for _, h := range r.held {
		created[h.Subject] = created[h.Subject] || h.Type == "conversation.created"
	}
	for _, e := range r.ready {
		created[e.Subject] = created[e.Subject] || e.Type == "conversation.created"
	}
	var ids []int64
	for id, s := range r.conversations {
		if s.touched && (!s.isNew || created[id]) || r.remeasure[id] {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// measured notes that conversations are measured as they are now.
func (r *record) measured(ids []int64) {
	for _, id := range ids {
		s := r.conversations[id]
		s.origin, s.isNew, s.touched = s.last, false, false
		delete(r.remeasure, id)
	}
}

// answers reports whether somebody answered in a conversation in this transaction. Otherwise the question went away.
func (r *record) answers(id int64) bool {
	answer := func(e storage.Event) bool {
		return e.ConversationID == id && slices.Contains([]string{"interaction.created", "interaction.posted", "interaction.delivery_queued", "conversation.created"}, e.Type)
	}
	return slices.ContainsFunc(r.held, func(h heldEvent) bool { return answer(h.Event) }) || slices.ContainsFunc(r.ready, answer)
}

// one computes the targets of a conversation.
func (m *measuring) one(ctx context.Context, c Conversation, facts *rules.Facts) error {
	s := m.r.conversations[c.ID]
	t, known := c.track()
	id := m.ready.match(c, facts)
	p := m.ready.of[id]
	standing := c.standing()
	var moments []sla.Moment
	switch {
	case t.Version > m.ready.version:
		return nil // an archive is being imported, and what its conversations refer to is not all there yet
	case !known && !s.isNew && s.origin.standing() == standing && s.origin.AwaitingSince.Equal(c.AwaitingSince):
		return nil // it began before there was an SLA, and nothing happened
	case !known && !s.isNew:
		t.Track, t.Awaits = sla.Started(s.origin.standing(), s.origin.CreatedAt), s.origin.AwaitingSince
	case !known:
		moments = append(moments, sla.Moment{At: m.now, Kind: sla.Began, Standing: standing})
		if c.AwaitingSince.IsZero() { // we began it
			moments = append(moments, sla.Moment{At: m.now, Kind: sla.Answered})
		}
	case id != c.SLAID || t.Version != m.ready.version:
		moments = append(moments, sla.Moment{At: m.now, Kind: sla.Changed, Policy: p.policy, Calendar: p.hours})
	default:
		moments = append(moments, sla.Moment{At: m.now, Kind: sla.Passed})
	}
	if t.Standing != standing && !s.isNew {
		moments = append(moments, sla.Moment{At: m.now, Kind: sla.Stood, Standing: standing})
	}
	switch awaits := c.AwaitingSince; {
	case awaits.Equal(t.Awaits):
	case !awaits.IsZero():
		since := awaits
		if since.After(m.now) {
			since = m.now
		}
		moments = append(moments, sla.Moment{At: m.now, Kind: sla.Wrote, Since: since})
	case m.r.answers(c.ID):
		moments = append(moments, sla.Moment{At: m.now, Kind: sla.Answered})
	default:
		moments = append(moments, sla.Moment{At: m.now, Kind: sla.Withdrew})
	}
	due, next := c.DueAt, t.Next()
	for _, moment := range moments {
		for _, o := range t.Step(p.policy, p.hours, moment) {
			if err := m.tell(ctx, c, cmp.Or(id, c.SLAID), o); err != nil {
				return err
			}
		}
	}
	t.Version, t.Awaits = m.ready.version, c.AwaitingSince
	return m.note(c, id, t, due, next)
}

// note notes what a conversation is to become.
func (m *measuring) note(c Conversation, id int64, t track, due, next time.Time) error {
	text, err := json.Marshal(t)
	if err != nil {
		return fault.Wrap(fault.Internal, "encoding targets", err)
	}
	old := c
	replanned := c.SLATrack != "" && (id != c.SLAID || m.r.remeasure[c.ID])
	first, _ := t.Due()
	c.SLAID, c.SLATrack, c.DueAt, c.SoonAt = id, string(text), first.DueAt, first.SoonAt
	if c != old {
		m.rows = append(m.rows, &c)
	}
	if replanned && !due.Equal(c.DueAt) {
		m.r.dues[c.ID] = [2]time.Time{due, c.DueAt}
	}
	if at := t.Next(); !at.IsZero() && !at.Equal(next) {
		m.jobs = append(m.jobs, dueJob(m.r.accountID, c.ID, at))
	}
	return nil
}

// toldTarget is a target in the data of an event.
type toldTarget struct {
	Kind      sla.Kind  `json:"kind"`
	StartedAt time.Time `json:"started_at"`
	DueAt     time.Time `json:"due_at"`
	Paused    int64     `json:"paused_seconds"`
}

// tell writes the event of what became of a target.
func (m *measuring) tell(ctx context.Context, c Conversation, slaID int64, o sla.Outcome) error {
	of := o.Target
	data, err := json.Marshal(map[string]any{"id": slaID, "conversation_id": c.ID, "target": toldTarget{of.Kind, of.StartedAt, of.DueAt, of.Seconds}})
	if err != nil {
		return fault.Wrap(fault.Internal, "encoding an event", err)
	}
	e := storage.Event{Type: "sla." + string(o.Kind), Subject: slaID, MailboxID: c.MailboxID, ConversationID: c.ID, Data: data, Time: m.now}
	return recording{Tx: m.r.tx, record: m.r, by: subscription.Actor{Type: subscription.ActorSLA, ID: slaID}}.Emit(ctx, e)
}

// SLAOutcomeEvent reports whether events of a type say what became of a target, and not that an SLA changed.
func SLAOutcomeEvent(kind string) bool {
	return slices.Contains([]string{"sla.due_soon", "sla.breached", "sla.met"}, kind)
}

// store writes the conversations, and has jobs say what becomes due.
func (m *measuring) store(ctx context.Context) error {
	if len(m.rows) > 0 {
		if err := m.r.tx.Conversations().Update(ctx, m.rows...); err != nil {
			return err
		}
	}
	for _, c := range m.rows {
		s := m.r.conversations[c.ID]
		by := s.by
		if !s.written {
			by = subscription.Actor{Type: subscription.ActorSLA, ID: c.SLAID}
		}
		m.r.conversations.noteWrite(c.ID, *c, false, by)
		s.origin, s.touched = *c, false
	}
	if len(m.jobs) == 0 {
		return nil
	}
	return m.r.tx.Enqueue(ctx, m.jobs...)
}

// TellDue runs a [JobSLA] job: it writes the events of targets that have become due soon, or were not met in time, and
// enqueues the next one. Each is written once, in the transaction that notes it in the conversation's row.
func (j Jobs) TellDue(ctx context.Context, job storage.ClaimedJob) error {
	err := j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) error {
		c, err := tx.Conversations().Lock(ctx, job.Subject)
		if err != nil {
			return err
		}
		recordingOf(tx).remeasure[c.ID] = true
		return nil
	})
	return ignoreMissing(err)
}

// measureBatch is the number of conversations that one transaction computes.
const measureBatch = 100

// toMeasureAll is the payload of [JobMeasure].
type toMeasureAll struct {
	Version int64 `json:"version"` // RuleSet.SLAs
}

// slasChanged notes that the SLAs of an account, or their calendars, have changed, and enqueues jobs that compute the running
// targets again: one at once, and one when no process relies on the former version any more. The caller has locked the
// account.
func (s *Service) slasChanged(ctx context.Context, tx Tx, accountID int64, first bool) error {
	set, err := ruleSetOf(ctx, tx.Reader())
	if err != nil || set.SLAs == 0 && !first {
		return err
	}
	set.SLAs++
	if set.ID == 0 {
		err = ruleSetNoun().Rows(tx).Insert(ctx, &set)
	} else {
		err = ruleSetNoun().Rows(tx).Update(ctx, &set)
	}
	if err != nil {
		return err
	}
	payload, err := json.Marshal(toMeasureAll{set.SLAs})
	if err != nil {
		return fault.Wrap(fault.Internal, "encoding a job", err)
	}
	job := storage.Job{Kind: JobMeasure, AccountID: accountID, Payload: payload}
	again := job
	again.RunAt = s.now().Add(keepVersion + 5*time.Second)
	return tx.Enqueue(ctx, job, again)
}

// MeasureAll runs a [JobMeasure] job: it computes the targets of open conversations again after an SLA or a calendar has
// changed, in small transactions. What was met or breached stays so. Closed ones follow when they are opened again. It is
// idempotent.
func (j Jobs) MeasureAll(ctx context.Context, job storage.ClaimedJob) error {
	var in toMeasureAll
	if err := json.Unmarshal(job.Payload, &in); err != nil {
		return fault.Wrap(fault.Internal, "reading a job", err)
	}
	var from *storage.Position
	for more := true; more; {
		err := j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) error {
			t := recordingOf(tx)
			order := ConversationOrder{ConversationFilter: ConversationFilter{Statuses: []Status{StatusPosted, StatusPending}}, Sort: ByCreated}
			page, err := t.Tx.Conversations().List(ctx, order, storage.Seek{From: from, Limit: measureBatch})
			more = len(page) == measureBatch
			if err != nil || len(page) == 0 {
				return err
			}
			ids := map[int64]bool{}
			for _, c := range page {
				ids[c.ID] = c.SLATrack != ""
			}
			maps.DeleteFunc(ids, func(_ int64, tracked bool) bool { return !tracked })
			locked, err := t.Conversations().LockAll(ctx, slices.Sorted(maps.Keys(ids)))
			for _, c := range locked {
				t.remeasure[c.ID] = true
			}
			t.record.slas = in.Version
			last := page[len(page)-1]
			from = &storage.Position{Key: last.SortKey(ByCreated), ID: last.ID}
			return err
		})
		if fault.Is(err, fault.NotFound) {
			return nil // the account was deleted
		}
		if err != nil {
			return err
		}
	}
	return nil
}
