package desk

import (
	"cmp"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/errand"
)

// importsView is the page that begins an import.
type importsView struct {
	Action         string
	Sources, Boxes []tick
	Max            int64
	Limit          string
	Errors         map[string]string
}

// sources are the sources of imports.
func (v *visit) sources() []tick {
	return []tick{
		{ID: "zendesk", Text: "Zendesk"}, {ID: "helpscout", Text: "Help Scout"}, {ID: "freescout", Text: "FreeScout"},
		{ID: SourceMail, Text: v.words.T("Old mail: mbox, Maildir or .eml files")},
	}
}

// importsPage shows the import of the account, or begins one.
func (v *visit) importsPage() error {
	e, err := v.h.cfg.Errands.Find(v.ctx(), v.AccountID(), ErrandImport)
	if fault.Is(err, fault.NotFound) {
		return v.beginImport(nil, nil, 0)
	}
	if err != nil {
		return err
	}
	return v.see(v.at("/settings/import/" + e.ID))
}

// beginImport shows the form. fields is what was filled in.
func (v *visit) beginImport(fields, problems map[string]string, status int) error {
	boxes, err := v.mailboxes()
	if err != nil {
		return err
	}
	office := v.h.cfg.Errands
	view := importsView{Action: v.at("/settings/import"), Sources: v.sources(), Max: office.MaxUpload(), Limit: bytesText(office.MaxUpload()), Errors: orEmpty(problems)}
	for i, s := range view.Sources {
		view.Sources[i].On = s.ID == fields["source"]
	}
	for _, m := range boxes {
		view.Boxes = append(view.Boxes, tick{ID: itoa(m.ID), Text: cmp.Or(m.Name, m.Email), On: itoa(m.ID) == fields["mailbox"]})
	}
	return v.settingsPage("import", v.words.T("Import"), view, status)
}

// upload stores the file of an import, and has it checked. The form is read as it comes: it may be large.
func (v *visit) upload() error {
	return v.receive(v.at("/settings/import"), v.keepUpload, func(fields, problems map[string]string) error {
		return v.beginImport(fields, problems, http.StatusUnprocessableEntity)
	})
}

// receive reads a form with a file, has keep store it, and shows the errand at its address below list. again shows the form with its
// problems.
func (v *visit) receive(list string, keep func(fields map[string]string, part *multipart.Part) (errand.Errand, error), again func(fields, problems map[string]string) error) error {
	fields := map[string]string{}
	e, err := v.readUpload(fields, keep)
	if err != nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(v.r.Body, v.h.cfg.Errands.MaxUpload())) // browsers read no answer before they have sent all
	}
	script := strings.Contains(v.r.Header.Get("Accept"), "application/json")
	switch {
	case refused(err) && !script:
		problems := v.problems(err)
		if fault.Is(err, fault.TooLarge) {
			problems["file"] = v.words.T("Largest file: %s MB", strconv.FormatInt(v.h.cfg.Errands.MaxUpload()>>20, 10))
		}
		return again(fields, problems)
	case err != nil && !script:
		return v.instead(err, list)
	case err != nil:
		return err
	case script:
		return v.json(map[string]string{"open": list + "/" + e.ID})
	}
	return v.see(list + "/" + e.ID)
}

// maxField is the maximum length of a field before the file.
const maxField = 1 << 10

// readUpload reads the fields, and stores the file that follows them.
func (v *visit) readUpload(fields map[string]string, keep func(map[string]string, *multipart.Part) (errand.Errand, error)) (errand.Errand, error) {
	v.r.Body = patientBody{v.r.Body, http.NewResponseController(v.w)}
	form, err := v.r.MultipartReader()
	if err != nil {
		return errand.Errand{}, fault.New(fault.Malformed, "The form could not be read.")
	}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return errand.Errand{}, fault.Field("file", "is required")
		}
		if err != nil {
			return errand.Errand{}, fault.New(fault.Malformed, "The form could not be read.")
		}
		if part.FormName() == "file" {
			return keep(fields, part)
		}
		text, err := io.ReadAll(io.LimitReader(part, maxField))
		if err != nil {
			return errand.Errand{}, fault.New(fault.Malformed, "The form could not be read.")
		}
		fields[part.FormName()] = string(text)
	}
}

