package mailhtml

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// CIDs returns the Content-IDs of the images that s shows, unescaped, without duplicates, in order.
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

// RewriteImages replaces the address of each image by the result of f; for "" the image loses its address and shows only its
// alternative text. Everything else is unchanged. The result is for display and must not be cleaned again, which would drop
// relative addresses.
func RewriteImages(s string, f func(src string) string) string {
	return editImages(s, func(t *html.Token) bool {
		i := place(t, "src")
		if i < 0 {
			return false
		}
		src := f(t.Attr[i].Val)
		if src == t.Attr[i].Val {
			return false
		}
		if t.Attr[i].Val = src; src == "" {
			t.Attr = slices.Delete(t.Attr, i, i+1)
		}
		return true
	})
}

// held is the attribute that keeps the address of a blocked image.
const held = "data-remote-src"

// HoldImages moves the address of each image for which hold returns true to the attribute data-remote-src, so that
// displaying the result sends no request for it. [RestoreImages] undoes it.
func HoldImages(s string, hold func(src string) bool) string {
	return editImages(s, func(t *html.Token) bool {
		i := place(t, "src")
		if i < 0 || !hold(t.Attr[i].Val) {
			return false
		}
		t.Attr = slices.DeleteFunc(t.Attr, func(a html.Attribute) bool { return a.Key == held })
		t.Attr[place(t, "src")].Key = held
		return true
	})
}

// RestoreImages restores the addresses that [HoldImages] moved. It may be used on HTML that is not clean yet.
func RestoreImages(s string) string {
	if !strings.Contains(s, held) {
		return s
	}
	return editImages(s, func(t *html.Token) bool {
		if place(t, held) < 0 {
			return false
		}
		t.Attr = slices.DeleteFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "src" })
		t.Attr[place(t, held)].Key = "src"
		return true
	})
}

// Remote reports whether the address of an image names another server.
func Remote(src string) bool {
	src = strings.TrimSpace(src)
	if strings.HasPrefix(src, "//") {
		return true
	}
	scheme, _, _ := strings.Cut(src, ":")
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

// editImages rewrites each image for which edit returns true. Everything else is unchanged.
func editImages(s string, edit func(t *html.Token) bool) string {
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
		if t.Data != "img" || !edit(&t) {
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

// place returns the index of an attribute, -1 if it is missing.
func place(t *html.Token, key string) int {
	return slices.IndexFunc(t.Attr, func(a html.Attribute) bool { return a.Key == key })
}
