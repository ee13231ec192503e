package helpdesk

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Survey asks customers to rate the answers that they got, some time after a conversation was closed, see [Jobs.AskRating], or
// under a reply, where its body has {{rating}}. It acts with the rights of the member who last changed it.
type Survey struct {
	ID           int64
	Name         string
	Key          string            // case-folded Name; unique in the account
	MailboxIDs   []int64           // sorted; empty: all
	Scale        int               // scores go from 1 to it: 2, 3 or 5
	Delay        time.Duration     // after closing, in whole hours; [NoSurveyMail]: only under replies
	OncePer      time.Duration     // at most one mail within this time to a customer, in whole days; 0: no limit
	All, Any     []rules.Condition // about conversations, customers and companies; none: every conversation
	Translations []SurveyText      // by locale, at least one
	IsActive     bool
	Reason       SurveyReason // why it was switched off by itself; "": it was not
	Version      int          // 1 when it is created, one more with each change
	UserID       int64        // who last changed it; 0: an embedding application
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// NoSurveyMail is the Delay of a survey that sends no mail of its own.
const NoSurveyMail = -time.Hour

// SurveyReason is why a survey was switched off by itself.
type SurveyReason string

// SurveyOrphaned means that the member who last changed it has left, or could no longer create it.
const SurveyOrphaned SurveyReason = "orphaned"

// SurveyText is what a survey says in one language.
type SurveyText struct {
	Locale   string `json:"locale"`   // BCP 47
	Subject  string `json:"subject"`  // of the mail: text with placeholders; "": that of the conversation
	Body     string `json:"body"`     // of the mail: sanitized HTML with placeholders; without {{rating}}, the links follow it
	Question string `json:"question"` // above the links and on the page; "": the usual one
	Thanks   string `json:"thanks"`   // on the page after the answer; "": the usual words
}

func (t SurveyText) texts() []string {
	return []string{t.Locale, t.Subject, t.Body, t.Question, t.Thanks}
}

// UniqueSurvey is the code of a store's Conflict fault for a duplicate (account, Key).
const UniqueSurvey = "survey"

// Limits of surveys.
const (
	MaxSurveys        = 100
	MaxSurveyDelay    = 30 * 24 * time.Hour
	MaxSurveyOncePer  = 366 * 24 * time.Hour
	surveyDelay       = 24 * time.Hour      // default
	surveyOncePer     = 30 * 24 * time.Hour // default
	surveyScale       = 2                   // default
	maxSurveyQuestion = 300                 // characters
)

// SurveyInput creates or changes a survey. Absent fields are unchanged, or the default of a new one.
type SurveyInput struct {
	Name       storage.Opt[string]            // required in a new one, at most 100 characters
	MailboxIDs storage.Opt[[]int64]           // default: all
	Scale      storage.Opt[int]               // 2, 3 or 5; default: 2
	Delay      storage.Opt[time.Duration]     // whole hours, up to [MaxSurveyDelay], or NoSurveyMail; default: 24. Null: NoSurveyMail
	OncePer    storage.Opt[time.Duration]     // whole days, up to [MaxSurveyOncePer]; default: 30
	All, Any   storage.Opt[[]rules.Condition] // see [Surveys.Vocabulary]
	// Translations replace all texts, by locale; required in a new one. A subject is text of at most 200 characters, a body HTML
	// or text of at most 64 KiB; both may contain the placeholders of [SurveyPlaceholders]. Question and Thanks are text of at
	// most 300 characters.
	Translations storage.Opt[map[string]SurveyText]
	IsActive     storage.Opt[bool] // default: true
}

// SurveyPlaceholders lists the placeholders of the mails of surveys, between double braces: those of automatic replies, and
// where the links are. agent.name is the name of who answered last.
func SurveyPlaceholders() []string { return append(AutoReplyPlaceholders(), ratingPlaceholder) }

// surveyNoun declares the rows of surveys.
func surveyNoun() storage.Declared[Survey, storage.NoFilter] {
	return storage.Declared[Survey, storage.NoFilter]{
		Noun: storage.Noun[Survey]{
			Name: "survey",
			ID:   func(t *Survey) *int64 { return &t.ID },
			Unique: []storage.Unique[Survey]{
				{Code: UniqueSurvey, Index: "key", Fields: func(t *Survey) []any { return []any{&t.Key} }},
			},
		},
		Key: "survey", Plural: "surveys", Names: (*Survey).EachID,
		Columns: []storage.Column[Survey]{
			{Name: "name", Field: func(t *Survey) any { return &t.Name }},
			{Name: "name_key", Field: func(t *Survey) any { return &t.Key }},
			{Name: "mailbox_ids", Field: func(t *Survey) any { return storage.IDs(&t.MailboxIDs) }, Refers: "mailbox", Loose: true, Limits: true},
			{Name: "scale", Field: func(t *Survey) any { return &t.Scale }},
			{Name: "delay", Field: func(t *Survey) any { return (*int64)(&t.Delay) }},
			{Name: "once_per", Field: func(t *Survey) any { return (*int64)(&t.OncePer) }},
			{Name: "match_all", Field: func(t *Survey) any { return storage.Objects(&t.All, conditionTexts) }},
			{Name: "match_any", Field: func(t *Survey) any { return storage.Objects(&t.Any, conditionTexts) }},
			{Name: "translations", Field: func(t *Survey) any { return storage.Objects(&t.Translations, SurveyText.texts) }},
			{Name: "is_active", Field: func(t *Survey) any { return &t.IsActive }},
			{Name: "reason", Field: func(t *Survey) any { return (*string)(&t.Reason) }},
			{Name: "version", Field: func(t *Survey) any { return &t.Version }},
			{Name: "user_id", Field: func(t *Survey) any { return &t.UserID }, Refers: "user"},
			{Name: "created_at", Field: func(t *Survey) any { return &t.CreatedAt }},
			{Name: "updated_at", Field: func(t *Survey) any { return &t.UpdatedAt }},
		},
	}
}

// EachID calls visit for each id that the conditions name, with its noun, such as "team", and takes over what visit makes of
// it.
func (s *Survey) EachID(visit func(noun string, id *int64)) {
	r := Rule{All: s.All, Any: s.Any}
	r.EachID(visit)
}

// usesField reports whether the survey has conditions on a field.
func (s Survey) usesField(f Field) bool { return Rule{All: s.All, Any: s.Any}.usesField(f) }

// Mails reports whether the survey sends mails of its own.
func (s Survey) Mails() bool { return s.Delay >= 0 }

// Text returns the text for the first of some locales in which, or at least in whose language, there is one, and otherwise the
// first text.
func (s Survey) Text(locales ...string) SurveyText {
	return textFor(s.Translations, func(t SurveyText) string { return t.Locale }, locales)
}

// textFor returns the text for the first of some locales in which, or at least in whose language, there is one, and otherwise the
// first text.
func textFor[T any](all []T, localeOf func(T) string, locales []string) T {
	for _, locale := range locales {
		if locale == "" {
			continue
		}
		same := func(t T) bool { return strings.EqualFold(localeOf(t), locale) }
		general := func(t T) bool { return strings.EqualFold(localeOf(t), languageOf(locale)) }
		spoken := func(t T) bool { return strings.EqualFold(languageOf(localeOf(t)), languageOf(locale)) }
		for _, fits := range []func(T) bool{same, general, spoken} {
			if n := slices.IndexFunc(all, fits); n >= 0 {
				return all[n]
			}
		}
	}
	if len(all) == 0 {
		var none T
		return none
	}
	return all[0]
}

// apply validates in and copies it into s.
func (s *Survey) apply(d *desk, in SurveyInput, fields []Field) error {
	var problems fault.Collector
	s.Name = plain.Line(in.Name.Or(s.Name))
	s.Key = tagKey(s.Name)
	required(&problems, "name", s.Name, 100)
	s.MailboxIDs = sortedSet(in.MailboxIDs.Or(s.MailboxIDs))
	problems.Check(len(s.MailboxIDs) <= maxAutoMailboxes, "mailbox_ids", fmt.Sprintf("has more than %d ids", maxAutoMailboxes))
	s.Scale = in.Scale.Or(cmp.Or(s.Scale, surveyScale))
	problems.Check(slices.Contains(RatingScales(), s.Scale), "scale", "must be 2, 3 or 5")
	if s.Delay = in.Delay.Or(s.Delay); in.Delay.IsNull() {
		s.Delay = NoSurveyMail
	}
	problems.Check(s.Delay == NoSurveyMail || s.Delay >= 0 && s.Delay <= MaxSurveyDelay && s.Delay%time.Hour == 0, "delay", "must be whole hours, from 0 to 720")
	s.OncePer = in.OncePer.Or(s.OncePer)
	problems.Check(s.OncePer >= 0 && s.OncePer <= MaxSurveyOncePer && s.OncePer%(24*time.Hour) == 0, "once_per", "must be whole days, from 0 to 366")
	if in.All.IsSet() {
		s.All = in.All.Or(nil)
	}
	if in.Any.IsSet() {
		s.Any = in.Any.Or(nil)
	}
	s.All, s.Any, _ = rules.Check(&problems, slaVocabulary(fields), cloneConditions(s.All), cloneConditions(s.Any), nil)
	if texts, given := in.Translations.Get(); given {
		s.Translations = d.cleanSurveyTexts(&problems, texts)
	}
	problems.Check(len(s.Translations) > 0, "translations", "is required: a body in at least one language")
	s.IsActive = in.IsActive.Or(s.IsActive)
	if s.IsActive {
		s.Reason = ""
	}
	s.UserID = d.userID // their rights now bound it
	return problems.Err()
}

// cleanSurveyTexts validates texts by locale and returns them in order.
func (d *desk) cleanSurveyTexts(problems *fault.Collector, texts map[string]SurveyText) []SurveyText {
	if !problems.Check(len(texts) <= MaxAutoTexts, "translations", fmt.Sprintf("has more than %d languages", MaxAutoTexts)) {
		return nil
	}
	var all []SurveyText
	for locale, t := range texts {
		t.Locale = locale
		field := fieldOf("translations[" + plain.Cut(plain.Line(locale), 35) + "]")
		problems.Check(validLocale(locale), field("locale"), "is not a language code (BCP 47)")
		t.Subject, t.Question, t.Thanks = plain.Line(t.Subject), plain.Line(t.Question), plain.Line(t.Thanks)
		bounded(problems, field("subject"), t.Subject, maxAutoSubject)
		bounded(problems, field("question"), t.Question, maxSurveyQuestion)
		bounded(problems, field("thanks"), t.Thanks, maxSurveyQuestion)
		checkPlaceholders(problems, field("subject"), t.Subject, AutoReplyPlaceholders())
		if problems.Check(len(t.Body) <= maxSavedReply, field("body"), "is larger than 64 KiB") {
			t.Body = d.cleanBody(problems, field("body"), t.Body)
			problems.Check(!blank(t.Body), field("body"), "is required")
			checkPlaceholders(problems, field("body"), t.Body, SurveyPlaceholders())
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b SurveyText) int { return strings.Compare(a.Locale, b.Locale) })
	return all
}

// maySurvey returns a fault unless the member could write to all whom the survey asks.
func (d *desk) maySurvey(s Survey) error {
	if _, err := d.guard.Write(identity.InteractionsCreate); err != nil {
		return err
	}
	beyond := func(id int64) bool { return !slices.Contains(d.scope.Mailboxes, id) }
	if d.scope.Mailboxes != nil && (len(s.MailboxIDs) == 0 || slices.ContainsFunc(s.MailboxIDs, beyond)) {
		return limited("It asks customers of mailboxes that you do not reach: name some of yours.")
	}
	return nil
}

// Surveys ask customers to rate the answers that they got.
type Surveys struct{ *desk }

// Surveys returns the handle of surveys.
func (d *Desk) Surveys() Surveys { return Surveys{&d.desk} }

// Vocabulary returns the fields that conditions of surveys can be about. It needs surveys.view.
func (d Surveys) Vocabulary(ctx context.Context) (rules.Vocabulary, error) {
	r, err := d.guard.Read(identity.SurveysView)
	if err != nil {
		return rules.Vocabulary{}, err
	}
	fields, err := allFields(ctx, r)
	return slaVocabulary(fields), err
}

// Get returns a survey. It needs surveys.view.
func (d Surveys) Get(ctx context.Context, id int64) (Survey, error) {
	r, err := d.guard.Read(identity.SurveysView)
	if err != nil {
		return Survey{}, err
	}
	return surveyNoun().Reader(r).Get(ctx, id)
}

// List lists the account's surveys, oldest first. It needs surveys.view.
func (d Surveys) List(ctx context.Context, req storage.PageRequest) (storage.Page[Survey], error) {
	r, err := d.guard.Read(identity.SurveysView)
	if err != nil {
		return storage.Page[Survey]{}, err
	}
	return storage.List(req, false, func(s Survey) storage.Position { return storage.Position{ID: s.ID} },
		func(seek storage.Seek) ([]Survey, error) {
			return surveyNoun().Reader(r).List(ctx, storage.NoFilter{}, seek)
		})
}

// Create creates a survey, which asks about conversations that are closed from now on. It needs surveys.create and
// interactions.create; a member limited to some mailboxes must name some of them. A name that another one has, ignoring case,
// is an Invalid fault on name; what it names must exist, otherwise it is a NotFound fault. More than [MaxSurveys] are a Conflict
// fault.
func (d Surveys) Create(ctx context.Context, in SurveyInput) (Survey, error) {
	begin, err := d.guard.Write(identity.SurveysCreate)
	if err != nil {
		return Survey{}, err
	}
	now := d.svc.now()
	var s Survey
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		s = Survey{IsActive: true, Delay: surveyDelay, OncePer: surveyOncePer, Version: 1, CreatedAt: now, UpdatedAt: now}
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		all, err := allSurveys(ctx, tx.Reader())
		if err != nil {
			return err
		}
		if len(all) >= MaxSurveys {
			return fault.Newf(fault.Conflict, "An account has at most %d surveys.", MaxSurveys)
		}
		if err := d.settleSurvey(ctx, tx, &s, Survey{}, in); err != nil {
			return err
		}
		if err := surveyNoun().Rows(tx).Insert(ctx, &s); err != nil {
			return err
		}
		if err := listenForSurveys(ctx, tx); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "survey.created", s.ID, 0, ofSurvey(Survey{}, s))
	})
	return s, takenField(err, UniqueSurvey, "name")
}

