package desk

import (
	"html/template"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type repliesView struct {
	Rows      []replyRow
	Next, New string
	CanCreate bool
}

type replyRow struct {
	Name, Brief, URL string
	Acts             string // what it does besides
	Shared           bool
	Files            int
}

func (v *visit) repliesPage() error {
	page, err := v.SavedReplies().List(v.ctx(), "", v.pageOf(100))
	if err != nil {
		return err
	}
	view := repliesView{Next: v.older("/settings/replies", page.Next), New: v.at("/settings/replies/new"), CanCreate: v.may(identity.InteractionsCreate)}
	files, err := v.countReplyFiles(page.Items)
	if err != nil {
		return err
	}
	acts, err := v.macroTexts(page.Items...)
	if err != nil {
		return err
	}
	for _, r := range page.Items {
		view.Rows = append(view.Rows, replyRow{Acts: v.words.list(acts[r.ID]), Files: files[r.ID], Name: r.Name, Brief: mailhtml.Preview(r.Body, 120, false), URL: v.at("/settings/replies/" + itoa(r.ID)), Shared: r.UserID == 0})
	}
	return v.settingsPage("replies", v.words.T("Saved replies"), view, 0)
}

// replyView is the form of a saved reply, with the same editor as for answers.
type replyView struct {
	Title, Name, Action, List string
	Body                      string // as text
	HTML                      template.HTML
	Shared                    bool
	CanShare, CanUpdate       bool
	CanDelete                 bool
	Places                    []tick
	Files                     []fileView
	MaxFiles                  int
	Errors                    map[string]string
	Actions                   []rules.Action
	Then                      rulePart // these in the form
	Problem                   string   // of the actions
	Acts                      []string // the actions in words
}

func (v *visit) newReplyPage() error {
	return v.showReply(replyView{Title: v.words.T("New saved reply"), Action: v.at("/settings/replies"), CanUpdate: v.may(identity.InteractionsCreate)}, 0)
}

func (v *visit) showReply(view replyView, status int) error {
	view.MaxFiles = helpdesk.MaxReplyFiles
	view.List, view.CanShare, view.Errors = v.at("/settings/replies"), v.may(identity.ViewsCreate), orEmpty(view.Errors)
	if err := v.fillActions(&view); err != nil {
		return err
	}
	places, err := v.SavedReplies().Placeholders(v.ctx())
	if err != nil {
		return err
	}
	view.Places = v.places(helpdesk.ReplyPlaceholders())
	for _, p := range places {
		if p.Field.ID == 0 {
			continue
		}
		text := p.Field.Label
		if p.Field.AppliesTo == helpdesk.FieldOfCustomer {
			text = v.words.T("Customer") + ": " + text
		}
		view.Places = append(view.Places, tick{ID: "{{" + p.Name + "}}", Text: text})
	}
	return v.settingsPage("reply", view.Title, view, status)
}

// replyView is the form of a saved reply, with its files.
func (v *visit) replyView(r helpdesk.SavedReply) (replyView, error) {
	own := v.may(identity.InteractionsCreate)
	view := replyView{
		Title: r.Name, Name: r.Name, Action: v.at("/settings/replies/" + itoa(r.ID)), Body: mailhtml.Text(r.Body), HTML: safeHTML(plainStyle(r.Body)),
		Shared: r.UserID == 0, CanUpdate: own, CanDelete: own, Actions: r.Actions,
	}
	if view.Shared {
		view.CanUpdate, view.CanDelete = own && v.may(identity.ViewsUpdate), own && v.may(identity.ViewsDelete)
	}
	files, err := v.SavedReplies().Files(v.ctx(), r.ID)
	for _, f := range files {
		at := view.Action + "/files/" + itoa(f.ID)
		view.Files = append(view.Files, fileView{ID: f.ID, Name: f.Filename, Size: f.SizeHuman(), URL: at, Remove: at + "/remove", Image: shownImage(f.ContentType, f.Size)})
	}
	return view, err
}

func (v *visit) replyPage() error {
	r, err := v.SavedReplies().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	view, err := v.replyView(r)
	if err != nil {
		return err
	}
	return v.showReply(view, 0)
}

// replyFile serves a file of a saved reply.
func (v *visit) replyFile() error {
	f, err := v.SavedReplies().File(v.ctx(), v.number("id"), v.number("file"))
	if err != nil {
		return err
	}
	return v.serveFile(f.ContentType, f.Filename, "reply-file-"+itoa(f.ID), f.CreatedAt, f.Size, func(offset int64) (io.ReadCloser, error) {
		return v.SavedReplies().OpenFile(v.ctx(), f, offset, -1)
	})
}

// replyInput reads the form.
func (v *visit) replyInput(old string) helpdesk.SavedReplyInput {
	return helpdesk.SavedReplyInput{Name: v.r.PostFormValue("name"), Shared: storage.Some(v.r.PostFormValue("shared") != ""), Body: v.writtenBody(old)}
}

// writtenBody returns the written text as HTML. A text that was submitted unchanged without scripts keeps its formatting.
func (v *visit) writtenBody(old string) string {
	text := v.r.PostFormValue("body")
	switch {
	case v.r.PostFormValue("rich") != "":
		return v.stored(v.r.PostFormValue("html"))
	case old != "" && sameText(text, mailhtml.Text(old)):
		return old
	}
	return mailhtml.FromText(text)
}

// sameText compares two texts, one of which went through a form, which writes line ends as CRLF.
func sameText(a, b string) bool {
	clean := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return clean(a) == clean(b)
}

func (v *visit) addReply() error {
	files, err := v.formFiles()
	if err != nil {
		return err
	}
	view := replyView{Title: v.words.T("New saved reply"), Action: v.at("/settings/replies"), CanUpdate: true}
	in, edited, err := v.replyActions(v.replyInput(""), nil)
	if err != nil {
		return err
	}
	if edited {
		return v.showReply(view.with(in, nil), 0)
	}
	r, err := v.SavedReplies().Create(v.ctx(), in)
	if fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound) {
		return v.replyRefused(view, in, err)
	}
	if err != nil {
		return err
	}
	return v.replySaved(r.ID, files, "replies", v.words.T("Reply saved"))
}

