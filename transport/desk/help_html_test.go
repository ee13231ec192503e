package desk_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/contenthtml"
	"github.com/helpwright/helpwright/storage"
)

// Text added to an article that was written as HTML changes nothing else in it.
func TestEditHTMLArticle(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	content := contenthtml.Clean(strings.Join([]string{
		`<p><b>Note:</b>Do it.</p>`, `<p><strong>「刻舟求剑」</strong>这是</p>`, `<p><b>a</b><b>b</b></p>`, `<p>New!<a href="https://example.org/x">Read</a></p>`, `<p>10<sup>-3</sup> m</p>`,
		`<iframe src="https://www.youtube.com/embed/abc123"></iframe>`, `<video src="https://example.org/v.mp4"></video>`, `<table><tr><td colspan="2">Head</td></tr><tr><td>a</td><td>b</td></tr></table>`,
		"<p><code>echo `date`</code></p>", `<pre>one<br>two</pre>`, `<h2 id="install">Setup guide</h2>`, `<details><summary>S</summary><p>x</p></details>`, `<h2>Ticket #</h2>`, `<p>about ~5~ items</p>`,
		`<p><img src="https://example.org/a.png" alt="a" width="40" height="40"></p>`, `<p><kbd>Ctrl</kbd></p>`, `<div class="markdown-alert markdown-alert-note"><p class="markdown-alert-title">Note</p><p>x</p></div>`,
		`<ol type="a"><li>x</li></ol>`, `<ul><li>a</li><li>b</li></ul>`,
	}, ""))
	id := l.article.Article.ID
	_, err := l.ed.UpdateDraft(t.Context(), id, kb.ArticleInput{CollectionID: 1, TextInput: in("en", kb.TranslationInput{Content: storage.Some(content)})})
	if err != nil {
		t.Fatal(err)
	}
	form := fields(t, l.get("/help/1/a/1").body)
	form.Set("text", strings.ReplaceAll(strings.TrimRight(form.Get("text"), "\n")+"\n\nTypo fixed.\n", "\n", "\r\n"))
	if got := l.post("/help/1/a/1", form); got.status != http.StatusSeeOther {
		t.Fatal(got.status, got.body)
	}
	en, _ := l.draft().Revision.Translation("en")
	if diff := cmp.Diff(content+"\n<p>Typo fixed.</p>", strings.TrimRight(en.Content, "\n")); diff != "" {
		t.Error(diff)
	}
}
