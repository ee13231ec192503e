package bench

import (
	"bytes"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

const helpCentre = "http://help.example.org"

// publicFile reads a file of 20 KB.
func publicFile(ctx context.Context, w *world) (figure, error) {
	if w.cfg.Articles == 0 {
		return figure{}, nil
	}
	path := kb.FilePath(w.site.file)
	first, err := ask(ctx, w.srv.Handler(), helpCentre+path, "")
	if err != nil {
		return figure{}, err
	}
	content := bytes.Clone(first.body.Bytes())
	bare := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		http.ServeContent(rw, r, "paper.txt", time.Time{}, bytes.NewReader(content))
	})
	return againstNginx(ctx, w, bare, content, path)
}

// against compares the server's answers to those of a bare handler.
func against(ctx context.Context, w *world, bare http.Handler, goal float64, path func(n int) string) (figure, error) {
	floor, work, err := inTurns(ctx, w.cfg.Time, wall(),
		func(n int) error { _, err := ask(ctx, bare, helpCentre+path(n), ""); return err },
		func(n int) error { _, err := ask(ctx, w.srv.Handler(), helpCentre+path(n), ""); return err })
	return share(floor, work, goal), err
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

// uncachedArticle reads another article each time. The floor is a page with one query.
func uncachedArticle(ctx context.Context, w *world) (f figure, err error) {
	if w.cfg.Articles == 0 {
		return f, nil
	}
	page, err := template.New("").Parse("<!doctype html><title>{{.}}</title><h1>{{.}}</h1><article>{{.}}</article>")
	if err != nil {
		return f, err
	}
	bare := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		id, _ := kb.ParsePageName(name)
		var text string
		err := w.plain.QueryRowContext(r.Context(), "SELECT r.translations FROM hw_articles AS a JOIN hw_article_revisions AS r ON r.account_id = a.account_id AND r.article_id = a.id AND r.number = a.live WHERE a.account_id = $1 AND a.id = $2", w.at.id, id).Scan(&text)
		if err == nil {
			err = page.Execute(rw, text)
		}
		if err != nil {
			http.Error(rw, err.Error(), http.StatusInternalServerError)
		}
	})
	err = w.running(ctx, func(ctx context.Context) error {
		f, err = against(ctx, w, bare, 0.3, func(n int) string { return w.article(n * 7919) })
		return err
	})
	return f, err
}

// cachedArticle reads the same article each time.
func cachedArticle(ctx context.Context, w *world) (f figure, err error) {
	if w.cfg.Articles == 0 {
		return f, nil
	}
	err = w.running(ctx, func(ctx context.Context) error {
		path := w.article(0)
		first, err := ask(ctx, w.srv.Handler(), helpCentre+path, "")
		if err != nil {
			return err
		}
		content := bytes.Clone(first.body.Bytes())
		bare := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = rw.Write(content)
		})
		f, err = againstNginx(ctx, w, bare, content, path)
		return err
	})
	return f, err
}

// articleSearches finds published articles.
func articleSearches(ctx context.Context, w *world) (figure, error) {
	if w.cfg.Articles == 0 {
		return figure{}, nil
	}
	visitor, err := w.srv.KB().Guest(ctx, w.site.site.ID)
	if err != nil {
		return figure{}, err
	}
	return searching(ctx, w.cfg, w.cfg.Articles/w.site.originals, []string{"printer", "lot%d", "printr"}, func(query string) error {
		_, err := visitor.Search(ctx, query, []string{"en"}, kb.ArticleFilter{Brief: true}, storage.PageRequest{Limit: 25})
		return err
	})
}
