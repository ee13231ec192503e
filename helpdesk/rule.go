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
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/guard"
	"github.com/helpwright/helpwright/storage/plain"
)

// Rule does something by itself when something happens to a conversation, see [Jobs.RunRules]. It acts with the rights of
// the member who last changed it, within that member's mailboxes.
type Rule struct {
	ID        int64
	Name      string
	Key       string // case-folded Name; unique in the account
	State     RuleState
	Reason    RuleReason // why it was switched off by itself; "": it was not
	Position  int64      // rules run by it; unique in the account
	On        []string   // types of events, sorted; see [RuleEvents]; or [RuleTime]
	After     RuleAfter  // of a rule that listens to RuleTime
	ClockSeq  int64      // of the last event whose hours were over, see [Jobs.TickRule]
	ClockAt   time.Time  // when the next such events are looked for
	All, Any  []rules.Condition
	Actions   []rules.Action
	Stop      bool  // no later rule runs at the event
	Version   int   // 1 when it is created, one more with each change of what it does
	UserID    int64 // who last changed it; 0: an embedding application
	CreatedAt time.Time
	UpdatedAt time.Time
}

// RuleState is whether a rule acts.
type RuleState string

// The states of a rule.
const (
	RuleActive RuleState = "active"
	RuleDry    RuleState = "dry" // it notes what it would do, and changes nothing
	RuleOff    RuleState = "off"
)

// RuleReason is why a rule was switched off by itself.
type RuleReason string

// RuleOrphaned means that the member who last changed it has left, or could no longer create it.
const RuleOrphaned RuleReason = "orphaned"

// UniqueRule is the code of a store's Conflict fault for a duplicate (account, Key).
const UniqueRule = "rule"

// MaxRules is the maximum number of rules in an account.
const MaxRules = 1000

// RuleInput creates or changes a rule. Absent fields are unchanged, or the default of a new one.
type RuleInput struct {
	Name     storage.Opt[string]    // required in a new one, at most 100 characters
	State    storage.Opt[RuleState] // default: RuleActive
	Position storage.Opt[int64]     // 1 for the first; others move. Default: the last
	On       storage.Opt[[]string]  // of [RuleEvents], at least one; or only [RuleTime]
	After    storage.Opt[RuleAfter] // required with RuleTime
	// All and Any are its conditions, see [rules.Rule]; none: it acts at each of its events. At most [rules.MaxConditions]
	// together.
	All, Any storage.Opt[[]rules.Condition]
	Actions  storage.Opt[[]rules.Action] // at least one, at most [rules.MaxActions]
	Stop     storage.Opt[bool]
}

