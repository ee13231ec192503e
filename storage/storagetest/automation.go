package storagetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

func (w *world) newCalendar(name string) helpdesk.Calendar {
	c := helpdesk.Calendar{
		Name: name + " " + w.mark, Key: name + w.mark, Timezone: "Europe/Berlin", CreatedAt: base, UpdatedAt: at(1),
		Holidays: []hours.Holiday{{From: hours.Date{Year: 2026, Month: 12, Day: 24}, To: hours.Date{Year: 2026, Month: 12, Day: 26}, Name: "Noël"}},
	}
	for n := range c.Week {
		c.Week[n] = []hours.Span{{From: hours.Clock(n * 60), To: hours.Midnight}}
	}
	return c
}

func (w *world) newAutoReply(name string) helpdesk.AutoReply {
	return helpdesk.AutoReply{
		Name: name + " " + w.mark, Key: name + w.mark, MailboxIDs: []int64{w.mailbox.ID, w.empty.ID}, CalendarID: w.calendar.ID,
		When: helpdesk.AutoOutside, On: helpdesk.AutoEvery, OncePer: 24 * time.Hour, IsActive: true, Reason: helpdesk.AutoOrphaned, Version: 3, UserID: w.user.ID,
		Translations: []helpdesk.AutoText{{Locale: "ar", Subject: "مغلق", Body: "<p>{{customer.name}}</p>"}, {Locale: "de", Subject: "Zu", Body: "<p>Geschlossen</p>"}},
		CreatedAt:    base, UpdatedAt: at(1),
	}
}

func (w *world) newAutoResponse(key string) helpdesk.AutoResponse {
	return helpdesk.AutoResponse{
		AutoReplyID: w.autoReply.ID, MailKey: key + w.mark, CauseID: w.question.ID, InteractionID: w.answer.ID, CustomerID: w.customer.ID,
		Version: 2, When: helpdesk.AutoInside, CalendarID: w.calendar.ID, Locale: "pt-BR", CreatedAt: at(2),
	}
}

func (w *world) newRule(name string) helpdesk.Rule {
	return helpdesk.Rule{
		Name: name + " " + w.mark, Key: name + w.mark, State: helpdesk.RuleDry, Reason: helpdesk.RuleOrphaned, Position: 3, On: []string{"conversation.created"},
		After: helpdesk.RuleAfter{Since: helpdesk.SinceWeWrote, Hours: 3, CalendarID: w.calendar.ID}, ClockSeq: 9, ClockAt: at(3),
		All:     []rules.Condition{{Field: "mailbox_id", Op: rules.AnyOf, Values: []string{fmt.Sprint(w.mailbox.ID), fmt.Sprint(w.empty.ID)}}},
		Any:     []rules.Condition{{Field: "customer.email", Op: rules.Contains, Values: []string{"%", "مغلق"}}, {Field: "subject", Op: rules.Empty}},
		Actions: []rules.Action{{Type: rules.SetField, Field: "plan"}, {Type: rules.AddTags, Values: []string{fmt.Sprint(w.tag.ID)}}},
		Stop:    true, Version: 4, UserID: w.user.ID, CreatedAt: base, UpdatedAt: at(1),
	}
}

func (w *world) newSurvey(name string) helpdesk.Survey {
	return helpdesk.Survey{
		Name: name + " " + w.mark, Key: name + w.mark, MailboxIDs: []int64{w.mailbox.ID, w.empty.ID}, Scale: 5, Delay: 24 * time.Hour, OncePer: 240 * time.Hour,
		All:          []rules.Condition{{Field: "tags", Op: rules.Contains, Values: []string{fmt.Sprint(w.tag.ID)}}},
		Any:          []rules.Condition{{Field: "subject", Op: rules.Contains, Values: []string{"%", "مغلق"}}},
		Translations: []helpdesk.SurveyText{{Locale: "ar", Subject: "؟", Body: "<p>{{rating}}</p>", Question: "كيف؟", Thanks: "شكرا"}},
		IsActive:     true, Reason: helpdesk.SurveyOrphaned, Version: 3, UserID: w.user.ID, CreatedAt: base, UpdatedAt: at(1),
	}
}

