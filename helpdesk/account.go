package helpdesk

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/text/language"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

func validateHold(problems *fault.Collector, hold time.Duration) {
	problems.Check(hold >= 0 && hold <= identity.MaxSendHold && hold%time.Second == 0, "send_hold", "must be 0 to 600 seconds")
}

func validateAccount(problems *fault.Collector, name string, next int64, locale string, languages []string) {
	required(problems, "name", name, 200)
	problems.Check(next >= 1 && next <= 1<<53, "next_conversation_number", "must be at least 1")
	problems.Check(validLocale(locale), "default_locale", "is not a language code (BCP 47)")
	problems.Check(len(languages) <= 200, "languages", "has more than 200 codes")
	for i, code := range languages {
		problems.Check(validLocale(code), fmt.Sprintf("languages[%d]", i), "is not a language code (BCP 47)")
	}
}

// validLocale accepts language and language-REGION.
func validLocale(code string) bool {
	if len(code) > 35 {
		return false
	}
	_, err := language.Parse(code)
	return err == nil
}

// cleanLocale returns a locale, "" if it is not well-formed.
func cleanLocale(code string) string {
	if code = plain.Line(code); code == "" || !validLocale(code) {
		return ""
	}
	return code
}

// Account is the account itself: its settings, audit log, erasures and failed jobs.
type Account struct{ *desk }

// Account returns the handle of the account itself.
func (d *Desk) Account() Account { return Account{&d.desk} }

// Get returns the account. It needs accounts.view.
func (d Account) Get(ctx context.Context) (identity.Account, error) {
	r, err := d.guard.Read(identity.AccountsView)
	if err != nil {
		return identity.Account{}, err
	}
	return r.Account(ctx)
}

// Update changes the account. It needs accounts.update. A next number that was already taken is an Invalid fault.
func (d Account) Update(ctx context.Context, in identity.AccountUpdate) (identity.Account, error) {
	begin, err := d.guard.Write(identity.AccountsUpdate)
	if err != nil {
		return identity.Account{}, err
	}
	if err := d.reachesAll(); err != nil {
		return identity.Account{}, err
	}
	in.Name = plain.Line(in.Name)
	var account identity.Account
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		if account, err = tx.Account(ctx); err != nil {
			return err
		}
		old := account
		next := in.NextNumber.Or(account.NextNumber)
		locale := in.DefaultLocale.Or(account.DefaultLocale)
		languages := in.Languages.Or(account.Languages)
		hold := in.SendHold.Or(account.SendHold)
		var problems fault.Collector
		validateHold(&problems, hold)
		validateAccount(&problems, in.Name, next, locale, languages)
		problems.Check(next >= account.NextNumber, "next_conversation_number",
			fmt.Sprintf("must be at least %d: lower numbers are taken", account.NextNumber))
		images := in.RemoteImages.Or(account.RemoteImages)
		if images == "" {
			images = identity.BlockImages // for an account that was not created by this service
		}
		problems.Check(images == identity.BlockImages || images == identity.ProxyImages, "remote_images", "must be block or proxy")
		if err := problems.Err(); err != nil {
			return err
		}
		account.RemoteImages, account.TrackSeen = images, in.TrackSeen.Or(account.TrackSeen)
		account.RequireSecondFactor = in.RequireSecondFactor.Or(account.RequireSecondFactor)
		account.Name, account.NextNumber, account.DefaultLocale, account.Languages = in.Name, next, locale, languages
		account.SendHold, account.UpdatedAt = hold, d.svc.now()
		if err := tx.UpdateAccount(ctx, &account); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "account.updated", account.ID, 0, ofAccount(old, account))
	})
	return account, err
}

// pieceRows is how many rows a transaction changes or deletes, about, where there may be very many: others wait for it.
const pieceRows = 1000

// Delete removes the account with all its data, in several transactions if there is much, so some may be gone after an
// error; calling it again continues. Jobs remove its files soon after. It needs accounts.delete.
func (d Account) Delete(ctx context.Context) error {
	begin, err := d.guard.WriteAlone(identity.AccountsDelete)
	if err != nil {
		return err
	}
	if err := d.reachesAll(); err != nil {
		return err
	}
	err = guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) { return tx.TrimAccount(ctx, pieceRows) })
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.DeleteAccount(ctx); err != nil {
			return err
		}
		return tx.Enqueue(ctx, purgePrefix(accountPrefix(d.scope.AccountID))...)
	})
}
