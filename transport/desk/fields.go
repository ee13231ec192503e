package desk

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage/fault"
)

// fieldsCard shows the fields of a conversation or customer, with a form for changing them.
type fieldsCard struct {
	Title  string
	Rows   []fieldRow // those that have a value
	Inputs []fieldInput
	Action string // "" if the member may not change them
	Here   string // the page to come back to
}

type fieldRow struct {
	Label, Value string
	URL          string // of a web address
}

// fieldInput is a field in a form. Its control has the name "f_" and the key.
type fieldInput struct {
	Key, Label string
	Type       helpdesk.FieldType
	Value      string
	Long       bool   // a text of several lines
	Options    []tick // of one, or of several
	Several    bool
	Required   bool // to close a conversation
}

// localTime is the format of a datetime-local control.
const localTime = "2006-01-02T15:04"

// conversationFields returns the fields of conversations.
func (v *visit) conversationFields() ([]helpdesk.Field, error) {
	return memoize(v.memo, &v.memo.fields, func() ([]helpdesk.Field, error) {
		set, err := v.Conversations().Fields(v.ctx(), nil)
		return set.Fields, err
	})
}

// customersFields returns the fields of customers.
func (v *visit) customersFields() ([]helpdesk.Field, error) {
	return memoize(v.memo, &v.memo.traits, func() ([]helpdesk.Field, error) {
		set, err := v.Customers().Fields(v.ctx(), nil)
		return set.Fields, err
	})
}

// fieldsCard shows the fields of a subject; nil if there are none.
func (v *visit) fieldsCard(title string, set helpdesk.FieldSet, id int64, action string) *fieldsCard {
	if len(set.Fields) == 0 {
		return nil
	}
	card := &fieldsCard{Title: title, Action: action, Here: v.h.url(v.r.URL.RequestURI())}
	for _, f := range set.Fields {
		texts := set.Values[id][f.Key]
		if len(texts) > 0 {
			row := fieldRow{Label: f.Label, Value: v.shownField(f, texts)}
			if f.Type == helpdesk.FieldURL {
				row.URL = texts[0]
			}
			card.Rows = append(card.Rows, row)
		}
		if action != "" {
			card.Inputs = append(card.Inputs, v.fieldInput(f, texts))
		}
	}
	return card
}

// shownField returns a value in the words and the time zone of the member.
func (v *visit) shownField(f helpdesk.Field, texts []string) string {
	texts = f.Shown(texts)
	for i, text := range texts {
		switch f.Type {
		case helpdesk.FieldBoolean:
			texts[i] = map[string]string{"true": v.words.T("Yes"), "false": v.words.T("No")}[text]
		case helpdesk.FieldDate:
			if day, err := time.ParseInLocation(time.DateOnly, text, v.zone); err == nil {
				texts[i] = v.day(day)
			}
		case helpdesk.FieldDatetime:
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				texts[i] = v.full(at)
			}
		case helpdesk.FieldText, helpdesk.FieldNumber, helpdesk.FieldSelect, helpdesk.FieldMultiselect, helpdesk.FieldURL:
		}
	}
	return v.words.list(texts)
}

// fieldInput returns the control of a field. Archived options are only offered where they are chosen.
func (v *visit) fieldInput(f helpdesk.Field, texts []string) fieldInput {
	in := fieldInput{Key: f.Key, Label: f.Label, Type: f.Type, Required: f.RequiredToClose, Several: f.Type == helpdesk.FieldMultiselect}
	if len(texts) > 0 {
		in.Value = texts[0]
	}
	switch f.Type {
	case helpdesk.FieldText:
		in.Long = strings.Contains(in.Value, "\n") || len(in.Value) > 60
	case helpdesk.FieldDatetime:
		if at, err := time.Parse(time.RFC3339, in.Value); err == nil {
			in.Value = at.In(v.zone).Format(localTime)
		}
	case helpdesk.FieldBoolean:
		in.Options = []tick{{Text: v.words.T("Not set"), On: in.Value == ""}, {ID: "true", Text: v.words.T("Yes"), On: in.Value == "true"}, {ID: "false", Text: v.words.T("No"), On: in.Value == "false"}}
	case helpdesk.FieldSelect, helpdesk.FieldMultiselect:
		if !in.Several {
			in.Options = []tick{{Text: v.words.T("Not set"), On: in.Value == ""}}
		}
		for _, o := range f.Options {
			if on := slices.Contains(texts, o.Value); on || !o.Archived {
				in.Options = append(in.Options, tick{ID: o.Value, Text: o.Label, On: on})
			}
		}
	case helpdesk.FieldNumber, helpdesk.FieldDate, helpdesk.FieldURL:
	}
	return in
}

