package ingest_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/testenv"
)

// folder is one on a server, as its user changes it.
type folder struct {
	t      *testing.T
	client *imapclient.Client
	name   string
}

func newFolder(t *testing.T, server testenv.DovecotServer, user, name string) folder {
	t.Helper()
	client := check(imapclient.DialInsecure(server.Addr, nil))(t)
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Login(user, server.Password).Wait(); err != nil {
		t.Fatal(err)
	}
	f := folder{t, client, name}
	f.create()
	return f
}

func (f folder) create() {
	f.t.Helper()
	if err := f.client.Create(f.name, nil).Wait(); err != nil {
		f.t.Fatal(err)
	}
}

func (f folder) add(raws ...string) {
	f.t.Helper()
	for _, raw := range raws {
		cmd := f.client.Append(f.name, int64(len(raw)), nil)
		_ = check(cmd.Write([]byte(raw)))(f.t)
		if err := cmd.Close(); err != nil {
			f.t.Fatal(err)
		}
		_ = check(cmd.Wait())(f.t)
	}
}

func (f folder) remove(uid goimap.UID) {
	f.t.Helper()
	_ = check(f.client.Select(f.name, nil).Wait())(f.t)
	flags := &goimap.StoreFlags{Op: goimap.StoreFlagsAdd, Flags: []goimap.Flag{goimap.FlagDeleted}, Silent: true}
	if err := f.client.Store(goimap.UIDSetNum(uid), flags, nil).Close(); err != nil {
		f.t.Fatal(err)
	}
	if err := f.client.Expunge().Close(); err != nil {
		f.t.Fatal(err)
	}
	if err := f.client.Unselect().Wait(); err != nil {
		f.t.Fatal(err)
	}
}

// anew makes the folder another one of the same name: with another UIDVALIDITY, and empty.
func (f folder) anew() {
	f.t.Helper()
	if err := f.client.Delete(f.name).Wait(); err != nil {
		f.t.Fatal(err)
	}
	f.create()
}

// Over both databases: mails deleted on the server, mails missing in the ledger, and a server that renumbers.
func TestReconcileOverDatabases(t *testing.T) {
	t.Parallel()
	dovecot := testenv.Dovecot(t)
	for name, url := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return "sqlite:" + t.TempDir() + "/reconcile.db" },
		"PostgreSQL": func(t *testing.T) string { return testenv.Postgres(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reconcileOver(t, dovecot, url(t))
		})
	}
}

func reconcileOver(t *testing.T, dovecot testenv.DovecotServer, url string) {
	t.Helper()
	ctx := t.Context()
	db := check(both.Open(ctx, url, bunstore.Config{}))(t)
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	b := newBundle(t, memblob.New(), func(cfg *helpdesk.Config) { cfg.Store = db })
	user := testenv.Name("reconcile")
	work := newFolder(t, dovecot, user, "Work")
	raws := letters("work", 7)
	work.add(raws[:5]...)
	in := inbound(t, ledger.InboundIMAP, dovecot.Addr, user, dovecot.Password)
	in.Folders = []string{"Work"}
	id := b.fetched("work@example.org", in)
	file := func() {
		t.Helper()
		if err := b.filer.Handle(ctx, storage.ClaimedJob{Job: storage.Job{AccountID: b.desk.AccountID(), Subject: id}}); err != nil {
			t.Fatal(err)
		}
	}
	same := func(what string, want ledger.Reconciliation) {
		t.Helper()
		want.Folders[0].Name = "Work"
		if diff := cmp.Diff(want, check(b.desk.Mailboxes().Reconcile(ctx, id))(t)); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	folders := func(f ledger.ReconciledFolder) []ledger.ReconciledFolder { return []ledger.ReconciledFolder{f} }
	same("before the first look", ledger.Reconciliation{Folders: folders(ledger.ReconciledFolder{OnServer: 5, Waiting: 5})})
	b.importOnce(0, id, 5)
	file()
	same("imported", ledger.Reconciliation{Folders: folders(ledger.ReconciledFolder{OnServer: 5, InLedger: 5})})

	work.remove(2)
	gone := b.rows(id)[1]
	same("deleted on the server", ledger.Reconciliation{
		Folders: folders(ledger.ReconciledFolder{OnServer: 4, InLedger: 5, Gone: 1, GoneIDs: []int64{gone.ID}}),
	})

	// A mishap: the cursor passes a mail that was not taken.
	work.add(raws[5])
	var listed ledger.ServerMails
	servers := ingest.NewServers(ingest.ServersConfig{AllowPrivateHosts: true})
	err := servers.List(ctx, check(b.intake.Source(ctx, b.desk.AccountID(), id))(t), time.Time{}, func(_ context.Context, some ledger.ServerMails) error {
		listed = some
		return nil
	})
	if err != nil || len(listed.Positions) != 5 {
		t.Fatalf("%+v: %v", listed, err)
	}
	cursor := ledger.FolderCursor{Folder: listed.Cursor, Cursor: listed.At[4]}
	if err := b.intake.Take(ctx, b.desk.AccountID(), id, "imap", nil, &cursor); err != nil {
		t.Fatal(err)
	}
	missed := ledger.ReconciledFolder{
		OnServer: 5, InLedger: 5, Missing: 1, MissingPositions: listed.Positions[4:], Gone: 1, GoneIDs: []int64{gone.ID},
	}
	same("passed over", ledger.Reconciliation{Folders: folders(missed)})
	for range 2 { // a repeated request fetches nothing twice
		if err := b.desk.Mailboxes().Backfill(ctx, id, time.Now().AddDate(0, 0, -1)); err != nil {
			t.Fatal(err)
		}
	}
	claimed := check(db.Claim(ctx, map[string]int{helpdesk.JobBackfill: 10}, time.Now().Add(time.Minute), time.Now().Add(time.Hour)))(t)
	for _, job := range claimed {
		if err := b.again().Backfill(ctx, job); err != nil {
			t.Fatal(err)
		}
	}
	file()
	filled := ledger.ReconciledFolder{OnServer: 5, InLedger: 6, Gone: 1, GoneIDs: []int64{gone.ID}}
	same("backfilled", ledger.Reconciliation{Folders: folders(filled)})

	// The server renumbers. Imported mails are recognised by their identity.
	work.anew()
	work.add(slices.Concat(raws[:1], raws[2:])...)
	same("numbered anew", ledger.Reconciliation{Elsewhere: 6, Folders: folders(ledger.ReconciledFolder{OnServer: 6, Waiting: 6})})
	b.importOnce(0, id, 12)
	file()
	same("imported again", ledger.Reconciliation{Elsewhere: 6, Folders: folders(ledger.ReconciledFolder{OnServer: 6, InLedger: 6})})
	states := map[ledger.State]int{}
	for _, row := range b.rows(id) {
		if states[row.State]++; row.State == ledger.Ignored && !strings.Contains(row.Reason, "a double of mail "+strconv.FormatInt(b.rows(id)[0].ID, 10)) {
			states["double"]++
		}
	}
	want := map[ledger.State]int{ledger.Filed: 7, ledger.Ignored: 5, "double": 4}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Error(diff)
	}
	page := check(b.desk.Conversations().List(ctx, helpdesk.ConversationQuery{}, storage.PageRequest{}))(t)
	if len(page.Items) != 7 {
		t.Errorf("%d conversations of 7 mails", len(page.Items))
	}
}
