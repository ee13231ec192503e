package helpdesk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/sla"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// SLA is what was promised for some conversations: until when they are answered and resolved. A conversation is under the
// first one, by position, whose conditions it meets.
type SLA struct {
	ID         int64
	Name       string
	Key        string // case-folded Name; unique in the account
	Position   int64
	All, Any   []rules.Condition // about conversations, customers and companies; none: every conversation
	CalendarID int64             // whose hours count; 0: all hours
	FirstReply int               // minutes until the first reply; 0: not promised
	NextReply  int               // minutes until a later reply
	Resolution int               // minutes until it is closed
	Pauses     []SLAPause        // sorted
	DueSoon    int               // percent of the time after which a target is due soon
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// SLAPause is when the time of an SLA stands still. In closed conversations it always does.
type SLAPause string

// When the time of an SLA stands still.
const (
	PausePending SLAPause = "pending"
	PauseSnoozed SLAPause = "snoozed"
)

// Limits of SLAs.
const (
	MaxSLAs        = 100
	MaxSLAMinutes  = 366 * 24 * 60
	defaultDueSoon = 80
)

// UniqueSLA is the code of a store's Conflict fault for a duplicate (account, Key).
const UniqueSLA = "sla"

// SLAInput creates or changes an SLA. Absent fields are unchanged, or the default of a new one.
type SLAInput struct {
	Name       storage.Opt[string]            // required in a new one, at most 100 characters
	Position   storage.Opt[int64]             // 1 for the first; others move. Default: the last
	All, Any   storage.Opt[[]rules.Condition] // see [SLAs.Vocabulary]
	CalendarID storage.Opt[int64]             // null: all hours
	FirstReply storage.Opt[int]               // minutes; null: not promised. At least one of the three is
	NextReply  storage.Opt[int]
	Resolution storage.Opt[int]
	Pauses     storage.Opt[[]SLAPause]
	DueSoon    storage.Opt[int] // from 1 to 100; default: 80
}

// slaNoun declares the rows of SLAs.
func slaNoun() storage.Declared[SLA, storage.NoFilter] {
	return storage.Declared[SLA, storage.NoFilter]{
		Noun: storage.Noun[SLA]{
			Name: "SLA",
			ID:   func(t *SLA) *int64 { return &t.ID },
			Unique: []storage.Unique[SLA]{
				{Code: UniqueSLA, Index: "key", Fields: func(t *SLA) []any { return []any{&t.Key} }},
			},
		},
		Key: "sla", Plural: "slas", Names: (*SLA).EachID,
		Columns: []storage.Column[SLA]{
			{Name: "name", Field: func(t *SLA) any { return &t.Name }},
			{Name: "name_key", Field: func(t *SLA) any { return &t.Key }},
			{Name: "position", Field: func(t *SLA) any { return &t.Position }},
			{Name: "match_all", Field: func(t *SLA) any { return storage.Objects(&t.All, conditionTexts) }},
			{Name: "match_any", Field: func(t *SLA) any { return storage.Objects(&t.Any, conditionTexts) }},
			{Name: "calendar_id", Field: func(t *SLA) any { return &t.CalendarID }, Refers: "calendar"},
			{Name: "first_reply", Field: func(t *SLA) any { return &t.FirstReply }},
			{Name: "next_reply", Field: func(t *SLA) any { return &t.NextReply }},
			{Name: "resolution", Field: func(t *SLA) any { return &t.Resolution }},
			{Name: "pauses", Field: func(t *SLA) any {
				return storage.Objects(&t.Pauses, func(p SLAPause) []string { return []string{string(p)} })
			}},
			{Name: "due_soon", Field: func(t *SLA) any { return &t.DueSoon }},
			{Name: "created_at", Field: func(t *SLA) any { return &t.CreatedAt }},
			{Name: "updated_at", Field: func(t *SLA) any { return &t.UpdatedAt }},
		},
	}
}

// policy returns what the SLA promises as plain values.
func (s SLA) policy() sla.Policy {
	minutes := func(n int) time.Duration { return time.Duration(n) * time.Minute }
	return sla.Policy{
		FirstReply: minutes(s.FirstReply), NextReply: minutes(s.NextReply), Resolution: minutes(s.Resolution), DueSoon: s.DueSoon,
		Pending: slices.Contains(s.Pauses, PausePending), Snoozed: slices.Contains(s.Pauses, PauseSnoozed),
	}
}

// slaVocabulary returns what the conditions of SLAs can be about: what lasts. What happens at a moment does not.
func slaVocabulary(fields []Field) rules.Vocabulary {
	return ruleVocabulary(fields).Lasting()
}

// apply validates in and copies it into s.
func (s *SLA) apply(in SLAInput, fields []Field) error {
	var problems fault.Collector
	s.Name = plain.Line(in.Name.Or(s.Name))
	s.Key = tagKey(s.Name)
	required(&problems, "name", s.Name, 100)
	problems.Check(!in.Position.IsSet() || in.Position.Or(0) > 0, "position", "must be at least 1")
	if in.All.IsSet() {
		s.All = in.All.Or(nil)
	}
	if in.Any.IsSet() {
		s.Any = in.Any.Or(nil)
	}
	s.All, s.Any, _ = rules.Check(&problems, slaVocabulary(fields), cloneConditions(s.All), cloneConditions(s.Any), nil)
	if in.CalendarID.IsSet() {
		s.CalendarID = in.CalendarID.Or(0)
	}
	for _, one := range []struct {
		field string
		in    storage.Opt[int]
		to    *int
	}{{"first_reply", in.FirstReply, &s.FirstReply}, {"next_reply", in.NextReply, &s.NextReply}, {"resolution", in.Resolution, &s.Resolution}} {
		if !one.in.IsSet() {
			continue
		}
		n, given := one.in.Get()
		*one.to = n
		problems.Check(!given || n >= 1 && n <= MaxSLAMinutes, one.field, fmt.Sprintf("must be from 1 to %d minutes", MaxSLAMinutes))
	}
	problems.Check(s.FirstReply != 0 || s.NextReply != 0 || s.Resolution != 0, "first_reply", "is required, or next_reply or resolution")
	s.Pauses = slices.Compact(slices.Sorted(slices.Values(in.Pauses.Or(s.Pauses))))
	for i, p := range s.Pauses {
		problems.Check(p == PausePending || p == PauseSnoozed, fmt.Sprintf("pauses[%d]", i), "must be pending or snoozed")
	}
	s.DueSoon = in.DueSoon.Or(cmp.Or(s.DueSoon, defaultDueSoon))
	problems.Check(s.DueSoon >= 1 && s.DueSoon <= 100, "due_soon", "must be from 1 to 100")
	return problems.Err()
}

// usesField reports whether the SLA has conditions on a field.
func (s SLA) usesField(f Field) bool { return Rule{All: s.All, Any: s.Any}.usesField(f) }

// EachID calls visit for each id that the conditions name, with its noun, such as "team", and takes over what visit makes of
// it.
func (s *SLA) EachID(visit func(noun string, id *int64)) {
	r := Rule{All: s.All, Any: s.Any}
	r.EachID(visit)
}

// orderedSLAs are the SLAs of an account by position.
func orderedSLAs() ordered[SLA] {
	return ordered[SLA]{slaNoun(), func(s *SLA) *int64 { return &s.Position }}
}

// allSLAs returns the SLAs of an account by position.
func allSLAs(ctx context.Context, r Reader) ([]SLA, error) { return orderedSLAs().all(ctx, r) }

// SLAs are promises about when conversations are answered and resolved.
type SLAs struct{ *desk }

// SLAs returns the handle of SLAs.
func (d *Desk) SLAs() SLAs { return SLAs{&d.desk} }

// Vocabulary returns the fields that conditions of SLAs can be about. It needs slas.view.
func (d SLAs) Vocabulary(ctx context.Context) (rules.Vocabulary, error) {
	r, err := d.guard.Read(identity.SLAsView)
	if err != nil {
		return rules.Vocabulary{}, err
	}
	fields, err := allFields(ctx, r)
	return slaVocabulary(fields), err
}

// Get returns an SLA. It needs slas.view.
func (d SLAs) Get(ctx context.Context, id int64) (SLA, error) {
	r, err := d.guard.Read(identity.SLAsView)
	if err != nil {
		return SLA{}, err
	}
	return slaNoun().Reader(r).Get(ctx, id)
}

// List lists the account's SLAs by position. It needs slas.view.
func (d SLAs) List(ctx context.Context, req storage.PageRequest) (storage.Page[SLA], error) {
	r, err := d.guard.Read(identity.SLAsView)
	if err != nil {
		return storage.Page[SLA]{}, err
	}
	return orderedSLAs().page(ctx, r, req)
}

// Create creates an SLA for the conversations that begin from now on, and for those whose targets run already. It needs
// slas.create and all mailboxes. A name that another SLA has, ignoring case, is an Invalid fault on name; what the
// conditions name must exist, otherwise it is a NotFound fault. More than [MaxSLAs] are a Conflict fault.
func (d SLAs) Create(ctx context.Context, in SLAInput) (SLA, error) {
	begin, err := d.guard.Write(identity.SLAsCreate)
	if err != nil {
		return SLA{}, err
	}
	defer d.svc.slaCache.forget(d.scope.AccountID)
	if err := d.reachesAll(); err != nil {
		return SLA{}, err
	}
	now := d.svc.now()
	var s SLA
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		s = SLA{CreatedAt: now, UpdatedAt: now}
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		all, err := allSLAs(ctx, tx.Reader())
		if err != nil {
			return err
		}
		if len(all) >= MaxSLAs {
			return fault.Newf(fault.Conflict, "An account has at most %d SLAs.", MaxSLAs)
		}
		if err := d.settleSLA(ctx, tx, &s, SLA{}, in); err != nil {
			return err
		}
		s.Position = orderedSLAs().end(all)
		if err := slaNoun().Rows(tx).Insert(ctx, &s); err != nil {
			return err
		}
		if _, err := orderedSLAs().put(ctx, tx, all, &s, in.Position); err != nil {
			return err
		}
		if err := d.svc.slasChanged(ctx, tx, d.scope.AccountID, true); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "sla.created", s.ID, 0, ofSLA(SLA{}, s))
	})
	return s, takenField(err, UniqueSLA, "name")
}

