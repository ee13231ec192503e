package helpdesk_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// survey creates a survey of three scores that asks after a day.
func (b *bundle) survey(change ...func(*helpdesk.SurveyInput)) helpdesk.Survey {
	b.t.Helper()
	in := helpdesk.SurveyInput{
		Name: storage.Some("Survey"), Scale: storage.Some(3), OncePer: storage.Some[time.Duration](0),
		Translations: storage.Some(map[string]helpdesk.SurveyText{
			"en": {Subject: "How was it, {{customer.first_name}}?", Body: "<p>{{agent.name}} asks: {{ rating }}</p>", Question: "Well?"},
			"de": {Body: "<p>Wie war es?</p>"},
		}),
	}
	for _, one := range change {
		one(&in)
	}
	return must(b.desk.Surveys().Create(b.ctx, in))(b.t)
}

// askAll does the jobs that ask for ratings and are due.
func (b *bundle) askAll() (jobs int) {
	b.t.Helper()
	for {
		claimed := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobAskRating: 10}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(b.t)
		if len(claimed) == 0 {
			return jobs
		}
		for _, job := range claimed {
			jobs++
			for range 2 { // again after an interruption
				if err := b.svc.Jobs().AskRating(b.ctx, job); err != nil {
					b.t.Error(err)
				}
			}
			if err := b.store.Finish(b.ctx, job); err != nil {
				b.t.Error(err)
			}
		}
	}
}

// resolved is a customer's conversation that was answered and closed.
func (b *bundle) resolved(id string) int64 {
	b.t.Helper()
	m := opening()
	m.MessageID, m.Subject = id+"@example.com", "The door "+id
	m.Identity = nil
	row := b.receive(m)
	b.answer(row.ConversationID, helpdesk.InteractionInput{})
	b.close(row.ConversationID)
	return row.ConversationID
}

// rated returns the ratings of a conversation.
func (b *bundle) rated(id int64) []helpdesk.Rating {
	b.t.Helper()
	return must(b.desk.Ratings().List(b.ctx, id, storage.PageRequest{}))(b.t).Items
}

// A customer is asked once, when the delay is over, by a mail that has a link for each score.
func TestSurvey(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	survey := b.survey()
	id := b.resolved("1")
	if b.askAll(); len(b.rated(id)) != 0 {
		t.Fatal("asked at once")
	}
	b.clock.Add(24*time.Hour - time.Second)
	if b.askAll(); len(b.rated(id)) != 0 {
		t.Fatal("asked before the delay is over")
	}
	b.clock.Add(time.Second)
	before := b.conversation(id)
	b.askAll()
	all := b.rated(id)
	if len(all) != 1 {
		t.Fatalf("asked %d times", len(all))
	}
	r := all[0]
	want := helpdesk.Rating{
		ID: r.ID, ConversationID: id, SurveyID: survey.ID, InteractionID: r.InteractionID, CustomerID: before.CustomerID, UserID: b.owner.ID, Scale: 3, Verdict: helpdesk.RatedNot,
		Locale: "en", Source: helpdesk.RatedByMail, AskedAt: b.clock.Now(), CreatedAt: b.clock.Now(), UpdatedAt: b.clock.Now(),
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, b.conversation(id)); diff != "" {
		t.Errorf("the conversation has changed:\n%s", diff)
	}
	out := begin(b, r.InteractionID)
	if !out.Automatic || out.Subject != "How was it, Ada?" || len(out.Due) != 1 || out.Due[0].Address != "ada@example.com" || out.Rating == nil || len(out.References) == 0 {
		t.Fatalf("the mail is %+v", out)
	}
	if want := "<p>" + b.owner.Name + " asks: {{rating}}</p>"; out.HTML != want || out.Rating.Question != "Well?" || len(out.Rating.Tokens) != 3 {
		t.Errorf("it says %q, and %+v; want %q", out.HTML, out.Rating, want)
	}
	b.clock.Add(100 * 24 * time.Hour)
	b.update(id, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusPosted)})
	b.close(id)
	b.clock.Add(25 * time.Hour)
	if b.askAll(); len(b.rated(id)) != 1 {
		t.Error("asked again")
	}
}

