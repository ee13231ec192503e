package helpdesk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// comparing is a store that reads all conversations, interactions and customers before and after each transaction, and fails a
// test in which their differences are not the changes of the transaction's events. All tests of this package run on it, and
// with them every operation.
type comparing struct {
	helpdesk.Store
	t *testing.T
}

func (s comparing) InTx(ctx context.Context, scope helpdesk.Scope, fn func(context.Context, helpdesk.Tx) error) error {
	compare := s.look(ctx, scope.AccountID)
	err := s.Store.InTx(ctx, scope, fn)
	if err == nil {
		compare()
	}
	return err
}

func (s comparing) InSystemTx(ctx context.Context, fn func(context.Context, helpdesk.SystemTx) error) error {
	var all []func()
	accounts, _ := s.Accounts(ctx, storage.Seek{Limit: storage.NoLimit})
	for _, a := range accounts {
		all = append(all, s.look(ctx, a.ID))
	}
	err := s.Store.InSystemTx(ctx, fn)
	for _, compare := range all {
		if err == nil {
			compare()
		}
	}
	return err
}

// resources are all resources of an account by "area/id", each with its fields.
type resources map[string]map[string]string

// tooMany is a number of conversations from which on they are not compared.
const tooMany = 40

// look reads everything and returns what compares it with the state after a transaction.
func (s comparing) look(ctx context.Context, account int64) (compare func()) {
	log, ok := s.Store.(storage.EventLog)
	r := s.Within(helpdesk.Scope{AccountID: account})
	before := everythingOf(ctx, r)
	if !ok || before == nil {
		return func() {}
	}
	last, err := r.LastEvent(ctx)
	if err != nil {
		return func() {}
	}
	return func() {
		ctx := context.WithoutCancel(ctx)
		after := everythingOf(ctx, r)
		events, err := log.Events(ctx, account, last, 10_000)
		if err != nil || after == nil {
			return
		}
		if diff := cmp.Diff(differencesOf(before, after, events), toldBy(events)); diff != "" {
			s.t.Errorf("the events %s do not tell what changed (-changed +told): %s", typesOf(events), diff)
		}
		holdNothingPrivate(s.t, before, events)
		holdNothingPrivate(s.t, after, events)
	}
}

// read returns all resources of an account; nil if there are too many, or it is gone.
func everythingOf(ctx context.Context, r helpdesk.Reader) resources {
	conversations, err := r.Conversations().List(ctx, helpdesk.ConversationOrder{}, storage.Seek{Limit: tooMany})
	customers, failed := r.Customers(ctx, helpdesk.CustomerFilter{}, storage.Seek{Limit: 10 * tooMany})
	if err != nil || failed != nil || len(conversations) == tooMany {
		return nil
	}
	all := resources{}
	for _, c := range conversations {
		marks, _ := r.Marks(ctx, helpdesk.MarksQuery{ConversationIDs: []int64{c.ID}, Tags: true})
		var tags []string
		for _, m := range marks {
			for _, t := range m.Tags {
				tags = append(tags, fmt.Sprint(t.ID))
			}
		}
		all[fmt.Sprint("conversation/", c.ID)] = map[string]string{
			"status": asText(string(c.Status)), "priority": asText(string(c.Priority)), "user_id": asID(c.UserID), "team_id": asID(c.TeamID),
			"mailbox_id": asID(c.MailboxID), "customer_id": asID(c.CustomerID), "sla_id": asID(c.SLAID), "snoozed_until": asTime(c.SnoozedUntil),
			"spam": fmt.Sprint(c.IsSpam()), "held": fmt.Sprint(c.IsHeld()), "subject": c.Subject, "tags": strings.Join(tags, " "), "due_at": asTime(c.DueAt),
		}
		addValues(ctx, r, helpdesk.FieldOfConversation, c.ID, all[fmt.Sprint("conversation/", c.ID)])
		said, err := r.Interactions().List(ctx, helpdesk.InteractionFilter{ConversationID: c.ID}, storage.Seek{Limit: 1000})
		if err != nil {
			return nil
		}
		for _, i := range said {
			all[fmt.Sprint("interaction/", i.ID)] = map[string]string{
				"conversation_id": asID(i.ConversationID), "status": asText(string(i.Status)), "user_id": asID(i.UserID), "posted_by_id": asID(i.PostedByID),
				"customer_id": asID(i.CustomerID), "send_at": asTime(i.SendAt), "seen_at": asTime(i.SeenAt), "is_forward": fmt.Sprint(i.IsForward),
				"body": i.Body, "to": strings.Join(i.To, " "), "cc": strings.Join(i.Cc, " "), "bcc": strings.Join(i.Bcc, " "), "source": i.Source,
			}
		}
	}
	for _, c := range customers {
		all[fmt.Sprint("customer/", c.ID)] = map[string]string{
			"first_name": c.FirstName, "last_name": c.LastName, "company": c.Company, "note": c.Note, "external_id": c.ExternalID,
			"emails": asItems(c.Emails), "phones": asItems(c.Phones), "websites": asItems(c.Websites),
		}
		addValues(ctx, r, helpdesk.FieldOfCustomer, c.ID, all[fmt.Sprint("customer/", c.ID)])
	}
	return all
}

