package helpdesk

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/helpdesk/sla"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// Facts follow the log of events. Of each batch of events, the conversations that they are about are read as they are now, and
// what only events tell is added to what the facts have kept. A fact and the position in the log are written in one transaction,
// which does nothing if another process was faster: whatever dies, each event is told once, and folding it again changes nothing.

const (
	// foldBatch is the number of events that are folded together.
	foldBatch = 1000
	// refoldBatch is the number of conversations that are folded again together.
	refoldBatch = 500
	// foldEvery is how often the events of an account are folded at most.
	foldEvery = 5 * time.Second
)

// foldJob returns the job that folds what has happened until a time, a moment later. Its key has the time, so that a job that
// runs already does not stand for it.
func foldJob(accountID int64, now time.Time) storage.Job {
	at := now.UTC().Truncate(foldEvery).Add(foldEvery)
	return storage.Job{Kind: JobFacts, AccountID: accountID, RunAt: at.Add(time.Second), UniqueKey: fmt.Sprintf("facts/%d/%d", accountID, at.Unix())}
}

// enqueueFold enqueues a job that folds the events of the transaction.
func (r *record) enqueueFold(ctx context.Context) error {
	if !slices.ContainsFunc(r.ready, folds) {
		return nil
	}
	return r.tx.Enqueue(ctx, foldJob(r.accountID, r.now()))
}

// unfolded are the types of events in conversations that no fact knows of.
func unfolded() []string {
	return []string{"conversation.presence", "conversation.followed", "interaction.seen"}
}

// folds reports whether facts follow from an event.
func folds(e storage.Event) bool {
	return e.ConversationID != 0 && !slices.Contains(unfolded(), e.Type) || refolds(e) || e.Type == movedIn
}

// movedIn is the event of an import, whose data has the ids of the conversations as conversation_ids.
const movedIn = "mailbox.moved_in"

// refolds reports whether all facts may follow from an event.
func refolds(e storage.Event) bool {
	return slices.Contains([]string{"account.created", "tag.deleted", "calendar.created", "calendar.updated", "calendar.deleted", "sla.updated", "sla.deleted"}, e.Type)
}

// toldConversations is the part of an event's data that names other conversations.
type toldConversations struct {
	ConversationIDs []int64 `json:"conversation_ids"` // of movedIn
	Into            int64   `json:"into"`             // of conversation.split
	From            int64   `json:"from"`             // of conversation.absorbed
}

// conversationsOf returns the conversations whose facts follow from an event.
func conversationsOf(e storage.Event) []int64 {
	if !folds(e) {
		return nil
	}
	ids := []int64{e.ConversationID}
	switch e.Type {
	case movedIn, "conversation.split", "conversation.absorbed":
		var told toldConversations
		_ = json.Unmarshal(e.Data, &told) // came from JSON
		ids = append(append(ids, told.ConversationIDs...), told.Into, told.From)
	case "interaction.moved":
		c := subscription.ChangedBy(e).Changes["conversation_id"]
		for _, side := range []storage.Opt[any]{c.From, c.To} {
			id, _ := side.Or(int64(0)).(int64)
			ids = append(ids, id)
		}
	}
	return slices.DeleteFunc(ids, func(id int64) bool { return id == 0 })
}

// stepsOf returns what an event told of its conversation.
func stepsOf(e storage.Event) []report.Step {
	step := func(w report.What) []report.Step { return []report.Step{{At: e.Time, What: w}} }
	switch {
	case e.Type == "sla.met" || e.Type == "sla.breached":
		var why HistoryReason
		if json.Unmarshal(e.Data, &why) != nil || !slices.Contains(sla.Kinds(), why.Target.Kind) {
			return nil
		}
		if e.Type == "sla.met" {
			return step(report.Ended(report.Met, why.Target.Kind))
		}
		return step(report.Ended(report.Breached, why.Target.Kind))
	case areaOf(e.Type) != "conversation":
		return nil
	}
	changes := subscription.ChangedBy(e).Changes
	if spam, changed := changes["spam"]; changed {
		if spam.To.Or(false) == true {
			return step(report.BecameSpam)
		}
		return step(report.IsNoSpam)
	}
	status, changed := changes["status"]
	from, to := status.From.Or(""), status.To.Or("")
	switch {
	case !changed:
		return nil
	case to == string(StatusClosed):
		return step(report.WasClosed)
	case from == string(StatusClosed):
		return step(report.WasReopened)
	}
	return nil
}

