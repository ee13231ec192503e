package helpdesk_test

import (
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// Every follower checks every event, so the check allocates nothing.
func TestSeesAllocatesNothing(t *testing.T) { //nolint:paralleltest // it measures
	b := newBundle(t)
	e := storage.Event{Seq: 1, Type: "conversation.updated", Subject: 1}
	if n := testing.AllocsPerRun(1000, func() {
		if !helpdesk.Sees(b.desk, e) {
			t.Error("an owner does not view the event")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
