package helpdesk

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// AutoReply is a reply that is sent by itself when a customer's mail arrives, or a message of a contact form or the portal,
// see [Jobs.AutoReply]. It acts with the rights of the member who last changed it.
type AutoReply struct {
	ID           int64
	Name         string
	Key          string        // case-folded Name; unique in the account
	MailboxIDs   []int64       // sorted; empty: all
	CalendarID   int64         // 0: none, if When is AutoAlways
	When         AutoWhen      //
	On           AutoOn        //
	OncePer      time.Duration // at most one within this time to a customer, in whole hours; 0: no limit
	Translations []AutoText    // by locale, at least one
	IsActive     bool
	Reason       AutoReason // why it was switched off by itself; "": it was not
	Version      int        // 1 when it is created, one more with each change
	UserID       int64      // who last changed it; 0: an embedding application
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// AutoWhen is when an automatic reply answers.
type AutoWhen string

// The times of automatic replies.
const (
	AutoAlways  AutoWhen = "always"
	AutoInside  AutoWhen = "inside"  // the hours of its calendar
	AutoOutside AutoWhen = "outside" // them
)

// AutoOn are the mails that an automatic reply answers.
type AutoOn string

// The mails of automatic replies.
const (
	AutoNew   AutoOn = "new"   // that begin a conversation
	AutoEvery AutoOn = "every" // all
)

// AutoReason is why an automatic reply was switched off by itself.
type AutoReason string

// AutoOrphaned means that the member who last changed it has left, or could no longer create it.
const AutoOrphaned AutoReason = "orphaned"

// AutoText is the text of an automatic reply in one language.
type AutoText struct {
	Locale  string `json:"locale"`  // BCP 47
	Subject string `json:"subject"` // text with placeholders; "": that of the conversation
	Body    string `json:"body"`    // sanitized HTML with placeholders
}

func (t AutoText) texts() []string { return []string{t.Locale, t.Subject, t.Body} }

// UniqueAutoReply is the code of a store's Conflict fault for a duplicate (account, Key).
const UniqueAutoReply = "auto_reply"

// Limits of automatic replies.
const (
	MaxAutoReplies   = 100 // in an account
	MaxAutoTexts     = 50  // of one
	MaxAutoOncePer   = 365 * 24 * time.Hour
	autoOncePer      = 24 * time.Hour // default
	maxAutoSubject   = 200            // characters
	maxAutoMailboxes = 1000
)

// AutoReplyInput creates or changes an automatic reply. Absent fields are unchanged, or the default of a new one.
type AutoReplyInput struct {
	Name       storage.Opt[string]        // required in a new one, at most 100 characters
	MailboxIDs storage.Opt[[]int64]       // default: all
	CalendarID storage.Opt[int64]         // null or 0: none; required unless When is AutoAlways
	When       storage.Opt[AutoWhen]      // default: AutoAlways
	On         storage.Opt[AutoOn]        // default: AutoNew
	OncePer    storage.Opt[time.Duration] // whole hours, up to [MaxAutoOncePer]; default: 24
	// Translations replace all texts, by locale; required in a new one. A subject is text of at most 200 characters, a body HTML
	// or text of at most 64 KiB. Both may contain the placeholders of [AutoReplyPlaceholders].
	Translations storage.Opt[map[string]AutoText]
	IsActive     storage.Opt[bool] // default: true
}

// AutoReplyPlaceholders lists the placeholders of automatic replies, between double braces: those of saved replies that are texts, and
// that of the mailbox. As nobody wrote the reply, agent.name is the name of the mailbox.
func AutoReplyPlaceholders() []string { return append(textPlaceholders(), "mailbox.name") }

// autoReplyNoun declares the rows of automatic replies.
func autoReplyNoun() storage.Declared[AutoReply, storage.NoFilter] {
	return storage.Declared[AutoReply, storage.NoFilter]{
		Noun: storage.Noun[AutoReply]{
			Name: "automatic reply",
			ID:   func(t *AutoReply) *int64 { return &t.ID },
			Unique: []storage.Unique[AutoReply]{
				{Code: UniqueAutoReply, Index: "key", Fields: func(t *AutoReply) []any { return []any{&t.Key} }},
			},
		},
		Key: "auto_reply", Plural: "auto_replies",
		Columns: []storage.Column[AutoReply]{
			{Name: "name", Field: func(t *AutoReply) any { return &t.Name }},
			{Name: "name_key", Field: func(t *AutoReply) any { return &t.Key }},
			{Name: "mailbox_ids", Field: func(t *AutoReply) any { return storage.IDs(&t.MailboxIDs) }, Refers: "mailbox", Loose: true, Limits: true},
			{Name: "calendar_id", Field: func(t *AutoReply) any { return &t.CalendarID }, Refers: "calendar"},
			{Name: "applies", Field: func(t *AutoReply) any { return (*string)(&t.When) }},
			{Name: "answers", Field: func(t *AutoReply) any { return (*string)(&t.On) }},
			{Name: "once_per", Field: func(t *AutoReply) any { return (*int64)(&t.OncePer) }},
			{Name: "translations", Field: func(t *AutoReply) any { return storage.Objects(&t.Translations, AutoText.texts) }},
			{Name: "is_active", Field: func(t *AutoReply) any { return &t.IsActive }},
			{Name: "reason", Field: func(t *AutoReply) any { return (*string)(&t.Reason) }},
			{Name: "version", Field: func(t *AutoReply) any { return &t.Version }},
			{Name: "user_id", Field: func(t *AutoReply) any { return &t.UserID }, Refers: "user"},
			{Name: "created_at", Field: func(t *AutoReply) any { return &t.CreatedAt }},
			{Name: "updated_at", Field: func(t *AutoReply) any { return &t.UpdatedAt }},
		},
		Parts: []storage.Part{{Table: "hw_auto_responses", Of: "auto_reply_id"}},
	}
}

// Text returns the text for the first of some locales in which, or at least in whose language, there is one, and otherwise the
// first text.
func (a AutoReply) Text(locales ...string) AutoText {
	return textFor(a.Translations, func(t AutoText) string { return t.Locale }, locales)
}

// languageOf returns the language of a locale: pt of pt-BR.
func languageOf(locale string) string {
	language, _, _ := strings.Cut(locale, "-")
	return language
}

// apply validates in and copies it into a.
func (a *AutoReply) apply(d *desk, in AutoReplyInput) error {
	var problems fault.Collector
	a.Name = plain.Line(in.Name.Or(a.Name))
	a.Key = tagKey(a.Name)
	required(&problems, "name", a.Name, 100)
	a.MailboxIDs = sortedSet(in.MailboxIDs.Or(a.MailboxIDs))
	problems.Check(len(a.MailboxIDs) <= maxAutoMailboxes, "mailbox_ids", fmt.Sprintf("has more than %d ids", maxAutoMailboxes))
	a.When, a.On = in.When.Or(cmp.Or(a.When, AutoAlways)), in.On.Or(cmp.Or(a.On, AutoNew))
	problems.Check(slices.Contains([]AutoWhen{AutoAlways, AutoInside, AutoOutside}, a.When), "when", "must be always, inside or outside")
	problems.Check(slices.Contains([]AutoOn{AutoNew, AutoEvery}, a.On), "on", "must be new or every")
	if in.CalendarID.IsSet() {
		a.CalendarID = in.CalendarID.Or(0)
	}
	problems.Check(a.CalendarID != 0 || a.When == AutoAlways, "calendar_id", "is required, unless when is always")
	a.OncePer = in.OncePer.Or(a.OncePer)
	problems.Check(a.OncePer >= 0 && a.OncePer <= MaxAutoOncePer && a.OncePer%time.Hour == 0, "once_per", "must be whole hours, from 0 to 8,760")
	if texts, given := in.Translations.Get(); given {
		a.Translations = d.cleanTexts(&problems, texts)
	}
	problems.Check(len(a.Translations) > 0, "translations", "is required: a body in at least one language")
	a.IsActive = in.IsActive.Or(a.IsActive)
	if a.IsActive {
		a.Reason = ""
	}
	a.UserID = d.userID // their rights now bound it
	return problems.Err()
}

// cleanTexts validates texts by locale and returns them in order.
func (d *desk) cleanTexts(problems *fault.Collector, texts map[string]AutoText) []AutoText {
	if !problems.Check(len(texts) <= MaxAutoTexts, "translations", fmt.Sprintf("has more than %d languages", MaxAutoTexts)) {
		return nil
	}
	var all []AutoText
	for locale, t := range texts {
		t.Locale = locale
		field := fieldOf("translations[" + plain.Cut(plain.Line(locale), 35) + "]")
		problems.Check(validLocale(locale), field("locale"), "is not a language code (BCP 47)")
		t.Subject = plain.Line(t.Subject)
		bounded(problems, field("subject"), t.Subject, maxAutoSubject)
		checkPlaceholders(problems, field("subject"), t.Subject, AutoReplyPlaceholders())
		if problems.Check(len(t.Body) <= maxSavedReply, field("body"), "is larger than 64 KiB") {
			t.Body = d.cleanBody(problems, field("body"), t.Body)
			problems.Check(!blank(t.Body), field("body"), "is required")
			checkPlaceholders(problems, field("body"), t.Body, AutoReplyPlaceholders())
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b AutoText) int { return strings.Compare(a.Locale, b.Locale) })
	return all
}

// mayAutoReply returns a fault unless the member could send the reply to all who may get it.
func (d *desk) mayAutoReply(a AutoReply) error {
	if _, err := d.guard.Write(identity.InteractionsCreate); err != nil {
		return err
	}
	beyond := func(id int64) bool { return !slices.Contains(d.scope.Mailboxes, id) }
	if d.scope.Mailboxes != nil && (len(a.MailboxIDs) == 0 || slices.ContainsFunc(a.MailboxIDs, beyond)) {
		return limited("It answers mail of mailboxes that you do not reach: name some of yours.")
	}
	return nil
}

// AutoReplies answer customers by themselves.
type AutoReplies struct{ *desk }

// AutoReplies returns the handle of automatic replies.
func (d *Desk) AutoReplies() AutoReplies { return AutoReplies{&d.desk} }

// Get returns an automatic reply. It needs auto_replies.view.
func (d AutoReplies) Get(ctx context.Context, id int64) (AutoReply, error) {
	r, err := d.guard.Read(identity.AutoRepliesView)
	if err != nil {
		return AutoReply{}, err
	}
	return autoReplyNoun().Reader(r).Get(ctx, id)
}

// List lists the account's automatic replies, oldest first. It needs auto_replies.view.
func (d AutoReplies) List(ctx context.Context, req storage.PageRequest) (storage.Page[AutoReply], error) {
	r, err := d.guard.Read(identity.AutoRepliesView)
	if err != nil {
		return storage.Page[AutoReply]{}, err
	}
	return storage.List(req, false, func(a AutoReply) storage.Position { return storage.Position{ID: a.ID} },
		func(seek storage.Seek) ([]AutoReply, error) {
			return autoReplyNoun().Reader(r).List(ctx, storage.NoFilter{}, seek)
		})
}

// Create creates an automatic reply. It needs auto_replies.create and interactions.create; a member limited to some
// mailboxes must name some of them. A name that another one has, ignoring case, is an Invalid fault on name; a calendar or
// mailbox that does not exist is a NotFound fault; more than [MaxAutoReplies] are a Conflict fault.
func (d AutoReplies) Create(ctx context.Context, in AutoReplyInput) (AutoReply, error) {
	begin, err := d.guard.Write(identity.AutoRepliesCreate)
	if err != nil {
		return AutoReply{}, err
	}
	now := d.svc.now()
	a := AutoReply{IsActive: true, OncePer: autoOncePer, Version: 1, CreatedAt: now, UpdatedAt: now}
	if err := a.apply(d.desk, in); err != nil {
		return AutoReply{}, err
	}
	if err := d.mayAutoReply(a); err != nil {
		return AutoReply{}, err
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		some, err := autoReplyNoun().Rows(tx).List(ctx, storage.NoFilter{}, storage.Seek{Limit: MaxAutoReplies})
		if err != nil {
			return err
		}
		if len(some) >= MaxAutoReplies {
			return fault.Newf(fault.Conflict, "An account has at most %d automatic replies.", MaxAutoReplies)
		}
		if err := d.checkAutoReply(ctx, tx, a); err != nil {
			return err
		}
		if err := autoReplyNoun().Rows(tx).Insert(ctx, &a); err != nil {
			return err
		}
		return d.emit(ctx, tx, "auto_reply.created", a.ID, 0)
	})
	return a, takenField(err, UniqueAutoReply, "name")
}

