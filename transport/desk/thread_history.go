package desk

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/assign"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// line is one line about a change.
type line struct {
	Icon, Text string
	Time, Full string
	By         Link // a part of the text that is a link
}

// Parts returns the text before, in and after its link.
func (l line) Parts() []string {
	before, after, found := strings.Cut(l.Text, l.By.Text)
	if l.By.Text == "" || !found {
		return []string{l.Text, "", ""}
	}
	return []string{before, l.By.Text, after}
}

// fewLines is how many lines about changes between two messages are shown one by one. More are folded.
const fewLines = 2

// happened returns the entries for the changes of a conversation.
func (v *visit) happened(c helpdesk.Conversation, said []entry) ([]entry, error) {
	query := helpdesk.HistoryQuery{Type: helpdesk.HistoryChange, Newest: true}
	page, err := v.Conversations().History(v.ctx(), c.ID, query, storage.PageRequest{Limit: storage.MaxLimit})
	if fault.Is(err, fault.Forbidden) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.Reverse(page.Items)
	names, err := v.namesIn(page.Items, said)
	if err != nil {
		return nil, err
	}
	var entries []entry
	for _, e := range page.Items {
		var by Link
		if e.Actor.Type == subscription.ActorRule {
			by = names.rules[e.Actor.ID]
		}
		if e.Actor.Type == subscription.ActorSLA {
			by = names.slas[e.Actor.ID]
		}
		for _, l := range v.linesOf(e, names) {
			l.Time, l.Full, l.By = v.when(e.At), v.full(e.At), by
			if e.Why.MacroID != 0 {
				l.By = names.macros[e.Why.MacroID]
				l.Text = v.byMacro(l.Text, l.By)
			}
			entries = append(entries, entry{Kind: "event", Text: l.Text, Icon: l.Icon, At: e.At, Time: l.Time, Full: l.Full, Lines: []line{l}})
		}
	}
	return entries, nil
}

// foldChanges folds several lines about changes that are next to each other into one entry, which says the last.
func (v *visit) foldChanges(entries []entry) []entry {
	var out []entry
	for from := 0; from < len(entries); {
		to := from
		for to < len(entries) && entries[to].Kind == "event" {
			to++
		}
		if to-from <= fewLines {
			to = max(to, from+1)
			out = append(out, entries[from:to]...)
		} else {
			all := entries[from:to]
			folded := all[len(all)-1]
			folded.Lines = nil
			folded.Kind, folded.Text = "events", v.words.N(len(all)-1, "%[2]s, and %[1]s more change|%[2]s, and %[1]s more changes", folded.Text)
			for _, e := range all {
				folded.Lines = append(folded.Lines, e.Lines...)
			}
			out = append(out, folded)
		}
		from = to
	}
	return out
}

// historyNames are the names that lines about changes need.
type historyNames struct {
	people       map[int64]person
	teams, boxes map[int64]string
	tags         []tagView
	fields       []helpdesk.Field
	macros       map[int64]Link // whose actions were done; those that are gone, or of others, have no text
	customers    map[int64]string
	authors      map[int64]string // of interactions
	rules        map[int64]Link   // that acted, as far as the member sees rules
	slas         map[int64]Link   // likewise
}

// namesIn finds the names of everything that changes mention.
func (v *visit) namesIn(all []helpdesk.HistoryEntry, said []entry) (names historyNames, err error) {
	var users, teams, boxes []int64
	tagged, filled := false, false
	for _, e := range all {
		users = append(users, e.UserID, idIn(e.Changes["user_id"].From), idIn(e.Changes["user_id"].To))
		teams = append(teams, idIn(e.Changes["team_id"].To))
		if e.Actor.Type == subscription.ActorTeam {
			teams = append(teams, e.Actor.ID)
		}
		boxes = append(boxes, idIn(e.Changes["mailbox_id"].From), idIn(e.Changes["mailbox_id"].To))
		_, tags := e.Changes["tags"]
		tagged = tagged || tags
		for field := range e.Changes {
			filled = filled || strings.HasPrefix(field, changedField)
		}
	}
	if filled {
		if names.fields, err = v.conversationFields(); err != nil {
			return names, err
		}
	}
	if names.people, err = v.people(users); err != nil {
		return names, err
	}
	if names.teams, err = v.teamNames(teams); err != nil {
		return names, err
	}
	if names.boxes, err = v.boxNames(boxes); err != nil {
		return names, err
	}
	if tagged && v.may(identity.TagsView) {
		if names.tags, err = v.allTags(); err != nil {
			return names, err
		}
	}
	if names.rules, err = v.actingRules(all); err != nil {
		return names, err
	}
	if names.slas, err = v.actingSLAs(all); err != nil {
		return names, err
	}
	if names.macros, err = v.actingMacros(all); err != nil {
		return names, err
	}
	names.customers, names.authors = map[int64]string{}, map[int64]string{}
	for _, e := range said {
		names.authors[e.ID] = e.Person.Name
		if e.Kind == "customer" {
			names.customers[e.Person.ID] = e.Person.Name
		}
	}
	return names, nil
}