// FoldFacts runs a [JobFacts] job: it folds the events of the account that were not folded yet, batch by batch.
func (j Jobs) FoldFacts(ctx context.Context, job storage.ClaimedJob) error {
	for more := true; more; {
		var err error
		if more, err = j.svc.foldSome(ctx, job.AccountID); err != nil {
			return ignoreMissing(err)
		}
	}
	return nil
}

// RebuildFacts makes the facts of all conversations of an account again, and returns how many there are: 0 means all accounts.
// Facts that were right stay the same, byte by byte. It may be interrupted: what is left is done in the background.
func (s *Service) RebuildFacts(ctx context.Context, accountID int64) (conversations int, err error) {
	rebuild := func(id int64) error {
		err := s.cfg.Store.InTx(ctx, Scope{AccountID: id}, func(ctx context.Context, tx Tx) error {
			if err := s.refoldAll(ctx, tx, id); err != nil {
				return err
			}
			return tx.Enqueue(ctx, foldJob(id, s.now()))
		})
		for more := true; more && err == nil; {
			more, err = s.foldSome(ctx, id)
		}
		if err != nil {
			return err
		}
		n, err := s.countFacts(ctx, id)
		conversations += n
		return err
	}
	if accountID != 0 {
		return conversations, rebuild(accountID)
	}
	list := func(seek storage.Seek) ([]identity.Account, error) { return s.cfg.Store.Accounts(ctx, seek) }
	err = each(list, func(a identity.Account) int64 { return a.ID }, func(a identity.Account) error { return ignoreMissing(rebuild(a.ID)) })
	return conversations, err
}

// countFacts counts the facts of an account.
func (s *Service) countFacts(ctx context.Context, accountID int64) (int, error) {
	r := s.cfg.Store.Within(Scope{AccountID: accountID})
	facts, err := r.Facts(ctx, report.Read{Clock: report.Created, From: time.Unix(0, 0), To: report.NeverClosed(), Columns: []report.Column{report.ColumnConversation}})
	return len(facts), err
}

// refoldAll has all conversations of an account folded again, from the beginning.
func (s *Service) refoldAll(ctx context.Context, tx Tx, accountID int64) error {
	if err := tx.LockAccount(ctx); err != nil {
		return err
	}
	log, err := factLogOf(ctx, tx.Reader())
	if err != nil {
		return err
	}
	log.Again, log.AgainAt, log.AgainID = true, time.Time{}, 0
	if log.ID != 0 {
		return factLogNoun().Rows(tx).Update(ctx, &log)
	}
	if log.Seq, err = tx.LastEvent(ctx); err != nil {
		return err
	}
	log.FoldedAt = s.now()
	return factLogNoun().Rows(tx).Insert(ctx, &log)
}

// foldSome folds a batch of events, or of conversations that are folded again, and reports whether there may be more.
func (s *Service) foldSome(ctx context.Context, accountID int64) (more bool, err error) {
	scope := Scope{AccountID: accountID}
	r := s.cfg.Store.Within(scope)
	log, err := factLogOf(ctx, r)
	if err != nil {
		return false, err
	}
	if log.ID == 0 {
		return true, s.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error {
			if err := tx.LockAccount(ctx); err != nil {
				return err
			}
			if log, err := factLogOf(ctx, tx.Reader()); err != nil || log.ID != 0 {
				return err
			}
			return s.refoldAll(ctx, tx, accountID)
		})
	}
	events, err := r.Events(ctx, subscription.EventFilter{}, storage.Seek{From: &storage.Position{ID: log.Seq}, Limit: foldBatch})
	if err != nil {
		return false, err
	}
	next := log
	f := &folder{r: r}
	switch {
	case len(events) > 0:
		next.Seq, next.FoldedAt = events[len(events)-1].Seq, events[len(events)-1].Time
		if slices.ContainsFunc(events, refolds) {
			next.Again, next.AgainAt, next.AgainID = true, time.Time{}, 0
		}
		more = len(events) == foldBatch || next.Again
		err = f.foldEvents(ctx, events)
	case log.Again:
		more = true
		err = f.foldPage(ctx, &next)
	default:
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return more, s.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error {
		if now, err := factLogNoun().Rows(tx).Lock(ctx, log.ID); err != nil || now != log {
			more = true // another process was faster
			return err
		}
		if err := f.writeFacts(ctx, tx); err != nil {
			return err
		}
		return factLogNoun().Rows(tx).Update(ctx, &next)
	})
}

