package desk

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
)

// auditTexts say what happened, by the action of an audit log entry. Every action has one; see TestAuditTexts.
var auditTexts = map[string]string{
	"account.created": say("Account created"), "account.exported": say("Export of the account started"), "account.import_started": say("Import started"),
	"account.updated": say("Settings of the account changed"),
	"article.deleted": say("Article deleted"), "attachment.deleted": say("Attachment deleted"), "blocked_sender.deleted": say("Sender unblocked"),
	"category.deleted": say("Category deleted"), "collection.deleted": say("Collection deleted"),
	"conversation.deleted": say("Conversation deleted"), "conversation.merged": say("Conversations merged"),
	"conversation.moved": say("Conversation moved to another mailbox"), "conversation.split": say("Conversation split"),
	"customer.deleted": say("Customer deleted"), "customer.erased": say("Customer erased"), "customer.exported": say("Customer exported"), "customer.merged": say("Customers merged"),
	"domain.created": say("Sending domain added"), "domain.deleted": say("Sending domain deleted"),
	"domain.updated": say("Sending domain checked or changed"), "domain.verified": say("Sending domain verified"),
	"company.deleted": say("Company deleted"), "company.merged": say("Companies merged"),
	"account.customers_exported": say("Table of customers exported"), "account.customers_imported": say("Import of customers started"),
	"feedback.deleted": say("Feedback deleted"), "file.deleted": say("File deleted"),
	"interaction.deleted": say("Message or note deleted"), "interaction.moved": say("Message or note moved to another conversation"),
	"invitation.accepted": say("Invitation accepted"), "invitation.created": say("Invitation sent"), "invitation.deleted": say("Invitation withdrawn"),
	"join_rule.created": say("Rule for joining added"), "join_rule.deleted": say("Rule for joining deleted"), "join_rule.updated": say("Rule for joining changed"),
	"mail.ignored": say("Unreadable mail ignored"), "mail.replayed": say("Unreadable mail tried again"),
	"mailbox.created": say("Mailbox added"), "mailbox.deleted": say("Mailbox deleted"), "mailbox.updated": say("Mailbox changed"),
	"mailbox.connection_updated": say("Connection of a mailbox changed"), "mailbox.moved_in": say("Mail moved in from another system"), "mailbox.parked": say("Mailbox parked"),
	"membership.created": say("Member joined"), "membership.deleted": say("Member removed"), "membership.updated": say("Roles, mailboxes or availability of a member changed"),
	"calendar.created": say("Business hours added"), "calendar.deleted": say("Business hours deleted"), "calendar.updated": say("Business hours changed"),
	"auto_reply.created": say("Automatic reply added"), "auto_reply.deleted": say("Automatic reply deleted"), "auto_reply.updated": say("Automatic reply changed"),
	"rule.created": say("Rule added"), "rule.deleted": say("Rule deleted"), "rule.updated": say("Rule changed"),
	"conversation.erased":      say("Content of a conversation erased"),
	"retention_policy.created": say("Retention policy added"), "retention_policy.deleted": say("Retention policy deleted"), "retention_policy.updated": say("Retention policy changed"),
	"survey.created": say("Survey added"), "survey.deleted": say("Survey deleted"), "survey.updated": say("Survey changed"),
	"sla.created": say("SLA added"), "sla.deleted": say("SLA deleted"), "sla.updated": say("SLA changed"),
	"pgp_key.created": say("OpenPGP key added"), "pgp_key.deleted": say("OpenPGP key deleted"), "pgp_key.updated": say("OpenPGP key changed"),
	"portal_key.created": say("Key for customer sign-in added"), "portal_key.deleted": say("Key for customer sign-in deleted"),
	"role.created": say("Role added"), "role.deleted": say("Role deleted"), "role.updated": say("Role changed"),
	"saved_reply.deleted": say("Saved reply deleted"), "site.deleted": say("Help centre deleted"), "suppression.deleted": say("Suppression of an address lifted"),
	"field.deleted": say("Field deleted"),
	"tag.deleted":   say("Tag deleted"),
	"team.created":  say("Team added"), "team.deleted": say("Team deleted"), "team.updated": say("Team changed"),
	"theme.deleted": say("Theme deleted"), "view.deleted": say("View deleted"),
	"webhook.created": say("Webhook added"), "webhook.deleted": say("Webhook deleted"), "webhook.disabled": say("Webhook switched off"), "webhook.updated": say("Webhook changed"),

	"token.created": say("Access token added"), "token.deleted": say("Access token deleted"),
	"user.disabled": say("Access suspended"), "user.enabled": say("Access restored"), "user.email_changed": say("Email address changed"),
	"user.identity_linked": say("Other account connected"), "user.identity_unlinked": say("Other account disconnected"),
	"user.logged_in": say("Signed in"), "user.logged_out": say("Signed out"), "user.login_failed": say("Wrong password entered"),
	"user.passkey_added": say("Passkey added"), "user.passkey_removed": say("Passkey removed"), "user.password_changed": say("Password changed"),
	"user.recovery_code_used": say("Recovery code used"), "user.recovery_codes_renewed": say("Recovery codes renewed"),
	"user.second_factor_added": say("Two-factor authentication set up"), "user.second_factor_removed": say("Two-factor authentication removed"),
}