// actingRules are the rules that changed something, with their names; none without the permission to see them.
func (v *visit) actingRules(all []helpdesk.HistoryEntry) (map[int64]Link, error) {
	var ids []int64
	for _, e := range all {
		if e.Actor.Type == subscription.ActorRule {
			ids = append(ids, e.Actor.ID)
		}
	}
	return v.ruleLinks(ids)
}

// ruleLinks names rules by id and leads to them. Those that are gone are missing, and all without the permission to see rules.
func (v *visit) ruleLinks(ids []int64) (map[int64]Link, error) {
	found := map[int64]Link{}
	if !v.may(identity.RulesView) {
		return found, nil
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		r, err := v.Rules().Get(v.ctx(), id)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found[id] = Link{Text: v.words.T("Rule “%s”", r.Name), URL: v.at("/settings/rules/" + itoa(id))}
	}
	return found, nil
}

// wroteByRule is the type of the event that says who or what wrote an interaction.
const wroteByRule = "interaction.created"

// explainByRule names what rules wrote in a thread.
func (v *visit) explainByRule(c []helpdesk.Interaction, entries []entry) error {
	wanted := map[int64]int{}
	for n, i := range c {
		if i.Source == helpdesk.SourceAuto && entries[n].AutoURL == "" {
			wanted[i.ID] = n
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	by := map[int64]int64{}
	query := subscription.EventQuery{Types: []string{wroteByRule}, ConversationID: c[0].ConversationID}
	events := func(req storage.PageRequest) (storage.Page[storage.Event], error) {
		return v.Events().List(v.ctx(), query, req)
	}
	for e, err := range storage.Each(events) {
		if err != nil {
			return v.unlessForbidden(err)
		}
		if actor := subscription.ChangedBy(e).Actor; actor.Type == subscription.ActorRule {
			by[e.Subject] = actor.ID
		}
		if len(by) >= len(wanted) {
			break
		}
	}
	links, err := v.ruleLinks(slices.Collect(maps.Values(by)))
	if err != nil {
		return err
	}
	for id, n := range wanted {
		if rule, known := by[id]; known {
			e := &entries[n]
			e.Automatic, e.Auto, e.AutoURL = true, links[rule].Text, links[rule].URL
			if e.Kind == "note" || e.AutoURL != "" {
				e.Person = newPerson(0, v.words.T("A rule"), "") // which one is said beside it
			}
		}
	}
	return nil
}

// idIn returns the id that a field changed from or to; 0 for none, or if it is not told.
func idIn(value storage.Opt[any]) int64 {
	v, _ := value.Get()
	id, _ := v.(int64)
	return id
}

func textIn(value storage.Opt[any]) string {
	v, _ := value.Get()
	text, _ := v.(string)
	return text
}

// actorName names who or what changed something.
func (v *visit) actorName(e helpdesk.HistoryEntry, names historyNames) string {
	who := names.people[e.UserID].Name
	switch e.Actor.Type {
	case subscription.ActorToken:
		if who != "" {
			return v.words.T("%s (API)", who)
		}
	case subscription.ActorCustomer:
		if who = names.customers[e.Actor.ID]; who == "" {
			return v.words.T("The customer")
		}
	case subscription.ActorRule:
		return cmp.Or(names.rules[e.Actor.ID].Text, v.words.T("A rule"))
	case subscription.ActorSLA:
		return cmp.Or(names.slas[e.Actor.ID].Text, v.words.T("An SLA"))
	case subscription.ActorRetention:
		return v.words.T("A retention policy")
	case subscription.ActorMail:
		return v.words.T("A delivery report")
	case subscription.ActorTeam:
		if who = names.teams[e.Actor.ID]; who == "" {
			return v.words.T("A former team")
		}
	default:
	}
	if who == "" && e.UserID != 0 {
		return v.words.T("Former member")
	}
	if who == "" {
		return v.words.T("Helpwright")
	}
	return who
}

// linesOf says what an entry of the history changed, each in a line.
func (v *visit) linesOf(e helpdesk.HistoryEntry, names historyNames) []line {
	who := v.actorName(e, names)
	if l, told := v.targetLine(e, who); told {
		return []line{l}
	}
	if l, told := v.ratingLine(e, who); told {
		return []line{l}
	}
	has := func(kind string) bool { return slices.Contains(e.Events, kind) }
	switch {
	case has("conversation.created"):
		return nil
	case has("conversation.absorbed"):
		text := v.words.T("%s merged another conversation into this one", who)
		if e.Why.Number != 0 {
			text = v.words.T("%s merged #%s into this conversation", who, e.Why.Number)
		}
		return append([]line{{Icon: "merge", Text: text}}, v.changeLines(e.Changes, who, names)...)
	case has("conversation.split"):
		return append([]line{{Icon: "merge", Text: v.words.T("%s moved messages into a conversation of their own", who)}}, v.changeLines(e.Changes, who, names)...)
	case has("conversation.erased"):
		return []line{{Icon: "trash", Text: v.words.T("%s erased the content", who)}}
	case has("interaction.returned"):
		return []line{{Icon: "pencil", Text: v.returned(e.Why, names.authors)}}
	case e.InteractionID != 0:
		return nil
	case e.Why.Assignment.Reason != "":
		return []line{{Icon: "user", Text: v.handedOut(e, who, names)}}
	}
	return v.changeLines(e.Changes, who, names)
}

// handedOut says to whom a team gave a conversation, or from whom it took it, and why.
func (v *visit) handedOut(e helpdesk.HistoryEntry, who string, names historyNames) string {
	user := e.Changes["user_id"]
	name := names.people[cmp.Or(idIn(user.To), idIn(user.From))].Name
	if name == "" {
		name = v.words.T("Former member")
	}
	why := e.Why.Assignment
	switch why.Reason {
	case assign.Away:
		return v.words.T("%s took this back from %s, who was away for %s hours", who, name, why.Hours)
	case assign.Known:
		return v.words.T("%s gave this to %s, who had the customer’s last conversation", who, name)
	case assign.LeastBusy:
		return v.words.T("%s gave this to %s, who had the fewest open conversations (%s)", who, name, why.Load)
	case assign.Turn:
		return v.words.T("%s gave this to %s, whose turn it was", who, name)
	}
	return v.words.T("%s assigned this to %s", who, name)
}

// changeLines says what changed of a conversation, in the order in which people ask.
func (v *visit) changeLines(c subscription.Changes, who string, names historyNames) (lines []line) {
	add := func(icon, text string) {
		if text != "" {
			lines = append(lines, line{Icon: icon, Text: text})
		}
	}
	add("user", v.assignedLine(c, who, names))
	if p, ok := c["priority"]; ok {
		from, to := urgencyOf(v.words, helpdesk.Priority(textIn(p.From))), urgencyOf(v.words, helpdesk.Priority(textIn(p.To)))
		add("flag", v.words.T("%s changed the priority from %s to %s", who, from.Text, to.Text))
	}
	add("mail", v.movedLine(c, who, names))
	if _, ok := c["customer_id"]; ok {
		add("user", v.words.T("%s changed the customer", who))
	}
	if _, ok := c["subject"]; ok {
		add("pencil", v.words.T("%s changed the subject", who))
	}
	if tags, ok := c["tags"]; ok {
		if added := names.tagged(v, tags.Added); added != "" {
			add("tag", v.words.T("%s added tags: %s", who, added))
		}
		if removed := names.tagged(v, tags.Removed); removed != "" {
			add("tag", v.words.T("%s removed tags: %s", who, removed))
		}
	}
	for _, field := range slices.Sorted(maps.Keys(c)) {
		if key, ok := strings.CutPrefix(field, changedField); ok {
			add("list", v.fieldLine(key, c[field], who, names))
		}
	}
	v.stateLines(c, who, add)
	add("clock", v.dueLine(c, who, names))
	return lines
}

// changedField begins the names of fields in changes, before their keys.
const changedField = "fields."

// fieldLine says what a field was set to, if that is told; "" if the field is gone.
func (v *visit) fieldLine(key string, c subscription.Change, who string, names historyNames) string {
	i := slices.IndexFunc(names.fields, func(f helpdesk.Field) bool { return f.Key == key })
	if i < 0 {
		return ""
	}
	f := names.fields[i]
	texts := fieldTexts(c.To)
	switch {
	case !c.To.IsSet():
		return v.words.T("%s changed %s", who, f.Label)
	case len(texts) == 0:
		return v.words.T("%s cleared %s", who, f.Label)
	}
	return v.words.T("%s set %s to %s", who, f.Label, v.shownField(f, texts))
}

// fieldTexts returns the values that a field changed to, as [helpdesk.FieldTexts] has them.
func fieldTexts(to storage.Opt[any]) []string {
	value, _ := to.Get()
	switch value := value.(type) {
	case nil:
		return nil
	case []any:
		texts := make([]string, len(value))
		for i, one := range value {
			texts[i] = fmt.Sprint(one)
		}
		return texts
	}
	return []string{fmt.Sprint(value)}
}

// stateLines says what became of the state of a conversation. Spam is closed, and what is closed is not snoozed: that goes
// without saying.
func (v *visit) stateLines(c subscription.Changes, who string, add func(icon, text string)) {
	if held, ok := c["held"]; ok {
		if is, _ := held.To.Get(); is == true {
			add("lock", v.words.T("%s put this on hold", who))
		} else {
			add("lock", v.words.T("%s released this from hold", who))
		}
	}
	if spam, ok := c["spam"]; ok {
		if is, _ := spam.To.Get(); is == true {
			add("ban", v.words.T("%s marked this as spam", who))
		} else {
			add("ban", v.words.T("%s marked this as not spam", who))
		}
		return
	}
	status, changed := c["status"]
	switch helpdesk.Status(textIn(status.To)) {
	case helpdesk.StatusClosed:
		add("check", v.words.T("%s closed this", who))
		return
	case helpdesk.StatusPending:
		add("clock", v.words.T("%s marked this as pending", who))
	case helpdesk.StatusPosted:
		add("refresh", v.words.T("%s reopened this", who))
	default:
	}
	until, ok := c["snoozed_until"]
	if at, err := time.Parse(time.RFC3339, textIn(until.To)); err == nil {
		add("clock", v.words.T("%s snoozed this until %s", who, v.when(at)))
	} else if ok && !changed {
		add("clock", v.words.T("The snooze ended"))
	}
}

// assignedLine says to whom a conversation was assigned.
func (v *visit) assignedLine(c subscription.Changes, who string, names historyNames) string {
	user, toUser := c["user_id"]
	team, toTeam := c["team_id"]
	if !toUser && !toTeam {
		return ""
	}
	var to []string
	if id := idIn(user.To); id != 0 {
		name := names.people[id].Name
		if name == "" {
			name = v.words.T("Former member")
		}
		to = append(to, name)
	}
	if name := names.teams[idIn(team.To)]; name != "" {
		to = append(to, name)
	}
	switch {
	case len(to) == 1 && to[0] == who:
		return v.words.T("%s took this over", who)
	case len(to) > 0:
		return v.words.T("%s assigned this to %s", who, v.words.list(to))
	case idIn(team.To) != 0:
		return v.words.T("%s assigned this", who)
	}
	return v.words.T("%s unassigned this", who)
}

// movedLine says to which mailbox a conversation moved, as far as the member may know.
func (v *visit) movedLine(c subscription.Changes, who string, names historyNames) string {
	box, moved := c["mailbox_id"]
	if !moved {
		return ""
	}
	from, to := names.boxes[idIn(box.From)], names.boxes[idIn(box.To)]
	switch {
	case from != "" && to != "":
		return v.words.T("%s moved this from %s to %s", who, from, to)
	case to != "":
		return v.words.T("%s moved this to %s", who, to)
	}
	return v.words.T("%s moved this to another mailbox", who)
}

// tagged lists the names of tags; those that are gone since have none.
func (n historyNames) tagged(v *visit, ids []int64) string {
	var list []string
	for _, id := range ids {
		if at := slices.IndexFunc(n.tags, func(t tagView) bool { return t.ID == id }); at >= 0 {
			list = append(list, n.tags[at].Name)
		}
	}
	if gone := len(ids) - len(list); gone > 0 {
		list = append(list, v.words.T("a deleted tag"))
	}
	return v.words.list(list)
}
