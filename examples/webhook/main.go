// Command webhook receives the events of a help desk: it verifies their origin, processes each event once, however often it
// is delivered, and prints it.
//
//	HELPWRIGHT_WEBHOOK_SECRET=whsec_... go run ./examples/webhook -listen 127.0.0.1:9000
//
// The secret is in the answer to the webhook's creation:
//
//	curl -H "Authorization: Bearer $TOKEN" -d url=http://127.0.0.1:9000 -d 'events[]=conversation.created' \
//	    http://127.0.0.1:8080/api/v1/accounts/1/webhooks
//
// A server delivers to an address like this one if it runs with HELPWRIGHT_ALLOW_PRIVATE_HOSTS=true.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk/webhook/signature"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9000", "address to listen on")
	flag.Parse()
	secret := os.Getenv("HELPWRIGHT_WEBHOOK_SECRET")
	if secret == "" {
		log.Fatal("set HELPWRIGHT_WEBHOOK_SECRET to the secret of the webhook")
	}
	server := &http.Server{Addr: *listen, Handler: newReceiver(secret, reportTo(os.Stdout)), ReadTimeout: 10 * time.Second}
	log.Printf("listening on %s", *listen)
	log.Fatal(server.ListenAndServe())
}

// event holds the fields of a CloudEvent that this program uses.
type event struct {
	ID      string          `json:"id"` // grows: the later of two events of a resource has the higher id
	Type    string          `json:"type"`
	Subject string          `json:"subject"`
	Data    json.RawMessage `json:"data"` // ids: fetch the resource from the API
}

// reportTo returns the work of this program.
func reportTo(out io.Writer) func(event) error {
	return func(e event) error {
		_, err := fmt.Fprintf(out, "%s: %s %s\n", e.Type, e.Subject, e.Data)
		return err
	}
}

// receiver handles events. It records processed events in memory; a program with a database writes the webhook-id into a
// unique column, in the same transaction as the work.
type receiver struct {
	secret string
	work   func(event) error

	mu   sync.Mutex
	done map[string]bool // by webhook-id; false: in progress
}

func newReceiver(secret string, work func(event) error) *receiver {
	return &receiver{secret: secret, work: work, done: map[string]bool{}}
}

// ServeHTTP answers with a 2xx only when the work is done: after any other status the event is delivered again.
func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	if err := signature.Verify(rc.secret, r.Header, body, time.Now()); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	id := r.Header.Get(signature.HeaderID)
	first, done := rc.claimEvent(id)
	switch {
	case done:
		w.WriteHeader(http.StatusNoContent) // a repeated event
		return
	case !first:
		http.Error(w, "it is being done", http.StatusServiceUnavailable)
		return
	}
	var e event
	if err = json.Unmarshal(body, &e); err == nil {
		err = rc.work(e)
	}
	rc.end(id, err)
	if err != nil {
		http.Error(w, "it cannot be done now", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// claimEvent reports whether the caller must process an event, and whether it was processed already.
func (rc *receiver) claimEvent(id string) (first, done bool) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	done, known := rc.done[id]
	if !known {
		rc.done[id] = false
	}
	return !known, done
}

// end records that an event was processed, or leaves it to another attempt.
func (rc *receiver) end(id string, err error) {
	rc.mu.Lock()
	defer rc.mu.Unlock()
	if err != nil {
		delete(rc.done, id)
		return
	}
	rc.done[id] = true
}
