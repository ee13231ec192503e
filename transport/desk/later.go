package desk

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// laters are the times offered for sending a reply later, in the member's zone.
func (v *visit) laters() []nap {
	now := v.now.In(v.zone)
	list := []nap{{v.words.T("In an hour"), v.when(now.Add(time.Hour)), now.Add(time.Hour).Unix()}}
	for _, n := range v.naps() {
		if n.Text == v.words.T("Tomorrow") || n.Text == v.words.T("Monday") {
			list = append(list, n)
		}
	}
	return list
}

// sendLater reads from the pressed button whether, and when, a reply is to be sent later: at the button's time, or at the
// time in the field next to it; zero if that is empty.
func (v *visit) sendLater(then string) (later bool, at time.Time) {
	value, later := strings.CutPrefix(then, "later")
	if !later {
		return false, at
	}
	if n := number(strings.TrimPrefix(value, "-")); n != 0 {
		return true, time.Unix(n, 0)
	}
	at, err := time.ParseInLocation("2006-01-02T15:04", v.r.PostFormValue("later_at"), v.zone)
	if err != nil {
		return true, time.Time{}
	}
	return true, at
}

// showLater shows when a reply will be sent, with buttons to send it now or call it back.
func (v *visit) showLater(e *entry, i helpdesk.Interaction) {
	base := v.at(fmt.Sprintf("/c/%d/i/%d", i.ConversationID, i.ID))
	e.At, e.Time, e.Full = i.SendAt, v.moment(i.SendAt), v.full(i.SendAt)
	e.Deliveries = []deliveryView{{State: "wait", Icon: "clock", Text: v.words.T("Sends %s", v.moment(i.SendAt))}}
	if v.may(identity.InteractionsCreate) {
		e.CallBack, e.Later = base+"/back", true
		if v.may(identity.InteractionsUpdate) {
			e.SendNow = base + "/now"
		}
	}
}

// sendNow sends a reply that is scheduled for later.
func (v *visit) sendNow() error {
	id, i := v.number("id"), v.number("i")
	if _, err := v.Interactions().Update(v.ctx(), id, i, helpdesk.InteractionUpdate{SendAt: storage.Null[time.Time]()}); err != nil {
		return err
	}
	v.sent(written{conversation: id, kind: "reply", nonce: rand.Text()}, posted{Interaction: i})
	return v.see(v.at("/c/"+itoa(id)) + "#m" + itoa(i))
}

// returned explains why a scheduled reply is a draft again.
func (v *visit) returned(why helpdesk.HistoryReason, names map[int64]string) string {
	switch why.Reason {
	case helpdesk.ReturnedByCustomer, helpdesk.ReturnedByAnswer:
		if name := names[why.InteractionID]; name != "" {
			return v.words.T("A reply was not sent because %s wrote first. It is a draft again", name)
		}
		return v.words.T("A reply was not sent because someone wrote first. It is a draft again")
	case helpdesk.ReturnedByMerge:
		return v.words.T("A reply was not sent because the conversation was merged. It is a draft again")
	case helpdesk.ReturnedBySpam:
		return v.words.T("A reply was not sent because this was marked as spam. It is a draft again")
	}
	return v.words.T("A reply was not sent because messages were moved. It is a draft again")
}
