package helpdesk

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// AuditChange is what an audited change changed, see [storage.AuditChange]. Roles are named, mailboxes are ids, since not
// every reader of the log sees every mailbox. Of what is secret, personal or long, only the field is noted.
type AuditChange = storage.AuditChange

// AuditAll stands for all in an [AuditChange], for example all mailboxes.
const AuditAll = "*"

// Limits of what an audit entry notes.
const (
	maxChangeItems = 100
	maxChangeText  = 300
)

// emitChanged is emit for an audited change: its audit entry says what changed.
func (d *desk) emitChanged(ctx context.Context, tx Tx, kind string, subject, mailboxID int64, changes []AuditChange) error {
	return emitChanged(ctx, tx, d.event(kind, subject, mailboxID), changes)
}

func emitChanged(ctx context.Context, tx Tx, e storage.Event, changes []AuditChange) error {
	of, ok := tx.(auditing)
	if !ok {
		return tx.Emit(ctx, e)
	}
	entry := e.Audit(of.token, of.svc.address)
	entry.Changes = changes
	if err := of.InsertAudit(ctx, []AuditEntry{entry}); err != nil {
		return err
	}
	return of.Tx.Emit(ctx, e)
}

// changes collects what an update changes.
type changes []AuditChange

// text notes a value that differs.
func (c *changes) text(field, from, to string) {
	if from != to {
		*c = append(*c, AuditChange{Field: field, From: noted(from), To: noted(to)})
	}
}

// noted is a value of a change; none if it is empty.
func noted(value string) []string {
	if value == "" {
		return nil
	}
	if runes := []rune(value); len(runes) > maxChangeText {
		value = string(runes[:maxChangeText]) + "…"
	}
	return []string{value}
}

func (c *changes) flag(field string, from, to bool) {
	c.text(field, strconv.FormatBool(from), strconv.FormatBool(to))
}

func (c *changes) number(field string, from, to int64) {
	c.text(field, strconv.FormatInt(from, 10), strconv.FormatInt(to, 10))
}

// hidden notes that a field differs, without its values.
func (c *changes) hidden(field string, differs bool) {
	if differs {
		*c = append(*c, AuditChange{Field: field})
	}
}

// list notes what a list lost and gained.
func (c *changes) list(field string, from, to []string) {
	gone := slices.DeleteFunc(slices.Clone(from), func(s string) bool { return slices.Contains(to, s) })
	come := slices.DeleteFunc(slices.Clone(to), func(s string) bool { return slices.Contains(from, s) })
	if len(gone)+len(come) > 0 {
		*c = append(*c, AuditChange{Field: field, From: gone[:min(len(gone), maxChangeItems)], To: come[:min(len(come), maxChangeItems)]})
	}
}

// within notes a change of the mailboxes that something is limited to; none are all.
func (c *changes) within(from, to []int64) {
	of := func(ids []int64) []string {
		if len(ids) == 0 {
			return []string{AuditAll}
		}
		out := make([]string, len(ids))
		for i, id := range ids {
			out[i] = strconv.FormatInt(id, 10)
		}
		return out
	}
	c.list("mailboxes", of(from), of(to))
}

// roles notes a change of roles, by their names.
func (c *changes) roles(ctx context.Context, r Reader, from, to []int64) error {
	all, err := roleNoun().Reader(r).ByIDs(ctx, slices.Concat(from, to))
	names := func(ids []int64) []string {
		var out []string
		for _, role := range all {
			if slices.Contains(ids, role.ID) {
				out = append(out, role.Name)
			}
		}
		return out
	}
	c.list("roles", names(from), names(to))
	return err
}

// ofMember are the changes of a membership's rights.
func ofMember(ctx context.Context, r Reader, old, m identity.Membership) ([]AuditChange, error) {
	var c changes
	err := c.roles(ctx, r, old.RoleIDs, m.RoleIDs)
	c.within(old.MailboxIDs, m.MailboxIDs)
	return c, err
}

func ofRule(ctx context.Context, r Reader, old, rule identity.JoinRule) ([]AuditChange, error) {
	var c changes
	c.text("domain", old.Domain, rule.Domain)
	err := c.roles(ctx, r, old.RoleIDs, rule.RoleIDs)
	c.within(old.MailboxIDs, rule.MailboxIDs)
	return c, err
}

func ofAvailability(old, now identity.Availability) []AuditChange {
	var c changes
	c.flag("force_offline", old.ForceOffline, now.ForceOffline)
	c.flag("while_in_app", old.WhileInApp, now.WhileInApp)
	c.flag("use_schedule", old.UseSchedule, now.UseSchedule)
	c.hidden("schedule", !slices.Equal(old.Schedule, now.Schedule) || old.Timezone != now.Timezone)
	return c
}

