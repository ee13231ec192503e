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
	return http.HandlerFunc(func(w http.ResponseWriter, hr *http.Request) {
		r := &Request{http: hr, writer: w, table: t}
		r.share = &share{of: t.room, client: r.clientKey}
		defer r.share.end()
		if hr.Method == http.MethodGet || hr.Method == http.MethodHead {
			hr = hr.WithContext(storage.WithMeter(hr.Context(), r.share.meter()))
		}
		next.ServeHTTP(&response{ResponseWriter: w, head: hr.Method == http.MethodHead, share: r.share}, hr)
	})
}
