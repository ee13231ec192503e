package demo

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/deskfolder"
	"github.com/helpwright/helpwright/storage"
)

// opinions are what customers said, over and over.
var opinions = []helpdesk.RatingInput{
	{Score: 5, Comment: storage.Some("Quick and friendly. Thank you!")}, {Score: 4}, {Score: 5}, {Score: 2, Comment: storage.Some("It took four days until somebody answered.")}, {Score: 5},
	{Score: 3, Comment: storage.Some("The answer helped, but I had to explain everything twice.")}, {Score: 4}, {Score: 5, Comment: storage.Some("The drawing was exactly what I needed.")},
}

// ratings creates a survey, and what customers said about conversations that were closed before it.
func (f *filler) ratings(ctx context.Context) error {
	owner := f.members[0].desk
	s, err := setup()
	if err != nil {
		return err
	}
	if _, err := deskfolder.Apply(ctx, f.Units, owner, deskfolder.Setup{Surveys: s.Surveys}, deskfolder.Options{}); err != nil {
		return err
	}
	closed := helpdesk.ConversationQuery{Statuses: []helpdesk.Status{helpdesk.StatusClosed}, Spam: storage.Some(false), Sort: helpdesk.ByUpdated}
	found, err := owner.Conversations().List(ctx, closed, storage.PageRequest{Limit: 80})
	if err != nil {
		return err
	}
	for i, c := range found.Items {
		if i%2 == 1 { // who does not say anything
			continue
		}
		in := opinions[i/2%len(opinions)]
		in.Scale = storage.Some(5)
		if _, err := owner.Ratings().Record(ctx, c.ID, in); err != nil {
			return err
		}
	}
	return nil
}
