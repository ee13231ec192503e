package desk

import "time"

// Backup is the state of the server's backups.
type Backup struct {
	At        time.Time // when the last one ended; zero: there was none
	Failed    bool      // it did
	Written   time.Time // when the last archive was complete; zero: never
	Size      int64     // of it, in bytes
	RowsApart bool      // it has files only: the database is backed up by other means
	Verified  time.Time // when it was last found to be whole; zero: never
}

// MaxBackupAge is the age of the last backup beyond which the page of the server's health warns.
const MaxBackupAge = 48 * time.Hour

// backupView is the card about backups.
type backupView struct {
	State, Class, Icon string
	Facts              []fact
	Command            string // how to make one; "" if there is a recent one
}

// backupCommand makes a backup; the manual explains it.
const backupCommand = "helpwright backup backups/"

// backups fills in the card, and what needs attention.
func (v *visit) backups(view *healthView) error {
	if v.h.cfg.Backup == nil {
		return nil
	}
	b, err := v.h.cfg.Backup(v.ctx())
	if err != nil {
		return err
	}
	w := v.words
	card := &backupView{State: w.T("Succeeded"), Class: "ok", Icon: "check"}
	old := v.now.Sub(b.Written) > MaxBackupAge
	switch {
	case b.At.IsZero():
		card.State, card.Class, card.Icon = w.T("No backup yet"), "warn", "alert"
		old = v.now.Sub(v.account.CreatedAt) > MaxBackupAge // a new server is given some time
	case b.Failed:
		card.State, card.Class, card.Icon = w.T("Failed"), "bad", "failed"
	case old:
		card.State, card.Class, card.Icon = w.T("Too old"), "warn", "alert"
	}
	if !b.Written.IsZero() {
		card.Facts = append(card.Facts, fact{w.T("Last backup"), v.when(b.Written)}, fact{w.T("Size"), bytesText(b.Size)})
	}
	if b.Failed {
		card.Facts = append(card.Facts, fact{w.T("Last attempt"), v.when(b.At)})
	}
	if !b.Verified.IsZero() {
		card.Facts = append(card.Facts, fact{w.T("Checked"), v.when(b.Verified)})
	}
	if b.RowsApart {
		card.Facts = append(card.Facts, fact{w.T("Contains"), w.T("Files only. The database needs a backup of its own.")})
	}
	if card.Class != "ok" {
		card.Command = backupCommand
	}
	view.Backup = card
	switch {
	case b.Failed:
		view.Needs = append(view.Needs, need{Icon: "failed", Title: w.T("The last backup failed"), Text: w.T("Run the command again to see why."), URL: "#backup"})
	case old:
		view.Needs = append(view.Needs, need{Icon: "alert", Title: w.T("No backup in the last %s days", int(MaxBackupAge.Hours()/24)), Text: w.T("Back up every day, for example by a timer."), URL: "#backup"})
	}
	return nil
}
