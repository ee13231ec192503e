package helpdesk

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// occasion is what happened to a conversation in one operation, as rules see it: the events of the conversation with those of
// an interaction.
type occasion struct {
	first         int64    // Seq of the first event
	events        []string // their types, each once
	seqs          []int64  // of the first event of each type
	at            time.Time
	interactionID int64 // 0: none
	changes       map[string]rules.Change
}

// occasionsOf returns what happened in one operation. The first interaction belongs to what happened to the conversation;
// another one is an occasion of its own.
func occasionsOf(events []storage.Event) []occasion {
	var all []occasion
	at := func(interactionID int64) *occasion {
		for i := range all {
			if interactionID == 0 || all[i].interactionID == interactionID || i == 0 && all[i].interactionID == 0 {
				all[i].interactionID = cmp.Or(all[i].interactionID, interactionID)
				return &all[i]
			}
		}
		all = append(all, occasion{interactionID: interactionID, changes: map[string]rules.Change{}})
		return &all[len(all)-1]
	}
	for _, e := range events {
		var interactionID int64
		if areaOf(e.Type) == "interaction" {
			interactionID = e.Subject
		}
		o := at(interactionID)
		o.first, o.at = cmp.Or(o.first, e.Seq), e.Time
		if !slices.Contains(o.events, e.Type) {
			o.events, o.seqs = append(o.events, e.Type), append(o.seqs, e.Seq)
		}
		if interactionID != 0 {
			continue
		}
		for field, c := range subscription.ChangedBy(e).Changes {
			change := plainChange(c)
			if former, known := o.changes[field]; known {
				change.From = former.From
			}
			o.changes[field] = change
		}
	}
	return all
}

func plainChange(c subscription.Change) rules.Change {
	if len(c.Added)+len(c.Removed) > 0 {
		return rules.Change{From: idTexts(c.Removed), To: idTexts(c.Added)}
	}
	return rules.Change{From: plainValues(c.From), To: plainValues(c.To), Untold: !c.From.IsSet() && !c.To.IsSet()}
}

func idTexts(ids []int64) []string {
	var texts []string
	for _, id := range ids {
		texts = append(texts, strconv.FormatInt(id, 10))
	}
	return texts
}

// plainValues returns a value of a change as texts.
func plainValues(side storage.Opt[any]) []string {
	value, _ := side.Get()
	switch value := value.(type) {
	case string:
		return []string{value}
	case int64:
		return []string{strconv.FormatInt(value, 10)}
	case float64:
		return []string{strconv.FormatFloat(value, 'f', -1, 64)}
	case bool:
		return []string{strconv.FormatBool(value)}
	case []string:
		return value
	case []any:
		var all []string
		for _, one := range value {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// factsOf reads what the rules of a set may ask about a conversation at an occasion.
func (s *Service) factsOf(ctx context.Context, r Reader, ready compiledRules, o occasion, c Conversation) (*rules.Facts, error) {
	f := rules.NewFacts(nil, o.changes)
	if err := setConversationFacts(ctx, r, ready.fields, f, c); err != nil {
		return nil, err
	}
	uses := func(prefix string) bool { return ready.set.Uses(o.events, prefix) }
	if uses("customer.") || uses("company.") {
		fields := ready.fields
		if !uses(rules.PrefixCompanyField) { // one statement less
			fields = slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return f.AppliesTo == FieldOfCompany })
		}
		if err := setCustomerFacts(ctx, r, fields, f, c.CustomerID); err != nil {
			return nil, err
		}
	}
	if uses(rules.FieldInsideHours) {
		all, err := calendarNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
		if err != nil {
			return nil, err
		}
		setHoursFacts(f, all, o.at)
	}
	if uses("rating.") {
		if err := setRatingFacts(ctx, r, f, c.ID); err != nil {
			return nil, err
		}
	}
	if o.interactionID != 0 && uses("interaction.") {
		return f, setInteractionFacts(ctx, r, f, o.interactionID)
	}
	return f, nil
}

// setRatingFacts sets how the customer rated the answers in a conversation last.
func setRatingFacts(ctx context.Context, r Reader, f *rules.Facts, id int64) error {
	f.Set(rules.FieldRating)
	f.Set(rules.FieldRatingScore)
	all, err := ratingsOf(ctx, r, id)
	for _, one := range all {
		if one.Answered() {
			f.Set(rules.FieldRating, string(one.Verdict))
			f.Set(rules.FieldRatingScore, strconv.Itoa(one.Score))
		}
	}
	return err
}

// setHoursFacts sets which calendars are open at a time.
func setHoursFacts(f *rules.Facts, all []Calendar, at time.Time) {
	var open []int64
	for _, calendar := range all {
		if hours, err := calendar.Hours(); err == nil && hours.Open(at) {
			open = append(open, calendar.ID)
		}
	}
	f.Set(rules.FieldInsideHours, idTexts(open)...)
}

// setPlainFacts sets what rules know of a conversation from its own row.
func setPlainFacts(f *rules.Facts, c Conversation) {
	id := func(name string, id int64) {
		if f.Set(name); id != 0 {
			f.Set(name, strconv.FormatInt(id, 10))
		}
	}
	id(rules.FieldUser, c.UserID)
	id(rules.FieldTeam, c.TeamID)
	id(rules.FieldMailbox, c.MailboxID)
	id(rules.FieldCustomer, c.CustomerID)
	f.Set(rules.FieldStatus, string(c.Status))
	f.Set(rules.FieldPriority, string(c.Priority))
	text(f, rules.FieldSubject, c.Subject)
	f.Set(rules.FieldSpam, strconv.FormatBool(c.IsSpam()))
	f.Set(rules.FieldAwaiting, strconv.FormatBool(!c.AwaitingSince.IsZero()))
	if f.Set(rules.FieldSnoozed); !c.SnoozedUntil.IsZero() {
		f.Set(rules.FieldSnoozed, c.SnoozedUntil.UTC().Format(time.RFC3339))
	}
}

// setConversationFacts sets what rules know of a conversation itself.
func setConversationFacts(ctx context.Context, r Reader, fields []Field, f *rules.Facts, c Conversation) error {
	setPlainFacts(f, c)
	tags, err := tagsOf(ctx, r, c.ID)
	if err != nil {
		return err
	}
	f.Set(rules.FieldTags, idTexts(tags)...)
	return setFieldFacts(ctx, r, fields, f, FieldOfConversation, c.ID, rules.PrefixField)
}

func text(f *rules.Facts, name string, texts ...string) {
	f.Set(name, slices.DeleteFunc(texts, func(t string) bool { return t == "" })...)
}

// setFieldFacts sets the values of the account's own fields of a kind.
func setFieldFacts(ctx context.Context, r Reader, fields []Field, f *rules.Facts, kind FieldKind, id int64, prefix string) error {
	fields = slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return f.AppliesTo != kind })
	if len(fields) == 0 {
		return nil
	}
	var values []FieldValue
	var err error
	if id != 0 { // a customer without a company has none
		values, err = r.FieldValues(ctx, kind, []int64{id})
	}
	setValueFacts(f, fields, kind, values, prefix)
	return err
}