// auditText says what happened. An action of a later version is shown as in the API.
func (v *visit) auditText(action string) string {
	text, known := auditTexts[action]
	if !known {
		return action
	}
	return v.words.T(text)
}

type auditView struct {
	Rows         []auditRow
	Next, Action string
	Who, What    []tick
	Since        string
	Narrowed     bool
}

type auditRow struct {
	When, Full, Who, Action, Text, Subject, Address string
	Changes                                         []string // in words
}

// operatorValue is the operator as the actor of a filter.
const operatorValue = "operator"

// auditFilter reads the filter of the audit log from the address.
func (v *visit) auditFilter() helpdesk.AuditFilter {
	q := v.r.URL.Query()
	f := helpdesk.AuditFilter{Action: q.Get("action")}
	switch who := q.Get("who"); {
	case who == operatorValue:
		f.UserID = storage.Null[int64]()
	case number(who) > 0:
		f.UserID = storage.Some(number(who))
	}
	if since, err := time.ParseInLocation(time.DateOnly, q.Get("since"), v.zone); err == nil {
		f.Since = since
	}
	return f
}

func (v *visit) auditPage() error {
	f := v.auditFilter()
	page, err := v.Account().AuditLog(v.ctx(), f, v.pageOf(50))
	if err != nil {
		return err
	}
	names, err := v.auditNames(page.Items)
	if err != nil {
		return err
	}
	view := auditView{Action: v.at("/settings/audit"), Narrowed: f.UserID.IsSet() || f.Action != "" || !f.Since.IsZero()}
	if err := v.auditChoices(&view, f); err != nil {
		return err
	}
	if page.Next != "" {
		view.Next = view.Action + "?" + url.Values{
			"who": {v.r.URL.Query().Get("who")}, "action": {f.Action}, "since": {view.Since}, "after": {page.Next},
		}.Encode()
	}
	for _, e := range page.Items {
		row := auditRow{
			When: v.when(e.CreatedAt), Full: v.full(e.CreatedAt), Action: e.Action, Text: v.auditHeadline(e), Address: e.Address,
			Who: names[subject{"user", e.UserID}], Changes: v.changesSaid(e, names),
		}
		if about := subjectOf(e); about.id != 0 {
			row.Subject = cmp.Or(names[about], v.words.T("id %s", itoa(e.Subject)))
		}
		switch {
		case e.UserID == 0:
			row.Who = v.words.T("Operator")
		case row.Who == "":
			row.Who = v.words.T("Former member")
		}
		view.Rows = append(view.Rows, row)
	}
	return v.settingsPage("audit", v.words.T("Audit log"), view, 0)
}