// Of whom a survey asks nothing.
func TestSurveyAsksNot(t *testing.T) {
	t.Parallel()
	reopen := func(b *bundle, id int64) {
		b.update(id, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusPosted)})
	}
	for name, tt := range map[string]struct {
		change func(*helpdesk.SurveyInput)
		before func(b *bundle, id int64) // the delay is over
		asks   bool
	}{
		"as it is": {asks: true},
		"reopened": {before: reopen},
		"reopened and closed again later": {before: func(b *bundle, id int64) {
			reopen(b, id)
			b.clock.Add(time.Hour)
			b.close(id)
		}},
		"spam": {before: func(b *bundle, id int64) {
			must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Spam: storage.Some(true)}))(b.t)
		}},
		"deleted": {before: (*bundle).deleteConversation},
		"merged": {before: func(b *bundle, id int64) {
			must(b.desk.Conversations().Merge(b.ctx, id, b.resolved("other")))(b.t)
		}},
		"suppressed": {before: func(b *bundle, _ int64) {
			must(b.desk.Suppressions().Add(b.ctx, sending.SuppressionInput{Email: "ada@example.com"}))(b.t)
		}},
		"rated elsewhere": {before: func(b *bundle, id int64) {
			must(b.desk.Ratings().Record(b.ctx, id, helpdesk.RatingInput{Score: 1}))(b.t)
		}},
		"switched off": {before: func(b *bundle, _ int64) {
			all := must(b.desk.Surveys().List(b.ctx, storage.PageRequest{}))(b.t).Items
			must(b.desk.Surveys().Update(b.ctx, all[0].ID, helpdesk.SurveyInput{IsActive: storage.Some(false)}))(b.t)
		}},
		"another mailbox": {change: func(in *helpdesk.SurveyInput) {
			in.All = storage.Some([]rules.Condition{when("mailbox_id", rules.Is, "2")})
		}, before: nil},
		"conditions that hold": {change: func(in *helpdesk.SurveyInput) {
			in.All = storage.Some([]rules.Condition{when("subject", rules.Contains, "door")})
		}, asks: true},
		"conditions that hold not": {change: func(in *helpdesk.SurveyInput) {
			in.All = storage.Some([]rules.Condition{when("subject", rules.Contains, "window")})
		}},
		"only under replies": {change: func(in *helpdesk.SurveyInput) { in.Delay = storage.Null[time.Duration]() }},
		"a short delay":      {change: func(in *helpdesk.SurveyInput) { in.Delay = storage.Some[time.Duration](0) }, asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			if tt.change == nil {
				tt.change = func(*helpdesk.SurveyInput) {}
			}
			if name == "another mailbox" {
				must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Two"), Email: storage.Some("two@example.org")}))(t)
			}
			b.survey(tt.change)
			id := b.resolved("1")
			b.askAll()
			b.clock.Add(time.Hour)
			if tt.before != nil {
				tt.before(b, id)
			}
			b.clock.Add(23 * time.Hour)
			b.askAll()
			asked := 0
			for _, i := range must(b.store.Within(helpdesk.Scope{AccountID: b.account.ID}).Interactions().List(b.ctx, helpdesk.InteractionFilter{ConversationID: id}, storage.Seek{Limit: 100}))(t) {
				if i.Automatic() {
					asked++
				}
			}
			if (asked == 1) != tt.asks || asked > 1 {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}

// A survey ends with the rights of the member who made it.
func TestSurveyOrphaned(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	s := b.survey()
	admin := b.member(identity.RoleAdmin)
	must(admin.Surveys().Update(b.ctx, s.ID, helpdesk.SurveyInput{Delay: storage.Some[time.Duration](0)}))(t)
	id := b.resolved("1")
	b.leave()
	b.askAll()
	if s = must(b.desk.Surveys().Get(b.ctx, s.ID))(t); s.IsActive || s.Reason != helpdesk.SurveyOrphaned || len(b.rated(id)) != 0 {
		t.Errorf("%+v has asked %v", s, b.rated(id))
	}
}

// Nobody is asked where nobody has answered, or where a program wrote.
func TestSurveyOfPrograms(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		mail    func(m *ledger.Incoming)
		answers bool
		asks    bool
	}{
		"a person":       {func(*ledger.Incoming) {}, true, true},
		"never answered": {func(*ledger.Incoming) {}, false, false},
		"a program":      {func(m *ledger.Incoming) { m.AutoSubmitted = true }, true, false},
		"no-reply":       {func(m *ledger.Incoming) { m.From[0].Email = "no-reply@example.com" }, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.survey(func(in *helpdesk.SurveyInput) { in.Delay = storage.Some[time.Duration](0) })
			m := opening()
			tt.mail(&m)
			id := b.receive(m).ConversationID
			if tt.answers {
				b.answer(id, helpdesk.InteractionInput{})
			}
			b.close(id)
			b.askAll()
			if asked := len(b.rated(id)) > 0; asked != tt.asks {
				t.Errorf("asked: %v", asked)
			}
		})
	}
}

