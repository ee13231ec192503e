package mailhtml

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// CIDs returns the Content-IDs of the images that s shows, unescaped, without
// duplicates, in order.
func CIDs(s string) []string {
	var out []string
	seen := map[string]bool{}
	RewriteImages(s, func(src string) string {
		if len(src) > 4 && strings.EqualFold(src[:4], "cid:") {
			id := src[4:]
			if plain, err := url.PathUnescape(id); err == nil {
				id = plain
			}
			if id = strings.Trim(id, "<> "); id != "" && !seen[id] {
				seen[id] = true
				out = append(out, id)
			}
		}
		return src
	})
	return out
}

// RewriteImages replaces the address of each image by what f returns for it; for ""
// the image loses its address and shows only its alternative text. All else stays as it
// is. The result is to be shown and not cleaned again, which would drop relative addresses.
func RewriteImages(s string, f func(src string) string) string {
	z := html.NewTokenizer(strings.NewReader(s))
	var b strings.Builder
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			b.Write(z.Raw())
			return b.String()
		}
		raw := string(z.Raw())
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			b.WriteString(raw)
			continue
		}
		t := z.Token()
		if t.Data != "img" || !rewrite(&t, f) {
			b.WriteString(raw)
			continue
		}
		b.WriteString("<img")
		for _, a := range t.Attr {
			b.WriteString(" " + a.Key + `="` + escapeAttr(a.Val) + `"`)
		}
		b.WriteByte('>')
	}
}

func rewrite(t *html.Token, f func(string) string) bool {
	for i, a := range t.Attr {
		if a.Key != "src" {
			continue
		}
		src := f(a.Val)
		if src == a.Val {
			return false
		}
		if t.Attr[i].Val = src; src == "" {
			t.Attr = append(t.Attr[:i], t.Attr[i+1:]...)
		}
		return true
	}
	return false
}
