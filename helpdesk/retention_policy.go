package helpdesk

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// RetentionAction is what a retention policy does.
type RetentionAction string

// What a retention policy does.
const (
	// RetainNoContent erases subjects, texts, files, recipients, raw mails and what people wrote into fields. The conversation stays,
	// closed, with its number, customer, mailbox, member, team, tags, ratings and times, so that figures stay as they are.
	RetainNoContent RetentionAction = "erase_content"
	// RetainNothing deletes the conversation, as [Conversations.Delete] does.
	RetainNothing RetentionAction = "delete"
	// RetainNoCustomer erases the customer, as [Customers.Erase] does, once that would concern no conversation that is not due: all
	// conversations of the customer are due and match, and those in which the customer takes part are due.
	RetainNoCustomer RetentionAction = "erase_customer"
)

// RetentionActions lists what a retention policy can do, what keeps most first.
func RetentionActions() []RetentionAction {
	return []RetentionAction{RetainNoContent, RetainNothing, RetainNoCustomer}
}

// RetentionReason is why a retention policy was switched off by itself.
type RetentionReason string

// RetentionOrphaned means that the member who last changed it has left, or could no longer create it.
const RetentionOrphaned RetentionReason = "orphaned"

// RetentionPolicy erases or deletes conversations, or erases customers, some days after the last activity, every night, see
// [Jobs.Retain]. Conversations on hold stay, see [Conversations.Hold], as do snoozed ones, which are to come back. It acts with the
// rights of the member who last changed it, within that member's mailboxes.
type RetentionPolicy struct {
	ID        int64
	Name      string
	Key       string            // case-folded Name; unique in the account
	All, Any  []rules.Condition // about conversations, customers and companies; none: every conversation
	AfterDays int               // since the conversation last changed in any way, see [Conversation].UpdatedAt
	Action    RetentionAction
	IsActive  bool
	Reason    RetentionReason // why it was switched off by itself; "": it was not
	Version   int             // 1 when it is created, one more with each change
	UserID    int64           // who last changed it; 0: an embedding application
	Run       RetentionRun    // the last one
	CreatedAt time.Time
	UpdatedAt time.Time

	Walk      storage.Position // where the run is: of the last conversation that it passed
	ErasingID int64            // the customer whom it erases; 0: none
}

// RetentionRun is a run of a retention policy. The zero value: it has not run yet.
type RetentionRun struct {
	At            time.Time // the night, of which the time counts
	EndedAt       time.Time // zero: it runs
	Examined      int       // conversations whose time was over
	Conversations int       // erased or deleted, with those of customers
	Customers     int       // erased
	Held          int       // conversations that match and are on hold
	Failed        int       // conversations or customers that could not be erased or deleted
}

// UniqueRetentionPolicy is the code of a store's Conflict fault for a duplicate (account, Key).
const UniqueRetentionPolicy = "retention_policy"

// Limits of retention policies.
const (
	MaxRetentionPolicies = 50
	MaxRetentionDays     = 36_500
)

// RetentionPolicyInput creates or changes a retention policy. Absent fields are unchanged, or the default of a new one.
type RetentionPolicyInput struct {
	Name      storage.Opt[string]            // required in a new one, at most 100 characters
	All, Any  storage.Opt[[]rules.Condition] // see [RetentionPolicies.Vocabulary]
	AfterDays storage.Opt[int]               // required in a new one, from 1 to [MaxRetentionDays]
	Action    storage.Opt[RetentionAction]   // required in a new one
	IsActive  storage.Opt[bool]              // default: false. Look at [RetentionPolicies.Preview] first
}

