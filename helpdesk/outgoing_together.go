package helpdesk

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Start names a reply that a job is to send, see [Outgoing.Begin].
type Start struct{ InteractionID, Job int64 }

// Begun is what [Outgoing.Begin] returns for one of several replies.
type Begun struct {
	Mail OutgoingMail
	Err  error
}

// BeginAll is [Outgoing.Begin] for several replies of an account, in the order of starts. It takes those that need no
// decision in one transaction, and each other reply in one of its own, so that no reply depends on another, except that all
// count towards the hourly limits of their addresses.
func (o *Outgoing) BeginAll(ctx context.Context, accountID int64, starts []Start) ([]Begun, error) {
	begin, err := o.desk(accountID).Write(transmit)
	if err != nil {
		return nil, err
	}
	var taken map[int]*start
	if len(starts) > 0 {
		err = begin(ctx, func(ctx context.Context, tx Tx) error {
			taken, err = o.beginTogether(ctx, tx, accountID, starts)
			return err
		})
		if err != nil && !singly(ctx, err) {
			return nil, err
		}
		if err != nil {
			taken = nil
		}
	}
	with := underway{}
	for _, reply := range taken {
		with.add(reply.mail.Due)
	}
	all := make([]*start, len(starts))
	for n, s := range starts {
		if all[n] = taken[n]; all[n] != nil {
			continue
		}
		reply, err := o.beginOne(ctx, accountID, s, with)
		reply.err, all[n] = err, &reply
		with.add(reply.mail.Due)
		for _, e := range reply.mail.Encrypted {
			with.add(e.Due)
		}
	}
	if err := o.fillAll(ctx, accountID, all...); err != nil {
		return nil, err
	}
	out := make([]Begun, len(starts))
	for n, reply := range all {
		out[n] = Begun{Mail: reply.mail, Err: reply.err}
	}
	return out, nil
}

// singly reports whether replies whose common transaction failed may succeed one by one, because one of them may be the
// cause.
func singly(ctx context.Context, err error) bool { return ctx.Err() == nil && !fault.Passes(err) }

// start is a reply that is begun, alone or together with others.
type start struct {
	n          int // its index among all
	job        int64
	c          Conversation
	i          Interaction
	deliveries []sending.Delivery
	mail       OutgoingMail
	err        error
}

// dueAt sets who is due at a time.
func (s *start) dueAt(now time.Time) { s.mail.Due, s.mail.NextTry = due(s.deliveries, s.job, now) }