// formFields reads the fields of a form: those that it names in "field", or the given one.
func (v *visit) formFields(fields []helpdesk.Field, keys ...string) (helpdesk.FieldTexts, error) {
	if err := v.r.ParseForm(); err != nil {
		return nil, fault.New(fault.Malformed, "The form could not be read.")
	}
	if len(keys) == 0 {
		keys = v.r.PostForm["field"]
	}
	texts := helpdesk.FieldTexts{}
	for _, f := range fields {
		if !slices.Contains(keys, f.Key) {
			continue
		}
		values := slices.Clone(v.r.PostForm["f_"+f.Key])
		if f.Type == helpdesk.FieldDatetime {
			for i, text := range values {
				if at, err := time.ParseInLocation(localTime, text[:min(len(text), len(localTime))], v.zone); err == nil {
					values[i] = at.UTC().Format(time.RFC3339)
				}
			}
		}
		texts[f.Key] = values
	}
	return texts, nil
}

// setConversationFields changes the fields of a conversation.
func (v *visit) setConversationFields() error {
	id := v.number("id")
	fields, err := v.conversationFields()
	if err != nil {
		return err
	}
	texts, err := v.formFields(fields)
	if err == nil {
		_, err = v.Conversations().UpdateAll(v.ctx(), []int64{id}, helpdesk.BulkUpdate{Fields: texts})
	}
	return v.fieldsSet(err, fields, v.back(v.at("/c/"+itoa(id))))
}

// setCustomerFields changes the fields of a customer.
func (v *visit) setCustomerFields() error {
	id := v.number("id")
	fields, err := v.customersFields()
	if err != nil {
		return err
	}
	texts, err := v.formFields(fields)
	if err == nil {
		_, err = v.Customers().SetFields(v.ctx(), id, texts)
	}
	return v.fieldsSet(err, fields, v.back(v.at("/customers/"+itoa(id))))
}

// setCompanyFields changes the fields of a company.
func (v *visit) setCompanyFields() error {
	id := v.number("id")
	set, err := v.Companies().Fields(v.ctx(), nil)
	if err != nil {
		return err
	}
	texts, err := v.formFields(set.Fields)
	if err == nil {
		_, err = v.Companies().SetFields(v.ctx(), id, texts)
	}
	return v.fieldsSet(err, set.Fields, v.back(v.at("/companies/"+itoa(id))))
}

// fieldsSet returns to a page with a notice, or with what is wrong with the fields.
func (v *visit) fieldsSet(err error, fields []helpdesk.Field, back string) error {
	switch problems := v.wrongFields(err, fields); {
	case len(problems) > 0:
		v.say(toast{Text: strings.Join(problems, " · "), Bad: true})
	case err != nil:
		return err
	default:
		v.say(toast{Text: v.words.T("Saved")})
	}
	return v.see(back)
}

// wrongFields says what is wrong with the values of fields, by their labels; nil if an error is about something else.
func (v *visit) wrongFields(err error, fields []helpdesk.Field) []string {
	var said []string
	for field, problem := range wholeFields(err) {
		key, found := strings.CutPrefix(strings.TrimSuffix(field, "]"), "fields[")
		if !found {
			return nil
		}
		for _, f := range fields {
			if f.Key == key {
				key = f.Label
			}
		}
		said = append(said, key+": "+v.words.T(cmp.Or(plain[problem], problem)))
	}
	slices.Sort(said)
	return said
}

// columns returns the fields that the list of a view shows.
func (v *visit) columns(l listing) ([]helpdesk.Field, error) {
	kind, id, _ := strings.Cut(l.view, "-")
	if kind != "view" {
		return nil, nil
	}
	one, err := v.Views().Get(v.ctx(), number(id))
	if err != nil || len(one.Columns) == 0 {
		return nil, err
	}
	fields, err := v.conversationFields()
	var shown []helpdesk.Field
	for _, key := range one.Columns {
		if i := slices.IndexFunc(fields, func(f helpdesk.Field) bool { return f.Key == key }); i >= 0 {
			shown = append(shown, fields[i])
		}
	}
	return shown, err
}

// fillCells adds the columns of a view to rows, with one read for all.
func (v *visit) fillCells(rows []row, columns []helpdesk.Field) error {
	if len(columns) == 0 || len(rows) == 0 {
		return nil
	}
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	set, err := v.Conversations().Fields(v.ctx(), ids)
	if err != nil {
		return err
	}
	for i := range rows {
		for _, f := range columns {
			cell := fieldRow{Label: f.Label}
			if texts := set.Values[rows[i].ID][f.Key]; len(texts) > 0 {
				cell.Value = v.shownField(f, texts)
			}
			rows[i].Cells = append(rows[i].Cells, cell)
		}
	}
	return nil
}