// retentionPolicyNoun declares the rows of retention policies.
func retentionPolicyNoun() storage.Declared[RetentionPolicy, storage.NoFilter] {
	return storage.Declared[RetentionPolicy, storage.NoFilter]{
		Noun: storage.Noun[RetentionPolicy]{
			Name: "retention policy",
			ID:   func(t *RetentionPolicy) *int64 { return &t.ID },
			Unique: []storage.Unique[RetentionPolicy]{
				{Code: UniqueRetentionPolicy, Index: "key", Fields: func(t *RetentionPolicy) []any { return []any{&t.Key} }},
			},
		},
		Key: "retention_policy", Plural: "retention_policies", Names: (*RetentionPolicy).EachID,
		Columns: []storage.Column[RetentionPolicy]{
			{Name: "name", Field: func(t *RetentionPolicy) any { return &t.Name }},
			{Name: "name_key", Field: func(t *RetentionPolicy) any { return &t.Key }},
			{Name: "match_all", Field: func(t *RetentionPolicy) any { return storage.Objects(&t.All, conditionTexts) }},
			{Name: "match_any", Field: func(t *RetentionPolicy) any { return storage.Objects(&t.Any, conditionTexts) }},
			{Name: "after_days", Field: func(t *RetentionPolicy) any { return &t.AfterDays }},
			{Name: "action", Field: func(t *RetentionPolicy) any { return (*string)(&t.Action) }},
			{Name: "is_active", Field: func(t *RetentionPolicy) any { return &t.IsActive }},
			{Name: "reason", Field: func(t *RetentionPolicy) any { return (*string)(&t.Reason) }},
			{Name: "version", Field: func(t *RetentionPolicy) any { return &t.Version }},
			{Name: "user_id", Field: func(t *RetentionPolicy) any { return &t.UserID }, Refers: "user"},
			{Name: "run_at", Field: func(t *RetentionPolicy) any { return &t.Run.At }},
			{Name: "run_ended_at", Field: func(t *RetentionPolicy) any { return &t.Run.EndedAt }},
			{Name: "run_examined", Field: func(t *RetentionPolicy) any { return &t.Run.Examined }},
			{Name: "run_conversations", Field: func(t *RetentionPolicy) any { return &t.Run.Conversations }},
			{Name: "run_customers", Field: func(t *RetentionPolicy) any { return &t.Run.Customers }},
			{Name: "run_held", Field: func(t *RetentionPolicy) any { return &t.Run.Held }},
			{Name: "run_failed", Field: func(t *RetentionPolicy) any { return &t.Run.Failed }},
			{Name: "walk_key", Field: func(t *RetentionPolicy) any { return &t.Walk.Key }},
			{Name: "walk_id", Field: func(t *RetentionPolicy) any { return &t.Walk.ID }, Refers: "conversation", Loose: true},
			{Name: "erasing_id", Field: func(t *RetentionPolicy) any { return &t.ErasingID }, Refers: "customer", Loose: true},
			{Name: "created_at", Field: func(t *RetentionPolicy) any { return &t.CreatedAt }},
			{Name: "updated_at", Field: func(t *RetentionPolicy) any { return &t.UpdatedAt }},
		},
	}
}

// EachID calls visit for each id that the conditions name, with its noun, such as "team", and takes over what visit makes of
// it.
func (p *RetentionPolicy) EachID(visit func(noun string, id *int64)) {
	r := Rule{All: p.All, Any: p.Any}
	r.EachID(visit)
}

// usesField reports whether the policy has conditions on a field.
func (p RetentionPolicy) usesField(f Field) bool {
	return Rule{All: p.All, Any: p.Any}.usesField(f)
}

// Before returns the time up to which conversations must not have changed since, to be due at a time.
func (p RetentionPolicy) Before(at time.Time) time.Time {
	return at.Add(-time.Duration(p.AfterDays) * day)
}

// Due reports whether the time of a conversation is over, at a time, whatever the conditions: it has not changed for AfterDays,
// is neither on hold nor snoozed, and there is something left to do.
func (p RetentionPolicy) Due(c Conversation, at time.Time) bool {
	return p.over(c, at) && !c.IsHeld()
}

// over is Due, also for conversations on hold.
func (p RetentionPolicy) over(c Conversation, at time.Time) bool {
	return !c.UpdatedAt.After(p.Before(at)) && c.SnoozedUntil.UnixMicro() <= 0 && (p.Action == RetainNothing || c.ErasedAt.Before(c.UpdatedAt))
}

// apply validates in and copies it into p.
func (p *RetentionPolicy) apply(d *desk, in RetentionPolicyInput, fields []Field) error {
	var problems fault.Collector
	p.Name = plain.Line(in.Name.Or(p.Name))
	p.Key = tagKey(p.Name)
	required(&problems, "name", p.Name, 100)
	if in.All.IsSet() {
		p.All = in.All.Or(nil)
	}
	if in.Any.IsSet() {
		p.Any = in.Any.Or(nil)
	}
	p.All, p.Any, _ = rules.Check(&problems, slaVocabulary(fields), cloneConditions(p.All), cloneConditions(p.Any), nil)
	p.AfterDays = in.AfterDays.Or(p.AfterDays)
	problems.Check(p.AfterDays >= 1 && p.AfterDays <= MaxRetentionDays, "after_days", fmt.Sprintf("must be 1 to %d days", MaxRetentionDays))
	p.Action = in.Action.Or(p.Action)
	problems.Check(slices.Contains(RetentionActions(), p.Action), "action", "must be erase_content, delete or erase_customer")
	p.IsActive = in.IsActive.Or(p.IsActive)
	if p.IsActive {
		p.Reason = ""
	}
	p.UserID = d.userID // their rights now bound it
	return problems.Err()
}

