package desk

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Articles are saved while they are written: a new one from its first words on, as an article that readers do not see, and
// another one as its draft.

// blank reports whether nothing was written.
func (p postedText) blank() bool {
	return strings.TrimSpace(p.name+p.summary+p.text) == ""
}

// createArticle saves the form of a new article. The script gets the address under which it is saved from then on.
func (hv *helpVisit) createArticle() error {
	p, err := hv.postedText()
	if err != nil {
		return err
	}
	p.to = cmp.Or(p.to, hv.site.DefaultLocale)
	publish := hv.r.PostFormValue("then") == "publish"
	in := kb.ArticleInput{CollectionID: hv.field("collection"), Status: storage.Some(kb.Unpublished), Unfinished: !p.blank(), TextInput: kb.TextInput{
		SourceLocale: p.to,
		Translations: map[string]storage.Opt[kb.TranslationInput]{p.to: storage.Some(kb.TranslationInput{
			Title: storage.Some(p.name), Summary: storage.Some(p.summary), Markdown: storage.Some(p.text),
		})},
	}}
	if category := hv.field("category"); category != 0 {
		in.CategoryIDs = storage.Some([]int64{category})
	}
	if publish {
		in.Status = storage.Some(kb.Published)
	}
	created := false
	id, err := hv.onceID("article", hv.r.PostFormValue("nonce"), func(ctx context.Context) (int64, error) {
		created = true
		a, err := hv.ed.CreateArticle(ctx, in)
		return a.Article.ID, err
	})
	switch {
	case err == nil && !created: // the form was saved before, perhaps with less text
		return hv.saveAgain(id, p)
	case hv.fromScript() && err == nil:
		a, err := hv.ed.Draft(hv.ctx(), id)
		return hv.answerSaved(a, p, publish, err)
	case hv.fromScript():
		return hv.answerSaved(ArticleDraft{}, p, publish, err)
	case fault.Is(err, fault.Invalid):
		view := hv.newView(p)
		view.Error, view.Errors = hv.firstProblem(err), hv.problems(err)
		return hv.showNewArticle(view, http.StatusUnprocessableEntity)
	case err != nil:
		return err
	}
	text := hv.words.T("Draft saved")
	if publish {
		text = hv.words.T("Published")
	}
	hv.say(toast{Text: text})
	return hv.see(hv.here("/a/" + itoa(id)))
}

// saveAgain saves the form of a new article into the article that it became when it was saved first.
func (hv *helpVisit) saveAgain(id int64, p postedText) error {
	a, err := hv.ed.Draft(hv.ctx(), id)
	if err != nil {
		return err
	}
	if isFirst(a) && a.Article.UpdatedAt.Equal(a.Article.CreatedAt) { // nobody else has written in it
		p.seen = storage.Opt[time.Time]{}
	}
	hv.r.SetPathValue("id", itoa(id))
	return hv.save(a, p)
}

// fromScript reports whether the script saves the form.
func (hv *helpVisit) fromScript() bool {
	return strings.Contains(hv.r.Header.Get("Accept"), "application/json")
}

// workLeft says how much of a translation needs work.
func (hv *helpVisit) workLeft(t kb.Text, to string) string {
	if to == t.SourceLocale {
		return ""
	}
	if open, of := hv.beside(t, to).work(); open > 0 {
		return hv.words.T("%s of %s need work", open, of)
	}
	return hv.words.T("Up to date")
}

// begun reports whether the form is the one on which an article was begun, and readers have never seen the article: what is
// written there changes its first revision.
func (hv *helpVisit) begun(a ArticleDraft) bool {
	return hv.r.PostFormValue("nonce") != "" && isFirst(a)
}

// isFirst reports whether the only revision of an article is one that readers do not see.
func isFirst(a ArticleDraft) bool {
	return !a.Article.Published && a.Article.Draft == 0 && a.Article.LastRevision == 1
}

// replace moves an article to the collection chosen on the form on which it was begun.
func (hv *helpVisit) replace(a ArticleDraft) (ArticleDraft, error) {
	collection := hv.field("collection")
	if collection == 0 || collection == a.Article.CollectionID || !hv.begun(a) {
		return a, nil
	}
	err := hv.moveArticle(a.Article.ID, func(in *kb.ArticleInput) {
		in.CollectionID, in.SortOrder, in.CategoryIDs = collection, storage.Null[kb.SortOrder](), storage.Null[[]int64]()
	})
	if err != nil {
		return a, err
	}
	return hv.ed.Draft(hv.ctx(), a.Article.ID)
}

// discarded names a draft that was discarded, for undoing that.
type discarded struct {
	Site     int64 `json:"s"`
	ID       int64 `json:"i"` // the article
	Revision int64 `json:"r"`
	At       int64 `json:"a"` // its UpdatedAt, in microseconds
}

// discardedDraft is what is kept of a discarded draft for a day.
type discardedDraft struct {
	Whole    bool // the article had nothing else and was deleted
	Revision kb.Revision
}

// maxDiscarded limits what is kept of a draft: a note holds no more.
const maxDiscarded = 8 << 20

