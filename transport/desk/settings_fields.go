package desk

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type fieldsView struct {
	Groups    []fieldGroup
	New       string
	CanCreate bool
}

// fieldGroup are the fields of a kind.
type fieldGroup struct {
	Title string
	Rows  []fieldLine
}

type fieldLine struct {
	Label, Key, Kind, URL string
	Required, Public      bool
}

// kindTexts and typeTexts name the kinds and the types of fields, in order.
var (
	kindTexts = []tick{
		{ID: string(helpdesk.FieldOfConversation), Text: say("Conversations")}, {ID: string(helpdesk.FieldOfCustomer), Text: say("Customers")},
		{ID: string(helpdesk.FieldOfCompany), Text: say("Companies")},
	}
	typeTexts = []tick{
		{ID: string(helpdesk.FieldText), Text: say("Text")}, {ID: string(helpdesk.FieldNumber), Text: say("Number")},
		{ID: string(helpdesk.FieldBoolean), Text: say("Yes or no")}, {ID: string(helpdesk.FieldDate), Text: say("Date")},
		{ID: string(helpdesk.FieldDatetime), Text: say("Date and time")}, {ID: string(helpdesk.FieldSelect), Text: say("One of several options")},
		{ID: string(helpdesk.FieldMultiselect), Text: say("Several options")}, {ID: string(helpdesk.FieldURL), Text: say("Web address")},
	}
)

// named returns ticks in the member's language, of which one is chosen.
func (v *visit) chosen(all []tick, id string) []tick {
	out := make([]tick, len(all))
	for i, one := range all {
		out[i] = tick{ID: one.ID, Text: v.words.T(one.Text), On: one.ID == id}
	}
	return out
}

// fieldsPage lists the fields of each kind.
func (v *visit) fieldsPage() error {
	view := fieldsView{New: v.at("/settings/fields/new"), CanCreate: v.may(identity.FieldsCreate)}
	for _, kind := range kindTexts {
		group := fieldGroup{Title: v.words.T(kind.Text)}
		page, err := v.Fields().List(v.ctx(), []helpdesk.FieldKind{helpdesk.FieldKind(kind.ID)}, storage.PageRequest{Limit: storage.MaxLimit})
		if err != nil {
			return err
		}
		slices.SortStableFunc(page.Items, func(a, b helpdesk.Field) int { return int(a.SortOrder - b.SortOrder) })
		for _, f := range page.Items {
			line := fieldLine{Label: f.Label, Key: f.Key, URL: v.at("/settings/fields/" + itoa(f.ID)), Required: f.RequiredToClose, Public: f.CustomerVisible}
			for _, t := range typeTexts {
				if t.ID == string(f.Type) {
					line.Kind = v.words.T(t.Text)
				}
			}
			group.Rows = append(group.Rows, line)
		}
		if len(group.Rows) > 0 {
			view.Groups = append(view.Groups, group)
		}
	}
	return v.settingsPage("fields", v.words.T("Fields"), view, 0)
}

// fieldView is the form of a field.
type fieldView struct {
	Title, Label, Key, Action, List string
	Kinds, Types                    []tick // to choose from, of a new field
	Kind, Type                      string // of another one
	Options                         []helpdesk.FieldOption
	More                            string // options to add, one per line
	HasOptions, OfConversation      bool
	Required, Public                bool
	Order                           int64
	New, CanUpdate, CanDelete       bool
	Errors                          map[string]string
}

func (v *visit) newFieldPage() error {
	kind := v.r.URL.Query().Get("kind")
	return v.showField(helpdesk.Field{AppliesTo: helpdesk.FieldKind(kind)}, "", nil, 0)
}

func (v *visit) fieldPage() error {
	f, err := v.Fields().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	return v.showField(f, "", nil, 0)
}

