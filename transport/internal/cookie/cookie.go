// Package cookie is the cookie of a session and the rule that protects it, which the API and
// the desk share: who signs in at one is signed in at the other.
package cookie

import (
	"net/http"
	"net/url"

	"github.com/helpwright/helpwright/storage/fault"
)

// The cookie that holds the secret of a session. Over TLS it has the prefix with which
// browsers take it from this host alone, and only over TLS (RFC 6265bis, section
// 4.1.3.2): no neighbour below the same domain can set it.
const (
	Name     = "helpwright_session"
	HostName = "__Host-" + Name
)

func name(secure bool) string {
	if secure {
		return HostName
	}
	return Name
}

// Secret is the secret of the session whose cookie came with a request, or "".
func Secret(r *http.Request, secure bool) string {
	c, err := r.Cookie(name(secure))
	if err != nil {
		return ""
	}
	return c.Value
}

// New holds a secret for a number of seconds; 0 is until the browser is closed, and
// a negative number removes the cookie.
func New(secret string, seconds int, secure bool) *http.Cookie {
	return &http.Cookie{
		Name: name(secure), Value: secret, Path: "/", MaxAge: seconds, Secure: secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// SameSite refuses a request that changes something and does not say that it comes
// from this site: browsers add a cookie also where other sites make them ask. It
// looks at Sec-Fetch-Site, and at Origin where a browser does not send that. baseURL is
// the address that the server is known at, if that is not the request's host.
func SameSite(r *http.Request, baseURL string) error {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	ok := r.Header.Get("Sec-Fetch-Site") == "same-origin"
	if r.Header.Get("Sec-Fetch-Site") == "" {
		origin, err := url.Parse(r.Header.Get("Origin"))
		own, _ := url.Parse(baseURL)
		ok = err == nil && origin.Host != "" && (origin.Host == r.Host ||
			own != nil && origin.Host == own.Host && origin.Scheme == own.Scheme)
	}
	if !ok {
		return &fault.Error{
			Kind: fault.Forbidden, Code: "cross_origin",
			Message: "The session cookie is accepted only in requests from this site. Send Sec-Fetch-Site or Origin, or use an access token.",
		}
	}
	return nil
}

// The cookie that a browser keeps while its user signs in at an identity provider.
const signInName = "helpwright_sign_in"

// SignIn holds what was begun for a number of seconds; a negative number removes the cookie. It comes back with the
// provider's answer, which is a navigation of another site.
func SignIn(kept string, seconds int, secure bool) *http.Cookie {
	c := New(kept, seconds, secure)
	c.Name = signInKey(secure)
	return c
}

func signInKey(secure bool) string {
	if secure {
		return "__Host-" + signInName
	}
	return signInName
}

// Kept is what [SignIn] held, or "".
func Kept(r *http.Request, secure bool) string {
	c, err := r.Cookie(signInKey(secure))
	if err != nil {
		return ""
	}
	return c.Value
}
