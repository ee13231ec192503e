package kb

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/storage/fault"
)

// IsStyleSheet reports whether a tag is a link to a style sheet or loads one early.
func IsStyleSheet(t html.Token) bool {
	if t.Data != "link" {
		return false
	}
	rel := " " + strings.ToLower(attributeOf(t, "rel")) + " "
	return strings.Contains(rel, " stylesheet ") || strings.Contains(rel, " preload ") && strings.EqualFold(attributeOf(t, "as"), "style")
}

func attributeOf(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// dataTypes are the types of script elements that are data, which no policy refuses.
var dataTypes = map[string]bool{"application/ld+json": true, "application/json": true}

// checkHead adds the elements of a head that the pages' Content-Security-Policy refuses, or that browsers ignore there: it
// must not seem as if they had an effect. On the shared host scripts could act for a user who is signed in there.
func checkHead(problems *fault.Collector, head string, shared bool) {
	z := html.NewTokenizer(strings.NewReader(head))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if why := refusedInHead(t, shared); why != "" {
				problems.Add("html_head", "has <"+t.Data+">: "+why)
			}
			for _, a := range t.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" {
					problems.Add("html_head", "has <"+t.Data+"> with the attribute "+a.Key+", which pages do not run")
				}
			}
		}
	}
}

const ownHostOnly = "it needs a site with a subdomain or a custom domain"

// refusedInHead returns why an element has no effect in the head of a page, or "".
func refusedInHead(t html.Token, shared bool) string {
	switch t.Data {
	case "meta":
		if v := attributeOf(t, "http-equiv"); v != "" {
			return "http-equiv is not allowed"
		}
	case "script":
		if !dataTypes[strings.ToLower(strings.TrimSpace(attributeOf(t, "type")))] {
			if shared {
				return ownHostOnly
			}
			return remote(attributeOf(t, "src"))
		}
	case "link":
		if strings.Contains(" "+strings.ToLower(attributeOf(t, "rel"))+" ", " manifest ") {
			return "pages load no manifest"
		}
		if IsStyleSheet(t) {
			return remote(attributeOf(t, "href"))
		}
	case "style", "title", "noscript", "template":
	default:
		return "it does not belong into the head of a page"
	}
	return ""
}

// remote returns why an address cannot be loaded, or "".
func remote(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return "its address is not valid"
	case u.Host == "" && u.Scheme == "":
		return ""
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsAny(u.Host, " ;,'\"*"):
		return "its address must begin with https://"
	}
	return ""
}
