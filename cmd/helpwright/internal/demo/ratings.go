package demo

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk"
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
	_, err := owner.Surveys().Create(ctx, helpdesk.SurveyInput{
		Name: storage.Some("After closing"), Scale: storage.Some(5),
		Translations: storage.Some(map[string]helpdesk.SurveyText{
			"en": {Subject: "How was our answer?", Body: "<p>Hello {{customer.first_name}},</p><p>we hope that everything works again. How was our answer?</p><p>{{rating}}</p><p>Your workshop</p>"},
			"de": {Subject: "Wie war unsere Antwort?", Body: "<p>Hallo {{customer.first_name}},</p><p>wir hoffen, dass alles wieder läuft. Wie war unsere Antwort?</p><p>{{rating}}</p><p>Ihre Werkstatt</p>"},
			"fr": {Subject: "Comment était notre réponse ?", Body: "<p>Bonjour {{customer.first_name}},</p><p>nous espérons que tout fonctionne à nouveau. Comment était notre réponse ?</p><p>{{rating}}</p><p>Votre atelier</p>"},
		}),
	})
	if err != nil {
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
