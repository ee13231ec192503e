package deskfolder

import (
	"strconv"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

func savedReplyKind() kind[SavedReply] {
	return kind[SavedReply]{
		noun: "saved_reply", title: "saved reply", file: "saved-replies.yaml",
		in: func(s *Setup) *[]SavedReply { return &s.SavedReplies },
		read: func(w *work) ([]held[SavedReply], error) {
			all, err := readAll(w, sharedReplies(w.desk), func(r helpdesk.SavedReply) held[SavedReply] {
				return held[SavedReply]{r.ID, SavedReply{Name: r.Name, Body: r.Body, Actions: w.actions(r.Actions)}}
			})
			return byName(all), err
		},
		save: func(w *work, id int64, d SavedReply) (int64, error) {
			actions, err := w.ruleActions(d.Actions)
			if err != nil {
				return 0, err
			}
			in := helpdesk.SavedReplyInput{Name: d.Name, Body: d.Body, Shared: storage.Some(true), Actions: storage.Some(actions)}
			if id == 0 {
				r, err := w.desk.SavedReplies().Create(w.ctx, in)
				return r.ID, err
			}
			_, err = w.desk.SavedReplies().Update(w.ctx, id, in)
			return id, err
		},
		remove: func(w *work, id int64) error { return w.desk.SavedReplies().Delete(w.ctx, id) },
	}
}

func autoReplyKind() kind[AutoReply] {
	return kind[AutoReply]{
		title: "automatic reply", file: "automatic-replies.yaml",
		in: func(s *Setup) *[]AutoReply { return &s.AutoReplies },
		read: func(w *work) ([]held[AutoReply], error) {
			all, err := readAll(w, w.desk.AutoReplies().List, w.autoReply)
			return byName(all), err
		},
		save: func(w *work, id int64, d AutoReply) (int64, error) {
			in, err := w.autoReplyInput(d)
			if err != nil {
				return 0, err
			}
			if id == 0 {
				r, err := w.desk.AutoReplies().Create(w.ctx, in)
				return r.ID, err
			}
			_, err = w.desk.AutoReplies().Update(w.ctx, id, in)
			return id, err
		},
		remove: func(w *work, id int64) error { return w.desk.AutoReplies().Delete(w.ctx, id) },
	}
}

func (w *work) autoReply(r helpdesk.AutoReply) held[AutoReply] {
	d := AutoReply{
		Name: r.Name, State: stateOf(r.IsActive), Mailboxes: w.list("mailbox", r.MailboxIDs), Calendar: w.name("calendar", r.CalendarID),
		When: string(r.When), Every: r.On == helpdesk.AutoEvery, OncePer: new(int(r.OncePer / time.Hour)), Translations: map[string]Text{},
	}
	for _, t := range r.Translations {
		d.Translations[t.Locale] = Text{Subject: t.Subject, Body: t.Body}
	}
	return held[AutoReply]{r.ID, d}
}

func (w *work) autoReplyInput(d AutoReply) (helpdesk.AutoReplyInput, error) {
	in := helpdesk.AutoReplyInput{
		Name: storage.Some(d.Name), When: orNull(helpdesk.AutoWhen(d.When)), On: storage.Some(helpdesk.AutoNew), OncePer: some(d.OncePer, 24, time.Hour),
	}
	if d.Every {
		in.On = storage.Some(helpdesk.AutoEvery)
	}
	texts := map[string]helpdesk.AutoText{}
	for locale, t := range d.Translations {
		if t.Question != "" || t.Thanks != "" {
			return in, &unresolved{"translations " + locale + ": question and thanks belong to surveys"}
		}
		texts[locale] = helpdesk.AutoText{Locale: locale, Subject: t.Subject, Body: t.Body}
	}
	in.Translations = storage.Some(texts)
	active, err := isActive(d.State)
	if err != nil {
		return in, err
	}
	in.IsActive = storage.Some(active)
	mailboxes, err := w.ids("mailbox", d.Mailboxes)
	if err != nil {
		return in, err
	}
	in.MailboxIDs = storage.Some(mailboxes)
	calendar, err := w.id("calendar", d.Calendar)
	in.CalendarID = orNull(calendar)
	return in, err
}

func surveyKind() kind[Survey] {
	return kind[Survey]{
		title: "survey", file: "surveys.yaml",
		in: func(s *Setup) *[]Survey { return &s.Surveys },
		read: func(w *work) ([]held[Survey], error) {
			all, err := readAll(w, w.desk.Surveys().List, w.survey)
			return byName(all), err
		},
		save: func(w *work, id int64, d Survey) (int64, error) {
			in, err := w.surveyInput(d)
			if err != nil {
				return 0, err
			}
			if id == 0 {
				s, err := w.desk.Surveys().Create(w.ctx, in)
				return s.ID, err
			}
			_, err = w.desk.Surveys().Update(w.ctx, id, in)
			return id, err
		},
		remove: func(w *work, id int64) error { return w.desk.Surveys().Delete(w.ctx, id) },
	}
}

// The values of [Survey.Mail].
const (
	mailAfterClosing = "after_closing"
	mailNever        = "never"
)

func (w *work) survey(s helpdesk.Survey) held[Survey] {
	d := Survey{
		Name: s.Name, State: stateOf(s.IsActive), Mailboxes: w.list("mailbox", s.MailboxIDs), Scale: s.Scale, Mail: mailNever,
		OncePer: new(int(s.OncePer / (24 * time.Hour))), All: w.conditions(s.All), Any: w.conditions(s.Any), Translations: map[string]Text{},
	}
	if s.Delay != helpdesk.NoSurveyMail {
		d.Mail, d.Delay = mailAfterClosing, new(int(s.Delay/time.Hour))
	}
	for _, t := range s.Translations {
		d.Translations[t.Locale] = Text{Subject: t.Subject, Body: t.Body, Question: t.Question, Thanks: t.Thanks}
	}
	return held[Survey]{s.ID, d}
}

func (w *work) surveyInput(d Survey) (helpdesk.SurveyInput, error) {
	in := helpdesk.SurveyInput{Name: storage.Some(d.Name), Scale: storage.Some(2), OncePer: some(d.OncePer, 30, 24*time.Hour)}
	if d.Scale != 0 {
		in.Scale = storage.Some(d.Scale)
	}
	switch {
	case d.Mail == mailNever && d.Delay == nil:
		in.Delay = storage.Some(helpdesk.NoSurveyMail)
	case d.Mail == "" || d.Mail == mailAfterClosing:
		in.Delay = some(d.Delay, 24, time.Hour)
	default:
		return in, &unresolved{"mail: must be after_closing, or never without delay_hours"}
	}
	texts := map[string]helpdesk.SurveyText{}
	for locale, t := range d.Translations {
		texts[locale] = helpdesk.SurveyText{Locale: locale, Subject: t.Subject, Body: t.Body, Question: t.Question, Thanks: t.Thanks}
	}
	in.Translations = storage.Some(texts)
	active, err := isActive(d.State)
	if err != nil {
		return in, err
	}
	in.IsActive = storage.Some(active)
	mailboxes, err := w.ids("mailbox", d.Mailboxes)
	if err != nil {
		return in, err
	}
	in.MailboxIDs = storage.Some(mailboxes)
	in.All, in.Any, err = w.match(d.All, d.Any)
	return in, err
}

func viewKind() kind[View] {
	return kind[View]{
		title: "view", file: "views.yaml",
		in: func(s *Setup) *[]View { return &s.Views },
		read: func(w *work) ([]held[View], error) {
			found, err := listed(w.ctx, w.desk.Views().List)
			var all []held[View]
			for _, v := range found {
				if v.Visibility != helpdesk.ViewPrivate {
					all = append(all, held[View]{v.ID, View{Name: v.Name, Team: w.name("team", v.TeamID), Filter: w.filter(v.Filter), Columns: v.Columns}})
				}
			}
			return byName(all), err
		},
		save: func(w *work, id int64, d View) (int64, error) {
			in, err := w.viewInput(d)
			if err != nil {
				return 0, err
			}
			if id == 0 {
				v, err := w.desk.Views().Create(w.ctx, in)
				return v.ID, err
			}
			_, err = w.desk.Views().Update(w.ctx, id, in)
			return id, err
		},
		remove: func(w *work, id int64) error { return w.desk.Views().Delete(w.ctx, id) },
	}
}

func (w *work) filter(f helpdesk.ViewFilter) Filter {
	d := Filter{
		Agent: f.Agent, Status: texts(f.Statuses), Mailbox: w.name("mailbox", f.MailboxID), Customer: w.name("customer", f.CustomerID),
		Company: w.name("company", f.CompanyID), Team: w.name("team", f.TeamID), Tags: w.list("tag", f.TagIDs), Query: f.Words, Awaiting: f.Awaiting,
		Draft: f.Draft, Undelivered: f.Undelivered, Snoozed: f.Snoozed, Priority: texts(f.Priorities), Spam: f.Spam, Due: string(f.Due),
		Rating: texts(f.Ratings), SortBy: string(f.Sort), Ascending: f.Ascending,
	}
	if id, err := strconv.ParseInt(f.Agent, 10, 64); err == nil {
		d.Agent = w.name("user", id)
	}
	if !f.UpdatedSince.IsZero() {
		d.UpdatedSince = f.UpdatedSince.UTC().Format(time.RFC3339Nano)
	}
	for key, q := range f.Fields {
		if d.Fields == nil {
			d.Fields = map[string]FieldTerm{}
		}
		d.Fields[key] = FieldTerm{Value: q.Values, From: q.From, To: q.To, Empty: q.Empty}
	}
	return d
}

func (w *work) viewInput(d View) (helpdesk.ViewInput, error) {
	f := d.Filter
	in := helpdesk.ViewInput{Name: d.Name, Visibility: storage.Some(helpdesk.ViewShared), Columns: storage.Some(d.Columns), Filter: helpdesk.ViewFilter{
		Agent: f.Agent, Statuses: typed[helpdesk.Status](f.Status), Words: f.Query, Awaiting: f.Awaiting, Draft: f.Draft, Undelivered: f.Undelivered,
		Snoozed: f.Snoozed, Priorities: typed[helpdesk.Priority](f.Priority), Spam: f.Spam, Due: helpdesk.Due(f.Due),
		Ratings: typed[helpdesk.Verdict](f.Rating), Sort: helpdesk.ConversationSort(f.SortBy), Ascending: f.Ascending,
	}}
	var err error
	for _, one := range []struct {
		noun, name string
		id         *int64
	}{
		{"team", d.Team, &in.TeamID}, {"mailbox", f.Mailbox, &in.Filter.MailboxID}, {"customer", f.Customer, &in.Filter.CustomerID},
		{"company", f.Company, &in.Filter.CompanyID}, {"team", f.Team, &in.Filter.TeamID},
	} {
		if *one.id, err = w.id(one.noun, one.name); err != nil {
			return in, err
		}
	}
	if in.TeamID != 0 {
		in.Visibility = storage.Some(helpdesk.ViewOfTeam)
	}
	if f.Agent != "" && f.Agent != helpdesk.AgentMe && f.Agent != helpdesk.AgentUnassigned {
		user, err := w.id("user", f.Agent)
		if err != nil {
			return in, err
		}
		in.Filter.Agent = strconv.FormatInt(user, 10)
	}
	if f.UpdatedSince != "" {
		if in.Filter.UpdatedSince, err = time.Parse(time.RFC3339Nano, f.UpdatedSince); err != nil {
			return in, &unresolved{"filter updated_since: must be a time, such as 2027-01-31T00:00:00Z"}
		}
	}
	for key, t := range f.Fields {
		if in.Filter.Fields == nil {
			in.Filter.Fields = helpdesk.FieldQueries{}
		}
		in.Filter.Fields[key] = helpdesk.FieldQuery{Values: t.Value, From: t.From, To: t.To, Empty: t.Empty}
	}
	if len(f.Tags) > 0 {
		in.Filter.TagIDs, err = w.ids("tag", f.Tags)
	}
	return in, err
}
