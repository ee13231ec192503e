package desk

import (
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
)

// present notes what the member does at a conversation. The module says it while the page is
// open.
func (v *visit) present() error {
	if _, err := v.Present(v.ctx(), v.number("id"), helpdesk.Doing(v.r.PostFormValue("doing"))); err != nil {
		return err
	}
	v.w.WriteHeader(http.StatusNoContent)
	return nil
}

// companion is another member who is at a conversation.
type companion struct {
	person
	Writing bool
}

// others are the other members at conversations, by conversation.
func (v *visit) others(ids []int64) (map[int64][]companion, error) {
	there := map[int64][]companion{}
	if len(ids) == 0 {
		return there, nil
	}
	found, err := v.PresenceOf(v.ctx(), ids)
	if err != nil {
		return nil, err
	}
	users := make([]int64, len(found))
	for i, p := range found {
		users[i] = p.UserID
	}
	people, err := v.people(without(users, v.UserID()))
	for _, p := range found {
		if who, ok := people[p.UserID]; ok {
			there[p.ConversationID] = append(there[p.ConversationID], companion{who, p.Doing == helpdesk.Replying})
		}
	}
	return there, err
}