// OncePer holds for all conversations of a customer, also when several are due at once.
func TestSurveyOncePer(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.survey(func(in *helpdesk.SurveyInput) {
		in.Delay, in.OncePer = storage.Some[time.Duration](0), storage.Some(10*24*time.Hour)
	})
	var ids []int64
	for n := range 4 {
		ids = append(ids, b.resolved(fmt.Sprint(n)))
	}
	jobs := must(b.store.Claim(b.ctx, map[string]int{helpdesk.JobAskRating: 10}, b.clock.Now(), b.clock.Now().Add(time.Minute)))(t)
	var all sync.WaitGroup
	for _, job := range jobs {
		all.Go(func() {
			if err := b.svc.Jobs().AskRating(b.ctx, job); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	asked := 0
	for _, id := range ids {
		asked += len(b.rated(id))
	}
	if asked != 1 || len(jobs) != 4 {
		t.Errorf("%d jobs asked %d times", len(jobs), asked)
	}
	b.clock.Add(10 * 24 * time.Hour)
	if id := b.resolved("later"); b.askAll() == 0 || len(b.rated(id)) != 1 {
		t.Error("not asked after that time")
	}
}

// A reply with the placeholder has the links of the survey, and those who quote it do not.
func TestRatingInReply(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		survey func(*helpdesk.SurveyInput)
		none   bool
		body   string
		want   string
		links  int
	}{
		"links":         {body: "<p>Pull.</p><p>{{rating}} {{ rating }}</p>", want: "<p>Pull.</p><p>{{rating}} </p>", links: 3},
		"no survey":     {none: true, body: "<p>Pull.</p><p>{{rating}}</p>", want: "<p>Pull.</p><p></p>"},
		"not asked for": {body: "<p>Pull.</p>", want: "<p>Pull.</p>"},
		"switched off":  {survey: func(in *helpdesk.SurveyInput) { in.IsActive = storage.Some(false) }, body: "<p>{{rating}}</p>", want: "<p></p>"},
		"only there":    {survey: func(in *helpdesk.SurveyInput) { in.Delay = storage.Null[time.Duration]() }, body: "<p>{{rating}}</p>", want: "<p>{{rating}}</p>", links: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			if !tt.none {
				if tt.survey == nil {
					tt.survey = func(*helpdesk.SurveyInput) {}
				}
				b.survey(tt.survey)
			}
			id := b.receive(opening()).ConversationID
			i := b.answer(id, helpdesk.InteractionInput{Body: tt.body})
			out := begin(b, i.ID)
			links := 0
			if out.Rating != nil {
				links = len(out.Rating.Tokens)
			}
			if links != tt.links || !strings.HasPrefix(out.HTML, tt.want) {
				t.Errorf("%d links in %q", links, out.HTML)
			}
			if again := begin(b, i.ID); cmp.Diff(again.Rating, out.Rating) != "" || again.HTML != out.HTML {
				t.Error("the second attempt differs")
			}
			if all := b.rated(id); len(all) != min(links, 1) || links > 0 && (all[0].UserID != b.owner.ID || all[0].InteractionID != i.ID || all[0].Source != helpdesk.RatedInReply) {
				t.Errorf("ratings: %+v", all)
			}
			next := begin(b, b.answer(id, helpdesk.InteractionInput{Body: "More."}).ID)
			if strings.Contains(next.HTML, "rating") || next.Rating != nil {
				t.Errorf("the next one is %q", next.HTML)
			}
		})
	}
}

// link asks about a new conversation and returns the secret of the link for a score.
func (b *bundle) link(score int) (id int64, token string) {
	b.t.Helper()
	id = b.receive(opening()).ConversationID
	i := b.answer(id, helpdesk.InteractionInput{Body: "{{rating}}"})
	return id, begin(b, i.ID).Rating.Tokens[score-1]
}

// Only an answer records anything: following a link does not. It can be changed for 14 days.
func TestAnswerRating(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.survey()
	id, token := b.link(3)
	for range 3 {
		asked := must(b.svc.OpenRating(b.ctx, token))(t)
		if asked.Chosen != 3 || asked.Over || asked.Answered() || asked.Subject != "The door is stuck" || asked.Mailbox != "Support" {
			t.Fatalf("asked: %+v", asked)
		}
	}
	if r := b.rated(id)[0]; r.Answered() || len(b.kinds("rating.")) != 0 {
		t.Fatalf("following the link recorded %+v", r)
	}
	for name, in := range map[string]helpdesk.RatingInput{
		"score": {}, "too high": {Score: 4}, "long": {Score: 1, Comment: storage.Some(strings.Repeat("x", 5001))},
	} {
		if _, err := b.svc.AnswerRating(b.ctx, token, in); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	first := must(b.svc.AnswerRating(b.ctx, token, helpdesk.RatingInput{Score: 3}))(t)
	must(b.svc.AnswerRating(b.ctx, token, helpdesk.RatingInput{Score: 3}))(t) // a double click
	b.clock.Add(14*24*time.Hour - time.Second)
	changed := must(b.svc.AnswerRating(b.ctx, token, helpdesk.RatingInput{Score: 1, Comment: storage.Some(" It took <b>days</b>.\n")}))(t)
	if first.Verdict != helpdesk.RatedGood || changed.Verdict != helpdesk.RatedBad || changed.Comment != "It took <b>days</b>." || !changed.AnsweredAt.Equal(first.AnsweredAt) {
		t.Errorf("%+v became %+v", first, changed)
	}
	b.clock.Add(time.Second)
	_, err := b.svc.AnswerRating(b.ctx, token, helpdesk.RatingInput{Score: 2})
	if f, ok := errors.AsType[*fault.Error](err); !ok || f.Code != helpdesk.RatingClosed {
		t.Errorf("after 14 days: %v", err)
	}
	if asked := must(b.svc.OpenRating(b.ctx, token))(t); !asked.Over || asked.Score != 1 {
		t.Errorf("then: %+v", asked)
	}
	if diff := cmp.Diff([]string{"rating.created", "rating.updated"}, b.kinds("rating.")); diff != "" {
		t.Error(diff)
	}
	entries := must(b.desk.Conversations().History(b.ctx, id, helpdesk.HistoryQuery{}, storage.PageRequest{}))(t).Items
	found := 0
	for _, e := range entries {
		for _, kind := range e.Events {
			if strings.HasPrefix(kind, "rating.") {
				found++
				if e.Actor.Type != "customer" {
					t.Errorf("by %+v", e.Actor)
				}
			}
		}
	}
	if found != 2 {
		t.Errorf("%d entries of the history", found)
	}
}

// Links that we did not write, or to what is gone, show nothing.
func TestForgedRatings(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.survey()
	id, token := b.link(2)
	other := newBundle(t)
	other.survey()
	_, foreign := other.link(2)
	flipped := "a"
	if token[0] == 'a' {
		flipped = "b"
	}
	flip := flipped + token[1:]
	for name, forged := range map[string]string{
		"nothing": "", "no base32": "!!", "short": token[:10], "longer": token + "aa", "upper case": strings.ToUpper(token), "another's bits": flip,
		"very long": strings.Repeat(token, 1000), "of another key": foreign[:len(foreign)-2] + "aa",
	} {
		if _, err := b.svc.OpenRating(b.ctx, forged); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := b.svc.AnswerRating(b.ctx, forged, helpdesk.RatingInput{Score: 1}); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: answered, %v", name, err)
		}
	}
	b.deleteConversation(id)
	if _, err := b.svc.OpenRating(b.ctx, token); !fault.Is(err, fault.NotFound) {
		t.Errorf("of a deleted conversation: %v", err)
	}
	if _, err := b.svc.AnswerRating(b.ctx, token, helpdesk.RatingInput{Score: 1}); !fault.Is(err, fault.NotFound) {
		t.Errorf("of a deleted conversation: answered, %v", err)
	}
}

// What becomes of ratings when conversations and customers are merged, and when a customer is erased.
func TestRatingsStay(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.survey()
	id, token := b.link(1)
	must(b.svc.AnswerRating(b.ctx, token, helpdesk.RatingInput{Score: 1, Comment: storage.Some("Ada was here")}))(t)
	m := message.Message{MessageID: "b@example.com", From: []mailaddr.Address{{Name: "Bob", Email: "bob@example.com"}}, Subject: "Window", Text: "x"}
	into := b.receive(ledger.Incoming{Message: m}).ConversationID
	must(b.desk.Conversations().Merge(b.ctx, id, into))(t)
	if all := b.rated(into); len(all) != 1 || all[0].Comment == "" {
		t.Fatalf("after the merge: %+v", all)
	}
	if asked := must(b.svc.OpenRating(b.ctx, token))(t); asked.ConversationID != into {
		t.Errorf("the link leads to %d", asked.ConversationID)
	}
	ada := b.rated(into)[0].CustomerID
	ok(t, b.desk.Customers().Erase(b.ctx, ada))
	all := b.rated(into)
	if len(all) != 1 || all[0].Comment != "" || all[0].CustomerID == ada || all[0].Score != 1 {
		t.Errorf("after erasing: %+v", all)
	}
	if s := b.everything(); strings.Contains(s, "Ada was here") {
		t.Error("the comment is still stored")
	}
}

// Lists and views are narrowed by ratings.
func TestListByRating(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	bad, none := b.resolved("1"), b.resolved("2")
	must(b.desk.Ratings().Record(b.ctx, bad, helpdesk.RatingInput{Score: 2, Scale: storage.Some(5), Comment: storage.Some("meh")}))(t)
	view := must(b.desk.Views().Create(b.ctx, helpdesk.ViewInput{Name: "Bad", Filter: helpdesk.ViewFilter{Ratings: []helpdesk.Verdict{helpdesk.RatedBad}}}))(t)
	for name, tt := range map[string]struct {
		q    helpdesk.ConversationQuery
		want []int64
	}{
		"bad":    {helpdesk.ConversationQuery{Ratings: []helpdesk.Verdict{helpdesk.RatedBad}}, []int64{bad}},
		"good":   {helpdesk.ConversationQuery{Ratings: []helpdesk.Verdict{helpdesk.RatedGood}}, nil},
		"a view": {helpdesk.ConversationQuery{ViewID: view.ID}, []int64{bad}},
		"any":    {helpdesk.ConversationQuery{Ascending: true}, []int64{bad, none}},
	} {
		var got []int64
		for _, c := range must(b.desk.Conversations().List(b.ctx, tt.q, storage.PageRequest{}))(t).Items {
			got = append(got, c.ID)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, err := b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{Ratings: []helpdesk.Verdict{"x"}}, storage.PageRequest{}); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}

// A rule can listen to ratings.
func TestRuleOnRating(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	tag := b.tag("unhappy")
	in := ruleInput("Unhappy", []string{"rating.created"}, do(rules.AddTags, fmt.Sprint(tag)), when("rating.verdict", rules.Is, "bad"), when("rating.score", rules.Less, "3"))
	made := b.rule(in)
	good, bad := b.resolved("1"), b.resolved("2")
	b.clock.Add(time.Hour)
	must(b.desk.Ratings().Record(b.ctx, good, helpdesk.RatingInput{Score: 5}))(t)
	must(b.desk.Ratings().Record(b.ctx, bad, helpdesk.RatingInput{Score: 1}))(t)
	b.clock.Add(time.Hour)
	b.runRules()
	if b.tagsOf(good) != "" || b.tagsOf(bad) != "unhappy" {
		t.Errorf("tags %q and %q", b.tagsOf(good), b.tagsOf(bad))
	}
	b.clock.Add(time.Hour)
	must(b.desk.Ratings().Record(b.ctx, bad, helpdesk.RatingInput{Score: 5}))(t) // it was bad before
	ok(t, b.desk.Rules().Delete(b.ctx, made.ID))
	in.Name = storage.Some("Again")
	for name, want := range map[string]int{"rating.created": 1, "conversation.closed": 0} {
		in.On = storage.Some([]string{name})
		if replay, _ := b.replays(helpdesk.ReplayInput{Rule: in}); replay.Changed != want || (replay.Unknown > 0) == (want > 0) {
			t.Errorf("at %s: %+v", name, replay)
		}
	}
}

// What a score means.
func TestVerdictOf(t *testing.T) {
	t.Parallel()
	for scale, want := range map[int]string{2: "asked bad good", 3: "asked bad neutral good", 5: "asked bad bad neutral good good"} {
		var got []string
		for score := range scale + 1 {
			got = append(got, string(helpdesk.VerdictOf(score, scale)))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("of %d: %s", scale, s)
		}
	}
}

// What a survey must be.
func TestSurveyInput(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.survey()
	for name, tt := range map[string]struct {
		change func(*helpdesk.SurveyInput)
		field  string
	}{
		"a taken name": {func(in *helpdesk.SurveyInput) { in.Name = storage.Some("SURVEY") }, "name"},
		"scale":        {func(in *helpdesk.SurveyInput) { in.Scale = storage.Some(4) }, "scale"},
		"minutes":      {func(in *helpdesk.SurveyInput) { in.Delay = storage.Some(time.Minute) }, "delay"},
		"hours":        {func(in *helpdesk.SurveyInput) { in.OncePer = storage.Some(time.Hour) }, "once_per"},
		"no text":      {func(in *helpdesk.SurveyInput) { in.Translations = storage.Some(map[string]helpdesk.SurveyText{}) }, "translations"},
		"a placeholder": {func(in *helpdesk.SurveyInput) {
			in.Translations = storage.Some(map[string]helpdesk.SurveyText{"en": {Body: "{{what}}"}})
		}, "translations[en][body]"},
		"a passing condition": {func(in *helpdesk.SurveyInput) {
			in.All = storage.Some([]rules.Condition{when("rating.verdict", rules.Is, "bad")})
		}, "match[all][0][field]"},
	} {
		in := helpdesk.SurveyInput{Name: storage.Some("Other " + name), Translations: storage.Some(map[string]helpdesk.SurveyText{"en": {Body: "x"}})}
		tt.change(&in)
		_, err := b.desk.Surveys().Create(b.ctx, in)
		f, _ := errors.AsType[*fault.Error](err)
		if f == nil || len(f.Fields) != 1 || f.Fields[tt.field] == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	agent := b.member(identity.RoleAgent)
	if _, err := agent.Surveys().Create(b.ctx, helpdesk.SurveyInput{}); !fault.Is(err, fault.Forbidden) {
		t.Error(err)
	}
	previews := must(b.desk.Surveys().Preview(b.ctx, map[string]helpdesk.SurveyText{"en": {Subject: "{{mailbox.name}}", Body: "Hello"}}))(t)
	if len(previews) != 1 || previews[0].Subject != "Support" || previews[0].Body != "Hello<p>{{rating}}</p>" {
		t.Errorf("preview: %+v", previews)
	}
}