// fillAll completes the mails of replies that are begun and have recipients. It reads after their transactions, so that these
// are short: the messages and their attachments are taken already. A reply that cannot be completed stays held by its job,
// which begins it again.
func (o *Outgoing) fillAll(ctx context.Context, accountID int64, all ...*start) error {
	var ready []*start
	for _, reply := range all {
		if reply.err == nil && len(reply.mail.Due)+len(reply.mail.Encrypted) > 0 {
			ready = append(ready, reply)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	r, err := o.desk(accountID).Read(transmit)
	if err != nil {
		return err
	}
	shelf, err := newShelf(ctx, r, ready)
	if err != nil {
		return err
	}
	for _, reply := range ready {
		if reply.err = o.fill(ctx, r, shelf, reply); reply.err != nil {
			reply.mail = OutgoingMail{}
		}
	}
	return nil
}

// beginTogether takes the replies that need no decision, by their index in starts. Scheduled ones, those to be encrypted and
// those with a recipient that must not be attempted are left to Begin.
func (o *Outgoing) beginTogether(ctx context.Context, tx Tx, accountID int64, starts []Start) (map[int]*start, error) {
	ids := make([]int64, len(starts))
	for n, s := range starts {
		ids[n] = s.InteractionID
	}
	found, err := lockReplies(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	now, out := o.svc.now(), map[int]*start{}
	var ready []start
	for n, s := range starts {
		r, ok := found[s.InteractionID]
		if !ok || r.i.Type != TypeUser || r.i.Status != StatusPosted || r.i.Scheduled() {
			continue
		}
		delete(found, s.InteractionID) // another job of the same reply finds it taken
		r.n, r.job, r.mail = n, s.Job, OutgoingMail{AccountID: accountID, InteractionID: r.i.ID}
		if r.dueAt(now); len(r.mail.Due) == 0 {
			out[n] = &r
		} else {
			ready = append(ready, r)
		}
	}
	if ready, err = o.undisputed(ctx, tx, ready); err != nil || len(ready) == 0 {
		return out, err
	}
	if err := o.hold(ctx, tx, ready, now); err != nil {
		return nil, err
	}
	for n := range ready {
		out[ready[n].n] = &ready[n]
	}
	return out, nil
}

// lockReplies locks replies after their conversations, and returns them by id with their deliveries. It leaves out those
// that have moved meanwhile.
func lockReplies(ctx context.Context, tx Tx, ids []int64) (map[int64]start, error) {
	at, err := tx.Interactions().ByIDs(ctx, sortedSet(ids))
	if err != nil {
		return nil, err
	}
	conversations, err := lockHolders(ctx, tx, at)
	if err != nil {
		return nil, err
	}
	locked, err := tx.Interactions().LockAll(ctx, sortedSet(ids))
	if err != nil {
		return nil, err
	}
	deliveries, err := deliveriesOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	out := map[int64]start{}
	for _, i := range locked {
		if c, ok := conversations[i.ConversationID]; ok {
			out[i.ID] = start{c: c, i: i, deliveries: deliveries[i.ID]}
		}
	}
	return out, nil
}

// lockHolders locks the conversations of interactions, and returns them by id.
func lockHolders(ctx context.Context, tx Tx, list []Interaction) (map[int64]Conversation, error) {
	ids := make([]int64, len(list))
	for n, i := range list {
		ids[n] = i.ConversationID
	}
	locked, err := tx.Conversations().LockAll(ctx, sortedSet(ids))
	out := make(map[int64]Conversation, len(locked))
	for _, c := range locked {
		out[c.ID] = c
	}
	return out, err
}

// deliveriesOf returns the deliveries of interactions by the interaction.
func deliveriesOf(ctx context.Context, tx Tx, ids []int64) (map[int64][]sending.Delivery, error) {
	all, err := tx.Deliveries().List(ctx, sending.DeliveryFilter{InteractionIDs: sortedSet(ids)}, storage.Seek{Limit: storage.NoLimit})
	out := map[int64][]sending.Delivery{}
	for _, d := range all {
		out[d.InteractionID] = append(out[d.InteractionID], d)
	}
	return out, err
}

// undisputed returns the replies that may be sent as they are: no recipient is suppressed, got too many messages or has a
// PGP key.
func (o *Outgoing) undisputed(ctx context.Context, tx Tx, ready []start) ([]start, error) {
	var due, all []sending.Delivery
	for _, r := range ready {
		due, all = append(due, r.mail.Due...), append(all, r.deliveries...)
	}
	if len(due) == 0 {
		return nil, nil
	}
	disputed := map[string]bool{}
	suppressed, err := tx.SuppressionsByKey(ctx, addressesOf(due))
	if err != nil {
		return nil, err
	}
	for _, s := range suppressed {
		disputed[s.Key] = true
	}
	if o.svc.cfg.ParseKey != nil {
		keys, err := tx.PGPKeysByAddress(ctx, addressesOf(all))
		if err != nil {
			return nil, err
		}
		for _, k := range keys {
			disputed[k.EmailKey] = true
		}
	}
	ready = slices.DeleteFunc(ready, func(r start) bool {
		return slices.ContainsFunc(r.deliveries, func(d sending.Delivery) bool { return disputed[d.AddressKey] })
	})
	spent, err := o.svc.spent(ctx, tx.Reader(), due, nil)
	if err != nil || spent == nil {
		return ready, err
	}
	return slices.DeleteFunc(ready, func(r start) bool { // of which an address would get too many, with those before it
		over := slices.ContainsFunc(r.mail.Due, func(d sending.Delivery) bool { return o.svc.over(spent, d.AddressKey) })
		if !over {
			spent.add(r.mail.Due)
		}
		return over
	}), nil
}

// hold gives the due recipients to the jobs, and freezes the replies with their attachments.
func (o *Outgoing) hold(ctx context.Context, tx Tx, ready []start, now time.Time) error {
	var held []*sending.Delivery
	var frozen []*Interaction
	for n := range ready {
		r := &ready[n]
		for k := range r.mail.Due {
			r.mail.Due[k].HeldBy, r.mail.Due[k].HeldUntil = r.job, now.Add(maxTry)
			held = append(held, &r.mail.Due[k])
		}
		if r.i.SendStartedAt.IsZero() {
			r.i.SendStartedAt = now
			frozen = append(frozen, &r.i)
		}
	}
	if err := tx.Deliveries().Update(ctx, held...); err != nil {
		return err
	}
	if err := tx.Interactions().Update(ctx, frozen...); err != nil {
		return err
	}
	return attachTo(ctx, tx, ready)
}

// attachTo adds the attachments of replies to their mails.
func attachTo(ctx context.Context, tx Tx, replies []start) error {
	at, ids := map[int64]*OutgoingMail{}, make([]int64, len(replies))
	for n := range replies {
		ids[n] = replies[n].i.ID
		at[ids[n]] = &replies[n].mail
	}
	found, err := tx.Attachments().List(ctx, AttachmentFilter{InteractionIDs: sortedSet(ids)}, storage.Seek{Limit: storage.NoLimit})
	for _, a := range found {
		at[a.InteractionID].Attachments = append(at[a.InteractionID].Attachments, a)
	}
	return err
}

// shelf has what replies are filled with, read for all of them at once.
type shelf struct {
	mailboxes map[int64]Mailbox
	users     map[int64]identity.User
	account   *identity.Account            // nil: not read yet
	signers   map[string][]sending.DKIMKey // by the sender's address, as far as asked for
}

func newShelf(ctx context.Context, from Reader, replies []*start) (*shelf, error) {
	var boxes, authors []int64
	for _, r := range replies {
		boxes, authors = append(boxes, r.c.MailboxID), append(authors, r.i.PostedByID)
	}
	s := &shelf{mailboxes: map[int64]Mailbox{}, users: map[int64]identity.User{}, signers: map[string][]sending.DKIMKey{}}
	mailboxes, err := from.Mailboxes().ByIDs(ctx, sortedSet(boxes))
	if err != nil {
		return nil, err
	}
	for _, m := range mailboxes {
		s.mailboxes[m.ID] = m
	}
	users, err := from.UsersByID(ctx, sortedSet(authors))
	if err != nil {
		return nil, err
	}
	for _, u := range users {
		s.users[u.ID] = u
	}
	return s, nil
}

// tracks reports whether the account wants to know which replies are seen.
func (s *shelf) tracks(ctx context.Context, r Reader) (bool, error) {
	if s.account == nil {
		account, err := r.Account(ctx)
		if err != nil {
			return false, err
		}
		s.account = &account
	}
	return s.account.TrackSeen, nil
}

// signersOf returns the keys that sign the mail of an address.
func (s *shelf) signersOf(ctx context.Context, svc *Service, r Reader, from string) ([]sending.DKIMKey, error) {
	keys, known := s.signers[from]
	if !known {
		var err error
		if keys, err = svc.signers(ctx, r, from); err != nil {
			return nil, err
		}
		s.signers[from] = keys
	}
	return keys, nil
}

// Report is what became of one attempt to send a reply.
type Report struct {
	InteractionID int64
	Outcomes      []Outcome
}

// Reported is what [Outgoing.Report] returns for one of several replies.
type Reported struct {
	Next time.Time
	Err  error
}

// ReportAll is [Outgoing.Report] for several replies of an account, in the order of reports. It records those that were sent
// to all recipients in one transaction, and each other reply in one of its own.
func (o *Outgoing) ReportAll(ctx context.Context, accountID int64, reports []Report) ([]Reported, error) {
	begin, err := o.desk(accountID).Write(transmit)
	if err != nil {
		return nil, err
	}
	out := make([]Reported, len(reports))
	sent := map[int64]int{} // index of the report by interaction
	for n, r := range reports {
		if _, twice := sent[r.InteractionID]; !twice && r.sent() {
			sent[r.InteractionID] = n
		}
	}
	var next map[int]time.Time
	if len(sent) > 0 {
		err = begin(ctx, func(ctx context.Context, tx Tx) error {
			next, err = o.reportTogether(ctx, tx, accountID, reports, sent)
			return err
		})
		if err != nil && !singly(ctx, err) {
			return nil, err
		}
		if err != nil {
			next = nil
		}
	}
	for n, r := range reports {
		at, done := next[n]
		if out[n].Next = at; !done {
			out[n].Next, out[n].Err = o.Report(ctx, accountID, r.InteractionID, r.Outcomes)
		}
	}
	return out, nil
}

func (r Report) sent() bool {
	return !slices.ContainsFunc(r.Outcomes, func(o Outcome) bool { return o.State != sending.Sent })
}

// reportTogether records replies that were sent, given as indexes of reports by interaction, and returns by index when the
// next attempt of each is due. It leaves out those that were deleted.
func (o *Outgoing) reportTogether(ctx context.Context, tx Tx, accountID int64, reports []Report, sent map[int64]int) (map[int]time.Time, error) {
	ids := slices.Collect(maps.Keys(sent))
	found, err := tx.Interactions().ByIDs(ctx, sortedSet(ids))
	if err != nil {
		return nil, err
	}
	conversations, err := lockHolders(ctx, tx, found)
	if err != nil {
		return nil, err
	}
	deliveries, err := deliveriesOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b Interaction) int { return cmp.Compare(a.ID, b.ID) }) // and so their events
	now, next := o.svc.now(), map[int]time.Time{}
	var all []*sending.Delivery
	for _, i := range found {
		c, there := conversations[i.ConversationID]
		if !there {
			continue
		}
		n := sent[i.ID]
		changed := o.apply(deliveries[i.ID], reports[n].Outcomes, i.PostedAt, now)
		all = append(all, storage.Pointers(changed)...)
		_, next[n] = due(deliveries[i.ID], 0, time.Time{})
		if err := o.conclude(ctx, tx, accountID, c, i, changed, now); err != nil {
			return nil, err
		}
	}
	return next, tx.Deliveries().Update(ctx, all...)
}