// checkAutoReply verifies that what an automatic reply refers to exists. former are mailboxes that may be gone.
func (d *desk) checkAutoReply(ctx context.Context, tx Tx, a AutoReply, former ...int64) error {
	if a.CalendarID != 0 {
		if _, err := calendarNoun().Rows(tx).Lock(ctx, a.CalendarID); err != nil {
			return err
		}
	}
	return d.findMailboxes(ctx, tx.Reader(), a.MailboxIDs, former...)
}

// Update changes an automatic reply, which then acts with the rights of the caller. It needs auto_replies.update and,
// for the former and the resulting one, what [AutoReplies.Create] requires.
func (d AutoReplies) Update(ctx context.Context, id int64, in AutoReplyInput) (AutoReply, error) {
	begin, err := d.guard.Write(identity.AutoRepliesUpdate)
	if err != nil {
		return AutoReply{}, err
	}
	var a AutoReply
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		old, err := autoReplyNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := d.mayAutoReply(old); err != nil {
			return err
		}
		a = old
		if err := a.apply(d.desk, in); err != nil {
			return err
		}
		if err := d.mayAutoReply(a); err != nil {
			return err
		}
		if err := d.checkAutoReply(ctx, tx, a, old.MailboxIDs...); err != nil {
			return err
		}
		if !reflect.DeepEqual(a, old) {
			a.Version++
		}
		a.UpdatedAt = d.svc.now()
		if err := autoReplyNoun().Rows(tx).Update(ctx, &a); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "auto_reply.updated", a.ID, 0, ofAutoReply(old, a))
	})
	return a, takenField(err, UniqueAutoReply, "name")
}

