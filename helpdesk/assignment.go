package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/assign"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// A conversation that gets a team and no user, in whatever way, is handed out in the same transaction: recordedStore notices it
// before the commit and calls Service.handOut. What nobody can take waits in the team's queue, which is every open conversation of
// the team without a user. Whatever may end the waiting enqueues a job, and while something waits, the job looks again.
//
// Locks are taken in this order: conversations, teams, the account. The last one makes loads true until the commit: whoever
// hands out in the account takes it.

// handOutBatch is the number of conversations that one transaction of a job hands out.
const handOutBatch = 50

// How long it takes until a job looks at a team again: while something waits, for working hours that begin; otherwise, for
// members who go away.
const (
	lookAtQueue   = time.Minute
	lookAtMembers = 5 * time.Minute
)

// AssignmentReason says why a team gave a conversation to a member, or took it back: the conditions that held. It is in the
// data of the event, as "assignment".
type AssignmentReason struct {
	Reason   assign.Reason   `json:"reason"` // one of those of a choice, or assign.Away
	Strategy assign.Strategy `json:"strategy"`
	Who      assign.Who      `json:"who"`
	Capacity int             `json:"capacity,omitempty"` // 0: no limit
	Load     int             `json:"load"`               // open conversations that the member had before
	Free     int             `json:"free"`               // members who could take it
	Of       int             `json:"of"`                 // members of the team
	Hours    int             `json:"hours,omitempty"`    // of assign.Away: after which it was taken back
}

// busies reports whether the conversation counts in the load of its user: open conversations do.
func (c Conversation) busies() bool {
	return c.UserID != 0 && c.Status.Open() && c.SnoozedUntil.IsZero()
}

// queued reports whether the conversation waits in the queue of its team.
func (c Conversation) queued() bool {
	return c.TeamID != 0 && c.UserID == 0 && c.Status.Open() && c.SnoozedUntil.IsZero()
}

// QueuedSince returns since when the customer waits for a reply, or else when the conversation began. A team's queue is in
// its order, the most urgent ones first.
func (c Conversation) QueuedSince() time.Time {
	if c.AwaitingSince.IsZero() {
		return c.CreatedAt
	}
	return c.AwaitingSince
}

// queuePosition returns the place of a conversation in a queue.
func (c Conversation) queuePosition() storage.Position {
	rank := slices.Index(queueRanks(), c.Priority)
	return storage.Position{Key: int64(rank)<<rankBits + c.QueuedSince().UnixMicro(), ID: c.ID}
}

// rankBits has room for the microseconds of a time below the rank of a priority.
const rankBits = 56

// queueRanks are the priorities, the most urgent first.
func queueRanks() []Priority {
	ranks := Priorities()
	slices.Reverse(ranks)
	return ranks
}

func compareQueued(a, b Conversation) int {
	p, q := a.queuePosition(), b.queuePosition()
	return cmp.Or(cmp.Compare(p.Key, q.Key), cmp.Compare(p.ID, q.ID))
}

// queueFilter selects the queue of a team.
func queueFilter(teamID int64) ConversationFilter {
	return ConversationFilter{
		TeamID: storage.Some(teamID), UserID: storage.Null[int64](), Statuses: []Status{StatusPosted, StatusPending}, Snoozed: storage.Some(false),
	}
}

// conversationLister lists conversations: a reader or a transaction.
type conversationLister func(ctx context.Context, o ConversationOrder, seek storage.Seek) ([]Conversation, error)

// shortQueue is the length up to which a queue is read and sorted at once.
const shortQueue = 200

// queueOf lists the queue of a team in order.
func queueOf(ctx context.Context, list conversationLister, teamID int64, seek storage.Seek) ([]Conversation, error) {
	all, err := list(ctx, ConversationOrder{ConversationFilter: queueFilter(teamID), Sort: ByCreated}, storage.Seek{Limit: shortQueue})
	if err != nil {
		return nil, err
	}
	if len(all) == shortQueue {
		if all, err = longQueue(ctx, list, teamID, seek); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, compareQueued)
	if seek.From != nil {
		all = slices.DeleteFunc(all, func(c Conversation) bool {
			p := c.queuePosition()
			return cmp.Or(cmp.Compare(p.Key, seek.From.Key), cmp.Compare(p.ID, seek.From.ID)) <= 0
		})
	}
	return all[:min(len(all), seek.Limit)], nil
}

