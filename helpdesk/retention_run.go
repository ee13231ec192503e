package helpdesk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
)

// night is the payload of [JobRetention].
type night struct {
	At time.Time `json:"at"`
}

// Retention policies run between one and three o'clock (UTC), the accounts one after another.
const (
	retentionHour  = time.Hour
	retentionShift = 2 * time.Hour
)

// RetentionJob returns the job that applies the retention policies of an account in the night after a time. Each night has one.
func RetentionJob(accountID int64, now time.Time) storage.Job {
	at := now.UTC().Truncate(day).Add(retentionHour + time.Duration(accountID%120)*retentionShift/120)
	if !at.After(now) {
		at = at.Add(day)
	}
	payload, _ := json.Marshal(night{at}) // a time always encodes
	return storage.Job{
		Kind: JobRetention, AccountID: accountID, Payload: payload, RunAt: at, UniqueKey: fmt.Sprintf("retention/%d/%s", accountID, at.Format(time.DateOnly)),
	}
}

// awaitNight enqueues the run of the next night if the policy is active.
func (d *desk) awaitNight(ctx context.Context, tx Tx, p RetentionPolicy) error {
	if !p.IsActive {
		return nil
	}
	return tx.Enqueue(ctx, RetentionJob(d.scope.AccountID, d.svc.now()))
}

// Retain runs a [JobRetention] job: it applies the active retention policies of an account, one after another, the oldest first, and
// enqueues the job of the next night. Each looks at the conversations whose time is over, in the order of their last activity, and
// erases or deletes those that match, each in a transaction of its own that also counts it and says how far the run is: an attempt
// after a crash goes on there, and counts nothing twice. When a policy has run, the event retention.ran tells what it did; each
// conversation and customer has its own event and its entry in the audit log.
//
// A policy whose last editor could no longer create it is switched off.
func (j Jobs) Retain(ctx context.Context, job storage.ClaimedJob) error {
	var in night
	if err := json.Unmarshal(job.Payload, &in); err != nil {
		return fault.Wrap(fault.Internal, "reading a job", err)
	}
	var all []RetentionPolicy
	err := j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) (err error) {
		if err = tx.LockAccount(ctx); err != nil { // so that nobody switches a policy on who sees this job and no next one
			return err
		}
		all, err = allRetentionPolicies(ctx, tx.Reader())
		for _, p := range all {
			if p.IsActive && err == nil {
				return tx.Enqueue(ctx, RetentionJob(job.AccountID, maxTime(in.At, j.svc.now())))
			}
		}
		return err
	})
	if err != nil {
		return ignoreMissing(err)
	}
	for _, p := range all {
		if !p.IsActive {
			continue
		}
		r := &retention{svc: j.svc, accountID: job.AccountID, night: in.At, p: p}
		if err := r.runPolicy(ctx); err != nil {
			return ignoreMissing(err)
		}
	}
	return nil
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// retention is a run of a policy.
type retention struct {
	svc       *Service
	accountID int64
	night     time.Time
	p         RetentionPolicy // as last stored
	desk      *desk           // of the member with whose rights it acts
	look      *retentionLook
}

// errRunOver ends a run whose policy was changed, switched off or deleted.
var errRunOver = errors.New("helpdesk: the run of the retention policy is over")

// errCarriedOn ends an attempt while another one carries the run on. The job is tried again.
var errCarriedOn = errors.New("helpdesk: another attempt carries the run of the retention policy on")

// runPolicy carries the policy out, or on.
func (r *retention) runPolicy(ctx context.Context) error {
	if !r.p.Run.At.Before(r.night) && !r.p.Run.EndedAt.IsZero() {
		return nil // a former attempt has ended it
	}
	err := r.carryOut(ctx)
	if errors.Is(err, errRunOver) {
		err = nil
	}
	if err != nil {
		return err
	}
	return r.endRun(ctx)
}

