package helpdesk_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// office are hours that have begun when a bundle begins, at noon on a Sunday, and end at 17:00.
func (b *bundle) office() helpdesk.Calendar {
	b.t.Helper()
	var week hours.Week
	for n := range week {
		week[n] = []hours.Span{{From: 9 * 60, To: 17 * 60}}
	}
	return must(b.desk.Calendars().Create(b.ctx, helpdesk.CalendarInput{Name: storage.Some("Office"), Timezone: storage.Some("UTC"), Week: storage.Some(week)}))(b.t)
}

// autoReply creates an automatic reply with one text.
func (b *bundle) autoReply(in helpdesk.AutoReplyInput) helpdesk.AutoReply {
	b.t.Helper()
	if !in.Name.IsSet() {
		in.Name = storage.Some("Thanks")
	}
	if !in.Translations.IsSet() {
		in.Translations = storage.Some(map[string]helpdesk.AutoText{"en": {Body: in.Name.Or("")}})
	}
	return must(b.desk.AutoReplies().Create(b.ctx, in))(b.t)
}

// answerAll does the jobs that answer mail by themselves.
func (b *bundle) answerAll() (jobs []storage.ClaimedJob) {
	b.t.Helper()
	jobs = must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobAutoReply: 10}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(b.t)
	for _, job := range jobs {
		if err := b.svc.Jobs().AutoReply(b.ctx, job); err != nil {
			b.t.Error(err)
		}
		if err := b.store.Finish(b.ctx, job); err != nil {
			b.t.Error(err)
		}
	}
	return jobs
}

// automatic returns the automatic replies in a conversation.
func (b *bundle) automatic(conversationID int64) []helpdesk.Interaction {
	b.t.Helper()
	b.answerAll()
	return slices.DeleteFunc(b.interactions(conversationID), func(i helpdesk.Interaction) bool { return !i.Automatic() })
}

