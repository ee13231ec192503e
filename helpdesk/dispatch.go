package helpdesk

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// dispatch is the only permission of a Dispatch.
const dispatch identity.Permission = "webhooks.send"

// Dispatch can only turn events into deliveries to webhooks, take these for sending and report the results.
type Dispatch struct {
	svc    *Service
	system systemGuard
	desk   func(accountID int64) deskGuard
}

// Dispatch returns the handle for senders of webhooks.
func (s *Service) Dispatch() *Dispatch {
	allows := func(p identity.Permission) bool { return p == dispatch }
	return &Dispatch{
		svc:    s,
		system: guard.New(allows, Directory(s.cfg.Store), s.cfg.Store.InSystemTx),
		desk:   func(accountID int64) deskGuard { return s.scoped(Scope{AccountID: accountID}, allows) },
	}
}

const (
	// dispatchBatch is the number of events, or accounts, per batch.
	dispatchBatch = 100
	// webhookHold limits how long a job may hold a delivery for one attempt. Afterwards, other jobs may take it.
	webhookHold = time.Minute
	// webhookPatience is the number of consecutive given-up deliveries that disables a webhook.
	webhookPatience = 10
	// statusGone is the response of a receiver that wants no more deliveries (RFC 9110 section 15.5.11).
	statusGone = 410
	// Retention of deliveries that are not pending.
	keepDeliveries = 10_000
)

// Behind returns the ids above after of accounts whose events await distribution, at most 100.
func (p *Dispatch) Behind(ctx context.Context, after int64) ([]int64, error) {
	dir, err := p.system.Read(dispatch)
	if err != nil {
		return nil, err
	}
	return accountIDs(dir.WebhookBacklog(ctx, storage.Seek{From: &storage.Position{ID: after}, Limit: dispatchBatch}))
}

func accountIDs(all []identity.Account, err error) ([]int64, error) {
	ids := make([]int64, len(all))
	for i, a := range all {
		ids[i] = a.ID
	}
	return ids, err
}

// Distribute turns the next hundred events of an account into deliveries and moves the webhook cursor in the same
// transaction. It reports whether there may be more. An account without an active webhook is a NotFound fault and needs no
// further calls.
func (p *Dispatch) Distribute(ctx context.Context, accountID int64) (more bool, err error) {
	begin, err := p.desk(accountID).Write(dispatch)
	if err != nil {
		return false, err
	}
	orphans, err := p.orphans(ctx, accountID)
	if err != nil {
		return false, err
	}
	idle := false
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		after, err := tx.WebhookCursorForUpdate(ctx)
		if err != nil {
			return err
		}
		if err := p.disableAll(ctx, tx, orphans); err != nil {
			return err
		}
		hooks, err := webhookNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: subscription.MaxWebhooks})
		if err != nil {
			return err
		}
		if idle = !slices.ContainsFunc(hooks, func(w subscription.Webhook) bool { return w.IsActive }); idle {
			return tx.DeleteWebhookCursor(ctx)
		}
		events, err := tx.Events(ctx, subscription.EventFilter{}, storage.Seek{From: &storage.Position{ID: after}, Limit: dispatchBatch})
		if more = len(events) == dispatchBatch; err != nil || len(events) == 0 {
			return err
		}
		if err := p.deliveries(ctx, tx, accountID, hooks, events); err != nil {
			return err
		}
		return tx.SaveWebhookCursor(ctx, events[len(events)-1].Seq)
	})
	if err == nil && idle {
		err = fault.New(fault.NotFound, "The account has no active webhook.")
	}
	return more, err
}

// orphans returns the active webhooks that their last editors could no longer create.
func (p *Dispatch) orphans(ctx context.Context, accountID int64) ([]subscription.Webhook, error) {
	r, err := p.desk(accountID).Read(dispatch)
	if err != nil {
		return nil, err
	}
	hooks, err := webhookNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: subscription.MaxWebhooks})
	if err != nil {
		return nil, err
	}
	var orphans []subscription.Webhook
	for _, w := range hooks {
		if !w.IsActive {
			continue
		}
		may, err := p.svc.stillMay(ctx, accountID, w.UserID, func(maker *desk) error { return maker.mayAim(w) })
		if err != nil {
			return nil, err
		}
		if !may {
			orphans = append(orphans, w)
		}
	}
	return orphans, nil
}

