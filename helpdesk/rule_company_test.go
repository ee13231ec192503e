package helpdesk_test

import (
	"slices"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Rules know the fields of the customer's company; those of customers without one are empty.
func TestRuleCompanyField(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	seats := must(b.desk.Fields().Create(b.ctx, helpdesk.FieldInput{Key: "seats", Label: "Seats", AppliesTo: helpdesk.FieldOfCompany, Type: helpdesk.FieldNumber}))(t)
	bank := must(b.desk.Companies().Create(b.ctx, helpdesk.CompanyInput{Name: "Bank", Domains: storage.Some([]string{"example.com"})}))(t)
	must(b.desk.Companies().SetFields(b.ctx, bank.ID, helpdesk.FieldTexts{"seats": {"500"}}))(t)
	large := b.rule(ruleInput("Large", atMail, do(rules.SetPriority, "urgent"), when("company.fields.seats", rules.Greater, "100")))
	b.rule(ruleInput("None", atMail, do(rules.SetPriority, "low"), when("company.fields.seats", rules.Empty)))
	inside := b.receive(opening()).ConversationID
	m := opening()
	m.MessageID, m.From = "2@other.example", []mailaddr.Address{{Email: "bob@other.example"}}
	outside := b.receive(m).ConversationID
	b.runRules()
	if got := b.conversation(inside).Priority; got != helpdesk.PriorityUrgent {
		t.Errorf("of the company: %s", got)
	}
	if got := b.conversation(outside).Priority; got != helpdesk.PriorityLow {
		t.Errorf("without a company: %s", got)
	}
	if err := b.desk.Fields().Delete(b.ctx, seats.ID); !fault.Is(err, fault.Conflict) || !slices.Contains(fieldsOf(err)["used_by"], large.Name) {
		t.Errorf("deleting the field: %v", err)
	}
}
