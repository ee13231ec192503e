package desk

import (
	"cmp"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

type autoRepliesView struct {
	Rows      []autoRow
	New       string
	CanCreate bool
}

type autoRow struct {
	Name, URL, Brief string
	On, Orphaned     bool
}

func (v *visit) autoRepliesPage() error {
	page, err := v.AutoReplies().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	view := autoRepliesView{New: v.at("/settings/auto-replies/new"), CanCreate: v.may(identity.AutoRepliesCreate) && v.may(identity.InteractionsCreate)}
	boxes, err := v.boxTicks(nil)
	if err != nil {
		return err
	}
	hours, err := v.calendarTicks(0)
	if err != nil {
		return err
	}
	for _, a := range page.Items {
		view.Rows = append(view.Rows, autoRow{
			Name: a.Name, URL: v.at("/settings/auto-replies/" + itoa(a.ID)), Brief: v.autoBrief(a, boxes, hours), On: a.IsActive, Orphaned: a.Reason == helpdesk.AutoOrphaned,
		})
	}
	return v.settingsPage("auto-replies", v.words.T("Automatic replies"), view, 0)
}

// autoBrief says when an automatic reply answers, and what.
func (v *visit) autoBrief(a helpdesk.AutoReply, boxes, hours []tick) string {
	named := func(all []tick, id int64) string {
		n := slices.IndexFunc(all, func(t tick) bool { return t.ID == itoa(id) })
		if n < 0 {
			return ""
		}
		return all[n].Text
	}
	var parts []string
	switch a.When {
	case helpdesk.AutoInside:
		parts = append(parts, v.words.T("Within %s", named(hours, a.CalendarID)))
	case helpdesk.AutoOutside:
		parts = append(parts, v.words.T("Outside %s", named(hours, a.CalendarID)))
	case helpdesk.AutoAlways:
		parts = append(parts, v.words.T("At any time"))
	}
	if a.On == helpdesk.AutoEvery {
		parts = append(parts, v.words.T("Every email"))
	} else {
		parts = append(parts, v.words.T("New conversations"))
	}
	var names []string
	for _, id := range a.MailboxIDs {
		if name := named(boxes, id); name != "" {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		parts = append(parts, v.words.list(names))
	}
	var langs []string
	for _, t := range a.Translations {
		langs = append(langs, languageName(t.Locale))
	}
	return strings.Join(append(parts, v.words.list(langs)), " · ")
}

// calendarTicks are the calendars that can be chosen; none without the permission.
func (v *visit) calendarTicks(chosen int64) ([]tick, error) {
	if !v.may(identity.CalendarsView) {
		return nil, nil
	}
	all, err := v.allCalendars()
	var out []tick
	for _, c := range all {
		out = append(out, tick{ID: itoa(c.ID), Text: c.Name, On: c.ID == chosen})
	}
	return out, err
}

// autoReplyView is the form of an automatic reply.
type autoReplyView struct {
	Title, Action, List, Name string
	When, On, Once            []tick
	Calendars, Boxes          []tick
	Langs                     []autoLang
	More                      []tick // languages to add
	Places                    []tick
	Active, Orphaned          bool
	NewHours                  string // where to make business hours, if there are none
	CanUpdate, CanDelete      bool
	Errors                    map[string]string
}

// autoLang is the text in a language.
type autoLang struct {
	Code, Name, Dir, Subject, Body string
	Open                           bool
	Problem                        string
	Shown                          *autoShown
	Places                         []tick
}

// autoShown is a text as a customer gets it.
type autoShown struct {
	Subject string
	Body    template.HTML
}

// autoForm is what the form holds.
type autoForm struct {
	name, when, on, once string
	calendar             int64
	boxes                []int64
	active               bool
	texts                []autoFormText
	open                 string // the language that is unfolded
}

type autoFormText struct{ code, subject, body, old string }

// autoFormOf returns the form of a stored automatic reply.
func autoFormOf(a helpdesk.AutoReply) autoForm {
	f := autoForm{
		name: a.Name, when: string(a.When), on: string(a.On), once: itoa(int64(a.OncePer / time.Hour)), calendar: a.CalendarID, boxes: a.MailboxIDs, active: a.IsActive,
	}
	for _, t := range a.Translations {
		f.texts = append(f.texts, autoFormText{t.Locale, t.Subject, mailhtml.Text(t.Body), t.Body})
	}
	return f
}

// submitted reads the form. Of old, a text that was not changed keeps its formatting.
func (v *visit) submittedAuto(old helpdesk.AutoReply) autoForm {
	post := v.r.PostFormValue
	f := autoForm{
		name: post("name"), when: post("when"), on: post("on"), once: post("once"), calendar: v.field("calendar"), boxes: v.ticked("mailbox"), active: post("active") != "",
	}
	for _, code := range v.r.PostForm["lang"] {
		t := autoFormText{code: code, subject: post("subject-" + code), body: post("body-" + code)}
		if n := slices.IndexFunc(old.Translations, func(a helpdesk.AutoText) bool { return a.Locale == code }); n >= 0 && sameText(t.body, mailhtml.Text(old.Translations[n].Body)) {
			t.old = old.Translations[n].Body
		}
		f.texts = append(f.texts, t)
	}
	return f
}

// values returns the texts of the form by locale.
func (f autoForm) values() map[string]helpdesk.AutoText {
	all := map[string]helpdesk.AutoText{}
	for _, t := range f.texts {
		body := t.old
		if body == "" {
			body = mailhtml.FromText(t.body)
		}
		all[t.code] = helpdesk.AutoText{Subject: t.subject, Body: body}
	}
	return all
}

func (f autoForm) input() helpdesk.AutoReplyInput {
	in := helpdesk.AutoReplyInput{
		Name: storage.Some(f.name), When: storage.Some(helpdesk.AutoWhen(f.when)), On: storage.Some(helpdesk.AutoOn(f.on)), OncePer: storage.Some(time.Duration(number(f.once)) * time.Hour),
		CalendarID: storage.Null[int64](), MailboxIDs: storage.Some(f.boxes), IsActive: storage.Some(f.active), Translations: storage.Some(f.values()),
	}
	if f.calendar != 0 && in.When.Or("") != helpdesk.AutoAlways {
		in.CalendarID = storage.Some(f.calendar)
	}
	return in
}

// suggested returns the text that a language begins with.
func suggested(code string, closed bool) autoFormText {
	t := autoFormText{code: code}
	base, _, _ := strings.Cut(code, "-")
	if !slices.Contains(languages, base) {
		return t
	}
	w := speak(base)
	t.subject = w.T("We have received your message")
	t.body = w.T("Hello {{customer.first_name}},\n\nthank you for your message. We will answer as soon as possible.\n\n{{mailbox.name}}")
	if closed {
		t.body = w.T("Hello {{customer.first_name}},\n\nthank you for your message. We are closed at the moment and will answer as soon as we are back.\n\n{{mailbox.name}}")
	}
	return t
}

// newAutoReplyPage shows a form that can be saved as it is.
func (v *visit) newAutoReplyPage() error {
	f := autoForm{name: v.words.T("Thank you"), when: string(helpdesk.AutoAlways), on: string(helpdesk.AutoNew), once: "24", active: true}
	hours, err := v.calendarTicks(0)
	if err != nil {
		return err
	}
	if len(hours) > 0 {
		f.name, f.when, f.calendar = v.words.T("Outside business hours"), string(helpdesk.AutoOutside), number(hours[0].ID)
	}
	f.texts = []autoFormText{suggested(v.account.DefaultLocale, len(hours) > 0)}
	return v.showAuto(v.newAutoView(), f, 0)
}

func (v *visit) newAutoView() autoReplyView {
	return autoReplyView{Title: v.words.T("New automatic reply"), Action: v.at("/settings/auto-replies"), CanUpdate: true}
}

func (v *visit) autoReplyPage() error {
	a, err := v.AutoReplies().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	return v.showAuto(v.autoView(a), autoFormOf(a), 0)
}

func (v *visit) autoView(a helpdesk.AutoReply) autoReplyView {
	sends := v.may(identity.InteractionsCreate)
	return autoReplyView{
		Title: a.Name, Action: v.at("/settings/auto-replies/" + itoa(a.ID)), Orphaned: a.Reason == helpdesk.AutoOrphaned,
		CanUpdate: sends && v.may(identity.AutoRepliesUpdate), CanDelete: sends && v.may(identity.AutoRepliesDelete),
	}
}

// autoLocales are languages that customers write, besides those of the desk.
var autoLocales = []string{"bg", "cs", "da", "el", "et", "fi", "he", "hr", "hu", "ko", "lt", "lv", "nb", "pt-BR", "ro", "ru", "sk", "sl", "sr", "sv", "th", "tr", "uk", "vi", "zh"}

// showAuto shows the form with a preview.
func (v *visit) showAuto(view autoReplyView, f autoForm, status int) error {
	view.List, view.Errors = v.at("/settings/auto-replies"), orEmpty(view.Errors)
	view.Name, view.Active, view.Places = f.name, f.active, v.places(helpdesk.AutoReplyPlaceholders())
	var err error
	if view.Boxes, err = v.boxTicks(f.boxes); err != nil {
		return err
	}
	if view.Calendars, err = v.calendarTicks(f.calendar); err != nil {
		return err
	}
	if len(view.Calendars) == 0 && v.may(identity.CalendarsCreate) {
		view.NewHours = v.at("/settings/hours/new")
	}
	chosen := func(value string, all ...tick) []tick {
		for n := range all {
			all[n].On = all[n].ID == value
		}
		return all
	}
	view.When = chosen(f.when, tick{ID: "always", Text: v.words.T("At any time")})
	if len(view.Calendars) > 0 {
		view.When = chosen(f.when, tick{ID: "outside", Text: v.words.T("Outside business hours")}, tick{ID: "inside", Text: v.words.T("Within business hours")}, view.When[0])
	}
	view.On = chosen(f.on, tick{ID: "new", Text: v.words.T("New conversations")}, tick{ID: "every", Text: v.words.T("Every email")})
	view.Once = chosen(f.once, tick{ID: "1", Text: v.words.T("Once an hour")}, tick{ID: "24", Text: v.words.T("Once a day")}, tick{ID: "168", Text: v.words.T("Once a week")}, tick{ID: "0", Text: v.words.T("Each time")})
	if !slices.ContainsFunc(view.Once, func(t tick) bool { return t.On }) {
		view.Once = append(view.Once, tick{ID: f.once, Text: v.words.T("Once in %s", v.words.T("%s h", f.once)), On: true})
	}
	if err := v.showTexts(&view, f); err != nil {
		return err
	}
	return v.settingsPage("auto-reply", view.Title, view, status)
}

// showTexts shows the languages of the form, each with its preview as far as it has no problem.
func (v *visit) showTexts(view *autoReplyView, f autoForm) error {
	codes := slices.Concat(languages, v.account.Languages, autoLocales)
	slices.Sort(codes)
	for n, t := range f.texts {
		lang := autoLang{
			Code: t.code, Name: languageName(t.code), Dir: direction(t.code), Subject: t.subject, Body: t.body, Problem: view.Errors["translations["+t.code+"]"],
			Open: t.code == f.open || f.open == "" && n == 0, Places: view.Places,
		}
		lang.Open = lang.Open || lang.Problem != ""
		shown, err := v.AutoReplies().Preview(v.ctx(), map[string]helpdesk.AutoText{t.code: f.values()[t.code]})
		if err != nil && !fault.Is(err, fault.Invalid) {
			return err
		}
		for _, s := range shown {
			lang.Shown = &autoShown{Subject: cmp.Or(s.Subject, v.words.T("Subject of the conversation")), Body: safeHTML(plainStyle(s.Body))}
		}
		view.Langs = append(view.Langs, lang)
	}
	for _, code := range slices.Compact(codes) {
		if !slices.ContainsFunc(f.texts, func(t autoFormText) bool { return t.code == code }) {
			view.More = append(view.More, tick{ID: code, Text: languageName(code)})
		}
	}
	sortedTicks(view.More)
	return nil
}

// actOnAuto does what a button of the form does besides saving it, and reports whether it was one.
func (v *visit) actOnAuto(view autoReplyView, f autoForm) (bool, error) {
	do, code, _ := strings.Cut(v.r.PostFormValue("do"), " ")
	switch do {
	case "add":
		code = v.r.PostFormValue("add")
		if code == "" || slices.ContainsFunc(f.texts, func(t autoFormText) bool { return t.code == code }) {
			break
		}
		f.texts, f.open = append(f.texts, suggested(code, f.when == string(helpdesk.AutoOutside))), code
	case "drop":
		f.texts = slices.DeleteFunc(f.texts, func(t autoFormText) bool { return t.code == code })
	case "preview":
		f.open = code
	default:
		return false, nil
	}
	return true, v.showAuto(view, f, 0)
}

func (v *visit) addAutoReply() error {
	f := v.submittedAuto(helpdesk.AutoReply{})
	if acted, err := v.actOnAuto(v.newAutoView(), f); acted {
		return err
	}
	a, err := v.AutoReplies().Create(v.ctx(), f.input())
	if fault.Is(err, fault.Invalid) {
		return v.refuseAuto(v.newAutoView(), f, err)
	}
	return v.unless(err, "auto-replies", v.words.T("Added %s", a.Name))
}

func (v *visit) saveAutoReply() error {
	id := v.number("id")
	old, err := v.AutoReplies().Get(v.ctx(), id)
	if err != nil {
		return err
	}
	f := v.submittedAuto(old)
	if acted, err := v.actOnAuto(v.autoView(old), f); acted {
		return err
	}
	_, err = v.AutoReplies().Update(v.ctx(), id, f.input())
	if fault.Is(err, fault.Invalid) {
		return v.refuseAuto(v.autoView(old), f, err)
	}
	return v.unless(err, "auto-replies", v.words.T("Saved"))
}

// refuseAuto shows the form with its problems.
func (v *visit) refuseAuto(view autoReplyView, f autoForm, err error) error {
	view.Errors = map[string]string{}
	for field, text := range wholeFields(err) {
		name, rest, _ := strings.Cut(field, "[")
		if name == "translations" && rest != "" {
			code, part, _ := strings.Cut(rest, "]")
			if part == "[body]" && text == "is required" {
				text = say("The text is missing.")
			}
			name = "translations[" + code + "]"
		}
		view.Errors[name] = v.words.T(cmp.Or(plain[text], text))
	}
	return v.showAuto(view, f, http.StatusUnprocessableEntity)
}

func (v *visit) deleteAutoReply() error {
	return v.unless(v.AutoReplies().Delete(v.ctx(), v.number("id")), "auto-replies", v.words.T("Automatic reply deleted"))
}

// explainAutomatic names the automatic replies in a thread by what sent them.
func (v *visit) explainAutomatic(entries []entry, list []helpdesk.Interaction) error {
	why, err := v.Interactions().AutoResponses(v.ctx(), list)
	if err != nil || len(why) == 0 || !v.may(identity.AutoRepliesView) {
		return v.unlessForbidden(err)
	}
	page, err := v.AutoReplies().List(v.ctx(), storage.PageRequest{Limit: storage.MaxLimit})
	if err != nil {
		return err
	}
	for n, i := range list {
		for _, a := range page.Items {
			if r, known := why[i.ID]; known && r.AutoReplyID == a.ID {
				entries[n].Auto, entries[n].AutoURL = a.Name, v.at("/settings/auto-replies/"+itoa(a.ID))
			}
		}
	}
	return nil
}
