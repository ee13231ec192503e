package site

import (
	"fmt"
	"strings"
	"time"

	"github.com/helpwright/helpwright/kb"
)

// previewLife is the lifetime of a preview's address.
const previewLife = 24 * time.Hour

// preview is unpublished content.
type preview struct {
	signed  bool
	theme   int64 // the theme of the site
	article int64 // the article whose draft is shown
}

func (p preview) kind() string {
	switch {
	case p.theme != 0:
		return "theme"
	case p.article != 0:
		return "draft"
	}
	return ""
}

// PreviewTheme returns an address of a site, given its URL and id, in a theme that is not active. The address is valid for a
// day and needs no further authorization.
func (h *Handler) PreviewTheme(siteURL string, siteID, themeID int64) string {
	return siteURL + "/-/preview/" + h.seal("preview", siteID, fmt.Sprintf("theme %d", themeID)) + "/"
}

// PreviewDraft returns an address of the draft of an article. The address is valid for a day and needs no further
// authorization.
func (h *Handler) PreviewDraft(s kb.Site, a kb.ArticleRevision, locale string) string {
	t := a.Revision.Serve(s.DefaultLocale, locale)
	return h.cfg.KB.URL(s) + "/-/preview/" + h.seal("preview", s.ID, fmt.Sprintf("draft %d", a.Article.ID)) +
		kb.PagePath(t.Locale, kb.ArticlePages, a.Article.ID, t.Title)
}

// openPreview opens the address of a preview; the part after the token is the path of a page.
func (v *visit) openPreview(rest string) (first, after string) {
	token, path, _ := strings.Cut(rest, "/")
	data, age, ok := v.h.unseal("preview", v.site.ID, token)
	if !ok || age > previewLife || age < -time.Minute {
		return "", ""
	}
	var p preview
	if n, _ := fmt.Sscanf(data, "theme %d", &p.theme); n == 0 {
		if n, _ := fmt.Sscanf(data, "draft %d", &p.article); n == 0 {
			return "", ""
		}
	}
	p.signed = true
	v.preview, v.prefix, v.path = p, v.base+"/-/preview/"+token, "/"+path
	first, after, _ = strings.Cut(path, "/")
	return first, after
}
