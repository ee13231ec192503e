package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

// A mail server's data may crash the process, for instance by exhausting memory. So a process records the mailboxes that it
// works on. If it dies there, other processes count that, and after a few times leave the mailbox alone.
const (
	maxFruitless = 3  // crashes in a row, with nothing fetched in between
	maxDeaths    = 10 // crashes within deathsWindow, whatever was fetched in between
	deathsWindow = time.Hour
	// A parked mailbox is retried alone after firstRest, since it may not have caused the crashes. The rest doubles with each
	// further crash, up to longestRest.
	firstRest   = time.Minute
	longestRest = 24 * time.Hour
)

// parkedText explains a parked mailbox, and what to do.
const parkedText = "The server process has ended several times while it talked to this mailbox's mail server, so the mailbox is hardly fetched any more. " +
	"Test the connection, or change it, to have it fetched again at once."

// died counts a crash, and parks the mailbox if there were too many.
func fetchDied(s *ledger.FetchStatus, now time.Time) {
	recent := []time.Time{now}
	for _, at := range s.Deaths {
		if now.Sub(at) < deathsWindow && len(recent) < maxDeaths {
			recent = append(recent, at)
		}
	}
	s.Worker, s.Deaths, s.Fruitless = "", recent, s.Fruitless+1
	if s.Fruitless >= maxFruitless || len(s.Deaths) >= maxDeaths {
		s.ParkedAt, s.Connected, s.LastError, s.LastErrorAt = now, false, parkedText, now
	}
}

// rests reports whether a mailbox is parked and not yet due for a retry.
func fetchRests(s *ledger.FetchStatus, now time.Time) bool {
	if s.ParkedAt.IsZero() {
		return false
	}
	rest := firstRest
	for n := maxFruitless; n < s.Fruitless && rest < longestRest; n++ {
		rest *= 2
	}
	return now.Sub(s.ParkedAt) < min(rest, longestRest)
}

// worked records a success: the mailbox did not cause the crashes before it.
func fetchWorked(s *ledger.FetchStatus) {
	if !s.ParkedAt.IsZero() {
		unpark(s)
	}
	s.Fruitless = 0
}

// unpark clears the recorded crashes.
func unpark(s *ledger.FetchStatus) {
	if s.LastError == parkedText {
		s.LastError = ""
	}
	s.Deaths, s.Fruitless, s.ParkedAt = nil, 0, time.Time{}
}

// BeginFetch records that this process starts work on a mailbox that could crash it. It does not if the mailbox is parked,
// or if it is suspect and alone is false; a caller with alone set works on no other suspect mailbox. [Intake.EndFetch]
// clears the record. Without Config.Processes nothing is recorded.
func (in *Intake) BeginFetch(ctx context.Context, accountID, mailboxID int64, alone bool) (ledger.FetchLeave, error) {
	return in.svc.beginFetch(ctx, in.desk(accountID), receive, accountID, mailboxID, alone)
}

func (s *Service) beginFetch(ctx context.Context, g deskGuard, p identity.Permission, accountID, mailboxID int64, alone bool) (leave ledger.FetchLeave, err error) {
	r, err := g.Read(p)
	if err != nil {
		return leave, err
	}
	begin, err := g.Write(p)
	if err != nil || s.cfg.Processes == nil {
		return leave, err
	}
	name, err := s.cfg.Processes.Process(ctx)
	if err != nil || name == "" {
		return leave, err
	}
	status, err := r.FetchStatus(ctx, mailboxID)
	if err != nil {
		return leave, err
	}
	dead := ""
	if status.Worker != "" && status.Worker != name {
		if lives, err := s.cfg.Processes.Lives(ctx, status.Worker); err != nil {
			return leave, err
		} else if !lives {
			dead = status.Worker
		}
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		status, err := lockedStatus(ctx, tx, mailboxID)
		if err != nil {
			return err
		}
		parked := !status.ParkedAt.IsZero()
		if dead != "" && status.Worker == dead {
			fetchDied(&status, s.now())
		}
		leave = ledger.FetchLeave{Parked: fetchRests(&status, s.now()), Suspect: status.Fruitless > 0}
		if !leave.Parked && (!leave.Suspect || alone) {
			status.Worker = name
		}
		if err := tx.SaveFetchStatus(ctx, status); err != nil || parked || !leave.Parked {
			return err
		}
		if err := s.notifyAfterCommit(ctx, tx, accountID, occurrence{Kind: NotifyMailbox, MailboxID: mailboxID}); err != nil {
			return err
		}
		return tx.Emit(ctx, storage.Event{Type: "mailbox.parked", Subject: mailboxID, MailboxID: mailboxID, Data: eventData(mailboxID), Time: s.now()})
	})
	return leave, err
}

