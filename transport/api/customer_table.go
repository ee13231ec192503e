package api

import (
	"context"
	"io"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/customercsv"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/errand"
	"github.com/helpwright/helpwright/transport/internal/file"
)

// customerImport as the API shows it.
type customerImport struct {
	AccountID int64          `json:"account_id"`
	Filename  string         `json:"filename"`
	DryRun    bool           `json:"dry_run" description:"Whether the last run changes nothing."`
	State     errand.State   `json:"state" enum:"waiting,running,stopping,stopped,failed,done" description:"What it does now."`
	Reason    string         `json:"reason" description:"Why it failed. Empty: it has not."`
	Progress  importProgress `json:"progress" description:"How far the last run is."`
	Result    *importResult  `json:"result" description:"Of the last run that ended. Null: none."`
	CreatedAt transport.Time `json:"created_at"`
	UpdatedAt transport.Time `json:"updated_at"`
}

type importProgress struct {
	Done  int64 `json:"done" description:"Rows that were read."`
	Total int64 `json:"total" description:"All rows. 0: not counted yet."`
}

type importResult struct {
	DryRun    bool            `json:"dry_run" description:"Whether the numbers say what would happen."`
	Created   int64           `json:"created" description:"New customers."`
	Updated   int64           `json:"updated" description:"Changed customers."`
	Unchanged int64           `json:"unchanged" description:"Customers with nothing new."`
	Failed    int64           `json:"failed" description:"Rows that were left out because of problems."`
	Problems  []importProblem `json:"problems" description:"The first of them; the report has all."`
}

type importProblem struct {
	Row     int    `json:"row" description:"Row of the table; the header is 1."`
	Column  string `json:"column" description:"Name of the column. Empty: the whole row."`
	Problem string `json:"problem" description:"What is wrong."`
}

// importColumns chooses the fields of columns and whether anything is changed.
type importColumns struct {
	DryRun  bool                  `json:"dry_run" description:"Only list what would happen, and the problems of each row."`
	Columns storage.Opt[[]string] `json:"columns" maxItems:"200" description:"The field of each column, in order: emails, first_name, last_name, name, company, phones, websites, note or id. Empty: ignored. Omitted: recognized by the names of the columns."`
}

type importInput struct {
	importColumns
	File *transport.Upload `json:"file" required:"true" description:"The table, at most 64 MB and 200,000 rows: CSV with a header, in UTF-8, UTF-16 or Windows-1252, with commas, semicolons or tabs."`
}

const (
	importPath = customersPath + "/import"
	// maxTable is the maximum size of an upload.
	maxTable = customercsv.MaxBytes + multipartRoom
)

func (a *api) addCustomerTable(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Customers", Summary: summary, Description: description}
	}
	const needs = " Needs customers.create and customers.update. 404 with code feature_disabled if the server runs no imports."
	transport.HandleContent(t, a.desk, op("exportCustomers", http.MethodGet, accountPath+"/customers.csv", "Export all customers as a table",
		"CSV (RFC 4180) in UTF-8 with a byte order mark, oldest first, with the columns id, first_name, last_name, company, company_id, emails, phones, "+
			"websites, note, created_at and updated_at. Cells with several emails, phones or websites have one on each line. Cells that a "+
			"spreadsheet would take for formulas begin with an apostrophe. importCustomers reads it. Needs customers.view and accounts.export."),
		a.exportCustomers)
	create := op("importCustomers", http.MethodPost, importPath, "Import customers from a table",
		"Stores the file and begins the import, which getCustomerImport follows. A row is about the customer with its id, or else one of its "+
			"addresses, otherwise about a new one: importing a table again makes no doubles. Given names, company and note replace what is there; "+
			"addresses, phones and websites are added. A company that is not there is created if the caller may do so. Rows with problems are "+
			"left out. An account has one import at a time: 409 if there is another."+needs)
	create.Status, create.MaxBody, create.Location = http.StatusCreated, maxTable, importPath
	transport.Handle(t, a.desk, create, a.importCustomers)
	transport.Handle(t, a.desk, op("getCustomerImport", http.MethodGet, importPath, "Retrieve the import of customers",
		"It is kept for a week."+needs), func(ctx context.Context, d *helpdesk.Desk, _ struct{}) (customerImport, error) {
		e, err := a.importOf(ctx, d)
		return showImport(e), err
	})
	transport.Handle(t, a.desk, op("startCustomerImport", http.MethodPost, importPath+"/start", "Start the import of customers again",
		"After a dry run, or one that was stopped or failed, also with other columns. What was imported already stays as it is. 409 while it runs."+needs),
		a.startImport)
	transport.Handle(t, a.desk, op("stopCustomerImport", http.MethodPost, importPath+"/stop", "Stop the import of customers",
		"Soon after, its state is stopped. What was imported stays."+needs), func(ctx context.Context, d *helpdesk.Desk, _ struct{}) (customerImport, error) {
		e, err := a.importOf(ctx, d)
		if err == nil {
			err = a.errands.Stop(ctx, e)
		}
		if err == nil {
			e, err = a.importOf(ctx, d)
		}
		return showImport(e), err
	})
	remove := op("deleteCustomerImport", http.MethodDelete, importPath, "Delete the import of customers",
		"Removes the file and the report; what was imported stays. 409 while it runs or is being deleted."+needs)
	remove.Apart = true
	transport.HandleEmpty(t, a.desk, remove, func(ctx context.Context, d *helpdesk.Desk, _ struct{}) error {
		e, err := a.importOf(ctx, d)
		if err == nil {
			err = a.errands.Delete(ctx, e)
		}
		return err
	})
	transport.HandleContent(t, a.desk, op("getCustomerImportReport", http.MethodGet, importPath+"/report", "Download the report of the import of customers",
		"Plain text: the numbers, and a line for each problem with its row and column."+needs), a.importReport)
}