// settleSLA applies an input to an SLA and checks what it names.
func (d *desk) settleSLA(ctx context.Context, tx Tx, s *SLA, old SLA, in SLAInput) error {
	fields, err := allFields(ctx, tx.Reader())
	if err != nil {
		return err
	}
	if err := s.apply(in, fields); err != nil {
		return err
	}
	if s.CalendarID != 0 && s.CalendarID != old.CalendarID {
		if _, err := calendarNoun().Reader(tx.Reader()).Get(ctx, s.CalendarID); err != nil {
			return err
		}
	}
	return d.findRuleReferences(ctx, tx, Rule{All: cloneConditions(s.All), Any: cloneConditions(s.Any)}, Rule{All: cloneConditions(old.All), Any: cloneConditions(old.Any)})
}

// Update changes an SLA. Targets that run are computed again, in the background; what was met or breached stays so. It needs
// slas.update and all mailboxes. What the SLA names as before is not checked again.
func (d SLAs) Update(ctx context.Context, id int64, in SLAInput) (SLA, error) {
	begin, err := d.guard.Write(identity.SLAsUpdate)
	if err != nil {
		return SLA{}, err
	}
	defer d.svc.slaCache.forget(d.scope.AccountID)
	if err := d.reachesAll(); err != nil {
		return SLA{}, err
	}
	var s SLA
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		old, err := slaNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		s = old
		if err := d.settleSLA(ctx, tx, &s, old, in); err != nil {
			return err
		}
		s.UpdatedAt = d.svc.now()
		if err := slaNoun().Rows(tx).Update(ctx, &s); err != nil {
			return err
		}
		others, err := allSLAs(ctx, tx.Reader())
		if err != nil {
			return err
		}
		if _, err := orderedSLAs().put(ctx, tx, others, &s, in.Position); err != nil {
			return err
		}
		if err := d.svc.slasChanged(ctx, tx, d.scope.AccountID, true); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "sla.updated", s.ID, 0, ofSLA(old, s))
	})
	return s, takenField(err, UniqueSLA, "name")
}

