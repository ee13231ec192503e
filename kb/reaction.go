package kb

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// Reaction is a reader's opinion of an article.
type Reaction string

// The reactions.
const (
	Positive Reaction = "positive"
	Negative Reaction = "negative"
)

// VisitorReaction is one visitor's opinion of a revision.
type VisitorReaction struct {
	ArticleID int64
	Revision  int64
	Visitor   []byte // distinguishes visitors without identifying them
	Positive  bool
	CreatedAt time.Time
}

// React stores the visitor's reaction to the live revision of a published article and returns the article with its new
// counters. Each visitor has one reaction to a revision, and may change it. who identifies the visitor: an address, or the
// id of a session. It is not stored; see Config.VisitorKey.
func (v *Visitor) React(ctx context.Context, articleID int64, reaction Reaction, who string) (ArticleRevision, error) {
	begin, err := v.guard.Write(published)
	if err != nil {
		return ArticleRevision{}, err
	}
	var problems fault.Collector
	problems.Check(reaction == Positive || reaction == Negative, "reaction", "must be positive or negative")
	if err := problems.Err(); err != nil {
		return ArticleRevision{}, err
	}
	var out ArticleRevision
	err = begin(ctx, func(ctx context.Context, tx VisitorTx) error {
		a, err := tx.PublishedArticle(ctx, articleID)
		if err != nil {
			return err
		}
		r := VisitorReaction{
			ArticleID: articleID, Revision: a.Revision.Number, Visitor: v.key(who), Positive: reaction == Positive, CreatedAt: v.svc.now(),
		}
		if err := tx.SetReaction(ctx, r); err != nil {
			return err
		}
		out, err = tx.PublishedArticle(ctx, articleID)
		out = out.shown()
		return err
	})
	return out, err
}

// key returns 16 bytes that identify a visitor on one site only.
func (v *Visitor) key(who string) []byte {
	mac := hmac.New(sha256.New, v.svc.cfg.VisitorKey)
	fmt.Fprintf(mac, "reaction\n%d\n%s", v.site.ID, who)
	return mac.Sum(nil)[:16]
}
