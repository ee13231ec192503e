package helpdesk_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
)

// A reply that names no recipients goes where the customer's latest message asks for it, however many notes came since.
func TestRecipientsBehindNotes(t *testing.T) {
	t.Parallel()
	for notes, want := range map[int]string{0: "office@example.net", 7: "office@example.net", 8: "office@example.net", 150: "office@example.net"} {
		t.Run(fmt.Sprint(notes), func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			m := opening()
			m.ReplyTo = []mailaddr.Address{{Email: "office@example.net"}}
			c := b.receive(m).ConversationID
			for n := range notes {
				must(b.desk.Interactions().Create(b.ctx, c, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: fmt.Sprint("Note ", n)}))(t)
			}
			i := must(b.desk.Interactions().Create(b.ctx, c, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Pull."}))(t)
			if diff := cmp.Diff([]string{want}, i.To); diff != "" {
				t.Error(diff)
			}
		})
	}
}
