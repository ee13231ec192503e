package helpdesk

import (
	"context"
	"time"

	"github.com/helpwright/helpwright/storage"
)

// What a mail server sends may end the process, by its memory for instance. So a process
// notes on which mailboxes it is at work. If it dies there, whoever comes next counts
// that, and after a few times leaves the mailbox alone.
const (
	maxFruitless = 3  // deaths in a row, with nothing fetched in between
	maxDeaths    = 10 // within deathsWindow, whatever was fetched in between
	deathsWindow = time.Hour
	// A parked mailbox is tried again after firstRest, alone: maybe the deaths were not its
	// fault. The rest doubles with each death that follows, up to longestRest.
	firstRest   = time.Minute
	longestRest = 24 * time.Hour
)

// parkedText tells what happened to a mailbox, and what to do.
const parkedText = "The server process has ended several times while it talked to this mailbox's mail server, so the mailbox is hardly fetched any more. " +
	"Test the connection, or change it, to have it fetched again at once."

// died counts that a process has died at work, and parks the mailbox if that was once
// too often.
func (s *FetchStatus) died(now time.Time) {
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

// rests reports whether a mailbox is parked and not due for another try.
func (s *FetchStatus) rests(now time.Time) bool {
	if s.ParkedAt.IsZero() {
		return false
	}
	rest := firstRest
	for n := maxFruitless; n < s.Fruitless && rest < longestRest; n++ {
		rest *= 2
	}
	return now.Sub(s.ParkedAt) < min(rest, longestRest)
}

// worked notes that work on the mailbox was done: the deaths before it were not its fault.
func (s *FetchStatus) worked() {
	if !s.ParkedAt.IsZero() {
		s.unpark()
	}
	s.Fruitless = 0
}

// unpark forgets that processes have died.
func (s *FetchStatus) unpark() {
	if s.LastError == parkedText {
		s.LastError = ""
	}
	s.Deaths, s.Fruitless, s.ParkedAt = nil, 0, time.Time{}
}

// FetchLeave is what [Intake.BeginFetch] says about work on a mailbox.
type FetchLeave struct {
	Parked bool // nothing may be done yet: see [FetchStatus].ParkedAt
	// Suspect: a process has died at work on the mailbox, maybe not because of it. Who
	// works on one such mailbox at a time finds out.
	Suspect bool
}

// BeginFetch notes that this process is at work on a mailbox, in a way that may end it,
// unless the mailbox is parked, or suspect and the caller not alone: whoever is works on
// no other suspect mailbox. [Intake.EndFetch] takes the note back. Without
// Config.Processes nothing is noted.
func (in *Intake) BeginFetch(ctx context.Context, accountID, mailboxID int64, alone bool) (FetchLeave, error) {
	return in.svc.beginFetch(ctx, in.desk(accountID), receive, accountID, mailboxID, alone)
}

func (s *Service) beginFetch(ctx context.Context, g deskGuard, p Permission, accountID, mailboxID int64, alone bool) (leave FetchLeave, err error) {
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
			status.died(s.now())
		}
		leave = FetchLeave{Parked: status.rests(s.now()), Suspect: status.Fruitless > 0}
		if !leave.Parked && (!leave.Suspect || alone) {
			status.Worker = name
		}
		if err := tx.SaveFetchStatus(ctx, status); err != nil || parked || !leave.Parked {
			return err
		}
		if err := s.tell(ctx, tx, accountID, occurrence{Kind: NotifyMailbox, MailboxID: mailboxID}); err != nil {
			return err
		}
		return tx.Emit(ctx, storage.Event{Type: "mailbox.parked", Subject: mailboxID, MailboxID: mailboxID, Data: eventData(mailboxID), Time: s.now()})
	})
	return leave, err
}

// EndFetch takes back what BeginFetch has noted. If the work was done, the deaths before
// it were not the mailbox's fault.
func (in *Intake) EndFetch(ctx context.Context, accountID, mailboxID int64, done bool) error {
	return in.svc.endFetch(ctx, in.desk(accountID), receive, mailboxID, func(status *FetchStatus, noted bool) {
		if done && noted {
			status.worked()
		}
	})
}

func (s *Service) endFetch(ctx context.Context, g deskGuard, p Permission, mailboxID int64, change func(status *FetchStatus, noted bool)) error {
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

// lockedStatus is the status of a mailbox that nobody else changes meanwhile.
func lockedStatus(ctx context.Context, tx Tx, mailboxID int64) (FetchStatus, error) {
	if _, err := tx.Mailboxes().Lock(ctx, mailboxID); err != nil {
		return FetchStatus{}, err
	}
	status, err := tx.FetchStatus(ctx, mailboxID)
	status.MailboxID = mailboxID
	return status, err
}

// absolve notes that something was fetched from a mailbox at which processes have died.
func absolve(ctx context.Context, tx Tx, mailboxID int64) error {
	status, err := tx.FetchStatus(ctx, mailboxID)
	if err != nil || status.Fruitless == 0 && status.ParkedAt.IsZero() {
		return err
	}
	if status, err = lockedStatus(ctx, tx, mailboxID); err != nil {
		return err
	}
	status.worked()
	return tx.SaveFetchStatus(ctx, status)
}

// atWork runs what talks to a mailbox's mail server by hand, with the note that it does.
// A parked mailbox is fetched again afterwards, if that went well and clears says so.
func (d *Desk) atWork(ctx context.Context, mailboxID int64, clears bool, do func() error) error {
	if _, err := d.svc.beginFetch(ctx, d.guard, MailboxesConnection, d.scope.AccountID, mailboxID, true); err != nil {
		return err
	}
	worked := false
	defer func() { // also after a panic: the process goes on
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		end := d.svc.endFetch(ctx, d.guard, MailboxesConnection, mailboxID, func(status *FetchStatus, _ bool) {
			if worked && clears {
				status.unpark()
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

// deathsAtMail is how many processes may die at one mail before it is set aside: at it
// alone, after one has died at it among others.
const deathsAtMail = 4

// StartMail notes that a mail is about to be filed, alone, after a process has died while
// it filed this mail or others. Once too often it quarantines the mail, and reports false.
func (in *Intake) StartMail(ctx context.Context, accountID, id int64) (ok bool, err error) {
	begin, err := in.desk(accountID).Write(receive)
	if err != nil {
		return false, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		m, err := tx.InboundForUpdate(ctx, id)
		ok = err == nil && m.State == InboundReceived && m.Deaths < deathsAtMail
		if err != nil || m.State != InboundReceived {
			return err
		}
		if !ok {
			return settle(ctx, tx, &m, InboundQuarantined, "the server process has ended several times while it read this mail", in.svc.now())
		}
		m.Deaths++
		return tx.UpdateInbound(ctx, &m)
	})
	return ok, err
}

// StopMail takes back what StartMail has noted of a mail that still waits: the process
// lives.
func (in *Intake) StopMail(ctx context.Context, accountID, id int64) error {
	begin, err := in.desk(accountID).Write(receive)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		m, err := tx.InboundForUpdate(ctx, id)
		if err != nil || m.State != InboundReceived || m.Deaths == 0 {
			return err
		}
		m.Deaths--
		return tx.UpdateInbound(ctx, &m)
	})
}
