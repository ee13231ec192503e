package demo

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

// workplace creates what the team made for itself: teams, views and saved replies.
func (f *filler) workplace(ctx context.Context) error {
	owner, jonas, layla, theo := f.members[0], f.members[1], f.members[2], f.members[3]
	repairs, err := owner.desk.Teams().Create(ctx, helpdesk.TeamInput{Name: "Workshop", MemberIDs: storage.Some([]int64{owner.id, jonas.id, theo.id})})
	if err != nil {
		return err
	}
	shipping, err := owner.desk.Teams().Create(ctx, helpdesk.TeamInput{Name: "Shipping", MemberIDs: storage.Some([]int64{layla.id, theo.id})})
	if err != nil {
		return err
	}
	for _, v := range f.views(repairs.ID) {
		if _, err := owner.desk.Views().Create(ctx, v); err != nil {
			return err
		}
	}
	for _, r := range savedReplies() {
		if _, err := owner.desk.SavedReplies().Create(ctx, r); err != nil {
			return err
		}
	}
	open, err := automation(ctx, owner.desk)
	if err != nil {
		return err
	}
	promise := helpdesk.SLAInput{
		Name: storage.Some("Standard"), CalendarID: storage.Some(open), FirstReply: storage.Some(4 * 60), NextReply: storage.Some(8 * 60), Resolution: storage.Some(40 * 60),
		Pauses: storage.Some([]helpdesk.SLAPause{helpdesk.PausePending, helpdesk.PauseSnoozed}),
	}
	if _, err := owner.desk.SLAs().Create(ctx, promise); err != nil {
		return err
	}
	for _, r := range f.rules(open, repairs.ID, shipping.ID) {
		if _, err := owner.desk.Rules().Create(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// rules are one that only watches, and one that is not switched on yet.
func (f *filler) rules(open, repairs, shipping int64) []helpdesk.RuleInput {
	id := func(id int64) []string { return []string{strconv.FormatInt(id, 10)} }
	return []helpdesk.RuleInput{
		{
			Name: storage.Some("Urgent repairs to the workshop"), State: storage.Some(helpdesk.RuleDry), On: storage.Some([]string{"conversation.prioritized"}),
			All:     storage.Some([]rules.Condition{{Field: rules.FieldPriority, Op: rules.ChangedTo, Values: []string{"high", "urgent"}}}),
			Any:     storage.Some([]rules.Condition{{Field: rules.FieldTags, Op: rules.AnyOf, Values: id(f.tags["repair"])}, {Field: rules.FieldSubject, Op: rules.Contains, Values: []string{"broken", "leaks"}}}),
			Actions: storage.Some([]rules.Action{{Type: rules.AssignTeam, Values: id(repairs)}}),
		},
		{
			Name: storage.Some("Deliveries outside business hours"), State: storage.Some(helpdesk.RuleOff), On: storage.Some([]string{"interaction.created"}),
			All: storage.Some([]rules.Condition{
				{Field: rules.FieldInteractionType, Op: rules.AnyOf, Values: []string{"customer"}}, {Field: rules.FieldInsideHours, Op: rules.NoneOf, Values: id(open)},
				{Field: rules.FieldSubject, Op: rules.Contains, Values: []string{"delivery", "parcel", "shipping"}},
			}),
			Actions: storage.Some([]rules.Action{{Type: rules.SetPriority, Values: []string{"high"}}, {Type: rules.AssignTeam, Values: id(shipping)}}),
		},
	}
}

// automation creates business hours, whose id it returns, and, not switched on yet, a reply for when the team is away.
func automation(ctx context.Context, desk *helpdesk.Desk) (int64, error) {
	var week hours.Week
	for n, day := range hours.Days()[:6] {
		week[day], _ = hours.ParseSpans([]string{"9-12:30, 13:30-18", "9-12:30, 13:30-18", "9-12:30, 13:30-18", "9-12:30, 13:30-20", "9-12:30, 13:30-17", "10-14"}[n]) // they are in order
	}
	holidays, _, _ := hours.ParseHolidays("2026-12-24 - 2026-12-26 Christmas\n2027-01-01 New Year\n2027-03-26 Good Friday")
	c, err := desk.Calendars().Create(ctx, helpdesk.CalendarInput{
		Name: storage.Some("Workshop"), Timezone: storage.Some("Europe/Oslo"), Week: storage.Some(week), Holidays: storage.Some(holidays),
	})
	if err != nil {
		return 0, err
	}
	_, err = desk.AutoReplies().Create(ctx, helpdesk.AutoReplyInput{
		Name: storage.Some("When we are away"), CalendarID: storage.Some(c.ID), When: storage.Some(helpdesk.AutoOutside), IsActive: storage.Some(false),
		Translations: storage.Some(map[string]helpdesk.AutoText{
			"en": {Subject: "We have received your message", Body: "<p>Hello {{customer.first_name}},</p><p>the workshop is closed right now. We will answer as soon as we are back.</p>"},
			"de": {Subject: "Wir haben Ihre Nachricht erhalten", Body: "<p>Hallo {{customer.first_name}},</p><p>die Werkstatt ist gerade geschlossen. Wir antworten, sobald wir wieder da sind.</p>"},
			"fr": {Subject: "Nous avons bien reçu votre message", Body: "<p>Bonjour {{customer.first_name}},</p><p>l’atelier est fermé en ce moment. Nous répondrons dès notre retour.</p>"},
		}),
	})
	return c.ID, err
}

// views are of each kind: shared, of a team, and the owner's alone.
func (f *filler) views(team int64) []helpdesk.ViewInput {
	open := []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusDraft}
	return []helpdesk.ViewInput{
		{Name: "Mine", Filter: helpdesk.ViewFilter{Agent: helpdesk.AgentMe, Statuses: open, Sort: helpdesk.ByUpdated}},
		{Name: "Unassigned", Filter: helpdesk.ViewFilter{Agent: helpdesk.AgentUnassigned, Statuses: open, Sort: helpdesk.ByAwaiting, Ascending: true}},
		{Name: "Waiting for the customer", Visibility: storage.Some(helpdesk.ViewPrivate),
			Filter: helpdesk.ViewFilter{Statuses: []helpdesk.Status{helpdesk.StatusPending}, Sort: helpdesk.ByUpdated}},
		{Name: "Repairs", Visibility: storage.Some(helpdesk.ViewOfTeam), TeamID: team,
			Filter:  helpdesk.ViewFilter{TagIDs: []int64{f.tags["repair"], f.tags["warranty"]}, Sort: helpdesk.ByUpdated},
			Columns: storage.Some([]string{"product", "order_number"})},
	}
}

// fields are what the company keeps about conversations and customers.
func fields() []helpdesk.FieldInput {
	options := func(labels ...string) storage.Opt[[]helpdesk.FieldOption] {
		var all []helpdesk.FieldOption
		for _, label := range labels {
			all = append(all, helpdesk.FieldOption{Label: label})
		}
		return storage.Some(all)
	}
	return []helpdesk.FieldInput{
		{Label: "Product", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldSelect, Options: options("Grinder", "Kettle", "Scale", "Spare part")},
		{Label: "Order number", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldText, CustomerVisible: storage.Some(true)},
		{Label: "Warranty until", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldDate},
		{Label: "Refund", AppliesTo: helpdesk.FieldOfConversation, Type: helpdesk.FieldNumber},
		{Label: "Membership", AppliesTo: helpdesk.FieldOfCustomer, Type: helpdesk.FieldSelect, Options: options("Club", "Trade")},
	}
}

// valuesOf are the values of the fields of a conversation.
func valuesOf(id int64) helpdesk.FieldTexts {
	products := []string{"grinder", "kettle", "scale", "spare_part"}
	return helpdesk.FieldTexts{
		"product": {products[id%4]}, "order_number": {fmt.Sprintf("A-%05d", 10400+7*id)}, "warranty_until": {fmt.Sprintf("2027-%02d-15", 1+id%12)},
	}
}

// savedReplies are shared ones, and one that only the owner sees.
func savedReplies() []helpdesk.SavedReplyInput {
	return []helpdesk.SavedReplyInput{
		{Name: "Ask for the order number", Shared: storage.Some(true),
			Body: "<p>Hello {{customer.first_name}},</p><p>could you send us your order number? It is in the confirmation that you got by mail.</p><p>Kind regards<br>{{agent.name}}</p>"},
		{Name: "Return, step by step", Shared: storage.Some(true),
			Body: "<p>Hello {{customer.first_name}},</p><p>of course you can send it back:</p><ol><li>Put it into its box.</li><li>Stick the label onto it.</li><li>Bring it to a post office.</li></ol><p>You get your money back as soon as it is here.</p><p>Kind regards<br>{{agent.name}}</p>"},
		{Name: "Thank you for the photo", Shared: storage.Some(true),
			Body: "<p>Hello {{customer.first_name}},</p><p>thank you for the photo, it helps a lot. We look at it and write again by tomorrow.</p><p>Kind regards<br>{{agent.name}}</p>"},
		{Name: "Back on Monday", Shared: storage.Some(false),
			Body: "<p>Hello {{customer.first_name}},</p><p>I am back on Monday and will look at #{{conversation.number}} first thing.</p><p>{{agent.name}}</p>"},
	}
}

// snoozed is the number of conversations that are put aside.
const snoozed = 3

// putAside snoozes some open conversations whose customers do not wait, until some days from now.
func (f *filler) putAside(ctx context.Context) error {
	owner := f.members[0].desk
	found, err := owner.Conversations().List(ctx, helpdesk.ConversationQuery{
		Statuses: []helpdesk.Status{helpdesk.StatusPosted}, Awaiting: storage.Some(false), Snoozed: storage.Some(false),
	}, storage.PageRequest{Limit: snoozed})
	if err != nil {
		return err
	}
	for i, c := range found.Items {
		until := f.now.AddDate(0, 0, i+1).Truncate(24 * time.Hour).Add(9 * time.Hour)
		if until.Before(f.now.Add(12 * time.Hour)) {
			until = until.AddDate(0, 0, 1)
		}
		if _, err := owner.Conversations().UpdateAll(ctx, []int64{c.ID}, helpdesk.BulkUpdate{SnoozedUntil: storage.Some(until)}); err != nil {
			return err
		}
	}
	return nil
}