// RuleEvents lists the types of the events that rules can listen to, sorted.
func RuleEvents() []string {
	var kinds []string
	for _, t := range EventTypes() {
		left := []string{"conversation.presence", "conversation.followed", "conversation.deleted", "conversation.merged", "interaction.deleted"}
		if area := areaOf(t.Name); (area == "conversation" || area == "interaction" || t.Name == "sla.due_soon" || t.Name == "sla.breached" || t.Name == "rating.created") && !slices.Contains(left, t.Name) {
			kinds = append(kinds, t.Name)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// conditionTexts returns the texts of a condition.
func conditionTexts(c rules.Condition) []string {
	return append([]string{c.Field, string(c.Op)}, c.Values...)
}

// ruleNoun declares the rows of rules.
func ruleNoun() storage.Declared[Rule, storage.NoFilter] {
	on, does := ruleColumns(func(t *Rule) ruleParts { return ruleParts{&t.On, &t.After, &t.All, &t.Any, &t.Actions, &t.Stop} })
	return storage.Declared[Rule, storage.NoFilter]{
		Noun: storage.Noun[Rule]{
			Name: "rule",
			ID:   func(t *Rule) *int64 { return &t.ID },
			Unique: []storage.Unique[Rule]{
				{Code: UniqueRule, Index: "key", Fields: func(t *Rule) []any { return []any{&t.Key} }},
			},
		},
		Key: "rule", Plural: "rules", Names: (*Rule).EachID,
		Columns: slices.Concat([]storage.Column[Rule]{
			{Name: "name", Field: func(t *Rule) any { return &t.Name }},
			{Name: "name_key", Field: func(t *Rule) any { return &t.Key }},
			{Name: "state", Field: func(t *Rule) any { return (*string)(&t.State) }},
			{Name: "reason", Field: func(t *Rule) any { return (*string)(&t.Reason) }},
			{Name: "position", Field: func(t *Rule) any { return &t.Position }},
		}, on, []storage.Column[Rule]{
			{Name: "clock_seq", Field: func(t *Rule) any { return &t.ClockSeq }},
			{Name: "clock_at", Field: func(t *Rule) any { return &t.ClockAt }},
		}, does, []storage.Column[Rule]{
			{Name: "version", Field: func(t *Rule) any { return &t.Version }},
			{Name: "user_id", Field: func(t *Rule) any { return &t.UserID }, Refers: "user"},
			{Name: "created_at", Field: func(t *Rule) any { return &t.CreatedAt }},
			{Name: "updated_at", Field: func(t *Rule) any { return &t.UpdatedAt }},
		}),
		Parts: []storage.Part{{Table: "hw_rule_runs", Of: "rule_id"}},
	}
}

// orderedRules are the rules of an account by position.
func orderedRules() ordered[Rule] {
	return ordered[Rule]{ruleNoun(), func(r *Rule) *int64 { return &r.Position }}
}

// allRules returns the rules of an account by position.
func allRules(ctx context.Context, r Reader) ([]Rule, error) { return orderedRules().all(ctx, r) }

// apply validates in and copies it into r.
func (r *Rule) apply(d *desk, in RuleInput, fields []Field) error {
	var problems fault.Collector
	r.Name = plain.Line(in.Name.Or(r.Name))
	r.Key = tagKey(r.Name)
	required(&problems, "name", r.Name, 100)
	r.State = in.State.Or(cmp.Or(r.State, RuleActive))
	problems.Check(slices.Contains([]RuleState{RuleActive, RuleDry, RuleOff}, r.State), "state", "must be active, dry or off")
	if r.State != RuleOff {
		r.Reason = ""
	}
	problems.Check(!in.Position.IsSet() || in.Position.Or(0) > 0, "position", "must be at least 1")
	r.On = slices.Compact(slices.Sorted(slices.Values(in.On.Or(r.On))))
	problems.Check(len(r.On) > 0, "on", "is required")
	for i, event := range r.On {
		problems.Check(event == RuleTime || slices.Contains(RuleEvents(), event), fmt.Sprintf("on[%d]", i), "is not an event that rules listen to")
	}
	r.checkAfter(&problems, in.After)
	if in.All.IsSet() {
		r.All = in.All.Or(nil)
	}
	if in.Any.IsSet() {
		r.Any = in.Any.Or(nil)
	}
	r.Actions = in.Actions.Or(r.Actions)
	problems.Check(len(r.Actions) > 0, "actions", "is required")
	r.All, r.Any, r.Actions = rules.Check(&problems, ruleVocabulary(fields), cloneConditions(r.All), cloneConditions(r.Any), cloneActions(r.Actions))
	d.checkRuleTexts(&problems, r.Actions, fields)
	r.Stop = in.Stop.Or(r.Stop)
	r.UserID = d.userID // their rights now bound it
	return problems.Err()
}

func cloneConditions(all []rules.Condition) []rules.Condition {
	all = slices.Clone(all)
	for i := range all {
		all[i].Values = slices.Clone(all[i].Values)
	}
	return all
}

func cloneActions(all []rules.Action) []rules.Action {
	all = slices.Clone(all)
	for i := range all {
		all[i].Values = slices.Clone(all[i].Values)
	}
	return all
}

// checkRuleTexts cleans the texts that actions write: of notes, and of fields.
func (d *desk) checkRuleTexts(problems *fault.Collector, actions []rules.Action, fields []Field) {
	for i, a := range actions {
		at := fmt.Sprintf("actions[%d]", i)
		switch a.Type {
		case rules.AddNote:
			if len(a.Values) == 1 {
				a.Values[0] = d.cleanBody(problems, at+"[value]", a.Values[0])
				problems.Check(!blank(a.Values[0]), at+"[value]", "is required")
			}
		case rules.SetField:
			f, known := byKey(conversationFields(fields), a.Field)
			if !problems.Check(known || a.Field == "", at+"[field]", "is not a field of conversations") || !known {
				continue
			}
			values, problem := f.values(a.Values, nil)
			problems.Check(problem == "", at+"[value]", problem)
			actions[i].Values = nil
			for _, v := range values {
				actions[i].Values = append(actions[i].Values, v.Text)
			}
		case rules.SetStatus, rules.SetPriority, rules.AssignUser, rules.AssignTeam, rules.Unassign, rules.AddTags, rules.RemoveTags, rules.Snooze,
			rules.MarkSpam, rules.Move, rules.Reply, rules.Notify, rules.Webhook, rules.Follow:
		}
	}
}

func conversationFields(all []Field) []Field {
	return slices.DeleteFunc(slices.Clone(all), func(f Field) bool { return f.AppliesTo != FieldOfConversation })
}

// ruleVocabulary returns what conditions can be about in an account with some fields.
func ruleVocabulary(fields []Field) rules.Vocabulary {
	kinds := map[FieldType]rules.Kind{
		FieldText: rules.KindText, FieldURL: rules.KindText, FieldNumber: rules.KindNumber, FieldBoolean: rules.KindFlag, FieldDate: rules.KindDay,
		FieldDatetime: rules.KindMoment, FieldSelect: rules.KindChoice, FieldMultiselect: rules.KindChoices,
	}
	var own []rules.Field
	for _, f := range fields {
		field := rules.Field{Name: rules.PrefixField + f.Key, Kind: kinds[f.Type], Custom: true, Changes: true, Told: f.Type != FieldText && f.Type != FieldURL}
		switch f.AppliesTo {
		case FieldOfConversation:
		case FieldOfCustomer:
			field.Name, field.Changes, field.Told = rules.PrefixCustomerField+f.Key, false, false
		case FieldOfCompany:
			field.Name, field.Changes, field.Told = rules.PrefixCompanyField+f.Key, false, false
		}
		for _, o := range f.Options {
			field.Options = append(field.Options, o.Value)
		}
		own = append(own, field)
	}
	return rules.NewVocabulary(own...)
}

// allFields reads the fields of an account.
func allFields(ctx context.Context, r Reader) ([]Field, error) {
	return fieldNoun().Reader(r).List(ctx, FieldFilter{}, storage.Seek{Limit: storage.NoLimit})
}

// Rules act by themselves on what happens to conversations.
type Rules struct{ *desk }

// Rules returns the handle of rules.
func (d *Desk) Rules() Rules { return Rules{&d.desk} }

// Vocabulary returns the fields that conditions of rules can be about. It needs rules.view.
func (d Rules) Vocabulary(ctx context.Context) (rules.Vocabulary, error) {
	r, err := d.guard.Read(identity.RulesView)
	if err != nil {
		return rules.Vocabulary{}, err
	}
	fields, err := allFields(ctx, r)
	return ruleVocabulary(fields), err
}

// Get returns a rule. It needs rules.view.
func (d Rules) Get(ctx context.Context, id int64) (Rule, error) {
	r, err := d.guard.Read(identity.RulesView)
	if err != nil {
		return Rule{}, err
	}
	return ruleNoun().Reader(r).Get(ctx, id)
}

// List lists the account's rules by position. It needs rules.view.
func (d Rules) List(ctx context.Context, req storage.PageRequest) (storage.Page[Rule], error) {
	r, err := d.guard.Read(identity.RulesView)
	if err != nil {
		return storage.Page[Rule]{}, err
	}
	return orderedRules().page(ctx, r, req)
}

// Create creates a rule, which acts at later events. It needs rules.create and what the rule needs to act:
// conversations.view; interactions.view, customers.view or companies.view if conditions are about these;
// conversations.update, conversations.assign, interactions.create, interactions.note or webhooks.update for its actions. A
// name that another rule has, ignoring case, is an Invalid fault on name; what conditions and actions name must be within
// the member's reach, otherwise it is a NotFound fault. More than [MaxRules] are a Conflict fault. A member limited to some
// mailboxes makes the last rule: Position is a Forbidden fault for them.
func (d Rules) Create(ctx context.Context, in RuleInput) (Rule, error) {
	begin, err := d.guard.Write(identity.RulesCreate)
	if err != nil {
		return Rule{}, err
	}
	if err := d.lasting("a rule"); err != nil {
		return Rule{}, err
	}
	if in.Position.IsSet() {
		if err := d.reachesAll(); err != nil {
			return Rule{}, err
		}
	}
	now := d.svc.now()
	var r Rule
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		r = Rule{Version: 1, CreatedAt: now, UpdatedAt: now}
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		all, err := allRules(ctx, tx.Reader())
		if err != nil {
			return err
		}
		if len(all) >= MaxRules {
			return fault.Newf(fault.Conflict, "An account has at most %d rules.", MaxRules)
		}
		if err := d.settleRule(ctx, tx, &r, Rule{}, in); err != nil {
			return err
		}
		r.Position = orderedRules().end(all)
		if err := ruleNoun().Rows(tx).Insert(ctx, &r); err != nil {
			return err
		}
		if r.timed() { // its job needs its id
			if err := d.svc.startClock(ctx, tx, &r, Rule{}, d.scope.AccountID); err != nil {
				return err
			}
			if err := ruleNoun().Rows(tx).Update(ctx, &r); err != nil {
				return err
			}
		}
		if all, err = orderedRules().put(ctx, tx, all, &r, in.Position); err != nil {
			return err
		}
		if err := d.svc.saveRuleSet(ctx, tx, all); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "rule.created", r.ID, 0, ofDeskRule(Rule{}, r))
	})
	return r, takenField(err, UniqueRule, "name")
}