// auditChoices fills in the filter: the members, the operator, and all actions by what they say.
func (v *visit) auditChoices(view *auditView, f helpdesk.AuditFilter) error {
	team, err := v.team()
	if err != nil {
		return err
	}
	for _, p := range team {
		view.Who = append(view.Who, tick{ID: itoa(p.ID), Text: p.Name, On: f.UserID.Or(0) == p.ID})
	}
	view.Who = append(view.Who, tick{ID: operatorValue, Text: v.words.T("Operator"), On: f.UserID.IsNull()})
	for action := range auditTexts {
		view.What = append(view.What, tick{ID: action, Text: v.auditText(action), On: f.Action == action})
	}
	slices.SortFunc(view.What, func(a, b tick) int { return cmp.Or(cmp.Compare(a.Text, b.Text), cmp.Compare(a.ID, b.ID)) })
	if !f.Since.IsZero() {
		view.Since = f.Since.Format(time.DateOnly)
	}
	return nil
}

// subject is what an audit log entry is about.
type subject struct {
	area string
	id   int64
}

// ofUsers are the actions on users whose subject is the user, who may be another than who acted.
var ofUsers = []string{
	"user.disabled", "user.enabled", "user.email_changed", "user.password_changed", "user.second_factor_added", "user.second_factor_removed", "user.recovery_codes_renewed",
}

// subjectOf is what an entry is about, the zero value for who acted and for the account.
func subjectOf(e helpdesk.AuditEntry) subject {
	area, _, _ := strings.Cut(e.Action, ".")
	if area == "account" || area == "user" && (e.Subject == e.UserID || !slices.Contains(ofUsers, e.Action)) {
		return subject{}
	}
	return subject{area, e.Subject}
}

// auditNames returns the names of what entries mention, of what is still there and the member may see: by one query for each
// area on the page.
func (v *visit) auditNames(entries []helpdesk.AuditEntry) (map[subject]string, error) {
	wanted := map[string][]int64{}
	for _, e := range entries {
		about := subjectOf(e)
		wanted[about.area] = append(wanted[about.area], about.id)
		wanted["user"] = append(wanted["user"], e.UserID)
		for _, c := range e.Changes {
			area := map[string]string{"mailboxes": "mailbox", "members": "user"}[c.Field]
			for _, id := range slices.Concat(c.From, c.To) {
				wanted[area] = append(wanted[area], number(id))
			}
		}
	}
	names := map[subject]string{}
	if ids := without(wanted["mailbox"], 0); len(ids) > 0 && v.may(identity.MailboxesView) {
		boxes, err := v.Mailboxes().ByID(v.ctx(), ids)
		if err != nil {
			return nil, err
		}
		for _, m := range boxes {
			names[subject{"mailbox", m.ID}] = m.Name
		}
	}
	if len(wanted["role"]) > 0 && v.may(identity.RolesView) {
		roles, err := v.Desk.Roles().All(v.ctx())
		if err != nil {
			return nil, err
		}
		for _, r := range roles {
			names[subject{"role", r.ID}] = v.roleName(r)
		}
	}
	if ids := without(wanted["company"], 0); len(ids) > 0 && v.may(identity.CompaniesView) {
		companies, err := v.Companies().ByID(v.ctx(), ids)
		if err != nil {
			return nil, err
		}
		for _, c := range companies {
			names[subject{"company", c.ID}] = c.Name
		}
	}
	if len(wanted["team"]) > 0 {
		teams, err := v.teams()
		if err != nil {
			return nil, err
		}
		for _, t := range teams {
			names[subject{"team", t.ID}] = t.Name
		}
	}
	return names, v.memberNames(names, wanted["membership"], wanted["user"])
}

// memberNames adds the names of members by membership and by user.
func (v *visit) memberNames(names map[subject]string, memberships, users []int64) error {
	var members []identity.Membership
	if ids := without(memberships, 0); len(ids) > 0 && v.may(identity.MembershipsView) {
		var err error
		if members, err = v.Members().ByID(v.ctx(), ids); err != nil {
			return err
		}
	}
	for _, m := range members {
		users = append(users, m.UserID)
	}
	who, err := v.people(users)
	for id, p := range who {
		names[subject{"user", id}] = p.Name
	}
	for _, m := range members {
		names[subject{"membership", m.ID}] = who[m.UserID].Name
	}
	return err
}
