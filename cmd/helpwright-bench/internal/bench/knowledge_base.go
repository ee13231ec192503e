package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

const helpCentre = "http://help.example.org"

// publicFile reads a file of 20 KB.
func publicFile(ctx context.Context, w *world) ([]time.Duration, error) {
	return w.visited(ctx, func(int) string { return kb.FilePath(w.site.file) })
}

// visited measures requests for pages of the help centre.
func (w *world) visited(ctx context.Context, path func(n int) string) (d []time.Duration, err error) {
	if w.cfg.Articles == 0 {
		return nil, nil
	}
	err = w.running(ctx, func(ctx context.Context) error {
		d, err = median(ctx, w.cfg.Time, wall(), func(n int) error {
			_, err := ask(ctx, w.srv.Handler(), helpCentre+path(n), "")
			return err
		})
		return err
	})
	return d, err
}

// article returns the path of an article of the site.
func (w *world) article(n int) string {
	nth := n % w.site.originals
	number := n / w.site.originals % (w.cfg.Articles / w.site.originals)
	title := fmt.Sprint("How to print ", nth+1)
	if number > 0 {
		title = fmt.Sprintf("lot%d %s", firstLot+number, title)
	}
	return kb.PagePath("en", kb.ArticlePages, w.site.first+int64(nth)+int64(number)*w.site.stride, title)
}

// uncachedArticle reads another article each time.
func uncachedArticle(ctx context.Context, w *world) ([]time.Duration, error) {
	return w.visited(ctx, func(n int) string { return w.article(n * 7919) })
}

// cachedArticle reads the same article each time.
func cachedArticle(ctx context.Context, w *world) ([]time.Duration, error) {
	return w.visited(ctx, func(int) string { return w.article(0) })
}

// articleSearches finds published articles.
func articleSearches(ctx context.Context, w *world) ([]time.Duration, error) {
	if w.cfg.Articles == 0 {
		return nil, nil
	}
	visitor, err := w.srv.KB().Guest(ctx, w.site.site.ID)
	if err != nil {
		return nil, err
	}
	return searching(ctx, w.cfg, w.cfg.Articles/w.site.originals, []string{"printer", "lot%d", "printr"}, func(query string) error {
		_, err := visitor.Search(ctx, query, []string{"en"}, kb.ArticleFilter{Brief: true}, storage.PageRequest{Limit: 25})
		return err
	})
}
