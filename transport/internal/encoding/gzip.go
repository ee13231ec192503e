// Package encoding determines the content codings that a client accepts.
package encoding

import (
	"net/http"
	"strconv"
	"strings"
)

// TakesGzip reports whether Accept-Encoding (RFC 9110 section 12.5.3) of a request allows gzip.
func TakesGzip(h http.Header) bool {
	others := false
	for one := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, params, _ := strings.Cut(one, ";")
		weight := 1.0
		for p := range strings.SplitSeq(params, ";") {
			if key, value, ok := strings.Cut(p, "="); ok && strings.EqualFold(strings.TrimSpace(key), "q") {
				q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
				if err != nil || !(q >= 0 && q <= 1) {
					q = 0
				}
				weight = q
			}
		}
		switch name = strings.TrimSpace(name); {
		case strings.EqualFold(name, "gzip") || strings.EqualFold(name, "x-gzip"):
			return weight > 0
		case name == "*":
			others = weight > 0
		}
	}
	return others
}
