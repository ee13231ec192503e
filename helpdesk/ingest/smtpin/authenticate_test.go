package smtpin_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
)

// The authentication of a mail is in the ledger of each of its mailboxes, and is done once.
func TestAuthenticate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := ledger.Authentication{Source: "intake", DMARC: ledger.AuthPolicy{Result: "temperror", Domain: "example.net"}}
	var asked []smtpin.Delivery
	addr, stop := w.start(t, smtpin.Config{Authenticate: func(_ context.Context, d smtpin.Delivery) ledger.Authentication {
		asked = append(asked, d)
		return want
	}})
	c := dial(t, addr)
	c.send(simple+".\r\n", "250", w.address(0), w.address(1))
	stop()
	wanted := []smtpin.Delivery{{
		Peer: netip.MustParseAddr("127.0.0.1"), Hello: "client.example", From: "sender@example.net", Raw: []byte(simple),
	}}
	if diff := cmp.Diff(wanted, asked, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
	for box := range 2 {
		filter := ledger.Filter{MailboxID: w.boxes[box].ID}
		page := must[storage.Page[ledger.Mail]](t)(w.desks[0].InboundMails().List(t.Context(), filter, storage.PageRequest{}))
		if diff := cmp.Diff(want, page.Items[0].Authentication); diff != "" {
			t.Error(diff)
		}
	}
}