func ofRole(old, role identity.Role) []AuditChange {
	var c changes
	c.text("name", old.Name, role.Name)
	c.hidden("description", old.Description != role.Description)
	plain := func(all []identity.Permission) []string {
		out := make([]string, len(all))
		for i, p := range all {
			out[i] = string(p)
		}
		return out
	}
	c.list("permissions", plain(old.Permissions), plain(role.Permissions))
	return c
}

func ofAccount(old, a identity.Account) []AuditChange {
	var c changes
	c.text("name", old.Name, a.Name)
	c.text("default_locale", old.DefaultLocale, a.DefaultLocale)
	c.list("languages", old.Languages, a.Languages)
	c.number("next_conversation_number", old.NextNumber, a.NextNumber)
	c.number("send_hold", int64(old.SendHold.Seconds()), int64(a.SendHold.Seconds()))
	c.text("remote_images", string(old.RemoteImages), string(a.RemoteImages))
	c.flag("track_seen", old.TrackSeen, a.TrackSeen)
	c.flag("require_second_factor", old.RequireSecondFactor, a.RequireSecondFactor)
	return c
}

func ofMailbox(old, m Mailbox) []AuditChange {
	var c changes
	c.text("name", old.Name, m.Name)
	c.text("email", old.Email, m.Email)
	c.text("from", old.From, m.From)
	c.text("reply_address", string(old.ReplyAddress), string(m.ReplyAddress))
	c.text("quotes", string(old.Quotes), string(m.Quotes))
	c.list("form_fields", old.FormFields, m.FormFields)
	c.hidden("signature", old.Signature != m.Signature)
	return c
}

// ofConnection are the changes of how mail reaches and leaves a mailbox. Of the secrets it has nothing but that they changed.
func ofConnection(old, m Mailbox) []AuditChange {
	var c changes
	c.text("inbound", server(string(old.Inbound.Type), old.Inbound.Host, old.Inbound.Port), server(string(m.Inbound.Type), m.Inbound.Host, m.Inbound.Port))
	c.text("inbound_username", old.Inbound.Username, m.Inbound.Username)
	c.text("inbound_encryption", string(old.Inbound.Encryption), string(m.Inbound.Encryption))
	c.hidden("inbound_password", !slices.Equal(old.Inbound.SealedPassword, m.Inbound.SealedPassword))
	c.text("outbound", server(string(old.Outbound.Type), old.Outbound.Host, old.Outbound.Port), server(string(m.Outbound.Type), m.Outbound.Host, m.Outbound.Port))
	c.text("outbound_username", old.Outbound.Username, m.Outbound.Username)
	c.text("outbound_encryption", string(old.Outbound.Encryption), string(m.Outbound.Encryption))
	c.hidden("outbound_password", !slices.Equal(old.Outbound.SealedPassword, m.Outbound.SealedPassword))
	return c
}

// server names a mail server and how it is used.
func server(kind, host string, port int) string {
	if host == "" {
		return kind
	}
	return strings.TrimSpace(kind + " " + host + ":" + strconv.Itoa(port))
}

func ofWebhook(old, w subscription.Webhook) []AuditChange {
	var c changes
	c.text("url", old.URL, w.URL)
	c.list("events", old.Events, w.Events)
	c.within(old.MailboxIDs, w.MailboxIDs)
	c.flag("is_active", old.IsActive, w.IsActive)
	c.hidden("secret", !slices.Equal(old.SealedSecret, w.SealedSecret))
	return c
}

// limitText writes a limit, "" for none.
func limitText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func ofTeam(old, t Team) []AuditChange {
	var c changes
	c.text("name", old.Name, t.Name)
	ids := func(all []int64) []string {
		out := make([]string, len(all))
		for i, id := range all {
			out[i] = strconv.FormatInt(id, 10)
		}
		return out
	}
	c.list("members", ids(old.MemberIDs), ids(t.MemberIDs))
	a, b := old.Assignment.WithDefaults(), t.Assignment
	c.text("strategy", string(a.Strategy), string(b.Strategy))
	c.text("capacity", limitText(a.Capacity), limitText(b.Capacity))
	c.text("who", string(a.Who), string(b.Who))
	c.text("when_unavailable", string(a.WhenUnavailable), string(b.WhenUnavailable))
	c.text("return_after", strconv.Itoa(a.ReturnAfter), strconv.Itoa(b.ReturnAfter))
	c.flag("sticky", a.Sticky, b.Sticky)
	return c
}