// replySaved adds files to a saved reply. The reply is saved even if a file is refused; its page then names the file.
func (v *visit) replySaved(id int64, files []*multipart.FileHeader, path, done string) error {
	for _, f := range files {
		_, err := opened(f, func(up helpdesk.Upload) (helpdesk.ReplyFile, error) {
			return v.SavedReplies().CreateFile(v.ctx(), id, up)
		})
		refused, ok := asFault(err)
		if err != nil && (!ok || refused.Kind != fault.Invalid && refused.Kind != fault.TooLarge && refused.Kind != fault.Conflict) {
			return err
		}
		if err != nil {
			why := refused.Message
			if refused.Kind == fault.Conflict {
				why = v.words.N(helpdesk.MaxReplyFiles, "it already has %s files")
			}
			for _, problem := range v.problems(err) {
				why = problem
			}
			v.say(toast{Text: v.words.T("The reply was saved without %s: %s", f.Filename, v.words.T(why)), Bad: true})
			return v.see(v.at("/settings/replies/" + itoa(id)))
		}
	}
	return v.saved(path, done)
}

// with returns the form as submitted, with its problems.
func (r replyView) with(in helpdesk.SavedReplyInput, problems map[string]string) replyView {
	r.Name, r.Body, r.HTML, r.Shared, r.Errors = in.Name, mailhtml.Text(in.Body), safeHTML(plainStyle(mailhtml.FromInput(in.Body))), in.Shared.Or(false), problems
	r.Actions = in.Actions.Or(nil)
	return r
}

func (v *visit) changeReply() error {
	return v.keepReply("replies", func(int64) error { return nil })
}