// Order puts the SLAs into an order and returns them; ids has each of them once, otherwise it is an Invalid fault on ids. It
// needs slas.update and all mailboxes.
func (d SLAs) Order(ctx context.Context, ids []int64) ([]SLA, error) {
	begin, err := d.guard.Write(identity.SLAsUpdate)
	if err != nil {
		return nil, err
	}
	defer d.svc.slaCache.forget(d.scope.AccountID)
	if err := d.reachesAll(); err != nil {
		return nil, err
	}
	var all []SLA
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		before, after, err := orderedSLAs().reorder(ctx, tx, ids)
		if err != nil {
			return err
		}
		all = after
		for i, s := range all {
			if s.Position == before[i].Position {
				continue
			}
			if err := d.emitChanged(ctx, tx, "sla.updated", s.ID, 0, ofSLA(before[i], s)); err != nil {
				return err
			}
		}
		return d.svc.slasChanged(ctx, tx, d.scope.AccountID, true)
	})
	return all, err
}

// Delete removes an SLA. Its targets that run end, or another SLA takes its place; what was met or breached stays so. It
// needs slas.delete and all mailboxes.
func (d SLAs) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.SLAsDelete)
	if err != nil {
		return err
	}
	defer d.svc.slaCache.forget(d.scope.AccountID)
	if err := d.reachesAll(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		if err := slaNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		if err := d.svc.slasChanged(ctx, tx, d.scope.AccountID, true); err != nil {
			return err
		}
		return d.emit(ctx, tx, "sla.deleted", id, 0)
	})
}