func (w *world) newRating(score int) helpdesk.Rating {
	return helpdesk.Rating{
		ConversationID: w.conversation.ID, SurveyID: w.survey.ID, InteractionID: w.answer.ID, CustomerID: w.customer.ID, UserID: w.user.ID,
		Scale: 5, Score: score, Verdict: helpdesk.VerdictOf(score, 5), Comment: "Größe <b> %", Locale: "pt-BR", Source: helpdesk.RatedByMail,
		AskedAt: at(1), AnsweredAt: at(2), CreatedAt: at(1), UpdatedAt: at(3),
	}
}

func (w *world) newRetentionPolicy(name string) helpdesk.RetentionPolicy {
	return helpdesk.RetentionPolicy{
		Name: name + " " + w.mark, Key: name + w.mark, AfterDays: 400, Action: helpdesk.RetainNoCustomer, IsActive: true, Reason: helpdesk.RetentionOrphaned,
		All:     []rules.Condition{{Field: "tags", Op: rules.Contains, Values: []string{fmt.Sprint(w.tag.ID)}}},
		Any:     []rules.Condition{{Field: "subject", Op: rules.Contains, Values: []string{"%", "مغلق"}}},
		Version: 3, UserID: w.user.ID,
		Run:  helpdesk.RetentionRun{At: at(3), EndedAt: at(4), Examined: 9, Conversations: 5, Customers: 2, Held: 1, Failed: 3},
		Walk: storage.Position{Key: 77, ID: w.conversation.ID}, ErasingID: w.customer.ID, CreatedAt: base, UpdatedAt: at(1),
	}
}

func (w *world) newFolded(n int) helpdesk.ConversationFact {
	return helpdesk.ConversationFact{
		Fact: report.Fact{
			ConversationID: w.conversation.ID, Number: int64(n), CreatedAt: at(1), MailboxID: w.mailbox.ID, TeamID: 7, UserID: w.user.ID, SLAID: 3, Channel: "ü" + w.mark,
			Tags: []int64{1, w.tag.ID}, AskedAt: at(1), FirstReplyAt: at(2), FirstReplyBy: w.user.ID, BusinessReply: report.None, Replies: 2, Touches: 3, Received: 4,
			Reopened: 1, Wait: 60, ResolvedAt: at(3), Verdict: "good", RatedAt: at(7), RatedID: 9, FirstReplySLA: report.Met, ResolutionSLA: report.Breached,
			Said: []report.Reply{{At: at(2), UserID: w.user.ID}, {At: at(4)}}, Closed: []report.Gap{{From: at(2), To: at(3)}}, Steps: []report.Step{{At: at(5), What: report.WasClosed}},
		},
		EndedAt: at(5 + n), RepliedAt: at(4),
	}
}

func (w *world) newFactLog(seq int64) helpdesk.FactLog {
	return helpdesk.FactLog{Seq: seq, FoldedAt: at(2), Again: true, AgainAt: at(1), AgainID: 7}
}

func (w *world) newReading(n int) helpdesk.SiteReading {
	return helpdesk.SiteReading{
		SiteID: 7, Day: "2026-11-29", Locale: "de", Query: fmt.Sprintf("größe %s %d", w.mark, n), ArticleID: 3, Queries: 2,
		ReadingCounts: helpdesk.ReadingCounts{Views: 9, Searches: 8, Unanswered: 3, Clicks: 2, Contacts: 1},
	}
}

func (w *world) newSLA(name string) helpdesk.SLA {
	return helpdesk.SLA{
		Name: name + " " + w.mark, Key: name + w.mark, Position: 2, CalendarID: w.calendar.ID, FirstReply: 60, NextReply: 90, Resolution: 600, DueSoon: 75,
		Pauses: []helpdesk.SLAPause{helpdesk.PausePending, helpdesk.PauseSnoozed}, All: []rules.Condition{{Field: "priority", Op: rules.Is, Values: []string{"urgent"}}},
		Any: []rules.Condition{{Field: "subject", Op: rules.Contains, Values: []string{"%", "مغلق"}}}, CreatedAt: base, UpdatedAt: at(1),
	}
}

