package helpdesk

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// Rating is how a customer found the answers in a conversation, or that we asked for it.
type Rating struct {
	ID             int64
	ConversationID int64
	SurveyID       int64   // that asked; 0: none did, or it is gone
	InteractionID  int64   // whose message has the links; 0: none
	CustomerID     int64   // who was asked, or rated
	UserID         int64   // who answered last before; 0: nobody
	Scale          int     // 2, 3 or 5
	Score          int     // from 1 to Scale; 0: not answered
	Verdict        Verdict // what the score means
	Comment        string  // plain text
	Locale         string  // in which we asked; "": not known
	Source         RatingSource
	AskedAt        time.Time // zero: never
	AnsweredAt     time.Time // when it was first answered; zero: not yet
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Verdict is what a score means, whatever the scale.
type Verdict string

// The verdicts.
const (
	RatedNot     Verdict = "asked" // not answered
	RatedGood    Verdict = "good"
	RatedNeutral Verdict = "neutral"
	RatedBad     Verdict = "bad"
)

// Verdicts lists what a rating can be, also not answered.
func Verdicts() []Verdict { return []Verdict{RatedGood, RatedNeutral, RatedBad, RatedNot} }

// RatingSource is how a rating came.
type RatingSource string

// The sources of ratings.
const (
	RatedByMail   RatingSource = "mail"        // a survey's mail asked
	RatedInReply  RatingSource = "reply"       // a reply had the links
	RatedByApp    RatingSource = "application" // an application recorded it
	RatedImported RatingSource = "import"      // it came from another help desk
)

// RatingScales lists the scales: scores go from 1 to one of these.
func RatingScales() []int { return []int{2, 3, 5} }

// VerdictOf returns what a score means on a scale: the middle is neutral, what is above good, and below bad.
func VerdictOf(score, scale int) Verdict {
	switch {
	case score <= 0:
		return RatedNot
	case 2*score > scale+1:
		return RatedGood
	case 2*score < scale+1:
		return RatedBad
	}
	return RatedNeutral
}

// RatingChangeable is how long a customer can change a rating after it was given.
const RatingChangeable = 14 * 24 * time.Hour

// maxRatingComment is the maximum length of a comment in characters.
const maxRatingComment = 5000

// Answered reports whether the customer has rated.
func (r Rating) Answered() bool { return r.Score > 0 }

// ChangeableUntil returns until when the customer can change the rating; zero: it is not answered yet.
func (r Rating) ChangeableUntil() time.Time {
	if !r.Answered() {
		return time.Time{}
	}
	return r.AnsweredAt.Add(RatingChangeable)
}

func (r Rating) changeable(now time.Time) bool {
	return !r.Answered() || now.Before(r.ChangeableUntil())
}

// RatingFilter narrows a list of ratings. The zero value selects all.
type RatingFilter struct {
	ConversationIDs []int64 // nil: of all conversations
	CustomerID      int64   // 0: of all customers
}

// ratingNoun declares the rows of ratings.
func ratingNoun() storage.Declared[Rating, RatingFilter] {
	return storage.Declared[Rating, RatingFilter]{
		Noun: storage.Noun[Rating]{
			Name: "rating",
			ID:   func(t *Rating) *int64 { return &t.ID },
		},
		Key: "rating", Plural: "ratings",
		Columns: []storage.Column[Rating]{
			{Name: "conversation_id", Field: func(t *Rating) any { return &t.ConversationID }, Refers: "conversation", Owner: "hw_conversations"},
			{Name: "survey_id", Field: func(t *Rating) any { return &t.SurveyID }, Refers: "survey", Loose: true},
			{Name: "interaction_id", Field: func(t *Rating) any { return &t.InteractionID }, Refers: "interaction", Loose: true},
			{Name: "customer_id", Field: func(t *Rating) any { return &t.CustomerID }, Refers: "customer", Loose: true},
			{Name: "user_id", Field: func(t *Rating) any { return &t.UserID }, Refers: "user", Loose: true},
			{Name: "scale", Field: func(t *Rating) any { return &t.Scale }},
			{Name: "score", Field: func(t *Rating) any { return &t.Score }},
			{Name: "verdict", Field: func(t *Rating) any { return (*string)(&t.Verdict) }},
			{Name: "comment", Field: func(t *Rating) any { return &t.Comment }},
			{Name: "locale", Field: func(t *Rating) any { return &t.Locale }},
			{Name: "source", Field: func(t *Rating) any { return (*string)(&t.Source) }},
			{Name: "asked_at", Field: func(t *Rating) any { return &t.AskedAt }},
			{Name: "answered_at", Field: func(t *Rating) any { return &t.AnsweredAt }},
			{Name: "created_at", Field: func(t *Rating) any { return &t.CreatedAt }},
			{Name: "updated_at", Field: func(t *Rating) any { return &t.UpdatedAt }},
		},
		Where: func(f RatingFilter) []storage.Condition {
			var all []storage.Condition
			if f.ConversationIDs != nil {
				all = append(all, storage.OneOf("conversation_id", f.ConversationIDs))
			}
			if f.CustomerID != 0 {
				all = append(all, storage.OneOf("customer_id", []int64{f.CustomerID}))
			}
			return all
		},
	}
}

// ratingsOf returns the ratings of conversations, oldest first.
func ratingsOf(ctx context.Context, r storage.RecordReader, conversationIDs ...int64) ([]Rating, error) {
	return ratingNoun().Reader(r).List(ctx, RatingFilter{ConversationIDs: append([]int64{}, conversationIDs...)}, storage.Seek{Limit: storage.NoLimit})
}

// RatingInput is what a customer, or an application, says.
type RatingInput struct {
	Score   int                 // required, from 1 to the scale
	Scale   storage.Opt[int]    // 2, 3 or 5. Absent: that of the question or of the survey for the conversation, otherwise 5
	Comment storage.Opt[string] // plain text, at most 5,000 characters. Absent: as before, or none
}

func (in RatingInput) apply(r *Rating, now time.Time) error {
	var problems fault.Collector
	problems.Check(slices.Contains(RatingScales(), r.Scale), "scale", "must be 2, 3 or 5")
	problems.Check(in.Score >= 1 && in.Score <= r.Scale, "score", fmt.Sprintf("must be from 1 to %d", r.Scale))
	if in.Comment.IsSet() {
		r.Comment = strings.TrimSpace(plain.Text(in.Comment.Or("")))
		bounded(&problems, "comment", r.Comment, maxRatingComment)
	}
	if err := problems.Err(); err != nil {
		return err
	}
	if !r.Answered() {
		r.AnsweredAt = now
	}
	r.Score, r.Verdict, r.UpdatedAt = in.Score, VerdictOf(in.Score, r.Scale), now
	return nil
}

// Ratings are how customers found the answers that they got.
type Ratings struct{ *desk }

// Ratings returns the handle of ratings.
func (d *Desk) Ratings() Ratings { return Ratings{&d.desk} }

// Of returns the ratings of conversations, by conversation, oldest first; of those that the member does not reach there are
// none. It needs conversations.view.
func (d Ratings) Of(ctx context.Context, conversationIDs []int64) (map[int64][]Rating, error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil || len(conversationIDs) == 0 {
		return nil, err
	}
	found, err := ratingsOf(ctx, r, sortedSet(conversationIDs)...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var ids []int64
	for _, one := range found {
		ids = append(ids, one.ConversationID)
	}
	seen, err := r.Conversations().ByIDs(ctx, sortedSet(ids))
	if err != nil {
		return nil, err
	}
	by := map[int64][]Rating{}
	for _, one := range found {
		if slices.ContainsFunc(seen, func(c Conversation) bool { return c.ID == one.ConversationID }) {
			by[one.ConversationID] = append(by[one.ConversationID], one)
		}
	}
	return by, nil
}

// List lists the ratings of a conversation, oldest first: of each time that its customer was asked, and of conversations that were
// merged into it. It needs conversations.view.
func (d Ratings) List(ctx context.Context, conversationID int64, req storage.PageRequest) (storage.Page[Rating], error) {
	r, err := d.guard.Read(identity.ConversationsView)
	if err != nil {
		return storage.Page[Rating]{}, err
	}
	if _, err := r.Conversations().Get(ctx, conversationID); err != nil {
		return storage.Page[Rating]{}, err
	}
	return storage.List(req, false, func(r Rating) storage.Position { return storage.Position{ID: r.ID} },
		func(seek storage.Seek) ([]Rating, error) {
			return ratingNoun().Reader(r).List(ctx, RatingFilter{ConversationIDs: []int64{conversationID}}, seek)
		})
}

// Record records what the customer of a conversation said elsewhere, such as in an application. It answers the question that is
// open, changes the last rating while that can be changed, and otherwise adds one. It needs conversations.update.
func (d Ratings) Record(ctx context.Context, conversationID int64, in RatingInput) (Rating, error) {
	begin, err := d.guard.Write(identity.ConversationsUpdate)
	if err != nil {
		return Rating{}, err
	}
	now := d.svc.now()
	var r Rating
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Conversations().Lock(ctx, conversationID)
		if err != nil {
			return err
		}
		if r, err = d.svc.openRating(ctx, tx, c, now); err != nil {
			return err
		}
		r.Source, r.Scale = cmp.Or(r.Source, RatedByApp), in.Scale.Or(r.Scale)
		return d.svc.storeAnswer(ctx, tx, c, &r, in, d.userID)
	})
	return r, err
}

