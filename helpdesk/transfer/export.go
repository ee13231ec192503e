package transfer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/transfer"
)

// Rows per read. Interaction bodies may be large.
const (
	pageSize  = 200
	largePage = 50
)

// Export writes a consistent snapshot of an account to an archive while others work. then writes what comes before the members
// and the audit log, such as the sites of the knowledge base; nil: nothing does.
func Export(ctx context.Context, cfg Config, accountID int64, w *transfer.Writer, then func(ctx context.Context) error) error {
	cfg, err := cfg.complete()
	if err != nil {
		return err
	}
	return cfg.Store.InSnapshot(ctx, helpdesk.Scope{AccountID: accountID}, func(ctx context.Context, r helpdesk.Reader) error {
		e := &export{cfg: cfg, account: accountID, r: r, w: w, nouns: newNouns(), known: map[int64]bool{}}
		for _, step := range []func(context.Context) error{e.people, e.boxes, e.kept, e.customers, e.conversations, e.interactions, e.rest, then, e.members} {
			if step == nil {
				continue
			}
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

type export struct {
	cfg     Config
	account int64
	r       helpdesk.Reader
	w       *transfer.Writer
	nouns   *nouns
	known   map[int64]bool // users written so far
	users   []int64        // the same, in order
	here    map[int64]bool // members
	staff   []identity.Membership
}

// put writes rows, preceded by the users that they refer to.
func put[T any](ctx context.Context, e *export, of *rows[T], some []T) error {
	var missing []int64
	if of.Walk != nil {
		see := transfer.NewVisitor(nil, func(noun string, id *int64, _ bool) {
			if noun == "user" && !e.known[*id] {
				e.known[*id] = true
				missing = append(missing, *id)
			}
		})
		for i := range some {
			of.Walk(see, &some[i])
		}
	}
	if err := e.writeUsers(ctx, missing); err != nil {
		return err
	}
	return of.Write(ctx, e.w, some)
}

func (e *export) writeUsers(ctx context.Context, ids []int64) error {
	for _, id := range ids {
		u, err := e.user(ctx, id)
		if err != nil {
			return err
		}
		e.known[id] = true
		e.users = append(e.users, id)
		if err := e.nouns.users.Write(ctx, e.w, []user{u}); err != nil {
			return err
		}
	}
	return nil
}

// user returns a person. There are few, whatever the account's size.
func (e *export) user(ctx context.Context, id int64) (user, error) {
	var u identity.User
	found, err := e.r.UsersByID(ctx, []int64{id})
	if err == nil && len(found) > 0 {
		u = found[0]
	} else if err == nil { // a former member, so not in the snapshot
		u, err = e.cfg.Store.User(ctx, id)
	}
	if fault.Is(err, fault.NotFound) {
		return user{ID: id, Gone: true}, nil
	}
	if err != nil {
		return user{}, err
	}
	out := user{
		ID: u.ID, Name: u.Name, Email: u.Email, EmailVerifiedAt: u.EmailVerifiedAt, DisabledAt: u.DisabledAt, Member: e.here[id],
		Preferences: u.Preferences, CreatedAt: u.CreatedAt, UpdatedAt: u.UpdatedAt,
	}
	if out.Member && u.Picture != "" {
		out.PictureName = u.Picture
		if out.Picture, err = e.r.Picture(ctx, id); err != nil {
			return user{}, err
		}
	}
	secrets := e.w.Secrets()
	if secrets == nil || !out.Member {
		return out, nil
	}
	if u.PasswordHash != "" {
		if out.Password, err = secrets.Seal([]byte(u.PasswordHash), place("user", id, 0)); err != nil {
			return user{}, err
		}
	}
	if len(u.SealedSecondFactor) == 0 || u.SecondFactorAt.IsZero() {
		return out, nil
	}
	factor := u.Secrets()[0]
	plain, err := e.cfg.Sealer.Open(*factor.Sealed, factor.Context)
	if err != nil {
		e.w.Note(fmt.Sprintf("the second factor of user %d cannot be decrypted with the server's key", id))
		return out, nil //nolint:nilerr // the archive's notes mention it
	}
	out.SecondFactorAt = u.SecondFactorAt
	out.Factor, err = secrets.Seal(plain, place("user", id, 1))
	return out, err
}

// resealed seals the secrets of a row for the archive, or removes them. It notes what has to be set up again.
func (e *export) resealed(noun string, id int64, secrets []storage.Secret, what string) error {
	lost := false
	for n, s := range secrets {
		if len(*s.Sealed) == 0 {
			continue
		}
		sealed := *s.Sealed
		*s.Sealed = nil
		if e.w.Secrets() == nil {
			lost = true
			continue
		}
		plain, err := e.cfg.Sealer.Open(sealed, s.Context)
		if err != nil {
			lost = true
			continue
		}
		if *s.Sealed, err = e.w.Secrets().Seal(plain, place(noun, id, n)); err != nil {
			return err
		}
	}
	if lost {
		e.w.Note(what)
	}
	return nil
}

func listed[T, F any](ctx context.Context, of storage.RowReader[T, F], f F) ([]T, error) {
	return of.List(ctx, f, storage.Seek{Limit: storage.NoLimit})
}

// people writes the account, its members and their roles.
func (e *export) people(ctx context.Context) error {
	a, err := e.r.Account(ctx)
	if err != nil {
		return err
	}
	a.Origin, a.DefaultMailboxID, a.SealedErasureKeys = identity.Origin{}, 0, nil
	if err := e.nouns.account.Write(ctx, e.w, []identity.Account{a}); err != nil {
		return err
	}
	if e.staff, err = listed(ctx, e.r.Memberships(), storage.NoFilter{}); err != nil {
		return err
	}
	e.here = map[int64]bool{}
	var ids []int64
	for _, m := range e.staff {
		e.here[m.UserID] = true
		ids = append(ids, m.UserID)
	}
	if err := e.writeUsers(ctx, ids); err != nil {
		return err
	}
	if e.w.Secrets() == nil && len(ids) > 0 {
		e.w.Note("members who are new on the other server need passwords (helpwright user reset-password) and have no second factor")
	}
	return all(ctx, e, e.nouns.roles, helpdesk.Nouns().Roles.Reader(e.r), storage.NoFilter{})
}

// all writes the rows of a noun, by id.
func all[T, F any](ctx context.Context, e *export, of *rows[T], from storage.RowReader[T, F], f F) error {
	list := func(ctx context.Context, seek storage.Seek) ([]T, error) { return from.List(ctx, f, seek) }
	at := func(t T) storage.Position { return storage.Position{ID: ownID(of, t)} }
	return pages(ctx, pageSize, list, at, func(some []T) error { return put(ctx, e, of, some) })
}

func ownID[T any](of *rows[T], t T) (id int64) {
	of.Walk(transfer.NewVisitor(func(_ string, own *int64) {
		if id == 0 {
			id = *own
		}
	}, nil), &t)
	return id
}

// boxes writes mailboxes and domains, whose secrets are sealed anew.
func (e *export) boxes(ctx context.Context) error {
	found, err := listed(ctx, e.r.Mailboxes(), storage.NoFilter{})
	if err != nil {
		return err
	}
	var cursors []cursor
	for i := range found {
		m := &found[i]
		m.AccountID = 0
		if m.Inbound.Type != ledger.InboundForward {
			e.w.Note(fmt.Sprintf("mailbox %q is not fetched on the other server until its type (%s) is selected there again: stop fetching here first", m.Name, m.Inbound.Type))
		}
		if err := e.resealed("mailbox", m.ID, m.Secrets(), fmt.Sprintf("the password of mailbox %q", m.Name)); err != nil {
			return err
		}
		folders := m.Inbound.Folders
		if len(folders) == 0 {
			folders = []string{"INBOX"}
		}
		for _, f := range folders {
			c, err := e.r.FetchCursor(ctx, m.ID, f)
			if err != nil {
				return err
			}
			if c != (mailserver.Cursor{}) {
				cursors = append(cursors, cursor{m.ID, f, c.UIDValidity, c.UID})
			}
		}
	}
	if err := put(ctx, e, e.nouns.mailboxes, found); err != nil {
		return err
	}
	if err := put(ctx, e, e.nouns.cursors, cursors); err != nil {
		return err
	}
	domains, err := listed(ctx, helpdesk.Nouns().Domains.Reader(e.r), storage.NoFilter{})
	if err != nil {
		return err
	}
	for i := range domains {
		d := &domains[i]
		d.AccountID = 0
		if err := e.resealed("domain", d.ID, d.Secrets(), fmt.Sprintf("the domain %s is missing its DKIM keys: add it again", d.Name)); err != nil {
			return err
		}
	}
	return put(ctx, e, e.nouns.domains, domains)
}

// kept writes an account's data other than customers and conversations.
func (e *export) kept(ctx context.Context) error {
	portal, err := listed(ctx, helpdesk.Nouns().PortalKeys.Reader(e.r), storage.NoFilter{})
	if err != nil {
		return err
	}
	for i := range portal {
		k := &portal[i]
		if err := e.resealed("portal_key", k.ID, k.Secrets(e.account), fmt.Sprintf("the portal key %q is missing its secret: add it again", k.Name)); err != nil {
			return err
		}
	}
	hooks, err := listed(ctx, helpdesk.Nouns().Webhooks.Reader(e.r), storage.NoFilter{})
	if err != nil {
		return err
	}
	for i := range hooks {
		h := &hooks[i]
		h.After = 0
		e.w.Note(fmt.Sprintf("webhook %s stays off on the other server until someone turns it on", h.URL))
		if err := e.resealed("webhook", h.ID, h.Secrets(e.account), fmt.Sprintf("webhook %s gets a new secret", h.URL)); err != nil {
			return err
		}
	}
	steps := []func() error{
		func() error { return all(ctx, e, e.nouns.tags, helpdesk.Nouns().Tags.Reader(e.r), storage.NoFilter{}) },
		func() error {
			return all(ctx, e, e.nouns.fields, helpdesk.Nouns().Fields.Reader(e.r), helpdesk.FieldFilter{})
		},
		func() error {
			return all(ctx, e, e.nouns.teams, helpdesk.Nouns().Teams.Reader(e.r), storage.NoFilter{})
		},
		func() error {
			return all(ctx, e, e.nouns.companies, helpdesk.Nouns().Companies.Reader(e.r), helpdesk.CompanyFilter{})
		},
		func() error {
			return all(ctx, e, e.nouns.companyKeys, helpdesk.Nouns().CompanyKeys.Reader(e.r), helpdesk.CompanyKeyFilter{})
		},
		func() error { return e.companyValues(ctx) },
		func() error {
			return all(ctx, e, e.nouns.blocked, helpdesk.Nouns().BlockedSenders.Reader(e.r), helpdesk.BlockedSenderFilter{})
		},
		func() error { return e.erasures(ctx) },
		func() error { return put(ctx, e, e.nouns.portalKeys, portal) },
		func() error { return put(ctx, e, e.nouns.webhooks, hooks) },
		func() error { return e.replies(ctx) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// erasures writes the tombstones of erased customers, with their keys.
func (e *export) erasures(ctx context.Context) error {
	keys, err := helpdesk.ErasureKeys(ctx, e.r, e.cfg.Sealer)
	if err == nil && len(keys) > 0 {
		err = put(ctx, e, e.nouns.erasureKeys, []erasureKeys{{keys}})
	}
	if err != nil {
		return err
	}
	return all(ctx, e, e.nouns.erasures, helpdesk.Nouns().Erasures.Reader(e.r), helpdesk.ErasureFilter{})
}

// replies writes saved replies, both personal and shared, and signatures.
func (e *export) replies(ctx context.Context) error {
	whose := append([]int64{0}, e.users...)
	for some := range slices.Chunk(whose, pageSize) {
		f := helpdesk.SavedReplyFilter{UserIDs: some}
		list := func(ctx context.Context, seek storage.Seek) ([]helpdesk.SavedReply, error) {
			return helpdesk.Nouns().SavedReplies.Reader(e.r).List(ctx, f, seek)
		}
		at := func(s helpdesk.SavedReply) storage.Position { return storage.Position{ID: s.ID} }
		err := pages(ctx, pageSize, list, at, func(found []helpdesk.SavedReply) error {
			if err := put(ctx, e, e.nouns.replies, found); err != nil {
				return err
			}
			files, err := listed(ctx, helpdesk.Nouns().ReplyFiles.Reader(e.r), helpdesk.ReplyFileFilter{ReplyIDs: idsOf(found, func(s helpdesk.SavedReply) int64 { return s.ID })})
			if err != nil {
				return err
			}
			return put(ctx, e, e.nouns.replyFiles, files)
		})
		if err != nil {
			return err
		}
		own, err := listed(ctx, helpdesk.Nouns().Signatures.Reader(e.r), helpdesk.SignatureFilter{UserIDs: some})
		if err == nil {
			err = put(ctx, e, e.nouns.signatures, own)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func idsOf[T any](all []T, id func(T) int64) []int64 {
	ids := make([]int64, len(all))
	for i, t := range all {
		ids[i] = id(t)
	}
	return ids
}

// companyValues writes the values of the fields of companies.
func (e *export) companyValues(ctx context.Context) error {
	list := func(ctx context.Context, seek storage.Seek) ([]helpdesk.Company, error) {
		return helpdesk.Nouns().Companies.Reader(e.r).List(ctx, helpdesk.CompanyFilter{}, seek)
	}
	at := func(c helpdesk.Company) storage.Position { return storage.Position{ID: c.ID} }
	return pages(ctx, pageSize, list, at, func(some []helpdesk.Company) error {
		return e.values(ctx, e.nouns.companyValues, helpdesk.FieldOfCompany, idsOf(some, func(c helpdesk.Company) int64 { return c.ID }))
	})
}

// customers writes customers with their keys, then the views and the SLAs, which refer to some.
func (e *export) customers(ctx context.Context) error {
	list := func(ctx context.Context, seek storage.Seek) ([]helpdesk.Customer, error) {
		return e.r.Customers(ctx, helpdesk.CustomerFilter{}, seek)
	}
	at := func(c helpdesk.Customer) storage.Position { return storage.Position{ID: c.ID} }
	err := pages(ctx, pageSize, list, at, func(some []helpdesk.Customer) error {
		if err := put(ctx, e, e.nouns.customers, some); err != nil {
			return err
		}
		if err := e.values(ctx, e.nouns.traits, helpdesk.FieldOfCustomer, idsOf(some, func(c helpdesk.Customer) int64 { return c.ID })); err != nil {
			return err
		}
		var emails []int64
		for _, c := range some {
			emails = append(emails, idsOf(c.Emails, func(m helpdesk.CustomerEmail) int64 { return m.ID })...)
		}
		if len(emails) == 0 {
			return nil
		}
		keys, err := listed(ctx, helpdesk.Nouns().PGPKeys.Reader(e.r), helpdesk.PGPKeyFilter{CustomerEmailIDs: emails})
		if err != nil {
			return err
		}
		return put(ctx, e, e.nouns.pgpKeys, keys)
	})
	if err != nil {
		return err
	}
	if err := all(ctx, e, e.nouns.views, helpdesk.Nouns().Views.Reader(e.r), helpdesk.ViewReader{}); err != nil {
		return err
	}
	return e.promises(ctx)
}

// everyConversation iterates over the conversations in the order in which they were created.
func (e *export) everyConversation(ctx context.Context, each func(some []helpdesk.Conversation, ids []int64) error) error {
	list := func(ctx context.Context, seek storage.Seek) ([]helpdesk.Conversation, error) {
		return e.r.Conversations().List(ctx, helpdesk.ConversationOrder{Sort: helpdesk.ByNumber}, seek)
	}
	at := func(c helpdesk.Conversation) storage.Position {
		return storage.Position{Key: c.SortKey(helpdesk.ByNumber), ID: c.ID}
	}
	return pages(ctx, pageSize, list, at, func(some []helpdesk.Conversation) error {
		return each(some, idsOf(some, func(c helpdesk.Conversation) int64 { return c.ID }))
	})
}

func (e *export) conversations(ctx context.Context) error {
	err := e.everyConversation(ctx, func(some []helpdesk.Conversation, ids []int64) error {
		if err := put(ctx, e, e.nouns.conversations, some); err != nil {
			return err
		}
		return e.around(ctx, ids)
	})
	if err != nil {
		return err
	}
	return e.everyConversation(ctx, func(some []helpdesk.Conversation, ids []int64) error {
		redirects, err := e.r.Redirects(ctx, ids)
		if err != nil {
			return err
		}
		if err := put(ctx, e, e.nouns.redirects, redirects); err != nil {
			return err
		}
		return e.ahead(ctx, some)
	})
}

// around writes the rows that belong to conversations.
func (e *export) around(ctx context.Context, ids []int64) error {
	marks, err := e.r.Marks(ctx, helpdesk.MarksQuery{ConversationIDs: ids, Tags: true})
	if err != nil {
		return err
	}
	var tagged []labels
	for _, m := range marks {
		one := labels{ConversationID: m.ConversationID}
		for _, t := range m.Tags {
			one.TagIDs = append(one.TagIDs, t.ID)
		}
		tagged = append(tagged, one)
	}
	if err := put(ctx, e, e.nouns.labels, tagged); err != nil {
		return err
	}
	if err := e.values(ctx, e.nouns.values, helpdesk.FieldOfConversation, ids); err != nil {
		return err
	}
	took, err := e.r.ParticipantsOf(ctx, ids)
	if err != nil {
		return err
	}
	if err := put(ctx, e, e.nouns.participants, took); err != nil {
		return err
	}
	followers, err := e.r.Followers(ctx, ids)
	if err != nil {
		return err
	}
	return put(ctx, e, e.nouns.followers, followers)
}

// values writes the values of the fields of subjects.
func (e *export) values(ctx context.Context, as *rows[fieldValues], kind helpdesk.FieldKind, ids []int64) error {
	found, err := e.r.FieldValues(ctx, kind, ids)
	if err != nil {
		return err
	}
	var all []fieldValues
	for _, v := range found {
		if n := len(all); n == 0 || all[n-1].SubjectID != v.SubjectID {
			all = append(all, fieldValues{SubjectID: v.SubjectID})
		}
		last := &all[len(all)-1]
		last.Values = append(last.Values, fieldValue{FieldID: v.FieldID, Text: v.Text, Key: v.Key, Number: v.Number})
	}
	return put(ctx, e, as, all)
}

// ahead writes references to conversations with a higher number; references to earlier ones are in the rows themselves.
func (e *export) ahead(ctx context.Context, some []helpdesk.Conversation) error {
	var to []int64
	for _, c := range some {
		if c.RefersTo != 0 {
			to = append(to, c.RefersTo)
		}
	}
	there, err := e.r.Conversations().ByIDs(ctx, to)
	if err != nil {
		return err
	}
	numbers := map[int64]int64{}
	for _, c := range there {
		numbers[c.ID] = c.Number
	}
	var late []reference
	for _, c := range some {
		if numbers[c.RefersTo] > c.Number {
			late = append(late, reference{c.ID, c.RefersTo})
		}
	}
	return put(ctx, e, e.nouns.references, late)
}

// interactions writes the interactions in order of arrival, on which read marks depend.
func (e *export) interactions(ctx context.Context) error {
	at := func(i helpdesk.Interaction) storage.Position { return storage.Position{ID: i.ID} }
	err := pages(ctx, largePage, e.r.AllInteractions, at, func(some []helpdesk.Interaction) error {
		ids := idsOf(some, func(i helpdesk.Interaction) int64 { return i.ID })
		if err := put(ctx, e, e.nouns.interactions, some); err != nil {
			return err
		}
		files, err := listed(ctx, e.r.Attachments(), helpdesk.AttachmentFilter{InteractionIDs: ids})
		if err != nil {
			return err
		}
		if err := put(ctx, e, e.nouns.attachments, files); err != nil {
			return err
		}
		sent, err := listed(ctx, e.r.Deliveries(), sending.DeliveryFilter{InteractionIDs: ids})
		if err != nil {
			return err
		}
		if err := put(ctx, e, e.nouns.deliveries, sent); err != nil {
			return err
		}
		moves, err := e.r.Moves(ctx, ids)
		if err != nil {
			return err
		}
		return put(ctx, e, e.nouns.moves, moves)
	})
	if err != nil {
		return err
	}
	return e.everyConversation(ctx, func(_ []helpdesk.Conversation, ids []int64) error { return e.marks(ctx, ids) })
}

// marks writes how far members have read, in terms of existing interactions: a mark may lie between two.
func (e *export) marks(ctx context.Context, ids []int64) error {
	marks, err := e.r.ReadMarks(ctx, ids)
	if err != nil {
		return err
	}
	there := map[int64]bool{}
	for some := range slices.Chunk(marks, largePage) {
		found, err := e.r.Interactions().ByIDs(ctx, idsOf(some, func(m helpdesk.ReadMark) int64 { return m.InteractionID }))
		if err != nil {
			return err
		}
		for _, i := range found {
			there[i.ID] = true
		}
	}
	var kept []helpdesk.ReadMark
	for _, m := range marks {
		if !there[m.InteractionID] {
			if m.InteractionID, err = e.lastUpTo(ctx, m); err != nil {
				return err
			}
		}
		if m.InteractionID != 0 {
			kept = append(kept, m)
		}
	}
	return put(ctx, e, e.nouns.marks, kept)
}

// lastUpTo returns the latest interaction of a conversation up to a mark, or 0.
func (e *export) lastUpTo(ctx context.Context, m helpdesk.ReadMark) (last int64, err error) {
	list := func(ctx context.Context, seek storage.Seek) ([]helpdesk.Interaction, error) {
		return e.r.Interactions().List(ctx, helpdesk.InteractionFilter{ConversationID: m.ConversationID}, seek)
	}
	at := func(i helpdesk.Interaction) storage.Position { return storage.Position{Key: i.SortKey(), ID: i.ID} }
	err = pages(ctx, largePage, list, at, func(some []helpdesk.Interaction) error {
		for _, i := range some {
			if i.ID <= m.InteractionID {
				last = max(last, i.ID)
			}
		}
		return nil
	})
	return last, err
}

// rest writes the ledger and the notifications.
func (e *export) rest(ctx context.Context) error {
	list := func(ctx context.Context, seek storage.Seek) ([]ledger.Mail, error) {
		return e.r.InboundMails(ctx, ledger.Filter{}, seek)
	}
	at := func(m ledger.Mail) storage.Position { return storage.Position{ID: m.ID} }
	err := pages(ctx, pageSize, list, at, func(some []ledger.Mail) error { return put(ctx, e, e.nouns.mails, some) })
	if err != nil {
		return err
	}
	if err := e.rules(ctx); err != nil {
		return err
	}
	if err := e.history(ctx); err != nil {
		return err
	}
	if err := all(ctx, e, e.nouns.suppressions, helpdesk.Nouns().Suppressions.Reader(e.r), sending.SuppressionFilter{}); err != nil {
		return err
	}
	if err := e.automation(ctx); err != nil {
		return err
	}
	for _, m := range e.staff {
		if err := all(ctx, e, e.nouns.memberMails, helpdesk.Nouns().MemberMails.Reader(e.r), helpdesk.MemberMailFilter{UserID: m.UserID}); err != nil {
			return err
		}
		if err := all(ctx, e, e.nouns.notifications, e.r.Notifications(), helpdesk.NotificationFilter{UserID: m.UserID}); err != nil {
			return err
		}
	}
	choices, err := e.r.NotifyChoices(ctx, nil)
	if err != nil {
		return err
	}
	slices.SortFunc(choices, func(a, b helpdesk.NotifyChoices) int { return cmp.Compare(a.UserID, b.UserID) })
	return put(ctx, e, e.nouns.choices, choices)
}

// promises writes the SLAs, which conversations name, with the calendars that these name.
func (e *export) promises(ctx context.Context) error {
	if err := all(ctx, e, e.nouns.calendars, helpdesk.Nouns().Calendars.Reader(e.r), storage.NoFilter{}); err != nil {
		return err
	}
	return all(ctx, e, e.nouns.slas, helpdesk.Nouns().SLAs.Reader(e.r), storage.NoFilter{})
}

// rules writes the rules and the retention policies, which the history names.
func (e *export) rules(ctx context.Context) error {
	if err := all(ctx, e, e.nouns.retention, helpdesk.Nouns().RetentionPolicies.Reader(e.r), storage.NoFilter{}); err != nil {
		return err
	}
	if err := all(ctx, e, e.nouns.rules, helpdesk.Nouns().Rules.Reader(e.r), storage.NoFilter{}); err != nil {
		return err
	}
	return all(ctx, e, e.nouns.ruleSets, helpdesk.Nouns().RuleSets.Reader(e.r), storage.NoFilter{})
}

// automation writes what answers by itself.
func (e *export) automation(ctx context.Context) error {
	replies := helpdesk.Nouns().AutoReplies.Reader(e.r)
	if err := all(ctx, e, e.nouns.autoReplies, replies, storage.NoFilter{}); err != nil {
		return err
	}
	written, err := replies.List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	for _, a := range written {
		of := helpdesk.AutoResponseFilter{AutoReplyID: a.ID}
		if err := all(ctx, e, e.nouns.autoResponses, helpdesk.Nouns().AutoResponses.Reader(e.r), of); err != nil {
			return err
		}
	}
	if err := all(ctx, e, e.nouns.surveys, helpdesk.Nouns().Surveys.Reader(e.r), storage.NoFilter{}); err != nil {
		return err
	}
	return all(ctx, e, e.nouns.ratings, helpdesk.Nouns().Ratings.Reader(e.r), helpdesk.RatingFilter{})
}

// members writes the audit log and the memberships, which come last because they give access to the account.
func (e *export) members(ctx context.Context) error {
	a, err := e.r.Account(ctx)
	if err != nil {
		return err
	}
	if err := put(ctx, e, e.nouns.settings, []settings{{a.DefaultMailboxID, a.NextNumber}}); err != nil {
		return err
	}
	if err := put(ctx, e, e.nouns.memberships, e.staff); err != nil {
		return err
	}
	list := func(ctx context.Context, seek storage.Seek) ([]helpdesk.AuditEntry, error) {
		return e.r.AuditLog(ctx, helpdesk.AuditFilter{}, seek)
	}
	at := func(x helpdesk.AuditEntry) storage.Position {
		return storage.Position{Key: x.CreatedAt.UnixMicro(), ID: x.ID}
	}
	return pages(ctx, pageSize, list, at, func(some []helpdesk.AuditEntry) error { return put(ctx, e, e.nouns.audit, some) })
}

// readAccount reads the first row of an archive.
func readAccount(c *transfer.Chunk) (a identity.Account, err error) {
	if len(c.Lines) != 1 {
		return a, fault.Newf(fault.Invalid, "%s: an archive must begin with one account.", c.Path)
	}
	if err := json.Unmarshal(c.Lines[0], &a); err != nil {
		return a, fault.Newf(fault.Invalid, "%s cannot be read.", c.Path)
	}
	return a, nil
}
