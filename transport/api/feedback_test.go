package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newArticle makes a published article of a public site and returns its path.
func (w *world) newPublicArticle(t *testing.T, site, collection, title, content string) string {
	t.Helper()
	form := url.Values{"source_locale": {"en"}, "collection_id": {collection}, "translations[en][title]": {title}, "translations[en][content]": {content}}
	rec := w.must(t, "POST", "/site/"+site+"/articles", form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	var out struct{ Data struct{ ID int64 } }
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/sites/%s/articles/%d", site, out.Data.ID)
}

// publicSite makes a public site with a collection.
func (w *world) publicSite(t *testing.T) (site, collection string) {
	t.Helper()
	site = w.newSite(t, "owner", fmt.Sprintf("account_id=%d&name=Open", w.account.ID))
	rec := w.must(t, "POST", "/site/"+site+"/collections", "source_locale=en&translations[en][name]=All", "Content-Type", "application/x-www-form-urlencoded")
	var out struct{ Data struct{ ID int64 } }
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return site, fmt.Sprint(out.Data.ID)
}

func TestArticleSearch(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			site, collection := w.publicSite(t)
			w.newPublicArticle(t, site, collection, "Logging in", "<p>Type your <b>password</b> &amp; press.</p>")
			w.newPublicArticle(t, site, collection, "Reset your password", "<p>Click <script>x</script>reset &lt;here&gt;</p>")
			hidden := w.newPublicArticle(t, site, collection, "Password plans", "<p>Secret</p>")
			w.must(t, "PUT", hidden, "source_locale=en&collection_id="+collection+"&status=unpublished", "Content-Type", "application/x-www-form-urlencoded")
			type found struct{ Title, Snippet string }
			for _, tt := range []struct {
				who, query string
				want       []found
			}{
				{"", "password", []found{{"Reset your <mark>password</mark>", "Click reset &lt;here&gt;"}, {"Logging in", "Type your <mark>password</mark> &amp; press."}}},
				{"", "pass", []found{{"Reset your <mark>password</mark>", "Click reset &lt;here&gt;"}, {"Logging in", "Type your <mark>password</mark> &amp; press."}}},
				{"", "passwrod", []found{{"Reset your <mark>password</mark>", "Click reset &lt;here&gt;"}, {"Logging in", "Type your <mark>password</mark> &amp; press."}}},
				{"", "plans", nil},
				{"", "secret", nil},
				{"", "?!", nil},
				{"owner", "plans", []found{{"Password <mark>plans</mark>", "Secret"}}},
				{"", "here", []found{{"Reset your password", "Click reset &lt;<mark>here</mark>&gt;"}}},
			} {
				rec := w.do(t, tt.who, "GET", "/sites/"+site+"/articles?query="+url.QueryEscape(tt.query), "")
				var out struct {
					Data []struct{ Highlight found }
				}
				if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil || rec.Code != http.StatusOK {
					t.Fatal(rec.Code, rec.Body, err)
				}
				var got []found
				for _, one := range out.Data {
					got = append(got, one.Highlight)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%q by %q (-want +got):\n%s", tt.query, tt.who, diff)
				}
			}
		})
	}
}

