package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// toAsk is the payload of [JobAskRating].
type toAsk struct {
	At       time.Time `json:"at"`                  // when the conversation was closed
	SurveyID int64     `json:"survey_id,omitempty"` // whose delay is over; 0: none was chosen yet
}

// enqueueSurveys enqueues a job for each conversation that was closed, which the store drops unless a survey asks by itself.
func (r *record) enqueueSurveys(ctx context.Context) error {
	var jobs []storage.Job
	for _, e := range r.ready {
		if e.Type != "conversation.closed" {
			continue
		}
		payload, err := json.Marshal(toAsk{At: e.Time})
		if err != nil {
			return fault.Wrap(fault.Internal, "encoding a job", err)
		}
		jobs = append(jobs, storage.Job{Kind: JobAskRating, AccountID: r.accountID, Subject: e.ConversationID, Payload: payload, Listens: []string{listensSurvey}})
	}
	if len(jobs) == 0 {
		return nil
	}
	return r.tx.Enqueue(ctx, jobs...)
}

// surveyVersion is a survey between two changes.
type surveyVersion struct {
	id      int64
	version int
}

// AskRating runs a [JobAskRating] job. The first survey whose conditions hold when a conversation is closed asks its customer, when
// its delay is over, unless the conversation was opened again meanwhile, is spam or gone, nobody has answered in it, or it has a
// rating. It writes neither to ourselves nor to blocked, suppressed or unread addresses or to programs, nor to customers who were
// asked within OncePer. Running the job again sends nothing: the question and the job that sends it are written in one
// transaction.
//
// A survey whose last editor could no longer create it is switched off.
func (j Jobs) AskRating(ctx context.Context, job storage.ClaimedJob) error {
	var in toAsk
	if err := json.Unmarshal(job.Payload, &in); err != nil {
		return fault.Wrap(fault.Internal, "reading a job", err)
	}
	for {
		again, may := false, map[surveyVersion]bool{}
		all, err := allSurveys(ctx, j.svc.cfg.Store.Within(Scope{AccountID: job.AccountID}))
		if err != nil {
			return ignoreMissing(err)
		}
		for _, s := range all {
			if !s.IsActive {
				continue
			}
			if may[surveyVersion{s.ID, s.Version}], err = j.svc.stillMay(ctx, job.AccountID, s.UserID, func(d *desk) error { return d.mayHaveMadeSurvey(s) }); err != nil {
				return err
			}
		}
		err = j.svc.cfg.Store.InTx(ctx, Scope{AccountID: job.AccountID}, func(ctx context.Context, tx Tx) error {
			again, err = j.svc.askRating(ctx, tx, job, in, may)
			return err
		})
		if err != nil || !again {
			return ignoreMissing(err) // the conversation or the account is gone
		}
	}
}

// mayHaveMadeSurvey returns a fault unless the member could create a survey or change it.
func (d *desk) mayHaveMadeSurvey(s Survey) error {
	if !d.guard.Allows(identity.SurveysCreate) {
		if _, err := d.guard.Write(identity.SurveysUpdate); err != nil {
			return err
		}
	}
	return d.maySurvey(s)
}