// settleSurvey applies an input to a survey and checks what it names, and that the member may.
func (d *desk) settleSurvey(ctx context.Context, tx Tx, s *Survey, old Survey, in SurveyInput) error {
	fields, err := allFields(ctx, tx.Reader())
	if err != nil {
		return err
	}
	if err := s.apply(d, in, fields); err != nil {
		return err
	}
	if err := d.maySurvey(*s); err != nil {
		return err
	}
	if err := d.findMailboxes(ctx, tx.Reader(), s.MailboxIDs, old.MailboxIDs...); err != nil {
		return err
	}
	return d.findRuleReferences(ctx, tx, Rule{All: cloneConditions(s.All), Any: cloneConditions(s.Any)}, Rule{All: cloneConditions(old.All), Any: cloneConditions(old.Any)})
}

// Update changes a survey, which then acts with the rights of the caller, also for conversations that are closed already. It
// needs surveys.update and, for the former and the resulting one, what [Surveys.Create] requires.
func (d Surveys) Update(ctx context.Context, id int64, in SurveyInput) (Survey, error) {
	begin, err := d.guard.Write(identity.SurveysUpdate)
	if err != nil {
		return Survey{}, err
	}
	var s Survey
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		old, err := surveyNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := d.maySurvey(old); err != nil {
			return err
		}
		s = old
		if err := d.settleSurvey(ctx, tx, &s, old, in); err != nil {
			return err
		}
		if !reflect.DeepEqual(s, old) {
			s.Version++
		}
		s.UpdatedAt = d.svc.now()
		if err := surveyNoun().Rows(tx).Update(ctx, &s); err != nil {
			return err
		}
		if err := listenForSurveys(ctx, tx); err != nil {
			return err
		}
		return d.emitChanged(ctx, tx, "survey.updated", s.ID, 0, ofSurvey(old, s))
	})
	return s, takenField(err, UniqueSurvey, "name")
}