// settleRule applies an input to a rule and checks that the member may have it.
func (d *desk) settleRule(ctx context.Context, tx Tx, r *Rule, old Rule, in RuleInput) error {
	fields, err := allFields(ctx, tx.Reader())
	if err != nil {
		return err
	}
	if err := r.apply(d, in, fields); err != nil {
		return err
	}
	if err := d.mayActAs(*r); err != nil {
		return err
	}
	return d.findRuleReferences(ctx, tx, *r, old)
}

// mayHandleRule returns a fault if a member limited to some mailboxes did not make the rule, which may act in others.
func (d *desk) mayHandleRule(r Rule) error {
	if r.UserID == d.userID && d.userID != 0 {
		return nil
	}
	return d.reachesAll()
}

// Update changes a rule, which then acts with the rights of the caller. It needs rules.update and what [Rules.Create] needs;
// a member limited to some mailboxes changes only their own, and moves none. What the rule names as before is not checked
// again.
func (d Rules) Update(ctx context.Context, id int64, in RuleInput) (Rule, error) {
	begin, err := d.guard.Write(identity.RulesUpdate)
	if err != nil {
		return Rule{}, err
	}
	if err := d.lasting("a rule"); err != nil {
		return Rule{}, err
	}
	var r Rule
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		old, err := ruleNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := d.mayHandleRule(old); err != nil {
			return err
		}
		if in.Position.IsSet() && in.Position.Or(0) != old.Position {
			if err := d.reachesAll(); err != nil {
				return err
			}
		}
		r = old
		if err := d.settleRule(ctx, tx, &r, old, in); err != nil {
			return err
		}
		if !reflect.DeepEqual(does(old), does(r)) {
			r.Version++
		}
		r.UpdatedAt = d.svc.now()
		if err := d.svc.startClock(ctx, tx, &r, old, d.scope.AccountID); err != nil {
			return err
		}
		if err := ruleNoun().Rows(tx).Update(ctx, &r); err != nil {
			return err
		}
		others, err := allRules(ctx, tx.Reader())
		if err != nil {
			return err
		}
		all, err := orderedRules().put(ctx, tx, others, &r, in.Position)
		if err != nil {
			return err
		}
		if err := d.svc.saveRuleSet(ctx, tx, all); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "rule.updated", r.ID, 0, ofDeskRule(old, r))
	})
	return r, takenField(err, UniqueRule, "name")
}

