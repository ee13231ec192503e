package api

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// survey as the API shows it.
type survey struct {
	ID             int64                 `json:"id"`
	Name           string                `json:"name"`
	MailboxIDs     []int64               `json:"mailbox_ids" description:"Asks about conversations of these mailboxes. Empty: of all."`
	Scale          int                   `json:"scale" description:"2, 3 or 5. Scores go from 1 to it."`
	Delay          *int64                `json:"delay" description:"Hours after closing. Null: it sends no mail of its own, and asks only under replies that contain {{rating}}."`
	OncePer        int64                 `json:"once_per" description:"Days within which a customer gets one mail. 0: no limit."`
	Match          ruleMatch             `json:"match" description:"Its conditions. None: every conversation."`
	Translations   map[string]surveyText `json:"translations" description:"Texts by language code. The language of the customer's last mail is chosen, else the account's default, else the first."`
	IsActive       bool                  `json:"is_active"`
	DisabledReason *string               `json:"disabled_reason" enum:"orphaned" description:"Why it was switched off automatically: the member who last changed it has left the account, or could no longer create it. More values may be added."`
	Version        int                   `json:"version" description:"Grows with each change."`
	UserID         *int64                `json:"user_id" description:"Who last changed it. It acts with that member's rights."`
	CreatedAt      transport.Time        `json:"created_at"`
	UpdatedAt      transport.Time        `json:"updated_at"`
}

type surveyText struct {
	Subject  string `json:"subject" maxLength:"200" description:"Text with placeholders. Empty: the subject of the conversation." example:"How did we do?"`
	Body     string `json:"body" required:"true" maxBytes:"65536" description:"HTML or text with placeholders. {{rating}} is where the links are; without it, they follow." example:"<p>Hello {{customer.first_name}}, were we of help?</p>"`
	Question string `json:"question" maxLength:"300" description:"Above the links and on the page. Empty: the usual question."`
	Thanks   string `json:"thanks" maxLength:"300" description:"On the page after the answer. Empty: the usual words."`
}

type surveyInput struct {
	Name         string                 `json:"name" required:"true" maxLength:"100" example:"After closing"`
	MailboxIDs   storage.Opt[[]int64]   `json:"mailbox_ids" maxItems:"1000" description:"Default: all. A member limited to some mailboxes must list some of them."`
	Scale        storage.Opt[int]       `json:"scale" minimum:"2" maximum:"5" description:"2, 3 or 5. Scores go from 1 to it. Default: 2."`
	Delay        storage.Opt[int64]     `json:"delay" minimum:"0" maximum:"720" description:"Hours after closing. Default: 24. Null: no mail of its own."`
	OncePer      storage.Opt[int64]     `json:"once_per" minimum:"0" maximum:"366" description:"Days within which a customer gets one mail. Default: 30. 0: no limit."`
	Match        storage.Opt[ruleMatch] `json:"match" description:"At most 50 conditions, about the conversation, its customer and the company."`
	Translations map[string]surveyText  `json:"translations" required:"true" description:"Texts by language code, at least one. Placeholders: {{rating}} (only in body), {{customer.first_name}}, {{customer.name}}, {{conversation.number}}, {{conversation.subject}}, {{mailbox.name}}, {{agent.name}} (who answered last)."`
	IsActive     storage.Opt[bool]      `json:"is_active" description:"Default: true."`
}

type surveyUpdate struct {
	surveyID
	Name         storage.Opt[string]                `json:"name" maxLength:"100"`
	MailboxIDs   storage.Opt[[]int64]               `json:"mailbox_ids" maxItems:"1000" description:"Null or empty: all."`
	Scale        storage.Opt[int]                   `json:"scale" minimum:"2" maximum:"5" description:"2, 3 or 5. Of what is asked from now on."`
	Delay        storage.Opt[int64]                 `json:"delay" minimum:"0" maximum:"720" description:"Hours. Null: no mail of its own."`
	OncePer      storage.Opt[int64]                 `json:"once_per" minimum:"0" maximum:"366" description:"Days."`
	Match        storage.Opt[ruleMatch]             `json:"match" description:"Replaces all conditions."`
	Translations storage.Opt[map[string]surveyText] `json:"translations" description:"Replaces all texts."`
	IsActive     storage.Opt[bool]                  `json:"is_active"`
}

type surveyID struct {
	SurveyID int64 `path:"survey_id"`
}

const (
	surveysPath = accountPath + "/surveys"
	surveyPath  = surveysPath + "/{survey_id}"
)

