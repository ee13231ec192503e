package desk

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"

	"golang.org/x/net/html"

	"github.com/helpwright/helpwright/helpdesk"
)

// designed reports whether a mail has a layout of its own, rather than text that can be shown in the desk's font. html is
// the output of mailhtml.Clean.
func designed(body string) bool {
	if strings.Contains(body, "bgcolor=") || strings.Contains(body, "background") {
		return true
	}
	return strings.Contains(body, "<table") && (strings.Contains(body, "width=") || strings.Contains(body, "width:"))
}

// plainStyle removes style attributes, which the page's policy would refuse one by one.
func plainStyle(body string) string {
	if !strings.Contains(body, "style=") {
		return body
	}
	var out bytes.Buffer
	lift(&out, body, nil)
	return out.String()
}

// lift copies HTML without its style attributes and, if rules is not nil, returns them as rules of classes.
func lift(out *bytes.Buffer, body string, rules map[string]string) {
	z := html.NewTokenizer(strings.NewReader(body))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return
		}
		if kind != html.StartTagToken && kind != html.SelfClosingTagToken {
			out.Write(z.Raw())
			continue
		}
		raw := string(z.Raw()) // Token moves the tokenizer on
		t := z.Token()
		if !strings.Contains(raw, "style") {
			out.WriteString(raw)
			continue
		}
		out.WriteString(lifted(t, rules).String())
	}
}

// lifted is a tag with a class instead of its style.
func lifted(t html.Token, rules map[string]string) html.Token {
	var kept []html.Attribute
	class := ""
	for _, a := range t.Attr {
		switch a.Key {
		case "style":
			if rules == nil || strings.ContainsAny(a.Val, "<>{}") {
				continue
			}
			name, ok := rules[a.Val]
			if !ok {
				name = fmt.Sprintf("s%d", len(rules))
				rules[a.Val] = name
			}
			class = name
		default:
			kept = append(kept, a)
		}
	}
	for i, a := range kept {
		if a.Key == "class" && class != "" {
			kept[i].Val, class = a.Val+" "+class, ""
		}
	}
	if class != "" {
		kept = append(kept, html.Attribute{Key: "class", Val: class})
	}
	t.Attr = kept
	return t
}

// frame serves a designed mail as a page of its own, on white, in which no script can run.
func (v *visit) frame() error {
	i, err := v.Interactions().Get(v.ctx(), v.number("id"), v.number("i"))
	if err != nil {
		return err
	}
	bodies, err := v.Interactions().Show(v.ctx(), []helpdesk.Interaction{i}, v.bodyView(v.r.URL.Query().Get("images") != ""))
	if err != nil {
		return err
	}
	var body, page bytes.Buffer
	rules := map[string]string{}
	lift(&body, withoutGaps(bodies[0].HTML), rules)
	nonce := rand.Text()
	fmt.Fprintf(&page, "<!doctype html><html><head><meta charset=\"utf-8\"><title>Mail</title><base target=\"_blank\"><style nonce=%q>\n%s", nonce, frameStyle)
	for style, name := range rules {
		fmt.Fprintf(&page, ".%s{%s}\n", name, style)
	}
	page.WriteString("</style></head><body>")
	page.Write(body.Bytes())
	page.WriteString("</body></html>")
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; img-src 'self' data:; style-src 'nonce-"+nonce+"'; base-uri 'none'; form-action 'none'; "+
		"frame-ancestors 'self'; sandbox allow-same-origin allow-popups allow-popups-to-escape-sandbox")
	_, _ = v.w.Write(page.Bytes()) // the browser may have disconnected
	return nil
}

// frameStyle makes a mail fit the available width.
const frameStyle = `:root{color-scheme:light}
body{margin:0;padding:12px;background:#fff;color:#24201b;font:15px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
img{max-width:100%;height:auto}table{max-width:100%}blockquote{margin:0 0 0 8px;padding-left:10px;border-left:2px solid #ccc}
summary{cursor:pointer;width:max-content;padding:0 8px;border-radius:5px;background:#efece8}
`
