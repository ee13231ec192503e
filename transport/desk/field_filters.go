package desk

import (
	"net/url"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
)

// Filters of lists by fields stand in one parameter of the address, encoded like a query: a value after "=", or one of these.
const (
	anyValue = "any"
	noValue  = "none"
)

// mostFieldOptions limits the conditions that the filters of a list offer for all fields together, which share it. Views have all
// of them.
const mostFieldOptions = 200

// fieldFilter is what lists demand of fields, by key.
type fieldFilter map[string]string

// fieldFilterOf reads the parameter of an address. It leaves out fields that there are no more.
func fieldFilterOf(text string, fields []helpdesk.Field) fieldFilter {
	given, _ := url.ParseQuery(text) // of what is not well-formed it has the rest
	filter := fieldFilter{}
	for _, f := range fields {
		if value := given.Get(f.Key); value == anyValue || value == noValue || len(value) > 1 && value[0] == '=' {
			filter[f.Key] = value
		}
	}
	return filter
}

// with returns the parameter of an address with another value for a field; "": without it.
func (f fieldFilter) with(key, value string) string {
	q := url.Values{}
	for k, v := range f {
		q.Set(k, v)
	}
	if q.Set(key, value); value == "" {
		q.Del(key)
	}
	return q.Encode()
}

// queries returns the conditions for the desk.
func (f fieldFilter) queries() helpdesk.FieldQueries {
	if len(f) == 0 {
		return nil
	}
	all := helpdesk.FieldQueries{}
	for key, value := range f {
		switch value {
		case anyValue:
			all[key] = helpdesk.FieldQuery{Empty: new(false)}
		case noValue:
			all[key] = helpdesk.FieldQuery{Empty: new(true)}
		default:
			all[key] = helpdesk.FieldQuery{Values: []string{value[1:]}}
		}
	}
	return all
}

// narrowFields restricts the query to what a listing demands of fields.
func (v *visit) narrowFields(l listing, q *helpdesk.ConversationQuery) error {
	if l.fields == "" {
		return nil
	}
	fields, err := v.conversationFields()
	q.Fields = fieldFilterOf(l.fields, fields).queries()
	return err
}

// fieldChoices returns the filters by fields: one for each field that the list is filtered by, and one for all others. at gives the
// address of the list with another parameter.
func (v *visit) fieldChoices(fields []helpdesk.Field, filter fieldFilter, at func(param string) string) []choice {
	var all []choice
	others := choice{Text: v.words.T("Fields")}
	for _, f := range fields {
		now := filter[f.Key]
		c := choice{Text: f.Label, Active: true, Options: []option{{Text: v.words.T("Remove this filter"), URL: at(filter.with(f.Key, ""))}}}
		for _, o := range v.fieldOptions(f, now, mostFieldOptions/len(fields)) {
			text := f.Label + ": " + o.Text
			if o.ID == now {
				c.Text = text
			}
			c.Options = append(c.Options, option{Text: o.Text, URL: at(filter.with(f.Key, o.ID)), Active: o.ID == now})
			others.Options = append(others.Options, option{Text: text, URL: at(filter.with(f.Key, o.ID))})
		}
		if now != "" {
			others.Options = others.Options[:len(others.Options)-len(c.Options)+1]
			all = append(all, c)
		}
	}
	if len(others.Options) > 0 {
		all = append(all, others)
	}
	return all
}

// fieldOptions are the conditions on a field that filters of lists offer, about so many, and the present one.
func (v *visit) fieldOptions(f helpdesk.Field, now string, most int) []tick {
	var all []tick
	switch f.Type {
	case helpdesk.FieldBoolean:
		all = []tick{{ID: "=true", Text: v.words.T("Yes")}, {ID: "=false", Text: v.words.T("No")}}
	case helpdesk.FieldSelect, helpdesk.FieldMultiselect:
		for _, o := range f.Options {
			if id := "=" + o.Value; id == now || !o.Archived && len(all)+2 < most {
				all = append(all, tick{ID: id, Text: o.Label})
			}
		}
	case helpdesk.FieldText, helpdesk.FieldNumber, helpdesk.FieldDate, helpdesk.FieldDatetime, helpdesk.FieldURL:
	}
	all = append(all, tick{ID: anyValue, Text: v.words.T("Any value")}, tick{ID: noValue, Text: v.words.T("No value")})
	if now != "" && !slices.ContainsFunc(all, func(t tick) bool { return t.ID == now }) {
		all = append(all, tick{ID: now, Text: v.shownField(f, []string{now[1:]})})
	}
	return all
}
