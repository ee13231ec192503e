package desk

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// composer is the form for replies, notes and forwards.
type composer struct {
	sheet
	Others                         []sheet // of the other kinds
	Action                         string
	Everybody                      string // the others on the last mail, whom an answer to all copies; "" for none
	ToAll                          bool   // whether the reply copies all of them
	RecipientsURL                  string // where recipients are looked for; "" if the member may not
	Seen                           string // what the member has seen, see formatSeen
	In                             string
	Next, List                     string
	After                          identity.AfterSending // where the member goes after sending
	Error                          string
	Errors                         map[string]string
	Crossed                        *crossed
	CanReply, CanClose, CanNote    bool
	DraftURL, FilesURL, DiscardURL string
	MaxUpload                      int64
	New                            bool // for a new conversation
	Replies                        []savedReply
	InsertURL, RepliesURL, SaveURL string        // "" if there are none here
	ArticleURL, MembersURL         string        // likewise
	Ending                         template.HTML // the signature below the answer
	Forwarding                     *forwarding   // nil if there is nothing to forward
	Laters                         []nap         // if it can be sent later
	Zone, LaterAt                  string        // of these times, and the text typed
	Macro                          *macroView    // nil if none goes with it
}

// sheet is what the composer holds of one kind. Each kind has a draft of its own, so that a note never becomes an answer.
type sheet struct {
	Kind        string // reply, note or forward
	Name        string // for the link to its draft
	Draft       int64  // the member's draft; 0 for none
	Saved       string // when it was saved
	Body        string // text of the draft, for the textarea
	HTML        template.HTML
	To, Cc, Bcc string
	Files       []fileView
	Nonce       string
}

// crossed is a message that arrived while the member was writing.
type crossed struct {
	Person  person
	Ago     string
	Preview string
}

// fillComposer prepares the form, with the member's draft if there is one.
func (v *visit) fillComposer(c helpdesk.Conversation, view *conversationView) error {
	f := v.newComposer(c.ID)
	if !f.CanReply && !f.CanNote {
		return nil
	}
	f.List, f.After = view.List, v.afterSending()
	f.In, f.Next, f.Seen = view.In, cmp.Or(view.Next, view.List), formatSeen(view.Seen)
	f.CanClose, f.MembersURL = view.CanUpdate, v.at("/c/"+itoa(c.ID))+"/mentionable"
	answer, err := v.answerRecipients(c)
	if err != nil {
		return err
	}
	f.Everybody = strings.Join(answer.Others, ", ")
	if f.Replies, err = v.savedReplies(); err != nil {
		return err
	}
	ending, err := v.Signatures().In(v.ctx(), c.MailboxID)
	if err != nil {
		return err
	}
	f.Ending = showEnding(ending)
	view.Composer = f
	if err := v.fillSheets(f, answer, view.all); err != nil {
		return err
	}
	if f.CanReply {
		if err := v.fillForwarding(f, c, view.all, v.ownDraft(view.all, "forward").Forwarding()); err != nil {
			return err
		}
	}
	f.ToAll = f.copiesAll()
	f.Macro, err = v.macroWith(number(v.r.URL.Query().Get("macro")))
	return err
}

// fillSheets prepares a sheet for each kind with the member's newest draft of it. The composer shows the kind that the
// address asks for, or in which the member wrote last.
func (v *visit) fillSheets(f *composer, answer helpdesk.AnswerRecipients, all []helpdesk.Interaction) error {
	var kinds []string
	if f.CanReply {
		kinds = append(kinds, "reply")
	}
	if f.CanNote {
		kinds = append(kinds, "note")
	}
	if f.CanReply {
		kinds = append(kinds, "forward")
	}
	drafts := map[string]helpdesk.Interaction{}
	shown := kinds[0]
	for _, kind := range kinds {
		if i := v.ownDraft(all, kind); i.ID != 0 {
			drafts[kind] = i
			if !i.UpdatedAt.Before(drafts[shown].UpdatedAt) {
				shown = kind
			}
		}
	}
	if asked := v.r.URL.Query().Get("write"); slices.Contains(kinds, asked) {
		shown = asked
	}
	names := map[string]string{"reply": v.words.T("Reply draft"), "note": v.words.T("Note draft"), "forward": v.words.T("Forward draft")}
	for _, kind := range kinds {
		s := sheet{Kind: kind, Name: names[kind], Nonce: rand.Text()}
		if kind == "reply" {
			s.To, s.Cc = strings.Join(answer.To, ", "), f.Everybody
		}
		if draft, found := drafts[kind]; found {
			if err := v.fillDraft(&s, draft); err != nil {
				return err
			}
		}
		if kind == shown {
			f.sheet = s
		} else {
			f.Others = append(f.Others, s)
		}
	}
	return nil
}