// A page of a search goes on where the last one ended.
func TestArticleSearchPages(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			site, collection := w.publicSite(t)
			var want []string
			for i := range 3 {
				w.newPublicArticle(t, site, collection, fmt.Sprintf("Other %d", i), "word")
			}
			for i := range 3 {
				w.newPublicArticle(t, site, collection, fmt.Sprintf("word %d", i), "x")
				want = append(want, fmt.Sprintf("word %d", i))
			}
			want = append(want, "Other 0", "Other 1", "Other 2")
			got := w.titles(t, "/sites/"+site+"/articles?query=word&limit=2")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// titles follows the pages of a list and returns the titles.
func (w *world) titles(t *testing.T, path string) []string {
	t.Helper()
	var all []string
	for path != "" {
		rec := w.do(t, "", "GET", path, "")
		var out struct{ Data []struct{ Title string } }
		if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil || rec.Code != http.StatusOK {
			t.Fatal(rec.Code, rec.Body, err)
		}
		for _, one := range out.Data {
			all = append(all, one.Title)
		}
		path = neighbours(t, rec)["next"]
	}
	return all
}

func TestReactions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	site, collection := w.publicSite(t)
	article := w.newPublicArticle(t, site, collection, "A", "B")
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	type counts struct{ Total, Positive, Negative int }
	for _, tt := range []struct {
		who, reaction string
		want          counts
	}{
		{"", "positive", counts{1, 1, 0}}, {"", "positive", counts{1, 1, 0}}, {"", "negative", counts{1, 0, 1}}, {"owner", "positive", counts{2, 1, 1}},
	} {
		rec := w.do(t, tt.who, "POST", article+"/reactions", "reaction="+tt.reaction, form...)
		var out struct{ Data struct{ Reactions counts } }
		if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil || rec.Code != http.StatusCreated {
			t.Fatal(rec.Code, rec.Body, err)
		}
		if diff := cmp.Diff(tt.want, out.Data.Reactions); diff != "" {
			t.Errorf("%+v: %s", tt, diff)
		}
	}
	if rec := w.do(t, "", "POST", article+"/reactions", "reaction=angry", form...); rec.Code != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	// A new live revision begins anew; feedback is counted on the article.
	w.must(t, "PUT", article+"/draft", "source_locale=en&status=published&collection_id="+collection, form...)
	var id int
	if _, err := fmt.Sscanf(article, "/sites/"+site+"/articles/%d", &id); err != nil {
		t.Fatal(err)
	}
	if rec := w.do(t, "", "POST", "/site/"+site+"/article-feedbacks", fmt.Sprintf("article_id=%d&feedback=Good", id), form...); rec.Code != http.StatusCreated {
		t.Fatal(rec.Code, rec.Body)
	}
	rec := w.do(t, "", "GET", article, "")
	var out struct {
		Data struct {
			Revision  int
			Reactions counts
			Feedback  struct{ Total int }
		}
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if out.Data.Revision != 2 || out.Data.Reactions != (counts{}) || out.Data.Feedback.Total != 1 {
		t.Errorf("%+v", out.Data)
	}
}

// The Markdown source of an article is returned together with its HTML.
func TestArticleMarkdown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, backends()[0].open(t))
	site, collection := w.publicSite(t)
	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	given := url.Values{"source_locale": {"en"}, "collection_id": {collection}, "translations[en][title]": {"T"}, "translations[en][markdown]": {"# Hi *there*\n"}}
	rec := w.must(t, "POST", "/site/"+site+"/articles", given.Encode(), form...)
	type shown struct {
		Data struct {
			ID           int64
			Content      string
			Translations map[string]struct{ Markdown *string }
		}
	}
	var out shown
	if err := json.Unmarshal(rec.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	source := "# Hi *there*\n"
	if diff := cmp.Diff(&source, out.Data.Translations["en"].Markdown); diff != "" || out.Data.Content != `<h1 id="hi-there">Hi <em>there</em></h1>`+"\n" && out.Data.Content != `<h1 id="hi-there">Hi <em>there</em></h1>` {
		t.Errorf("%s %q", diff, out.Data.Content)
	}
	path := fmt.Sprintf("/sites/%s/articles/%d", site, out.Data.ID)
	both := given
	both.Set("translations[en][content]", "<p>x</p>")
	if rec := w.do(t, "owner", "PUT", path, both.Encode(), form...); rec.Code != http.StatusUnprocessableEntity {
		t.Errorf("both: %d %s", rec.Code, rec.Body)
	}
	given.Del("translations[en][markdown]")
	out = shown{}
	if err := json.Unmarshal(w.must(t, "PUT", path, given.Encode(), form...).Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	if out.Data.Translations["en"].Markdown != nil || out.Data.Content != "<p>x</p>" {
		t.Errorf("HTML after Markdown: %+v", out.Data)
	}
}

// Feedback is open until it is marked as done, and can be opened again. Marking twice keeps the time.
func TestFeedbackDone(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, b.open(t))
			site, collection := w.publicSite(t)
			w.newPublicArticle(t, site, collection, "A", "B")
			path := "/sites/" + site + "/article-feedbacks"
			form := []string{"Content-Type", "application/x-www-form-urlencoded"}
			for range 2 {
				w.must(t, "POST", "/site/"+site+"/article-feedbacks", "article_id=1&feedback=Good", form...)
			}
			ids := func(query string) (all []int64) {
				t.Helper()
				var out struct{ Data []struct{ ID int64 } }
				read(t, w.must(t, "GET", path+query, ""), &out)
				for _, f := range out.Data {
					all = append(all, f.ID)
				}
				return all
			}
			for _, tt := range []struct {
				body string
				done bool
				open []int64
			}{
				{"is_done=true", true, []int64{2}}, {"is_done=true", true, []int64{2}}, {"", true, []int64{2}}, {"is_done=false", false, []int64{2, 1}}, {"is_done=", false, []int64{2, 1}},
			} {
				var out struct {
					Data struct {
						DoneAt *string `json:"done_at"`
					}
				}
				read(t, w.must(t, "PUT", path+"/1", tt.body, form...), &out)
				if (out.Data.DoneAt != nil) != tt.done {
					t.Errorf("%q: done at %v", tt.body, out.Data.DoneAt)
				}
				if diff := cmp.Diff(tt.open, ids("?is_done=false")); diff != "" {
					t.Errorf("%q: open: %s", tt.body, diff)
				}
			}
			if rec := w.do(t, "", "PUT", path+"/1", "is_done=true", form...); rec.Code != http.StatusUnauthorized {
				t.Errorf("a reader: %d %s", rec.Code, rec.Body)
			}
		})
	}
}
