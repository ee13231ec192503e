package desk

import (
	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// savedReply is one that can be put into an answer.
type savedReply struct {
	ID     int64
	Name   string
	Shared bool
}

// maxReplies bounds how many saved replies the composer offers.
const maxReplies = 100

func (v *visit) savedReplies() ([]savedReply, error) {
	if !v.may(helpdesk.InteractionsView) {
		return nil, nil
	}
	page, err := v.SavedReplies(v.ctx(), "", storage.PageRequest{Limit: maxReplies})
	var list []savedReply
	for _, r := range page.Items {
		list = append(list, savedReply{r.ID, r.Name, r.UserID == 0})
	}
	return list, err
}

// filledReply is a saved reply with its placeholders filled, for the module to put where the
// member writes.
func (v *visit) filledReply() error {
	body, err := v.FillReply(v.ctx(), v.number("id"), v.number("reply"))
	if err != nil {
		return err
	}
	return v.json(map[string]string{"html": plainStyle(body)})
}

// insertReply adds a saved reply to the end of the draft.
func (v *visit) insertReply() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	body, err := v.FillReply(v.ctx(), w.conversation, v.field("reply"))
	if err != nil {
		return err
	}
	w.body += body
	if _, err := v.keep(v.ctx(), w); err != nil {
		return err
	}
	return v.see(v.at("/c/"+itoa(w.conversation)) + "#write")
}

// saveReply saves what was written as a reply, and keeps it as the draft that it is.
func (v *visit) saveReply() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	in := helpdesk.SavedReplyInput{Name: v.r.PostFormValue("reply_name"), Body: w.body, Shared: v.r.PostFormValue("shared") != ""}
	if _, err := v.CreateSavedReply(v.ctx(), in); err != nil {
		return err
	}
	if _, err := v.keep(v.ctx(), w); err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Reply saved")})
	return v.see(v.at("/c/"+itoa(w.conversation)) + "#write")
}