// ownDraft returns the member's last draft of a kind, the zero value if there is none.
func (v *visit) ownDraft(all []helpdesk.Interaction, kind string) helpdesk.Interaction {
	for _, i := range slices.Backward(all) {
		if i.Status == helpdesk.StatusDraft && i.UserID == v.UserID() && writtenAs(i) == kind {
			return i
		}
	}
	return helpdesk.Interaction{}
}

// writtenAs returns the kind of a member's interaction, as the composer names it.
func writtenAs(i helpdesk.Interaction) string {
	switch {
	case i.Type == helpdesk.TypeNote:
		return "note"
	case i.IsForward:
		return "forward"
	}
	return "reply"
}

func (v *visit) newComposer(id int64) *composer {
	at := v.at("/c/" + itoa(id))
	f := &composer{
		Action: at + "/send", DraftURL: at + "/draft", FilesURL: at + "/files", DiscardURL: at + "/discard", InsertURL: at + "/insert", RepliesURL: at + "/replies/", SaveURL: at + "/save-reply",
		RecipientsURL: v.recipientsURL(at), CanReply: v.may(identity.InteractionsCreate), CanNote: v.may(identity.InteractionsCreate) || v.may(identity.NotesCreate), MaxUpload: v.h.cfg.MaxUpload,
		Errors: map[string]string{}, Laters: v.laters(), Zone: v.zone.String(),
	}
	if v.seesHelp() {
		f.ArticleURL = at + "/article"
	}
	if !f.CanReply { // files go with the note
		f.FilesURL = ""
	}
	return f
}

// fillDraft puts a stored draft onto a sheet.
func (v *visit) fillDraft(f *sheet, i helpdesk.Interaction) error {
	view := v.bodyView(false)
	view.Fold = false
	shown, err := v.Interactions().Show(v.ctx(), []helpdesk.Interaction{i}, view)
	if err != nil {
		return err
	}
	files, err := v.filesOf([]int64{i.ID})
	if err != nil {
		return err
	}
	f.Draft, f.Saved, f.Body, f.HTML = i.ID, v.words.T("Draft saved %s", v.when(i.UpdatedAt)), mailhtml.Text(i.Body), safeHTML(plainStyle(shown[0].HTML))
	if len(i.To) > 0 {
		f.To = strings.Join(i.To, ", ")
	}
	f.Cc, f.Bcc = strings.Join(i.Cc, ", "), strings.Join(i.Bcc, ", ")
	for _, file := range files[i.ID] {
		if !file.IsInline {
			f.Files = append(f.Files, v.showFile(file))
		}
	}
	return nil
}

// written is the submitted form.
type written struct {
	conversation int64
	kind         string
	draft        int64
	body         string // HTML
	to, cc, bcc  []string
	seen         helpdesk.Seen
	anyway       bool // in spite of a newer message
	nonce        string
	files        []*multipart.FileHeader
	later        bool // send at a chosen time
	sendAt       time.Time
	forwarding   helpdesk.Forwarding // of a forward
	macro        int64               // saved reply whose actions go with it; 0: none
}

// maxForm is the maximum size of the form's fields: a body and its addresses.
const maxForm = helpdesk.MaxBody + 256<<10

// written reads the form.
func (v *visit) written() (written, error) {
	files, err := v.formFiles()
	if err != nil {
		return written{}, err
	}
	w := written{
		files: files, conversation: v.number("id"), kind: v.r.PostFormValue("kind"), draft: v.field("draft"), seen: parseSeen(v.r.PostFormValue("seen")),
		to: split(v.r.PostFormValue("to")), cc: split(v.r.PostFormValue("cc")), bcc: split(v.r.PostFormValue("bcc")),
		anyway: v.r.PostFormValue("anyway") != "", nonce: v.r.PostFormValue("nonce"), macro: v.field("macro"),
	}
	v.turnToAll(&w)
	if w.kind == "forward" {
		w.forwarding = v.forwarding()
	}
	w.later, w.sendAt = v.sendLater(v.r.PostFormValue("then"))
	w.body = v.r.PostFormValue("body")
	if v.r.PostFormValue("rich") != "" {
		w.body = v.stored(v.r.PostFormValue("html"))
	} else {
		w.body = mailhtml.FromText(w.body)
	}
	return w, nil
}