// mayRetain returns a fault unless the member could do by hand what the policy does.
func (d *desk) mayRetain(p RetentionPolicy) error {
	if _, err := d.guard.Write(identity.ConversationsDelete); err != nil {
		return err
	}
	if p.Action != RetainNoCustomer {
		return nil
	}
	if _, err := d.guard.Write(identity.CustomersDelete); err != nil {
		return err
	}
	return d.reachesAll()
}

// mayHandlePolicy returns a fault if a member limited to some mailboxes did not make the policy, which may act in others.
func (d *desk) mayHandlePolicy(p RetentionPolicy) error {
	return d.mayHandleRule(Rule{UserID: p.UserID})
}

// mayHaveMadePolicy returns a fault unless the member could create a policy or change it.
func (d *desk) mayHaveMadePolicy(p RetentionPolicy) error {
	if !d.guard.Allows(identity.RetentionPoliciesCreate) {
		if _, err := d.guard.Write(identity.RetentionPoliciesUpdate); err != nil {
			return err
		}
	}
	return d.mayRetain(p)
}

// RetentionPolicies say what goes by itself, and when.
type RetentionPolicies struct{ *desk }

// RetentionPolicies returns the handle of retention policies.
func (d *Desk) RetentionPolicies() RetentionPolicies { return RetentionPolicies{&d.desk} }

// Vocabulary returns the fields that conditions of retention policies can be about. It needs retention_policies.view.
func (d RetentionPolicies) Vocabulary(ctx context.Context) (rules.Vocabulary, error) {
	r, err := d.guard.Read(identity.RetentionPoliciesView)
	if err != nil {
		return rules.Vocabulary{}, err
	}
	fields, err := allFields(ctx, r)
	return slaVocabulary(fields), err
}

// Get returns a retention policy. It needs retention_policies.view.
func (d RetentionPolicies) Get(ctx context.Context, id int64) (RetentionPolicy, error) {
	r, err := d.guard.Read(identity.RetentionPoliciesView)
	if err != nil {
		return RetentionPolicy{}, err
	}
	return retentionPolicyNoun().Reader(r).Get(ctx, id)
}

// List lists the account's retention policies, oldest first, in the order in which they run. It needs retention_policies.view.
func (d RetentionPolicies) List(ctx context.Context, req storage.PageRequest) (storage.Page[RetentionPolicy], error) {
	r, err := d.guard.Read(identity.RetentionPoliciesView)
	if err != nil {
		return storage.Page[RetentionPolicy]{}, err
	}
	return storage.List(req, false, func(p RetentionPolicy) storage.Position { return storage.Position{ID: p.ID} },
		func(seek storage.Seek) ([]RetentionPolicy, error) {
			return retentionPolicyNoun().Reader(r).List(ctx, storage.NoFilter{}, seek)
		})
}

// Create creates a retention policy, which runs from the next night on if it is active. It needs retention_policies.create and
// conversations.delete, and to erase customers also customers.delete and all mailboxes. A name that another one has, ignoring case, is
// an Invalid fault on name; what the conditions name must exist, otherwise it is a NotFound fault. More than [MaxRetentionPolicies] are a
// Conflict fault.
func (d RetentionPolicies) Create(ctx context.Context, in RetentionPolicyInput) (RetentionPolicy, error) {
	begin, err := d.guard.Write(identity.RetentionPoliciesCreate)
	if err != nil {
		return RetentionPolicy{}, err
	}
	if err := d.lasting("a retention policy"); err != nil {
		return RetentionPolicy{}, err
	}
	now := d.svc.now()
	var p RetentionPolicy
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		p = RetentionPolicy{Version: 1, CreatedAt: now, UpdatedAt: now}
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		all, err := allRetentionPolicies(ctx, tx.Reader())
		if err != nil {
			return err
		}
		if len(all) >= MaxRetentionPolicies {
			return fault.Newf(fault.Conflict, "An account has at most %d retention policies.", MaxRetentionPolicies)
		}
		if err := d.settleRetention(ctx, tx, &p, RetentionPolicy{}, in); err != nil {
			return err
		}
		if err := retentionPolicyNoun().Rows(tx).Insert(ctx, &p); err != nil {
			return err
		}
		if err := d.awaitNight(ctx, tx, p); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "retention_policy.created", p.ID, 0, ofRetentionPolicy(RetentionPolicy{}, p))
	})
	return p, takenField(err, UniqueRetentionPolicy, "name")
}

