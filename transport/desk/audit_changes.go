package desk

import (
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
)

// changedFields name what an audited change changed.
var changedFields = map[string]string{
	"roles": say("Role"), "mailboxes": say("Mailboxes"), "permissions": say("Permissions"), "members": say("Members"),
	"force_offline": say("Away"), "while_in_app": say("Available while using the desk"), "use_schedule": say("Available by schedule"), "schedule": say("Working hours"),
	"name": say("Name"), "description": say("Description"), "email": say("Email"), "from": say("From name"), "signature": say("Signature"), "domain": say("Domain"),
	"default_locale": say("Language"), "languages": say("Languages"), "next_conversation_number": say("Next conversation number"), "send_hold": say("Time to undo sending"),
	"remote_images": say("Images from other servers"), "track_seen": say("Track whether replies are read"), "require_second_factor": say("Two-factor authentication required"),
	"reply_address": say("Reply address"), "quotes": say("Quote below replies"), "form_fields": say("Contact form"),
	"inbound": say("Incoming mail"), "inbound_username": say("Username for incoming mail"), "inbound_encryption": say("Encryption of incoming mail"), "inbound_password": say("Password for incoming mail"),
	"outbound": say("Outgoing mail"), "outbound_username": say("Username for outgoing mail"), "outbound_encryption": say("Encryption of outgoing mail"), "outbound_password": say("Password for outgoing mail"),
	"url": say("Address"), "events": say("Events"), "is_active": say("Active"), "timezone": say("Time zone"), "week": say("Hours"), "holidays": say("Holidays"), "calendar_id": say("Business hours"), "when": say("When"), "on": say("Answers"),
	"strategy": say("Assignment"), "capacity": say("Open conversations per member, at most"), "who": say("Who takes part"), "sticky": say("Whoever had the customer’s last conversation comes first"),
	"when_unavailable": say("Conversations of members who are away"), "return_after": say("After how many hours"),
	"first_reply": say("First reply"), "next_reply": say("Next reply"), "resolution": say("Resolution"), "pauses": say("Time stands still"), "due_soon": say("Due soon after (percent of the time)"),
	"since": say("Since when"), "hours": say("After how many hours"), "once_per": say("The same customer gets it"), "translations": say("Text"), "secret": say("Secret"),
}

// changedValues name values that are words of the program.
var changedValues = map[string]string{
	"true": say("on"), "false": say("off"), "none": say("Nothing"), "last": say("The last message"), "block": say("blocked"), "proxy": say("shown"),
	"round_robin": say("Members in turn"), "balanced": say("The member with the fewest open conversations"), "keep": say("They stay with the member"), "return": say("They go back to the team"),
	"available": say("Members who are online"), "scheduled": say("Members within their working hours"), "all": say("All members, at any time"),
	"SERVER": say("This server's relay"), "FWD": say("Forwarding"),
}

// auditHeadline says what happened, more closely if the entry has its changes.
func (v *visit) auditHeadline(e helpdesk.AuditEntry) string {
	if e.Action != "membership.updated" || len(e.Changes) == 0 {
		return v.auditText(e.Action)
	}
	only := func(fields ...string) bool {
		return !slices.ContainsFunc(e.Changes, func(c helpdesk.AuditChange) bool { return !slices.Contains(fields, c.Field) })
	}
	switch {
	case only("access") && slices.Contains(e.Changes[0].To, "suspended"):
		return v.words.T("Access suspended")
	case only("access"):
		return v.words.T("Access restored")
	case only("roles"):
		return v.words.T("Role of a member changed")
	case only("mailboxes"):
		return v.words.T("Mailboxes of a member changed")
	case only("force_offline", "while_in_app", "use_schedule", "schedule"):
		return v.words.T("Availability of a member changed")
	}
	return v.words.T("Roles and mailboxes of a member changed")
}

// changesSaid says what an entry changed, each in a line.
func (v *visit) changesSaid(e helpdesk.AuditEntry, names map[subject]string) []string {
	var said []string
	for _, c := range e.Changes {
		if c.Field == "access" { // the headline says it
			continue
		}
		said = append(said, v.changeSaid(c, names)...)
	}
	return said
}

func (v *visit) changeSaid(c helpdesk.AuditChange, names map[subject]string) []string {
	field := c.Field
	if text, known := changedFields[c.Field]; known {
		field = v.words.T(text)
	}
	from, to := v.valuesSaid(c.Field, c.From, names), v.valuesSaid(c.Field, c.To, names)
	gains := slices.Contains([]string{"permissions", "members", "languages", "events"}, c.Field) ||
		c.Field == "mailboxes" && !slices.Contains(append(slices.Clone(c.From), c.To...), helpdesk.AuditAll)
	switch {
	case from == "" && to == "":
		return []string{v.words.T("%s: changed", field)}
	case gains:
		var said []string
		if to != "" {
			said = append(said, v.words.T("%s: added %s", field, to))
		}
		if from != "" {
			said = append(said, v.words.T("%s: removed %s", field, from))
		}
		return said
	case from == "":
		return []string{v.words.T("%s: now %s", field, to)}
	case to == "":
		return []string{v.words.T("%s: removed %s", field, from)}
	}
	return []string{v.words.T("%s: from %s to %s", field, from, to)}
}

// maxValuesSaid is how many values of a change are written out.
const maxValuesSaid = 8

// valuesSaid says values of a field, "" for none.
func (v *visit) valuesSaid(field string, values []string, names map[subject]string) string {
	var said []string
	for _, value := range values[:min(len(values), maxValuesSaid)] {
		said = append(said, v.valueSaid(field, value, names))
	}
	text := v.words.list(said)
	if more := len(values) - len(said); more > 0 {
		text = v.words.N(more, "%[2]s and %[1]s more", text)
	}
	return text
}

func (v *visit) valueSaid(field, value string, names map[subject]string) string {
	area := map[string]string{"mailboxes": "mailbox", "members": "user"}[field]
	switch {
	case field == "mailboxes" && value == helpdesk.AuditAll:
		return v.words.T("all")
	case area != "":
		if name := names[subject{area, number(value)}]; name != "" {
			return name
		}
		return v.words.T("id %s", value)
	case field == "roles" && slices.Contains(builtIn, value):
		return v.words.T(value)
	case field == "permissions":
		part, act, _ := strings.Cut(value, ".")
		return v.permissionWord(part) + " – " + v.permissionWord(act)
	case field == "default_locale" || field == "languages":
		return languageName(value)
	case field == "send_hold":
		return v.words.T("%s s", value)
	case field == "quotes" && value == "all":
		return v.words.T("All messages")
	case slices.Contains([]string{"roles", "name", "email", "from", "url", "domain", "inbound_username", "outbound_username"}, field):
		return value
	}
	if text, known := changedValues[value]; known {
		return v.words.T(text)
	}
	return value
}
