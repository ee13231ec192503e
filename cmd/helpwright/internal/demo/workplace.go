package demo

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/deskfolder"
	"github.com/helpwright/helpwright/storage"
)

//go:embed desk
var deskFiles embed.FS

// setup returns how the desk is set up: the folder is an example of what is exported and applied.
func setup() (deskfolder.Setup, error) {
	folder, err := fs.Sub(deskFiles, "desk")
	if err != nil {
		return deskfolder.Setup{}, err
	}
	return deskfolder.Read(folder)
}

// workplace creates what the team made for itself: teams, and how the desk is set up, except surveys, which nobody had before.
func (f *filler) workplace(ctx context.Context) error {
	owner, jonas, layla, theo := f.members[0], f.members[1], f.members[2], f.members[3]
	for _, team := range []helpdesk.TeamInput{
		{Name: "Workshop", MemberIDs: storage.Some([]int64{owner.id, jonas.id, theo.id})},
		{Name: "Shipping", MemberIDs: storage.Some([]int64{layla.id, theo.id})},
	} {
		if _, err := owner.desk.Teams().Create(ctx, team); err != nil {
			return err
		}
	}
	s, err := setup()
	if err != nil {
		return err
	}
	s.Surveys = nil
	if _, err := deskfolder.Apply(ctx, f.Units, owner.desk, s, deskfolder.Options{}); err != nil {
		return err
	}
	own := helpdesk.ViewFilter{Statuses: []helpdesk.Status{helpdesk.StatusPending}, Sort: helpdesk.ByUpdated}
	_, err = owner.desk.Views().Create(ctx, helpdesk.ViewInput{Name: "Waiting for the customer", Visibility: storage.Some(helpdesk.ViewPrivate), Filter: own})
	if err != nil {
		return err
	}
	_, err = owner.desk.SavedReplies().Create(ctx, helpdesk.SavedReplyInput{
		Name: "Back on Monday", Body: "<p>Hello {{customer.first_name}},</p><p>I am back on Monday and will look at #{{conversation.number}} first thing.</p><p>{{agent.name}}</p>",
	})
	return err
}

// valuesOf are the values of the fields of a conversation.
func valuesOf(id int64) helpdesk.FieldTexts {
	products := []string{"grinder", "kettle", "scale", "spare_part"}
	return helpdesk.FieldTexts{
		"product": {products[id%4]}, "order_number": {fmt.Sprintf("A-%05d", 10400+7*id)}, "warranty_until": {fmt.Sprintf("2027-%02d-15", 1+id%12)},
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