// disableAll disables orphans that have not changed in the meantime.
func (p *Dispatch) disableAll(ctx context.Context, tx Tx, orphans []subscription.Webhook) error {
	for _, orphan := range orphans {
		w, err := webhookNoun().Rows(tx).Lock(ctx, orphan.ID)
		if fault.Is(err, fault.NotFound) || err == nil && (!w.IsActive || w.UserID != orphan.UserID) {
			continue
		}
		if err != nil {
			return err
		}
		if err := p.disable(ctx, tx, &w, subscription.WebhookOrphaned); err != nil {
			return err
		}
	}
	return nil
}

// deliveries creates the deliveries of events, and the jobs that send them.
func (p *Dispatch) deliveries(ctx context.Context, tx Tx, accountID int64, hooks []subscription.Webhook, events []storage.Event) error {
	now := p.svc.now()
	var all []subscription.WebhookDelivery
	var jobs []storage.Job
	for _, w := range hooks {
		before := len(all)
		for _, e := range events {
			if wants(&w, e) {
				all = append(all, subscription.WebhookDelivery{
					WebhookID: w.ID, Seq: e.Seq, Type: e.Type, MailboxID: e.MailboxID, State: subscription.WebhookPending,
					NextAttemptAt: now, CreatedAt: now, UpdatedAt: now,
				})
			}
		}
		if len(all) > before {
			jobs = append(jobs, webhookJob(accountID, w.ID, now))
		}
	}
	if len(all) == 0 {
		return nil
	}
	if err := tx.WebhookDeliveries().Insert(ctx, storage.Pointers(all)...); err != nil {
		return err
	}
	return tx.Enqueue(ctx, jobs...)
}

// Begin takes due deliveries of a webhook for a job of kind [JobWebhook], oldest first, such that at most parallel
// deliveries of the webhook are in flight over all jobs. The job holds them until it reports, or for a minute; after an
// interruption it gets the same ones again. An empty result is not an error: there is nothing to do, or other jobs do it and
// pick up the rest in [Dispatch.Report].
func (p *Dispatch) Begin(ctx context.Context, job storage.ClaimedJob, parallel int) ([]subscription.WebhookCall, error) {
	begin, err := p.desk(job.AccountID).Write(dispatch)
	if err != nil {
		return nil, err
	}
	var calls []subscription.WebhookCall
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		w, err := webhookNoun().Rows(tx).Lock(ctx, job.Subject)
		if err != nil {
			return err
		}
		if !w.IsActive { // disabled while an event became a delivery
			return tx.FailWebhookDeliveries(ctx, w.ID, webhookOff, p.svc.now())
		}
		held, err := p.heldDeliveries(ctx, tx, w.ID)
		if err != nil {
			return err
		}
		free := parallel - len(held)
		own := slices.DeleteFunc(held, func(d subscription.WebhookDelivery) bool { return d.HeldBy != job.ID })
		calls, err = p.assignDeliveries(ctx, tx, job.AccountID, w, job.ID, own, free)
		return err
	})
	if fault.Is(err, fault.NotFound) {
		return nil, nil // deleted
	}
	return calls, err
}

// heldDeliveries returns the pending deliveries of a webhook that jobs hold, by id.
func (p *Dispatch) heldDeliveries(ctx context.Context, tx Tx, webhookID int64) ([]subscription.WebhookDelivery, error) {
	filter := subscription.WebhookDeliveryFilter{WebhookID: webhookID, HeldAfter: p.svc.now()}
	return tx.WebhookDeliveries().List(ctx, filter, storage.Seek{Limit: storage.NoLimit})
}

// assignDeliveries assigns deliveries of a locked webhook to a job: those it already holds, and as many free due ones as allowed.
func (p *Dispatch) assignDeliveries(ctx context.Context, tx Tx, accountID int64, w subscription.Webhook, job int64, taken []subscription.WebhookDelivery, free int) ([]subscription.WebhookCall, error) {
	now := p.svc.now()
	if free > 0 {
		due, err := tx.WebhookDeliveries().List(ctx, subscription.WebhookDeliveryFilter{WebhookID: w.ID, DueBy: now}, storage.Seek{Limit: free})
		if err != nil {
			return nil, err
		}
		taken = append(taken, due...)
	}
	if len(taken) == 0 {
		return nil, nil
	}
	for i := range taken {
		taken[i].HeldBy, taken[i].HeldUntil = job, now.Add(webhookHold)
	}
	if err := tx.WebhookDeliveries().Update(ctx, storage.Pointers(taken)...); err != nil {
		return nil, err
	}
	return p.calls(ctx, tx, accountID, w, taken)
}