// openRating returns the last rating of a locked conversation if it can be answered or changed, otherwise a new one that is not
// stored yet.
func (s *Service) openRating(ctx context.Context, tx Tx, c Conversation, now time.Time) (Rating, error) {
	all, err := ratingsOf(ctx, tx.Reader(), c.ID)
	if err != nil {
		return Rating{}, err
	}
	if n := len(all); n > 0 && all[n-1].changeable(now) {
		return all[n-1], nil
	}
	survey, err := surveyOf(ctx, tx.Reader(), c)
	if err != nil {
		return Rating{}, err
	}
	last, err := lastAnswer(ctx, tx, c.ID)
	return Rating{
		ConversationID: c.ID, SurveyID: survey.ID, CustomerID: c.CustomerID, UserID: last.PostedByID, Scale: cmp.Or(survey.Scale, 5), Verdict: RatedNot,
		CreatedAt: now, UpdatedAt: now,
	}, err
}

// storeAnswer stores an answer to a rating of a locked conversation, and tells of it. The same answer again changes nothing.
func (s *Service) storeAnswer(ctx context.Context, tx Tx, c Conversation, r *Rating, in RatingInput, userID int64) error {
	old := *r
	old.Scale = in.Scale.Or(old.Scale)
	if err := in.apply(r, s.now()); err != nil {
		return err
	}
	if old.ID != 0 && old.Score == r.Score && old.Comment == r.Comment {
		*r = old
		return nil
	}
	rows, kind := ratingNoun().Rows(tx), "rating.updated"
	if !old.Answered() {
		kind = "rating.created"
	}
	write := rows.Update
	if r.ID == 0 {
		write = rows.Insert
	}
	if err := write(ctx, r); err != nil {
		return err
	}
	return tx.Emit(ctx, ratingEvent(kind, c, *r, userID))
}

