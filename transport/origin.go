package transport

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/rs/cors"
)

// ValidOrigin reports whether a text is an origin as browsers send it (RFC 6454 section 6.2), such as
// https://app.example.com, or "*".
func ValidOrigin(text string) bool {
	if text == "*" {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && !strings.Contains(u.Host, "*") &&
		text == strings.ToLower(u.Scheme+"://"+u.Host)
}

// shared lets pages of other origins call the API with tokens: browsers then send no cookies.
func shared(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{
			"Accept", "Accept-Language", "Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID", "Range", "Traceparent", "X-Request-Id",
		},
		ExposedHeaders: []string{
			"Accept-Ranges", "Content-Disposition", "Content-Range", "ETag", "Idempotency-Replayed", "Link", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "X-Request-Id",
		},
		MaxAge: 7200, // seconds; Chromium keeps no answer longer
	}).Handler(next)
}