// longQueue reads at least as many conversations of a long queue as are asked for: of each priority those that wait for a
// reply, and the others, as there are indexes for both.
func longQueue(ctx context.Context, list conversationLister, teamID int64, seek storage.Seek) ([]Conversation, error) {
	var all []Conversation
	for rank, priority := range queueRanks() {
		from := (*storage.Position)(nil)
		if seek.From != nil {
			at := seek.From.Key >> rankBits
			if at > int64(rank) {
				continue
			}
			if at == int64(rank) {
				from = &storage.Position{Key: seek.From.Key - at<<rankBits, ID: seek.From.ID}
			}
		}
		for _, waits := range []bool{true, false} {
			o := ConversationOrder{ConversationFilter: queueFilter(teamID), Sort: ByCreated}
			o.Priorities, o.Awaiting = []Priority{priority}, storage.Some(waits)
			if waits {
				o.Sort = ByAwaiting
			}
			some, err := list(ctx, o, storage.Seek{From: from, Limit: seek.Limit})
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
		if len(all) >= seek.Limit {
			break
		}
	}
	return all, nil
}

// crew is what the choice among members depends on.
type crew struct {
	now     time.Time
	members map[int64]*hand // by user
}

// hand is a member of an account.
type hand struct {
	identity.Membership
	reached
	load int
	able bool // may answer conversations
}

// crewOf reads the members of an account with their open conversations, with a fixed number of queries. The reader must have all
// mailboxes.
func (s *Service) crewOf(ctx context.Context, r Reader) (crew, error) {
	all := crew{now: s.now(), members: map[int64]*hand{}}
	members, err := r.Memberships().List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return all, err
	}
	roles, err := roleNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return all, err
	}
	for _, m := range members {
		grant := identity.Grant{Membership: m}
		for _, role := range roles {
			if slices.Contains(m.RoleIDs, role.ID) {
				grant.Roles = append(grant.Roles, role)
			}
		}
		may := s.held(grant, nil)
		all.members[m.UserID] = &hand{
			Membership: m, reached: reached{userID: m.UserID, mailboxes: m.MailboxIDs, may: may},
			able: may.Has(identity.ConversationsView) && may.Has(identity.InteractionsCreate),
		}
	}
	users, err := r.UsersByID(ctx, slices.Sorted(maps.Keys(all.members)))
	if err != nil {
		return all, err
	}
	for _, u := range users {
		if h := all.members[u.ID]; h != nil && u.Disabled() {
			h.able = false
		}
	}
	counted, err := r.Count(ctx, CountQuery{Maintained: true})
	for _, n := range counted.Maintained {
		if h := all.members[n.UserID]; h != nil && n.TagID == 0 && n.Status.Open() && !n.Snoozed {
			h.load += int(n.N)
		}
	}
	return all, err
}

// of returns the members of a team, as far as a conversation in a mailbox is concerned; 0: any that they reach.
func (a crew) of(t Team, mailboxID int64) []assign.Member {
	var members []assign.Member
	for _, id := range t.MemberIDs {
		h := a.members[id]
		if h == nil {
			continue
		}
		members = append(members, assign.Member{
			ID: id, Load: h.load, Turn: slices.Index(t.TurnIDs, id) + 1, Online: h.Online(a.now), OnDuty: h.Availability.OnDuty(a.now),
			Barred: !h.able || mailboxID != 0 && !h.sees(mailboxID),
		})
	}
	return members
}

// takeTurn makes a member the latest in turn. It drops former members.
func (t *Team) takeTurn(userID int64) {
	t.TurnIDs = slices.DeleteFunc(slices.Clone(t.TurnIDs), func(id int64) bool { return id == userID || !t.Has(id) })
	t.TurnIDs = append(t.TurnIDs, userID)
}

