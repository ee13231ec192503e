package site

import (
	"fmt"
	"strings"
	"time"

	"github.com/helpwright/helpwright/kb"
)

// previewLife is how long the address of a preview is good for.
const previewLife = 24 * time.Hour

// preview is what readers do not see yet.
type preview struct {
	signed  bool
	theme   int64 // that the site is dressed in
	article int64 // whose draft is shown
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

// PreviewTheme is an address where a site, by its URL and id, can be looked at in a
// theme that is not active, by whoever has it, for a day.
func (h *Handler) PreviewTheme(siteURL string, siteID, themeID int64) string {
	return siteURL + "/-/preview/" + h.seal("preview", siteID, fmt.Sprintf("theme %d", themeID)) + "/"
}

// PreviewDraft is an address where the draft of an article can be read, by whoever has
// it, for a day.
func (h *Handler) PreviewDraft(s kb.Site, a kb.ArticleRevision, locale string) string {
	t := a.Revision.Serve(s.DefaultLocale, locale)
	return h.cfg.KB.URL(s) + "/-/preview/" + h.seal("preview", s.ID, fmt.Sprintf("draft %d", a.Article.ID)) +
		kb.PagePath(t.Locale, kb.ArticlePages, a.Article.ID, t.Title)
}

// openPreview opens the address of a preview; what is behind the token is the path of a
// page.
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
