package desk

import (
	"cmp"
	"html/template"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/search"
)

// foundView is what is said above the results of a search.
type foundView struct {
	Count   string
	Instead string // what was searched for, if nothing was found for the words
	Unread  bool   // long conversations were not searched for a phrase to their beginning
	Further bool   // there may be more on the next page, although this one is empty
}

// hitView is a conversation's row with the words that were found marked.
type hitView struct{ Who, Subject, Passage template.HTML }

// seeks reports whether the listing is the result of a search for words.
func (l listing) seeks() bool { return l.view == "search" && l.words != "" }

// showFound adds what a search found to a page.
func (v *visit) showFound(view *inboxView, results helpdesk.SearchResults, first bool) {
	marked := func(text string) template.HTML {
		return template.HTML(search.Highlight(text, search.Marks(text, results.Words))) //nolint:gosec // it is escaped
	}
	for i, hit := range results.Items {
		r := &view.Rows[i]
		passage := marked(r.Preview)
		if hit.Highlight.Snippet != "" {
			passage = template.HTML(hit.Highlight.Snippet) //nolint:gosec // it is escaped
		}
		r.Hit = &hitView{Who: marked(r.Customer), Subject: marked(r.Subject), Passage: passage}
	}
	view.Found = &foundView{Instead: results.Corrected, Unread: results.Unread, Further: len(results.Items) == 0 && results.Next != ""}
	if !first || view.Found.Further {
		return
	}
	count := results.Count
	switch {
	case results.AtLeast && count == helpdesk.MaxFound:
		view.Found.Count = v.words.N(count, "More than %s conversation|More than %s conversations")
	case results.AtLeast:
		view.Found.Count = v.words.N(count, "%s conversation so far|%s conversations so far")
	default:
		view.Found.Count = v.words.N(count, "%s conversation|%s conversations")
	}
}

// searchChoices returns the filters of the search, which write conditions into its words, and what its form needs.
func (v *visit) searchChoices(view *toolsView, l listing) error {
	w := v.words
	order := choice{Active: true}
	for _, o := range [][2]string{{"", w.T("Newest")}, {"oldest", w.T("Oldest")}} {
		one := option{Text: o[1], Active: (l.sort == "oldest") == (o[0] == "oldest"), URL: v.listURL(l, "sort", o[0])}
		if order.Options = append(order.Options, one); one.Active {
			order.Text = o[1]
		}
	}
	states := [][2]string{{"open", w.T("Open")}, {"pending", w.T("Pending")}, {"closed", w.T("Closed")}, {"waiting", w.T("Customer waits for an answer")}, {"snoozed", w.T("Snoozed")},
		{"undelivered", w.T("Undelivered")}, {"spam", w.T("Spam")}}
	view.Choices = []choice{order, v.operatorChoice(l, search.Is, w.T("Any status"), states)}
	if err := v.fillBoxes(view); err != nil {
		return err
	}
	if len(view.Boxes) > 1 {
		var boxes [][2]string
		for _, b := range view.Boxes {
			boxes = append(boxes, [2]string{b.Text, b.Text})
		}
		view.Choices = append(view.Choices, v.operatorChoice(l, search.Mailbox, w.T("Any mailbox"), boxes))
	}
	who := [][2]string{{"me", w.T("Me")}, {"nobody", w.T("Nobody")}}
	for _, p := range view.Team {
		if p.ID != v.UserID() {
			who = append(who, [2]string{p.Name, p.Name})
		}
	}
	days := [][2]string{{"today", w.T("Today")}, {"7d", w.T("Last 7 days")}, {"30d", w.T("Last 30 days")}, {"365d", w.T("Last 365 days")}}
	view.Choices = append(view.Choices, v.operatorChoice(l, search.Assigned, w.T("Anyone"), who), v.operatorChoice(l, search.After, w.T("Any time"), days))
	if view.CanTag {
		tags, err := v.allTags()
		if err != nil {
			return err
		}
		var names [][2]string
		for _, t := range tags {
			names = append(names, [2]string{t.Name, t.Name})
		}
		if view.Tags = tags; len(tags) > 0 {
			view.Choices = append(view.Choices, v.operatorChoice(l, search.Tag, w.T("Any tag"), names))
		}
	}
	files := [][2]string{{search.HasAttachment, w.T("With an attachment")}}
	view.Choices = append(view.Choices, v.operatorChoice(l, search.Has, w.T("Attachments"), files))
	var err error
	view.Teams, err = v.teamLinks()
	return err
}

// operatorChoice is a choice between the values of an operator, of which the first stands for none.
func (v *visit) operatorChoice(l listing, of search.Operator, none string, values [][2]string) choice {
	chosen := search.Value(l.words, of)
	c := choice{Text: cmp.Or(chosen, none), Active: chosen != ""}
	for _, o := range append([][2]string{{"", none}}, values...) {
		one := option{Text: o[1], Active: strings.EqualFold(o[0], chosen), URL: v.listURL(l, "q", search.With(l.words, of, o[0]))}
		if one.Active {
			c.Text = o[1]
		}
		c.Options = append(c.Options, one)
	}
	return c
}

// tip explains how to ask for something.
type tip struct{ Write, Text string }

// searchTips explains the operators.
func (v *visit) searchTips() []tip {
	w := v.words
	return []tip{
		{"from:ada", w.T("Written by this person")}, {"to:ada@example.com", w.T("Sent to this person, also as a copy")},
		{"subject:invoice", w.T("In the subject")}, {`"two words"`, w.T("These words next to each other")},
		{"-word", w.T("Without this word or condition")}, {"is:open", w.T("In this state. Others: %s", strings.Join(search.States()[1:], ", "))},
		{"tag:vip", w.T("With this tag")}, {"mailbox:support", w.T("In this mailbox")}, {"assigned:me", w.T("Assigned to this member, or to nobody")},
		{"has:attachment", w.T("With an attachment")}, {"before:2026-01-31", w.T("Started before this day, month or year")},
		{"after:7d", w.T("Changed since this day. 7d: in the last 7 days")},
	}
}