func (a *api) addSurveys(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Ratings", Summary: summary, Description: description}
	}
	create := op("createSurvey", http.MethodPost, surveysPath, "Create a survey",
		"It asks customers to rate the answers that they got, some hours after their conversation was closed, by a mail with a link for "+
			"each score; following a link records nothing before the customer confirms. Of several surveys, those of some mailboxes come "+
			"before those of all, and older ones before newer; the first whose conditions hold asks. A conversation that was opened again, "+
			"that nobody answered, or that has a rating is not asked about, and neither are automatic senders, suppressed and blocked addresses. "+
			"422 if the name is taken, ignoring case. At most 100 per account. Needs surveys.create and interactions.create.")
	create.Status = http.StatusCreated
	transport.Handle(t, a.desk, create, func(ctx context.Context, d *helpdesk.Desk, in surveyInput) (survey, error) {
		made, err := d.Surveys().Create(ctx, surveyUpdate{
			Name: storage.Some(in.Name), MailboxIDs: in.MailboxIDs, Scale: in.Scale, Delay: in.Delay, OncePer: in.OncePer, Match: in.Match,
			Translations: storage.Some(in.Translations), IsActive: in.IsActive,
		}.input())
		return showSurvey(made), err
	})
	transport.HandlePage(t, a.desk, op("listSurveys", http.MethodGet, surveysPath, "List surveys", "Oldest first. Needs surveys.view."),
		func(ctx context.Context, d *helpdesk.Desk, in transport.Paging) (storage.Page[survey], error) {
			page, err := d.Surveys().List(ctx, in.Request())
			return mapPage(page, showSurvey), err
		})
	transport.Handle(t, a.desk, op("getSurvey", http.MethodGet, surveyPath, "Retrieve a survey", "Needs surveys.view."),
		func(ctx context.Context, d *helpdesk.Desk, in surveyID) (survey, error) {
			found, err := d.Surveys().Get(ctx, in.SurveyID)
			return showSurvey(found), err
		})
	transport.Handle(t, a.desk, op("updateSurvey", http.MethodPut, surveyPath, "Update a survey",
		"From then on it acts with the rights of the caller. Needs surveys.update, and what createSurvey needs for the former and the resulting one."),
		func(ctx context.Context, d *helpdesk.Desk, in surveyUpdate) (survey, error) {
			changed, err := d.Surveys().Update(ctx, in.SurveyID, in.input())
			return showSurvey(changed), err
		})
	transport.HandleEmpty(t, a.desk, op("deleteSurvey", http.MethodDelete, surveyPath, "Delete a survey",
		"Ratings stay, and what it has asked can still be answered. Needs surveys.delete."),
		func(ctx context.Context, d *helpdesk.Desk, in surveyID) error {
			return d.Surveys().Delete(ctx, in.SurveyID)
		})
}

func (in surveyUpdate) input() helpdesk.SurveyInput {
	out := helpdesk.SurveyInput{Name: in.Name, MailboxIDs: in.MailboxIDs, Scale: in.Scale, IsActive: in.IsActive}
	if hours, given := in.Delay.Get(); given {
		out.Delay = storage.Some(time.Duration(hours) * time.Hour)
	} else if in.Delay.IsNull() {
		out.Delay = storage.Null[time.Duration]()
	}
	if in.OncePer.IsSet() {
		out.OncePer = storage.Some(time.Duration(in.OncePer.Or(0)) * 24 * time.Hour)
	}
	if in.Match.IsSet() {
		match := in.Match.Or(ruleMatch{})
		out.All, out.Any = storage.Some(conditionsOf(match.All)), storage.Some(conditionsOf(match.Any))
	}
	if in.Translations.IsSet() {
		texts := map[string]helpdesk.SurveyText{}
		for locale, t := range in.Translations.Or(nil) {
			texts[locale] = helpdesk.SurveyText{Subject: t.Subject, Body: t.Body, Question: t.Question, Thanks: t.Thanks}
		}
		out.Translations = storage.Some(texts)
	}
	return out
}

func showSurvey(s helpdesk.Survey) survey {
	out := survey{
		ID: s.ID, Name: s.Name, MailboxIDs: append([]int64{}, s.MailboxIDs...), Scale: s.Scale, OncePer: int64(s.OncePer / (24 * time.Hour)),
		Match: ruleMatch{showConditions(s.All), showConditions(s.Any)}, Translations: map[string]surveyText{}, IsActive: s.IsActive, Version: s.Version,
		UserID: idOrNull(s.UserID), CreatedAt: transport.Time(s.CreatedAt), UpdatedAt: transport.Time(s.UpdatedAt),
	}
	if s.Mails() {
		hours := int64(s.Delay / time.Hour)
		out.Delay = &hours
	}
	for _, t := range s.Translations {
		out.Translations[t.Locale] = surveyText{Subject: t.Subject, Body: t.Body, Question: t.Question, Thanks: t.Thanks}
	}
	if s.Reason != "" {
		reason := string(s.Reason)
		out.DisabledReason = &reason
	}
	return out
}