// Delete removes a survey. What it has asked can still be answered, and ratings stay. It needs surveys.delete, and reach of its
// mailboxes.
func (d Surveys) Delete(ctx context.Context, id int64) error {
	begin, err := d.guard.Write(identity.SurveysDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.LockAccount(ctx); err != nil {
			return err
		}
		s, err := surveyNoun().Rows(tx).Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := d.maySurvey(s); err != nil {
			return err
		}
		if err := surveyNoun().Rows(tx).Delete(ctx, id); err != nil {
			return err
		}
		if err := listenForSurveys(ctx, tx); err != nil {
			return err
		}
		return d.emit(ctx, tx, "survey.deleted", id, 0)
	})
}

// SurveyPreview is what a customer gets from a survey.
type SurveyPreview struct {
	Locale, Subject  string
	Body             string // sanitized HTML; {{rating}} is where the links are
	Question, Thanks string // "": the usual ones
}

// Preview returns the texts of a survey that need not be stored yet, in the order of their locales, with the placeholders filled
// in: for the newest conversation that the caller sees, or an example where there is none. It needs surveys.view. Texts that
// could not be stored are an Invalid fault.
func (d Surveys) Preview(ctx context.Context, texts map[string]SurveyText) ([]SurveyPreview, error) {
	r, err := d.guard.Read(identity.SurveysView)
	if err != nil {
		return nil, err
	}
	var problems fault.Collector
	clean := d.cleanSurveyTexts(&problems, texts)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	c, customer, mailbox, err := d.exampleOf(ctx, r)
	if err != nil {
		return nil, err
	}
	var all []SurveyPreview
	for _, t := range clean {
		subject, body := t.fill(c, customer, mailbox, mailbox.Name)
		all = append(all, SurveyPreview{Locale: t.Locale, Subject: subject, Body: body, Question: t.Question, Thanks: t.Thanks})
	}
	return all, nil
}

