package desk

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// commandView is the page of a command of the More menu that asks for something. With scripts it is shown in a dialog.
type commandView struct {
	Command, Title string
	Back           string // the page to come back to
	C              *conversationView
	Merge          *mergingView // nil for other commands
}

// command shows the page of a command: "macro", "subject", "move", "priority", "hold" or "delete".
func (v *visit) command() error {
	name := v.r.PathValue("command")
	title, perm := "", identity.ConversationsUpdate
	switch name {
	case "macro":
		return v.applyPage([]string{v.r.PathValue("id")})
	case "subject":
		title = v.words.T("Change subject")
	case "move":
		title = v.words.T("Move to another mailbox")
	case "priority":
		title = v.words.T("Change priority")
	case "hold":
		title = v.words.T("Put on hold")
	case "delete":
		title, perm = v.words.T("Delete conversation"), identity.ConversationsDelete
	default:
		return v.missing()
	}
	if !v.may(perm) {
		return v.missing()
	}
	view, err := v.commandOn(name, title)
	if err != nil {
		return err
	}
	return v.show(screen{template: "conversation-command", title: title, data: view, nav: "inbox/all"})
}

// commandOn returns the page of a command on the conversation in the address.
func (v *visit) commandOn(name, title string) (commandView, error) {
	c, err := v.Conversations().Get(v.ctx(), v.number("id"))
	if err != nil {
		return commandView{}, err
	}
	self := v.at("/c/" + itoa(c.ID))
	view := &conversationView{
		ID: c.ID, Number: c.Number, Subject: c.Subject, Self: self, Priority: urgencyOf(v.words, c.Priority), Priorities: urgencies(v.words),
		Here: v.safe(v.r.URL.Query().Get("back"), self), List: v.at("/inbox/unassigned"),
	}
	if name == "move" {
		err = v.fillHead(c, view)
	}
	return commandView{Command: name, Title: title, Back: view.Here, C: view}, err
}

// mergingView finds the conversation to merge with, and shows both before they are merged, as that cannot be undone.
type mergingView struct {
	From, Into mergeSide
	Chosen     bool
	Strangers  bool // they are with different customers
	Words      string
	Action     string
	Same       []mergeSide // with the same customer
	Others     []mergeSide
}

// mergeSide is a conversation as the page about merging shows it.
type mergeSide struct {
	row
	Number          int64
	Mailbox, Status string
}

// maxMergeChoices limits the conversations that are offered.
const maxMergeChoices = 20

// mergeConversationPage shows the search for the conversation to merge with, or both.
func (v *visit) mergeConversationPage() error {
	if !v.may(identity.ConversationsUpdate) {
		return v.missing()
	}
	page, err := v.commandOn("merge", v.words.T("Merge with another conversation"))
	if fault.Is(err, fault.NotFound) { // a page that is still open is fetched anew when its conversation was merged
		if into, gone := v.Conversations().MergedInto(v.ctx(), v.number("id")); gone == nil {
			return v.see(v.at("/c/" + itoa(into.ID)))
		}
	}
	if err != nil {
		return err
	}
	c, err := v.Conversations().Get(v.ctx(), page.C.ID)
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	page.Merge = &mergingView{Action: page.C.Self + "/merge", Words: strings.TrimSpace(q.Get("q"))}
	if into := number(q.Get("into")); into != 0 && into != c.ID {
		err = v.fillMerge(page, c, into)
	} else {
		err = v.fillMergeChoices(page, c)
	}
	if err != nil {
		return err
	}
	return v.show(screen{template: "conversation-command", title: page.Title, data: page, nav: "inbox/all"})
}

// fillMerge adds both conversations.
func (v *visit) fillMerge(page commandView, c helpdesk.Conversation, into int64) error {
	other, err := v.Conversations().Get(v.ctx(), into)
	if err != nil {
		return err
	}
	sides, err := v.mergeSides(page, []helpdesk.Conversation{c, other})
	if err != nil {
		return err
	}
	page.Merge.From, page.Merge.Into, page.Merge.Chosen = sides[0], sides[1], true
	page.Merge.Strangers = c.CustomerID != other.CustomerID
	return nil
}

// fillMergeChoices adds the conversations that the words find, those with the same customer first: without words only these.
func (v *visit) fillMergeChoices(page commandView, c helpdesk.Conversation) error {
	m := page.Merge
	if n := conversationNumber(m.Words); n != 0 {
		id, err := v.numbered(n)
		if err != nil && !fault.Is(err, fault.Invalid) {
			return err
		}
		if err == nil && id != c.ID {
			found, err := v.Conversations().ByID(v.ctx(), []int64{id})
			if err != nil {
				return err
			}
			m.Others, err = v.mergeSides(page, found)
			return err
		}
	}
	var same, others []helpdesk.Conversation
	q := helpdesk.ConversationQuery{Query: m.Words, Sort: helpdesk.ByUpdated}
	for _, customer := range []int64{c.CustomerID, 0} {
		if q.CustomerID = customer; customer == 0 && m.Words == "" || customer != 0 && !v.may(identity.CustomersView) {
			continue
		}
		found, err := v.Conversations().List(v.ctx(), q, storage.PageRequest{Limit: maxMergeChoices})
		if err != nil {
			return err
		}
		for _, one := range found.Items {
			known := func(o helpdesk.Conversation) bool { return o.ID == one.ID }
			switch {
			case one.ID == c.ID || slices.ContainsFunc(same, known):
			case customer != 0:
				same = append(same, one)
			default:
				others = append(others, one)
			}
		}
	}
	sides, err := v.mergeSides(page, slices.Concat(same, others))
	if err == nil {
		m.Same, m.Others = sides[:len(same)], sides[len(same):]
	}
	return err
}

// mergeSides shows conversations. Their addresses choose them.
func (v *visit) mergeSides(page commandView, list []helpdesk.Conversation) ([]mergeSide, error) {
	rows, err := v.rows(listing{}, list, false)
	if err != nil {
		return nil, err
	}
	names := map[int64]string{}
	if v.may(identity.MailboxesView) {
		boxes, err := v.mailboxes()
		if err != nil {
			return nil, err
		}
		for _, box := range boxes {
			names[box.ID] = box.Name
		}
	}
	sides := make([]mergeSide, len(list))
	for i, c := range list {
		sides[i] = mergeSide{row: rows[i], Number: c.Number, Mailbox: names[c.MailboxID], Status: statusName(v.words, c.Status)}
		sides[i].URL = page.Merge.Action + "?" + url.Values{"into": {itoa(c.ID)}, "back": {page.Back}}.Encode()
		sides[i].Customer = cmp.Or(sides[i].Customer, v.words.T("No customer"))
	}
	return sides, nil
}

// mergedElsewhere leads from a conversation that was merged to the one that has its messages.
func (v *visit) mergedElsewhere(id int64, missing error) error {
	c, err := v.Conversations().MergedInto(v.ctx(), id)
	if err != nil {
		return missing
	}
	v.say(toast{Text: v.words.T("This conversation was merged into #%s", c.Number)})
	return v.see(v.at("/c/" + itoa(c.ID)))
}
