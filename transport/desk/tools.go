package desk

import (
	"strings"

	"github.com/helpwright/helpwright/helpdesk/identity"
)

// choice is a filter with its options.
type choice struct {
	Text    string
	Active  bool
	Options []option
}

type option struct {
	Text, URL, Color string
	Active           bool
}

// toolsView is the toolbar above the rows of a list: its filters, and the actions on ticked rows.
type toolsView struct {
	Choices                      []choice
	Team                         []person
	Teams                        []Link
	Tags                         []tagView
	Boxes                        []Link
	Naps                         []nap
	Priorities                   []urgency
	Fields                       []fieldInput // that can be set
	Spam                         bool         // for the list of spam
	First                        string
	CanAssign, CanUpdate, CanTag bool
	CanSaveView                  bool
}

// tools makes the toolbar of a list.
func (v *visit) tools(l listing, canSave bool) (toolsView, error) {
	team, err := v.team()
	if err != nil {
		return toolsView{}, err
	}
	view := toolsView{
		Team: team, Naps: v.naps(), Priorities: urgencies(v.words), Spam: l.view == "spam", First: v.listURL(l),
		CanAssign: v.may(identity.ConversationsAssign), CanUpdate: v.may(identity.ConversationsUpdate), CanTag: v.may(identity.TagsView),
		CanSaveView: canSave,
	}
	fields, err := v.conversationFields()
	if err != nil {
		return toolsView{}, err
	}
	for _, f := range fields {
		view.Fields = append(view.Fields, v.fieldInput(f, nil))
	}
	l.after = ""
	return view, v.choices(&view, l)
}

// choices returns the filters above a list, and the actions of its form.
func (v *visit) choices(view *toolsView, l listing) error {
	if l.view == "search" {
		return v.searchChoices(view, l)
	}
	if err := v.listChoices(view, l); err != nil {
		return err
	}
	return v.fillBoxes(view)
}

// listChoices returns the filters above a list of conversations, and the teams and tags of its form.
func (v *visit) listChoices(view *toolsView, l listing) error {
	pick := func(name, value string, options ...[2]string) choice {
		var c choice
		for _, o := range options {
			one := option{Text: o[1], Active: o[0] == value, URL: v.listURL(l, name, o[0])}
			if one.Active {
				c.Text = o[1]
			}
			c.Options = append(c.Options, one)
		}
		return c
	}
	w := v.words
	orders := [][2]string{{"waiting", w.T("Waiting longest")}, {"newest", w.T("Newest")}, {"oldest", w.T("Oldest")}}
	statuses := [][2]string{{"open", w.T("Open")}, {"pending", w.T("Pending")}, {"closed", w.T("Closed")}, {"all", w.T("Any status")}}
	if strings.HasPrefix(l.view, "view-") {
		statuses = append(statuses, [2]string{"saved", w.T("As saved")})
	}
	if l.view == "due" {
		orders = append(orders, [2]string{"due", w.T("Due first")})
	}
	if l.sort == "saved" {
		orders = append(orders, [2]string{"saved", w.T("As saved")})
	}
	order := pick("sort", l.sort, orders...)
	order.Active = true
	status := pick("status", l.status, statuses...)
	view.Choices = []choice{order, status}
	if view.Spam {
		view.Choices = view.Choices[:1]
	}
	if l.view != "mine" && l.view != "unassigned" {
		who := [][2]string{{"", w.T("Anyone")}, {"me", w.T("Me")}, {"none", w.T("Nobody")}}
		for _, p := range view.Team {
			if p.ID != v.UserID() {
				who = append(who, [2]string{itoa(p.ID), p.Name})
			}
		}
		c := pick("user", l.user, who...)
		c.Active = l.user != ""
		view.Choices = append(view.Choices, c)
	}
	teams, err := v.teamLinks()
	if err != nil {
		return err
	}
	view.Teams = teams
	if !strings.HasPrefix(l.view, "team-") {
		c, some, err := v.teamChoice(l)
		if err != nil {
			return err
		}
		if some {
			view.Choices = append(view.Choices, c)
		}
	}
	urgent := pick("priority", l.priority, priorityOptions(w)...)
	urgent.Active = l.priority != ""
	view.Choices = append(view.Choices, urgent)
	if view.CanTag {
		if err := v.tagChoice(view, l); err != nil {
			return err
		}
	}
	fields, err := v.conversationFields()
	view.Choices = append(view.Choices, v.fieldChoices(fields, fieldFilterOf(l.fields, fields), func(param string) string { return v.listURL(l, "fields", param) })...)
	return err
}

// fillBoxes adds the mailboxes to which the form moves conversations.
func (v *visit) fillBoxes(view *toolsView) error {
	if v.may(identity.MailboxesView) {
		boxes, err := v.mailboxes()
		if err != nil {
			return err
		}
		for _, m := range boxes {
			view.Boxes = append(view.Boxes, Link{Text: m.Name, URL: itoa(m.ID)})
		}
	}
	return nil
}

func (v *visit) tagChoice(view *toolsView, l listing) error {
	tags, err := v.allTags()
	if err != nil || len(tags) == 0 {
		return err
	}
	view.Tags = tags
	c := choice{Text: v.words.T("Tag"), Options: []option{{Text: v.words.T("Any tag"), URL: v.listURL(l, "tag", ""), Active: l.tag == 0}}}
	for _, t := range tags {
		if t.ID == l.tag {
			c.Text, c.Active = t.Name, true
		}
		c.Options = append(c.Options, option{Text: t.Name, Color: t.Color, URL: v.listURL(l, "tag", itoa(t.ID)), Active: t.ID == l.tag})
	}
	view.Choices = append(view.Choices, c)
	return nil
}
