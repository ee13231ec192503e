package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// pastState is what rules know of a conversation itself at some time. Of a lost field, the value cannot be told any more.
type pastState struct {
	values map[string][]string
	lost   map[string]bool
}

// clone returns a copy that does not change with the state.
func (s pastState) clone() pastState { return pastState{maps.Clone(s.values), maps.Clone(s.lost)} }

// first returns the only value of a field, "" without one.
func (s pastState) first(field string) string {
	if values := s.values[field]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// undo takes back what an event changed.
func (s pastState) undo(e storage.Event) {
	if areaOf(e.Type) != "conversation" {
		return
	}
	for field, told := range subscription.ChangedBy(e).Changes {
		change := plainChange(told)
		switch {
		case field == rules.FieldTags:
			kept := slices.DeleteFunc(slices.Clone(s.values[field]), func(id string) bool { return slices.Contains(change.To, id) })
			s.values[field] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(kept, change.From))))
		case change.Untold:
			s.values[field] = nil
			s.lost[field] = true
		default:
			s.values[field] = change.From
			delete(s.lost, field)
		}
	}
}

// pastOperation is what one operation did to a conversation, and its state after it.
type pastOperation struct {
	events []storage.Event
	at     time.Time
	after  pastState
	depth  int // how many times in a row rules have led to it
}

// conversationPast is what happened to a conversation, the oldest first.
type conversationPast struct {
	id         int64
	operations []pastOperation
	runs       map[int64][]RuleRun        // at events, by their Seq
	acted      map[int64]int              // places of the operations of runs, by their id
	rewritten  map[int64]map[string]int64 // Seq of the last event that changed a text of an interaction, by interaction and field
}

// pastReader tells what happened to conversations from the log of events.
type pastReader struct {
	r         Reader
	fields    []Field
	from      int64 // Seq of the last event that is not looked at
	messages  bool  // interactions are read
	bodies    bool  // with their texts
	customers bool  // customers and companies are read

	interactions map[int64]Interaction         // without their bodies
	said         map[int64]map[string][]string // what rules know of them
	people       map[int64]Customer
	companies    map[int64]Company
	ofPeople     map[int64][]FieldValue
	ofCompanies  map[int64][]FieldValue
}

// maxPast is how many events of some conversations are read together.
const maxPast = 5000

