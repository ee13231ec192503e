package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Customers are asked a day after their conversation was closed. An application records what they say in it, too.
func ExampleSurveys_Create() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	survey, err := desk.Surveys().Create(ctx, helpdesk.SurveyInput{
		Name: storage.Some("After closing"), Scale: storage.Some(5),
		Translations: storage.Some(map[string]helpdesk.SurveyText{
			"en": {Subject: "How did we do?", Body: "Hello {{customer.first_name}}, were we of help? {{rating}}"},
			"de": {Subject: "Wie waren wir?", Body: "Hallo {{customer.first_name}}, konnten wir helfen? {{rating}}"},
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(survey.Name, "asks after", survey.Delay, "in", len(survey.Translations), "languages")

	c, err := desk.Conversations().Create(ctx, helpdesk.ConversationInput{
		Channel: "email", To: "ada@bank.example", Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "Help!"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	rating, err := desk.Ratings().Record(ctx, c.ID, helpdesk.RatingInput{Score: 4})
	fmt.Println(rating.Score, "of", rating.Scale, "is", rating.Verdict, err)
	// Output:
	// After closing asks after 24h0m0s in 2 languages
	// 4 of 5 is good <nil>
}