// EndFetch clears the record of BeginFetch. If the work was done, earlier crashes are not attributed to the mailbox.
func (in *Intake) EndFetch(ctx context.Context, accountID, mailboxID int64, done bool) error {
	return in.svc.endFetch(ctx, in.desk(accountID), receive, mailboxID, func(status *ledger.FetchStatus, noted bool) {
		if done && noted {
			fetchWorked(status)
		}
	})
}

func (s *Service) endFetch(ctx context.Context, g deskGuard, p identity.Permission, mailboxID int64, change func(status *ledger.FetchStatus, noted bool)) error {
	begin, err := g.Write(p)
	if err != nil || s.cfg.Processes == nil {
		return err
	}
	name, err := s.cfg.Processes.Process(ctx)
	if err != nil || name == "" {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		status, err := lockedStatus(ctx, tx, mailboxID)
		if err != nil {
			return err
		}
		noted := status.Worker == name
		if noted {
			status.Worker = ""
		}
		change(&status, noted)
		return tx.SaveFetchStatus(ctx, status)
	})
}

// lockedStatus reads the status of a mailbox and locks it.
func lockedStatus(ctx context.Context, tx Tx, mailboxID int64) (ledger.FetchStatus, error) {
	if _, err := tx.Mailboxes().Lock(ctx, mailboxID); err != nil {
		return ledger.FetchStatus{}, err
	}
	status, err := tx.FetchStatus(ctx, mailboxID)
	status.MailboxID = mailboxID
	return status, err
}

// absolve records that something was fetched from a suspect mailbox.
func absolve(ctx context.Context, tx Tx, mailboxID int64) error {
	status, err := tx.FetchStatus(ctx, mailboxID)
	if err != nil || status.Fruitless == 0 && status.ParkedAt.IsZero() {
		return err
	}
	if status, err = lockedStatus(ctx, tx, mailboxID); err != nil {
		return err
	}
	fetchWorked(&status)
	return tx.SaveFetchStatus(ctx, status)
}

// atWork runs an interactive operation on a mailbox's mail server, with the record of BeginFetch. If it succeeds and clears
// is set, a parked mailbox is fetched again.
func (d *desk) atWork(ctx context.Context, mailboxID int64, clears bool, do func() error) error {
	if _, err := d.svc.beginFetch(ctx, d.guard, identity.MailboxesConnection, d.scope.AccountID, mailboxID, true); err != nil {
		return err
	}
	worked := false
	defer func() { // also after a panic, which does not end the process
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		end := d.svc.endFetch(ctx, d.guard, identity.MailboxesConnection, mailboxID, func(status *ledger.FetchStatus, _ bool) {
			if worked && clears {
				unpark(status)
			}
		})
		if end != nil {
			d.svc.cfg.Logger.WarnContext(ctx, "the end of work on a mailbox was not noted", "mailbox_id", mailboxID, "error", end)
		}
	}()
	err := do()
	worked = err == nil
	return err
}

// deathsAtMail is the number of crashes at one message before it is quarantined. After the first one, which may have another
// cause, the message is filed alone.
const deathsAtMail = 4

// StartMail records that a message is about to be filed alone, after a crash while filing it or others. After too many
// crashes it quarantines the message and reports false.
func (in *Intake) StartMail(ctx context.Context, accountID, id int64) (ok bool, err error) {
	begin, err := in.desk(accountID).Write(receive)
	if err != nil {
		return false, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		m, err := tx.InboundForUpdate(ctx, id)
		ok = err == nil && m.State == ledger.Received && m.Deaths < deathsAtMail
		if err != nil || m.State != ledger.Received {
			return err
		}
		if !ok {
			return setFinalState(ctx, tx, &m, ledger.Quarantined, "the server process has ended several times while it read this mail", in.svc.now())
		}
		m.Deaths++
		return tx.UpdateInbound(ctx, &m)
	})
	return ok, err
}

// StopMail clears the record of StartMail for a message that still waits, since the process survived.
func (in *Intake) StopMail(ctx context.Context, accountID, id int64) error {
	begin, err := in.desk(accountID).Write(receive)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		m, err := tx.InboundForUpdate(ctx, id)
		if err != nil || m.State != ledger.Received || m.Deaths == 0 {
			return err
		}
		m.Deaths--
		return tx.UpdateInbound(ctx, &m)
	})
}