// What an automatic reply is: a mail without an author, threaded, that says what it is, and answers nobody.
func TestAutoReply(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	office := b.office()
	a := b.autoReply(helpdesk.AutoReplyInput{
		CalendarID: storage.Some(office.ID), When: storage.Some(helpdesk.AutoInside),
		Translations: storage.Some(map[string]helpdesk.AutoText{"en": {Subject: "Got it, {{customer.first_name}}", Body: "<p>#{{conversation.number}} at {{mailbox.name}}, {{agent.name}}</p>"}}),
	})
	m := opening()
	m.References = []string{"0@example.com"}
	row := b.receive(m)
	before := b.conversation(row.ConversationID)
	all := b.automatic(row.ConversationID)
	if len(all) != 1 {
		t.Fatalf("%d automatic replies", len(all))
	}
	i := all[0]
	got := []any{i.Type, i.Source, i.UserID, i.PostedByID, i.Body, i.Subject, i.To, i.References, i.Ending}
	want := []any{
		helpdesk.TypeUser, helpdesk.SourceAuto, int64(0), int64(0), "<p>#1 at Support, Support</p>", "Got it, Ada",
		[]string{"ada@example.com"}, []string{"0@example.com", "1@example.com"}, helpdesk.Ending{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, b.conversation(row.ConversationID)); diff != "" {
		t.Errorf("the conversation has changed:\n%s", diff)
	}
	out := begin(b, i.ID)
	if !out.Automatic || out.Subject != "Got it, Ada" || out.IsReply || out.From.Name != "Support" || len(out.Due) != 1 || out.SeenToken != "" {
		t.Errorf("the mail is %+v", out)
	}
	report(b, out, sending.Failed) // which nobody needs to know
	if c := b.conversation(row.ConversationID); c.AwaitingSince.IsZero() || c.Preview != before.Preview {
		t.Errorf("after that: %+v", c)
	}
	why := must(b.desk.Interactions().AutoResponses(b.ctx, all))(t)[i.ID]
	if why.AutoReplyID != a.ID || why.CauseID != row.InteractionID || why.When != helpdesk.AutoInside || why.CalendarID != office.ID || why.Locale != "en" || why.Version != 1 {
		t.Errorf("why: %+v", why)
	}
	// A member's answer neither crosses it nor quotes it, and the customer's wait ends with that.
	seen := helpdesk.NewestSeen(b.interactions(row.ConversationID)[:1])
	b.answer(row.ConversationID, helpdesk.InteractionInput{Seen: storage.Some(seen)})
	if c := b.conversation(row.ConversationID); !c.AwaitingSince.IsZero() {
		t.Error("the customer still waits")
	}
}

// Which mail is answered.
func TestAutoReplyTo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mail   func(b *bundle, m *ledger.Incoming)
		answer bool
	}{
		"a customer's mail":              {func(*bundle, *ledger.Incoming) {}, true},
		"one that its sender dated back": {func(_ *bundle, m *ledger.Incoming) { m.Date = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC) }, true},
		"an automatic one":               {func(_ *bundle, m *ledger.Incoming) { m.AutoSubmitted = true }, false},
		"one that forbids it":            {func(_ *bundle, m *ledger.Incoming) { m.NoAutoReply = true }, false},
		"of a mailing list":              {func(_ *bundle, m *ledger.Incoming) { m.ListID = "list.example.com" }, false},
		"a bounce":                       {func(_ *bundle, m *ledger.Incoming) { m.NullReturnPath = true }, false},
		"from a mail system":             {func(_ *bundle, m *ledger.Incoming) { m.From[0].Email = "MAILER-DAEMON@example.com" }, false},
		"from nobody who reads":          {func(_ *bundle, m *ledger.Incoming) { m.From[0].Email = "no-reply@example.com" }, false},
		"with such a return path":        {func(_ *bundle, m *ledger.Incoming) { m.ReturnPath = "bounces+1@example.com" }, false},
		"from nowhere":                   {func(_ *bundle, m *ledger.Incoming) { m.From = nil }, false},
		"from ourselves":                 {func(_ *bundle, m *ledger.Incoming) { m.From[0].Email = "support@example.org" }, false},
		"disowned by its domain": {func(b *bundle, m *ledger.Incoming) {
			b.source, m.Date = "imap", b.clock.Now()
			m.Authentication = ledger.Authentication{Source: "header", DMARC: ledger.AuthPolicy{Result: ledger.AuthFail, Domain: "example.com", Policy: "reject"}}
		}, false},
		"old, from a mail server":    {func(b *bundle, m *ledger.Incoming) { b.source, m.Date = "imap", b.clock.Now().Add(-25*time.Hour) }, false},
		"recent, from a mail server": {func(b *bundle, m *ledger.Incoming) { b.source, m.Date = "imap", b.clock.Now().Add(-time.Hour) }, true},
		"imported":                   {func(b *bundle, m *ledger.Incoming) { b.source, m.Date = ledger.SourceImport, b.clock.Now() }, false},
		"from a blocked sender": {func(b *bundle, _ *ledger.Incoming) {
			must(b.desk.BlockedSenders().Block(b.ctx, "example.com"))(b.t)
		}, false},
		"from a suppressed address": {func(b *bundle, _ *ledger.Incoming) {
			must(b.desk.Suppressions().Add(b.ctx, sending.SuppressionInput{Email: "ada@example.com"}))(b.t)
		}, false},
		"through a form of ours": {func(_ *bundle, m *ledger.Incoming) {
			m.From[0].Email, m.ReplyTo = "wordpress@example.org", []mailaddr.Address{{Email: "bob@example.com"}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.autoReply(helpdesk.AutoReplyInput{On: storage.Some(helpdesk.AutoEvery), OncePer: storage.Some(time.Duration(0))})
			m := opening()
			tt.mail(b, &m)
			row := b.receive(m)
			if row.ConversationID == 0 {
				b.answerAll()
				if tt.answer {
					t.Fatalf("the mail is %s: %s", row.State, row.Reason)
				}
				return
			}
			if got := len(b.automatic(row.ConversationID)); got != map[bool]int{true: 1}[tt.answer] {
				t.Errorf("%d automatic replies", got)
			}
		})
	}
}

