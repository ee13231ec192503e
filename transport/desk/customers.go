package desk

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type customersView struct {
	Words          string
	Company        string // whose people these are; "": all
	Rows           []customerRow
	Next           string
	Import, Export string
	Choices        []choice
	Kept           [][2]string // parameters besides the words
}

type customerRow struct {
	ID                  int64
	Person              person
	URL, Email, Company string
	Since               string
}

func (v *visit) customers() error {
	q := v.r.URL.Query()
	words := strings.TrimSpace(q.Get("q"))
	fields, err := v.customersFields()
	if err != nil {
		return err
	}
	filter := fieldFilterOf(q.Get("fields"), fields)
	page, err := v.Customers().List(v.ctx(), helpdesk.CustomerQuery{Query: words, CompanyID: number(q.Get("company")), Fields: filter.queries()}, storage.PageRequest{Limit: pageSize, Cursor: q.Get("after")})
	if err != nil {
		return err
	}
	view := customersView{Words: words}
	at := func(param, after string) string {
		address := url.Values{}
		for name, value := range map[string]string{"q": words, "company": q.Get("company"), "fields": param, "after": after} {
			if value != "" {
				address.Set(name, value)
			}
		}
		return v.at("/customers") + "?" + address.Encode()
	}
	view.Choices = v.fieldChoices(fields, filter, func(param string) string { return at(param, "") })
	for _, name := range []string{"company", "fields"} {
		if value := q.Get(name); value != "" {
			view.Kept = append(view.Kept, [2]string{name, value})
		}
	}
	if id := number(q.Get("company")); id != 0 {
		of, err := v.Desk.Companies().Get(v.ctx(), id)
		if err != nil {
			return err
		}
		view.Company = of.Name
	}
	if v.mayImportTable() {
		view.Import = v.at("/customer-import")
	}
	if v.mayExportTable() {
		view.Export = v.at("/customers/export")
	}
	view.Rows = v.customerRows(page.Items, func(id int64) string { return v.at("/customers/" + itoa(id)) })
	if page.Next != "" {
		view.Next = at(q.Get("fields"), page.Next)
	}
	return v.show(screen{
		template: "customers", title: v.words.T("Customers"), data: view, nav: "customers", parts: map[string]string{"list": "customer-list", "more": "customer-rows"},
	})
}

func (v *visit) customerRows(list []helpdesk.Customer, address func(id int64) string) []customerRow {
	var rows []customerRow
	for _, c := range list {
		row := customerRow{ID: c.ID, Person: customerPerson(c), URL: address(c.ID), Company: c.Company, Since: v.month(c.CreatedAt)}
		if len(c.Emails) > 0 {
			row.Email = c.Emails[0].Email
		}
		rows = append(rows, row)
	}
	return rows
}

type customerView struct {
	Panel                 customerPanel
	Extra                 *Panel
	First, Last           string
	External              string
	Emails, Phones, Sites string
	Action                string
	CanUpdate             bool
	Rows                  []row
	Next                  string
	Summary               string
	New                   string
	Merge, Erase          string
	Keys, Export          string
	Errors                map[string]string
}

func (v *visit) customer() error {
	c, err := v.Desk.Customers().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	view, err := v.customerView(c)
	if err != nil {
		return err
	}
	return v.showCustomer(view, 0)
}

func (v *visit) showCustomer(view customerView, status int) error {
	return v.show(screen{template: "customer", title: view.Panel.Person.Name, data: view, nav: "customers", status: status, parts: map[string]string{"more": "rows"}})
}

func (v *visit) customerView(c helpdesk.Customer) (customerView, error) {
	view := customerView{
		Panel: v.customerPanel(c), First: c.FirstName, Last: c.LastName, External: c.ExternalID, Action: v.at("/customers/" + itoa(c.ID)),
		CanUpdate: v.may(identity.CustomersUpdate), Extra: v.panelOf(c, helpdesk.Conversation{}), Errors: map[string]string{},
	}
	var err error
	if view.Panel.CompanyChoice != "" {
		if view.Panel.CompanyNames, err = v.companyNames(); err != nil {
			return view, err
		}
	}
	if view.Panel.Fields, err = v.customerFields(c.ID); err != nil {
		return view, err
	}
	view.Emails, view.Phones, view.Sites = strings.Join(view.Panel.Emails, "\n"), strings.Join(view.Panel.Phones, "\n"), strings.Join(view.Panel.Sites, "\n")
	if v.may(identity.ConversationsCreate) && len(view.Panel.Emails) > 0 {
		view.New = v.at("/new") + "?to=" + url.QueryEscape(view.Panel.Emails[0])
	}
	if v.may(identity.CustomersUpdate) && v.may(identity.CustomersDelete) {
		view.Merge = view.Action + "/merge"
	}
	if v.mayUseKeys() {
		view.Keys = view.Action + "/keys"
	}
	if v.mayExport() {
		view.Export = view.Action + "/export"
	}
	if v.mayErase() {
		view.Erase = view.Action + "/erase"
	}
	if !v.may(identity.ConversationsView) {
		return view, nil
	}
	stats, err := v.Customers().Stats(v.ctx(), c.ID)
	if err != nil {
		return view, err
	}
	view.Summary = v.words.N(int(stats.Total), "%s conversation|%s conversations")
	page, err := v.Conversations().List(v.ctx(), helpdesk.ConversationQuery{CustomerID: c.ID, Spam: storage.Some(false), Sort: helpdesk.ByUpdated}, storage.PageRequest{Limit: pageSize, Cursor: v.r.URL.Query().Get("after")})
	if err != nil {
		return view, err
	}
	if page.Next != "" {
		view.Next = view.Action + "?after=" + url.QueryEscape(page.Next)
	}
	view.Rows, err = v.rows(listing{view: "all", sort: "newest", status: "all"}, page.Items, page.Next != "")
	return view, err
}