// removeReplyFile removes a file from a saved reply. Its button belongs to the reply's form, so the written text is
// submitted and saved, too.
func (v *visit) removeReplyFile() error {
	return v.keepReply("replies/"+v.r.PathValue("id"), func(id int64) error {
		err := v.SavedReplies().DeleteFile(v.ctx(), id, v.number("file"))
		if fault.Is(err, fault.NotFound) { // it is removed already
			return nil
		}
		return err
	})
}

// keepReply saves the form of a saved reply, and then performs the other actions of the form.
func (v *visit) keepReply(path string, then func(id int64) error) error {
	files, err := v.formFiles()
	if err != nil {
		return err
	}
	id := v.number("id")
	old, err := v.SavedReplies().Get(v.ctx(), id)
	if err != nil {
		return err
	}
	in, edited, err := v.replyActions(v.replyInput(old.Body), old.Actions)
	if err != nil {
		return err
	}
	if !edited {
		_, err = v.SavedReplies().Update(v.ctx(), id, in)
	}
	if edited || fault.Is(err, fault.Invalid) || fault.Is(err, fault.NotFound) {
		view, readErr := v.replyView(old)
		switch {
		case readErr != nil:
			return readErr
		case edited:
			return v.showReply(view.with(in, nil), 0)
		}
		return v.replyRefused(view, in, err)
	}
	if err != nil {
		return err
	}
	if err := then(id); err != nil {
		return err
	}
	return v.replySaved(id, files, path, v.words.T("Saved"))
}

func (v *visit) deleteReply() error {
	return v.unless(v.SavedReplies().Delete(v.ctx(), v.number("id")), "replies", v.words.T("Saved reply deleted"))
}

type portalView struct {
	Rows         []portalRow
	Next, Action string
	CanChange    bool
	Name, Key    string
	Algorithm    string
	Secret       string // shown once
	Errors       map[string]string
}

type portalRow struct{ ID, Name, Kind, Made, Used, Action string }

// portalPage lists the keys with which an application signs in its customers.
func (v *visit) portalPage() error { return v.listPortalKeys(portalView{}, 0) }

func (v *visit) listPortalKeys(view portalView, status int) error {
	page, err := v.PortalKeys().List(v.ctx(), v.pageOf(50))
	if err != nil {
		return err
	}
	view.Action, view.Next, view.Errors = v.at("/settings/portal"), v.older("/settings/portal", page.Next), orEmpty(view.Errors)
	view.CanChange = v.may(identity.AccountsUpdate)
	for _, k := range page.Items {
		row := portalRow{ID: itoa(k.ID), Name: k.Name, Kind: v.words.T("Public key (EdDSA)"), Made: v.words.T("created %s", v.when(k.CreatedAt)), Used: v.words.T("never used"),
			Action: v.at("/settings/portal/" + itoa(k.ID) + "/delete")}
		if k.Algorithm == helpdesk.PortalHS256 {
			row.Kind = v.words.T("Shared secret (HS256)")
		}
		if !k.LastUsedAt.IsZero() {
			row.Used = v.words.T("last used %s", v.when(k.LastUsedAt))
		}
		view.Rows = append(view.Rows, row)
	}
	return v.settingsPage("portal", v.words.T("Customer sign-in"), view, status)
}

// addPortalKey answers with the secret of a shared key, which is shown on no later page.
func (v *visit) addPortalKey() error {
	in := helpdesk.PortalKeyInput{Name: v.r.PostFormValue("name"), Algorithm: v.r.PostFormValue("algorithm"), PublicKey: strings.TrimSpace(v.r.PostFormValue("public_key"))}
	if in.Algorithm == helpdesk.PortalHS256 {
		in.PublicKey = ""
	}
	key, secret, err := v.PortalKeys().Create(v.ctx(), in)
	if fault.Is(err, fault.Invalid) {
		return v.listPortalKeys(portalView{Name: in.Name, Key: in.PublicKey, Algorithm: in.Algorithm, Errors: v.problems(err)}, http.StatusUnprocessableEntity)
	}
	if err == nil && secret != "" {
		return v.listPortalKeys(portalView{Secret: secret}, 0)
	}
	return v.unless(err, "portal", v.words.T("Added %s", key.Name))
}

