package desk

import (
	"fmt"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// misplacedView offers the actions on a message that is in the wrong conversation.
type misplacedView struct {
	Action   string
	FromHere bool // it and all later messages can become a new conversation
	Alone    bool // it can become a conversation of its own
	Again    bool // the rules of threading can be applied again
}

// misplaced returns the actions that the member may take, or nil.
func (v *visit) misplaced(i helpdesk.Interaction) (*misplacedView, error) {
	if !v.may(identity.ConversationsUpdate) {
		return nil, nil //nolint:nilnil // it is not shown
	}
	first, err := v.Interactions().List(v.ctx(), i.ConversationID, storage.PageRequest{Limit: 2})
	if err != nil || len(first.Items) == 0 {
		return nil, err
	}
	view := &misplacedView{Action: v.at(fmt.Sprintf("/c/%d/i/%d/place", i.ConversationID, i.ID))}
	more := len(first.Items) > 1 && v.may(identity.ConversationsCreate)
	view.FromHere = more && first.Items[0].ID != i.ID
	view.Alone = more && i.Type != helpdesk.TypeNote
	view.Again = i.Type == helpdesk.TypeCustomer && i.Threading.Rule != "" && i.Threading.Rule != helpdesk.RuleReport
	return view, nil
}

// place moves a message into another conversation, and shows it there.
func (v *visit) place() error {
	id, i := v.number("id"), v.number("i")
	now, err := v.placed(id, i)
	if err != nil {
		return v.instead(err, v.at(fmt.Sprintf("/c/%d/i/%d", id, i)))
	}
	if now == id {
		v.say(toast{Text: v.words.T("Nothing changed. It matched this conversation again")})
		return v.see(v.at(fmt.Sprintf("/c/%d/i/%d", id, i)))
	}
	c, err := v.Conversations().Get(v.ctx(), now)
	if err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Moved to #%s", c.Number)})
	return v.see(v.at("/c/"+itoa(now)) + "#m" + itoa(i))
}

// placed moves the message as the form requests, and returns its new conversation.
func (v *visit) placed(id, i int64) (int64, error) {
	var c helpdesk.Conversation
	var moved helpdesk.Interaction
	var err error
	switch v.r.PostFormValue("act") {
	case "here":
		c, err = v.Conversations().Split(v.ctx(), id, helpdesk.SplitInput{InteractionID: i})
		return c.ID, err
	case "alone":
		c, err = v.Conversations().Split(v.ctx(), id, helpdesk.SplitInput{InteractionIDs: []int64{i}})
		return c.ID, err
	case "again":
		moved, err = v.Interactions().Rethread(v.ctx(), id, i)
	case "move":
		var into int64
		if into, err = v.numbered(conversationNumber(v.r.PostFormValue("into"))); err == nil {
			moved, err = v.Interactions().Move(v.ctx(), id, i, into)
		}
	default:
		err = fault.New(fault.Malformed, "The form could not be read.")
	}
	return moved.ConversationID, err
}

// conversationNumber parses a number as people write it: 4127 or #4127.
func conversationNumber(text string) int64 {
	return number(strings.TrimPrefix(strings.TrimSpace(text), "#"))
}
