package desk

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// routeCompanies registers the pages of companies.
func (h *Handler) routeCompanies() {
	h.routeMembers(map[string]func(*visit) error{
		"GET /companies":               (*visit).companiesPage,
		"POST /companies":              (*visit).addCompany,
		"GET /companies/{id}":          (*visit).companyPage,
		"POST /companies/{id}":         (*visit).saveCompany,
		"POST /companies/{id}/fields":  (*visit).setCompanyFields,
		"GET /companies/{id}/merge":    (*visit).mergeCompanyPage,
		"POST /companies/{id}/merge":   (*visit).mergeCompany,
		"POST /companies/{id}/delete":  (*visit).deleteCompany,
		"POST /customers/{id}/company": (*visit).chooseCompany,
	})
}

type companiesView struct {
	Words, Action string
	Rows          []companyRow
	Next          string
	CanAdd        bool
	Form          companyForm
}

type companyRow struct {
	ID             int64
	Name, URL      string
	Domains, Since string
}

// companyForm is what a form of a company has.
type companyForm struct {
	Name, Domains, External, Note string
	Errors                        map[string]string
}

func (v *visit) companiesPage() error { return v.listCompanies(companyForm{}, 0) }

func (v *visit) listCompanies(form companyForm, status int) error {
	q := v.r.URL.Query()
	words := strings.TrimSpace(q.Get("q"))
	view := companiesView{Words: words, Action: v.at("/companies"), CanAdd: v.may(identity.CompaniesCreate), Form: form}
	view.Form.Errors = orEmpty(form.Errors)
	var err error
	if view.Rows, view.Next, err = v.companyRows(words, view.Action, func(id int64) string { return v.at("/companies/" + itoa(id)) }); err != nil {
		return err
	}
	return v.show(screen{
		template: "companies", title: v.words.T("Companies"), data: view, nav: "companies", status: status,
		parts: map[string]string{"list": "company-list", "more": "company-rows"},
	})
}

// companyRows finds companies by a part of their names, or by a domain. next is the address of more.
func (v *visit) companyRows(words, list string, address func(id int64) string) (rows []companyRow, next string, err error) {
	query := helpdesk.CompanyQuery{Query: words}
	after := v.r.URL.Query().Get("after")
	page, err := v.Companies().List(v.ctx(), query, storage.PageRequest{Limit: pageSize, Cursor: after})
	if err == nil && strings.Contains(words, ".") && len(page.Items) == 0 {
		page, err = v.Companies().List(v.ctx(), helpdesk.CompanyQuery{Domain: words}, storage.PageRequest{})
	}
	if err != nil {
		return nil, "", err
	}
	for _, c := range page.Items {
		rows = append(rows, companyRow{ID: c.ID, Name: c.Name, URL: address(c.ID), Domains: strings.Join(c.Domains, ", "), Since: v.month(c.CreatedAt)})
	}
	if page.Next != "" {
		next = list + "?" + url.Values{"q": {words}, "after": {page.Next}}.Encode()
	}
	return rows, next, nil
}

// companyInput reads the form of a company; each line of the domains is one.
func (v *visit) companyInput() (companyForm, helpdesk.CompanyInput) {
	form := companyForm{
		Name: v.r.PostFormValue("name"), Domains: v.r.PostFormValue("domains"), External: v.r.PostFormValue("external_id"), Note: v.r.PostFormValue("note"),
	}
	return form, helpdesk.CompanyInput{
		Name: form.Name, Domains: storage.Some(strings.Fields(strings.ReplaceAll(form.Domains, ",", " "))), ExternalID: storage.Some(form.External),
		Note: storage.Some(form.Note),
	}
}