// Delete removes an automatic reply. What it has sent stays. It needs auto_replies.delete, and reach of its mailboxes.
func (d AutoReplies) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.AutoRepliesDelete)
	if err != nil {
		return err
	}
	begin = begin.After(func(ctx context.Context, tx Tx) error {
		a, err := autoReplyNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		return d.mayAutoReply(a)
	})
	err = guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) {
		return autoReplyNoun().Rows(tx).Trim(ctx, id, pieceRows)
	})
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := autoReplyNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "auto_reply.deleted", id, 0)
	})
}

// AutoReplyPreview is an automatic reply as a customer would get it.
type AutoReplyPreview struct {
	Locale, Subject string
	Body            string // sanitized HTML
}

// Preview returns the texts of an automatic reply that need not be stored yet, in the order of their locales, with
// the placeholders filled in: for the newest conversation that the caller sees, or an example where there is none. It needs
// auto_replies.view. Texts that could not be stored are an Invalid fault.
func (d AutoReplies) Preview(ctx context.Context, texts map[string]AutoText) ([]AutoReplyPreview, error) {
	r, err := d.guard.Read(identity.AutoRepliesView)
	if err != nil {
		return nil, err
	}
	var problems fault.Collector
	clean := d.cleanTexts(&problems, texts)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	c, customer, mailbox, err := d.exampleOf(ctx, r)
	if err != nil {
		return nil, err
	}
	var all []AutoReplyPreview
	for _, t := range clean {
		subject, body := t.fill(c, customer, mailbox)
		all = append(all, AutoReplyPreview{Locale: t.Locale, Subject: subject, Body: body})
	}
	return all, nil
}

