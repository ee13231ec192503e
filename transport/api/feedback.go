package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// articleFeedback as the API shows it.
type articleFeedback struct {
	ID        int64           `json:"id"`
	ArticleID int64           `json:"article_id"`
	Revision  int64           `json:"article_revision" description:"Revision that was live when the feedback was written."`
	Feedback  string          `json:"feedback" description:"The reader's text, as plain text."`
	Article   *article        `json:"article,omitempty" description:"The article as of that revision. With expand=article."`
	DoneAt    *transport.Time `json:"done_at" description:"When it was marked as done."`
	CreatedAt transport.Time  `json:"created_at"`
}

type feedbackChange struct {
	feedbackRef
	IsDone storage.Opt[bool] `json:"is_done" description:"Whether it was dealt with: answered, or the article improved."`
}

type feedbackInput struct {
	ArticleID int64  `json:"article_id" required:"true"`
	Feedback  string `json:"feedback" required:"true" maxLength:"10000" example:"The second step is missing."`
}

type feedbackRef struct {
	FeedbackID int64 `path:"feedback_id"`
}

type feedbackGet struct {
	feedbackRef
	ShownAs
}

type feedbackList struct {
	ShownAs
	transport.Paging
	ArticleID int64             `query:"article_id"`
	IsDone    storage.Opt[bool] `query:"is_done" description:"Only feedback that was marked as done, or only what is open."`
}

// reactionInput is a visitor's reaction to an article.
type reactionInput struct {
	ArticleID int64       `path:"article_id"`
	Reaction  kb.Reaction `json:"reaction" required:"true" enum:"positive,negative"`
}

// articleReaction is the answer to a reaction.
type articleReaction struct {
	ArticleID int64     `json:"article_id"`
	Revision  int64     `json:"article_revision"`
	Reaction  string    `json:"reaction" enum:"positive,negative"`
	Reactions reactions `json:"reactions" description:"Reactions to the revision, including this one."`
}

const (
	feedbacksPath = sitePath + "/article-feedbacks"
	feedbackPath  = feedbacksPath + "/{feedback_id}"
)

// visiting is the handle of operations with which visitors give feedback.
type visiting struct {
	*kb.Visitor
	who string
}

// Rehearsal changes nothing, see [kb.Visitor.Rehearsal].
func (v visiting) Rehearsal() visiting { return visiting{v.Visitor.Rehearsal(), v.who} }

// visiting is the resolver of operations that need no token. Members are distinguished by user, all others by address.
func (a *api) visiting(ctx context.Context, r *transport.Request) (visiting, error) {
	caller, err := a.anyone(ctx, r)
	if err != nil {
		return visiting{}, err
	}
	svc, err := a.knowledge(r)
	if err != nil {
		return visiting{}, err
	}
	who := r.ClientKey()
	if caller.UserID() != 0 {
		who = fmt.Sprintf("user %d", caller.UserID())
	}
	v, err := svc.Visitor(ctx, caller, r.ParamID("site_id"))
	return visiting{v, who}, err
}