// formFiles reads a form and returns its files.
func (v *visit) formFiles() ([]*multipart.FileHeader, error) {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxForm+4*v.h.cfg.MaxUpload)
	if err := v.r.ParseMultipartForm(1 << 20); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, fault.New(fault.TooLarge, v.words.T("The files are larger than %s MB in total.", 4*v.h.cfg.MaxUpload>>20))
		}
		return nil, fault.New(fault.Malformed, "The form could not be read.")
	}
	if v.r.MultipartForm == nil {
		return nil, nil
	}
	return slices.DeleteFunc(v.r.MultipartForm.File["file"], func(f *multipart.FileHeader) bool { return f.Filename == "" }), nil
}

// split splits a list of addresses at commas. Quoted names may contain commas.
func split(list string) []string {
	var out []string
	quoted, begin := false, 0
	for i, r := range list + "," {
		switch {
		case r == '"':
			quoted = !quoted
		case (r == ',' || r == ';' || r == '\n') && !quoted || i == len(list):
			if one := strings.TrimSpace(list[begin:i]); one != "" {
				out = append(out, one)
			}
			begin = min(i+1, len(list))
		}
	}
	return out
}

// stored replaces addresses of images in the written text by the stored references.
func (v *visit) stored(body string) string {
	prefix := v.at("/c/")
	return mailhtml.RewriteImages(body, func(src string) string {
		u, err := url.Parse(strings.TrimSpace(src))
		if err != nil {
			return src
		}
		if token, ok := strings.CutPrefix(u.Path, v.at("/image/")); ok {
			if address, ok := helpdesk.RemoteAddress(token); ok {
				return address
			}
			return src
		}
		rest, ok := strings.CutPrefix(u.Path, prefix)
		part := strings.Split(rest, "/") // conversation, i, interaction, files, file
		if !ok || len(part) != 5 || part[1] != "i" || part[3] != "files" {
			return src
		}
		return helpdesk.AttachmentSource(number(part[2]), number(part[4]), u.Query().Get("key"))
	})
}

// send sends a reply or adds a note. Submitting the form twice does so once.
func (v *visit) send() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	then := v.r.PostFormValue("then")
	made, err := v.once("send", w.nonce, w.content(), func(ctx context.Context) (posted, error) { return v.post(ctx, w, then) })
	if err != nil {
		return v.notSent(w, err)
	}
	v.sent(w, made)
	to, err := v.leadOn(w.conversation, made.Interaction, then == "close")
	if err != nil {
		return err
	}
	return v.see(to)
}

// posted is the result of sending.
type posted struct {
	Interaction int64
	Changed     int64  // UpdatedAt of the conversation, in microseconds
	Was         *state `json:",omitempty"` // the previous state of the conversation, if sending has changed its status or assigned it
	Left        int    // conversations that undo has left as others changed them
}

// takes reports whether sending the form makes the conversation the member's, as their preferences say.
func (v *visit) takes(c helpdesk.Conversation, w written) bool {
	return w.kind == "reply" && c.UserID == 0 && !v.user.Preferences.LeaveUnassigned && v.may(identity.ConversationsAssign)
}

// takesAfter is takes after the form was posted: a macro may have assigned the conversation.
func (v *visit) takesAfter(ctx context.Context, old helpdesk.Conversation, w written) (bool, error) {
	if !v.takes(old, w) || w.macro == 0 {
		return v.takes(old, w), nil
	}
	c, err := v.Conversations().Get(ctx, w.conversation)
	return c.UserID == old.UserID && c.TeamID == old.TeamID, err
}

// post posts the form as its kind requires, and then assigns or closes the conversation if requested, all in one transaction.
func (v *visit) post(ctx context.Context, w written, then string) (posted, error) {
	old, err := v.Conversations().Get(ctx, w.conversation)
	if err != nil {
		return posted{}, err
	}
	i, err := v.contribute(ctx, w)
	if err != nil {
		return posted{}, err
	}
	status := map[string]helpdesk.Status{"close": helpdesk.StatusClosed, "pending": helpdesk.StatusPending}[then]
	var update helpdesk.BulkUpdate
	if status != "" {
		update.Status = storage.Some(status)
	}
	takes, err := v.takesAfter(ctx, old, w)
	if err != nil {
		return posted{}, err
	}
	if takes {
		update.UserID = storage.Some(v.UserID())
	}
	if changes := status != "" || update.UserID.IsSet(); changes {
		if _, err = v.Conversations().UpdateAll(ctx, []int64{w.conversation}, update); err != nil {
			return posted{}, err
		}
	}
	c, err := v.Conversations().Get(ctx, w.conversation)
	made := posted{Interaction: i.ID, Changed: c.UpdatedAt.UnixMicro()}
	if was := stateOf(old, made.Changed); was != stateOf(c, made.Changed) {
		made.Was = &was
	}
	return made, err
}