// folder makes the facts of some conversations.
type folder struct {
	r     Reader
	ids   []int64 // of the conversations, whether they have facts or not
	facts []ConversationFact
}

// foldEvents makes the facts of the conversations that events are about. What facts have kept is all that earlier events told.
func (f *folder) foldEvents(ctx context.Context, events []storage.Event) error {
	told := map[int64][]report.Step{}
	for _, e := range events {
		f.ids = append(f.ids, conversationsOf(e)...)
		if steps := stepsOf(e); e.ConversationID != 0 && len(steps) > 0 {
			told[e.ConversationID] = append(told[e.ConversationID], steps...)
		}
	}
	if f.ids = sortedSet(f.ids); len(f.ids) == 0 {
		return nil
	}
	kept, err := f.kept(ctx)
	if err != nil {
		return err
	}
	var fresh []int64
	for _, id := range f.ids {
		if _, known := kept[id]; !known {
			fresh = append(fresh, id)
		}
	}
	if err := f.readSteps(ctx, fresh, told); err != nil {
		return err
	}
	found, err := f.r.Conversations().ByIDs(ctx, f.ids)
	if err != nil {
		return err
	}
	return f.fold(ctx, found, kept, told)
}

// foldPage makes the facts of the next page of conversations, and notes in the log how far it came.
func (f *folder) foldPage(ctx context.Context, log *FactLog) error {
	seek := storage.Seek{Limit: refoldBatch}
	if log.AgainID != 0 {
		seek.From = &storage.Position{Key: log.AgainAt.UnixMicro(), ID: log.AgainID}
	}
	found, err := f.r.Conversations().List(ctx, ConversationOrder{}, seek)
	if err != nil {
		return err
	}
	if log.Again = len(found) == refoldBatch; log.Again {
		last := found[len(found)-1]
		log.AgainAt, log.AgainID = last.CreatedAt, last.ID
	} else {
		log.AgainAt, log.AgainID = time.Time{}, 0
	}
	for _, c := range found {
		f.ids = append(f.ids, c.ID)
	}
	if len(found) == 0 {
		return nil
	}
	kept, err := f.kept(ctx)
	if err != nil {
		return err
	}
	told := map[int64][]report.Step{}
	if err := f.readSteps(ctx, f.ids, told); err != nil {
		return err
	}
	return f.fold(ctx, found, kept, told)
}

// kept returns the steps that the facts of the conversations have.
func (f *folder) kept(ctx context.Context) (map[int64][]report.Step, error) {
	found, err := conversationFactNoun().Reader(f.r).List(ctx, ConversationFactFilter{f.ids}, storage.Seek{Limit: storage.NoLimit})
	kept := map[int64][]report.Step{}
	for _, one := range found {
		kept[one.ConversationID] = one.Steps
	}
	return kept, err
}

// readSteps adds what all events of conversations told.
func (f *folder) readSteps(ctx context.Context, ids []int64, told map[int64][]report.Step) error {
	if len(ids) == 0 {
		return nil
	}
	seek := storage.Seek{Limit: maxPast}
	for more := true; more; {
		// Types in the filter would make PostgreSQL read all events of these types.
		events, err := f.r.Events(ctx, subscription.EventFilter{ConversationIDs: ids}, seek)
		if err != nil {
			return err
		}
		for _, e := range events {
			told[e.ConversationID] = append(told[e.ConversationID], stepsOf(e)...)
			seek.From = &storage.Position{ID: e.Seq}
		}
		more = len(events) == maxPast
	}
	return nil
}

