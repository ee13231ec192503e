package transfer

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type (
	ctx               = context.Context
	insertFunc[T any] = func(ctx context.Context, x *target, rows []*T) error
)

// notSent is the response of a delivery that was still pending.
const notSent = "The account was moved before this was sent. Check that the old server has not sent it, then send it again."

// gone returns a negative id for something that no longer exists. What was gone before gets a different one from
// what was not.
func gone(id int64) int64 {
	if id < 0 {
		return 2*id - 1
	}
	return -2 * id
}

// insertAccount finds the account made, see [Importer.Files].
func insertAccount(_ ctx, x *target, all []*identity.Account) error {
	for _, a := range all {
		a.ID = x.of.account
	}
	return nil
}

func insertUsers(ctx ctx, x *target, all []*user) error {
	for _, u := range all {
		if u.Gone {
			u.ID = gone(u.ID)
			continue
		}
		there, err := x.sys.UserByEmail(ctx, mailaddr.Key(u.Email))
		if err == nil {
			u.ID = there.ID
			continue
		}
		if !fault.Is(err, fault.NotFound) {
			return err
		}
		if u.ID, err = x.newUser(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// newUser creates a user who does not exist here. Without the archive's secrets they have no password and no second factor;
// former members cannot sign in.
func (x *target) newUser(ctx ctx, u *user) (int64, error) {
	row := identity.User{
		Name: u.Name, Email: u.Email, EmailKey: mailaddr.Key(u.Email), EmailVerifiedAt: u.EmailVerifiedAt, DisabledAt: u.DisabledAt,
		Preferences: u.Preferences, CreatedAt: u.CreatedAt, UpdatedAt: u.UpdatedAt,
	}
	if len(u.Picture) > 0 {
		row.Picture = u.PictureName
	}
	if !u.Member && row.DisabledAt.IsZero() {
		row.DisabledAt = x.of.cfg.Now()
	}
	password, err := x.of.open(u.Password, place("user", u.ID, 0))
	if err != nil {
		return 0, err
	}
	factor, err := x.of.open(u.Factor, place("user", u.ID, 1))
	if err != nil {
		return 0, err
	}
	row.PasswordHash = string(password)
	if err := x.sys.InsertUser(ctx, &row); err != nil {
		return row.ID, err
	}
	if row.Picture != "" {
		if err := x.sys.SetPicture(ctx, row.ID, u.Picture); err != nil {
			return row.ID, err
		}
	}
	if len(factor) == 0 {
		return row.ID, nil
	}
	row.SecondFactorAt = u.SecondFactorAt
	for _, secret := range row.Secrets() {
		if *secret.Sealed, err = x.of.cfg.Sealer.Seal(factor, secret.Context); err != nil {
			return 0, err
		}
	}
	return row.ID, x.sys.UpdateUser(ctx, &row)
}

// reseal seals the secrets of a row for its new location. was holds the secrets that sealed it in the archive.
// It reports whether every secret could be decrypted.
func (x *target) reseal(noun string, id int64, secrets func() []storage.Secret, moved func()) (whole bool, err error) {
	var plain [][]byte
	whole = true
	for n, secret := range secrets() {
		text, err := x.of.open(*secret.Sealed, place(noun, id, n))
		if err != nil {
			return false, err
		}
		if len(text) == 0 {
			whole = false
		}
		plain = append(plain, text)
	}
	moved()
	for n, secret := range secrets() {
		*secret.Sealed = nil
		if len(plain[n]) == 0 {
			continue
		}
		if *secret.Sealed, err = x.of.cfg.Sealer.Seal(plain[n], secret.Context); err != nil {
			return false, err
		}
	}
	return whole, nil
}

// insertMailboxes turns fetched mailboxes into forwarding ones until their type is selected again.
func insertMailboxes(ctx ctx, x *target, all []*helpdesk.Mailbox) error {
	for _, m := range all {
		_, err := x.reseal("mailbox", m.ID, m.Secrets, func() {
			if _, err := x.sys.MailboxByLocal(ctx, m.InternalLocal); err == nil || m.InternalLocal == "" {
				m.InternalLocal = "mb-" + strings.ToLower(rand.Text()[:16])
			}
		})
		if err != nil {
			return err
		}
		m.Inbound.Type = ledger.InboundForward
	}
	return x.Mailboxes().Insert(ctx, all...)
}

func insertCursors(ctx ctx, x *target, all []*cursor) error {
	for _, c := range all {
		if err := x.SaveFetchCursor(ctx, c.MailboxID, c.Folder, mailserver.Cursor{UIDValidity: c.UIDValidity, UID: c.UID}); err != nil {
			return err
		}
	}
	return nil
}

// insertDomains skips domains without their keys, as their DNS records would be useless.
func insertDomains(ctx ctx, x *target, all []*sending.Domain) error {
	var kept []*sending.Domain
	for _, d := range all {
		whole, err := x.reseal("domain", d.ID, d.Secrets, func() {})
		if err != nil {
			return err
		}
		if whole {
			kept = append(kept, d)
		}
	}
	return insertKept(ctx, helpdesk.Nouns().Domains.Rows(x.Tx), all, kept, func(d *sending.Domain) *int64 { return &d.ID })
}

// insertKept inserts some of the rows and treats the others as deleted.
func insertKept[T, F any](ctx ctx, of storage.Rows[T, F], all, kept []*T, id func(*T) *int64) error {
	for _, t := range all {
		*id(t) = gone(*id(t))
	}
	if len(kept) == 0 {
		return nil
	}
	return of.Insert(ctx, kept...)
}

// insertPortalKeys skips keys without their secret.
func insertPortalKeys(ctx ctx, x *target, all []*helpdesk.PortalKey) error {
	var kept []*helpdesk.PortalKey
	for _, k := range all {
		whole, err := x.reseal("portal_key", k.ID, func() []storage.Secret { return k.Secrets(x.of.account) }, func() {})
		if err != nil {
			return err
		}
		if whole || k.Algorithm != helpdesk.PortalHS256 {
			kept = append(kept, k)
		}
	}
	return insertKept(ctx, helpdesk.Nouns().PortalKeys.Rows(x.Tx), all, kept, func(k *helpdesk.PortalKey) *int64 { return &k.ID })
}

// insertWebhooks turns webhooks off until someone turns them on again. A webhook without its secret gets a new one.
func insertWebhooks(ctx ctx, x *target, all []*subscription.Webhook) error {
	for _, w := range all {
		secrets := func() []storage.Secret { return w.Secrets(x.of.account) }
		if _, err := x.reseal("webhook", w.ID, secrets, func() {}); err != nil {
			return err
		}
		if len(w.SealedSecret) == 0 {
			key := make([]byte, 32)
			_, _ = rand.Read(key) // never fails, see crypto/rand
			var err error
			if w.SealedSecret, err = x.of.cfg.Sealer.Seal(key, secrets()[0].Context); err != nil {
				return err
			}
		}
		w.IsActive, w.After, w.FailingSince, w.Failures = false, 0, time.Time{}, 0
	}
	return helpdesk.Nouns().Webhooks.Rows(x.Tx).Insert(ctx, all...)
}

func insertErasureKeys(ctx ctx, x *target, all []*erasureKeys) error {
	for _, k := range all {
		if err := helpdesk.AddErasureKeys(ctx, x.Tx, x.of.cfg.Sealer, k.Keys); err != nil {
			return err
		}
	}
	return nil
}

func insertCustomers(ctx ctx, x *target, all []*helpdesk.Customer) error {
	for _, c := range all {
		for i := range c.Emails {
			c.Emails[i].ID = 0
		}
		for i := range c.Phones {
			c.Phones[i].ID = 0
		}
		for i := range c.Websites {
			c.Websites[i].ID = 0
		}
		if err := x.InsertCustomer(ctx, c); err != nil {
			return err
		}
		if err := helpdesk.IndexCustomers(ctx, x.Tx, []helpdesk.Customer{*c}); err != nil {
			return err
		}
	}
	return nil
}

func insertConversations(ctx ctx, x *target, all []*helpdesk.Conversation) error {
	if err := x.Conversations().Insert(ctx, all...); err != nil {
		return err
	}
	fresh := make([]helpdesk.Conversation, len(all))
	for i, c := range all {
		fresh[i] = *c
		if due, any := c.JobFor(x.of.account); any {
			if err := x.Enqueue(ctx, due); err != nil {
				return err
			}
		}
		if c.SnoozedUntil.IsZero() {
			continue
		}
		wake := storage.Job{Kind: helpdesk.JobWake, AccountID: x.of.account, Subject: c.ID, RunAt: c.SnoozedUntil}
		if err := x.Enqueue(ctx, wake); err != nil {
			return err
		}
	}
	return helpdesk.IndexConversations(ctx, x.Tx, fresh, nil)
}

// insertTeams also has jobs look at the teams that hand out conversations.
func insertTeams(ctx ctx, x *target, all []*helpdesk.Team) error {
	if err := helpdesk.Nouns().Teams.Rows(x.Tx).Insert(ctx, all...); err != nil {
		return err
	}
	for _, t := range all {
		if !t.Assignment.On() {
			continue
		}
		if err := x.Enqueue(ctx, storage.Job{Kind: helpdesk.JobHandOut, AccountID: x.of.account, Subject: t.ID}); err != nil {
			return err
		}
	}
	return nil
}

func insertLabels(ctx ctx, x *target, all []*labels) error {
	for _, l := range all {
		if err := x.SetTags(ctx, []int64{l.ConversationID}, l.TagIDs); err != nil {
			return err
		}
	}
	return nil
}

func (v *fieldValues) insert(ctx ctx, x *target, kind helpdesk.FieldKind) error {
	var fields []int64
	values := make([]helpdesk.FieldValue, len(v.Values))
	for i, one := range v.Values {
		fields = append(fields, one.FieldID)
		values[i] = helpdesk.FieldValue{SubjectID: v.SubjectID, FieldID: one.FieldID, Text: one.Text, Key: one.Key, Number: one.Number}
	}
	slices.Sort(fields)
	return x.SetFieldValues(ctx, kind, []int64{v.SubjectID}, slices.Compact(fields), values)
}

func insertParticipants(ctx ctx, x *target, all []*helpdesk.Participants) error {
	for _, p := range all {
		if err := x.AddParticipants(ctx, p.ConversationID, p.Keys); err != nil {
			return err
		}
	}
	return nil
}

func insertFollowers(ctx ctx, x *target, all []*helpdesk.Follower) error {
	return x.SaveFollowers(ctx, values(all))
}

func values[T any](all []*T) []T {
	out := make([]T, len(all))
	for i, v := range all {
		out[i] = *v
	}
	return out
}

func insertRedirects(ctx ctx, x *target, all []*helpdesk.Redirect) error {
	for _, r := range all {
		r.ConversationID = gone(r.ConversationID)
	}
	return x.InsertRedirects(ctx, values(all))
}

func insertReferences(ctx ctx, x *target, all []*reference) error {
	for _, r := range all {
		c, err := x.Conversations().Lock(ctx, r.ConversationID)
		if err != nil {
			return err
		}
		c.RefersTo = r.RefersTo
		if err := x.Conversations().Update(ctx, &c); err != nil {
			return err
		}
	}
	return nil
}

// unscheduled turns a scheduled reply into a draft.
func unscheduled(i *helpdesk.Interaction) {
	if !i.Scheduled() {
		return
	}
	i.Status, i.PostedByID, i.MessageID, i.Ending = helpdesk.StatusDraft, 0, "", helpdesk.Ending{}
	i.SendAt, i.PostedAt, i.SendStartedAt = time.Time{}, time.Time{}, time.Time{}
}

func insertInteractions(ctx ctx, x *target, all []*helpdesk.Interaction) error {
	var ids []int64
	for _, i := range all {
		ids = append(ids, i.ConversationID)
	}
	if err := x.Interactions().Insert(ctx, all...); err != nil {
		return err
	}
	of, err := x.Conversations().ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	return helpdesk.IndexConversations(ctx, x.Tx, of, values(all))
}

// insertDeliveries marks pending deliveries as failed, because the old server may still send them.
func insertDeliveries(ctx ctx, x *target, all []*sending.Delivery) error {
	for _, d := range all {
		d.HeldBy, d.HeldUntil, d.NextAttemptAt = 0, time.Time{}, time.Time{}
		if d.State == sending.Queued || d.State == sending.Deferred {
			d.State, d.Code, d.EnhancedCode, d.Response = sending.Failed, 0, "", notSent
		}
	}
	return x.Deliveries().Insert(ctx, all...)
}

func insertMoves(ctx ctx, x *target, all []*helpdesk.Move) error {
	return x.InsertMoves(ctx, values(all))
}

func insertMarks(ctx ctx, x *target, all []*helpdesk.ReadMark) error {
	for _, m := range all {
		if err := x.SaveReadMark(ctx, *m); err != nil {
			return err
		}
	}
	return nil
}

func insertMails(ctx ctx, x *target, all []*ledger.Mail) error {
	for _, m := range all {
		m.Deaths = 0
	}
	if err := x.InsertInbound(ctx, all); err != nil {
		return err
	}
	for _, m := range all {
		if m.ID == 0 {
			return fault.New(fault.Conflict, "Two mails have the same position.")
		}
	}
	return nil
}

func insertNotifications(ctx ctx, x *target, all []*helpdesk.Notification) error {
	for _, n := range all {
		n.MailAt = time.Time{}
	}
	return x.Notifications().Insert(ctx, all...)
}

func insertChoices(ctx ctx, x *target, all []*helpdesk.NotifyChoices) error {
	for _, c := range all {
		if err := x.SaveNotifyChoices(ctx, *c); err != nil {
			return err
		}
	}
	return nil
}

func insertAudit(ctx ctx, x *target, all []*helpdesk.AuditEntry) error {
	entries := values(all)
	if err := x.InsertAudit(ctx, entries); err != nil {
		return err
	}
	for i := range entries {
		all[i].ID = entries[i].ID
	}
	return nil
}

func insertSettings(ctx ctx, x *target, all []*settings) error {
	a, err := x.Reader().Account(ctx)
	if err != nil {
		return err
	}
	for _, s := range all {
		a.DefaultMailboxID, a.NextNumber = s.DefaultMailboxID, s.NextNumber
	}
	return x.UpdateAccount(ctx, &a)
}