// read returns the past of conversations; gone are those that do not exist any more. It is false if there is too much of it.
func (p *pastReader) read(ctx context.Context, ids []int64) (all []conversationPast, gone int, small bool, err error) {
	// Types in the filter would make PostgreSQL read all events of these types.
	filter := subscription.EventFilter{ConversationIDs: ids}
	events, err := p.r.Events(ctx, filter, storage.Seek{From: &storage.Position{ID: p.from}, Limit: maxPast})
	if err != nil || len(events) == maxPast {
		return nil, 0, false, err
	}
	events = slices.DeleteFunc(events, func(e storage.Event) bool {
		return e.Type == "conversation.presence" || e.Type == "conversation.followed"
	})
	of := map[int64][]storage.Event{}
	for _, e := range events {
		of[e.ConversationID] = append(of[e.ConversationID], e)
	}
	now, err := p.readFacts(ctx, ids)
	if err != nil {
		return nil, 0, false, err
	}
	runs := map[int64][]RuleRun{}
	ran, err := ruleRunNoun().Reader(p.r).List(ctx, RuleRunFilter{ConversationIDs: ids}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return nil, 0, false, err
	}
	for _, run := range ran {
		runs[run.ConversationID] = append(runs[run.ConversationID], run)
	}
	if p.messages {
		if err := p.readMessages(ctx, events); err != nil {
			return nil, 0, false, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(now)) {
		one := pastOf(id, now[id], of[id], runs[id])
		if p.messages {
			one.setAwaiting(p.interactions)
		}
		all = append(all, one)
	}
	if p.customers {
		err = p.readCustomers(ctx, all)
	}
	return all, len(ids) - len(now), true, err
}

// readFacts returns what rules know now of the conversations that exist.
func (p *pastReader) readFacts(ctx context.Context, ids []int64) (map[int64]map[string][]string, error) {
	found, err := p.r.Conversations().ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	marks, err := p.r.Marks(ctx, MarksQuery{ConversationIDs: ids, Tags: true})
	if err != nil {
		return nil, err
	}
	tags := map[int64][]int64{}
	for _, m := range marks {
		for _, t := range m.Tags {
			tags[m.ConversationID] = append(tags[m.ConversationID], t.ID)
		}
	}
	values, err := p.valuesOf(ctx, FieldOfConversation, ids)
	all := map[int64]map[string][]string{}
	for _, c := range found {
		f := rules.NewFacts(nil, nil)
		setPlainFacts(f, c)
		f.Set(rules.FieldTags, idTexts(sortedSet(tags[c.ID]))...)
		setValueFacts(f, p.fields, FieldOfConversation, values[c.ID], rules.PrefixField)
		all[c.ID] = f.All()
	}
	return all, err
}

// pastOf goes back from the state of now through the events of a conversation, which are in order.
func pastOf(id int64, now map[string][]string, events []storage.Event, runs []RuleRun) conversationPast {
	p := conversationPast{id: id, runs: map[int64][]RuleRun{}, acted: map[int64]int{}, rewritten: map[int64]map[string]int64{}}
	byID := map[int64]RuleRun{}
	for _, run := range runs {
		byID[run.ID] = run
		p.runs[run.EventID] = append(p.runs[run.EventID], run)
	}
	place := map[int64]int{}  // of operations, by time
	depths := map[int64]int{} // of events, by their Seq
	for _, e := range events {
		i, known := place[e.Time.UnixMicro()]
		if !known {
			i = len(p.operations)
			place[e.Time.UnixMicro()] = i
			p.operations = append(p.operations, pastOperation{at: e.Time})
		}
		op := &p.operations[i]
		op.events = append(op.events, e)
		if run, ran := byID[runOf(e)]; ran {
			depths[e.Seq] = depths[run.EventID] + 1
			op.depth, p.acted[run.ID] = depths[e.Seq], i
		}
		p.noteRewritten(e)
	}
	state := pastState{values: now, lost: map[string]bool{}}
	for i := len(p.operations) - 1; i >= 0; i-- {
		op := &p.operations[i]
		op.after = state.clone()
		for _, e := range slices.Backward(op.events) {
			state.undo(e)
		}
	}
	return p
}

// runOf returns the run of the rule that an event is of; 0: it is of no rule.
func runOf(e storage.Event) int64 {
	var why HistoryReason
	_ = json.Unmarshal(e.Data, &why) // came from JSON
	return why.RuleRunID
}

// noteRewritten remembers that an event changed the text of an interaction after that was created.
func (p *conversationPast) noteRewritten(e storage.Event) {
	if areaOf(e.Type) != "interaction" || e.Type == "interaction.created" {
		return
	}
	for field := range subscription.ChangedBy(e).Changes {
		if p.rewritten[e.Subject] == nil {
			p.rewritten[e.Subject] = map[string]int64{}
		}
		p.rewritten[e.Subject][field] = e.Seq
	}
}

// messagePage is how many interactions are read at a time: bodies may be large.
const messagePage = 100

// readMessages reads the interactions of events: what rules know of them, and the rest without their bodies.
func (p *pastReader) readMessages(ctx context.Context, events []storage.Event) error {
	var ids []int64
	for _, e := range events {
		if areaOf(e.Type) == "interaction" {
			ids = append(ids, e.Subject)
		}
	}
	p.interactions, p.said = map[int64]Interaction{}, map[int64]map[string][]string{}
	for some := range slices.Chunk(sortedSet(ids), messagePage) {
		found, err := p.r.Interactions().ByIDs(ctx, some)
		if err != nil {
			return err
		}
		files, err := p.r.Attachments().List(ctx, AttachmentFilter{InteractionIDs: some}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return err
		}
		attached := map[int64]bool{}
		for _, a := range files {
			attached[a.InteractionID] = attached[a.InteractionID] || !a.IsInline
		}
		for _, i := range found {
			f := rules.NewFacts(nil, nil)
			if setMessageFacts(f, i, attached[i.ID]); p.bodies {
				setBodyFacts(f, i)
			}
			i.Body = ""
			p.interactions[i.ID], p.said[i.ID] = i, f.All()
		}
	}
	return nil
}

// readCustomers reads the customers whom the conversations had, their companies, and the values of their own fields.
func (p *pastReader) readCustomers(ctx context.Context, all []conversationPast) error {
	var ids, companies []int64
	for _, one := range all {
		for _, op := range one.operations {
			if id, err := strconv.ParseInt(op.after.first(rules.FieldCustomer), 10, 64); err == nil {
				ids = append(ids, id)
			}
		}
	}
	ids = sortedSet(ids)
	found, err := p.r.CustomersByID(ctx, ids)
	if err != nil {
		return err
	}
	p.people, p.companies = map[int64]Customer{}, map[int64]Company{}
	for _, c := range found {
		p.people[c.ID] = c
		if c.CompanyID != 0 {
			companies = append(companies, c.CompanyID)
		}
	}
	companies = sortedSet(companies)
	about, err := companyNoun().Reader(p.r).ByIDs(ctx, companies)
	if err != nil {
		return err
	}
	for _, c := range about {
		p.companies[c.ID] = c
	}
	if p.ofPeople, err = p.valuesOf(ctx, FieldOfCustomer, ids); err != nil {
		return err
	}
	p.ofCompanies, err = p.valuesOf(ctx, FieldOfCompany, companies)
	return err
}

func (p *pastReader) valuesOf(ctx context.Context, kind FieldKind, ids []int64) (map[int64][]FieldValue, error) {
	if !slices.ContainsFunc(p.fields, func(f Field) bool { return f.AppliesTo == kind }) || len(ids) == 0 {
		return nil, nil //nolint:nilnil // nobody has any
	}
	found, err := p.r.FieldValues(ctx, kind, ids)
	of := map[int64][]FieldValue{}
	for _, v := range found {
		of[v.SubjectID] = append(of[v.SubjectID], v)
	}
	return of, err
}

// setAwaiting finds when the customer waited for an answer, which no event says: a message begins it, and a reply ends it.
func (p *conversationPast) setAwaiting(interactions map[int64]Interaction) {
	const unknown = "unknown"
	told := make([]string, len(p.operations)) // by the operation: true, false, unknown, or "" if it tells nothing
	first := len(told)
	for n, op := range p.operations {
		for _, e := range op.events {
			i := interactions[e.Subject]
			switch {
			case e.Type == "conversation.created":
				told[n] = "false"
			case areaOf(e.Type) != "interaction" && e.Type != "conversation.absorbed" && e.Type != "conversation.split":
			case e.Type == "interaction.created" && i.Type == TypeCustomer:
				if !i.AutoSubmitted && op.after.first(rules.FieldSpam) != "true" {
					told[n] = "true"
				}
			case e.Type == "interaction.posted" && i.Type == TypeUser:
				if !i.IsForward && !i.Automatic() {
					told[n] = "false"
				}
			case slices.Contains([]string{"interaction.canceled", "interaction.deleted", "interaction.moved", "conversation.absorbed", "conversation.split"}, e.Type):
				told[n] = unknown
			}
		}
		if told[n] != "" {
			first = min(first, n)
		}
	}
	if first == len(told) {
		return // as it is now
	}
	waits := unknown
	for n := range p.operations {
		state := p.operations[n].after
		if waits = cmp.Or(told[n], waits); waits == unknown {
			state.values[rules.FieldAwaiting], state.lost[rules.FieldAwaiting] = nil, true
			continue
		}
		state.values[rules.FieldAwaiting] = []string{waits}
	}
}

// pastOccasion is a time at which a rule might have acted.
type pastOccasion struct {
	occasion
	heard  int64  // Seq of the event that the rule listens to
	kind   string // its type
	last   int64  // Seq of the last event that had happened
	state  pastState
	others []int64 // rules that changed the conversation
}

// setRating sets how the customer had rated at an occasion, which the events of ratings say. Before the first of them it is lost.
func (p conversationPast) setRating(f *rules.Facts, v rules.Vocabulary, o pastOccasion) {
	lose(f, v, "rating.")
	for _, op := range p.operations {
		for _, e := range op.events {
			var told toldRating
			if e.Seq <= o.last && strings.HasPrefix(e.Type, "rating.") && json.Unmarshal(e.Data, &told) == nil {
				f.Set(rules.FieldRating, string(told.Verdict))
				f.Set(rules.FieldRatingScore, strconv.Itoa(told.Score))
			}
		}
	}
}

// occasions are those at which something happened that the rule listens to.
func (p conversationPast) occasions(asked *replayer, _ *pastReader) iter.Seq[pastOccasion] {
	return func(yield func(pastOccasion) bool) {
		on := asked.rule.On
		for n, op := range p.operations {
			if op.at.Before(asked.replay.From) || op.at.After(asked.replay.To) || op.depth >= MaxRuleDepth {
				continue
			}
			for _, o := range occasionsOf(op.events) {
				if !slices.ContainsFunc(o.events, func(e string) bool { return slices.Contains(on, e) }) {
					continue
				}
				past, stopped := p.turn(n, o, asked)
				if stopped {
					continue
				}
				past.kind, past.heard = o.heard(on)
				if !yield(past) {
					return
				}
			}
		}
	}
}

// turn returns the state at which the rule would have had its turn at an occasion of an operation: after the rules before it.
// It is true if one of these let no other run.
func (p conversationPast) turn(n int, o occasion, asked *replayer) (past pastOccasion, stopped bool) {
	past = pastOccasion{occasion: o, state: p.operations[n].after, last: p.operations[n].events[len(p.operations[n].events)-1].Seq}
	for _, seq := range o.seqs {
		for _, run := range p.runs[seq] {
			earlier, is := asked.earlier[run.RuleID]
			if is && earlier.Stop && !run.Dry && (run.Outcome == RunChanged || run.Outcome == RunNothing) {
				return past, true
			}
			if at, acted := p.acted[run.ID]; is && acted && at > n {
				n, past.state = at, p.operations[at].after
			}
			if run.Outcome == RunChanged && !run.Dry && run.RuleID != asked.rule.ID && !slices.Contains(past.others, run.RuleID) {
				past.others = append(past.others, run.RuleID)
			}
		}
	}
	return past, false
}

// dueTimes are the times at which the hours of the rule were over, and nothing of the same kind had happened since they began.
func (p conversationPast) dueTimes(asked *replayer, reader *pastReader) iter.Seq[pastOccasion] {
	return func(yield func(pastOccasion) bool) {
		after := asked.rule.After
		var events []storage.Event
		for _, op := range p.operations {
			for _, e := range op.events {
				draft := after.Since == SinceWeWrote && e.Type == "interaction.created" // what is posted has another event
				if slices.Contains(after.Since.types(), e.Type) && !draft {
					events = append(events, e)
				}
			}
		}
		slices.SortFunc(events, func(a, b storage.Event) int { return cmp.Compare(a.Seq, b.Seq) })
		moments := after.Since.momentsOf(events, reader.interactions)
		for n, e := range moments {
			due, ever := after.Due(e.Time, asked.hours)
			if !ever || due.Before(asked.replay.From) || due.After(asked.replay.To) || n+1 < len(moments) && !moments[n+1].Time.After(due) {
				continue
			}
			o := pastOccasion{occasion: occasion{first: e.Seq, events: []string{RuleTime}, seqs: []int64{e.Seq}, at: due}, heard: e.Seq, kind: RuleTime}
			if areaOf(e.Type) == "interaction" {
				o.interactionID = e.Subject
			}
			for _, op := range p.operations {
				if !op.at.After(due) {
					o.state, o.last = op.after, op.events[len(op.events)-1].Seq
				}
			}
			if after.Since == SinceAssigned && o.state.first(rules.FieldUser)+o.state.first(rules.FieldTeam) == "" {
				continue
			}
			if !yield(o) {
				return
			}
		}
	}
}

// lose marks fields as lost. A name that ends with a dot means all fields that begin with it.
func lose(f *rules.Facts, v rules.Vocabulary, names ...string) {
	for _, field := range v.Names() {
		if slices.ContainsFunc(names, func(name string) bool { return means(name, field) }) {
			f.Lose(field)
		}
	}
}

// means reports whether a name means a field, see lose.
func means(name, field string) bool {
	return name == field || strings.HasSuffix(name, ".") && strings.HasPrefix(field, name)
}

// setCustomer sets what rules knew of a conversation's customer and the company. What is known is of today: what has changed
// since is lost.
func (p *pastReader) setCustomer(f *rules.Facts, v rules.Vocabulary, o pastOccasion, rewritten map[int64]map[string]int64) {
	id, _ := strconv.ParseInt(o.state.first(rules.FieldCustomer), 10, 64)
	customer, exists := p.people[id]
	if !exists {
		lose(f, v, "customer.", "company.")
		return
	}
	company := p.companies[customer.CompanyID]
	setPersonFacts(f, customer, company)
	setValueFacts(f, p.fields, FieldOfCustomer, p.ofPeople[id], rules.PrefixCustomerField)
	setValueFacts(f, p.fields, FieldOfCompany, p.ofCompanies[company.ID], rules.PrefixCompanyField)
	if company.UpdatedAt.After(o.at) {
		lose(f, v, "company.")
	}
	for name, seq := range rewritten[id] {
		if seq > o.last {
			lose(f, v, name)
		}
	}
}

// setMessage sets what rules knew of the interaction of an occasion. A text that was changed since is lost.
func (p *pastReader) setMessage(f *rules.Facts, v rules.Vocabulary, o pastOccasion, rewritten map[string]int64) {
	said, exists := p.said[o.interactionID]
	if !exists {
		lose(f, v, "interaction.")
		return
	}
	for name, values := range said {
		f.Set(name, values...)
	}
	for field, fact := range map[string]string{"body": rules.FieldInteractionBody, "to": rules.FieldInteractionTo, "cc": rules.FieldInteractionTo} {
		if rewritten[field] > o.last {
			f.Lose(fact)
		}
	}
}
