package site

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/kb/theme"
	"github.com/helpwright/helpwright/storage/fault"
)

// shown are the types that a browser displays in place; all others are saved.
var shown = []string{
	"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml", "image/x-icon", "image/vnd.microsoft.icon",
	"audio/mpeg", "audio/ogg", "video/mp4", "video/webm", "text/plain",
}

// file serves a file of the site by id, key and name. Its content is untrusted, so it is served without any privileges.
func (v *visit) file(rest string) error {
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	number, rest, _ := strings.Cut(rest, "/")
	key, name, _ := strings.Cut(rest, "/")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || strings.Contains(name, "/") {
		return fault.Missing("file", 0)
	}
	c, err := v.h.cfg.KB.PublicFile(v.ctx(), v.site.ID, id, key)
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	disposition := "attachment"
	media, _, err := mime.ParseMediaType(c.ContentType)
	if err == nil && slices.Contains(shown, media) {
		disposition = "inline"
	}
	if value := mime.FormatMediaType(disposition, map[string]string{"filename": c.Filename}); value != "" {
		disposition = value
	}
	h.Set("Content-Disposition", disposition)
	kind, _, _ := strings.Cut(media, "/")
	if c.Size > maxWhole || kind == "audio" || kind == "video" || v.r.Header.Get("Range") != "" || v.site.Visibility != kb.Public {
		return v.stream(c)
	}
	return v.whole(c)
}

// maxWhole is the size up to which files of public sites are cached like pages. Audio and video are excluded, as browsers
// request ranges of them, however short they are.
const maxWhole = 64 << 10

// whole serves a small file, and caches it until something in the account changes, as it may be deleted.
func (v *visit) whole(c kb.Content) error {
	body := &blob{ctx: v.ctx(), of: c}
	defer body.Close()
	content, err := io.ReadAll(io.LimitReader(body, c.Size))
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", c.ContentType)
	h.Set("Cache-Control", forGood)
	return v.sendUntil(http.StatusOK, content, true, false)
}

// forGood is the Cache-Control of content that never changes at its address.
const forGood = "public, max-age=31536000, immutable"

func (v *visit) stream(c kb.Content) error {
	h := v.w.Header()
	h.Set("Content-Type", c.ContentType)
	h.Set("ETag", `"`+c.ETag+`"`)
	h.Set("Cache-Control", forGood)
	body := &blob{ctx: v.ctx(), of: c}
	defer body.Close()
	http.ServeContent(v.w, v.r, "", c.ModTime, body)
	return nil
}

// blob reads content from the requested position.
type blob struct {
	ctx context.Context //nolint:containedctx // it is for one answer
	of  kb.Content
	at  int64
	in  io.ReadCloser
}

func (b *blob) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.at
	case io.SeekEnd:
		offset += b.of.Size
	}
	if offset < 0 {
		return 0, errors.New("before the beginning")
	}
	if offset != b.at {
		b.Close()
	}
	b.at = offset
	return offset, nil
}

func (b *blob) Read(p []byte) (int, error) {
	if b.in == nil {
		var err error
		if b.in, err = b.of.Open(b.ctx, b.at); err != nil {
			return 0, err
		}
	}
	n, err := b.in.Read(p)
	b.at += int64(n)
	return n, err
}

func (b *blob) Close() {
	if b.in != nil {
		_ = b.in.Close() // only read
		b.in = nil
	}
}

// asset serves an asset of the theme, given a fingerprint and a path.
func (v *visit) asset(rest string) error {
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	_, name, ok := strings.Cut(rest, "/")
	if !ok {
		return fault.Missing("file", 0)
	}
	name = "assets/" + name
	d, err := v.dress()
	if err != nil {
		return err
	}
	asked := v.r.URL.Path
	if own, err := url.Parse(v.assetURL(d, name)); err != nil || own.Path != asked {
		if plain, err := url.Parse(v.assetURL(&dress{}, name)); err == nil && plain.Path == asked {
			d = &dress{} // of the built-in theme, even while another one is broken
		} else if own == nil || own.Path == "" {
			return fault.Missing("file", 0)
		} else { // a former one
			v.w.Header().Set("Cache-Control", "no-store")
		}
	}
	f, own := d.files[name]
	v.w.Header().Set("Cross-Origin-Resource-Policy", "same-site")
	var content []byte
	switch {
	case name == "assets/style.css":
		if content, err = v.stylesheet(d); err != nil {
			return err
		}
		v.w.Header().Set("Content-Type", "text/css; charset=utf-8")
	case own && f.Hash != builtinHash()[name]:
		v.w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
		return v.stream(v.h.cfg.KB.Asset(f))
	default:
		content = theme.Builtin().Files[name]
		switch {
		case strings.HasSuffix(name, ".js"):
			content = unindented(content)
			v.w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		case strings.HasSuffix(name, ".svg"):
			v.w.Header().Set("Content-Type", "image/svg+xml")
		}
	}
	if v.w.Header().Get("Cache-Control") == "" {
		v.w.Header().Set("Cache-Control", forGood)
	}
	return v.send(http.StatusOK, content, false)
}

// favicon serves browsers that request it without a link.
func (v *visit) favicon() error {
	if !v.allow(http.MethodGet, http.MethodHead) {
		return nil
	}
	if p := v.picture(v.site.Look.FaviconID); p != nil {
		return v.redirect(http.StatusFound, strings.TrimPrefix(p.URL, v.base))
	}
	return v.redirect(http.StatusFound, strings.TrimPrefix(v.assetURL(&dress{}, "assets/favicon.svg"), v.prefix))
}