// settleRetention applies an input to a retention policy and checks what it names, and that the member may.
func (d *desk) settleRetention(ctx context.Context, tx Tx, p *RetentionPolicy, old RetentionPolicy, in RetentionPolicyInput) error {
	fields, err := allFields(ctx, tx.Reader())
	if err != nil {
		return err
	}
	if err := p.apply(d, in, fields); err != nil {
		return err
	}
	if err := d.mayRetain(*p); err != nil {
		return err
	}
	return d.findRuleReferences(ctx, tx, Rule{All: cloneConditions(p.All), Any: cloneConditions(p.Any)}, Rule{All: cloneConditions(old.All), Any: cloneConditions(old.Any)})
}

// Update changes a retention policy, which then acts with the rights of the caller. A run that goes on ends. It needs
// retention_policies.update and what [RetentionPolicies.Create] needs; a member limited to some mailboxes changes only their own.
// What the policy names as before is not checked again.
func (d RetentionPolicies) Update(ctx context.Context, id int64, in RetentionPolicyInput) (RetentionPolicy, error) {
	begin, err := d.guard.Write(identity.RetentionPoliciesUpdate)
	if err != nil {
		return RetentionPolicy{}, err
	}
	if err := d.lasting("a retention policy"); err != nil {
		return RetentionPolicy{}, err
	}
	var p RetentionPolicy
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		old, err := retentionPolicyNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := d.mayHandlePolicy(old); err != nil {
			return err
		}
		p = old
		if err := d.settleRetention(ctx, tx, &p, old, in); err != nil {
			return err
		}
		if !reflect.DeepEqual(p, old) {
			p.Version++
		}
		p.UpdatedAt = d.svc.now()
		if err := retentionPolicyNoun().Rows(tx).Update(ctx, &p); err != nil {
			return err
		}
		if err := d.awaitNight(ctx, tx, p); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "retention_policy.updated", p.ID, 0, ofRetentionPolicy(old, p))
	})
	return p, takenField(err, UniqueRetentionPolicy, "name")
}

// Delete removes a retention policy. What it has erased stays so. It needs retention_policies.delete; a member limited to some
// mailboxes removes only their own.
func (d RetentionPolicies) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.RetentionPoliciesDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		p, err := retentionPolicyNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := d.mayHandlePolicy(p); err != nil {
			return err
		}
		if err := retentionPolicyNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		return d.emit(ctx, tx, "retention_policy.deleted", id, 0)
	})
}

// allRetentionPolicies reads the retention policies of an account, the oldest first.
func allRetentionPolicies(ctx context.Context, r storage.RecordReader) ([]RetentionPolicy, error) {
	return retentionPolicyNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
}

// RetentionPreview is what a retention policy would do now.
type RetentionPreview struct {
	Conversations int       // that it would erase or delete
	Customers     int       // that it would erase
	Held          int       // conversations that match, and stay because they are on hold
	Oldest        time.Time // last activity in the one unchanged for longest; zero: there is none
	Examples      []Conversation
	// AtLeast says that there may be more: the preview looks at the 20,000 conversations unchanged for longest whose time is over, and,
	// of a policy that erases customers, at 500 customers.
	AtLeast bool
}

// Limits of previews.
const (
	retentionExamples     = 10
	mostPreviewed         = 20_000
	mostPreviewedCustomer = 500
)

// Preview returns what a stored retention policy with some changes, or a new one, would do now if the caller made it, active or
// not, and changes nothing. The caller sees only what they reach. id 0 means a new one, whose Name is optional. It needs
// retention_policies.view, conversations.view, and all mailboxes for a policy that erases customers.
func (d RetentionPolicies) Preview(ctx context.Context, id int64, in RetentionPolicyInput) (RetentionPreview, error) {
	if _, err := d.guard.Read(identity.RetentionPoliciesView); err != nil {
		return RetentionPreview{}, err
	}
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return RetentionPreview{}, err
	}
	p := RetentionPolicy{Name: "-"} // passes the checks
	if id != 0 {
		if p, err = retentionPolicyNoun().Reader(r).Get(ctx, id); err != nil {
			return RetentionPreview{}, err
		}
	}
	if in.Name.Or("") == "" {
		in.Name = storage.Opt[string]{}
	}
	fields, err := allFields(ctx, r)
	if err != nil {
		return RetentionPreview{}, err
	}
	if err := p.apply(d.desk, in, fields); err != nil {
		return RetentionPreview{}, err
	}
	if p.Action == RetainNoCustomer {
		if err := d.reachesAll(); err != nil {
			return RetentionPreview{}, err
		}
	}
	look := &retentionLook{r: r, p: p, at: d.svc.now(), match: matcherOf(p, fields), refused: map[int64]bool{}}
	return look.previewDue(ctx)
}