func (a *api) exportCustomers(ctx context.Context, d *helpdesk.Desk, _ struct{}) (transport.Content, error) {
	for _, p := range []identity.Permission{identity.CustomersView, identity.AccountsExport} { // before the answer begins
		if !d.Holds(p) {
			return transport.Content{}, forbidden(p)
		}
	}
	ctx = storage.WithMeter(ctx, nil) // rows leave as they are read
	return transport.Content{
		Name: "customers.csv", Type: "text/csv; charset=utf-8; header=present", NoStore: true,
		Write: func(w io.Writer) error { return customercsv.Export(ctx, d, w) },
	}, nil
}

func forbidden(p identity.Permission) error {
	return fault.Newf(fault.Forbidden, "You need the permission %s to do this.", string(p))
}

// mayImport refuses members who may not import customers, and servers that run no imports.
func (a *api) mayImport(d *helpdesk.Desk) error {
	for _, p := range []identity.Permission{identity.CustomersCreate, identity.CustomersUpdate} {
		if !d.Holds(p) {
			return forbidden(p)
		}
	}
	if a.errands == nil {
		return fault.New(fault.Disabled, "This server runs no imports.")
	}
	return nil
}

// importOf returns the import of the account.
func (a *api) importOf(ctx context.Context, d *helpdesk.Desk) (errand.Errand, error) {
	if err := a.mayImport(d); err != nil {
		return errand.Errand{}, err
	}
	return a.errands.Find(ctx, d.AccountID(), customercsv.Kind)
}

func (a *api) importCustomers(ctx context.Context, d *helpdesk.Desk, in importInput) (customerImport, error) {
	if err := a.mayImport(d); err != nil {
		return customerImport{}, err
	}
	input, err := in.input()
	if err != nil {
		return customerImport{}, err
	}
	if in.File == nil {
		return customerImport{}, fault.Field("file", "is required")
	}
	if err := d.Customers().StartImport(ctx); err != nil {
		return customerImport{}, err
	}
	content, err := in.File.Open()
	if err != nil {
		return customerImport{}, fault.Wrap(fault.Internal, "opening an upload", err)
	}
	defer content.Close()
	e, err := a.errands.Begin(ctx, errand.Order{
		AccountID: d.AccountID(), UserID: d.UserID(), Kind: customercsv.Kind, Step: in.step(), Input: input, File: in.File.Filename, Content: content,
	})
	return showImport(e), err
}

func (in importColumns) step() string {
	if in.DryRun {
		return customercsv.StepCheck
	}
	return customercsv.StepImport
}

// input returns what the import needs to know.
func (in importColumns) input() (map[string]string, error) {
	columns, given := in.Columns.Get()
	if !given {
		return map[string]string{}, nil
	}
	fields := make([]customercsv.Field, len(columns))
	for i, name := range columns {
		fields[i] = customercsv.Field(name)
	}
	if _, ok := customercsv.Parse(customercsv.Join(fields)); !ok {
		return nil, fault.Field("columns", "has an unknown field")
	}
	return map[string]string{"columns": customercsv.Join(fields)}, nil
}

func (a *api) startImport(ctx context.Context, d *helpdesk.Desk, in importColumns) (customerImport, error) {
	e, err := a.importOf(ctx, d)
	if err != nil {
		return customerImport{}, err
	}
	input, err := in.input()
	if err != nil {
		return customerImport{}, err
	}
	if !in.Columns.IsSet() {
		input = e.Input
	}
	if err := d.Customers().StartImport(ctx); err != nil {
		return customerImport{}, err
	}
	if err := a.errands.Again(ctx, e, errand.Order{Step: in.step(), Input: input, UserID: d.UserID()}); err != nil {
		return customerImport{}, err
	}
	e, err = a.importOf(ctx, d)
	return showImport(e), err
}

func (a *api) importReport(ctx context.Context, d *helpdesk.Desk, _ struct{}) (transport.Content, error) {
	e, err := a.importOf(ctx, d)
	if err != nil {
		return transport.Content{}, err
	}
	size, open, err := a.errands.Open(ctx, e, errand.ReportFile)
	if err != nil {
		return transport.Content{}, err
	}
	body, err := file.Open(size, open)
	return transport.Content{Name: "import.txt", Type: "text/plain; charset=utf-8", ModTime: e.Changed, NoStore: true, Body: body}, err
}

func showImport(e errand.Errand) customerImport {
	out := customerImport{
		AccountID: e.AccountID, Filename: e.File, DryRun: e.Step == customercsv.StepCheck, State: e.State, Reason: e.Reason,
		Progress:  importProgress{Done: e.Progress.Done, Total: e.Progress.Total},
		CreatedAt: transport.Time(e.Created), UpdatedAt: transport.Time(e.Changed),
	}
	if r := e.Report; r.Step != "" {
		out.Result = &importResult{
			DryRun: r.Step == customercsv.StepCheck, Created: r.N("created"), Updated: r.N("updated"), Unchanged: r.N("unchanged"), Failed: r.N("failed"),
			Problems: []importProblem{},
		}
		for _, n := range r.Notes {
			p := customercsv.ParseProblem(n.About, n.Text)
			out.Result.Problems = append(out.Result.Problems, importProblem{Row: p.Row, Column: p.Column, Problem: p.Text})
		}
	}
	return out
}
