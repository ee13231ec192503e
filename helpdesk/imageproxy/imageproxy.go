// Package imageproxy fetches images from other servers on behalf of mail readers, so that the sender learns neither who
// reads the mail nor where.
package imageproxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/netguard"
	"github.com/helpwright/helpwright/storage/fault"
)

// Config configures a [Proxy].
type Config struct {
	// Dial connects to a server; required. It restricts the allowed addresses, also for redirects: see netguard.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// MaxBytes is the maximum size of an image; 0 means 5 MiB.
	MaxBytes int64
	// Timeout is the time for one image with all redirects; 0 means 10 s.
	Timeout time.Duration
	// Parallel is the number of concurrent fetches; 0 means 16. Others wait.
	Parallel int
}

// Proxy fetches images. It is safe for concurrent use.
type Proxy struct {
	cfg    Config
	client *http.Client
	slots  chan struct{}
}

const maxRedirects = 5

// New returns a proxy. It starts nothing.
func New(cfg Config) *Proxy {
	if cfg.Dial == nil {
		cfg.Dial = netguard.Dialer(false, 10*time.Second)
	}
	if cfg.MaxBytes <= 0 {
		cfg.MaxBytes = 5 << 20
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.Parallel <= 0 {
		cfg.Parallel = 16
	}
	p := &Proxy{cfg: cfg, slots: make(chan struct{}, cfg.Parallel)}
	p.client = &http.Client{
		// Ignore proxy settings in the environment: a proxy would bypass Dial's restrictions.
		Transport: &http.Transport{
			DialContext: cfg.Dial, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10,
			TLSHandshakeTimeout: cfg.Timeout, ResponseHeaderTimeout: cfg.Timeout, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			r.Header.Del("Referer")
			return allowed(r.URL)
		},
	}
	return p
}

// allowed returns an error unless an image in a mail may have this address.
func allowed(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return errors.New("not a web address")
	}
	return nil
}

// Fetch fetches the image at an address. If it is unavailable, too large, refused by Dial, or not in a format that browsers
// show (excluding SVG, which can run scripts), it is a NotFound fault with the reason. It sends no cookie, no referrer, and
// the same User-Agent for all.
func (p *Proxy) Fetch(ctx context.Context, address string) (helpdesk.RemoteImage, error) {
	u, err := url.Parse(address)
	if err == nil {
		err = allowed(u)
	}
	if err != nil {
		return none("It has no web address.", err)
	}
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return none("Its server did not answer in time.", ctx.Err())
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return none("It has no web address.", err)
	}
	r.Header.Set("User-Agent", "helpwright-image-proxy")
	r.Header.Set("Accept", "image/avif,image/webp,image/png,image/jpeg,image/gif;q=0.9,image/*;q=0.5")
	res, err := p.client.Do(r)
	if err != nil {
		return none("Its server cannot be reached.", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return none("Its server does not have it.", nil)
	}
	content, err := io.ReadAll(io.LimitReader(res.Body, p.cfg.MaxBytes+1))
	switch {
	case err != nil:
		return none("Its server broke off.", err)
	case int64(len(content)) > p.cfg.MaxBytes:
		return none("It is too large.", nil)
	}
	kind := imageType(content)
	if kind == "" {
		return none("It is no image.", nil)
	}
	return helpdesk.RemoteImage{ContentType: kind, Content: content}, nil
}

func none(why string, err error) (helpdesk.RemoteImage, error) {
	return helpdesk.RemoteImage{}, &fault.Error{Kind: fault.NotFound, Message: "The image could not be fetched. " + why, Err: err}
}

// imageType detects the format by content only; "" if it is not supported.
func imageType(b []byte) string {
	kind := http.DetectContentType(b)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/x-icon":
		return kind
	}
	if len(b) >= 12 && bytes.Equal(b[4:8], []byte("ftyp")) && strings.HasPrefix(string(b[8:12]), "avi") {
		return "image/avif"
	}
	return ""
}