// rating as the API shows it.
type rating struct {
	ID              int64                 `json:"id"`
	ConversationID  int64                 `json:"conversation_id"`
	State           string                `json:"state" enum:"asked,answered" description:"asked: the customer has not answered yet."`
	Score           *int                  `json:"score" description:"From 1 to scale. Null: not answered."`
	Scale           int                   `json:"scale" description:"2, 3 or 5. The best score."`
	Verdict         helpdesk.Verdict      `json:"verdict" enum:"good,neutral,bad,asked" description:"What the score means, whatever the scale. asked: not answered."`
	Comment         string                `json:"comment" description:"Plain text of the customer."`
	UserID          *int64                `json:"user_id" description:"Who answered last before. Null: nobody."`
	CustomerID      *int64                `json:"customer_id" description:"Who was asked, or rated."`
	SurveyID        *int64                `json:"survey_id" description:"Survey that asked. Null: none did."`
	InteractionID   *int64                `json:"interaction_id" description:"Interaction whose message has the links. Null: none."`
	Source          helpdesk.RatingSource `json:"source" enum:"mail,reply,application,import" description:"How it came: by a survey's mail, by the links under a reply, by recordRating, or with an import."`
	AskedAt         *transport.Time       `json:"asked_at" description:"When the customer was asked last. Null: never."`
	AnsweredAt      *transport.Time       `json:"answered_at" description:"When it was first answered. Null: not yet."`
	ChangeableUntil *transport.Time       `json:"changeable_until" description:"Until when the customer can change it: 14 days after the first answer. Null: not answered yet."`
	CreatedAt       transport.Time        `json:"created_at"`
	UpdatedAt       transport.Time        `json:"updated_at"`
}

type ratingInput struct {
	conversationID
	Score   int                 `json:"score" required:"true" minimum:"1" maximum:"5" description:"From 1 to scale." example:"5"`
	Scale   storage.Opt[int]    `json:"scale" minimum:"2" maximum:"5" description:"2, 3 or 5. Default: that of the open question or of the survey for the conversation, otherwise 5."`
	Comment storage.Opt[string] `json:"comment" maxLength:"5000" description:"Plain text. Absent: as before." example:"Thanks, that was quick."`
}

type ratingList struct {
	conversationID
	transport.Paging
}

func (a *api) addRatings(t *transport.Table) {
	const path = accountPath + "/conversations/{conversation_id}"
	record := transport.Operation{
		ID: "recordRating", Method: http.MethodPost, Path: path + "/rating", Tag: "Ratings", Summary: "Record a rating",
		Description: "For applications that ask customers themselves. It answers the question that is open, changes the last rating within 14 days of its " +
			"first answer, and otherwise adds one. Writes the event rating.created or rating.updated. Needs conversations.update.",
	}
	transport.Handle(t, a.desk, record, func(ctx context.Context, d *helpdesk.Desk, in ratingInput) (rating, error) {
		r, err := d.Ratings().Record(ctx, in.ConversationID, helpdesk.RatingInput{Score: in.Score, Scale: in.Scale, Comment: in.Comment})
		return showRating(r), err
	})
	list := transport.Operation{
		ID: "listRatings", Method: http.MethodGet, Path: path + "/ratings", Tag: "Ratings", Summary: "List the ratings of a conversation",
		Description: "Oldest first: one for each time that the customer was asked, with those of conversations that were merged into it. Needs conversations.view.",
	}
	transport.HandlePage(t, a.desk, list, func(ctx context.Context, d *helpdesk.Desk, in ratingList) (storage.Page[rating], error) {
		page, err := d.Ratings().List(ctx, in.ConversationID, in.Request())
		return mapPage(page, showRating), err
	})
}

func showRating(r helpdesk.Rating) rating {
	until := r.ChangeableUntil()
	out := rating{
		ID: r.ID, ConversationID: r.ConversationID, State: "asked", Scale: r.Scale, Verdict: r.Verdict, Comment: r.Comment, UserID: idOrNull(r.UserID),
		CustomerID: idOrNull(r.CustomerID), SurveyID: idOrNull(r.SurveyID), InteractionID: idOrNull(r.InteractionID), Source: r.Source,
		AskedAt: transport.TimePtr(&r.AskedAt), AnsweredAt: transport.TimePtr(&r.AnsweredAt), ChangeableUntil: transport.TimePtr(&until),
		CreatedAt: transport.Time(r.CreatedAt), UpdatedAt: transport.Time(r.UpdatedAt),
	}
	if r.Answered() {
		out.State, out.Score = "answered", &r.Score
	}
	return out
}