// exampleOf returns what a preview is about: the newest conversation that the caller sees, or an example.
func (d *desk) exampleOf(ctx context.Context, r Reader) (Conversation, Customer, Mailbox, error) {
	c, customer, mailbox := Conversation{Number: 1234, Subject: "…"}, Customer{FirstName: "Ada", LastName: "Lovelace"}, Mailbox{}
	boxes, err := r.Mailboxes().List(ctx, storage.NoFilter{}, storage.Seek{Limit: 1})
	if err != nil {
		return c, customer, mailbox, err
	}
	if len(boxes) > 0 {
		mailbox = boxes[0]
	}
	if !d.guard.Allows(identity.ConversationsView) {
		return c, customer, mailbox, nil
	}
	last, err := r.Conversations().List(ctx, ConversationOrder{Sort: ByCreated}, storage.Seek{Desc: true, Limit: 1})
	if err != nil || len(last) == 0 {
		return c, customer, mailbox, err
	}
	customer, err = r.Customer(ctx, last[0].CustomerID)
	return last[0], customer, mailbox, err
}

// fill returns the subject and the body of a text with the placeholders filled in.
func (t AutoText) fill(c Conversation, customer Customer, m Mailbox) (subject, body string) {
	values := map[string]string{
		"customer.first_name": customer.FirstName, "customer.name": customer.Name(), "agent.name": m.Name, "mailbox.name": m.Name,
		"conversation.number": fmt.Sprint(c.Number), "conversation.subject": c.Subject,
	}
	return plain.Cut(plain.Line(replaced(t.Subject, values)), 998), filled(t.Body, values)
}