// written marks values of which events say only that they changed.
const written = "written: "

// addValues adds the values of a subject's fields.
func addValues(ctx context.Context, r helpdesk.Reader, kind helpdesk.FieldKind, id int64, to map[string]string) {
	fields, _ := helpdesk.Nouns().Fields.Reader(r).List(ctx, helpdesk.FieldFilter{AppliesTo: []helpdesk.FieldKind{kind}}, storage.Seek{Limit: storage.NoLimit})
	values, _ := r.FieldValues(ctx, kind, []int64{id})
	for _, f := range fields {
		var texts []string
		for _, v := range values {
			if v.FieldID == f.ID {
				texts = append(texts, v.Text)
			}
		}
		slices.Sort(texts)
		list, _ := json.Marshal(texts)
		shown := string(list)
		switch {
		case len(texts) == 0:
			shown = "null"
		case kind == helpdesk.FieldOfCustomer || f.Type == helpdesk.FieldText || f.Type == helpdesk.FieldURL:
			shown = written + shown
		case f.Type == helpdesk.FieldNumber || f.Type == helpdesk.FieldBoolean:
			shown = texts[0]
		case f.Type != helpdesk.FieldMultiselect:
			shown = asText(texts[0])
		}
		to["fields."+f.Key] = shown
	}
}

func asItems[T any](list []T) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprint(list)
}

func asText(s string) string {
	encoded, _ := json.Marshal(s)
	return string(encoded)
}

func asID(n int64) string {
	if n == 0 {
		return "null"
	}
	return fmt.Sprint(n)
}

func asTime(t time.Time) string {
	if t.IsZero() {
		return "null"
	}
	return asText(t.UTC().Format(time.RFC3339))
}

// hiddenFields are those of which events say only that they changed.
var hiddenFields = []string{"subject", "body", "to", "cc", "bcc", "source", "first_name", "last_name", "company", "note", "external_id", "emails", "phones", "websites"}

// differ returns what changed, as events have to tell it: "field: from → to".
func differencesOf(before, after resources, events []storage.Event) map[string][]string {
	changed := map[string][]string{}
	for name, now := range after {
		old, existed := before[name]
		if !existed && !slices.ContainsFunc(events, func(e storage.Event) bool { return subjectOf(e) == name }) {
			continue // a part of an import
		}
		for field, value := range now {
			was := old[field]
			if !existed {
				was = map[bool]string{true: "null"}[!slices.Contains(hiddenFields, field) && field != "tags"]
				if field == "spam" || field == "held" || field == "is_forward" {
					was = "false"
				}
			}
			if field == "due_at" && !dueIsTold(name, old, now, events) {
				continue
			}
			if was == "" && strings.HasPrefix(field, "fields.") { // the field is new
				was = "null"
			}
			if was != value && !toldElsewhere(name, field, existed, events) {
				changed[name] = append(changed[name], oneDifference(field, was, value))
			}
		}
		slices.Sort(changed[name])
	}
	return changed
}

// dueIsTold reports whether events are to tell when something is due in a conversation: they do when it came under another SLA, and
// if they do for another reason, as its SLA or calendar changed, it is to be right. Else it follows from what they tell.
func dueIsTold(name string, old, now map[string]string, events []storage.Event) bool {
	if old["sla_id"] != "" && old["sla_id"] != "null" && old["sla_id"] != now["sla_id"] {
		return true
	}
	return slices.ContainsFunc(events, func(e storage.Event) bool {
		_, told := subscription.ChangedBy(e).Changes["due_at"]
		return told && subjectOf(e) == name
	})
}

