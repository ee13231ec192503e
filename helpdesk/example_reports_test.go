package helpdesk_test

import (
	"context"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	figures "github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/storage"
)

// Each figure of a report leads to the conversations that it counts.
func ExampleReports_Get() {
	ctx := context.Background()
	svc, desk, _ := exampleDesk(ctx)
	for _, subject := range []string{"The door", "The window"} {
		_, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{
			Channel: "email", To: "ada@bank.example", Subject: subject, Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "Help!"}},
		})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	if _, err := svc.RebuildFacts(ctx, desk.AccountID()); err != nil { // a server's jobs do it by themselves, some seconds later
		fmt.Println(err)
		return
	}
	now := time.Now()
	q := figures.Query{From: now.AddDate(0, 0, -7), To: now.AddDate(0, 0, 1), Timezone: "Europe/Berlin", GroupBy: figures.ByChannel}
	r, err := desk.Reports().Get(ctx, figures.Volume, q)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range r.Lines {
		fmt.Println(line.Key, r.Measures[0].Key, line.Figures[0].Value)
	}
	rows, err := desk.Reports().Rows(ctx, figures.Volume, q, "created", "email", storage.PageRequest{})
	fmt.Println(len(rows.Items), "conversations", err)
	// Output:
	// email created 2
	// 2 conversations <nil>
}
