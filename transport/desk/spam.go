package desk

import (
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// spamView marks a conversation as spam, and shows whether its sender is blocked.
type spamView struct {
	Blocked   string // the blocked address or domain; "" for none
	Unblock   string // where that is undone; "" if not allowed
	Address   string // of the sender
	CanBlock  bool
	CanChange bool
}

// narrowSpam excludes spam from all lists except its own.
func (v *visit) narrowSpam(l listing, q *helpdesk.ConversationQuery) error {
	switch {
	case l.view == "spam":
		q.Spam = storage.Some(true)
	case l.view == "due": // spam never is
	case l.seeks(): // a search finds it when it is asked for
	case l.status == "open" || l.status == "pending": // spam is closed
	case q.ViewID != 0:
		one, err := v.Views().Get(v.ctx(), q.ViewID)
		if err == nil && one.Filter.Spam == nil {
			q.Spam = storage.Some(false)
		}
		return err
	default:
		q.Spam = storage.Some(false)
	}
	return nil
}

// mayBlock reports whether the member may block senders, which requires access to all mailboxes.
func (v *visit) mayBlock() bool { return v.may(identity.CustomersUpdate) && v.Scope().Mailboxes == nil }

// fillSpam fills in whether the sender of spam is blocked.
func (v *visit) fillSpam(c helpdesk.Conversation, view *conversationView) error {
	view.CanBlock = v.mayBlock() && !helpdesk.Unreachable(c.CustomerEmail)
	if !c.IsSpam() {
		return nil
	}
	s := &spamView{Address: c.CustomerEmail, CanBlock: view.CanBlock, CanChange: view.CanUpdate}
	view.Spam = s
	if !v.may(identity.CustomersView) {
		return nil
	}
	page, err := v.BlockedSenders().List(v.ctx(), c.CustomerEmail, storage.PageRequest{Limit: 1})
	for _, b := range page.Items {
		s.Blocked = b.Sender
		if v.mayBlock() {
			s.Unblock = v.at("/settings/blocked/" + itoa(b.ID) + "/delete")
		}
	}
	return err
}

// setSpam marks a conversation as spam or not spam; block also blocks its sender.
func (v *visit) setSpam() error {
	id, act := v.number("id"), v.r.PostFormValue("act")
	if act == "block" || act == "only-block" {
		c, err := v.Conversations().Get(v.ctx(), id)
		if err != nil {
			return err
		}
		_, err = v.BlockedSenders().Block(v.ctx(), c.CustomerEmail)
		if fault.Is(err, fault.Invalid) {
			if text, ok := v.problems(err)["sender"]; ok {
				v.say(toast{Text: v.words.T("%s was not blocked: it %s", c.CustomerEmail, text), Bad: true})
				return v.see(v.back(v.at("/c/" + itoa(id))))
			}
		}
		if err != nil {
			return err
		}
		if act == "only-block" {
			v.say(toast{Text: v.words.T("Blocked %s", c.CustomerEmail)})
			return v.see(v.back(v.at("/c/" + itoa(id))))
		}
		act = "spam"
	}
	return v.changeOne(act, "")
}

// blockedView is the page of blocked senders.
type blockedView struct {
	Rows         []blockedRow
	Next, Action string
	CanChange    bool
	Sender       string
	Errors       map[string]string
}

type blockedRow struct{ Sender, When, Action string }

func (v *visit) blockedPage() error { return v.listBlocked("", nil, 0) }

func (v *visit) listBlocked(sender string, problems map[string]string, status int) error {
	page, err := v.BlockedSenders().List(v.ctx(), "", v.pageOf(100))
	if err != nil {
		return err
	}
	view := blockedView{Next: v.older("/settings/blocked", page.Next), Action: v.at("/settings/blocked"), CanChange: v.mayBlock(), Sender: sender, Errors: orEmpty(problems)}
	for _, b := range page.Items {
		view.Rows = append(view.Rows, blockedRow{Sender: b.Sender, When: v.when(b.CreatedAt), Action: v.at("/settings/blocked/" + itoa(b.ID) + "/delete")})
	}
	return v.settingsPage("blocked", v.words.T("Blocked senders"), view, status)
}

func (v *visit) addBlocked() error {
	sender := v.r.PostFormValue("sender")
	b, err := v.BlockedSenders().Block(v.ctx(), sender)
	if fault.Is(err, fault.Invalid) {
		return v.listBlocked(sender, v.problems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "blocked", v.words.T("Blocked %s", b.Sender))
}

// deleteBlocked unblocks a sender, from the settings or from a spam conversation.
func (v *visit) deleteBlocked() error {
	err := v.BlockedSenders().Unblock(v.ctx(), v.number("id"))
	if back := v.back(""); err == nil && back != "" {
		v.say(toast{Text: v.words.T("Unblocked")})
		return v.see(back)
	}
	return v.unless(err, "blocked", v.words.T("Unblocked"))
}