func oneDifference(field, was, value string) string {
	switch {
	case field == "tags":
		return fmt.Sprintf("tags: %s → %s", missingIn(was, value), missingIn(value, was))
	case slices.Contains(hiddenFields, field), strings.HasPrefix(was, written), strings.HasPrefix(value, written), was == "" && value == "":
		return field
	}
	return fmt.Sprintf("%s: %s → %s", field, was, value)
}

func missingIn(of, others string) []string {
	return slices.DeleteFunc(strings.Fields(of), func(s string) bool { return slices.Contains(strings.Fields(others), s) })
}

// elsewhere reports whether a change is told by the event that names an operation on many: conversations that follow their
// customer, interactions that follow their conversation, and tags that are deleted.
func toldElsewhere(name, field string, existed bool, events []storage.Event) bool {
	has := func(kinds ...string) bool {
		return slices.ContainsFunc(events, func(e storage.Event) bool { return slices.Contains(kinds, e.Type) })
	}
	area, _, _ := strings.Cut(name, "/")
	switch {
	case field == "conversation_id" && !existed: // the event has it beside its changes
		return true
	case field == "conversation_id":
		return has("conversation.absorbed")
	case field == "customer_id" && area != "customer":
		return has("customer.merged") || len(events) == 0 // in several transactions, of which the last has the event
	case field == "tags":
		return has("tag.deleted") || len(events) == 0
	case strings.HasPrefix(field, "fields."):
		return has("field.deleted")
	}
	return false
}

func subjectOf(e storage.Event) string {
	area, _, _ := strings.Cut(e.Type, ".")
	return fmt.Sprint(area, "/", e.Subject)
}

func typesOf(events []storage.Event) (all []string) {
	for _, e := range events {
		all = append(all, fmt.Sprintf("%s of %d", e.Type, e.Subject))
	}
	return all
}

// told returns what events tell, in the form of differ.
func toldBy(events []storage.Event) map[string][]string {
	first, last := map[string]map[string]string{}, map[string]map[string]string{}
	for _, e := range events {
		name := subjectOf(e)
		if e.Type == "conversation.deleted" || e.Type == "customer.deleted" || e.Type == "interaction.deleted" {
			delete(first, name)
			continue
		}
		if first[name] == nil {
			first[name], last[name] = map[string]string{}, map[string]string{}
		}
		var data struct {
			Changes map[string]map[string]json.RawMessage
		}
		if json.Unmarshal(e.Data, &data) != nil {
			continue
		}
		for field, c := range data.Changes {
			from, to := string(c["from"]), string(c["to"])
			if field == "tags" {
				from, to = tagNumbers(c["removed"]), tagNumbers(c["added"])
			}
			if strings.HasPrefix(name, "customer/") && field == "customer_id" {
				continue // of the conversations of a customer who was merged
			}
			if _, known := first[name][field]; !known {
				first[name][field] = from
			}
			last[name][field] = to
		}
	}
	all := map[string][]string{}
	for name, fields := range first {
		for field, from := range fields {
			if to := last[name][field]; from != to || from == "" || slices.Contains(hiddenFields, field) {
				all[name] = append(all[name], oneDifference(field, from, to))
			}
		}
		slices.Sort(all[name])
	}
	maps.DeleteFunc(all, func(_ string, list []string) bool { return len(list) == 0 })
	return all
}

func tagNumbers(list json.RawMessage) string {
	return strings.Join(strings.FieldsFunc(string(list), func(r rune) bool { return strings.ContainsRune("[], ", r) }), " ")
}

// private verifies that events have an actor and no texts.
func holdNothingPrivate(t *testing.T, all resources, events []storage.Event) {
	t.Helper()
	for _, e := range events {
		area, _, _ := strings.Cut(e.Type, ".")
		if by := subscription.ChangedBy(e).Actor; (slices.Contains([]string{"conversation", "interaction", "customer", "rating"}, area) || helpdesk.SLAOutcomeEvent(e.Type)) != (by.Type != "") {
			t.Errorf("event %s %s has the actor %+v", e.Type, e.Data, by)
		}
		for name, fields := range all {
			for _, field := range hiddenFields {
				if value := fields[field]; len(value) > 6 && strings.ContainsAny(value, " @") && bytes.Contains(e.Data, []byte(value)) {
					t.Errorf("event %s %s has the %s of %s", e.Type, e.Data, field, name)
				}
			}
		}
	}
}