// handingOut returns the teams that hand out conversations.
func handingOut(ctx context.Context, tx Tx) ([]Team, error) {
	all, err := teamNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: MaxTeams})
	return slices.DeleteFunc(all, func(t Team) bool { return !t.Assignment.On() }), err
}

// handOutSoon has a job look at a team, if it hands out conversations.
func (s *Service) handOutSoon(ctx context.Context, tx Tx, accountID int64, t Team) error {
	if !t.Assignment.On() {
		return nil
	}
	return tx.Enqueue(ctx, storage.Job{Kind: JobHandOut, AccountID: accountID, Subject: t.ID})
}

// handOutTo has jobs look at the teams of users who may take more than before.
func (s *Service) handOutTo(ctx context.Context, tx Tx, accountID int64, userIDs ...int64) error {
	if len(userIDs) == 0 {
		return nil
	}
	teams, err := handingOut(ctx, tx)
	if err != nil {
		return err
	}
	for _, t := range teams {
		if !slices.ContainsFunc(userIDs, t.Has) {
			continue
		}
		if err := s.handOutSoon(ctx, tx, accountID, t); err != nil {
			return err
		}
	}
	return nil
}

// lookAgain has a job look at a team after a time. There is one for each time.
func (s *Service) lookAgain(ctx context.Context, tx Tx, accountID, teamID int64, after time.Duration) error {
	due := s.now().Truncate(after).Add(after)
	return tx.Enqueue(ctx, storage.Job{
		Kind: JobHandOut, AccountID: accountID, Subject: teamID, RunAt: due, UniqueKey: fmt.Sprintf("hand_out/%d/%d/%d", accountID, teamID, due.Unix()),
	})
}

// handOut offers the conversations that came into queues to the members of their teams, and has jobs look at the teams of members
// who have one less.
func (s *Service) handOut(ctx context.Context, r *record) error {
	if len(r.queued) > 0 {
		if err := s.offer(ctx, r, slices.Sorted(maps.Keys(r.queued)), false); err != nil {
			return err
		}
	}
	return s.handOutTo(ctx, r.tx, r.accountID, slices.Sorted(maps.Keys(r.freed))...)
}

