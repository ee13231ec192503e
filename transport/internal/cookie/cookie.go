// Package cookie defines the session cookie and the rule that protects it. The API and the desk share them: signing in at
// one signs in at the other.
package cookie

import (
	"net/http"
	"net/url"

	"github.com/helpwright/helpwright/storage/fault"
)

// The cookie with the secret of a session. Over TLS its name has the prefix for which browsers accept it from this host
// only, and only over TLS (RFC 6265bis, section 4.1.3.2), so that no other host below the same domain can set it.
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

// Secret returns the secret of the session whose cookie came with a request, or "".
func Secret(r *http.Request, secure bool) string {
	c, err := r.Cookie(name(secure))
	if err != nil {
		return ""
	}
	return c.Value
}

// New returns the cookie for a secret, valid for a number of seconds; 0 means until the browser is closed, and a negative
// number removes the cookie.
func New(secret string, seconds int, secure bool) *http.Cookie {
	return &http.Cookie{
		Name: name(secure), Value: secret, Path: "/", MaxAge: seconds, Secure: secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
}

// SameSite refuses a request that changes something unless it shows that it comes from this site, as browsers also add
// cookies to requests that other sites make. It checks Sec-Fetch-Site, and Origin if the browser does not send that. baseURL
// is the server's public address, if that is not the request's host.
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

// SignIn returns the cookie for a sign-in in progress, valid for a number of seconds; a negative number removes the cookie.
// It comes back with the provider's answer, which is a navigation from another site.
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

// Kept returns the value set by [SignIn], or "".
func Kept(r *http.Request, secure bool) string {
	c, err := r.Cookie(signInKey(secure))
	if err != nil {
		return ""
	}
	return c.Value
}
