package desk

import (
	"cmp"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/customercsv"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/errand"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// routeCustomerTable registers the import and the export of tables of customers.
func (h *Handler) routeCustomerTable() {
	h.routeMembers(map[string]func(*visit) error{"POST /customers/export": (*visit).exportTable})
	if h.cfg.Errands == nil {
		return
	}
	h.routeMembers(map[string]func(*visit) error{
		"GET /customer-import":             mayImport((*visit).tablePage),
		"POST /customer-import":            mayImport((*visit).uploadTable),
		"GET /customer-import/{id}":        mayImport((*visit).tableRunPage),
		"GET /customer-import/{id}/report": mayImport((*visit).tableReport),
		"POST /customer-import/{id}/{act}": mayImport((*visit).actOnTable),
	})
}

// mayImportTable reports whether the member may import customers.
func (v *visit) mayImportTable() bool {
	return v.h.cfg.Errands != nil && v.may(identity.CustomersCreate) && v.may(identity.CustomersUpdate)
}

func mayImport(fn func(*visit) error) func(*visit) error {
	return func(v *visit) error {
		if !v.mayImportTable() {
			return v.missing()
		}
		return fn(v)
	}
}

// mayExportTable reports whether the member may export all customers.
func (v *visit) mayExportTable() bool {
	return v.may(identity.CustomersView) && v.may(identity.AccountsExport)
}

// exportTable answers with all customers as CSV.
func (v *visit) exportTable() error {
	if !v.mayExportTable() {
		return v.missing()
	}
	file.Describe(v.w.Header(), "text/csv", "customers.csv")
	if err := customercsv.Export(v.ctx(), v.Desk, patientWriter{v.w}); err != nil {
		v.h.cfg.Logger.ErrorContext(v.ctx(), "an export broke off", "request_id", v.id, "error", err)
		panic(http.ErrAbortHandler) // so that the browser reports a broken download, not a short table
	}
	return nil
}

// tableView is the page that begins an import.
type tableView struct {
	Action, Back string
	Max          int64
	Limit        string
	Errors       map[string]string
}

// tablePage shows the import of the account, or begins one.
func (v *visit) tablePage() error {
	e, err := v.h.cfg.Errands.Find(v.ctx(), v.AccountID(), customercsv.Kind)
	if fault.Is(err, fault.NotFound) {
		return v.beginTable(nil, 0)
	}
	if err != nil {
		return err
	}
	return v.see(v.at("/customer-import/" + e.ID))
}

func (v *visit) beginTable(problems map[string]string, status int) error {
	most := min(v.h.cfg.Errands.MaxUpload(), customercsv.MaxBytes)
	view := tableView{Action: v.at("/customer-import"), Back: v.at("/customers"), Max: most, Limit: bytesText(most), Errors: orEmpty(problems)}
	return v.show(screen{template: "customers-import", title: v.words.T("Import customers"), data: view, nav: "customers", status: status})
}

func (v *visit) uploadTable() error {
	return v.receive(v.at("/customer-import"), v.keepTable, func(_, problems map[string]string) error {
		return v.beginTable(problems, http.StatusUnprocessableEntity)
	})
}

// keepTable begins an import with its file.
func (v *visit) keepTable(_ map[string]string, part *multipart.Part) (errand.Errand, error) {
	if part.FileName() == "" {
		return errand.Errand{}, fault.Field("file", "is required")
	}
	if err := v.Customers().StartImport(v.ctx()); err != nil {
		return errand.Errand{}, err
	}
	return v.h.cfg.Errands.Begin(v.ctx(), errand.Order{
		AccountID: v.AccountID(), UserID: v.UserID(), Kind: customercsv.Kind, Step: customercsv.StepCheck, File: part.FileName(),
		Content: io.LimitReader(part, customercsv.MaxBytes+1), Input: map[string]string{},
	})
}

// tableRun shows an import, and what its columns are taken for.
type tableRun struct {
	errandView
	Back    string
	Columns []tableColumn
}

type tableColumn struct {
	Name, Label, Sample string
	Fields              []tick
}

func (v *visit) tableRunPage() error {
	e, err := v.errandOf(customercsv.Kind)
	if err != nil {
		return err
	}
	w := v.words
	doing, done := w.T("Checking"), w.T("Check finished")
	if e.Step == customercsv.StepImport {
		doing, done = w.T("Importing"), w.T("Import finished")
	}
	action := v.at("/customer-import/" + e.ID)
	view := tableRun{errandView: v.errandView(e, action, doing, done), Back: v.at("/customers")}
	view.About = e.File + ", " + bytesText(e.Size)
	if e.State != errand.Done && view.Total > 0 {
		view.Sum = w.T("%s of %s", w.whole(view.Done), w.whole(view.Total))
	}
	if view.Heading = w.T("To import"); e.Report.Step == customercsv.StepImport {
		view.Heading = w.T("Imported")
	}
	if view.Counts = v.tableCounts(e.Report); len(view.Counts) == 0 {
		view.Heading = ""
	}
	if view.Notes = e.Report.Notes; len(view.Notes) < e.Report.Whole {
		view.Cut = w.T("The first %s of %s. The report has all.", len(view.Notes), e.Report.Whole)
	}
	if e.Report.Step != "" {
		view.Report = action + "/report"
	}
	checked := e.Step == customercsv.StepCheck && !e.State.Active()
	if checked && e.State == errand.Done {
		view.Start = w.T("Start import")
	}
	if checked {
		if view.Columns, err = v.tableColumns(e); err != nil {
			return err
		}
	}
	view.Delete, view.Gone = w.T("Delete import"), w.T("The uploaded file and the report are deleted. What was imported stays.")
	return v.show(screen{
		template: "customers-import-run", title: w.T("Import customers"), data: view, nav: "customers", parts: map[string]string{"errand": "customers-import-state"},
	})
}

// tableCounts lists what a report counted.
func (v *visit) tableCounts(r errand.Report) (facts []fact) {
	w := v.words
	for _, c := range []struct{ what, name string }{
		{"created", w.T("New customers")}, {"updated", w.T("Updated customers")}, {"unchanged", w.T("Already here")}, {"failed", w.T("Rows with problems")},
	} {
		if n := r.N(c.what); n > 0 {
			facts = append(facts, fact{c.name, w.whole(n)})
		}
	}
	return facts
}

// tableColumns lists the columns of the uploaded table with their fields; none if it cannot be read.
func (v *visit) tableColumns(e errand.Errand) ([]tableColumn, error) {
	_, open, err := v.h.cfg.Errands.Open(v.ctx(), e, errand.Uploaded)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	table, err := customercsv.Open(v.ctx(), func() (io.ReadCloser, error) { return open(0) })
	if refused(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	fields, ok := customercsv.Parse(e.Input["columns"])
	if _, given := e.Input["columns"]; !given || !ok {
		fields = customercsv.Match(table.Header)
	}
	sample, err := table.Sample(v.ctx(), 1)
	var columns []tableColumn
	for i, name := range table.Header {
		c := tableColumn{Name: fmt.Sprintf("column%d", i), Label: cmp.Or(name, fmt.Sprint(i+1))}
		if len(sample) > 0 && i < len(sample[0]) {
			c.Sample = sample[0][i]
		}
		c.Fields = v.tableFields(i < len(fields), at(fields, i))
		columns = append(columns, c)
	}
	return columns, err
}

func at(fields []customercsv.Field, i int) customercsv.Field {
	if i < len(fields) {
		return fields[i]
	}
	return customercsv.Ignored
}

// tableFields lists what a column can be taken for.
func (v *visit) tableFields(known bool, now customercsv.Field) []tick {
	w := v.words
	all := []tick{{ID: "", Text: w.T("Ignore"), On: !known || now == customercsv.Ignored}}
	texts := map[customercsv.Field]string{
		customercsv.Emails: w.T("Email addresses"), customercsv.FirstName: w.T("First name"), customercsv.LastName: w.T("Last name"), customercsv.FullName: w.T("Full name"),
		customercsv.Company: w.T("Company"), customercsv.Phones: w.T("Phone numbers"), customercsv.Websites: w.T("Websites"), customercsv.Note: w.T("Note"),
		customercsv.ID: w.T("ID in this account"), customercsv.External: w.T("ID in another system"),
	}
	for _, f := range customercsv.Fields() {
		all = append(all, tick{ID: string(f), Text: texts[f], On: known && f == now})
	}
	return all
}

func (v *visit) tableReport() error {
	e, err := v.errandOf(customercsv.Kind)
	if err != nil {
		return err
	}
	return v.download(e, errand.ReportFile, "text/plain", "import.txt")
}

// actOnTable starts an import after its check, checks it again with other columns, or does what all errands can.
func (v *visit) actOnTable() error {
	list := v.at("/customer-import")
	e, err := v.errandOf(customercsv.Kind)
	if err != nil {
		return v.instead(err, list)
	}
	order := errand.Order{Step: customercsv.StepImport, Input: e.Input, UserID: v.UserID()}
	switch deed := v.r.PathValue("act"); deed {
	case "start":
	case "columns":
		order.Step, order.Input = customercsv.StepCheck, map[string]string{"columns": v.chosenColumns()}
	default:
		return v.actOn(e, deed, v.words.T("Import deleted"))
	}
	if e.Step == customercsv.StepCheck && !e.State.Active() && (e.State == errand.Done || order.Step == customercsv.StepCheck) {
		if err = v.Customers().StartImport(v.ctx()); err == nil {
			err = v.h.cfg.Errands.Again(v.ctx(), e, order)
		}
	}
	if err != nil {
		return v.instead(err, list)
	}
	return v.see(v.at("/customer-import/" + e.ID))
}

// chosenColumns reads the fields of the columns from the form. Unknown ones are ignored.
func (v *visit) chosenColumns() string {
	_ = v.r.ParseForm() // what cannot be read is ignored
	var names []string
	for i := range customercsv.MaxColumns {
		values, there := v.r.PostForm[fmt.Sprintf("column%d", i)]
		if !there {
			break
		}
		name := strings.Join(values, "")
		if _, ok := customercsv.Parse(name); !ok || strings.Contains(name, ",") {
			name = ""
		}
		names = append(names, name)
	}
	return strings.Join(names, ",")
}