func (v *visit) discardKey(d discarded) []byte {
	key := sha256.Sum256(fmt.Appendf(nil, "help discard\x00%d\x00%d\x00%d\x00%d\x00%d\x00%d", v.UserID(), v.AccountID(), d.Site, d.ID, d.Revision, d.At))
	return key[:]
}

// discardDraft deletes the draft, or an article that is nothing but a draft. The text is kept for a day, to undo it.
func (hv *helpVisit) discardDraft() error {
	id := hv.number("id")
	a, err := hv.ed.Draft(hv.ctx(), id)
	if fault.Is(err, fault.NotFound) { // the first click deleted it
		return hv.see(hv.here(""))
	}
	if err != nil {
		return err
	}
	whole := isFirst(a)
	if !whole && a.Article.Draft == 0 { // the same
		return hv.done(nil, "/a/"+itoa(id), hv.words.T("Draft discarded"))
	}
	d := discarded{Site: hv.site.ID, ID: id, Revision: a.Revision.Number, At: a.Revision.UpdatedAt.UnixMicro()}
	key := hv.discardKey(d)
	note := storage.Note{Key: key, Request: key, Holder: rand.Text(), Until: hv.now.Add(24 * time.Hour)}
	said := toast{Text: hv.words.T("Draft discarded"), Undo: pack(inverse{Article: &d})}
	_, err = storage.Once(hv.ctx(), hv.h.cfg.Once, note, hv.now, func(ctx context.Context) ([]byte, error) {
		kept, err := json.Marshal(discardedDraft{whole, a.Revision})
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "encoding a draft", err)
		}
		if len(kept) > maxDiscarded {
			kept, said.Undo = nil, ""
		}
		if whole {
			return kept, hv.ed.DeleteArticle(ctx, id)
		}
		return kept, hv.ed.DeleteDraft(ctx, id)
	})
	if err != nil {
		return err
	}
	hv.say(said)
	if whole {
		return hv.see(hv.here("?collection=" + itoa(a.Article.CollectionID)))
	}
	return hv.see(hv.here("/a/" + itoa(id)))
}

// restoreDraft undoes discardDraft, unless somebody has begun another draft since.
func (v *visit) restoreDraft(d discarded) error {
	hv, err := v.openSite(d.Site)
	if err != nil {
		return err
	}
	note, err := v.h.cfg.Once.Noted(v.ctx(), v.discardKey(d), v.now)
	var kept discardedDraft
	if fault.Is(err, fault.NotFound) || err == nil && json.Unmarshal(note.Answer, &kept) != nil {
		v.say(toast{Text: v.words.T("It is too late to undo this."), Bad: true})
		return v.see(hv.here(""))
	}
	if err != nil {
		return err
	}
	id, err := v.onceID("undiscard", string(note.Key), func(ctx context.Context) (int64, error) {
		return hv.putDraftBack(ctx, d.ID, kept)
	})
	switch {
	case fault.Is(err, fault.Conflict):
		v.say(toast{Text: v.words.T("Someone has started another draft since then. That one was kept."), Bad: true})
		id = d.ID
	case err != nil:
		return err
	default:
		v.say(toast{Text: v.words.T("Draft restored")})
	}
	return v.see(hv.here("/a/" + itoa(id)))
}

// putDraftBack writes a discarded draft again and returns the article.
func (hv *helpVisit) putDraftBack(ctx context.Context, id int64, kept discardedDraft) (int64, error) {
	r := kept.Revision
	in := kb.ArticleInput{
		TextInput: kb.TextInput{SourceLocale: r.SourceLocale, Translations: map[string]storage.Opt[kb.TranslationInput]{}}, CollectionID: r.CollectionID,
		CategoryIDs: storage.Some(r.CategoryIDs), SortOrder: storage.Some(r.SortOrder), Unfinished: true,
	}
	for _, o := range r.Translations {
		in.Translations[o.Locale] = storage.Some(writtenAgain(r.Text, o))
	}
	if kept.Whole {
		in.Status = storage.Some(kb.Unpublished)
		a, err := hv.ed.CreateArticle(ctx, in)
		return a.Article.ID, err
	}
	a, err := hv.ed.Draft(ctx, id)
	if err != nil {
		return 0, err
	}
	if a.Article.Draft != 0 {
		return 0, fault.New(fault.Conflict, "Someone has started another draft since then. That one was kept.")
	}
	for _, o := range a.Revision.Translations {
		if _, there := in.Translations[o.Locale]; !there {
			in.Translations[o.Locale] = storage.Null[kb.TranslationInput]()
		}
	}
	a, err = hv.ed.UpdateDraft(ctx, id, in)
	return a.Article.ID, err
}

// writtenAgain returns the input that makes a translation as it was; an outdated one stays outdated.
func writtenAgain(t kb.Text, o kb.Translation) kb.TranslationInput {
	in := kb.TranslationInput{Summary: storage.Some(o.Summary), MadeFrom: storage.Null[kb.SourceText]()}
	if o.Title != "" || o.Locale == t.SourceLocale {
		in.Title = storage.Some(o.Title)
	}
	if o.Markdown != "" {
		in.Markdown = storage.Some(o.Markdown)
	} else {
		in.Content = storage.Some(o.Content)
	}
	if t.Outdated(o) {
		in.MadeFrom = storage.Some(o.MadeFrom)
	}
	return in
}