// Which automatic reply answers, and when.
func TestAutoReplyChoice(t *testing.T) {
	t.Parallel()
	some := storage.Some[helpdesk.AutoWhen]
	for name, tt := range map[string]struct {
		replies []helpdesk.AutoReplyInput // whose calendars are the office hours, if they need one
		at      time.Duration             // when the mail comes, after noon
		reply   bool                      // a second mail in the same conversation
		want    []string                  // bodies
	}{
		"always, but one for hours is preferred": {[]helpdesk.AutoReplyInput{{Name: storage.Some("a")}, {Name: storage.Some("b"), When: some(helpdesk.AutoInside)}}, 0, false, []string{"b"}},
		"not in hours":                           {[]helpdesk.AutoReplyInput{{Name: storage.Some("a"), When: some(helpdesk.AutoOutside)}}, 0, false, nil},
		"at the end of the hours":                {[]helpdesk.AutoReplyInput{{Name: storage.Some("a"), When: some(helpdesk.AutoOutside)}, {Name: storage.Some("b"), When: some(helpdesk.AutoInside)}}, 5 * time.Hour, false, []string{"a"}},
		"one of the mailbox":                     {[]helpdesk.AutoReplyInput{{Name: storage.Some("a")}, {Name: storage.Some("b"), MailboxIDs: storage.Some([]int64{1})}}, 0, false, []string{"b"}},
		"none of another mailbox":                {[]helpdesk.AutoReplyInput{{Name: storage.Some("a"), MailboxIDs: storage.Some([]int64{2})}}, 0, false, nil},
		"switched off":                           {[]helpdesk.AutoReplyInput{{Name: storage.Some("a"), IsActive: storage.Some(false)}}, 0, false, nil},
		"only new ones":                          {[]helpdesk.AutoReplyInput{{Name: storage.Some("a"), OncePer: storage.Some(time.Duration(0))}}, 0, true, []string{"a"}},
		"every one":                              {[]helpdesk.AutoReplyInput{{Name: storage.Some("a"), On: storage.Some(helpdesk.AutoEvery), OncePer: storage.Some(time.Duration(0))}}, 0, true, []string{"a", "a"}},
		"every one, once a day":                  {[]helpdesk.AutoReplyInput{{Name: storage.Some("a"), On: storage.Some(helpdesk.AutoEvery)}}, 0, true, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Email: storage.Some("sales@example.org")}))(t)
			office := b.office()
			for _, in := range tt.replies {
				if in.When.IsSet() {
					in.CalendarID = storage.Some(office.ID)
				}
				b.autoReply(in)
			}
			b.clock.Add(tt.at)
			id := b.receive(opening()).ConversationID
			b.answerAll()
			if tt.reply {
				m := opening()
				m.MessageID, m.References = "2@example.com", []string{"1@example.com"}
				b.receive(m)
			}
			var got []string
			for _, i := range b.automatic(id) {
				got = append(got, i.Body)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever happens to its job, a mail is answered once; and a customer, once within OncePer, whatever mails they write.
func TestAutoReplyOnce(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.autoReply(helpdesk.AutoReplyInput{OncePer: storage.Some(2 * time.Hour)})
	id := b.receive(opening()).ConversationID
	jobs := b.answerAll()
	for range 3 { // as after a crash, or with several servers
		for _, job := range jobs {
			if err := b.svc.Jobs().AutoReply(b.ctx, job); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := len(b.automatic(id)); got != 1 || len(jobs) != 1 {
		t.Errorf("%d jobs, %d automatic replies", len(jobs), got)
	}
	b.clock.Add(3 * time.Hour)
	if err := b.svc.Jobs().AutoReply(b.ctx, jobs[0]); err != nil || len(b.automatic(id)) != 1 {
		t.Errorf("the same mail is answered again: %v", err)
	}
	total := 0
	for n := range 4 {
		m := opening()
		m.MessageID, m.Subject = fmt.Sprintf("new%d@example.com", n), fmt.Sprint("Another ", n)
		total += len(b.automatic(b.receive(m).ConversationID))
		b.clock.Add(time.Hour)
	}
	if total != 2 {
		t.Errorf("%d automatic replies to four mails in four hours, at most one in two", total)
	}
}

// Mail over the budget of an address is not answered, nor after a member's answer, nor a day later.
func TestAutoReplyLate(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(b *bundle, id int64){
		"a member answers": func(b *bundle, id int64) { b.clock.Add(time.Second); b.answer(id, helpdesk.InteractionInput{}) },
		"a day passes":     func(b *bundle, _ int64) { b.clock.Add(25 * time.Hour) },
		"it is spam": func(b *bundle, id int64) {
			must(b.desk.Conversations().UpdateAll(b.ctx, []int64{id}, helpdesk.BulkUpdate{Spam: storage.Some(true)}))(b.t)
		},
		"it is gone": func(b *bundle, id int64) { b.deleteConversation(id) },
		"the reply is off": func(b *bundle, _ int64) {
			must(b.desk.AutoReplies().Update(b.ctx, 1, helpdesk.AutoReplyInput{IsActive: storage.Some(false)}))(b.t)
		},
		"the reply is gone":   func(b *bundle, _ int64) { ok(b.t, b.desk.AutoReplies().Delete(b.ctx, 1)) },
		"its maker has left":  func(b *bundle, _ int64) { b.leave() },
		"the budget is spent": func(b *bundle, id int64) { b.spend(id) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, func(c *helpdesk.Config) { c.MaxMailPerAddress = 2 })
			admin := b.member(identity.RoleAdmin)
			owner := b.desk
			b.desk = admin
			b.autoReply(helpdesk.AutoReplyInput{})
			b.desk = owner
			id := b.receive(opening()).ConversationID
			act(b, id)
			b.answerAll()
			for _, i := range b.sentByItself() {
				t.Errorf("sent: %+v", i)
			}
			if name != "its maker has left" {
				return
			}
			a := must(b.desk.AutoReplies().Get(b.ctx, 1))(t)
			if a.IsActive || a.Reason != helpdesk.AutoOrphaned || a.Version != 2 {
				t.Errorf("the orphan is %+v", a)
			}
			if a = must(b.desk.AutoReplies().Update(b.ctx, 1, helpdesk.AutoReplyInput{IsActive: storage.Some(true)}))(t); a.Reason != "" || a.UserID != b.owner.ID {
				t.Errorf("taken over, it is %+v", a)
			}
		})
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) deleteConversation(id int64) { ok(b.t, b.desk.Conversations().Delete(b.ctx, id)) }

// leave removes the admin, who is the second member.
func (b *bundle) leave() {
	ok(b.t, b.desk.Members().Remove(b.ctx, 2))
}

// spend sends the customer two mails from another conversation.
func (b *bundle) spend(int64) {
	c := must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Subject: "x"}))(b.t)
	for range 2 {
		report(b, begin(b, b.answer(c.ID, helpdesk.InteractionInput{}).ID), sending.Sent)
	}
}