// setValueFacts sets the given values of the account's own fields of a kind.
func setValueFacts(f *rules.Facts, fields []Field, kind FieldKind, values []FieldValue, prefix string) {
	for _, field := range fields {
		if field.AppliesTo == kind {
			f.Set(prefix+field.Key, textsIn(values, field.ID)...)
		}
	}
}

func setCustomerFacts(ctx context.Context, r Reader, fields []Field, f *rules.Facts, id int64) error {
	customer, err := r.Customer(ctx, id)
	if err != nil {
		return err
	}
	if err := setFieldFacts(ctx, r, fields, f, FieldOfCustomer, id, rules.PrefixCustomerField); err != nil {
		return err
	}
	var company Company
	if customer.CompanyID != 0 {
		if company, err = companyNoun().Reader(r).Get(ctx, customer.CompanyID); err != nil {
			return err
		}
	}
	setPersonFacts(f, customer, company)
	return setFieldFacts(ctx, r, fields, f, FieldOfCompany, company.ID, rules.PrefixCompanyField)
}

// setPersonFacts sets what rules know of a customer and of the company, the zero value if there is none.
func setPersonFacts(f *rules.Facts, customer Customer, company Company) {
	var emails []string
	for _, e := range customer.Emails {
		emails = append(emails, e.Email)
	}
	text(f, rules.FieldCustomerEmail, emails...)
	text(f, rules.FieldCustomerName, customer.Name())
	text(f, rules.FieldCustomerFirstName, customer.FirstName)
	text(f, rules.FieldCustomerLastName, customer.LastName)
	text(f, rules.FieldCustomerCompany, customer.Company)
	text(f, rules.FieldCustomerNote, customer.Note)
	if f.Set(rules.FieldCompany); company.ID != 0 {
		f.Set(rules.FieldCompany, strconv.FormatInt(company.ID, 10))
	}
	text(f, rules.FieldCompanyName, company.Name)
	text(f, rules.FieldCompanyDomains, slices.Clone(company.Domains)...)
	text(f, rules.FieldCompanyExternalID, company.ExternalID)
	text(f, rules.FieldCompanyNote, company.Note)
}

// setInteractionFacts sets what rules know of the interaction that an event is about.
func setInteractionFacts(ctx context.Context, r Reader, f *rules.Facts, id int64) error {
	i, err := r.Interactions().Get(ctx, id)
	if err != nil {
		return ignoreMissing(err)
	}
	files, err := r.Attachments().List(ctx, AttachmentFilter{InteractionIDs: []int64{id}}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return err
	}
	setMessageFacts(f, i, slices.ContainsFunc(files, func(a Attachment) bool { return !a.IsInline }))
	setBodyFacts(f, i)
	return nil
}

// setBodyFacts sets the text of an interaction, which takes longer than all else.
func setBodyFacts(f *rules.Facts, i Interaction) {
	body := mailhtml.Text(mailhtml.Unquoted(i.Body, i.answers()))
	if len(body) > rules.MaxText {
		body = body[:rules.MaxText] // a character that is cut matches nothing
	}
	text(f, rules.FieldInteractionBody, body)
}

// setMessageFacts sets what rules know of an interaction, with or without files, except its text.
func setMessageFacts(f *rules.Facts, i Interaction, attached bool) {
	from := []string{i.CustomerEmail}
	for _, a := range i.Mail.From {
		from = append(from, a.Email)
	}
	to := slices.Concat(i.To, i.Cc)
	for _, list := range [][]mailaddr.Address{i.Mail.To, i.Mail.Cc} {
		for _, a := range list {
			to = append(to, a.Email)
		}
	}
	f.Set(rules.FieldInteractionType, string(i.Type))
	text(f, rules.FieldInteractionSubject, i.Subject)
	text(f, rules.FieldInteractionFrom, from...)
	text(f, rules.FieldInteractionTo, to...)
	f.Set(rules.FieldInteractionHasAttachment, strconv.FormatBool(attached))
	f.Set(rules.FieldInteractionAutoSubmitted, strconv.FormatBool(i.AutoSubmitted))
}
