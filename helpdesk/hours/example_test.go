package hours_test

import (
	"fmt"
	"time"

	"github.com/helpwright/helpwright/helpdesk/hours"
)

func ExampleCalendar() {
	plan := hours.Plan{
		Timezone: "Europe/Berlin",
		Holidays: []hours.Holiday{{From: hours.Date{Year: 2026, Month: 12, Day: 24}, To: hours.Date{Year: 2026, Month: 12, Day: 26}, Name: "Christmas"}},
	}
	for _, day := range hours.Days()[:5] { // Monday to Friday
		plan.Week[day] = []hours.Span{{From: 9 * 60, To: 12 * 60}, {From: 13 * 60, To: 17 * 60}}
	}
	office, err := hours.New(plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	eve := time.Date(2026, 12, 23, 16, 0, 0, 0, office.Zone())
	closes, _ := office.Next(eve)
	due, _ := office.Add(eve, 4*time.Hour)
	fmt.Println("open:", office.Open(eve), "until", closes.Format("15:04"))
	fmt.Println("four hours later:", due.Format("Monday, 2 January, 15:04"))
	fmt.Println("between:", office.Between(eve, due))
	// Output:
	// open: true until 17:00
	// four hours later: Monday, 28 December, 12:00
	// between: 4h0m0s
}
