package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
	"github.com/helpwright/helpwright/transport/form"
)

// field as the API shows it.
type field struct {
	ID              int64          `json:"id"`
	Key             string         `json:"key" description:"Names the field in fields, filters and placeholders."`
	Label           string         `json:"label"`
	AppliesTo       string         `json:"applies_to" enum:"conversation,customer,company"`
	Type            string         `json:"type" enum:"text,number,boolean,date,datetime,select,multiselect,url"`
	Options         []fieldOption  `json:"options" description:"Of a select or multiselect, in order."`
	RequiredToClose bool           `json:"required_to_close" description:"Members close a conversation only if the field has a value."`
	CustomerVisible bool           `json:"customer_visible" description:"Customers see it in the portal, and can set it there in a new conversation."`
	SortOrder       int64          `json:"sort_order"`
	CreatedAt       transport.Time `json:"created_at"`
	UpdatedAt       transport.Time `json:"updated_at"`
}

type fieldOption struct {
	Value    string `json:"value" description:"What is stored."`
	Label    string `json:"label"`
	Archived bool   `json:"archived" description:"It can no longer be chosen. What has the value keeps it."`
}

type fieldOptionInput struct {
	Value    string `json:"value" maxLength:"100" example:"gold" description:"Default: made from the label."`
	Label    string `json:"label" maxLength:"100" example:"Gold" description:"Default: the value."`
	Archived bool   `json:"archived" description:"Whether it can no longer be chosen."`
}

type fieldInput struct {
	Key             string                          `json:"key" maxLength:"40" example:"plan" description:"Letters a-z, digits and _, beginning with a letter; it cannot be changed. Default: made from the label."`
	Label           string                          `json:"label" required:"true" maxLength:"100" example:"Plan" description:"Name of the field."`
	AppliesTo       string                          `json:"applies_to" required:"true" enum:"conversation,customer,company" example:"conversation" description:"It cannot be changed."`
	Type            string                          `json:"type" required:"true" enum:"text,number,boolean,date,datetime,select,multiselect,url" example:"text" description:"It cannot be changed."`
	Options         storage.Opt[[]fieldOptionInput] `json:"options" maxItems:"1000" description:"Required for select and multiselect, and only for these."`
	RequiredToClose storage.Opt[bool]               `json:"required_to_close" description:"Only for fields of conversations."`
	CustomerVisible storage.Opt[bool]               `json:"customer_visible" description:"Whether customers see it in the portal."`
	SortOrder       storage.Opt[int64]              `json:"sort_order" description:"Fields are shown by it, then by id."`
}

type fieldID struct {
	FieldID int64 `path:"field_id"`
}

type fieldUpdate struct {
	fieldID
	Key             string                          `json:"key" maxLength:"40" description:"As before or absent."`
	Label           string                          `json:"label" required:"true" maxLength:"100" example:"Plan" description:"Name of the field."`
	AppliesTo       string                          `json:"applies_to" enum:"conversation,customer,company" description:"As before or absent."`
	Type            string                          `json:"type" enum:"text,number,boolean,date,datetime,select,multiselect,url" description:"As before or absent."`
	Options         storage.Opt[[]fieldOptionInput] `json:"options" maxItems:"1000" description:"Replace the options. 422 if one is left out that is in use: archive it instead."`
	RequiredToClose storage.Opt[bool]               `json:"required_to_close" description:"Only for fields of conversations."`
	CustomerVisible storage.Opt[bool]               `json:"customer_visible" description:"Whether customers see it in the portal."`
	SortOrder       storage.Opt[int64]              `json:"sort_order"`
}

type fieldList struct {
	transport.Paging
	AppliesTo words `query:"applies_to" enum:"conversation,customer,company" description:"Any of these. Default: all."`
}

// CheckInput refuses unknown kinds.
func (in *fieldList) CheckInput(problem func(field, text string)) {
	for _, kind := range in.AppliesTo {
		among(problem, "applies_to", kind, "conversation", "customer", "company")
	}
}

// formField is a field that contact forms ask for, as customers see it.
type formField struct {
	Key     string            `json:"key" description:"Names the field in fields of a new conversation."`
	Label   string            `json:"label" description:"What customers are asked."`
	Type    string            `json:"type" enum:"text,number,boolean,date,datetime,select,multiselect,url" description:"Type of the value."`
	Options []formFieldOption `json:"options" description:"What can be chosen in a select or multiselect, in order."`
}

type formFieldOption struct {
	Value string `json:"value" description:"What is stored."`
	Label string `json:"label" description:"What customers choose."`
}

type formFieldList struct {
	transport.Paging
	MailboxID int64 `query:"mailbox_id" description:"Default: the account's default mailbox."`
}

func showFormField(f helpdesk.Field) formField {
	out := formField{Key: f.Key, Label: f.Label, Type: string(f.Type), Options: []formFieldOption{}}
	for _, o := range f.Options {
		if !o.Archived {
			out.Options = append(out.Options, formFieldOption{Value: o.Value, Label: o.Label})
		}
	}
	return out
}