// toldRating is the data of the events of ratings. What the customer wrote is not in it.
type toldRating struct {
	ID             int64   `json:"id"`
	ConversationID int64   `json:"conversation_id"`
	Score          int     `json:"score"`
	Scale          int     `json:"scale"`
	Verdict        Verdict `json:"verdict"`
	UserID         int64   `json:"user_id,omitempty"`
}

func ratingEvent(kind string, c Conversation, r Rating, userID int64) storage.Event {
	data, _ := json.Marshal(toldRating{r.ID, c.ID, r.Score, r.Scale, r.Verdict, r.UserID}) // numbers and a word always encode
	return storage.Event{Type: kind, Subject: r.ID, MailboxID: c.MailboxID, ConversationID: c.ID, ActorID: userID, Data: data, Time: r.UpdatedAt}
}

// lastAnswer returns the last reply of a member in a conversation, the zero value if there is none.
func lastAnswer(ctx context.Context, tx Tx, conversationID int64) (Interaction, error) {
	seek := storage.Seek{Desc: true, Limit: 50}
	for {
		some, err := tx.Interactions().List(ctx, InteractionFilter{ConversationID: conversationID, Brief: true}, seek)
		if err != nil {
			return Interaction{}, err
		}
		for _, i := range some {
			if i.Type == TypeUser && i.Status == StatusPosted && !i.Automatic() && !i.IsForward && !i.Scheduled() {
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

// moveRatings gives the ratings of a conversation to the one that it is merged into.
func moveRatings(ctx context.Context, tx Tx, from, into int64) error {
	return changeRatings(ctx, tx, RatingFilter{ConversationIDs: []int64{from}}, func(r *Rating) { r.ConversationID = into })
}

// changeRatings changes the ratings that match a filter.
func changeRatings(ctx context.Context, tx Tx, of RatingFilter, change func(*Rating)) error {
	all, err := ratingNoun().Rows(tx).List(ctx, of, storage.Seek{Limit: storage.NoLimit})
	if err != nil || len(all) == 0 {
		return err
	}
	for n := range all {
		change(&all[n])
	}
	return ratingNoun().Rows(tx).Update(ctx, storage.Pointers(all)...)
}

// eraseRatings removes what a customer wrote about a conversation.
func (e *eraser) eraseRatings(ctx context.Context, tx Tx, c Conversation, own bool) error {
	return changeRatings(ctx, tx, RatingFilter{ConversationIDs: []int64{c.ID}}, func(r *Rating) {
		if own || r.CustomerID == e.customerID {
			r.Comment = ""
			if e.customerID != 0 {
				r.CustomerID = e.placeholder.ID
			}
		}
	})
}

// AskedRating is what a customer who follows a link sees.
type AskedRating struct {
	Rating
	Chosen   int // the score of the link
	Text     SurveyText
	Mailbox  string // its name
	Member   string // who answered last; "": nobody whom we may name
	Subject  string // of the conversation
	Over     bool   // it can no longer be changed
	Until    time.Time
	Language string // of the account, where no other is known
}

// OpenRating returns the rating that a link is about. It changes nothing: programs follow links, too. A forged link, or one to what
// is gone, is a NotFound fault.
func (s *Service) OpenRating(ctx context.Context, token string) (AskedRating, error) {
	accountID, id, score, ok := s.readRatingToken(token)
	if !ok {
		return AskedRating{}, noRating()
	}
	r := s.cfg.Store.Within(Scope{AccountID: accountID})
	rating, err := ratingNoun().Reader(r).Get(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return AskedRating{}, noRating()
	}
	if err != nil {
		return AskedRating{}, err
	}
	c, err := r.Conversations().Get(ctx, rating.ConversationID)
	if fault.Is(err, fault.NotFound) || err == nil && score > rating.Scale {
		return AskedRating{}, noRating()
	}
	if err != nil {
		return AskedRating{}, err
	}
	account, err := r.Account(ctx)
	if err != nil {
		return AskedRating{}, err
	}
	mailbox, err := r.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return AskedRating{}, err
	}
	out := AskedRating{Rating: rating, Chosen: score, Mailbox: mailbox.Name, Subject: c.Subject, Language: account.DefaultLocale}
	out.Over, out.Until = !rating.changeable(s.now()), rating.ChangeableUntil()
	if author, err := r.UsersByID(ctx, []int64{rating.UserID}); err != nil {
		return AskedRating{}, err
	} else if len(author) > 0 {
		out.Member = fromName(mailbox, author[0].Name)
	}
	survey, err := surveyNoun().Reader(r).Get(ctx, rating.SurveyID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return AskedRating{}, err
	}
	out.Text = survey.Text(rating.Locale, account.DefaultLocale)
	return out, nil
}

func noRating() error { return fault.New(fault.NotFound, "There is no such link to a rating.") }

// RatingClosed is the code of the Conflict fault for a rating that can no longer be changed.
const RatingClosed = "rating_closed"

// AnswerRating records the answer of the customer who has a link. After 14 days it is a Conflict fault with the code
// [RatingClosed]. Faults are those of [Service.OpenRating] besides.
func (s *Service) AnswerRating(ctx context.Context, token string, in RatingInput) (Rating, error) {
	accountID, id, _, ok := s.readRatingToken(token)
	if !ok {
		return Rating{}, noRating()
	}
	var r Rating
	err := s.cfg.Store.InTx(ctx, Scope{AccountID: accountID}, func(ctx context.Context, tx Tx) error {
		var err error
		if r, err = ratingNoun().Rows(tx).Get(ctx, id); err != nil {
			return err
		}
		c, err := holder(ctx, tx, r.ConversationID, func() (int64, error) {
			r, err = ratingNoun().Rows(tx).Get(ctx, id)
			return r.ConversationID, err
		})
		if err != nil {
			return err
		}
		if r, err = ratingNoun().Rows(tx).Lock(ctx, id); err != nil {
			return err
		}
		if !r.changeable(s.now()) {
			return &fault.Error{Kind: fault.Conflict, Code: RatingClosed, Message: "This rating was given more than 14 days ago and can no longer be changed."}
		}
		in.Scale = storage.Opt[int]{}
		return s.storeAnswer(ctx, actAs(tx, subscription.Actor{Type: subscription.ActorCustomer, ID: r.CustomerID}), c, &r, in, 0)
	})
	if fault.Is(err, fault.NotFound) {
		return Rating{}, noRating()
	}
	return r, err
}