// saveCustomer changes names, company and addresses; each line of a field is one item.
func (v *visit) saveCustomer() error {
	id := v.number("id")
	old, err := v.Desk.Customers().Get(v.ctx(), id)
	if err != nil {
		return err
	}
	emails, phones, sites := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, e := range old.Emails {
		emails[e.Email] = e.ID
	}
	for _, p := range old.Phones {
		phones[p.Phone] = p.ID
	}
	for _, w := range old.Websites {
		sites[w.Website] = w.ID
	}
	in := helpdesk.CustomerInput{
		FirstName: storage.Some(v.r.PostFormValue("first_name")), LastName: storage.Some(v.r.PostFormValue("last_name")),
		Emails: storage.Some(items(v.r.PostFormValue("emails"), emails)), Phones: storage.Some(items(v.r.PostFormValue("phones"), phones)),
		Websites: storage.Some(items(v.r.PostFormValue("websites"), sites)),
	}
	if external, given := v.r.PostForm["external_id"]; given {
		in.ExternalID = storage.Some(external[0])
	}
	if _, err = v.Customers().Update(v.ctx(), id, in); fault.Is(err, fault.Invalid) {
		return v.customerNotSaved(old, err)
	}
	if err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Saved")})
	return v.see(v.at("/customers/" + itoa(id)))
}

// customerNotSaved shows the form again with its problems.
func (v *visit) customerNotSaved(old helpdesk.Customer, err error) error {
	view, failed := v.customerView(old)
	if failed != nil {
		return failed
	}
	view.First, view.Last = v.r.PostFormValue("first_name"), v.r.PostFormValue("last_name")
	view.Emails, view.Phones, view.Sites = v.r.PostFormValue("emails"), v.r.PostFormValue("phones"), v.r.PostFormValue("websites")
	view.External, view.Errors = v.r.PostFormValue("external_id"), fieldErrors(err)
	if problem := v.problems(err)["external_id"]; problem != "" {
		view.Errors["external_id"] = problem
	}
	return v.showCustomer(view, http.StatusUnprocessableEntity)
}

// items returns the lines of a field, with the ids of existing ones.
func items(lines string, known map[string]int64) []helpdesk.Item {
	var out []helpdesk.Item
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, helpdesk.Item{ID: known[line], Value: line})
		}
	}
	return out
}

// fieldErrors returns the problems of an Invalid fault by field name.
func fieldErrors(err error) map[string]string {
	out := map[string]string{}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return out
	}
	for field, problems := range f.Fields {
		name, _, _ := strings.Cut(field, "[")
		out[name] = strings.Join(problems, " ")
	}
	return out
}

// noteCustomer changes only the team's notes about a customer.
func (v *visit) noteCustomer() error {
	id := v.number("id")
	_, err := v.Customers().SetNote(v.ctx(), id, v.r.PostFormValue("note"))
	back := v.back(v.at("/customers/" + itoa(id)))
	if fault.Is(err, fault.Invalid) {
		for _, text := range v.problems(err) {
			v.say(toast{Text: text, Bad: true})
		}
		return v.see(back)
	}
	if err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Saved")})
	return v.see(back)
}

type mergeView struct {
	From, Into   customerPanel
	Chosen       bool
	Words        string
	Rows         []customerRow
	Next         string
	Action, Back string
}

// mergePage finds the duplicate of a customer and shows both before they are merged, as that cannot be undone.
func (v *visit) mergePage() error {
	if !v.may(identity.CustomersUpdate) || !v.may(identity.CustomersDelete) {
		return v.missing()
	}
	c, err := v.Desk.Customers().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	view := mergeView{From: v.customerPanel(c), Action: v.at("/customers/" + itoa(c.ID) + "/merge"), Back: v.at("/customers/" + itoa(c.ID))}
	q := v.r.URL.Query()
	if into := number(q.Get("into")); into != 0 {
		other, err := v.Desk.Customers().Get(v.ctx(), into)
		if err != nil {
			return err
		}
		view.Into, view.Chosen = v.customerPanel(other), true
	}
	if view.Words = strings.TrimSpace(q.Get("q")); view.Words != "" && !view.Chosen {
		page, err := v.Customers().List(v.ctx(), helpdesk.CustomerQuery{Query: view.Words}, storage.PageRequest{Limit: 20, Cursor: q.Get("after")})
		if err != nil {
			return err
		}
		view.Rows = v.customerRows(page.Items, func(id int64) string { return view.Action + "?into=" + itoa(id) })
		view.Rows = slices.DeleteFunc(view.Rows, func(r customerRow) bool { return r.ID == c.ID })
		if page.Next != "" {
			view.Next = view.Action + "?" + url.Values{"q": {view.Words}, "after": {page.Next}}.Encode()
		}
	}
	return v.show(screen{template: "customer-merge", title: v.words.T("Merge customers"), data: view, nav: "customers"})
}

func (v *visit) mergeCustomers() error {
	id, into := v.number("id"), v.field("into")
	merged, err := v.Customers().Merge(v.ctx(), id, into)
	if fault.Is(err, fault.Invalid) || fault.Is(err, fault.Conflict) {
		for _, text := range v.problems(err) {
			v.say(toast{Text: text, Bad: true})
		}
		return v.see(v.at("/customers/" + itoa(id) + "/merge"))
	}
	if err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Merged into %s", customerName(merged))})
	return v.see(v.at("/customers/" + itoa(into)))
}
