package helpdesk_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func faultFields(err error) fault.Fields {
	f, _ := errors.AsType[*fault.Error](err)
	return f.Fields
}

// asks has the contact forms of the first mailbox ask for fields.
func (b *bundle) asks(keys ...string) error {
	_, err := b.desk.Mailboxes().Update(b.ctx, 1, helpdesk.MailboxInput{FormFields: storage.Some(keys)})
	return err
}

// shared makes a field that customers see.
func (b *bundle) shared(key string, of helpdesk.FieldType) helpdesk.Field {
	b.t.Helper()
	f := b.field(key, of)
	return must(b.desk.Fields().Update(b.ctx, f.ID, helpdesk.FieldInput{Label: f.Label, CustomerVisible: storage.Some(true)}))(b.t)
}

// Contact forms ask for fields that customers see, in the mailbox's order, as long as they see them.
func TestFormFields(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.shared("order", helpdesk.FieldText)
	amount := b.shared("amount", helpdesk.FieldNumber)
	b.field("inner", helpdesk.FieldText)
	for name, tt := range map[string]struct {
		keys []string
		want fault.Fields
	}{
		"unknown":   {[]string{"order", "absent"}, fault.Fields{"form_fields[1]": {"is not a field"}}},
		"invisible": {[]string{"inner"}, fault.Fields{"form_fields[0]": {"is not visible to customers"}}},
		"twice":     {[]string{"order", "order"}, fault.Fields{"form_fields[1]": {"is listed twice"}}},
		"too many":  {make([]string, 21), nil},
	} {
		err := b.asks(tt.keys...)
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(tt.want, faultFields(err)); tt.want != nil && diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if err := b.asks("amount", "order"); err != nil {
		t.Fatal(err)
	}
	asked := func() (keys []string) {
		for _, f := range must(b.svc.FormFields(b.ctx, b.account.ID, 1))(t) {
			keys = append(keys, f.Key)
		}
		return keys
	}
	if diff := cmp.Diff([]string{"amount", "order"}, asked()); diff != "" {
		t.Error(diff)
	}
	if err := b.desk.Fields().Delete(b.ctx, amount.ID); !fault.Is(err, fault.Conflict) {
		t.Errorf("a field that a form asks for was deleted: %v", err)
	}
	must(b.desk.Fields().Update(b.ctx, amount.ID, helpdesk.FieldInput{Label: "A", CustomerVisible: storage.Some(false)}))(t)
	if diff := cmp.Diff([]string{"order"}, asked()); diff != "" {
		t.Error(diff)
	}
	if err := b.asks(); err != nil {
		t.Fatal(err)
	}
	if err := b.desk.Fields().Delete(b.ctx, amount.ID); err != nil {
		t.Error(err)
	}
	if _, err := b.svc.FormFields(b.ctx, b.account.ID, 99); !fault.Is(err, fault.NotFound) {
		t.Errorf("of no mailbox: %v", err)
	}
}

// An answer that is wrong leaves no conversation behind.
func TestFormAnswers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.shared("amount", helpdesk.FieldNumber)
	portal := must(b.svc.Portal(b.ctx, b.account.ID, "ada@example.com"))(t)
	write := func(value string) (helpdesk.Conversation, error) {
		return portal.CreateConversation(b.ctx, helpdesk.PortalConversationInput{
			Subject: "Door", Messages: []helpdesk.PortalMessage{{Body: "Stuck"}}, Fields: helpdesk.FieldTexts{"amount": {value}},
		})
	}
	if _, err := write("much"); !fault.Is(err, fault.Invalid) {
		t.Errorf("a wrong number: %v", err)
	}
	if page := must(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{}, storage.PageRequest{}))(t); len(page.Items) != 0 {
		t.Errorf("%d conversations", len(page.Items))
	}
	c, err := write("12.50")
	if err != nil {
		t.Fatal(err)
	}
	set := must(b.desk.Conversations().Fields(b.ctx, []int64{c.ID}))(t)
	if diff := cmp.Diff(helpdesk.FieldTexts{"amount": {"12.5"}}, set.Values[c.ID]); diff != "" {
		t.Error(diff)
	}
}