func (v *visit) contribute(ctx context.Context, w written) (helpdesk.Interaction, error) {
	if w.kind == "note" && w.draft == 0 {
		return v.addNote(ctx, w)
	}
	note := w.kind == "note"
	if w.later && !note && w.sendAt.IsZero() {
		return helpdesk.Interaction{}, fault.Field("send_at", v.words.T("Choose a time"))
	}
	draft, err := v.storeDraft(ctx, w)
	if err != nil {
		return draft, err
	}
	if err := v.attach(ctx, w.conversation, draft.ID, w.files); err != nil {
		return draft, err
	}
	update := helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted), MacroID: w.macro}
	if w.later && !note {
		update.SendAt = storage.Some(w.sendAt)
	}
	if !w.anyway && !note {
		update.Seen = storage.Some(w.seen)
	}
	return v.Interactions().Update(ctx, w.conversation, draft.ID, update)
}

// addNote adds the written text as a note.
func (v *visit) addNote(ctx context.Context, w written) (helpdesk.Interaction, error) {
	note, err := v.Interactions().Create(ctx, w.conversation, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: w.body, MacroID: w.macro})
	if err != nil {
		return note, err
	}
	return note, v.attach(ctx, w.conversation, note.ID, w.files)
}

// convert replaces a draft of an answer by one of a note, or the reverse, with its files.
func (v *visit) convert(ctx context.Context, w written) (helpdesk.Interaction, error) {
	made, err := v.Interactions().Create(ctx, w.conversation, w.input())
	if err != nil {
		return made, err
	}
	body, err := v.takeFiles(ctx, w, made.ID)
	if err != nil {
		return made, err
	}
	if body != w.body {
		if made, err = v.Interactions().Update(ctx, w.conversation, made.ID, helpdesk.InteractionUpdate{Body: storage.Some(body)}); err != nil {
			return made, err
		}
	}
	return made, v.Interactions().Delete(ctx, w.conversation, w.draft)
}

// input is the form as a new draft.
func (w written) input() helpdesk.InteractionInput {
	if w.kind == "note" {
		return helpdesk.InteractionInput{Type: helpdesk.TypeNote, Status: helpdesk.StatusDraft, Body: w.body}
	}
	return helpdesk.InteractionInput{
		Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: w.body, To: w.to, Cc: w.cc, Bcc: w.bcc, IsForward: w.kind == "forward", Forwarding: w.forwarding,
	}
}

// takeFiles copies the files of the draft to another interaction, and returns the body with the draft's images rewritten.
func (v *visit) takeFiles(ctx context.Context, w written, to int64) (string, error) {
	taken, err := v.Attachments().Copy(ctx, w.conversation, w.draft, to)
	if err != nil {
		return "", err
	}
	body := w.body
	for original, a := range taken {
		old := strings.TrimSuffix(helpdesk.AttachmentSource(w.draft, original, ""), "@helpwright")
		body = mailhtml.RewriteImages(body, func(src string) string {
			if after, ok := strings.CutPrefix(src, old); ok && strings.IndexAny(after, "@.") == 0 {
				return helpdesk.AttachmentSource(to, a.ID, "")
			}
			return src
		})
	}
	return body, nil
}

// storeDraft stores the form as the member's draft.
func (v *visit) storeDraft(ctx context.Context, w written) (helpdesk.Interaction, error) {
	if w.draft == 0 {
		return v.Interactions().Create(ctx, w.conversation, w.input())
	}
	draft, err := v.unsent(ctx, w)
	if err != nil {
		return helpdesk.Interaction{}, err
	}
	in := w.input()
	if in.Type != draft.Type {
		return v.convert(ctx, w)
	}
	update := helpdesk.InteractionUpdate{Body: storage.Some(in.Body)}
	if in.Type == helpdesk.TypeUser {
		update.To, update.Cc, update.Bcc, update.IsForward = storage.Some(in.To), storage.Some(in.Cc), storage.Some(in.Bcc), storage.Some(in.IsForward)
		update.Forwarding = storage.Some(in.Forwarding)
	}
	return v.Interactions().Update(ctx, w.conversation, w.draft, update)
}

// unsent returns the form's draft if it is still a draft: a window that does not know that the reply was sent must not
// change a mail that is about to be sent.
func (v *visit) unsent(ctx context.Context, w written) (helpdesk.Interaction, error) {
	i, err := v.Interactions().Get(ctx, w.conversation, w.draft)
	switch {
	case err != nil || i.Status == helpdesk.StatusDraft:
	case i.Type == helpdesk.TypeNote:
		err = fault.New(fault.Conflict, v.words.T("This note has already been added."))
	default:
		err = fault.New(fault.Conflict, v.words.T("This reply has already been sent."))
	}
	return i, err
}