// does returns what a rule does, without what it is called and where it stands.
func does(r Rule) Rule {
	return Rule{On: r.On, After: r.After, All: r.All, Any: r.Any, Actions: r.Actions, Stop: r.Stop, State: r.State, UserID: r.UserID}
}

// Order puts the rules into an order and returns them; ids has each of them once, otherwise it is an Invalid fault on ids.
// It needs rules.update and all mailboxes.
func (d Rules) Order(ctx context.Context, ids []int64) ([]Rule, error) {
	begin, err := d.guard.Write(identity.RulesUpdate)
	if err != nil {
		return nil, err
	}
	if err := d.reachesAll(); err != nil {
		return nil, err
	}
	var all []Rule
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		before, after, err := orderedRules().reorder(ctx, tx, ids)
		if err != nil {
			return err
		}
		all = after
		if err := d.svc.saveRuleSet(ctx, tx, all); err != nil {
			return err
		}
		for i, r := range all {
			if r.Position != before[i].Position {
				if err := d.emitChanged(ctx, tx, "rule.updated", r.ID, 0, ofDeskRule(before[i], r)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return all, err
}

// Delete removes a rule with its runs. What it has done stays. It needs rules.delete; a member limited to some mailboxes
// removes only their own.
func (d Rules) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.RulesDelete)
	if err != nil {
		return err
	}
	begin = begin.After(func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		r, err := ruleNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		return d.mayHandleRule(r)
	})
	err = guard.InPieces(ctx, begin, func(ctx context.Context, tx Tx) (bool, error) {
		return ruleNoun().Rows(tx).Trim(ctx, id, pieceRows)
	})
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := ruleNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		rest, err := allRules(ctx, tx.Reader())
		if err != nil {
			return err
		}
		if err := d.svc.saveRuleSet(ctx, tx, rest); err != nil {
			return err
		}
		return d.emit(ctx, tx, "rule.deleted", id, 0)
	})
}