func (b *bundle) sentByItself() (all []helpdesk.Interaction) {
	page := must(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{}, storage.PageRequest{Limit: 10}))(b.t)
	for _, c := range page.Items {
		all = append(all, slices.DeleteFunc(b.interactions(c.ID), func(i helpdesk.Interaction) bool { return !i.Automatic() })...)
	}
	return all
}

// The language is the customer's, as the mail says or shows, else the account's, else there is one.
func TestAutoReplyLanguage(t *testing.T) {
	t.Parallel()
	texts := map[string]helpdesk.AutoText{"en": {Body: "en"}, "de": {Body: "de"}, "pt-BR": {Body: "pt-BR"}}
	german := "Guten Tag, ich habe eine Frage: die Tür ist nicht offen. Können Sie mir bitte helfen?"
	for name, tt := range map[string]struct{ says, text, account, want string }{
		"what the mail says":     {"de-AT", "Hello, is the door open?", "en", "de"},
		"the region":             {"pt-br", "", "en", "pt-BR"},
		"another region":         {"pt-PT", "", "en", "pt-BR"},
		"what the text shows":    {"", german, "en", "de"},
		"the account":            {"", "!!!", "de", "de"},
		"no such language":       {"fr", german, "de-CH", "de"},
		"nothing fits":           {"ja", "", "fr", "de"},
		"what is not a language": {"not a language!", german, "en", "de"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			must(b.desk.Account().Update(b.ctx, identity.AccountUpdate{Name: "Acme", DefaultLocale: storage.Some(tt.account)}))(t)
			b.autoReply(helpdesk.AutoReplyInput{Translations: storage.Some(texts)})
			m := opening()
			m.Language, m.Text = tt.says, tt.text
			all := b.automatic(b.receive(m).ConversationID)
			if len(all) != 1 || all[0].Body != tt.want {
				t.Errorf("%+v", all)
			}
		})
	}
}

func TestAutoReplyInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.desk.AutoReplies().Create(b.ctx, helpdesk.AutoReplyInput{
		When: storage.Some(helpdesk.AutoInside), On: storage.Some(helpdesk.AutoOn("some")), OncePer: storage.Some(time.Minute),
		Translations: storage.Some(map[string]helpdesk.AutoText{"xx!": {Subject: "{{x}}", Body: " "}, "en": {Subject: strings.Repeat("x", 201), Body: "<p>{{agent.phone}}</p>"}}),
	})
	f, _ := errors.AsType[*fault.Error](err)
	want := []string{"calendar_id", "name", "on", "once_per", "translations[en][body]", "translations[en][subject]", "translations[xx!][body]", "translations[xx!][locale]", "translations[xx!][subject]"}
	var got []string
	for field := range f.Fields {
		got = append(got, field)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	office := b.office()
	a := b.autoReply(helpdesk.AutoReplyInput{Name: storage.Some("Nights"), CalendarID: storage.Some(office.ID), When: storage.Some(helpdesk.AutoOutside)})
	if err := b.desk.Calendars().Delete(b.ctx, office.ID); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "Nights") {
		t.Errorf("deleting the calendar of an automatic reply: %v", err)
	}
	if _, err := b.desk.AutoReplies().Create(b.ctx, helpdesk.AutoReplyInput{Name: storage.Some("NIGHTS"), Translations: storage.Some(map[string]helpdesk.AutoText{"en": {Body: "x"}})}); !fault.Is(err, fault.Invalid) {
		t.Errorf("the same name: %v", err)
	}
	preview := must(b.desk.AutoReplies().Preview(b.ctx, map[string]helpdesk.AutoText{"en": {Subject: "#{{conversation.number}}", Body: "Hi {{customer.first_name}} from {{mailbox.name}}"}}))(t)
	if diff := cmp.Diff([]helpdesk.AutoReplyPreview{{Locale: "en", Subject: "#1234", Body: "Hi Ada from Support"}}, preview); diff != "" {
		t.Error(diff)
	}
	ok(t, b.desk.AutoReplies().Delete(b.ctx, a.ID))
	ok(t, b.desk.Calendars().Delete(b.ctx, office.ID))
}
