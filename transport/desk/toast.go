package desk

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// toast is a notice of the result of a form, shown on the next page, with an undo button. It is sent in a cookie, so that it
// is shown once, whichever replica serves that page.
type toast struct {
	Text string `json:"t"`
	Undo string `json:"u,omitempty"` // packed change or sending; "" if it cannot be undone
	// Seconds until undo has no effect any more; 0 for no limit.
	Seconds int  `json:"s,omitempty"`
	Bad     bool `json:"b,omitempty"`

	Action, Back string `json:"-"`
}

const toastCookie = "desk_toast"

// maxToast is the size that browsers accept for a cookie, with its name and attributes.
const maxToast = 3800

// say shows a toast on the next page.
func (v *visit) say(t toast) {
	text := pack(t)
	if len(text) > maxToast { // too large for undo
		t.Undo = ""
		text = pack(t)
	}
	c := v.setting(toastCookie, text)
	c.MaxAge = 60
	http.SetCookie(v.w, c)
}

// takeToast returns the toast for this page, if there is one.
func (v *visit) takeToast() *toast {
	if v.r.Method != http.MethodGet {
		return nil
	}
	c, err := v.r.Cookie(toastCookie)
	if err != nil {
		return nil
	}
	gone := v.setting(toastCookie, "")
	gone.MaxAge = -1
	http.SetCookie(v.w, gone)
	var t toast
	if !unpack(c.Value, &t) {
		return nil
	}
	if v.Desk != nil {
		t.Action, t.Back = v.at("/undo"), v.h.url(v.r.URL.RequestURI())
	}
	return &t
}

// pack encodes a value as a short text.
func pack(value any) string {
	var out bytes.Buffer
	w, _ := flate.NewWriter(&out, flate.BestCompression) // the level is right
	_ = json.NewEncoder(w).Encode(value)                 // a buffer takes everything
	_ = w.Close()
	return base64.RawURLEncoding.EncodeToString(out.Bytes())
}

// unpack decodes the output of pack. Browsers may send anything.
func unpack(text string, value any) bool {
	packed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return false
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), 64<<10))
	return err == nil && json.Unmarshal(plain, value) == nil
}

// inverse is how to undo an action: states to restore, or an answer to call back.
type inverse struct {
	States      []state    `json:"c,omitempty"`
	Interaction int64      `json:"i,omitempty"` // the answer
	In          int64      `json:"n,omitempty"` // its conversation
	List        string     `json:"l,omitempty"` // the list from which that was opened
	Article     *discarded `json:"a,omitempty"` // a draft that was discarded
	Draft       *dropped   `json:"d,omitempty"` // likewise, of a reply, a note or a forward
	// Nonce belongs to the form that posted it: after it is called back, an answer can be posted and called back again.
	Nonce string `json:"o,omitempty"`
	Macro bool   `json:"r,omitempty"` // it was posted with a macro
}

// state is the state of a conversation before a change, and the time of the change.
type state struct {
	ID      int64           `json:"i"`
	Status  helpdesk.Status `json:"s"`
	User    int64           `json:"u,omitempty"`
	Team    int64           `json:"t,omitempty"`
	Mailbox int64           `json:"m"`
	Snoozed int64           `json:"z,omitempty"` // Unix time; 0 if not snoozed
	// Priority is "" in states packed before there were priorities.
	Priority helpdesk.Priority `json:"p,omitempty"`
	Spam     bool              `json:"x,omitempty"`
	Changed  int64             `json:"c"` // UpdatedAt after the change: later changes by others are kept
}

func stateOf(c helpdesk.Conversation, changed int64) state {
	return state{
		ID: c.ID, Status: c.Status, User: c.UserID, Team: c.TeamID, Mailbox: c.MailboxID, Snoozed: unix(c.SnoozedUntil), Priority: c.Priority, Spam: c.IsSpam(), Changed: changed,
	}
}

// before records the states of conversations, to undo a change.
func before(old, changed []helpdesk.Conversation) inverse {
	at := map[int64]int64{}
	for _, c := range changed {
		at[c.ID] = c.UpdatedAt.UnixMicro()
	}
	var inv inverse
	for _, c := range old {
		inv.States = append(inv.States, stateOf(c, at[c.ID]))
	}
	return inv
}

