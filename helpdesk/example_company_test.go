package helpdesk_test

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Who writes from a company's domain belongs to it, and its conversations are listed together.
func ExampleCompanies_Create() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	acme, err := desk.Companies().Create(ctx, helpdesk.CompanyInput{Name: "Acme", Domains: storage.Some([]string{"acme.example"})})
	if err != nil {
		panic(err)
	}
	_, err = desk.Conversations().Create(ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@acme.example", Subject: "The door is stuck"})
	if err != nil {
		panic(err)
	}
	page, err := desk.Conversations().List(ctx, helpdesk.ConversationQuery{CompanyID: acme.ID}, storage.PageRequest{})
	for _, c := range page.Items {
		fmt.Println(c.Subject)
	}
	people, _ := desk.Customers().List(ctx, helpdesk.CustomerQuery{CompanyID: acme.ID}, storage.PageRequest{})
	fmt.Println(people.Items[0].Name(), people.Items[0].Company, err)
	// Output:
	// The door is stuck
	// ada@acme.example Acme <nil>
}

// Two companies that are one are merged: customers and domains move.
func ExampleCompanies_Merge() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	twin, _ := desk.Companies().Create(ctx, helpdesk.CompanyInput{Name: "Acme Inc.", Domains: storage.Some([]string{"acme.test"})})
	acme, _ := desk.Companies().Create(ctx, helpdesk.CompanyInput{Name: "Acme", Domains: storage.Some([]string{"acme.example"})})
	merged, err := desk.Companies().Merge(ctx, twin.ID, acme.ID)
	fmt.Println(merged.Name, merged.Domains, err)
	// Output: Acme [acme.example acme.test] <nil>
}

// A company has fields, like its customers and its conversations.
func ExampleCompanies_SetFields() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	_, err := desk.Fields().Create(ctx, helpdesk.FieldInput{Label: "Seats", AppliesTo: helpdesk.FieldOfCompany, Type: helpdesk.FieldNumber})
	if err != nil {
		panic(err)
	}
	acme, _ := desk.Companies().Create(ctx, helpdesk.CompanyInput{Name: "Acme", Fields: helpdesk.FieldTexts{"seats": {"10"}}})
	_, err = desk.Companies().SetFields(ctx, acme.ID, helpdesk.FieldTexts{"seats": {"25"}})
	set, _ := desk.Companies().Fields(ctx, []int64{acme.ID})
	fmt.Println(set.Values[acme.ID], err)
	// Output: map[seats:[25]] <nil>
}
