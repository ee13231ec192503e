package desk

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/customercsv"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/errand"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// Kinds of the errands of Config.Errands, and their steps and sources.
const (
	ErrandImport = "import"
	ErrandExport = "export"

	StepCheck  = "check"  // of an import: it only reports what it would do
	StepImport = "import" // of an import

	// SourceMail is a source of imports: files of mails. The others are the names of the help desks of package foreign.
	SourceMail = "mail"
)

// routeErrands registers the pages of imports and exports.
func (h *Handler) routeErrands() {
	if h.cfg.Errands == nil {
		return
	}
	h.routeMembers(map[string]func(*visit) error{
		"GET /settings/import":             whole("import", (*visit).importsPage),
		"POST /settings/import":            whole("import", (*visit).upload),
		"GET /settings/import/{id}":        whole("import", (*visit).importPage),
		"GET /settings/import/{id}/report": whole("import", (*visit).importReport),
		"POST /settings/import/{id}/{act}": whole("import", (*visit).actOnImport),
		"GET /settings/export":             whole("export", (*visit).exportPage),
		"POST /settings/export":            whole("export", (*visit).startExport),
		"GET /settings/export/{id}/file":   whole("export", (*visit).exportFile),
		"POST /settings/export/{id}/{act}": whole("export", (*visit).actOnExport),
	})
}

// whole shows a page that concerns everything in the account only to members who may do everything in it.
func whole(id string, fn func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		if !v.HoldsAll() {
			return v.notSeen(sectionByID(id))
		}
		return fn(v)
	}
}

func sectionByID(id string) section {
	for _, s := range sections {
		if s.id == id {
			return s
		}
	}
	return section{}
}

// errandView shows an errand.
type errandView struct {
	About        string // what it is, in a line
	State, Icon  string
	Class        string // of the state
	Active       bool
	Sum          string // how much is done
	Done, Total  int64
	Reason       string // why it failed
	Heading      string // of the counts
	Counts       []fact
	Notes        []errand.Note
	Cut          string // what the notes leave out
	Report, File string // addresses
	Size, Until  string
	Action       string
	Start        string // text of the button for the next step
	Resume       string // text of the button that continues it
	Delete, Gone string // texts of the button that deletes it, and of what goes with it
}

// fact is a line of a list of facts.
type fact struct{ Name, Text string }

// errandView describes the state of an errand.
func (v *visit) errandView(e errand.Errand, action string, doing, done string) errandView {
	w := v.words
	view := errandView{Active: e.State.Active(), Done: e.Progress.Done, Total: e.Progress.Total, Action: action}
	switch e.State {
	case errand.Waiting:
		view.State = w.T("Waiting to start")
	case errand.Running:
		view.State = doing
	case errand.Stopping:
		view.State = w.T("Stopping")
	case errand.Stopped:
		view.State, view.Class, view.Icon, view.Resume = w.T("Stopped"), "warn", "ban", w.T("Resume")
	case errand.Failed:
		view.State, view.Class, view.Icon, view.Resume = w.T("Failed"), "bad", "failed", w.T("Try again")
		view.Reason = w.T(e.Reason)
	case errand.Done:
		view.State, view.Class, view.Icon = done, "ok", "check"
	}
	view.Until = w.T("Deleted automatically on %s", v.day(e.Changed.Add(v.h.cfg.Errands.Keep())))
	return view
}

// errandReasons are why errands fail; TestWords finds them here.
var _ = []string{
	say("There is one already. Delete it first."), say("It is already running."), say("It is running. Stop it first."),
	say("The ZIP file is damaged."), say("The ZIP file has a path that leads out of it."), say("The ZIP file has too many files."),
	say("The ZIP file has something else than files and folders, such as a link."), say("The ZIP file is encrypted. Upload it without a password."),
	say("The ZIP file has two entries with the same name, or a name that is too long."), say("The ZIP file unpacks to more than the server accepts."),
	say("There is nothing to import in this file. Check that it is an export of the source you chose."),
	say("The uploaded file is gone. Upload it again."), say("It was interrupted too often."), say("Something went wrong on the server. Its log has the reason."),
}

// errandOf returns the errand that the address names.
func (v *visit) errandOf(kind string) (errand.Errand, error) {
	return v.h.cfg.Errands.Get(v.ctx(), v.AccountID(), kind, v.r.PathValue("id"))
}

// actOn does what all errands can.
func (v *visit) actOn(e errand.Errand, deed, deleted string) error {
	list := v.at("/settings/" + e.Kind)
	if e.Kind == customercsv.Kind {
		list = v.at("/customer-import")
	}
	var err error
	switch deed {
	case "resume":
		err = v.h.cfg.Errands.Go(v.ctx(), e, e.Step)
	case "stop":
		err = v.h.cfg.Errands.Stop(v.ctx(), e)
	case "delete":
		if err = v.h.cfg.Errands.Delete(v.ctx(), e); err == nil {
			v.say(toast{Text: deleted})
		}
	default:
		return v.missing()
	}
	if err != nil {
		return v.instead(err, list)
	}
	return v.see(list)
}

// showErrand shows a page with the state of an errand, which the script refreshes.
func (v *visit) showErrand(template, title string, data any, status int) error {
	return v.show(screen{
		template: template, title: title, data: data, parts: map[string]string{"errand": template + "-state"}, nav: v.sectionOf(strings.TrimPrefix(template, "settings-")),
		settings: true, status: status,
	})
}

// bytesText returns a size for people.
func bytesText(n int64) string { return helpdesk.Attachment{Size: n}.SizeHuman() }

// patientBody extends the server's limits of a request with each piece, so that large uploads can take long.
type patientBody struct {
	io.ReadCloser
	limits *http.ResponseController
}

// Read implements [io.Reader].
func (b patientBody) Read(piece []byte) (int, error) {
	late := time.Now().Add(pieceWait)
	_ = b.limits.SetReadDeadline(late)                 // not every server has limits
	_ = b.limits.SetWriteDeadline(late.Add(pieceWait)) // of the answer
	return b.ReadCloser.Read(piece)
}

// download answers with a file of an errand.
func (v *visit) download(e errand.Errand, which, kind, name string) error {
	size, open, err := v.h.cfg.Errands.Open(v.ctx(), e, which)
	if err != nil {
		return err
	}
	body, err := file.Open(size, open)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // only read
	file.Describe(v.w.Header(), kind, name)
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	http.ServeContent(patientWriter{v.w}, v.r, "", e.Changed, body)
	return nil
}

// refused reports whether an error is about what the member sent.
func refused(err error) bool { return fault.Is(err, fault.Invalid) || fault.Is(err, fault.TooLarge) }