// fieldValues are values of fields in an input, by key.
type fieldValues map[string]fieldTexts

// EncodedAs describes the JSON to the document's generator.
func (fieldValues) EncodedAs() any { return map[string]any(nil) }

// texts returns the values for the service.
func (v fieldValues) texts() helpdesk.FieldTexts {
	if v == nil {
		return nil
	}
	all := make(helpdesk.FieldTexts, len(v))
	for key, texts := range v {
		all[key] = texts
	}
	return all
}

// fieldTexts are the values of one field in an input: a text, a number, true, false, null or a list.
type fieldTexts []string

// BindNode reads the values; the service checks their type.
func (v *fieldTexts) BindNode(n *form.Node) (problem string) {
	*v = nil
	if n.Kind() == form.Null {
		return ""
	}
	items, _, problem := n.Items(helpdesk.MaxFieldOptions)
	if problem != "" { // a single value
		items = []form.Item{{Node: n}}
	}
	for _, item := range items {
		switch item.Node.Kind() {
		case form.Text, form.Number, form.Bool:
			if !item.Node.Valid() {
				return "must be valid UTF-8 without NUL"
			}
			*v = append(*v, item.Node.Text())
		case form.Null, form.List, form.Group, form.Upload:
			return "must be a value, or a list of values for a multiselect"
		}
	}
	return ""
}

// fieldCondition is a condition on a field in a query: a value, a list of values, or an object with from and to, or with empty.
type fieldCondition struct {
	Values []string `json:"values" description:"Any of these."`
	From   string   `json:"from" description:"At least this."`
	To     string   `json:"to" description:"At most this."`
	Empty  *bool    `json:"empty" description:"True: there is no value. False: there is one."`
}

// BindNode reads the condition; the service checks the type of its values.
func (c *fieldCondition) BindNode(n *form.Node) (problem string) {
	*c = fieldCondition{}
	from, to, values, empty := n.Get("from"), n.Get("to"), n.Get("values"), n.Get("empty")
	if from == nil && to == nil && values == nil && empty == nil {
		values = n
	}
	if text := empty.Text(); text != "" {
		is, err := strconv.ParseBool(text)
		if err != nil {
			return "must have true or false for empty"
		}
		c.Empty = &is
	}
	for _, bound := range []*form.Node{from, to} {
		switch bound.Kind() {
		case form.Null, form.Text, form.Number:
		case form.Bool, form.List, form.Group, form.Upload:
			return "must be a value, or have from and to"
		}
	}
	c.From, c.To = from.Text(), to.Text()
	return (*fieldTexts)(&c.Values).BindNode(values)
}

// fieldConditions are the conditions on fields of a list, by key.
type fieldConditions map[string]fieldCondition

func (c fieldConditions) query() helpdesk.FieldQueries {
	if c == nil {
		return nil
	}
	all := make(helpdesk.FieldQueries, len(c))
	for key, one := range c {
		all[key] = helpdesk.FieldQuery(one)
	}
	return all
}

const (
	fieldsPath     = accountPath + "/fields"
	fieldPath      = fieldsPath + "/{field_id}"
	formFieldsPath = accountPath + "/form-fields"
)

func (a *api) addFields(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Fields", Summary: summary, Description: description}
	}
	create := op("createField", http.MethodPost, fieldsPath, "Create a field",
		"At most 100 of each kind. 422 if another field of the kind has the key. Needs fields.create.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in fieldInput) (field, error) {
		f, err := d.Fields().Create(ctx, in.input())
		return showField(f), err
	})
	transport.HandlePage(t, a.desk, op("listFields", http.MethodGet, fieldsPath, "List fields", "Oldest first. Needs fields.view."),
		func(ctx context.Context, d *helpdesk.Desk, in fieldList) (storage.Page[field], error) {
			var kinds []helpdesk.FieldKind
			for _, kind := range in.AppliesTo {
				kinds = append(kinds, helpdesk.FieldKind(kind))
			}
			page, err := d.Fields().List(ctx, kinds, in.Request())
			return mapPage(page, showField), err
		})
	transport.Handle(t, a.desk, op("getField", http.MethodGet, fieldPath, "Retrieve a field", "Needs fields.view."),
		func(ctx context.Context, d *helpdesk.Desk, in fieldID) (field, error) {
			f, err := d.Fields().Get(ctx, in.FieldID)
			return showField(f), err
		})
	transport.Handle(t, a.desk, op("updateField", http.MethodPut, fieldPath, "Update a field", "Omitted attributes stay unchanged. Needs fields.update."),
		func(ctx context.Context, d *helpdesk.Desk, in fieldUpdate) (field, error) {
			f, err := d.Fields().Update(ctx, in.FieldID, fieldInput{
				Key: in.Key, Label: in.Label, AppliesTo: in.AppliesTo, Type: in.Type, Options: in.Options,
				RequiredToClose: in.RequiredToClose, CustomerVisible: in.CustomerVisible, SortOrder: in.SortOrder,
			}.input())
			return showField(f), err
		})
	transport.HandleEmpty(t, a.desk, slow(op("deleteField", http.MethodDelete, fieldPath, "Delete a field",
		"Deletes all its values. 409 if a view or the contact form of a mailbox uses it; `errors` names them. Needs fields.delete.")),
		func(ctx context.Context, d *helpdesk.Desk, in fieldID) error {
			return d.Fields().Delete(ctx, in.FieldID)
		})
	asked := op("listFormFields", http.MethodGet, formFieldsPath, "List the fields of a contact form",
		"What contact forms of a mailbox ask for, in order; see form_fields of mailboxes. Answers are fields of a new conversation. "+
			"Needs mailboxes.view, or a portal token.")
	asked.Customers = true
	transport.HandlePage(t, a.talk, asked, both(
		func(ctx context.Context, d *helpdesk.Desk, in formFieldList) (storage.Page[formField], error) {
			fields, err := d.Mailboxes().FormFields(ctx, in.MailboxID)
			return pageFormFields(fields, err, in.Paging)
		},
		func(ctx context.Context, p *helpdesk.Portal, in formFieldList) (storage.Page[formField], error) {
			fields, err := p.FormFields(ctx, in.MailboxID)
			return pageFormFields(fields, err, in.Paging)
		}))
}

