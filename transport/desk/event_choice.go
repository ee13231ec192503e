package desk

import (
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// everyOf ends a choice of all events or permissions of an area, such as "conversation.*".
const everyOf = ".*"

// choiceGroup is a group of checkboxes of one area. Whole is whether all of several are chosen.
type choiceGroup struct {
	Area, Name string
	Whole      bool
	Items      []tick
}

// byArea groups choices of the form area.action, with their titles, by area in order.
func byArea(all []tick, chosen []string, name func(area string) string) []choiceGroup {
	var groups []choiceGroup
	for _, t := range all {
		area, _, _ := strings.Cut(t.ID, ".")
		at := slices.IndexFunc(groups, func(g choiceGroup) bool { return g.Area == area })
		if at < 0 {
			at, groups = len(groups), append(groups, choiceGroup{Area: area, Name: name(area)})
		}
		groups[at].Items = append(groups[at].Items, t)
	}
	for i := range groups {
		g := &groups[i]
		g.Whole = slices.Contains(chosen, g.Area+everyOf) || !slices.ContainsFunc(g.Items, func(t tick) bool { return !slices.Contains(chosen, t.ID) })
		for n := range g.Items {
			g.Items[n].On = g.Whole || slices.Contains(chosen, g.Items[n].ID)
		}
		g.Whole = g.Whole && len(g.Items) > 1
	}
	return groups
}

// expanded replaces choices of whole areas by all that they stand for.
func expanded(chosen, all []string) []string {
	var out []string
	for _, one := range chosen {
		area, whole := strings.CutSuffix(one, everyOf)
		if !whole || area == "" {
			out = append(out, one)
			continue
		}
		for _, each := range all {
			if strings.HasPrefix(each, area+".") {
				out = append(out, each)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// knownEvents are the types of events that a webhook can have, by area.
func knownEvents() []storage.EventType {
	all := slices.Concat(helpdesk.EventTypes(), kb.EventTypes())
	slices.SortFunc(all, func(a, b storage.EventType) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// eventChoice is the choice of a webhook's events: all of them, whole areas, or single ones.
type eventChoice struct {
	All    bool
	Groups []choiceGroup
}

// eventChoice offers all events and ticks the chosen ones. Types of a later version stay among them.
func (v *visit) eventChoice(chosen []string) eventChoice {
	var all []tick
	for _, t := range knownEvents() {
		all = append(all, tick{ID: t.Name, Text: t.Name})
	}
	for _, one := range chosen {
		if strings.Contains(one, ".") && !strings.HasSuffix(one, everyOf) && !slices.ContainsFunc(all, func(t tick) bool { return t.ID == one }) {
			all = append(all, tick{ID: one, Text: one})
		}
	}
	return eventChoice{All: slices.Contains(chosen, subscription.AllEvents), Groups: byArea(all, chosen, v.eventArea)}
}

// chosenEvents reads the choice of a webhook's events.
func (v *visit) chosenEvents() []string {
	chosen := eventTypes(strings.Join(v.r.PostForm["events"], "\n"))
	if slices.Contains(chosen, subscription.AllEvents) {
		return []string{subscription.AllEvents}
	}
	var all []string
	for _, t := range knownEvents() {
		all = append(all, t.Name)
	}
	return expanded(chosen, all)
}

// eventArea names what events of an area are about.
func (v *visit) eventArea(area string) string {
	text, known := map[string]string{
		"account": say("Accounts"), "auto_reply": say("Automatic replies"), "survey": say("Surveys"), "rating": say("Ratings"), "retention": say("Retention"), "retention_policy": say("Retention policies"), "calendar": say("Business hours"), "article": say("Articles"), "attachment": say("Attachments"), "blocked_sender": say("Blocked senders"), "category": say("Categories"),
		"collection": say("Collections"), "conversation": say("Conversations"), "company": say("Companies"), "customer": say("Customers"), "domain": say("Sending domains"), "feedback": say("Feedback"),
		"field": say("Fields"), "file": say("Files"), "interaction": say("Messages and notes"), "invitation": say("Invitations"), "join_rule": say("Rules for joining"), "mail": say("Unreadable mail"),
		"mailbox": say("Mailboxes"), "membership": say("Members"), "notification": say("Notifications"), "pgp_key": say("OpenPGP keys"), "portal_key": say("Customer sign-in"),
		"role": say("Roles"), "rule": say("Rules"), "sla": say("SLAs"), "saved_reply": say("Saved replies"), "site": say("Help centres"), "suppression": say("Suppressed addresses"), "tag": say("Tags"),
		"team": say("Teams"), "theme": say("Themes"), "view": say("Saved views"), "webhook": say("Webhooks"),
	}[area]
	if !known {
		return area
	}
	return v.words.T(text)
}
