package transport

import (
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/transport/internal/cookie"
)

// Credentials are what the client shows to say who it is: the Authorization header, or
// the secret of a session. "" is nothing.
func (r *Request) Credentials() string {
	if given := r.Header("Authorization"); given != "" {
		return given
	}
	return r.Session()
}

// Session is the secret of the session whose cookie came with the request, or "". A
// browser sends it also with requests that other sites make: see [Request.SameSite].
func (r *Request) Session() string { return cookie.Secret(r.http, r.Secure()) }

// Secure reports whether the client's connection is encrypted, as far as can be known.
func (r *Request) Secure() bool {
	return r.http.TLS != nil || strings.HasPrefix(r.table.config.BaseURL, "https:")
}

// SameSite is a Forbidden fault with the code cross_origin for a request of another site
// that may change something.
func (r *Request) SameSite() error { return cookie.SameSite(r.http, r.table.config.BaseURL) }

// SetCookie adds a cookie to the answer, also when that is an error.
func (r *Request) SetCookie(c *http.Cookie) { r.writer.Header().Add("Set-Cookie", c.String()) }