// Messages of contact forms and the portal are answered by themselves, within the same limits as mail, in the language of the
// page.
func TestAutoReplyToForm(t *testing.T) {
	t.Parallel()
	texts := storage.Some(map[string]helpdesk.AutoText{"en": {Body: "Thanks"}, "de": {Body: "Danke"}})
	for name, tt := range map[string]struct {
		in      helpdesk.AutoReplyInput
		address string
		locale  string
		more    int // further messages
		before  func(b *bundle)
		want    []string
	}{
		"in the page's language": {address: "ada@example.com", locale: "de-AT", want: []string{"Danke"}},
		"in the text's":          {address: "ada@example.com", want: []string{"Danke"}},
		"of an unknown page":     {address: "ada@example.com", locale: "?", want: []string{"Danke"}},
		"once":                   {in: helpdesk.AutoReplyInput{On: storage.Some(helpdesk.AutoEvery)}, address: "ada@example.com", locale: "en", more: 2, want: []string{"Thanks"}},
		"each message": {
			in:      helpdesk.AutoReplyInput{On: storage.Some(helpdesk.AutoEvery), OncePer: storage.Some[time.Duration](0)},
			address: "ada@example.com", locale: "en", more: 1, want: []string{"Thanks", "Thanks"},
		},
		"only what begins": {in: helpdesk.AutoReplyInput{OncePer: storage.Some[time.Duration](0)}, address: "ada@example.com", locale: "en", more: 1, want: []string{"Thanks"}},
		"nobody who reads": {address: "no-reply@example.com", locale: "en"},
		"not ourselves":    {address: "support@example.org", locale: "en"},
		"suppressed": {address: "ada@example.com", locale: "en", before: func(b *bundle) {
			must(b.desk.Suppressions().Add(b.ctx, sending.SuppressionInput{Email: "ada@example.com"}))(b.t)
		}},
		"when switched off": {in: helpdesk.AutoReplyInput{IsActive: storage.Some(false)}, address: "ada@example.com", locale: "en"},
		"another's mailbox": {in: helpdesk.AutoReplyInput{MailboxIDs: storage.Some([]int64{2})}, address: "ada@example.com", locale: "en"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Other")}))(t)
			tt.in.Translations = texts
			b.autoReply(tt.in)
			if tt.before != nil {
				tt.before(b)
			}
			portal := must(b.svc.Portal(b.ctx, b.account.ID, tt.address))(t)
			message := helpdesk.PortalMessage{Body: "Guten Tag, ich habe eine Frage zu der Tür und bitte um Hilfe. Danke!", Source: "contact form", Locale: tt.locale}
			c := must(portal.CreateConversation(b.ctx, helpdesk.PortalConversationInput{Subject: "Door", MailboxID: 1, Messages: []helpdesk.PortalMessage{message, message}}))(t)
			b.answerAll()
			for range tt.more {
				must(portal.CreateInteraction(b.ctx, c.ID, message))(t)
				b.answerAll()
			}
			var got []string
			for _, i := range b.automatic(c.ID) {
				got = append(got, i.Body)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if c := b.conversation(c.ID); c.AwaitingSince.IsZero() {
				t.Error("the customer no longer waits")
			}
		})
	}
}

// Companies have fields of their own, which survive a merge and are checked.
func TestCompanyFields(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	field := func(label string, of helpdesk.FieldType) helpdesk.Field {
		return must(b.desk.Fields().Create(b.ctx, helpdesk.FieldInput{Label: label, AppliesTo: helpdesk.FieldOfCompany, Type: of}))(t)
	}
	seats := field("Seats", helpdesk.FieldNumber)
	field("Region", helpdesk.FieldText)
	acme := must(b.desk.Companies().Create(b.ctx, helpdesk.CompanyInput{Name: "Acme", Fields: helpdesk.FieldTexts{"seats": {"10"}}}))(t)
	twin := must(b.desk.Companies().Create(b.ctx, helpdesk.CompanyInput{Name: "Twin", Fields: helpdesk.FieldTexts{"seats": {"3"}, "region": {"North"}}}))(t)
	for name, fields := range map[string]helpdesk.FieldTexts{"unknown": {"plan": {"x"}}, "a wrong number": {"seats": {"many"}}} {
		if _, err := b.desk.Companies().Update(b.ctx, acme.ID, helpdesk.CompanyInput{Name: "Acme", Fields: fields}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.desk.Companies().Create(b.ctx, helpdesk.CompanyInput{Name: "New", Fields: fields}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s of a new company: %v", name, err)
		}
	}
	if page := must(b.desk.Companies().List(b.ctx, helpdesk.CompanyQuery{}, storage.PageRequest{}))(t); len(page.Items) != 2 {
		t.Errorf("%d companies", len(page.Items))
	}
	must(b.desk.Companies().Update(b.ctx, acme.ID, helpdesk.CompanyInput{Name: "Acme", Fields: helpdesk.FieldTexts{"seats": {"12"}}}))(t)
	must(b.desk.Companies().Merge(b.ctx, twin.ID, acme.ID))(t)
	set := must(b.desk.Companies().Fields(b.ctx, []int64{acme.ID, twin.ID}))(t)
	if diff := cmp.Diff(map[int64]helpdesk.FieldTexts{acme.ID: {"seats": {"12"}, "region": {"North"}}}, set.Values); diff != "" {
		t.Error(diff)
	}
	if err := b.desk.Fields().Delete(b.ctx, seats.ID); err != nil {
		t.Fatal(err)
	}
	set = must(b.desk.Companies().Fields(b.ctx, []int64{acme.ID}))(t)
	if diff := cmp.Diff(map[int64]helpdesk.FieldTexts{acme.ID: {"region": {"North"}}}, set.Values); diff != "" {
		t.Error(diff)
	}
}

// Why automatic replies were sent is kept for 90 days, and longer if a customer gets no other one for longer.
func TestPruneAutoResponses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		once time.Duration
		days int
		gone int
	}{
		"young": {24 * time.Hour, 89, 0}, "old": {24 * time.Hour, 91, 1}, "still needed": {100 * 24 * time.Hour, 91, 0}, "no longer needed": {100 * 24 * time.Hour, 101, 1},
	} {
		b := newBundle(t)
		b.autoReply(helpdesk.AutoReplyInput{OncePer: storage.Some(tt.once)})
		portal := must(b.svc.Portal(b.ctx, b.account.ID, "ada@example.com"))(t)
		c := must(portal.CreateConversation(b.ctx, helpdesk.PortalConversationInput{Messages: []helpdesk.PortalMessage{{Body: "Hello"}}}))(t)
		sent := b.automatic(c.ID)
		b.clock.Add(time.Duration(tt.days) * 24 * time.Hour)
		if done := must(b.svc.Prune(b.ctx))(t); done.AutoResponses != tt.gone {
			t.Errorf("%s: %+v", name, done)
		}
		if why := must(b.desk.Interactions().AutoResponses(b.ctx, sent))(t); len(why) != 1-tt.gone {
			t.Errorf("%s: %v", name, why)
		}
	}
}
