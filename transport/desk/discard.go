package desk

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// dropped names a draft that the member discarded, so that it can be restored. The draft itself is stored on the server.
type dropped struct {
	In    int64  `json:"n"` // its conversation
	Draft int64  `json:"i"`
	List  string `json:"l,omitempty"` // from which it was opened
}

// droppedCookie keeps an undo for the conversation's page, after the toast is gone.
const droppedCookie = "desk_dropped"

// maxDropped limits the size of a stored draft.
const maxDropped = 8 << 20

func (v *visit) droppedKey(d dropped) []byte {
	key := sha256.Sum256(fmt.Appendf(nil, "desk discard\x00%d\x00%d\x00%d\x00%d", v.UserID(), v.AccountID(), d.In, d.Draft))
	return key[:]
}

// drop discards the draft in the form, and returns how to undo that: "" if there is no way.
func (v *visit) drop(w written) (undo string, err error) {
	if w.draft == 0 {
		return "", nil
	}
	if _, err := v.unsent(v.ctx(), w); err != nil {
		return "", err
	}
	d := dropped{In: w.conversation, Draft: w.draft, List: v.r.PostFormValue("in")}
	key := v.droppedKey(d)
	note := storage.Note{Key: key, Request: key, Holder: rand.Text(), Until: v.now.Add(helpdesk.DiscardTime), ConversationID: d.In}
	undo = pack(inverse{Draft: &d})
	_, err = storage.Once(v.ctx(), v.h.cfg.Once, note, v.now, func(ctx context.Context) ([]byte, error) {
		gone, err := v.Interactions().Discard(ctx, w.conversation, w.draft)
		if err != nil {
			return nil, err
		}
		kept, err := json.Marshal(gone)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "encoding a draft", err)
		}
		if len(kept) > maxDropped {
			kept, undo = nil, ""
		}
		return kept, nil
	})
	if err != nil {
		return "", err
	}
	if undo != "" {
		c := v.setting(droppedCookie, undo)
		c.MaxAge = int(helpdesk.DiscardTime.Seconds())
		http.SetCookie(v.w, c)
	}
	return undo, nil
}

// droppedHere returns how to undo that the member has discarded a draft of the conversation, "" if there is nothing to undo.
func (v *visit) droppedHere(conversation int64) string {
	c, err := v.r.Cookie(droppedCookie)
	var inv inverse
	if err != nil || !unpack(c.Value, &inv) || inv.Draft == nil || inv.Draft.In != conversation {
		return ""
	}
	if _, err := v.h.cfg.Once.Noted(v.ctx(), v.droppedKey(*inv.Draft), v.now); err != nil {
		return ""
	}
	return c.Value
}

// restoreDropped undoes drop.
func (v *visit) restoreDropped(d dropped) error {
	back, key := v.talk(d.In, d.List), v.droppedKey(d)
	note, err := v.h.cfg.Once.Noted(v.ctx(), key, v.now)
	var was helpdesk.Discarded
	late := fault.Is(err, fault.NotFound) || err == nil && json.Unmarshal(note.Answer, &was) != nil
	if err != nil && !late {
		return err
	}
	kind := ""
	if !late {
		done := sha256.Sum256(append([]byte("restored\x00"), key...))
		once := storage.Note{Key: done[:], Request: done[:], Holder: rand.Text(), Until: v.now.Add(24 * time.Hour)}
		kind = writtenAs(was.Draft)
		_, err = storage.Once(v.ctx(), v.h.cfg.Once, once, v.now, func(ctx context.Context) ([]byte, error) {
			i, err := v.Interactions().Restore(ctx, was)
			return []byte(itoa(i.ID)), err
		})
		late = fault.Is(err, fault.NotFound)
	}
	switch {
	case late:
		v.say(toast{Text: v.words.T("It is too late to undo this."), Bad: true})
	case fault.Is(err, fault.Conflict):
		v.say(toast{Text: v.words.T("You have started another draft since then. That one was kept."), Bad: true})
		return v.see(withKind(back, kind))
	case err != nil:
		return err
	default:
		gone := v.setting(droppedCookie, "")
		gone.MaxAge = -1
		http.SetCookie(v.w, gone)
		v.say(toast{Text: v.words.T("Draft restored")})
		return v.see(withKind(back, kind))
	}
	return v.see(back)
}

// withKind returns the address of a conversation with the composer open in a kind.
func withKind(talk, kind string) string {
	join := "?"
	if strings.Contains(talk, "?") {
		join = "&"
	}
	return talk + join + "write=" + kind + "#write"
}