// calls returns the requests to send for deliveries.
func (p *Dispatch) calls(ctx context.Context, tx Tx, accountID int64, w subscription.Webhook, taken []subscription.WebhookDelivery) ([]subscription.WebhookCall, error) {
	keys, err := p.svc.webhookKeys(accountID, w)
	if err != nil {
		return nil, err
	}
	seqs := make([]int64, len(taken))
	for i, d := range taken {
		seqs[i] = d.Seq
	}
	events, err := tx.EventsBySeq(ctx, seqs)
	if err != nil {
		return nil, err
	}
	var calls []subscription.WebhookCall
	for _, d := range taken {
		at := slices.IndexFunc(events, func(e storage.Event) bool { return e.Seq == d.Seq })
		if at < 0 {
			if err := p.lost(ctx, tx, d); err != nil {
				return nil, err
			}
			continue
		}
		body, err := json.Marshal(p.svc.CloudEvent(accountID, withoutMailboxes(events[at], reachOf(w))))
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "encoding an event", err)
		}
		calls = append(calls, subscription.WebhookCall{
			AccountID: accountID, WebhookID: w.ID, DeliveryID: d.ID, Job: d.HeldBy, URL: w.URL, MessageID: d.MessageID(), Body: body, Keys: keys,
		})
	}
	return calls, nil
}

// reachOf returns the mailboxes that a webhook is limited to; nil: all.
func reachOf(w subscription.Webhook) []int64 {
	if len(w.MailboxIDs) == 0 {
		return nil
	}
	return w.MailboxIDs
}

// lost gives up a delivery whose event was pruned, so that it does not hold up the others.
func (p *Dispatch) lost(ctx context.Context, tx Tx, d subscription.WebhookDelivery) error {
	d.State, d.NextAttemptAt, d.HeldBy, d.HeldUntil = subscription.WebhookFailed, time.Time{}, 0, time.Time{}
	d.Problem, d.UpdatedAt = "The event is not kept any more.", p.svc.now()
	return tx.WebhookDeliveries().Update(ctx, &d)
}

// webhookKeys returns the unsealed secrets that currently sign.
func (s *Service) webhookKeys(accountID int64, w subscription.Webhook) ([][]byte, error) {
	sealed := [][]byte{w.SealedSecret}
	if w.FormerUntil.After(s.now()) {
		sealed = append(sealed, w.SealedFormer)
	}
	keys := make([][]byte, len(sealed))
	for i, secret := range sealed {
		var err error
		if keys[i], err = s.cfg.Sealer.Open(secret, w.SecretContext(accountID)); err != nil {
			return nil, fault.Wrap(fault.Internal, "opening the secret of a webhook", err)
		}
	}
	return keys, nil
}

// maxRetryAfter limits the delay that a receiver can ask for.
const maxRetryAfter = time.Hour

// Report records an attempt's outcome. A 2xx is success, a 410 disables the webhook. After anything else the delivery is
// retried for about a day and then given up. Ten consecutive given-up deliveries disable the webhook. Unless parallel is 0,
// the same job takes the next due delivery as by [Dispatch.Begin]; nil if there is none. A webhook or delivery deleted in
// the meantime is not an error.
func (p *Dispatch) Report(ctx context.Context, call subscription.WebhookCall, out subscription.WebhookOutcome, parallel int) (*subscription.WebhookCall, error) {
	begin, err := p.desk(call.AccountID).Write(dispatch)
	if err != nil {
		return nil, err
	}
	var next []subscription.WebhookCall
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		next = nil
		w, err := webhookNoun().Rows(tx).Lock(ctx, call.WebhookID)
		if err != nil {
			return err
		}
		if err := p.recordOutcome(ctx, tx, &w, call, out); err != nil || parallel <= 0 || !w.IsActive {
			return err
		}
		held, err := p.heldDeliveries(ctx, tx, w.ID)
		if err != nil {
			return err
		}
		next, err = p.assignDeliveries(ctx, tx, call.AccountID, w, call.Job, nil, min(1, parallel-len(held)))
		return err
	})
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if len(next) == 0 {
		return nil, nil //nolint:nilnil // nothing is to be called next
	}
	return &next[0], nil
}

