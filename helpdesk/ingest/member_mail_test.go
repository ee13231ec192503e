package ingest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// A member's raw mails among others: @fwd opens the conversation of the author, invalid commands are returned, and answers
// to the returned mail's address open none.
func TestMemberMailsAmongOthers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store := memstore.New()
	b := newBundle(t, memblob.New(), func(cfg *helpdesk.Config) { cfg.Store = store })
	row := b.vouched("From: Olga <o@example.org>\n"+strings.Replace(passedOn, "She is a pain, be nice.", "@fwd\n@assign me\n\nShe is a pain.", 1), aligned("example.org"))
	c := check(b.desk.Conversations().Get(ctx, row.ConversationID))(t)
	if c.CustomerEmail != "ada@example.com" || c.UserID == 0 || c.Preview != "It does not open." {
		t.Errorf("the conversation is %+v", c)
	}
	row = b.vouched("From: Olga <o@example.org>\nMessage-ID: <2@example.org>\nTo: support@example.org\nSubject: Fwd: x\n\n@fwd\nNothing.", aligned("example.org"))
	if row.State != ledger.Ignored || !strings.Contains(row.Reason, "cannot be read") {
		t.Fatalf("it is %s: %s", row.State, row.Reason)
	}
	claimed := check(store.Claim(context.Background(), map[string]int{helpdesk.JobReturnMail: 10}, time.Now().Add(time.Minute), time.Now().Add(2*time.Minute)))(t)
	if len(claimed) != 1 {
		t.Fatalf("%d mails go back", len(claimed))
	}
	back := check(b.outgoing.SystemMail(ctx, claimed[0], sending.MailLinks{}))(t)
	for name, header := range map[string]string{
		"in To": "To: " + back.ReplyTo, "in Cc": "To: ada@example.com\nCc: " + back.ReplyTo, "as delivered": "Delivered-To: " + strings.ToUpper(back.ReplyTo),
		"in angle brackets": "To: \"Support\" <" + back.ReplyTo + ">, ada@example.com",
	} {
		row := b.vouched("From: Olga <o@example.org>\nMessage-ID: <"+strings.ReplaceAll(name, " ", "")+"@example.org>\n"+header+"\n\nHello?", aligned("example.org"))
		if row.State != ledger.Ignored || !strings.Contains(row.Reason, "too old") {
			t.Errorf("%s: it is %s: %s", name, row.State, row.Reason)
		}
	}
	if all := check(b.desk.Conversations().List(ctx, helpdesk.ConversationQuery{}, storage.PageRequest{}))(t).Items; len(all) != 1 {
		t.Errorf("there are %d conversations", len(all))
	}
}
