package demo

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
)

// retention creates two retention policies, of which the one about spam is on.
func (f *filler) retention(ctx context.Context) error {
	for _, in := range []helpdesk.RetentionPolicyInput{
		{
			Name: storage.Some("Old spam"), AfterDays: storage.Some(30), Action: storage.Some(helpdesk.RetainNothing), IsActive: storage.Some(true),
			All: storage.Some([]rules.Condition{{Field: rules.FieldSpam, Op: rules.Is, Values: []string{"true"}}}),
		},
		{
			Name: storage.Some("Closed for three years"), AfterDays: storage.Some(1095), Action: storage.Some(helpdesk.RetainNoContent),
			All: storage.Some([]rules.Condition{{Field: rules.FieldStatus, Op: rules.Is, Values: []string{string(helpdesk.StatusClosed)}}}),
		},
	} {
		if _, err := f.members[0].desk.RetentionPolicies().Create(ctx, in); err != nil {
			return err
		}
	}
	return nil
}