func (w *world) newRuleSet(version int64) helpdesk.RuleSet {
	return helpdesk.RuleSet{Version: version, SLAs: 5}
}

func (w *world) newRuleRun(event int64) helpdesk.RuleRun {
	return helpdesk.RuleRun{
		RuleID: w.rule.ID, Version: 2, EventID: event, Event: "interaction.created", ConversationID: w.conversation.ID, Outcome: helpdesk.RunFailed, Dry: true,
		Reason: "Rules – 5", Chain: []int64{w.rule.ID, 77}, Changes: []helpdesk.RuleChange{{Field: "tags", From: []string{"1"}, To: []string{"2"}}},
		Conditions: []rules.Held{{Condition: rules.Condition{Field: "subject", Op: rules.Is, Values: []string{"Ä"}}, Any: true, Held: true}},
		Actions:    []string{"reply"}, CreatedAt: at(2),
	}
}

func (w *world) newRulePass(event int64) helpdesk.RulePass {
	return helpdesk.RulePass{EventID: event, LastID: event + 2, ConversationID: w.conversation.ID, CreatedAt: at(2)}
}

func (w *world) newReplay(changed int) helpdesk.RuleReplay {
	rule := w.newRule("")
	return helpdesk.RuleReplay{
		UserID: w.user.ID, From: at(1), To: at(2), State: helpdesk.ReplayFailed, Reason: "Ä", Percent: 7, Examined: 6, Changed: changed, Unknown: 4, Gone: 3,
		RuleID: w.rule.ID, Name: "Ä", Position: 3, On: rule.On, After: rule.After, All: rule.All, Any: rule.Any, Actions: rule.Actions, Stop: rule.Stop,
		Lost: []string{"subject"}, CreatedAt: at(3), FinishedAt: at(4),
	}
}

func (w *world) newReplayed(conversation int64) helpdesk.ReplayedConversation {
	return helpdesk.ReplayedConversation{
		ReplayID: w.replay.ID, ConversationID: conversation, EventID: 5, Event: "interaction.created", At: at(1),
		Changes: []helpdesk.RuleChange{{Field: "tags", From: []string{"1"}, To: []string{"Ä"}}}, Actions: []string{"reply"}, Others: []int64{w.rule.ID, 77}, CreatedAt: at(2),
	}
}

// addRules adds rules and what they did.
func (w *world) addRules(ctx context.Context, tx helpdesk.Tx) error {
	declared := helpdesk.Nouns()
	w.rule, w.ruleSet, w.rulePass = w.newRule("held"), w.newRuleSet(7), w.newRulePass(w.account.ID*1_000_000+3)
	if err := declared.Rules.Rows(tx).Insert(ctx, &w.rule); err != nil {
		return err
	}
	if err := declared.RuleSets.Rows(tx).Insert(ctx, &w.ruleSet); err != nil {
		return err
	}
	if err := declared.RulePasses.Rows(tx).Insert(ctx, &w.rulePass); err != nil {
		return err
	}
	w.ruleRun, w.replay = w.newRuleRun(3), w.newReplay(1)
	if err := declared.RuleRuns.Rows(tx).Insert(ctx, &w.ruleRun); err != nil {
		return err
	}
	if err := declared.RuleReplays.Rows(tx).Insert(ctx, &w.replay); err != nil {
		return err
	}
	w.replayed = w.newReplayed(w.conversation.ID)
	return declared.ReplayedConversations.Rows(tx).Insert(ctx, &w.replayed)
}

