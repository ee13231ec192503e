package ingest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// Mails in a mailbox before it was connected are dated by their Date, later ones by their arrival, whatever their Date: on a
// real server.
func TestBacklogOverIMAP(t *testing.T) {
	t.Parallel()
	dovecot := testenv.Dovecot(t)
	ctx := t.Context()
	b := newBundle(t, memblob.New())
	user := testenv.Name("backlog")
	letter := func(n int) string {
		return crlf(fmt.Sprintf("From: Ada <ada@example.com>\nMessage-ID: <%d@example.com>\nDate: Mon, 04 Mar 2019 10:00:00 +0000\nSubject: Letter %d\n\nText.", n, n))
	}
	maildir(t, dovecot, user, letter(1))
	time.Sleep(1100 * time.Millisecond) // the server has a resolution of seconds
	id := b.fetched("backlog@example.org", inbound(t, ledger.InboundIMAP, dovecot.Addr, user, dovecot.Password))
	servers := ingest.NewServers(ingest.ServersConfig{AllowPrivateHosts: true, PollInterval: 50 * time.Millisecond})
	fetcher := check(ingest.NewFetcher(ingest.FetcherConfig{Intake: b.intake, Servers: servers}))(t)
	run, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = fetcher.Run(run)
	}()
	defer func() { cancel(); <-done }()
	testenv.Eventually(t, "the backlog", func() bool { return len(b.rows(id)) == 1 })
	maildir(t, dovecot, user, letter(2))
	testenv.Eventually(t, "the new mail", func() bool { return len(b.rows(id)) == 2 })
	before := time.Now().Add(-time.Hour)
	if err := b.filer.Handle(ctx, storage.ClaimedJob{Job: storage.Job{AccountID: b.desk.AccountID(), Subject: id}}); err != nil {
		t.Fatal(err)
	}
	for n, row := range b.rows(id) {
		c := check(b.desk.Conversations().Get(ctx, row.ConversationID))(t)
		old := strings.HasSuffix(c.Subject, "1")
		if old != c.CreatedAt.Equal(time.Date(2019, 3, 4, 10, 0, 0, 0, time.UTC)) || !old && c.CreatedAt.Before(before) {
			t.Errorf("letter %d (%s) is of %v", n+1, c.Subject, c.CreatedAt)
		}
	}
}
