package desk

import (
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// choicesView is the page of the member's notification channels.
type choicesView struct {
	Channels []string
	Rows     []choicesRow
	Action   string
	Email    string
	List     string
	Push     bool
}

type choicesRow struct {
	Kind, Text, More string
	Ticks            []tick
}

// channelNames are the columns of the table.
func (v *visit) channelNames() []string {
	return []string{v.words.T("Desk"), v.words.T("Browser"), v.words.T("Email")}
}

// kindNames are the names and descriptions of kinds of notifications.
func (v *visit) kindNames(k helpdesk.NotificationKind) (text, more string) {
	w := v.words
	switch k {
	case helpdesk.NotifyAssigned:
		return w.T("Assigned to you"), w.T("Someone assigns a conversation to you.")
	case helpdesk.NotifyUnassigned:
		return w.T("New and unassigned"), w.T("A customer starts a conversation, and it is unassigned.")
	case helpdesk.NotifyReplied:
		return w.T("Customer replied"), w.T("In a conversation that you follow or that is assigned to you.")
	case helpdesk.NotifyMentioned:
		return w.T("Mentioned"), w.T("Someone mentions you in a note.")
	case helpdesk.NotifyFailed:
		return w.T("Not delivered"), w.T("Your reply, or a reply in your conversation, was not delivered.")
	case helpdesk.NotifyRule:
		return w.T("Told by a rule"), w.T("A rule tells you about a conversation.")
	case helpdesk.NotifyMailbox:
		return w.T("Mailbox needs attention"), w.T("Its mail is no longer being fetched.")
	}
	return string(k), ""
}

// toldKinds returns the kinds of notifications that the member can receive.
func (v *visit) toldKinds() []helpdesk.NotificationKind {
	return slices.DeleteFunc(helpdesk.NotificationKinds(), func(k helpdesk.NotificationKind) bool {
		return k == helpdesk.NotifyMailbox && !v.may(identity.MailboxesUpdate)
	})
}

func (v *visit) choicesPage() error {
	chosen, err := v.Notifications().Choices(v.ctx())
	if err != nil {
		return err
	}
	view := choicesView{Channels: v.channelNames(), Action: v.at("/settings/notifications"), Email: v.user.Email, Push: v.pushURL() != "" && v.may(identity.ConversationsView)}
	if v.may(identity.ConversationsView) {
		view.List = v.at("/notifications")
	}
	for _, k := range v.toldKinds() {
		row := choicesRow{Kind: string(k)}
		row.Text, row.More = v.kindNames(k)
		for i, in := range helpdesk.NotificationChannels() {
			row.Ticks = append(row.Ticks, tick{ID: string(in), Text: row.Text + ", " + view.Channels[i], On: chosen.Tells(k, in)})
		}
		view.Rows = append(view.Rows, row)
	}
	return v.settingsPage("notifications", v.words.T("Notifications"), view, 0)
}

// saveChoices saves the table: a box that is not ticked switches the channel off.
func (v *visit) saveChoices() error {
	if err := v.r.ParseForm(); err != nil {
		return fault.New(fault.Malformed, "The form could not be read.")
	}
	var choices []helpdesk.NotifyChoice
	for _, k := range v.toldKinds() {
		choice := helpdesk.NotifyChoice{Kind: k}
		for _, in := range v.r.PostForm[string(k)] {
			choice.Channels = append(choice.Channels, helpdesk.NotificationChannel(in))
		}
		choices = append(choices, choice)
	}
	_, err := v.Notifications().Choose(v.ctx(), choices)
	return v.unless(err, "notifications", v.words.T("Saved"))
}