// askRating asks about a conversation. may has what the makers of surveys may do. If one has changed meanwhile, or was an orphan and
// is now switched off, it is to be called again.
func (s *Service) askRating(ctx context.Context, tx Tx, job storage.ClaimedJob, in toAsk, may map[surveyVersion]bool) (again bool, err error) {
	c, err := tx.Conversations().Lock(ctx, job.Subject)
	if err != nil || c.Status != StatusClosed || c.IsSpam() {
		return false, err
	}
	if later, err := closedAfter(ctx, tx, c.ID, in.At); err != nil || later {
		return false, err
	}
	if err := tx.LockAccount(ctx); err != nil { // so that two conversations of a customer do not both find that they were not asked
		return false, err
	}
	survey, err := surveyOf(ctx, tx.Reader(), c)
	if err != nil || !survey.Mails() || survey.ID == 0 || in.SurveyID != 0 && survey.ID != in.SurveyID {
		return false, err
	}
	held, known := may[surveyVersion{survey.ID, survey.Version}]
	switch {
	case !known:
		return true, nil
	case !held:
		return true, s.orphanSurvey(ctx, tx, survey)
	}
	if in.SurveyID == 0 && survey.Delay > 0 {
		in.SurveyID = survey.ID
		payload, err := json.Marshal(in)
		if err != nil {
			return false, fault.Wrap(fault.Internal, "encoding a job", err)
		}
		return false, tx.Enqueue(ctx, storage.Job{
			Kind: JobAskRating, AccountID: job.AccountID, Subject: c.ID, Payload: payload, RunAt: in.At.Add(survey.Delay),
			UniqueKey: fmt.Sprintf("survey/%d/%d/%d", job.AccountID, c.ID, in.At.UnixMicro()),
		})
	}
	return false, s.ask(ctx, tx, job.AccountID, survey, c)
}

// closedAfter reports whether the status of a conversation changed after a time, at which it was closed.
func closedAfter(ctx context.Context, tx Tx, id int64, at time.Time) (bool, error) {
	filter := subscription.EventFilter{ConversationIDs: []int64{id}, Types: SinceStatusChanged.types()}
	events, err := tx.Events(ctx, filter, storage.Seek{Desc: true, Limit: rulesLookBack})
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(SinceStatusChanged.momentsOf(events, nil), func(e storage.Event) bool { return e.Time.After(at) }), nil
}

// orphanSurvey switches off a survey whose last editor could no longer create it.
func (s *Service) orphanSurvey(ctx context.Context, tx Tx, survey Survey) error {
	now := s.now()
	survey.IsActive, survey.Reason, survey.Version, survey.UpdatedAt = false, SurveyOrphaned, survey.Version+1, now
	if err := surveyNoun().Rows(tx).Update(ctx, &survey); err != nil {
		return err
	}
	if err := listenForSurveys(ctx, tx); err != nil {
		return err
	}
	return tx.Emit(ctx, storage.Event{Type: "survey.updated", Subject: survey.ID, Data: eventData(survey.ID), Time: now})
}

// ask writes the mail of a survey to the customer of a locked conversation, if it may.
func (s *Service) ask(ctx context.Context, tx Tx, accountID int64, survey Survey, c Conversation) error {
	before, err := ratingsOf(ctx, tx.Reader(), c.ID)
	if err != nil || len(before) > 0 {
		return err
	}
	answer, err := lastAnswer(ctx, tx, c.ID)
	if err != nil || answer.ID == 0 {
		return err
	}
	wrote, err := lastQuestion(ctx, tx, c.ID)
	if err != nil || wrote.AutoSubmitted {
		return err
	}
	cause := Interaction{ConversationID: c.ID, CustomerID: c.CustomerID, CustomerEmail: c.CustomerEmail, MessageID: answer.MessageID, References: answer.References}
	if due, err := s.mayAsk(ctx, tx, accountID, survey, cause); err != nil || !due {
		return err
	}
	account, err := tx.Account(ctx)
	if err != nil {
		return err
	}
	mailbox, err := tx.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return err
	}
	customer, err := tx.Customer(ctx, c.CustomerID)
	if err != nil {
		return err
	}
	author, err := tx.UsersByID(ctx, []int64{answer.PostedByID})
	if err != nil {
		return err
	}
	agent := mailbox.Name
	if len(author) > 0 {
		agent = author[0].Name
	}
	text := survey.Text(localeOf(wrote), account.DefaultLocale)
	subject, body := text.fill(c, customer, mailbox, agent)
	i, err := s.sendByItself(ctx, tx, accountID, c, mailbox, cause, subject, body)
	if err != nil {
		return err
	}
	return ratingNoun().Rows(tx).Insert(ctx, &Rating{
		ConversationID: c.ID, SurveyID: survey.ID, InteractionID: i.ID, CustomerID: c.CustomerID, UserID: answer.PostedByID, Scale: survey.Scale,
		Verdict: RatedNot, Locale: text.Locale, Source: RatedByMail, AskedAt: i.CreatedAt, CreatedAt: i.CreatedAt, UpdatedAt: i.CreatedAt,
	})
}

