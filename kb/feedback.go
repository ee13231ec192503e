package kb

import (
	"context"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// MaxFeedback is the maximum length of a feedback in characters.
const MaxFeedback = 10_000

// Feedback is what a reader wrote about an article.
type Feedback struct {
	ID        int64
	SiteID    int64
	ArticleID int64
	Revision  int64 // the number of the article's live revision at that time
	Text      string
	DoneAt    time.Time // when an editor marked it as dealt with; zero: it is open
	CreatedAt time.Time
}

// FeedbackInput is a new feedback.
type FeedbackInput struct {
	ArticleID int64  // required
	Text      string // required, at most MaxFeedback characters
}

// FeedbackFilter filters a list of feedback. The zero value matches all.
type FeedbackFilter struct {
	ArticleID int64
	Done      storage.Opt[bool] // true: only what was marked as done, false: only what is open
}

// FeedbackChange changes a feedback. Absent fields stay as they are.
type FeedbackChange struct {
	Done storage.Opt[bool] // an answer was given, or the article was improved; null: open again
}

// SendFeedback stores feedback of the visitor on a published article. An article that the visitor cannot read is a NotFound
// fault.
func (v *Visitor) SendFeedback(ctx context.Context, in FeedbackInput) (Feedback, error) {
	begin, err := v.guard.Write(published)
	if err != nil {
		return Feedback{}, err
	}
	in.Text = strings.TrimSpace(plain.Text(in.Text))
	var problems fault.Collector
	problems.Check(in.ArticleID != 0, "article_id", "is required")
	required(&problems, "feedback", in.Text, MaxFeedback)
	if err := problems.Err(); err != nil {
		return Feedback{}, err
	}
	var f Feedback
	err = begin(ctx, func(ctx context.Context, tx VisitorTx) error {
		a, err := tx.PublishedArticle(ctx, in.ArticleID)
		if err != nil {
			return err
		}
		f = Feedback{SiteID: v.site.ID, ArticleID: a.Article.ID, Revision: a.Revision.Number, Text: in.Text, CreatedAt: v.svc.now()}
		if err := tx.AddFeedback(ctx, &f); err != nil {
			return err
		}
		return tx.Emit(ctx, v.svc.event("feedback.created", 0, v.site.ID, f.ID))
	})
	return f, err
}

// Feedbacks lists feedback, newest first. It needs feedback.view. An article that is not in the site is a NotFound fault.
func (e *Editor) Feedbacks(ctx context.Context, filter FeedbackFilter, req storage.PageRequest) (storage.Page[Feedback], error) {
	r, err := e.guard.Read(FeedbackView)
	if err != nil {
		return storage.Page[Feedback]{}, err
	}
	if filter.ArticleID != 0 {
		if _, err := r.LiveArticle(ctx, filter.ArticleID); err != nil {
			return storage.Page[Feedback]{}, err
		}
	}
	at := func(f Feedback) storage.Position { return storage.Position{ID: f.ID} }
	return storage.List(req, true, at, func(seek storage.Seek) ([]Feedback, error) { return r.Feedback().List(ctx, filter, seek) })
}

// Feedback returns one feedback. It needs feedback.view.
func (e *Editor) Feedback(ctx context.Context, id int64) (Feedback, error) {
	r, err := e.guard.Read(FeedbackView)
	if err != nil {
		return Feedback{}, err
	}
	return r.Feedback().Get(ctx, id)
}

// UpdateFeedback marks feedback as done, or as open again. What is done already keeps its time. It needs feedback.update.
func (e *Editor) UpdateFeedback(ctx context.Context, id int64, in FeedbackChange) (Feedback, error) {
	begin, err := e.guard.Write(FeedbackUpdate)
	if err != nil {
		return Feedback{}, err
	}
	var f Feedback
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if f, err = tx.Feedback().Get(ctx, id); err != nil {
			return err
		}
		done := in.Done.Or(!f.DoneAt.IsZero() && !in.Done.IsNull())
		if done == !f.DoneAt.IsZero() {
			return nil
		}
		f.DoneAt = time.Time{}
		if done {
			f.DoneAt = e.svc.now()
		}
		if err := tx.Feedback().Update(ctx, &f); err != nil {
			return err
		}
		return e.emit(ctx, tx, "feedback.updated", id)
	})
	return f, err
}

// DeleteFeedback removes a feedback. It needs feedback.delete.
func (e *Editor) DeleteFeedback(ctx context.Context, id int64) error {
	begin, err := e.guard.Write(FeedbackDelete)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		if err := tx.Feedback().Delete(ctx, id); err != nil {
			return err
		}
		return e.emit(ctx, tx, "feedback.deleted", id)
	})
}

// FeedbackArticles returns the articles of feedback in the revisions that were live when it was written, in any order. It
// needs articles.view. Deleted revisions are left out.
func (e *Editor) FeedbackArticles(ctx context.Context, feedback []Feedback) ([]ArticleRevision, error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return nil, err
	}
	var keys []RevisionKey
	for _, f := range feedback {
		keys = append(keys, RevisionKey{ArticleID: f.ArticleID, Number: f.Revision})
	}
	if len(keys) == 0 {
		return nil, nil
	}
	return r.RevisionsByKey(ctx, keys)
}
