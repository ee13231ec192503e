package transport

import (
	"net/http"

	"github.com/helpwright/helpwright/storage"
)

// Bound counts what pages beside the API read, and what of their answers clients have not
// taken yet, as that of the API, see [Config].Memory, and gives clients as long to take an
// answer. A read for which there is no room is an Unavailable fault, which the page is to
// answer with 503.
func (t *Table) Bound(next http.Handler) http.Handler {
	return t.bound(next, func(method string) bool { return method == http.MethodGet || method == http.MethodHead })
}

// BoundAll is [Table.Bound] for endpoints that are asked by POST what pages are asked by GET: what they read under the
// request's context is counted whatever its method.
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

// bounded is what a request to such a page needs.
type bounded struct {
	request  Request
	share    share
	response response
}