// fieldPrefix begins the ids of conditions on fields.
const fieldPrefix = "field."

// fieldConditions returns the conditions that views can have on fields.
func (v *visit) fieldConditions() (kinds []tick, fields []helpdesk.Field, err error) {
	if fields, err = v.conversationFields(); err != nil {
		return nil, nil, err
	}
	for _, f := range fields {
		kinds = append(kinds, tick{ID: fieldPrefix + f.Key, Text: f.Label})
	}
	return kinds, fields, nil
}

// fillFieldCondition fills in the choices of a condition on a field.
func (v *visit) fillFieldCondition(row *condition, f helpdesk.Field, q helpdesk.FieldQuery) {
	now := ""
	if len(q.Values) > 0 {
		now = q.Values[0]
	}
	row.Presence = []tick{
		{Text: v.words.T("This value"), On: q.Empty == nil}, {ID: anyValue, Text: v.words.T("Any value"), On: q.Empty != nil && !*q.Empty},
		{ID: noValue, Text: v.words.T("No value"), On: q.Empty != nil && *q.Empty},
	}
	switch f.Type {
	case helpdesk.FieldSelect, helpdesk.FieldMultiselect:
		for _, o := range f.Options {
			row.Several = append(row.Several, tick{ID: o.Value, Text: o.Label, On: slices.Contains(q.Values, o.Value)})
		}
	case helpdesk.FieldBoolean:
		yes := now == "true"
		row.One = either(&yes, v.words.T("Yes"), v.words.T("No"))
		if now == "" {
			row.One = either(nil, v.words.T("Yes"), v.words.T("No"))
		}
	case helpdesk.FieldNumber, helpdesk.FieldDate, helpdesk.FieldDatetime:
		row.Range, row.From, row.To = "text", cmp.Or(q.From, now), cmp.Or(q.To, now)
		if f.Type != helpdesk.FieldNumber {
			row.Range, row.From, row.To = "date", row.From[:min(len(row.From), len(time.DateOnly))], row.To[:min(len(row.To), len(time.DateOnly))]
		}
	case helpdesk.FieldText, helpdesk.FieldURL:
		row.Text, row.IsText = now, true
	}
}

// readFieldCondition reads a condition on a field from the form.
func (v *visit) readFieldCondition(f *helpdesk.ViewFilter, key string) {
	name := "c_" + fieldPrefix + key
	q := helpdesk.FieldQuery{From: v.r.PostFormValue(name + "_from"), To: v.r.PostFormValue(name + "_to")}
	for _, value := range v.r.PostForm[name] {
		switch value {
		case "yes":
			value = "true"
		case "no":
			value = "false"
		}
		q.Values = append(q.Values, value)
	}
	switch v.r.PostFormValue(name + "_is") {
	case anyValue:
		q = helpdesk.FieldQuery{Empty: new(false)}
	case noValue:
		q = helpdesk.FieldQuery{Empty: new(true)}
	}
	if f.Fields == nil {
		f.Fields = helpdesk.FieldQueries{}
	}
	f.Fields[key] = q
}

// saidFields says what a filter demands of fields.
func (v *visit) saidFields(queries helpdesk.FieldQueries) ([]string, error) {
	if len(queries) == 0 {
		return nil, nil
	}
	fields, err := v.conversationFields()
	if err != nil {
		return nil, err
	}
	var said []string
	for _, f := range fields {
		q, given := queries[f.Key]
		if !given {
			continue
		}
		var parts []string
		for _, value := range q.Values {
			parts = append(parts, v.shownField(f, []string{value}))
		}
		if q.From != "" {
			parts = append(parts, v.words.T("at least %s", q.From))
		}
		if q.To != "" {
			parts = append(parts, v.words.T("at most %s", q.To))
		}
		if q.Empty != nil {
			parts = append(parts, map[bool]string{true: v.words.T("No value"), false: v.words.T("Any value")}[*q.Empty])
		}
		if len(parts) > 0 {
			said = append(said, f.Label+": "+v.words.list(parts))
		}
	}
	return said, nil
}

// unlessFields returns to a page that says which fields are missing or wrong; other errors are returned.
func (v *visit) unlessFields(err error, back string) error {
	fields, failed := v.conversationFields()
	if failed != nil || len(v.wrongFields(err, fields)) == 0 {
		return err
	}
	return v.fieldsSet(err, fields, back)
}