// fill returns the subject and the body of a text with the placeholders filled in, except that of the links.
func (t SurveyText) fill(c Conversation, customer Customer, m Mailbox, agent string) (subject, body string) {
	values := map[string]string{
		"customer.first_name": customer.FirstName, "customer.name": customer.Name(), "agent.name": cmp.Or(agent, m.Name), "mailbox.name": m.Name,
		"conversation.number": fmt.Sprint(c.Number), "conversation.subject": c.Subject,
	}
	body = filled(t.Body, values)
	if !hasRatingPlace(body) {
		body += "<p>{{" + ratingPlaceholder + "}}</p>"
	}
	return plain.Cut(plain.Line(replaced(t.Subject, values)), 998), body
}

// listensSurvey is what an account with an active survey listens to, beside its rules.
const listensSurvey = "survey"

// allSurveys returns the surveys of an account, those of some mailboxes before those of all, older before newer: the first that
// fits is the one that asks.
func allSurveys(ctx context.Context, r storage.RecordReader) ([]Survey, error) {
	all, err := surveyNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	slices.SortStableFunc(all, func(a, b Survey) int {
		rank := func(s Survey) int { return min(len(s.MailboxIDs), 1) }
		return cmp.Compare(rank(b), rank(a))
	})
	return all, err
}

