package transport

import (
	"net/http"

	"github.com/helpwright/helpwright/storage"
)

// Bound counts the rows that pages beside the API read, and the answers that clients have not taken yet, against the same
// memory limit as the API's (see [Config].Memory). Clients get as long to take an answer as they do from the API. A read
// that does not fit is an Unavailable fault, which the page should answer with 503.
func (t *Table) Bound(next http.Handler) http.Handler {
	return t.bound(next, func(method string) bool { return method == http.MethodGet || method == http.MethodHead })
}

// BoundAll is [Table.Bound] for endpoints that read on POST as others do on GET: reads under the request's context are
// counted whatever the method.
func (t *Table) BoundAll(next http.Handler) http.Handler {
	return t.bound(next, func(string) bool { return true })
}

func (t *Table) bound(next http.Handler, metered func(method string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		b := &bounded{request: Request{http: hr, writer: w, table: t}}
		b.share = share{of: t.room, client: b.request.ClientKey}
		b.response = response{ResponseWriter: w, head: hr.Method == http.MethodHead, share: &b.share}
		defer b.share.end()
		if metered(hr.Method) {
			hr = hr.WithContext(storage.WithMeter(hr.Context(), b.share.meter()))
		}
		next.ServeHTTP(&b.response, hr)
	})
}

// bounded adds to a request the state that [Table.Bound] needs.
type bounded struct {
	request  Request
	share    share
	response response
}
