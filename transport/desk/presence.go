package desk

import (
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

// present records the member's activity at a conversation. The script reports it while the page is open, even when the
// conversation has been merged or deleted since.
func (v *visit) present() error {
	_, err := v.Conversations().Present(v.ctx(), v.number("id"), helpdesk.Doing(v.r.PostFormValue("doing")))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	v.w.WriteHeader(http.StatusNoContent)
	return nil
}

// companion is another member present at a conversation.
type companion struct {
	person
	Writing bool
}

// others returns the other members present, by conversation.
func (v *visit) others(found []helpdesk.Presence) (map[int64][]companion, error) {
	there := map[int64][]companion{}
	if len(found) == 0 {
		return there, nil
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

// writers returns the first names of other members who are writing a reply, by conversation.
func (v *visit) writers(marks map[int64]helpdesk.Marks) (map[int64]string, error) {
	var found []helpdesk.Presence
	for _, m := range marks {
		found = append(found, m.Presence...)
	}
	others, err := v.others(found)
	names := map[int64]string{}
	for id, there := range others {
		for _, o := range there {
			if o.Writing {
				names[id] = o.First()
			}
		}
	}
	return names, err
}