// listenForSurveys notes whether the account has a survey that asks by itself, so that one without costs nothing. The caller has
// locked the account.
func listenForSurveys(ctx context.Context, tx Tx) error {
	all, err := allSurveys(ctx, tx.Reader())
	if err != nil {
		return err
	}
	account, err := tx.Reader().Account(ctx)
	if err != nil {
		return err
	}
	listens := slices.DeleteFunc(slices.Clone(account.Listens), func(kind string) bool { return kind == listensSurvey })
	if slices.ContainsFunc(all, func(s Survey) bool { return s.IsActive && s.Mails() }) {
		listens = append(listens, listensSurvey)
		slices.Sort(listens)
	}
	if slices.Equal(listens, account.Listens) {
		return nil
	}
	account.Listens = listens
	return tx.UpdateAccount(ctx, &account)
}

// surveyOf returns the active survey that asks about a conversation; the zero value: none.
func surveyOf(ctx context.Context, r Reader, c Conversation) (Survey, error) {
	all, err := allSurveys(ctx, r)
	if err != nil {
		return Survey{}, err
	}
	all = slices.DeleteFunc(all, func(s Survey) bool {
		return !s.IsActive || len(s.MailboxIDs) > 0 && !slices.Contains(s.MailboxIDs, c.MailboxID)
	})
	if len(all) == 0 {
		return Survey{}, nil
	}
	ready := compiledSLAs{}
	if ready.fields, err = allFields(ctx, r); err != nil {
		return Survey{}, err
	}
	var list []rules.Rule
	for _, s := range all {
		list = append(list, rules.Rule{ID: s.ID, On: []string{slaOccasion}, All: s.All, Any: s.Any})
	}
	ready.set = rules.Compile(slaVocabulary(ready.fields), list)
	facts, err := ready.facts(ctx, r, []Conversation{c})
	if err != nil {
		return Survey{}, err
	}
	id := ready.match(c, facts[c.ID])
	for _, s := range all {
		if s.ID == id {
			return s, nil
		}
	}
	return Survey{}, nil
}