func (v *visit) attach(ctx context.Context, conversation, interaction int64, files []*multipart.FileHeader) error {
	for _, f := range files {
		if _, err := v.attachOne(ctx, conversation, interaction, f, false); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) attachOne(ctx context.Context, conversation, interaction int64, f *multipart.FileHeader, inline bool) (helpdesk.Attachment, error) {
	return opened(f, func(up helpdesk.Upload) (helpdesk.Attachment, error) {
		up.IsInline = inline
		return v.Attachments().Create(ctx, conversation, interaction, up)
	})
}

// opened opens a file of a form for storing it.
func opened[T any](f *multipart.FileHeader, store func(helpdesk.Upload) (T, error)) (T, error) {
	content, err := f.Open()
	if err != nil {
		var none T
		return none, fault.Wrap(fault.Unavailable, "reading an upload", err)
	}
	defer func() { _ = content.Close() }() // only read
	return store(helpdesk.Upload{Filename: f.Filename, Content: content})
}

// once runs fn in one transaction, unless the form with this nonce was submitted before: then it returns the earlier result.
func (v *visit) once(what, nonce, content string, fn func(ctx context.Context) (posted, error)) (posted, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "desk %s\x00%d\x00%d\x00%s", what, v.UserID(), v.AccountID(), nonce))
	request := sha256.Sum256([]byte(content))
	note := storage.Note{Key: key[:], Request: request[:], Holder: rand.Text(), Until: v.now.Add(24 * time.Hour)}
	answer, err := storage.Once(v.ctx(), v.h.cfg.Once, note, v.now, func(ctx context.Context) ([]byte, error) {
		made, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(made)
	})
	var made posted
	if err == nil {
		return made, json.Unmarshal(answer, &made)
	}
	if there, missing := v.h.cfg.Once.Noted(v.ctx(), note.Key, v.now); missing == nil && !bytes.Equal(there.Request, note.Request) {
		err = fault.New(fault.Conflict, v.words.T("An earlier version of this message has already been sent. Send this one as well if you want both to go out."))
	}
	return made, err
}

// content is the complete content of the form, to distinguish a repeated submission from a changed one.
func (w written) content() string {
	said := []any{w.kind, w.body, w.to, w.cc, w.bcc, w.later, w.sendAt.Unix(), fmt.Sprint(w.forwarding), w.macro}
	for _, f := range w.files {
		said = append(said, f.Filename, f.Size)
	}
	return fmt.Sprintf("%q", said)
}

// sent responds to a sent form.
func (v *visit) sent(w written, made posted) {
	if w.kind == "note" {
		v.say(toast{Text: v.words.T("Note added")})
		return
	}
	inv := inverse{Macro: w.macro != 0, Interaction: made.Interaction, In: w.conversation, List: v.r.PostFormValue("in"), Nonce: w.nonce}
	if made.Was != nil {
		inv.States = []state{*made.Was}
	}
	if w.later {
		v.say(toast{Text: v.words.T("Reply will be sent %s", v.moment(w.sendAt)), Undo: pack(inv)})
		return
	}
	seconds := int(v.account.SendHold.Seconds())
	if seconds == 0 {
		v.say(toast{Text: v.words.T("Reply sent")})
		return
	}
	v.say(toast{Text: v.words.T("Sending reply in %s s", seconds), Undo: pack(inv), Seconds: seconds})
}

// crossedCode is the code of the fault for a newer message.
const crossedCode = "crossed"

// notSent shows the conversation again with the form, and the reason why it was not sent.
func (v *visit) notSent(w written, err error) error {
	return v.writtenAgain(w, err, v.words.T("Your reply has not been sent."))
}

// notKept is notSent for a form that should be kept as a draft.
func (v *visit) notKept(w written, err error) error {
	return v.writtenAgain(w, err, v.words.T("That did not work"))
}