// pageFormFields returns a page of the fields of a form, in their order.
func pageFormFields(fields []helpdesk.Field, err error, p transport.Paging) (storage.Page[formField], error) {
	if err != nil {
		return storage.Page[formField]{}, err
	}
	place := func(f helpdesk.Field) int64 {
		return 1 + int64(slices.IndexFunc(fields, func(o helpdesk.Field) bool { return o.ID == f.ID }))
	}
	page, err := pageOf(p, fields, place)
	return mapPage(page, showFormField), err
}

func (in fieldInput) input() helpdesk.FieldInput {
	out := helpdesk.FieldInput{
		Key: in.Key, Label: in.Label, AppliesTo: helpdesk.FieldKind(in.AppliesTo), Type: helpdesk.FieldType(in.Type),
		RequiredToClose: in.RequiredToClose, CustomerVisible: in.CustomerVisible, SortOrder: in.SortOrder,
	}
	if in.Options.IsSet() {
		options := []helpdesk.FieldOption{}
		for _, o := range in.Options.Or(nil) {
			options = append(options, helpdesk.FieldOption(o))
		}
		out.Options = storage.Some(options)
	}
	return out
}

func showField(f helpdesk.Field) field {
	out := field{
		ID: f.ID, Key: f.Key, Label: f.Label, AppliesTo: string(f.AppliesTo), Type: string(f.Type), Options: []fieldOption{},
		RequiredToClose: f.RequiredToClose, CustomerVisible: f.CustomerVisible, SortOrder: f.SortOrder,
		CreatedAt: transport.Time(f.CreatedAt), UpdatedAt: transport.Time(f.UpdatedAt),
	}
	for _, o := range f.Options {
		out.Options = append(out.Options, fieldOption(o))
	}
	return out
}

// showFields shows the values of a subject: all fields, null without a value.
func showFields(set helpdesk.FieldSet, subject int64) map[string]any {
	shown := make(map[string]any, len(set.Fields))
	for _, f := range set.Fields {
		texts := set.Values[subject][f.Key]
		switch {
		case f.Type == helpdesk.FieldMultiselect:
			shown[f.Key] = listed(texts)
		case len(texts) == 0:
			shown[f.Key] = nil
		case f.Type == helpdesk.FieldNumber:
			shown[f.Key] = json.Number(texts[0])
		case f.Type == helpdesk.FieldBoolean:
			shown[f.Key] = texts[0] == "true"
		default:
			shown[f.Key] = texts[0]
		}
	}
	return shown
}

// showCustomers shows customers with their fields.
func showCustomers(ctx context.Context, d *helpdesk.Desk, rows []helpdesk.Customer) ([]customer, error) {
	set, err := d.Customers().Fields(ctx, ids(rows, func(c helpdesk.Customer) []int64 { return []int64{c.ID} }))
	if err != nil {
		return nil, err
	}
	shown := make([]customer, len(rows))
	for i, c := range rows {
		shown[i] = showCustomer(d, c)
		shown[i].Fields = showFields(set, c.ID)
	}
	return shown, nil
}

// oneCustomer shows a customer with the fields.
func oneCustomer(ctx context.Context, d *helpdesk.Desk, c helpdesk.Customer, err error) (customer, error) {
	if err != nil {
		return customer{}, err
	}
	shown, err := showCustomers(ctx, d, []helpdesk.Customer{c})
	if err != nil {
		return customer{}, err
	}
	return shown[0], nil
}

// customerWith shows an exported customer with the fields.
func customerWith(d *helpdesk.Desk, found helpdesk.CustomerExport) customer {
	shown := showCustomer(d, found.Customer)
	shown.Fields = showFields(found.Fields, found.Customer.ID)
	return shown
}