// keepUpload begins an import with its file.
func (v *visit) keepUpload(fields map[string]string, part *multipart.Part) (errand.Errand, error) {
	var problems fault.Collector
	known := slices.ContainsFunc(v.sources(), func(s tick) bool { return s.ID == fields["source"] })
	problems.Check(known, "source", "is required")
	boxes, err := v.mailboxes()
	if err != nil {
		return errand.Errand{}, err
	}
	id := number(fields["mailbox"])
	at := slices.IndexFunc(boxes, func(m helpdesk.Mailbox) bool { return m.ID == id })
	problems.Check(at >= 0, "mailbox", "is required")
	problems.Check(part.FileName() != "", "file", "is required")
	if err := problems.Err(); err != nil {
		return errand.Errand{}, err
	}
	return v.h.cfg.Errands.Begin(v.ctx(), errand.Order{
		AccountID: v.AccountID(), UserID: v.UserID(), Kind: ErrandImport, Step: StepCheck, File: part.FileName(), Content: part,
		Input: map[string]string{"source": fields["source"], "mailbox": itoa(id)},
	})
}

// importPage shows how far an import is.
func (v *visit) importPage() error {
	e, err := v.errandOf(ErrandImport)
	if err != nil {
		return err
	}
	view, err := v.importView(e)
	if err != nil {
		return err
	}
	return v.showErrand("settings-import-run", v.words.T("Import"), view, 0)
}

func (v *visit) importView(e errand.Errand) (errandView, error) {
	w := v.words
	doing, done := w.T("Checking"), w.T("Check finished")
	if e.Step == StepImport {
		doing, done = w.T("Importing"), w.T("Import finished")
	}
	action := v.at("/settings/import/" + e.ID)
	view := v.errandView(e, action, doing, done)
	boxes, err := v.mailboxes()
	if err != nil {
		return view, err
	}
	box := ""
	for _, m := range boxes {
		if itoa(m.ID) == e.Input["mailbox"] {
			box = cmp.Or(m.Name, m.Email)
		}
	}
	source := ""
	for _, s := range v.sources() {
		if s.ID == e.Input["source"] {
			source = s.Text
		}
	}
	view.About = w.T("%s into %s: %s, %s", source, box, e.File, bytesText(e.Size))
	switch {
	case e.State == errand.Done: // the counts say it
	case view.Total > 0:
		view.Sum = w.T("%s of %s", w.whole(view.Done), w.whole(view.Total))
	case view.Done > 0:
		view.Sum = w.whole(view.Done)
	}
	if view.Heading = w.T("To import"); e.Report.Step == StepImport {
		view.Heading = w.T("Imported")
	}
	if view.Counts = v.importCounts(e.Report); len(view.Counts) == 0 {
		view.Heading = ""
	}
	if view.Notes = e.Report.Notes; len(view.Notes) < e.Report.Whole {
		view.Cut = w.T("The first %s of %s. The report has all.", len(view.Notes), e.Report.Whole)
	}
	if e.Report.Step != "" {
		view.Report = action + "/report"
	}
	if e.State == errand.Done && e.Step == StepCheck {
		view.Start = w.T("Start import")
	}
	view.Delete, view.Gone = w.T("Delete import"), w.T("The uploaded file and the report are deleted. What was imported stays.")
	return view, nil
}

// importCounts lists what a report counted.
func (v *visit) importCounts(r errand.Report) (facts []fact) {
	w := v.words
	for _, c := range []struct{ what, name string }{
		{"customers", w.T("Customers")}, {"conversations", w.T("Conversations")}, {"mails", w.T("Emails")}, {"messages", w.T("Messages and notes")}, {"files", w.T("Files")},
		{"saved_replies", w.T("Saved replies")}, {"changed_conversations", w.T("Updated conversations")}, {"changed_customers", w.T("Updated customers")},
		{"known", w.T("Already here")}, {"known_replies", w.T("Saved replies whose name is taken")}, {"deleted", w.T("Left out: deleted here")}, {"erased", w.T("Left out: erased here")},
	} {
		if n := r.N(c.what); n > 0 {
			facts = append(facts, fact{c.name, w.whole(n)})
		}
	}
	return facts
}

func (v *visit) importReport() error {
	e, err := v.errandOf(ErrandImport)
	if err != nil {
		return err
	}
	return v.download(e, errand.ReportFile, "text/plain", "import.txt")
}

func (v *visit) actOnImport() error {
	e, err := v.errandOf(ErrandImport)
	if err != nil {
		return v.instead(err, v.at("/settings/import"))
	}
	deed := v.r.PathValue("act")
	if deed != "start" {
		return v.actOn(e, deed, v.words.T("Import deleted"))
	}
	if e.Step == StepCheck && e.State == errand.Done {
		if err = v.Mailboxes().StartImport(v.ctx(), number(e.Input["mailbox"])); err == nil {
			err = v.h.cfg.Errands.Go(v.ctx(), e, StepImport)
		}
	}
	if err != nil {
		return v.instead(err, v.at("/settings/import"))
	}
	return v.see(v.at("/settings/import/" + e.ID))
}