func ofCalendar(old, c Calendar) []AuditChange {
	var all changes
	all.text("name", old.Name, c.Name)
	all.text("timezone", old.Timezone, c.Timezone)
	week := func(w hours.Week) (out []string) {
		for _, day := range hours.Days() {
			if len(w[day]) > 0 {
				out = append(out, hours.DayKey(day)+" "+hours.FormatSpans(w[day]))
			}
		}
		return out
	}
	all.list("week", week(old.Week), week(c.Week))
	holidays := func(c Calendar) []string {
		return strings.Split(strings.TrimSpace(hours.FormatHolidays(c.Holidays)), "\n")
	}
	all.list("holidays", holidays(old), holidays(c))
	return all
}

func ofAutoReply(old, a AutoReply) []AuditChange {
	var c changes
	c.text("name", old.Name, a.Name)
	c.within(old.MailboxIDs, a.MailboxIDs)
	c.number("calendar_id", old.CalendarID, a.CalendarID)
	c.text("when", string(old.When), string(a.When))
	c.text("on", string(old.On), string(a.On))
	c.number("once_per", int64(old.OncePer.Hours()), int64(a.OncePer.Hours()))
	c.hidden("translations", !slices.Equal(old.Translations, a.Translations))
	c.flag("is_active", old.IsActive, a.IsActive)
	return c
}

func ofSurvey(old, s Survey) []AuditChange {
	var c changes
	c.text("name", old.Name, s.Name)
	c.within(old.MailboxIDs, s.MailboxIDs)
	c.number("scale", int64(old.Scale), int64(s.Scale))
	hours := func(s Survey) string {
		if s.Scale == 0 || !s.Mails() {
			return ""
		}
		return fmt.Sprint(int64(s.Delay.Hours()))
	}
	c.text("delay", hours(old), hours(s))
	c.number("once_per", int64(old.OncePer.Hours()/24), int64(s.OncePer.Hours()/24))
	c.hidden("match", !reflect.DeepEqual([][]rules.Condition{old.All, old.Any}, [][]rules.Condition{s.All, s.Any}))
	c.hidden("translations", !slices.Equal(old.Translations, s.Translations))
	c.flag("is_active", old.IsActive, s.IsActive)
	return c
}

func ofRetentionPolicy(old, p RetentionPolicy) []AuditChange {
	var c changes
	c.text("name", old.Name, p.Name)
	c.hidden("match", !reflect.DeepEqual([][]rules.Condition{old.All, old.Any}, [][]rules.Condition{p.All, p.Any}))
	c.number("after_days", int64(old.AfterDays), int64(p.AfterDays))
	c.text("action", string(old.Action), string(p.Action))
	c.flag("is_active", old.IsActive, p.IsActive)
	return c
}

func ofDeskRule(old, r Rule) []AuditChange {
	var c changes
	c.text("name", old.Name, r.Name)
	c.text("state", string(old.State), string(r.State))
	c.number("position", old.Position, r.Position)
	c.list("on", old.On, r.On)
	c.text("since", string(old.After.Since), string(r.After.Since))
	c.number("hours", int64(old.After.Hours), int64(r.After.Hours))
	c.number("calendar_id", old.After.CalendarID, r.After.CalendarID)
	c.hidden("match", !reflect.DeepEqual([][]rules.Condition{old.All, old.Any}, [][]rules.Condition{r.All, r.Any}))
	c.hidden("actions", !reflect.DeepEqual(old.Actions, r.Actions))
	c.flag("stop", old.Stop, r.Stop)
	return c
}

func ofSLA(old, s SLA) []AuditChange {
	var c changes
	c.text("name", old.Name, s.Name)
	c.number("position", old.Position, s.Position)
	c.hidden("match", !reflect.DeepEqual([][]rules.Condition{old.All, old.Any}, [][]rules.Condition{s.All, s.Any}))
	c.number("calendar_id", old.CalendarID, s.CalendarID)
	c.text("first_reply", limitText(old.FirstReply), limitText(s.FirstReply))
	c.text("next_reply", limitText(old.NextReply), limitText(s.NextReply))
	c.text("resolution", limitText(old.Resolution), limitText(s.Resolution))
	pauses := func(all []SLAPause) (out []string) {
		for _, p := range all {
			out = append(out, string(p))
		}
		return out
	}
	c.list("pauses", pauses(old.Pauses), pauses(s.Pauses))
	c.text("due_soon", limitText(old.DueSoon), limitText(s.DueSoon))
	return c
}

// Access of a member, in a change.
const (
	accessActive    = "active"
	accessSuspended = "suspended"
)

func ofAccess(suspended bool) []AuditChange {
	from, to := accessSuspended, accessActive
	if suspended {
		from, to = to, from
	}
	return []AuditChange{{Field: "access", From: []string{from}, To: []string{to}}}
}