// recordOutcome records an outcome in the delivery and in the locked webhook.
func (p *Dispatch) recordOutcome(ctx context.Context, tx Tx, w *subscription.Webhook, call subscription.WebhookCall, out subscription.WebhookOutcome) error {
	d, err := tx.WebhookDeliveries().Get(ctx, call.DeliveryID)
	if err != nil {
		return err
	}
	success := out.Status >= 200 && out.Status < 300
	if d.HeldBy != call.Job && !success {
		return nil // another job took it over, and that job's outcome counts
	}
	now, old := p.svc.now(), *w
	d.Attempts++
	d.Status, d.Response, d.Problem = out.Status, plain.Cut(plain.Line(out.Response), 1024), plain.Cut(plain.Line(out.Problem), 500)
	d.HeldBy, d.HeldUntil, d.UpdatedAt = 0, time.Time{}, now
	switch {
	case success:
		d.State, d.NextAttemptAt, d.Problem = subscription.WebhookDelivered, time.Time{}, ""
		w.FailingSince, w.Failures = time.Time{}, 0
		if now.Sub(w.LastSuccessAt) >= time.Minute {
			w.LastSuccessAt = now
		}
	case d.State == subscription.WebhookPending:
		if err := p.failed(ctx, tx, call.AccountID, w, &d, out.RetryAfter, now); err != nil {
			return err
		}
	}
	if err := tx.WebhookDeliveries().Update(ctx, &d); err != nil {
		return err
	}
	if w.IsActive && out.Status == statusGone {
		return p.disable(ctx, tx, w, subscription.WebhookGone)
	}
	if w.IsActive && w.Failures >= webhookPatience {
		return p.disable(ctx, tx, w, subscription.WebhookFailing)
	}
	if w.FailingSince.Equal(old.FailingSince) && w.Failures == old.Failures && w.LastSuccessAt.Equal(old.LastSuccessAt) {
		return nil
	}
	return webhookNoun().Rows(tx).Update(ctx, w)
}

// failed schedules a retry of a delivery, or gives it up.
func (p *Dispatch) failed(ctx context.Context, tx Tx, accountID int64, w *subscription.Webhook, d *subscription.WebhookDelivery, asked time.Duration, now time.Time) error {
	if w.FailingSince.IsZero() {
		w.FailingSince = now
	}
	wait, again := webhookBackoff(d.Attempts)
	if !again || d.Status == statusGone {
		d.State, d.NextAttemptAt = subscription.WebhookFailed, time.Time{}
		w.Failures++
		return nil
	}
	wait = max(wait, min(asked, maxRetryAfter))
	d.NextAttemptAt = now.Add(wait.Truncate(time.Microsecond))
	return tx.Enqueue(ctx, webhookJob(accountID, w.ID, d.NextAttemptAt))
}

// disable disables a webhook and gives up its pending deliveries.
func (p *Dispatch) disable(ctx context.Context, tx Tx, w *subscription.Webhook, reason subscription.WebhookReason) error {
	now := p.svc.now()
	w.IsActive, w.Reason, w.UpdatedAt = false, reason, now
	if err := webhookNoun().Rows(tx).Update(ctx, w); err != nil {
		return err
	}
	if err := tx.FailWebhookDeliveries(ctx, w.ID, webhookOff, now); err != nil {
		return err
	}
	data, err := json.Marshal(map[string]any{"id": w.ID, "reason": reason})
	if err != nil {
		return fault.Wrap(fault.Internal, "encoding an event", err)
	}
	return tx.Emit(ctx, storage.Event{Type: "webhook.disabled", Subject: w.ID, Data: data, Time: now})
}

// Prune removes deliveries that are not pending and are older than [Retention] allows or not among the newest 10,000 of
// their webhook, in batches.
func (p *Dispatch) Prune(ctx context.Context) error {
	dir, err := p.system.Read(dispatch)
	if err != nil {
		return err
	}
	if p.svc.cfg.Retention.Deliveries < 0 {
		return nil
	}
	list := func(seek storage.Seek) ([]identity.Account, error) { return dir.AccountsWithWebhooks(ctx, seek) }
	return each(list, func(a identity.Account) int64 { return a.ID }, func(a identity.Account) error { return p.prune(ctx, a.ID) })
}

func (p *Dispatch) prune(ctx context.Context, accountID int64) error {
	g := p.desk(accountID)
	r, err := g.Read(dispatch)
	if err != nil {
		return err
	}
	begin, err := g.Write(dispatch)
	if err != nil {
		return err
	}
	hooks, err := webhookNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: subscription.MaxWebhooks})
	if err != nil {
		return err
	}
	for _, w := range hooks {
		for removed := dispatchBatch; removed == dispatchBatch; {
			err := begin(ctx, func(ctx context.Context, tx Tx) (err error) {
				removed, err = tx.PruneWebhookDeliveries(ctx, w.ID, p.svc.now().Add(-p.svc.cfg.Retention.Deliveries), keepDeliveries, dispatchBatch)
				return err
			})
			if err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
			if err != nil {
				break // deleted in the meantime
			}
		}
	}
	return nil
}