// undo reverts the effect of a form, except where others have changed something since. Submitted twice, as by a browser that
// lost the answer, it does so once.
func (v *visit) undo() error {
	var inv inverse
	text := v.r.PostFormValue("undo")
	if !unpack(text, &inv) || len(inv.States) > helpdesk.MaxBulk {
		return v.missing()
	}
	if inv.Article != nil {
		return v.restoreDraft(*inv.Article)
	}
	if inv.Draft != nil {
		return v.restoreDropped(*inv.Draft)
	}
	back := v.back(v.at("/inbox/unassigned"))
	done, err := v.once("undo", text, text, func(ctx context.Context) (posted, error) {
		left, err := v.putBack(ctx, inv)
		return posted{Interaction: inv.Interaction, Left: left}, err
	})
	if inv.Interaction != 0 && fault.Is(err, fault.Conflict) {
		v.say(toast{Text: v.words.T("It is already being sent, so it is too late to undo."), Bad: true})
		return v.see(back)
	}
	if err != nil {
		return err
	}
	said := v.words.T("Undone")
	switch {
	case done.Left > 0:
		said = v.words.N(done.Left, "Undone, except for %s conversation that someone has changed since|Undone, except for %s conversations that someone has changed since")
	case inv.Macro:
		said = v.words.T("The reply is a draft again. Tags, fields and notes of the macro stay")
	case inv.Interaction != 0:
		said = v.words.T("The reply is a draft again")
	}
	if inv.Interaction != 0 {
		back = v.talk(inv.In, inv.List)
	}
	v.say(toast{Text: said})
	return v.see(back)
}

// putBack calls an answer back and restores conversations; left counts those that others have changed since.
func (v *visit) putBack(ctx context.Context, inv inverse) (left int, err error) {
	groups, left, err := v.unchanged(ctx, inv.States)
	if err != nil {
		return left, err
	}
	if inv.Interaction != 0 {
		if _, err := v.Interactions().CancelSending(ctx, inv.In, inv.Interaction); err != nil {
			return left, err
		}
	}
	for was, ids := range groups {
		in := helpdesk.BulkUpdate{Status: storage.Some(was.status), MailboxID: storage.Some(was.mailbox), SnoozedUntil: storage.Null[time.Time](), Spam: storage.Some(was.spam)}
		if until := time.Unix(was.snoozed, 0); until.After(v.now) {
			in.SnoozedUntil = storage.Some(until)
		}
		if was.priority != "" {
			in.Priority = storage.Some(was.priority)
		}
		if v.may(identity.ConversationsAssign) {
			in.UserID, in.TeamID = userOf(was.user), userOf(was.team)
		}
		if _, err := v.Conversations().UpdateAll(ctx, ids, in); err != nil {
			return left, err
		}
	}
	return left, nil
}

// place is the state of a conversation: its status, agent, team, mailbox and priority, and until when it is snoozed.
type place struct {
	status                 helpdesk.Status
	user, mailbox, snoozed int64
	team                   int64
	priority               helpdesk.Priority
	spam                   bool
}

// unix returns a time in seconds since 1970, 0 for none.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// unchanged returns the conversations to restore, grouped by state; left counts those that others have changed since.
func (v *visit) unchanged(ctx context.Context, states []state) (groups map[place][]int64, left int, err error) {
	ids := make([]int64, len(states))
	for i, s := range states {
		ids[i] = s.ID
	}
	found, err := v.Conversations().ByID(ctx, ids)
	changed := map[int64]int64{}
	for _, c := range found {
		changed[c.ID] = c.UpdatedAt.UnixMicro()
	}
	groups = map[place][]int64{}
	for _, s := range states {
		if changed[s.ID] != s.Changed {
			left++
			continue
		}
		was := place{status: s.Status, user: s.User, team: s.Team, mailbox: s.Mailbox, snoozed: s.Snoozed, priority: s.Priority, spam: s.Spam}
		groups[was] = append(groups[was], s.ID)
	}
	return groups, left, err
}

// userOf assigns to a user or a team, or to none.
func userOf(id int64) storage.Opt[int64] {
	if id == 0 {
		return storage.Null[int64]()
	}
	return storage.Some(id)
}