// automate adds what acts by itself.
func (w *world) automate(ctx context.Context, tx helpdesk.Tx) error {
	declared := helpdesk.Nouns()
	w.calendar = w.newCalendar("held")
	if err := declared.Calendars.Rows(tx).Insert(ctx, &w.calendar); err != nil {
		return err
	}
	w.autoReply = w.newAutoReply("held")
	if err := declared.AutoReplies.Rows(tx).Insert(ctx, &w.autoReply); err != nil {
		return err
	}
	w.autoResponse = w.newAutoResponse("held")
	if err := declared.AutoResponses.Rows(tx).Insert(ctx, &w.autoResponse); err != nil {
		return err
	}
	w.sla = w.newSLA("held")
	if err := declared.SLAs.Rows(tx).Insert(ctx, &w.sla); err != nil {
		return err
	}
	w.survey = w.newSurvey("held")
	if err := declared.Surveys.Rows(tx).Insert(ctx, &w.survey); err != nil {
		return err
	}
	w.retention = w.newRetentionPolicy("held")
	if err := declared.RetentionPolicies.Rows(tx).Insert(ctx, &w.retention); err != nil {
		return err
	}
	w.rating = w.newRating(2)
	if err := declared.Ratings.Rows(tx).Insert(ctx, &w.rating); err != nil {
		return err
	}
	w.folded, w.factLog = w.newFolded(3), w.newFactLog(5)
	if err := declared.ConversationFacts.Rows(tx).Insert(ctx, &w.folded); err != nil {
		return err
	}
	if err := declared.FactLogs.Rows(tx).Insert(ctx, &w.factLog); err != nil {
		return err
	}
	w.reading = w.newReading(1)
	if err := declared.Readings.Rows(tx).Insert(ctx, &w.reading); err != nil {
		return err
	}
	return w.addRules(ctx, tx)
}

// testAutoResponseFilter lists the responses of an automatic reply, to a customer or a mail, and those that are some answers.
func testAutoResponseFilter(t *testing.T, b Backend) {
	w := newWorld(t, b)
	all := []helpdesk.AutoResponse{w.autoResponse}
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		other := w.newAutoReply("other")
		if err := helpdesk.Nouns().AutoReplies.Rows(tx).Insert(ctx, &other); err != nil {
			return err
		}
		for n, key := range []string{"<a@b>", "%"} {
			r := w.newAutoResponse("")
			r.MailKey, r.CustomerID, r.InteractionID = key, w.customer.ID+int64(n), w.answer.ID+int64(n)
			if err := helpdesk.Nouns().AutoResponses.Rows(tx).Insert(ctx, &r); err != nil {
				return err
			}
			all = append(all, r)
		}
		same := all[1] // the same mail, answered by another one
		same.ID, same.AutoReplyID, same.InteractionID = 0, other.ID, 0
		return helpdesk.Nouns().AutoResponses.Rows(tx).Insert(ctx, &same)
	})
	of := w.autoReply.ID
	for name, test := range map[string]struct {
		filter helpdesk.AutoResponseFilter
		want   []int
	}{
		"of an automatic reply": {helpdesk.AutoResponseFilter{AutoReplyID: of}, []int{0, 1, 2}},
		"to a customer":         {helpdesk.AutoResponseFilter{AutoReplyID: of, CustomerID: w.customer.ID}, []int{0, 1}},
		"to a mail":             {helpdesk.AutoResponseFilter{AutoReplyID: of, MailKey: "<a@b>"}, []int{1}},
		"no wildcards":          {helpdesk.AutoResponseFilter{AutoReplyID: of, MailKey: "%"}, []int{2}},
		"some answers":          {helpdesk.AutoResponseFilter{InteractionIDs: []int64{w.answer.ID, 5}}, []int{0, 1}},
		"no answers":            {helpdesk.AutoResponseFilter{}, nil},
	} {
		var want []helpdesk.AutoResponse
		for _, n := range test.want {
			want = append(want, all[n])
		}
		got, err := helpdesk.Nouns().AutoResponses.Reader(w.in()).List(t.Context(), test.filter, storage.Seek{Limit: 100})
		ok(t, err)
		same(t, name, want, got)
	}
}
