package helpdesk_test

import (
	"context"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/storage"
)

// Business hours, and a reply for the nights in two languages.
func ExampleAutoReplies_Create() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	var week hours.Week
	for _, day := range hours.Days()[:5] { // Monday to Friday
		week[day] = []hours.Span{{From: 9 * 60, To: 17 * 60}}
	}
	office, err := desk.Calendars().Create(ctx, helpdesk.CalendarInput{
		Name: storage.Some("Office"), Timezone: storage.Some("Europe/Berlin"), Week: storage.Some(week),
	})
	if err != nil {
		panic(err)
	}
	nights, err := desk.AutoReplies().Create(ctx, helpdesk.AutoReplyInput{
		Name: storage.Some("Nights"), CalendarID: storage.Some(office.ID), When: storage.Some(helpdesk.AutoOutside), OncePer: storage.Some(12 * time.Hour),
		Translations: storage.Some(map[string]helpdesk.AutoText{
			"en": {Subject: "We have your message", Body: "<p>Hello {{customer.first_name}}, we answer in the morning.</p>"},
			"de": {Subject: "Ihre Nachricht ist da", Body: "<p>Hallo {{customer.first_name}}, wir antworten morgen früh.</p>"},
		}),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(nights.Text("de-AT").Subject)
	fmt.Println(nights.Text("fr", "en").Subject)
	fmt.Println(desk.Calendars().Delete(ctx, office.ID))
	// Output:
	// Ihre Nachricht ist da
	// We have your message
	// The calendar is used by automatic replies: “Nights”.
}
