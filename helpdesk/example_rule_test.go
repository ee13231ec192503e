package helpdesk_test

import (
	"context"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

// Messages of a customer's domain become urgent by themselves. A server runs the rules; a test says what they would do.
func ExampleRules_Create() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	rule, err := desk.Rules().Create(ctx, helpdesk.RuleInput{
		Name: storage.Some("Bank"), On: storage.Some([]string{"interaction.created"}),
		All:     storage.Some([]rules.Condition{{Field: rules.FieldCustomerEmail, Op: rules.Contains, Values: []string{"@bank.example"}}}),
		Actions: storage.Some([]rules.Action{{Type: rules.SetPriority, Values: []string{"urgent"}}}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@bank.example", Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "Help!"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	trial, err := desk.Rules().Test(ctx, rule.ID, c.ID, "")
	fmt.Println(trial.Outcome, trial.Changes, err)
	// Output: changed [{priority [normal] [urgent]}] <nil>
}

// Before a rule is made, a replay says what it would have done. A server has workers that do it as a job.
func ExampleRules_Replay() {
	ctx := context.Background()
	svc, desk, _ := exampleDesk(ctx)
	for _, body := range []string{"Help, it is on fire!", "Thank you."} {
		_, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{
			Channel: "email", To: "ada@bank.example", Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: body}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	replay, err := desk.Rules().Replay(ctx, helpdesk.ReplayInput{Rule: helpdesk.RuleInput{
		On:      storage.Some([]string{"interaction.created"}),
		All:     storage.Some([]rules.Condition{{Field: rules.FieldInteractionBody, Op: rules.Contains, Values: []string{"fire"}}}),
		Actions: storage.Some([]rules.Action{{Type: rules.SetPriority, Values: []string{"urgent"}}}),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	job := storage.ClaimedJob{Job: storage.Job{Kind: helpdesk.JobReplay, AccountID: desk.AccountID(), Subject: replay.ID}}
	if err := svc.Jobs().ReplayRule(ctx, job); err != nil {
		fmt.Println(err)
		return
	}
	replay, err = desk.Rules().ReplayOf(ctx, replay.ID)
	fmt.Println(replay.State, replay.Changed, "of", replay.Examined, err)
	// Output: done 1 of 2 <nil>
}

// A rule reminds of what nobody has answered for a day. The hours of a message that came on Friday evening end with those of the
// office.
func ExampleRuleAfter() {
	week := hours.Week{}
	for day := time.Monday; day <= time.Friday; day++ {
		week[day] = []hours.Span{{From: 9 * 60, To: 17 * 60}}
	}
	office, err := hours.New(hours.Plan{Timezone: "UTC", Week: week})
	if err != nil {
		fmt.Println(err)
		return
	}
	after := helpdesk.RuleAfter{Since: helpdesk.SinceCustomerWrote, Hours: 4}
	friday := time.Date(2026, 11, 27, 15, 0, 0, 0, time.UTC)
	for _, calendar := range []*hours.Calendar{nil, office} {
		due, ever := after.Due(friday, calendar)
		fmt.Println(due.Format("Mon 15:04"), ever)
	}
	// Output:
	// Fri 19:00 true
	// Mon 11:00 true
}