// offer gives conversations of queues, which the transaction holds, to members. It is the only code that chooses a member. Unless
// they are inOrder, what was in the queue before them comes first: then they wait for a job.
func (s *Service) offer(ctx context.Context, r *record, ids []int64, inOrder bool) error {
	waiting := map[int64][]Conversation{} // by team
	for _, id := range ids {
		if seen := r.conversations[id]; seen != nil && seen.last.queued() {
			waiting[seen.last.TeamID] = append(waiting[seen.last.TeamID], seen.last)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	teams, err := teamNoun().Rows(r.tx).ByIDs(ctx, slices.Sorted(maps.Keys(waiting)))
	if err != nil {
		return err
	}
	var on []int64
	for _, t := range teams {
		if t.Assignment.On() {
			on = append(on, t.ID)
		}
	}
	if len(on) == 0 {
		return nil
	}
	if teams, err = teamNoun().Rows(r.tx).LockAll(ctx, on); err != nil {
		return err
	}
	if err := r.tx.LockAccount(ctx); err != nil {
		return err
	}
	all, err := s.crewOf(ctx, r.tx.Whole())
	if err != nil {
		return err
	}
	for _, t := range teams {
		slices.SortFunc(waiting[t.ID], compareQueued)
		o := offering{svc: s, record: r, crew: all, team: t}
		if err := o.give(ctx, waiting[t.ID], inOrder); err != nil {
			return err
		}
	}
	return nil
}

// offering hands out conversations of a team.
type offering struct {
	svc    *Service
	record *record
	crew   crew
	team   Team
	told   []occurrence
}

// give gives conversations to members as far as they take them.
func (o *offering) give(ctx context.Context, waiting []Conversation, inOrder bool) error {
	if !o.team.Assignment.On() {
		return nil
	}
	var first *Conversation
	if !inOrder {
		var err error
		if first, err = o.firstOther(ctx, waiting); err != nil {
			return err
		}
	}
	left, behind := 0, false
	for _, c := range waiting {
		given := false
		if first != nil && compareQueued(*first, c) < 0 {
			behind = true
		} else {
			var err error
			if given, err = o.giveOne(ctx, c); err != nil {
				return err
			}
		}
		if !given {
			left++
		}
	}
	if left < len(waiting) {
		if err := teamNoun().Rows(o.record.tx).Update(ctx, &o.team); err != nil {
			return err
		}
		if err := o.svc.notifyAfterCommit(ctx, o.record.tx, o.record.accountID, o.told...); err != nil {
			return err
		}
	}
	if behind {
		if err := o.svc.handOutSoon(ctx, o.record.tx, o.record.accountID, o.team); err != nil {
			return err
		}
	}
	if left == 0 {
		return nil
	}
	return o.svc.lookAgain(ctx, o.record.tx, o.record.accountID, o.team.ID, lookAtQueue)
}

// firstOther returns the first conversation of the queue that is not among some; nil: there is none.
func (o *offering) firstOther(ctx context.Context, some []Conversation) (*Conversation, error) {
	queue, err := queueOf(ctx, o.record.tx.Whole().Conversations().List, o.team.ID, storage.Seek{Limit: len(some) + 1})
	for _, c := range queue {
		if !slices.ContainsFunc(some, func(s Conversation) bool { return s.ID == c.ID }) {
			return &c, err
		}
	}
	return nil, err
}

// giveOne gives a conversation to the member who is next, if anybody takes it.
func (o *offering) giveOne(ctx context.Context, c Conversation) (bool, error) {
	known, err := o.known(ctx, c)
	if err != nil {
		return false, err
	}
	p := o.team.Assignment
	choice := p.Next(o.crew.of(o.team, c.MailboxID), known)
	if choice.Member == 0 {
		return false, nil
	}
	o.crew.members[choice.Member].load++
	o.team.takeTurn(choice.Member)
	o.told = append(o.told, occurrence{Kind: NotifyAssigned, ConversationID: c.ID, UserIDs: []int64{choice.Member}})
	c.UserID = choice.Member
	return true, changeByTeam(ctx, o.record, o.team, c, o.crew.now, "conversation.assigned", AssignmentReason{
		Reason: choice.Reason, Strategy: p.Strategy, Who: p.Who, Capacity: p.Capacity, Load: choice.Load, Free: choice.Free, Of: choice.Of,
	})
}

// known returns who had the last conversation of the customer, if the team asks for it.
func (o *offering) known(ctx context.Context, c Conversation) (int64, error) {
	if !o.team.Assignment.Sticky {
		return 0, nil
	}
	order := ConversationOrder{ConversationFilter: ConversationFilter{CustomerID: c.CustomerID}, Sort: ByUpdated}
	last, err := o.record.tx.Whole().Conversations().List(ctx, order, storage.Seek{Desc: true, Limit: 20})
	for _, other := range last {
		if other.ID != c.ID && other.UserID != 0 {
			return other.UserID, err
		}
	}
	return 0, err
}

// changeByTeam stores what a team has made of a conversation, and says why.
func changeByTeam(ctx context.Context, r *record, t Team, c Conversation, now time.Time, kind string, why AssignmentReason) error {
	tx := recording{Tx: r.tx, record: r, by: subscription.Actor{Type: subscription.ActorTeam, ID: t.ID}}
	c.UpdatedAt = now
	if err := tx.Conversations().Update(ctx, &c); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"id": c.ID, "assignment": why})
	if err != nil {
		return fault.Wrap(fault.Internal, "encoding an event", err)
	}
	for _, kind := range []string{"conversation.updated", kind} {
		e := storage.Event{Type: kind, Subject: c.ID, MailboxID: c.MailboxID, ConversationID: c.ID, Data: data, Time: now}
		if err := tx.Emit(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// HandOut runs a [JobHandOut] job: it takes conversations back from members who have been away too long, and gives what
// waits in the team's queue to members who can take it, the most urgent first, and of these those that wait longest. It
// looks again as long as something waits. It is idempotent: what was taken back or given is not so again.
func (j Jobs) HandOut(ctx context.Context, job storage.ClaimedJob) error {
	var from *storage.Position
	steps := []func(context.Context, recording, Team) (bool, error){
		j.svc.takeFromAway,
		func(ctx context.Context, tx recording, t Team) (more bool, err error) {
			from, more, err = j.svc.handOutPage(ctx, tx, t, from)
			return more, err
		},
	}
	for _, step := range steps {
		for more := true; more; {
			before := from
			err := j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) error {
				from = before // a store may run this again
				found, err := teamNoun().Rows(tx).ByIDs(ctx, []int64{job.Subject})
				if more = false; err != nil || len(found) == 0 || !found[0].Assignment.On() {
					return err
				}
				more, err = step(ctx, recordingOf(tx), found[0])
				return err
			})
			if fault.Is(err, fault.NotFound) {
				return nil // the account was deleted
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// recordingOf returns the transaction that recordedStore made.
func recordingOf(tx Tx) recording {
	r, _ := tx.(recording)
	return r
}

// handOutPage offers a page of a queue after a position, and returns the position of the next one.
func (s *Service) handOutPage(ctx context.Context, tx recording, t Team, from *storage.Position) (next *storage.Position, more bool, err error) {
	page, err := queueOf(ctx, tx.Tx.Conversations().List, t.ID, storage.Seek{From: from, Limit: handOutBatch})
	if err != nil {
		return from, false, err
	}
	if len(page) == 0 {
		return from, false, s.endHandOut(ctx, tx, t, from)
	}
	ids := make([]int64, len(page))
	for n, c := range page {
		ids[n] = c.ID
		p := c.queuePosition()
		next = &p
	}
	if _, err := tx.Conversations().LockAll(ctx, ids); err != nil {
		return from, false, err
	}
	if err := s.offer(ctx, tx.record, ids, true); err != nil {
		return from, false, err
	}
	free, err := s.anyFree(ctx, tx.Tx, t)
	if more = free && len(page) == handOutBatch; err == nil && !more && t.Assignment.Returns() {
		err = s.lookAgain(ctx, tx, tx.accountID, t.ID, lookAtMembers)
	}
	return next, more, err
}

// endHandOut ends a job that found nothing more in a queue. Whoever assigns at this moment did perhaps not see that a member
// is free, so that it waits for that and looks again.
func (s *Service) endHandOut(ctx context.Context, tx recording, t Team, from *storage.Position) error {
	if err := tx.LockAccount(ctx); err != nil {
		return err
	}
	some, err := queueOf(ctx, tx.Tx.Conversations().List, t.ID, storage.Seek{From: from, Limit: 1})
	switch {
	case err != nil:
		return err
	case len(some) > 0:
		return s.handOutSoon(ctx, tx, tx.accountID, t)
	case t.Assignment.Returns():
		return s.lookAgain(ctx, tx, tx.accountID, t.ID, lookAtMembers)
	}
	return nil
}

// anyFree reports whether a member of a team can take a conversation.
func (s *Service) anyFree(ctx context.Context, tx Tx, t Team) (bool, error) {
	all, err := s.crewOf(ctx, tx.Reader())
	return slices.ContainsFunc(all.of(t, 0), t.Assignment.Takes), err
}

// takeFromAway takes the open conversations of the team back from a member who has been away too long, a batch at a time, and
// reports whether there may be more.
func (s *Service) takeFromAway(ctx context.Context, tx recording, t Team) (bool, error) {
	p := t.Assignment
	if !p.Returns() {
		return false, nil
	}
	all, err := s.crewOf(ctx, tx.Tx.Reader())
	if err != nil {
		return false, err
	}
	for _, id := range t.MemberIDs {
		h := all.members[id]
		if h == nil {
			continue
		}
		since := h.AwaySince(all.now, p.Who == assign.Scheduled)
		if since.IsZero() || all.now.Sub(since) < time.Duration(p.ReturnAfter)*time.Hour {
			continue
		}
		filter := queueFilter(t.ID)
		filter.UserID = storage.Some(id)
		found, err := tx.Tx.Conversations().List(ctx, ConversationOrder{ConversationFilter: filter, Sort: ByCreated}, storage.Seek{Limit: handOutBatch})
		if err != nil {
			return false, err
		}
		if len(found) > 0 {
			return true, s.takeFrom(ctx, tx, t, *h, found)
		}
	}
	return false, nil
}

func (s *Service) takeFrom(ctx context.Context, tx recording, t Team, h hand, found []Conversation) error {
	ids := make([]int64, len(found))
	for n, c := range found {
		ids[n] = c.ID
	}
	locked, err := tx.Conversations().LockAll(ctx, ids)
	if err != nil {
		return err
	}
	p := t.Assignment
	why := AssignmentReason{Reason: assign.Away, Strategy: p.Strategy, Who: p.Who, Capacity: p.Capacity, Load: h.load, Of: len(t.MemberIDs), Hours: p.ReturnAfter}
	for _, c := range locked {
		if c.TeamID != t.ID || c.UserID != h.UserID || !c.busies() {
			continue // changed by a concurrent request
		}
		c.UserID = 0
		if err := changeByTeam(ctx, tx.record, t, c, s.now(), "conversation.unassigned", why); err != nil {
			return err
		}
	}
	return nil
}

// Queue lists the conversations that wait for a member of a team: the open ones without a user, within the caller's
// mailboxes. The most urgent come first, and of these those that wait longest, see [Conversation.QueuedSince]. It needs
// conversations.view and memberships.view.
func (d Teams) Queue(ctx context.Context, teamID int64, req storage.PageRequest) (storage.Page[Conversation], error) {
	var none storage.Page[Conversation]
	if _, err := d.guard.Read(identity.MembershipsView); err != nil {
		return none, err
	}
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return none, err
	}
	if _, err := teamNoun().Reader(r).Get(ctx, teamID); err != nil {
		return none, err
	}
	return storage.List(req, false, Conversation.queuePosition, func(seek storage.Seek) ([]Conversation, error) {
		return queueOf(ctx, r.Conversations().List, teamID, seek)
	})
}

// TeamMember is a member of a team, as its assignment sees them now.
type TeamMember struct {
	UserID int64
	Load   int  // open conversations, of any team and mailbox
	Here   bool // counts as available for the team's assignment
	Online bool // is online, see [identity.Membership.Online]
	Full   bool // has reached the capacity
	Able   bool // may see and answer conversations
	Next   bool // would get the next conversation, if they reach its mailbox
}

// Members lists the members of a team by id with their loads, see [Team.Assignment]. Loads count conversations in all
// mailboxes. It needs memberships.view.
func (d Teams) Members(ctx context.Context, teamID int64) ([]TeamMember, error) {
	r, err := d.guard.Read(identity.MembershipsView)
	if err != nil {
		return nil, err
	}
	t, err := teamNoun().Reader(r).Get(ctx, teamID)
	if err != nil {
		return nil, err
	}
	all, err := d.svc.crewOf(ctx, d.svc.cfg.Store.Within(Scope{AccountID: d.scope.AccountID}))
	if err != nil {
		return nil, err
	}
	members := all.of(t, 0)
	next := t.Assignment.Next(members, 0).Member
	list := make([]TeamMember, len(members))
	for n, m := range members {
		list[n] = TeamMember{
			UserID: m.ID, Load: m.Load, Here: t.Assignment.Here(m), Online: m.Online, Full: t.Assignment.Full(m), Able: !m.Barred, Next: m.ID == next,
		}
	}
	return list, nil
}

// afterHandOut gives conversations the users that their teams gave them, and the targets that SLAs set, when the transaction
// committed. What cannot be read stays as it was: the change is made.
func (d *desk) afterHandOut(ctx context.Context, all ...*Conversation) {
	waited := map[int64]*Conversation{}
	for _, c := range all {
		if c.queued() || d.svc.slaCache.used(d.scope.AccountID) {
			waited[c.ID] = c
		}
	}
	if len(waited) == 0 {
		return
	}
	found, err := d.svc.cfg.Store.Within(d.scope).Conversations().ByIDs(ctx, slices.Sorted(maps.Keys(waited)))
	if err != nil {
		d.svc.cfg.Logger.WarnContext(ctx, "reading what teams handed out failed", "error", err)
	}
	for _, c := range found {
		*waited[c.ID] = c
	}
}