func (v *visit) writtenAgain(w written, err error, text string) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || !slices.Contains([]fault.Kind{fault.Invalid, fault.TooLarge, fault.Conflict, fault.NotFound}, f.Kind) && f.Code != helpdesk.CodeMacro {
		return err
	}
	c, err := v.Conversations().Get(v.ctx(), w.conversation)
	if err != nil {
		return err
	}
	if _, gone := v.unsent(v.ctx(), w); w.draft != 0 && gone != nil {
		w.draft = 0 // the draft was deleted or sent elsewhere: the text becomes a new one
	}
	query := url.Values{"in": {v.r.PostFormValue("in")}, "write": {w.kind}, "macro": {itoa(w.macro)}}
	v.r.URL.Path, v.r.URL.RawQuery = "/a/"+itoa(v.AccountID())+"/c/"+itoa(c.ID), query.Encode()
	view, err := v.viewOf(c)
	if err != nil {
		return err
	}
	form := view.Composer
	form.Kind, form.Body, form.HTML, form.Nonce, form.Draft = w.kind, mailhtml.Text(w.body), safeHTML(plainStyle(v.shownAgain(c, w.body))), v.nonceAgain(w, f), w.draft
	form.LaterAt = v.r.PostFormValue("later_at")
	form.To, form.Cc, form.Bcc = strings.Join(w.to, ", "), strings.Join(w.cc, ", "), strings.Join(w.bcc, ", ")
	form.ToAll = form.copiesAll()
	if w.kind == "forward" && form.Forwarding != nil {
		if err := v.fillForwarding(form, c, view.all, w.forwarding); err != nil {
			return err
		}
	}
	if f.Code == crossedCode {
		form.Crossed, form.Seen = v.crossing(view, f.ID), formatSeen(w.seen)
		return v.showConversation(view, http.StatusConflict)
	}
	form.Error = text
	if f.Code == helpdesk.CodeMacro {
		form.Error += " " + v.macroProblem(f)
		return v.showConversation(view, http.StatusUnprocessableEntity)
	}
	for field, problems := range f.Fields {
		name, _, _ := strings.Cut(field, "[")
		form.Errors[name] = v.fieldProblem(field, strings.Join(problems, " "))
	}
	if len(f.Fields) == 0 {
		form.Error += " " + v.reason(f, 0)
	}
	return v.showConversation(view, http.StatusUnprocessableEntity)
}

// nonceAgain returns the nonce of a form that is shown again: a new one if something was sent under the old one.
func (v *visit) nonceAgain(w written, f *fault.Error) string {
	if f.Kind == fault.Conflict && f.Code != crossedCode {
		return rand.Text()
	}
	return w.nonce
}

// shownAgain returns the written text with the addresses of its images.
func (v *visit) shownAgain(c helpdesk.Conversation, body string) string {
	shown, err := v.Interactions().Show(v.ctx(), []helpdesk.Interaction{{ConversationID: c.ID, Type: helpdesk.TypeUser, Body: mailhtml.FromInput(body)}}, v.bodyView(false))
	if err != nil {
		return mailhtml.FromInput(body)
	}
	return shown[0].HTML
}

// crossing shows the message that the answer has crossed.
func (v *visit) crossing(view *conversationView, id int64) *crossed {
	for _, e := range view.Entries {
		if e.ID == id {
			return &crossed{Person: e.Person, Ago: v.words.ago(v.now.Sub(e.At)), Preview: e.Preview}
		}
	}
	return &crossed{}
}

// formatSeen writes what a member has seen into a form field, as the id and the time in microseconds.
func formatSeen(s helpdesk.Seen) string {
	if s.ID == 0 {
		return "0"
	}
	return fmt.Sprintf("%d-%d", s.ID, s.At.UnixMicro())
}

// parseSeen reads what formatSeen wrote.
func parseSeen(text string) helpdesk.Seen {
	id, at, found := strings.Cut(text, "-")
	seen := helpdesk.Seen{ID: number(id)}
	if micros := number(at); found && micros > 0 {
		seen.At = time.UnixMicro(micros)
	}
	return seen
}

// saveDraft stores the text written so far. The script calls it while the member writes, and gets the id of the draft.
func (v *visit) saveDraft() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	module := v.r.Header.Get("Accept") == "application/json"
	draft, err := v.keepAll(w)
	if err != nil && !module {
		return v.notKept(w, err)
	}
	if err != nil {
		return err
	}
	if module {
		return v.json(map[string]any{"draft": draft.ID, "saved": v.words.T("Draft saved %s", v.when(draft.UpdatedAt))})
	}
	v.say(toast{Text: v.words.T("Draft saved")})
	return v.goOnWriting(w)
}

// keepAll stores the form as the member's draft, with its files, whichever button was pressed: without scripts the form is
// the only copy.
func (v *visit) keepAll(w written) (helpdesk.Interaction, error) {
	draft, err := v.storeDraft(v.ctx(), w)
	if fault.Is(err, fault.NotFound) && w.draft != 0 { // discarded elsewhere
		w.draft = 0
		draft, err = v.storeDraft(v.ctx(), w)
	}
	if err != nil {
		return draft, err
	}
	return draft, v.attach(v.ctx(), w.conversation, draft.ID, w.files)
}