func (r *retention) carryOut(ctx context.Context) error {
	if may, err := r.actAsMaker(ctx); err != nil || !may {
		return err
	}
	if r.p.Run.At.Before(r.night) {
		err := r.savePolicy(ctx, func(p *RetentionPolicy) { p.Run, p.Walk = RetentionRun{At: r.night}, storage.Position{} })
		if err != nil {
			return err
		}
	}
	if r.p.ErasingID != 0 { // its tombstones are written
		if err := r.eraseCustomer(ctx, r.p.ErasingID); err != nil {
			return err
		}
	}
	for more := true; more; {
		may, err := r.actAsMaker(ctx) // rights may end while it runs
		if err != nil || !may {
			return err
		}
		var from *storage.Position
		if r.p.Walk != (storage.Position{}) {
			from = &r.p.Walk
		}
		var batch []Conversation
		if batch, more, err = r.look.nextDue(ctx, from); err != nil {
			return err
		}
		if err := r.passBatch(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// actAsMaker opens the desk of the member with whose rights the policy acts. It is false if these have ended: then the policy is switched
// off.
func (r *retention) actAsMaker(ctx context.Context) (bool, error) {
	scope := Scope{AccountID: r.accountID}
	r.desk = &desk{svc: r.svc, guard: r.svc.member(scope, Caller{}, func(identity.Permission) bool { return true }), scope: scope}
	if r.p.UserID != 0 {
		maker, err := r.svc.Desk(ctx, r.svc.As(r.p.UserID), r.accountID)
		if err == nil {
			err = maker.mayHaveMadePolicy(r.p)
		}
		if fault.Is(err, fault.Forbidden) || fault.Is(err, fault.NotFound) {
			return false, r.orphan(ctx)
		}
		if err != nil {
			return false, err
		}
		r.desk = &maker.desk
	}
	reader := r.svc.cfg.Store.Within(r.desk.scope)
	if r.look == nil || r.look.p.Version != r.p.Version {
		fields, err := allFields(ctx, reader)
		if err != nil {
			return false, err
		}
		r.look = &retentionLook{p: r.p, at: r.night, match: matcherOf(r.p, fields), refused: map[int64]bool{}}
	}
	r.look.r = reader
	return true, nil
}

// beginAs begins transactions of the policy.
func (r *retention) beginAs() guard.Begin[Tx] {
	return func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
		begin, err := r.desk.guard.WriteAlone(identity.ConversationsDelete)
		if err != nil {
			return err
		}
		return begin(ctx, func(ctx context.Context, tx Tx) error {
			return fn(ctx, actAs(tx, subscription.Actor{Type: subscription.ActorRetention, ID: r.p.ID}))
		})
	}
}

// putPolicy stores a change of the policy in a transaction, unless the run is over.
func (r *retention) putPolicy(ctx context.Context, tx Tx, change func(*RetentionPolicy)) (RetentionPolicy, error) {
	p, err := retentionPolicyNoun().Rows(tx).Lock(ctx, r.p.ID)
	if fault.Is(err, fault.NotFound) {
		return p, errRunOver
	}
	if err != nil {
		return p, err
	}
	if p.Version != r.p.Version || !p.IsActive {
		return p, errRunOver
	}
	if p.Run != r.p.Run || p.Walk != r.p.Walk || p.ErasingID != r.p.ErasingID {
		return p, errCarriedOn
	}
	change(&p)
	return p, retentionPolicyNoun().Rows(tx).Update(ctx, &p)
}

// savePolicy stores a change of the policy in its own transaction.
func (r *retention) savePolicy(ctx context.Context, change func(*RetentionPolicy)) error {
	return r.alongPolicy(ctx, func(context.Context, Tx) error { return nil }, change)
}

// alongPolicy does something, and stores a change of the policy in the same transaction.
func (r *retention) alongPolicy(ctx context.Context, do func(ctx context.Context, tx Tx) error, change func(*RetentionPolicy)) error {
	var p RetentionPolicy
	err := r.beginAs()(ctx, func(ctx context.Context, tx Tx) (err error) {
		if err = do(ctx, tx); err == nil {
			p, err = r.putPolicy(ctx, tx, change)
		}
		return err
	})
	if err == nil {
		r.p = p
	}
	return err
}

// passed is what a run has passed since it was last stored.
type passed struct {
	examined, held int
	at             storage.Position
}

func (s passed) addTo(p *RetentionPolicy) {
	p.Run.Examined += s.examined
	p.Run.Held += s.held
	if s.examined > 0 {
		p.Walk = s.at
	}
}

// passBatch goes through some conversations.
func (r *retention) passBatch(ctx context.Context, batch []Conversation) error {
	matched, err := r.look.matching(ctx, batch)
	if err != nil {
		return err
	}
	var seen passed
	for _, c := range batch {
		seen.examined++
		seen.at = retentionPosition(c)
		switch {
		case !matched[c.ID]:
			continue
		case c.IsHeld():
			seen.held++
			continue
		case r.p.Action != RetainNoCustomer:
			err = r.actOn(ctx, c, seen)
		default:
			due, err := r.look.customerDue(ctx, c.CustomerID)
			if err != nil {
				return err
			}
			if !due {
				continue
			}
			if err := r.savePolicy(ctx, func(p *RetentionPolicy) { seen.addTo(p); p.ErasingID = c.CustomerID }); err != nil {
				return err
			}
			seen = passed{}
			if err := r.eraseCustomer(ctx, c.CustomerID); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		seen = passed{}
	}
	if seen.examined == 0 {
		return nil
	}
	return r.savePolicy(ctx, seen.addTo)
}

// actOn erases or deletes a conversation, unless it has changed since it was read.
func (r *retention) actOn(ctx context.Context, c Conversation, seen passed) error {
	done, held := false, false
	err := r.alongPolicy(ctx, func(ctx context.Context, tx Tx) error {
		now, err := tx.Conversations().Lock(ctx, c.ID)
		done, held = false, now.IsHeld()
		if fault.Is(err, fault.NotFound) || err == nil && (held || !now.UpdatedAt.Equal(c.UpdatedAt)) {
			return nil
		}
		if err != nil {
			return err
		}
		done = true
		if r.p.Action == RetainNothing {
			return r.desk.deleteConversations(ctx, tx, []Conversation{now})
		}
		e := &eraser{svc: r.svc, accountID: r.accountID, userID: r.desk.userID, at: r.svc.now()}
		return e.eraseContent(ctx, tx, now)
	}, func(p *RetentionPolicy) {
		seen.addTo(p)
		if done {
			p.Run.Conversations++
		}
		if held {
			p.Run.Held++
		}
	})
	if reason, is := refused(err); is {
		r.svc.cfg.Logger.WarnContext(ctx, "a retention policy could not act", "account", r.accountID, "policy", r.p.ID, "conversation", c.ID, "reason", reason)
		return r.savePolicy(ctx, func(p *RetentionPolicy) { seen.addTo(p); p.Run.Failed++ })
	}
	return err
}

// eraseCustomer erases the customer whom the policy names as the one that it erases.
func (r *retention) eraseCustomer(ctx context.Context, id int64) error {
	e := &eraser{
		svc: r.svc, begin: r.beginAs(), r: r.svc.cfg.Store.Within(r.desk.scope), accountID: r.accountID, userID: r.desk.userID, customerID: id, at: r.svc.now(), heeds: true,
	}
	var p RetentionPolicy
	e.noted = func(ctx context.Context, tx Tx, customer bool) (err error) {
		p, err = r.putPolicy(ctx, tx, func(p *RetentionPolicy) {
			if !customer {
				p.Run.Conversations++
				return
			}
			p.Run.Customers++
			p.ErasingID = 0
		})
		return err
	}
	begin := e.begin
	e.begin = func(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
		p = r.p
		err := begin(ctx, fn)
		if err == nil {
			r.p = p
		}
		return err
	}
	err := e.run(ctx)
	reason, is := refused(err)
	if !is {
		return err
	}
	gone := fault.Is(err, fault.NotFound)
	if !gone {
		r.svc.cfg.Logger.WarnContext(ctx, "a retention policy could not erase a customer", "account", r.accountID, "policy", r.p.ID, "customer", id, "reason", reason)
	}
	r.look.refused[id] = true
	return r.savePolicy(ctx, func(p *RetentionPolicy) {
		if p.ErasingID = 0; !gone {
			p.Run.Failed++
		}
	})
}

// endRun notes that the run has ended, and tells what it did.
func (r *retention) endRun(ctx context.Context) error {
	err := r.svc.cfg.Store.InTx(ctx, Scope{AccountID: r.accountID}, func(ctx context.Context, tx Tx) error {
		p, err := retentionPolicyNoun().Rows(tx).Lock(ctx, r.p.ID)
		if err != nil || p.Run.At.Before(r.night) || !p.Run.EndedAt.IsZero() {
			return err
		}
		p.Run.EndedAt = r.svc.now()
		if err := retentionPolicyNoun().Rows(tx).Update(ctx, &p); err != nil {
			return err
		}
		data, err := json.Marshal(map[string]int64{
			"id": p.ID, "examined": int64(p.Run.Examined), "conversations": int64(p.Run.Conversations), "customers": int64(p.Run.Customers),
			"held": int64(p.Run.Held), "failed": int64(p.Run.Failed),
		})
		if err != nil {
			return fault.Wrap(fault.Internal, "encoding an event", err)
		}
		return tx.Emit(ctx, storage.Event{Type: "retention.ran", Subject: p.ID, Data: data, Time: p.Run.EndedAt})
	})
	return ignoreMissing(err)
}

// orphan switches the policy off, as its last editor could no longer create it.
func (r *retention) orphan(ctx context.Context) error {
	err := r.svc.cfg.Store.InTx(ctx, Scope{AccountID: r.accountID}, func(ctx context.Context, tx Tx) error {
		p, err := retentionPolicyNoun().Rows(tx).Lock(ctx, r.p.ID)
		if err != nil || p.Version != r.p.Version {
			return err
		}
		p.IsActive, p.Reason, p.Version, p.UpdatedAt = false, RetentionOrphaned, p.Version+1, r.svc.now()
		if err := retentionPolicyNoun().Rows(tx).Update(ctx, &p); err != nil {
			return err
		}
		return tx.Emit(ctx, storage.Event{Type: "retention_policy.updated", Subject: p.ID, Data: eventData(p.ID), Time: p.UpdatedAt})
	})
	return ignoreMissing(err)
}
