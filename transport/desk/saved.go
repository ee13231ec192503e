package desk

import (
	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// savedReply is a saved reply that can be inserted into an answer.
type savedReply struct {
	ID     int64
	Name   string
	Shared bool
	Files  bool     // it has files
	Acts   []string // what it does besides
}

// maxReplies is the maximum number of saved replies that the composer offers.
const maxReplies = 100

func (v *visit) savedReplies() ([]savedReply, error) {
	if !v.may(identity.InteractionsView) {
		return nil, nil
	}
	page, err := v.SavedReplies().List(v.ctx(), "", storage.PageRequest{Limit: maxReplies})
	if err != nil {
		return nil, err
	}
	files, err := v.countReplyFiles(page.Items)
	if err != nil {
		return nil, err
	}
	acts, err := v.macroTexts(page.Items...)
	var list []savedReply
	for _, r := range page.Items {
		list = append(list, savedReply{r.ID, r.Name, r.UserID == 0, files[r.ID] > 0, acts[r.ID]})
	}
	return list, err
}

// countReplyFiles returns the number of files of each saved reply.
func (v *visit) countReplyFiles(replies []helpdesk.SavedReply) (map[int64]int, error) {
	ids := make([]int64, len(replies))
	for i, r := range replies {
		ids[i] = r.ID
	}
	files, err := v.SavedReplies().FilesOf(v.ctx(), ids)
	counts := map[int64]int{}
	for _, f := range files {
		counts[f.ReplyID]++
	}
	return counts, err
}

// attachReply attaches the files of a saved reply to the member's draft, after the script has inserted its text.
func (v *visit) attachReply() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	if w.draft, err = v.draftOf(w); err != nil {
		return err
	}
	files, err := v.Attachments().AddReplyFiles(v.ctx(), w.conversation, w.draft, v.number("reply"))
	if err != nil {
		return err
	}
	return v.filesAdded(w.draft, files...)
}

// filledReply returns a saved reply with its placeholders filled, for the script to insert at the cursor.
func (v *visit) filledReply() error {
	body, err := v.SavedReplies().Fill(v.ctx(), v.number("id"), v.number("reply"))
	if err != nil {
		return err
	}
	r, err := v.SavedReplies().Get(v.ctx(), v.number("reply"))
	if err != nil {
		return err
	}
	acts, err := v.macroTexts(r)
	if err != nil {
		return err
	}
	return v.json(map[string]string{"html": plainStyle(body), "does": v.words.list(acts[r.ID])})
}

// insertReply adds a saved reply and its files to the end of the draft.
func (v *visit) insertReply() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	body, err := v.SavedReplies().Fill(v.ctx(), w.conversation, v.field("reply"))
	gone := fault.Is(err, fault.NotFound) // deleted meanwhile
	if gone {
		v.say(toast{Text: v.words.T("This saved reply no longer exists. Your draft is safe."), Bad: true})
	} else if err != nil {
		return err
	}
	w.body += body
	draft, err := v.keepAll(w)
	if err != nil {
		return v.notKept(w, err)
	}
	if !gone {
		if _, err := v.Attachments().AddReplyFiles(v.ctx(), w.conversation, draft.ID, v.field("reply")); err != nil {
			w.draft, w.files = draft.ID, nil
			return v.notKept(w, err)
		}
		r, err := v.SavedReplies().Get(v.ctx(), v.field("reply"))
		if err != nil {
			return err
		}
		if len(r.Actions) > 0 {
			w.macro = r.ID
		}
	}
	return v.goOnWriting(w)
}

// saveReply saves the text in the form as a saved reply, and keeps it as a draft, too.
func (v *visit) saveReply() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	in := helpdesk.SavedReplyInput{Name: v.r.PostFormValue("reply_name"), Body: w.body, Shared: storage.Some(v.r.PostFormValue("shared") != "")}
	draft, err := v.keepAll(w)
	if err != nil {
		return v.notKept(w, err)
	}
	if _, err := v.SavedReplies().Create(v.ctx(), in); err != nil {
		w.draft, w.files = draft.ID, nil
		return v.notKept(w, err)
	}
	v.say(toast{Text: v.words.T("Reply saved")})
	return v.goOnWriting(w)
}