// showField shows the form of a field: a new one has no id.
func (v *visit) showField(f helpdesk.Field, more string, problems map[string]string, status int) error {
	view := fieldView{
		Title: f.Label, Label: f.Label, Key: f.Key, Action: v.at("/settings/fields/" + itoa(f.ID)), List: v.at("/settings/fields"),
		Options: f.Options, More: more, HasOptions: f.Type.HasOptions(), OfConversation: f.AppliesTo == helpdesk.FieldOfConversation,
		Required: f.RequiredToClose, Public: f.CustomerVisible, Order: f.SortOrder, CanUpdate: v.may(identity.FieldsUpdate) && v.HoldsAll(),
		CanDelete: v.may(identity.FieldsDelete) && v.HoldsAll(), Errors: orEmpty(problems),
	}
	if f.ID == 0 {
		view.Title, view.Action, view.New = v.words.T("New field"), view.List, true
		view.HasOptions, view.OfConversation, view.CanUpdate, view.CanDelete = true, true, v.may(identity.FieldsCreate), false
		view.Kinds, view.Types = v.chosen(kindTexts, string(f.AppliesTo)), v.chosen(typeTexts, string(f.Type))
	}
	for _, one := range v.chosen(kindTexts, string(f.AppliesTo)) {
		if one.On {
			view.Kind = one.Text
		}
	}
	for _, one := range v.chosen(typeTexts, string(f.Type)) {
		if one.On {
			view.Type = one.Text
		}
	}
	return v.settingsPage("field", view.Title, view, status)
}

// formField reads the form of a field into f, and returns the input and the options to add. An option whose text is empty is
// removed.
func (v *visit) formField(f *helpdesk.Field) (in helpdesk.FieldInput, more string) {
	p := v.r.PostFormValue
	f.Label, f.SortOrder, f.CustomerVisible, f.RequiredToClose = p("label"), number(p("sort_order")), p("customer_visible") != "", p("required_to_close") != ""
	if f.ID == 0 {
		f.AppliesTo, f.Type = helpdesk.FieldKind(p("applies_to")), helpdesk.FieldType(p("type"))
	}
	if f.AppliesTo != helpdesk.FieldOfConversation {
		f.RequiredToClose = false
	}
	in = helpdesk.FieldInput{
		Label: f.Label, RequiredToClose: storage.Some(f.RequiredToClose), CustomerVisible: storage.Some(f.CustomerVisible), SortOrder: storage.Some(f.SortOrder),
	}
	if f.ID == 0 {
		in.AppliesTo, in.Type = f.AppliesTo, f.Type
	}
	if !f.Type.HasOptions() {
		return in, p("more")
	}
	labels, values, archived := v.r.PostForm["option"], v.r.PostForm["option_value"], v.r.PostForm["archived"]
	f.Options = nil
	for i, value := range values {
		if i < len(labels) && strings.TrimSpace(labels[i]) != "" {
			f.Options = append(f.Options, helpdesk.FieldOption{Value: value, Label: labels[i], Archived: slices.Contains(archived, value)})
		}
	}
	all := slices.Clone(f.Options)
	for line := range strings.Lines(p("more")) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, helpdesk.FieldOption{Label: line})
		}
	}
	in.Options = storage.Some(all)
	return in, p("more")
}

func (v *visit) addField() error {
	var f helpdesk.Field
	in, more := v.formField(&f)
	made, err := v.Fields().Create(v.ctx(), in)
	if fault.Is(err, fault.Invalid) {
		return v.showField(f, more, v.fieldProblems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "fields", v.words.T("Added %s", made.Label))
}

func (v *visit) saveField() error {
	f, err := v.Fields().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	in, more := v.formField(&f)
	_, err = v.Fields().Update(v.ctx(), f.ID, in)
	if fault.Is(err, fault.Invalid) {
		return v.showField(f, more, v.fieldProblems(err), http.StatusUnprocessableEntity)
	}
	return v.unless(err, "fields", v.words.T("Saved"))
}

// fieldProblems are the problems of the form of a field. Those of single options are shown with all of them.
func (v *visit) fieldProblems(err error) map[string]string {
	problems := map[string]string{}
	for _, field := range slices.Sorted(maps.Keys(wholeFields(err))) {
		name, _, _ := strings.Cut(field, "[")
		text := wholeFields(err)[field]
		if plainText := plain[text]; plainText != "" {
			text = plainText
		}
		problems[name] = v.words.T(text)
	}
	if problems["key"] != "" { // it is made from the label
		problems["label"] = problems["key"]
	}
	return problems
}

func (v *visit) deleteField() error {
	err := v.Fields().Delete(v.ctx(), v.number("id"))
	if f, ok := asFault(err); ok && f.Code == "field_in_use" {
		v.say(toast{Text: v.words.T("It is still used by: %s", v.words.list(f.Fields["used_by"])), Bad: true})
		return v.see(v.at("/settings/fields/" + v.r.PathValue("id")))
	}
	return v.unless(err, "fields", v.words.T("Field deleted"))
}