// mayAsk reports whether a survey may write to a customer now.
func (s *Service) mayAsk(ctx context.Context, tx Tx, accountID int64, survey Survey, cause Interaction) (bool, error) {
	if may, err := s.mayWriteTo(ctx, tx, accountID, cause); err != nil || !may {
		return false, err
	}
	if survey.OncePer == 0 {
		return true, nil
	}
	asked, err := ratingNoun().Rows(tx).List(ctx, RatingFilter{CustomerID: cause.CustomerID}, storage.Seek{Limit: storage.NoLimit})
	return !slices.ContainsFunc(asked, func(r Rating) bool { return s.now().Sub(r.AskedAt) < survey.OncePer }), err
}

// lastQuestion returns the last message of a customer in a conversation, the zero value if there is none.
func lastQuestion(ctx context.Context, tx Tx, conversationID int64) (Interaction, error) {
	seek := storage.Seek{Desc: true, Limit: 20}
	for {
		some, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: conversationID}, seek)
		if err != nil {
			return Interaction{}, err
		}
		for _, i := range some {
			if i.Type == TypeCustomer {
				return i, nil
			}
		}
		if len(some) < seek.Limit {
			return Interaction{}, nil
		}
		last := some[len(some)-1].position()
		seek.From = &last
	}
}

// localeOf guesses the language of a message.
func localeOf(i Interaction) string {
	return tongue(mailhtml.Text(mailhtml.Unquoted(i.Body, i.answers())))
}

// OutgoingRating is what a message says about a rating.
type OutgoingRating struct {
	Locale   string   // of the customer
	Question string   // "": the usual one
	Tokens   []string // of the links, one for each score, the lowest first, see [Service.OpenRating]
}

// askInReply notes that a reply which leaves now asks for a rating, where its body says so.
func (s *Service) askInReply(ctx context.Context, tx Tx, c Conversation, i Interaction) error {
	if !i.SendStartedAt.IsZero() || i.Automatic() || i.IsForward || !hasRatingPlace(i.Body) {
		return nil
	}
	now := s.now()
	r, err := s.openRating(ctx, tx, c, now)
	if err != nil || r.ID == 0 && r.SurveyID == 0 {
		return err
	}
	if r.Answered() {
		return nil // the links lead to it
	}
	wrote, err := lastQuestion(ctx, tx, c.ID)
	if err != nil {
		return err
	}
	r.UserID, r.InteractionID, r.AskedAt, r.UpdatedAt = i.PostedByID, i.ID, now, now
	r.Locale, r.Source = cmp.Or(localeOf(wrote), r.Locale), RatedInReply
	if r.ID != 0 {
		return ratingNoun().Rows(tx).Update(ctx, &r)
	}
	return ratingNoun().Rows(tx).Insert(ctx, &r)
}

// ratingIn returns what a message says about the rating of its conversation; nil: its body has no place for it, or there is none.
func (s *Service) ratingIn(ctx context.Context, r Reader, accountID int64, c Conversation, body string) (*OutgoingRating, error) {
	if !hasRatingPlace(body) {
		return nil, nil //nolint:nilnil // it says nothing
	}
	all, err := ratingsOf(ctx, r, c.ID)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	last := all[len(all)-1]
	if !last.changeable(s.now()) {
		return nil, nil //nolint:nilnil // likewise
	}
	account, err := r.Account(ctx)
	if err != nil {
		return nil, err
	}
	survey, err := surveyNoun().Reader(r).Get(ctx, last.SurveyID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	out := &OutgoingRating{Locale: cmp.Or(last.Locale, account.DefaultLocale), Question: survey.Text(last.Locale, account.DefaultLocale).Question}
	for score := range last.Scale {
		out.Tokens = append(out.Tokens, s.ratingToken(accountID, last.ID, score+1))
	}
	return out, nil
}
