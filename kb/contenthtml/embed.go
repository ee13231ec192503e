package contenthtml

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// players maps the hosts whose pages may be framed to the prefix of their paths.
var players = map[string]string{
	"www.youtube.com":          "/embed/",
	"www.youtube-nocookie.com": "/embed/",
	"player.vimeo.com":         "/video/",
	"www.dailymotion.com":      "/embed/",
	"geo.dailymotion.com":      "/player",
	"player.twitch.tv":         "/",
	"fast.wistia.net":          "/embed/",
	"fast.wistia.com":          "/embed/",
	"www.loom.com":             "/embed/",
	"play.vidyard.com":         "/",
	"codepen.io":               "/",
	"codesandbox.io":           "/embed/",
	"stackblitz.com":           "/edit/",
	"www.figma.com":            "/embed",
	"embed.figma.com":          "/",
	"docs.google.com":          "/",
	"www.google.com":           "/maps/embed",
	"www.openstreetmap.org":    "/export/embed.html",
	"open.spotify.com":         "/embed/",
	"w.soundcloud.com":         "/player/",
}

// sandbox is what a frame may do: run its own player in its own origin.
const sandbox = "allow-scripts allow-same-origin allow-popups allow-presentation allow-forms"

// cleanFrame keeps a frame of an allowed host and drops any other.
func cleanFrame(attrs []html.Attribute) ([]html.Attribute, bool) {
	src, _ := attrOf(attrs, "src")
	src, ok := playerURL(src)
	if !ok {
		return nil, false
	}
	out := []html.Attribute{{Key: "src", Val: src}}
	for _, key := range []string{"title", "width", "height", "class", "id", "style"} {
		if value, ok := attrOf(attrs, key); ok {
			out = append(out, html.Attribute{Key: key, Val: value})
		}
	}
	return append(out, html.Attribute{Key: "allowfullscreen"}, html.Attribute{Key: "loading", Val: "lazy"},
		html.Attribute{Key: "referrerpolicy", Val: "strict-origin-when-cross-origin"}, html.Attribute{Key: "sandbox", Val: sandbox}), true
}

func playerURL(src string) (string, bool) {
	u, err := url.Parse(src)
	if err != nil || u.User != nil || u.Opaque != "" || u.Port() != "" {
		return "", false
	}
	if u.Scheme != "https" && u.Scheme != "http" {
		return "", false
	}
	u.Scheme, u.Host = "https", strings.ToLower(u.Host)
	prefix, ok := players[u.Host]
	if !ok || !strings.HasPrefix(u.Path, prefix) || strings.Contains(u.Path, "..") {
		return "", false
	}
	return u.String(), true
}
