package helpdesk

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Counts counts a mailbox's unfiled messages. It needs mailboxes.connection.
func (d InboundMails) Counts(ctx context.Context, mailboxID int64) (ledger.Counts, error) {
	r, err := d.guard.Read(identity.MailboxesConnection)
	if err != nil {
		return ledger.Counts{}, err
	}
	if _, err := r.Mailboxes().Get(ctx, mailboxID); err != nil {
		return ledger.Counts{}, err
	}
	return r.InboundCounts(ctx, mailboxID)
}

// inboundIn locks a row of a mailbox's ledger.
func inboundIn(ctx context.Context, tx Tx, mailboxID, id int64) (ledger.Mail, error) {
	m, err := tx.InboundForUpdate(ctx, id)
	if err == nil && m.MailboxID != mailboxID {
		err = fault.Missing("mail", id)
	}
	if err != nil {
		return ledger.Mail{}, err
	}
	return m, nil
}

// Replay files a quarantined or ignored message again, after the cause was fixed. An incomplete message is first
// fetched again, in the background. One that waits to be filed is unchanged; a filed one is a Conflict fault. It needs
// mailboxes.connection.
func (d InboundMails) Replay(ctx context.Context, mailboxID, id int64) (ledger.Mail, error) {
	begin, err := d.guard.Write(identity.MailboxesConnection)
	if err != nil {
		return ledger.Mail{}, err
	}
	var m ledger.Mail
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if m, err = inboundIn(ctx, tx, mailboxID, id); err != nil {
			return err
		}
		switch {
		case m.State == ledger.Filed:
			return fault.New(fault.Conflict, "The mail has already been filed.")
		case m.RawKey == "":
			return fault.New(fault.Conflict, "The raw mail has been deleted.")
		case m.State == ledger.Received:
			return nil
		}
		m.State, m.Reason, m.UserID, m.Note, m.UpdatedAt = ledger.Received, "", 0, "", d.svc.now()
		if m.Partial {
			m.State, m.Reason = ledger.Quarantined, beingFetched
		}
		if err := tx.UpdateInbound(ctx, &m); err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, replayJob(d.scope.AccountID, m, m.UpdatedAt)); err != nil {
			return err
		}
		return d.emit(ctx, tx, "mail.replayed", m.ID, m.MailboxID)
	})
	return m, err
}

// beingFetched is the reason of a quarantined message that is being fetched again.
const beingFetched = "it is being fetched again"

// replayJob returns the next job for a replayed message.
func replayJob(accountID int64, m ledger.Mail, now time.Time) storage.Job {
	if m.Partial {
		return storage.Job{
			Kind: JobRefetchMail, AccountID: accountID, Subject: m.ID, RunAt: now, UniqueKey: fmt.Sprintf("refetch/%d/%d", accountID, m.ID),
		}
	}
	return storage.Job{Kind: JobFileMail, AccountID: accountID, Subject: m.MailboxID, RunAt: now}
}

// Ignore sets a quarantined message aside permanently: it is listed as ignored, with who did it, when, and a note of
// at most 500 characters. [InboundMails.Replay] reverts that. An ignored message is unchanged; any other is a Conflict fault.
// It needs mailboxes.connection.
func (d InboundMails) Ignore(ctx context.Context, mailboxID, id int64, note string) (ledger.Mail, error) {
	begin, err := d.guard.Write(identity.MailboxesConnection)
	if err != nil {
		return ledger.Mail{}, err
	}
	note = plain.Line(note)
	var problems fault.Collector
	bounded(&problems, "note", note, 500)
	if err := problems.Err(); err != nil {
		return ledger.Mail{}, err
	}
	var m ledger.Mail
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if m, err = inboundIn(ctx, tx, mailboxID, id); err != nil {
			return err
		}
		switch m.State {
		case ledger.Ignored:
			return nil
		case ledger.Quarantined:
		default:
			return fault.New(fault.Conflict, "You can only ignore mail that could not be imported.")
		}
		m.State, m.UserID, m.Note, m.UpdatedAt = ledger.Ignored, d.userID, note, d.svc.now()
		if err := tx.UpdateInbound(ctx, &m); err != nil {
			return err
		}
		return d.emit(ctx, tx, "mail.ignored", m.ID, m.MailboxID)
	})
	return m, err
}