// mayActAs returns a fault unless the member could do what a rule does.
func (d *desk) mayActAs(r Rule) error {
	needs := []identity.Permission{identity.ConversationsView}
	for _, c := range slices.Concat(r.All, r.Any) {
		switch area, _, _ := strings.Cut(c.Field, "."); area {
		case "interaction":
			needs = append(needs, identity.InteractionsView)
		case "customer":
			needs = append(needs, identity.CustomersView)
		case "company":
			needs = append(needs, identity.CompaniesView)
		}
	}
	for _, a := range r.Actions {
		needs = append(needs, d.neededFor(a)...)
	}
	for _, p := range needs {
		if _, err := d.guard.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// neededFor returns the permissions that an action needs.
func (d *desk) neededFor(a rules.Action) []identity.Permission {
	switch a.Type {
	case rules.AssignUser, rules.AssignTeam, rules.Unassign:
		return []identity.Permission{identity.ConversationsUpdate, identity.ConversationsAssign}
	case rules.AddNote:
		return []identity.Permission{d.createPermission(TypeNote)}
	case rules.Reply:
		return []identity.Permission{identity.InteractionsCreate}
	case rules.Webhook:
		return []identity.Permission{identity.WebhooksUpdate}
	case rules.Notify, rules.Follow:
	case rules.SetStatus, rules.SetPriority, rules.AddTags, rules.RemoveTags, rules.SetField, rules.Snooze, rules.MarkSpam, rules.Move:
		return []identity.Permission{identity.ConversationsUpdate}
	}
	return nil
}

// mayHaveRule returns a fault unless the member could make a rule or change it.
func (d *desk) mayHaveRule(r Rule) error {
	if !d.guard.Allows(identity.RulesCreate) {
		if _, err := d.guard.Write(identity.RulesUpdate); err != nil {
			return err
		}
	}
	return d.mayActAs(r)
}

// EachID calls visit for each id that the conditions and actions name, with its noun, such as "team", and takes over what
// visit makes of it.
func (r *Rule) EachID(visit func(noun string, id *int64)) {
	own := rules.NewVocabulary()
	each := func(noun string, values []string) {
		for i, text := range values {
			var id int64
			if _, err := fmt.Sscan(text, &id); noun != "" && err == nil {
				visit(noun, &id)
				values[i] = fmt.Sprint(id)
			}
		}
	}
	for _, list := range [][]rules.Condition{r.All, r.Any} {
		for _, c := range list {
			f, _ := own.Field(c.Field)
			each(f.Refers, c.Values)
		}
	}
	for _, a := range r.Actions {
		each(a.Type.Refers(), a.Values)
	}
	if r.After.CalendarID != 0 {
		visit("calendar", &r.After.CalendarID)
	}
}

// findRuleReferences returns a NotFound fault if the rule names something that is not within the member's reach, and that the
// former rule did not name.
func (d *desk) findRuleReferences(ctx context.Context, tx Tx, r, former Rule) error {
	type reference struct {
		noun string
		id   int64
	}
	known, added := map[reference]bool{}, map[string][]int64{}
	former.EachID(func(noun string, id *int64) { known[reference{noun, *id}] = true })
	r.EachID(func(noun string, id *int64) {
		if !known[reference{noun, *id}] {
			added[noun] = append(added[noun], *id)
		}
	})
	reader := tx.Reader()
	if err := checkTags(ctx, reader, added["tag"]); err != nil {
		return err
	}
	if err := d.findMailboxes(ctx, reader, added["mailbox"]); err != nil {
		return err
	}
	one := map[string]func(id int64) error{
		"user":     func(id int64) error { return checkUser(ctx, reader, id) },
		"team":     func(id int64) error { _, err := teamNoun().Reader(reader).Get(ctx, id); return err },
		"customer": func(id int64) error { _, err := reader.Customer(ctx, id); return err },
		"company":  func(id int64) error { _, err := companyNoun().Reader(reader).Get(ctx, id); return err },
		"calendar": func(id int64) error { _, err := calendarNoun().Reader(reader).Get(ctx, id); return err },
		"saved_reply": func(id int64) error {
			_, err := d.ownOrShared(savedReplyNoun().Reader(reader).Get(ctx, id))
			return err
		},
		"webhook": func(id int64) error {
			w, err := webhookNoun().Reader(reader).Get(ctx, id)
			if err != nil {
				return err
			}
			return d.mayHandle(w)
		},
	}
	for _, noun := range []string{"user", "team", "customer", "company", "calendar", "saved_reply", "webhook"} {
		for _, id := range added[noun] {
			if err := one[noun](id); err != nil {
				return err
			}
		}
	}
	return nil
}

// usesField reports whether the rule has conditions on a field, or sets it.
func (r Rule) usesField(f Field) bool {
	name := rules.PrefixField + f.Key
	switch f.AppliesTo {
	case FieldOfConversation:
	case FieldOfCustomer:
		name = rules.PrefixCustomerField + f.Key
	case FieldOfCompany:
		name = rules.PrefixCompanyField + f.Key
	}
	about := func(c rules.Condition) bool { return c.Field == name }
	sets := func(a rules.Action) bool {
		return f.AppliesTo == FieldOfConversation && a.Type == rules.SetField && a.Field == f.Key
	}
	return slices.ContainsFunc(r.All, about) || slices.ContainsFunc(r.Any, about) || slices.ContainsFunc(r.Actions, sets)
}

// usesCalendar reports whether the rule has conditions on the hours of a calendar, or counts them.
func (r Rule) usesCalendar(id int64) bool {
	uses := false
	r.EachID(func(noun string, of *int64) { uses = uses || noun == "calendar" && *of == id })
	return uses
}
