package ingest_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
	"github.com/helpwright/helpwright/storage/fileblob"
	"github.com/helpwright/helpwright/storage/jobs"
	"github.com/helpwright/helpwright/storage/testenv"
)

// BenchmarkImport imports 10,000 mails from Dovecot by IMAP and files them, with either database and files on disk, all
// parts at work as in the server. The floor fetches the same mails with the bare library, one command for all of them, and
// parses them with the bare library: nothing is kept. Told are the CPU seconds of this process for 1,000 mails (that of
// PostgreSQL is another) and the most memory that it had at a time. Run it with -benchtime 1x.
func BenchmarkImport(b *testing.B) {
	const mails = 10_000
	dovecot := testenv.Dovecot(b)
	user := testenv.Name("import")
	for i := range mails {
		maildir(b, dovecot, user, string(rawMail(i))+strings.Repeat("x", i%7*1000))
	}
	b.Run("floor", func(b *testing.B) {
		for range b.N {
			measured(b, mails, func() { bareImport(b, dovecot, user, mails) })
		}
	})
	b.Run("SQLite", func(b *testing.B) {
		for range b.N {
			dir := b.TempDir()
			measured(b, mails, func() { wholeImport(b, "sqlite:"+dir+"/import.db", dir, dovecot, user, mails) })
		}
	})
	b.Run("PostgreSQL", func(b *testing.B) {
		for range b.N {
			dir, url := b.TempDir(), testenv.Postgres(b)
			measured(b, mails, func() { wholeImport(b, url, dir, dovecot, user, mails) })
		}
	})
}

// measured reports the cost of a run.
func measured(b *testing.B, mails int, run func()) {
	b.Helper()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak begins anew
	before, began := cpu(b), time.Now()
	run()
	b.ReportMetric((cpu(b)-before).Seconds()*1000/float64(mails), "cpu-s/1000")
	b.ReportMetric(float64(mails)/time.Since(began).Seconds(), "mails/s")
	b.ReportMetric(peak(b), "peak-MiB")
	b.ReportMetric(0, "ns/op")
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// peak returns the peak memory of this process, in MiB; 0 if the system does not provide it.
func peak(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for s := bufio.NewScanner(bytes.NewReader(status)); s.Scan(); {
		var kb float64
		if _, err := fmt.Sscanf(s.Text(), "VmHWM: %f kB", &kb); err == nil {
			return kb / 1024
		}
	}
	return 0
}

func bareImport(b *testing.B, dovecot testenv.DovecotServer, user string, mails int) {
	b.Helper()
	client := check(imapclient.DialInsecure(dovecot.Addr, nil))(b)
	defer client.Close()
	if err := client.Login(user, dovecot.Password).Wait(); err != nil {
		b.Fatal(err)
	}
	check(client.Select("INBOX", &goimap.SelectOptions{ReadOnly: true}).Wait())(b)
	section := &goimap.FetchItemBodySection{Peek: true}
	cmd := client.Fetch(goimap.SeqSet{{Start: 1, Stop: 0}}, &goimap.FetchOptions{BodySection: []*goimap.FetchItemBodySection{section}})
	n := 0
	for msg := cmd.Next(); msg != nil; msg = cmd.Next() {
		for item := msg.Next(); item != nil; item = msg.Next() {
			if body, ok := item.(imapclient.FetchItemDataBodySection); ok {
				bareParse(b, check(io.ReadAll(body.Literal))(b))
				n++
			}
		}
	}
	if err := cmd.Close(); err != nil || n != mails {
		b.Fatalf("%d mails, %v", n, err)
	}
}

func wholeImport(b *testing.B, url, dir string, dovecot testenv.DovecotServer, user string, mails int) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	db := check(both.Open(ctx, url, bunstore.Config{}))(b)
	defer db.Close()
	if err := db.Migrate(ctx); err != nil {
		b.Fatal(err)
	}
	blobs := check(fileblob.Open(dir + "/blobs"))(b)
	sealer := check(storage.NewSealer(make([]byte, 32)))(b)
	svc := check(helpdesk.New(helpdesk.Config{Store: db, Blobs: blobs, Sealer: sealer, SigningKey: make([]byte, 32)}))(b)
	owner := check(svc.Operator().CreateUser(ctx, identity.UserInput{Email: "o@example.org"}))(b)
	account := check(svc.Operator().CreateAccount(ctx, identity.AccountInput{Name: "Bench"}, owner.ID))(b)
	desk := check(svc.Desk(ctx, svc.As(owner.ID), account.ID))(b)
	check(desk.Mailboxes().Create(ctx, helpdesk.MailboxInput{
		Email: storage.Some("support@example.org"), Inbound: storage.Some(inbound(b, ledger.InboundIMAP, dovecot.Addr, user, dovecot.Password)),
	}))(b)
	filer := check(ingest.NewFiler(ingest.FilerConfig{Intake: svc.Intake()}))(b)
	runner := check(jobs.New(jobs.Config{
		Jobs: db, Handlers: map[string]jobs.Handler{
			helpdesk.JobFileMail:   {Func: filer.Handle, Workers: 4, MaxAttempts: 5},
			helpdesk.JobPurgeBlobs: {Func: svc.Jobs().PurgeBlobs, Workers: 1, MaxAttempts: 5},
		},
	}))(b)
	servers := ingest.NewServers(ingest.ServersConfig{AllowPrivateHosts: true})
	fetcher := check(ingest.NewFetcher(ingest.FetcherConfig{Intake: svc.Intake(), Servers: servers}))(b)
	ended := make(chan error, 3)
	for _, run := range []func(context.Context) error{db.Run, runner.Run, fetcher.Run} {
		go func() { ended <- run(ctx) }()
	}
	for {
		last := check(desk.Account().Get(ctx))(b)
		if last.NextNumber > int64(mails) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	cancel()
	for range 3 {
		<-ended
	}
}