// Replay is the payload of a job of kind [JobReplayMail].
type Replay struct {
	Before time.Time `json:"before"` // messages quarantined later are not replayed
	UserID int64     `json:"user_id"`
}

// ReplayAll replays, in the background, all messages of a mailbox that are quarantined now, and returns their number.
// One that fails again is quarantined again with its new reason. Calling it twice replays nothing twice. It needs
// mailboxes.connection.
func (d InboundMails) ReplayAll(ctx context.Context, mailboxID int64) (int64, error) {
	begin, err := d.guard.Write(identity.MailboxesConnection)
	if err != nil {
		return 0, err
	}
	now := d.svc.now()
	payload, err := json.Marshal(Replay{Before: now, UserID: d.userID})
	if err != nil {
		return 0, fault.Wrap(fault.Internal, "making a job", err)
	}
	var counts ledger.Counts
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Mailboxes().Get(ctx, mailboxID); err != nil {
			return err
		}
		if counts, err = tx.InboundCounts(ctx, mailboxID); err != nil || counts.Quarantined == 0 {
			return err
		}
		return tx.Enqueue(ctx, storage.Job{Kind: JobReplayMail, AccountID: d.scope.AccountID, Subject: mailboxID, Payload: payload, RunAt: now})
	})
	return counts.Quarantined, err
}

// replayBatch is the number of messages per transaction.
const replayBatch = 100

// ReplayMails runs a [JobReplayMail] job: it queues the messages of a mailbox that were quarantined at the time of the
// request for filing or fetching, a hundred at a time. It is idempotent.
func (j Jobs) ReplayMails(ctx context.Context, job storage.ClaimedJob) error {
	var order Replay
	if err := json.Unmarshal(job.Payload, &order); err != nil {
		return fault.Wrap(fault.Internal, "Service.ReplayMails", err)
	}
	filter := ledger.Filter{MailboxID: job.Subject, States: []ledger.State{ledger.Quarantined}}
	seek := storage.Seek{Limit: replayBatch}
	for {
		batch, err := j.svc.cfg.Store.Within(Scope{AccountID: job.AccountID}).InboundMails(ctx, filter, seek)
		if err != nil || len(batch) == 0 {
			return err
		}
		seek.From = &storage.Position{ID: batch[len(batch)-1].ID}
		if err := j.svc.replay(ctx, job, order, batch); err != nil {
			return err
		}
	}
}

// replay queues the messages of a batch that nobody has handled in the meantime.
func (s *Service) replay(ctx context.Context, job storage.ClaimedJob, order Replay, batch []ledger.Mail) error {
	var ids []int64
	var jobs []storage.Job
	now := s.now()
	for _, m := range batch {
		switch {
		case m.UpdatedAt.After(order.Before) || m.RawKey == "":
		case m.Partial:
			jobs = append(jobs, replayJob(job.AccountID, m, now))
		default:
			ids = append(ids, m.ID)
		}
	}
	return s.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) error {
		changed, err := tx.SetInboundState(ctx, ids, ledger.Quarantined, ledger.Received, now)
		if err != nil {
			return err
		}
		todo := jobs // the transaction may run fn again
		var events []storage.Event
		for _, id := range changed {
			events = append(events, storage.Event{
				Type: "mail.replayed", Subject: id, MailboxID: job.Subject, ActorID: order.UserID, Data: eventData(id), Time: now,
			})
		}
		if len(changed) > 0 {
			todo = append(todo[:len(todo):len(todo)], replayJob(job.AccountID, ledger.Mail{MailboxID: job.Subject}, now))
		}
		if err := tx.Enqueue(ctx, todo...); err != nil {
			return err
		}
		return tx.Emit(ctx, events...)
	})
}
