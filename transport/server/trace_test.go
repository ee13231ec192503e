package server

import (
	"net/http"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/outbound"
)

// Without a tracer nothing is put around requests and the relay: what is not there costs nothing.
func TestTracingOff(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	if got := (&Server{}).observed(mux); got != http.Handler(mux) {
		t.Errorf("requests go through %T", got)
	}
	spool, err := outbound.NewSpool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := outbound.Traced(spool, nil); got != outbound.Transport(spool) {
		t.Errorf("mails go through %T", got)
	}
}