// goOnWriting redirects back to the composer with its content.
func (v *visit) goOnWriting(w written) error {
	query := url.Values{}
	if in := v.r.PostFormValue("in"); in != "" {
		query.Set("in", in)
	}
	if w.kind == "note" || w.kind == "forward" {
		query.Set("write", w.kind)
	}
	if w.macro != 0 && v.r.PostFormValue("do") != "drop macro" {
		query.Set("macro", itoa(w.macro))
	}
	at := v.at("/c/" + itoa(w.conversation))
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	return v.see(at + "#write")
}

func (v *visit) json(value any) error {
	v.w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(v.w).Encode(value)
}

// discard deletes the member's draft, which can be undone for a while.
func (v *visit) discard() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	undo, err := v.drop(w)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return v.notKept(w, err)
	}
	v.say(toast{Text: v.words.T("Draft discarded"), Undo: undo})
	return v.see(v.talk(w.conversation, v.r.PostFormValue("in")))
}

// addFile attaches a file or an image in the text to the member's draft at once, for the script.
func (v *visit) addFile() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	if len(w.files) != 1 {
		return fault.Field("file", "is required")
	}
	if w.draft, err = v.draftOf(w); err != nil {
		return err
	}
	inline := v.r.PostFormValue("inline") != ""
	a, err := v.attachOne(v.ctx(), w.conversation, w.draft, w.files[0], inline)
	if err != nil {
		return err
	}
	return v.filesAdded(w.draft, a)
}

// draftOf returns the member's draft, and creates it if there is none.
func (v *visit) draftOf(w written) (int64, error) {
	if w.draft != 0 {
		draft, err := v.unsent(v.ctx(), w)
		if err == nil && draft.Type == w.input().Type {
			return w.draft, nil
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return w.draft, err
		}
		if err != nil {
			w.draft = 0 // discarded elsewhere
		}
	}
	draft, err := v.storeDraft(v.ctx(), w)
	return draft.ID, err
}

// filesAdded sends the script the current attachments of the draft.
func (v *visit) filesAdded(draft int64, files ...helpdesk.Attachment) error {
	var out strings.Builder
	for _, a := range files {
		if err := v.draw(&out, "file", v.showFile(a)); err != nil {
			return err
		}
	}
	url := ""
	if len(files) > 0 {
		url = v.showFile(files[0]).URL
	}
	return v.json(map[string]any{"draft": draft, "url": url, "html": out.String()})
}

// removeFile removes a file from the draft. Its button belongs to the composer's form, so the written text is submitted and
// saved, too.
func (v *visit) removeFile() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	err = v.Attachments().Delete(v.ctx(), v.number("id"), v.number("i"), v.number("file"))
	if err != nil && (w.draft == 0 || !fault.Is(err, fault.NotFound)) { // otherwise it is removed already
		return err
	}
	if w.draft != 0 {
		if _, err := v.keepAll(w); err != nil {
			return v.notKept(w, err)
		}
	}
	return v.goOnWriting(w)
}

type newView struct {
	Form     *composer
	Subject  string
	Mailbox  string
	Boxes    []Link
	Assignee string // me, nobody, user-1 or team-1
	Members  []Link // except the member; without choices, the conversation must stay unassigned
	Teams    []Link
	Choices  bool
}

// newPage shows the form of a new conversation.
func (v *visit) newPage() error {
	return v.showNew(newView{Form: &composer{sheet: sheet{To: v.r.URL.Query().Get("to")}, Errors: map[string]string{}}}, 0)
}

func (v *visit) showNew(view newView, status int) error {
	f := view.Form
	f.New, f.Action, f.CanReply, f.MaxUpload, f.Kind = true, v.newFor(v.r.URL.Query().Get("to")), true, v.h.cfg.MaxUpload, "reply"
	f.RecipientsURL = v.recipientsURL(v.at(""))
	f.Nonce = cmp.Or(f.Nonce, rand.Text())
	f.Laters, f.Zone, f.LaterAt = v.laters(), v.zone.String(), v.r.PostFormValue("later_at")
	boxes, err := v.mailboxes()
	if err != nil {
		return err
	}
	for _, m := range boxes {
		view.Boxes = append(view.Boxes, Link{Text: m.Name, URL: itoa(m.ID)})
	}
	if err := v.assignees(&view); err != nil {
		return err
	}
	return v.show(screen{template: "new", title: v.words.T("New conversation"), data: view, status: status})
}