func (a *api) addFeedback(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Article feedback", Summary: summary, Description: description}
	}
	create := op("createArticleFeedback", http.MethodPost, feedbacksPath, "Send feedback on an article",
		"Works without a token on public sites, for published articles. Rate-limited by address.")
	create.Status, create.Public, create.Aliases = http.StatusCreated, true, siteAlias(feedbacksPath)
	transport.Handle(t, a.visiting, create, func(ctx context.Context, v visiting, in feedbackInput) (articleFeedback, error) {
		out, err := v.SendFeedback(ctx, kb.FeedbackInput{ArticleID: in.ArticleID, Text: in.Feedback})
		return showFeedback(out), err
	})
	list := op("listArticleFeedback", http.MethodGet, feedbacksPath, "List feedback", "Newest first. Needs feedback.view.")
	list.Expand = []string{"article"}
	transport.HandlePage(t, a.editing, list, func(ctx context.Context, e editing, in feedbackList) (storage.Page[articleFeedback], error) {
		page, err := e.Feedbacks(ctx, kb.FeedbackFilter{ArticleID: in.ArticleID, Done: in.IsDone}, in.Request())
		if err != nil {
			return storage.Page[articleFeedback]{}, err
		}
		shown, err := showFeedbacks(ctx, e, page.Items, in.ShownAs)
		return storage.Page[articleFeedback]{Items: shown, Next: page.Next, Prev: page.Prev}, err
	})
	get := op("getArticleFeedback", http.MethodGet, feedbackPath, "Retrieve a feedback", "Needs feedback.view.")
	get.Expand = list.Expand
	transport.Handle(t, a.editing, get, func(ctx context.Context, e editing, in feedbackGet) (articleFeedback, error) {
		out, err := e.Feedback(ctx, in.FeedbackID)
		if err != nil {
			return articleFeedback{}, err
		}
		shown, err := showFeedbacks(ctx, e, []kb.Feedback{out}, in.ShownAs)
		if err != nil {
			return articleFeedback{}, err
		}
		return shown[0], nil
	})
	update := op("updateArticleFeedback", http.MethodPut, feedbackPath, "Mark a feedback as done", "Or as open again. Needs feedback.update.")
	transport.Handle(t, a.editing, update, func(ctx context.Context, e editing, in feedbackChange) (articleFeedback, error) {
		out, err := e.UpdateFeedback(ctx, in.FeedbackID, kb.FeedbackChange{Done: in.IsDone})
		return showFeedback(out), err
	})
	transport.HandleEmpty(t, a.editing, op("deleteArticleFeedback", http.MethodDelete, feedbackPath, "Delete a feedback", "Needs feedback.delete."),
		func(ctx context.Context, e editing, in feedbackRef) error {
			return e.DeleteFeedback(ctx, in.FeedbackID)
		})
	react := op("createArticleReaction", http.MethodPost, articlePath+"/reactions", "React to an article",
		"Rates whether the live revision was helpful. Works without a token on public sites, for published articles. Every visitor (a member, or else an address) has one reaction per revision and can change it. Rate-limited by address.")
	react.Status, react.Public, react.Location = http.StatusCreated, true, articlePath
	transport.Handle(t, a.visiting, react, func(ctx context.Context, v visiting, in reactionInput) (articleReaction, error) {
		out, err := v.React(ctx, in.ArticleID, in.Reaction, v.who)
		r := out.Revision
		return articleReaction{
			ArticleID: in.ArticleID, Revision: r.Number, Reaction: string(in.Reaction),
			Reactions: reactions{Total: r.Positive + r.Negative, Positive: r.Positive, Negative: r.Negative},
		}, err
	})
}

func showFeedback(f kb.Feedback) articleFeedback {
	return articleFeedback{ID: f.ID, ArticleID: f.ArticleID, Revision: f.Revision, Feedback: f.Text, DoneAt: transport.TimePtr(&f.DoneAt), CreatedAt: transport.Time(f.CreatedAt)}
}

// showFeedbacks converts a page with one query for the articles.
func showFeedbacks(ctx context.Context, e editing, rows []kb.Feedback, how ShownAs) ([]articleFeedback, error) {
	out := make([]articleFeedback, len(rows))
	for i, f := range rows {
		out[i] = showFeedback(f)
	}
	if !how.Expand.Has("article") {
		return out, nil
	}
	articles, err := e.FeedbackArticles(ctx, rows)
	if err != nil {
		return nil, err
	}
	for i, f := range rows {
		for _, a := range articles {
			if a.Article.ID == f.ArticleID && a.Revision.Number == f.Revision {
				shown := showArticle(a, e, how.wanted(e.accept))
				for _, id := range a.Revision.CategoryIDs {
					shown.Categories = append(shown.Categories, id)
				}
				out[i].Article = &shown
			}
		}
	}
	return out, nil
}