func (v *visit) deletePortalKey() error {
	return v.unless(v.PortalKeys().Delete(v.ctx(), v.number("id")), "portal", v.words.T("Key deleted"))
}

// saveView saves the filters of a list as a view for all members.
func (v *visit) saveView() error {
	l := listing{view: "all", sort: v.r.PostFormValue("sort"), status: v.r.PostFormValue("status"), user: v.r.PostFormValue("user"), tag: v.field("tag"), team: v.field("team"), priority: v.r.PostFormValue("priority"), fields: v.r.PostFormValue("fields"), words: strings.TrimSpace(v.r.PostFormValue("q"))}
	if list := v.r.PostFormValue("list"); list != "" {
		l.view = list
	}
	l = l.filled()
	filter, err := v.filterOf(l)
	if err != nil {
		return err
	}
	in := helpdesk.ViewInput{Name: v.r.PostFormValue("view_name"), Filter: filter}
	v.shown(&in)
	view, err := v.Views().Create(v.ctx(), in)
	if fault.Is(err, fault.Invalid) {
		for _, text := range v.problems(err) {
			v.say(toast{Text: text, Bad: true})
		}
		return v.see(v.back(v.at("/inbox/all")))
	}
	if err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Saved as %s", view.Name)})
	return v.see(v.at("/inbox/view-" + itoa(view.ID)))
}

// filterOf returns the filter of a view that shows the same as a list. For a list that narrows a view, it starts from the
// view's own filter.
func (v *visit) filterOf(l listing) (helpdesk.ViewFilter, error) {
	q, err := v.query(l)
	if err != nil {
		return helpdesk.ViewFilter{}, err
	}
	var f helpdesk.ViewFilter
	if q.ViewID != 0 {
		base, err := v.Views().Get(v.ctx(), q.ViewID)
		if err != nil {
			return f, err
		}
		f = base.Filter
	}
	return narrowed(f, q, l, v.UserID()), nil
}

// narrowed adds a list's parameters to a filter. The caller becomes "me", for any user of the view.
func narrowed(f helpdesk.ViewFilter, q helpdesk.ConversationQuery, l listing, me int64) helpdesk.ViewFilter {
	if len(q.Statuses) > 0 {
		f.Statuses = q.Statuses
	}
	if q.MailboxID != 0 {
		f.MailboxID = q.MailboxID
	}
	if team := q.TeamID.Or(0); team != 0 {
		f.TeamID = team
	}
	if len(q.TagIDs) > 0 {
		f.TagIDs = q.TagIDs
	}
	if len(q.Priorities) > 0 {
		f.Priorities = q.Priorities
	}
	if len(q.Fields) > 0 {
		own := f.Fields
		f.Fields = q.Fields
		for key, one := range own {
			if _, given := q.Fields[key]; !given {
				f.Fields[key] = one
			}
		}
	}
	if spam := q.Spam.Or(false); spam { // left out if empty
		f.Spam = &spam
	}
	if held, given := q.Held.Get(); given {
		f.Held = &held
	}
	if q.Query != "" {
		f.Words = q.Query
	}
	if q.DraftBy != 0 {
		f.Draft = helpdesk.AgentMe
	}
	f.Undelivered = f.Undelivered || q.Undelivered
	if q.Due != "" {
		f.Due = q.Due
	}
	if len(q.Ratings) > 0 {
		f.Ratings = q.Ratings
	}
	if q.Snoozed.IsSet() {
		snoozed := q.Snoozed.Or(false)
		f.Snoozed = &snoozed
	}
	switch user := q.UserID.Or(0); {
	case q.UserID.IsNull():
		f.Agent = helpdesk.AgentUnassigned
	case user == me && l.user != itoa(me):
		f.Agent = helpdesk.AgentMe
	case user != 0:
		f.Agent = itoa(user)
	}
	if l.sort == "oldest" {
		f.Sort, f.Ascending = helpdesk.ByUpdated, true
	}
	return f
}