// newFor returns the address of the form for a new conversation with somebody; "" for anybody.
func (v *visit) newFor(to string) string {
	if to == "" {
		return v.at("/new")
	}
	return v.at("/new") + "?to=" + url.QueryEscape(to)
}

// assignees lists the possible assignees of a new conversation.
func (v *visit) assignees(view *newView) error {
	if view.Choices = v.may(identity.ConversationsAssign); !view.Choices {
		return nil
	}
	view.Assignee = cmp.Or(view.Assignee, "me")
	members, err := v.team()
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.ID != v.UserID() {
			view.Members = append(view.Members, Link{Text: m.Name, URL: "user-" + itoa(m.ID)})
		}
	}
	view.Teams, err = v.teamLinks()
	for i := range view.Teams {
		view.Teams[i].URL = "team-" + view.Teams[i].URL
	}
	return err
}

// assigned sets the chosen assignee of a new conversation; the default is the member.
func (v *visit) assigned(in *helpdesk.ConversationInput, choice string) {
	if !v.may(identity.ConversationsAssign) {
		return
	}
	kind, id, _ := strings.Cut(choice, "-")
	switch kind {
	case "nobody":
	case "user":
		in.UserID = storage.Some(number(id))
	case "team":
		in.TeamID = storage.Some(number(id))
	default:
		in.UserID = storage.Some(v.UserID())
	}
}

// create creates a conversation and sends its first mail.
func (v *visit) create() error {
	w, err := v.written()
	if err != nil {
		return err
	}
	view := newView{Subject: v.r.PostFormValue("subject"), Mailbox: v.r.PostFormValue("mailbox"), Assignee: v.r.PostFormValue("assignee")}
	made, err := v.once("new", w.nonce, w.content()+view.Subject, func(ctx context.Context) (posted, error) { return v.postNew(ctx, w, view) })
	f, ok := errors.AsType[*fault.Error](err)
	if ok && (f.Kind == fault.Invalid || f.Kind == fault.Conflict) {
		view.Form = &composer{Error: v.words.T("This could not be sent."), Errors: map[string]string{}, sheet: sheet{
			To: strings.Join(w.to, ", "), Cc: strings.Join(w.cc, ", "), Bcc: strings.Join(w.bcc, ", "), Nonce: w.nonce,
			Body: mailhtml.Text(w.body), HTML: safeHTML(mailhtml.FromInput(w.body)),
		}}
		if f.Kind == fault.Conflict {
			view.Form.Nonce, view.Form.Error = rand.Text(), f.Message
		}
		for field, problems := range f.Fields {
			name, _, _ := strings.Cut(strings.TrimPrefix(field, "interactions[0]["), "[")
			view.Form.Errors[strings.TrimSuffix(name, "]")] = v.fieldProblem(field, strings.Join(problems, " "))
		}
		return v.showNew(view, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	c, err := v.Conversations().Get(v.ctx(), made.Changed)
	if err != nil {
		return err
	}
	v.sent(written{conversation: c.ID, kind: "reply", nonce: w.nonce, later: w.later, sendAt: w.sendAt}, made)
	return v.see(v.at("/c/" + itoa(c.ID)))
}

// postNew creates the conversation and its draft with the files, and posts the draft.
func (v *visit) postNew(ctx context.Context, w written, view newView) (posted, error) {
	first := ""
	if len(w.to) > 0 {
		first = w.to[0]
	}
	in := helpdesk.ConversationInput{Channel: "email", To: first, MailboxID: number(view.Mailbox), Subject: view.Subject}
	v.assigned(&in, view.Assignee)
	c, err := v.Conversations().Create(ctx, in)
	if err != nil {
		return posted{}, err
	}
	w.conversation, w.draft, w.anyway = c.ID, 0, true
	i, err := v.contribute(ctx, w)
	return posted{Interaction: i.ID, Changed: c.ID}, err
}

// file serves an attachment.
func (v *visit) file() error {
	a, err := v.Attachments().Get(v.ctx(), v.number("id"), v.number("i"), v.number("file"))
	if err != nil {
		return err
	}
	if as := file.As(a.ContentType, a.Filename); file.Redirects(v.r, as) {
		link, err := v.Attachments().Link(v.ctx(), a, as)
		if err != nil {
			return err
		}
		if link != "" {
			file.Redirect(v.w, link)
			return nil
		}
	}
	return v.serveFile(a.ContentType, a.Filename, fmt.Sprintf("attachment-%d", a.ID), a.CreatedAt, a.Size, func(offset int64) (io.ReadCloser, error) {
		return v.Attachments().Open(v.ctx(), a, offset, -1)
	})
}