func (v *visit) addCompany() error {
	form, in := v.companyInput()
	c, err := v.Companies().Create(v.ctx(), in)
	if fault.Is(err, fault.Invalid) {
		form.Errors = v.problems(err)
		return v.listCompanies(form, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Company added")})
	return v.see(v.at("/companies/" + itoa(c.ID)))
}

type companyView struct {
	ID                    int64
	Name, Since           string
	Note, External        string
	Domains               []string
	Action, Merge, Delete string
	CanUpdate             bool
	Form                  companyForm
	People                []customerRow
	More                  string // address of all people
	Rows                  []row
	Next                  string
	SeesPeople, SeesTalks bool
	Fields                *fieldsCard
}

func (v *visit) companyPage() error {
	c, err := v.Companies().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	return v.showCompany(c, companyForm{Name: c.Name, Domains: strings.Join(c.Domains, "\n"), External: c.ExternalID, Note: c.Note}, 0)
}

func (v *visit) showCompany(c helpdesk.Company, form companyForm, status int) error {
	view := companyView{
		ID: c.ID, Name: c.Name, Since: v.words.T("Customer since %s", v.month(c.CreatedAt)), Note: c.Note, External: c.ExternalID, Domains: c.Domains,
		Action: v.at("/companies/" + itoa(c.ID)), CanUpdate: v.may(identity.CompaniesUpdate), Form: form,
	}
	view.Form.Errors = orEmpty(form.Errors)
	if v.may(identity.CompaniesDelete) {
		view.Delete = view.Action + "/delete"
	}
	if view.CanUpdate && view.Delete != "" {
		view.Merge = view.Action + "/merge"
	}
	set, err := v.Companies().Fields(v.ctx(), []int64{c.ID})
	if err != nil {
		return err
	}
	action := ""
	if view.CanUpdate {
		action = view.Action + "/fields"
	}
	view.Fields = v.fieldsCard(v.words.T("Fields"), set, c.ID, action)
	if err := v.fillCompany(c, &view); err != nil {
		return err
	}
	return v.show(screen{template: "company", title: c.Name, data: view, nav: "companies", status: status, parts: map[string]string{"more": "rows"}})
}

// fillCompany adds the people of a company and their conversations.
func (v *visit) fillCompany(c helpdesk.Company, view *companyView) error {
	if v.may(identity.CustomersView) {
		page, err := v.Customers().List(v.ctx(), helpdesk.CustomerQuery{CompanyID: c.ID}, storage.PageRequest{Limit: 20})
		if err != nil {
			return err
		}
		view.SeesPeople = true
		view.People = v.customerRows(page.Items, func(id int64) string { return v.at("/customers/" + itoa(id)) })
		for i := range view.People {
			view.People[i].Company = ""
			if p := &view.People[i]; p.Email == p.Person.Name {
				p.Email = ""
			}
		}
		if page.Next != "" {
			view.More = v.at("/customers") + "?company=" + itoa(c.ID)
		}
	}
	if !v.may(identity.ConversationsView) {
		return nil
	}
	view.SeesTalks = true
	q := helpdesk.ConversationQuery{CompanyID: c.ID, Spam: storage.Some(false), Sort: helpdesk.ByUpdated}
	page, err := v.Conversations().List(v.ctx(), q, storage.PageRequest{Limit: pageSize, Cursor: v.r.URL.Query().Get("after")})
	if err != nil {
		return err
	}
	if page.Next != "" {
		view.Next = view.Action + "?after=" + url.QueryEscape(page.Next)
	}
	view.Rows, err = v.rows(listing{view: "all", sort: "newest", status: "all"}, page.Items, page.Next != "")
	return err
}

func (v *visit) saveCompany() error {
	id := v.number("id")
	form, in := v.companyInput()
	_, err := v.Companies().Update(v.ctx(), id, in)
	if fault.Is(err, fault.Invalid) {
		old, failed := v.Companies().Get(v.ctx(), id)
		if failed != nil {
			return failed
		}
		form.Errors = v.problems(err)
		return v.showCompany(old, form, http.StatusUnprocessableEntity)
	}
	if err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Saved")})
	return v.see(v.at("/companies/" + itoa(id)))
}

func (v *visit) deleteCompany() error {
	if err := v.Companies().Delete(v.ctx(), v.number("id")); err != nil {
		return v.instead(err, v.at("/companies"))
	}
	v.say(toast{Text: v.words.T("Company deleted")})
	return v.see(v.at("/companies"))
}

type mergeCompanyView struct {
	From, Into   companyRow
	Chosen       bool
	Words        string
	Rows         []companyRow
	Next         string
	Action, Back string
}

// mergeCompanyPage finds the duplicate of a company and shows both before they are merged, as that cannot be undone.
func (v *visit) mergeCompanyPage() error {
	if !v.may(identity.CompaniesUpdate) || !v.may(identity.CompaniesDelete) {
		return v.missing()
	}
	row := func(id int64) (companyRow, error) {
		c, err := v.Companies().Get(v.ctx(), id)
		return companyRow{ID: c.ID, Name: c.Name, URL: v.at("/companies/" + itoa(c.ID)), Domains: strings.Join(c.Domains, ", "), Since: v.month(c.CreatedAt)}, err
	}
	from, err := row(v.number("id"))
	if err != nil {
		return err
	}
	view := mergeCompanyView{From: from, Action: from.URL + "/merge", Back: from.URL}
	q := v.r.URL.Query()
	if into := number(q.Get("into")); into != 0 {
		if view.Into, err = row(into); err != nil {
			return err
		}
		view.Chosen = true
	}
	if view.Words = strings.TrimSpace(q.Get("q")); view.Words != "" && !view.Chosen {
		view.Rows, view.Next, err = v.companyRows(view.Words, view.Action, func(id int64) string { return view.Action + "?into=" + itoa(id) })
		if err != nil {
			return err
		}
		view.Rows = slices.DeleteFunc(view.Rows, func(r companyRow) bool { return r.ID == from.ID })
	}
	return v.show(screen{
		template: "company-merge", title: v.words.T("Merge companies"), data: view, nav: "companies",
		parts: map[string]string{"list": "company-merge-list", "more": "company-rows"},
	})
}

func (v *visit) mergeCompany() error {
	id, into := v.number("id"), v.field("into")
	merged, err := v.Companies().Merge(v.ctx(), id, into)
	if err != nil {
		return v.instead(err, v.at("/companies/"+itoa(id)+"/merge"))
	}
	v.say(toast{Text: v.words.T("Merged into %s", merged.Name)})
	return v.see(v.at("/companies/" + itoa(into)))
}

// chooseCompany gives a customer the company with a name. One that does not exist is added if the member may do so, and otherwise
// stays a text.
func (v *visit) chooseCompany() error {
	id := v.number("id")
	back := v.back(v.at("/customers/" + itoa(id)))
	c, err := v.Desk.Customers().Get(v.ctx(), id)
	if err != nil {
		return err
	}
	name := strings.TrimSpace(v.r.PostFormValue("company"))
	in := helpdesk.CustomerInput{FirstName: storage.Some(c.FirstName), Company: storage.Some(name)}
	if c.FirstName == "" {
		in.FirstName = storage.Some(customerName(c))
	}
	c, err = v.Customers().Update(v.ctx(), id, in)
	if err == nil && name != "" && c.CompanyID == 0 && v.may(identity.CompaniesCreate) {
		err = v.addFor(c, in)
	}
	if err != nil {
		return v.instead(err, back)
	}
	v.say(toast{Text: v.words.T("Saved")})
	return v.see(back)
}

// addFor adds the company that a customer has as text, unless there are several of this name.
func (v *visit) addFor(c helpdesk.Customer, in helpdesk.CustomerInput) error {
	found, err := v.Companies().List(v.ctx(), helpdesk.CompanyQuery{Query: c.Company}, storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil || slices.ContainsFunc(found.Items, func(o helpdesk.Company) bool { return strings.EqualFold(o.Name, c.Company) }) {
		return err
	}
	made, err := v.Companies().Create(v.ctx(), helpdesk.CompanyInput{Name: c.Company})
	if err != nil {
		return err
	}
	in.CompanyID = storage.Some(made.ID)
	_, err = v.Customers().Update(v.ctx(), c.ID, in)
	return err
}

// companyNames lists some names of companies to choose from.
func (v *visit) companyNames() ([]string, error) {
	if !v.may(identity.CompaniesView) {
		return nil, nil
	}
	page, err := v.Companies().List(v.ctx(), helpdesk.CompanyQuery{}, storage.PageRequest{Limit: storage.MaxLimit})
	names := make([]string, len(page.Items))
	for i, c := range page.Items {
		names[i] = c.Name
	}
	slices.Sort(names)
	return slices.Compact(names), err
}
