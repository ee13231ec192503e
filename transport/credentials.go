package transport

import (
	"net/http"
	"strings"

	"github.com/helpwright/helpwright/transport/internal/cookie"
)

// Credentials returns the client's credentials: the Authorization header or the secret of a session, "" if there are none.
func (r *Request) Credentials() string {
	if given := r.Header("Authorization"); given != "" {
		return given
	}
	return r.Session()
}

// Session returns the secret of the session whose cookie came with the request, or "". Browsers also send the cookie with
// requests that other sites make: see [Request.SameSite].
func (r *Request) Session() string { return cookie.Secret(r.http, r.Secure()) }

// Secure reports whether the client's connection is encrypted, as far as the server can tell.
func (r *Request) Secure() bool {
	return r.http.TLS != nil || strings.HasPrefix(r.table.config.BaseURL, "https:")
}

// SameSite returns a Forbidden fault with the code cross_origin for a request from another site that may change something.
func (r *Request) SameSite() error { return cookie.SameSite(r.http, r.table.config.BaseURL) }

// FromOtherSite returns the fault of [Request.SameSite] for a request with a cookie, and without Authorization, that a
// browser sent for a page of another site. What is no browser, and so says nothing about it, is not refused.
func (r *Request) FromOtherSite() error {
	if r.Header("Cookie") == "" || r.Header("Authorization") != "" || r.Header("Sec-Fetch-Site") == "" && r.Header("Origin") == "" {
		return nil
	}
	return r.SameSite()
}

// SetCookie adds a cookie to the answer, even if the answer is an error.
func (r *Request) SetCookie(c *http.Cookie) { r.writer.Header().Add("Set-Cookie", c.String()) }