// fold makes facts. Spam and drafts have none.
func (f *folder) fold(ctx context.Context, found []Conversation, kept, told map[int64][]report.Step) error {
	found = slices.DeleteFunc(found, func(c Conversation) bool { return c.IsSpam() || c.Status == StatusDraft })
	if len(found) == 0 {
		return nil
	}
	ids := make([]int64, len(found))
	for n, c := range found {
		ids[n] = c.ID
	}
	messages := map[int64][]report.Message{}
	said, err := f.r.Contributions(ctx, ids)
	if err != nil {
		return err
	}
	for _, m := range said {
		messages[m.ConversationID] = append(messages[m.ConversationID], m)
	}
	marks, err := f.r.Marks(ctx, MarksQuery{ConversationIDs: ids, Tags: true})
	if err != nil {
		return err
	}
	tags := map[int64][]int64{}
	for _, m := range marks {
		for _, t := range m.Tags {
			tags[m.ConversationID] = append(tags[m.ConversationID], t.ID)
		}
	}
	ratings := map[int64]report.Rating{}
	rated, err := ratingsOf(ctx, f.r, ids...)
	if err != nil {
		return err
	}
	for _, r := range rated { // oldest first
		if r.Answered() {
			ratings[r.ConversationID] = report.Rating{Verdict: string(r.Verdict), At: r.AnsweredAt, UserID: r.UserID}
		}
	}
	business, err := f.businessHours(ctx)
	if err != nil {
		return err
	}
	for _, c := range found {
		fact := report.Fold(report.Input{
			ConversationID: c.ID, Number: c.Number, CreatedAt: c.CreatedAt, MailboxID: c.MailboxID, TeamID: c.TeamID, UserID: c.UserID, SLAID: c.SLAID,
			Channel: c.Channel, Closed: c.Status == StatusClosed, Messages: messages[c.ID], Tags: tags[c.ID], Targets: c.Targets(), Rating: ratings[c.ID],
			Kept: kept[c.ID], Told: told[c.ID], Hours: business(c.SLAID),
		})
		f.facts = append(f.facts, storedFact(fact))
	}
	return nil
}

// businessHours returns which hours count for the business reply: those of an SLA, otherwise those of the oldest calendar.
func (f *folder) businessHours(ctx context.Context) (func(slaID int64) *hours.Calendar, error) {
	calendars, err := calendarNoun().Reader(f.r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return nil, err
	}
	of := map[int64]*hours.Calendar{}
	var oldest *hours.Calendar
	for n, c := range calendars {
		of[c.ID], _ = c.Hours() // it was valid when it was stored
		if n == 0 {
			oldest = of[c.ID]
		}
	}
	policies, err := allSLAs(ctx, f.r)
	bySLA := map[int64]*hours.Calendar{}
	for _, p := range policies {
		bySLA[p.ID] = of[p.CalendarID]
	}
	return func(slaID int64) *hours.Calendar {
		if own := bySLA[slaID]; own != nil {
			return own
		}
		return oldest
	}, err
}

// writeFacts writes the facts of the conversations that still exist, and deletes those of the others.
func (f *folder) writeFacts(ctx context.Context, tx Tx) error {
	if len(f.ids) == 0 {
		return nil
	}
	if err := tx.DeleteFacts(ctx, f.ids); err != nil {
		return err
	}
	found, err := tx.Conversations().ByIDs(ctx, f.ids)
	if err != nil {
		return err
	}
	there := map[int64]bool{}
	for _, c := range found {
		there[c.ID] = true
	}
	stored := slices.DeleteFunc(slices.Clone(f.facts), func(s ConversationFact) bool { return !there[s.ConversationID] })
	if len(stored) == 0 {
		return nil
	}
	return conversationFactNoun().Rows(tx).Insert(ctx, storage.Pointers(stored)...)
}
