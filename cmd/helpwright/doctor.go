package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/helpwright/helpwright/helpdesk/dnscheck"
	"github.com/helpwright/helpwright/helpdesk/ingest"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/backup"
)

type doctorCmd struct{}

// Run runs all checks and prints how to fix the problems. It changes nothing, except for a probe file that it removes again,
// and fails if a check fails. If there are very many files, it checks as many as it can in a minute.
func (doctorCmd) Run(s *session) error {
	d := &doctor{session: s, w: s.stdout}
	if !d.check("configuration", s.settings.check(), "correct the settings named above") {
		return errSick
	}
	d.ports()
	d.modes()
	d.disks()
	d.certificateFiles()
	keys := d.secretKey()
	if !d.bucket() {
		return errSick
	}
	a := d.database(keys)
	if a != nil {
		defer a.close()
		d.stored(a, keys)
		d.replica()
	}
	d.intake()
	d.relay()
	d.openID()
	d.mailSignIn()
	d.passkeys()
	if d.failed > 0 {
		return errSick
	}
	return nil
}

// stored checks the stored data.
func (d *doctor) stored(a *app, keys [][]byte) {
	d.check("integrity of the database", a.db.CheckIntegrity(d.ctx), "restore the database from a backup, or what can be read of it with sqlite3's .recover")
	d.clocks(a)
	advice := "make the folder of HELPWRIGHT_BLOB_URL writable for this user, and see that its disk is not full"
	if d.settings.blobFolder() == "" {
		advice = "let the access key of HELPWRIGHT_BLOB_URL write, read and delete what is in the bucket, and see that the server is not full"
	}
	d.check("blobs", probe(d.ctx, a.files), advice)
	d.files(a)
	d.sizes(a)
	if sealer, err := storage.NewSealer(keys...); err == nil {
		d.authority(d.ctx, a.db, sealer)
		d.sealedWith(a)
	}
	d.mailboxes(a)
}

var errSick = errors.New("some checks failed: see what to do above")

// doctor prints one line for each check.
type doctor struct {
	*session
	w      io.Writer
	failed int
}

func (d *doctor) check(what string, err error, advice string) bool {
	if err == nil {
		fmt.Fprintf(d.w, "ok    %s\n", what)
		return true
	}
	d.failed++
	fmt.Fprintf(d.w, "FAIL  %s: %s\n      to do: %s\n", what, shown(err), advice)
	return false
}

func (d *doctor) note(what, text string) { fmt.Fprintf(d.w, "note  %s: %s\n", what, text) }

// secretKey returns the keys, nil if there are none yet, or none that can be used.
func (d *doctor) secretKey() [][]byte {
	what, advice := "secret key (HELPWRIGHT_SECRET_KEY)", "correct HELPWRIGHT_SECRET_KEY"
	if path := filepath.Join(d.data, "secret.key"); d.settings.SecretKey == "" {
		what, advice = "secret key ("+path+")", "chmod 600 "+path
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			d.note("secret key", path+" is made at the first start")
			return nil
		case err == nil && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
			d.check(what, fmt.Errorf("%s can be read by others (mode %o)", path, info.Mode().Perm()), advice)
			what = "" // reported already
		}
		advice = "let this user read it, or restore it from a backup"
	}
	keys, err := d.settings.loadKeys()
	if what != "" || err != nil {
		d.check(cmp.Or(what, "secret key"), err, advice)
	}
	return keys
}

// bucket checks the bucket of the files, if they are in one.
func (d *doctor) bucket() bool {
	if d.settings.blobFolder() != "" {
		return true
	}
	files, err := d.openReachable(d.settings.BlobURL)
	if err == nil {
		_ = files.Close()
	}
	return d.check("bucket of the files", err, "correct HELPWRIGHT_BLOB_URL, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what is named above")
}

// database opens everything, one part after the other, and returns nil if that fails. Missing parts are not created.
func (d *doctor) database(keys [][]byte) *app {
	if path := d.settings.sqliteFile(); path != "" {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			if err := d.refuseLostFile(); err != nil {
				d.check("database", err, "mount its disk, or correct HELPWRIGHT_DATABASE_URL")
				return nil
			}
			d.note("database", path+" is made at the first start")
			return nil
		}
	}
	if err := backup.Interrupted(d.data); err != nil {
		d.check("restore", err, "run helpwright restore again to continue")
		return nil
	}
	db, err := d.reach()
	if !d.check("database", err, "see that HELPWRIGHT_DATABASE_URL names a database that runs and that this user may use, and with a standby also its primary: postgres://USER:PASS@HOST1,HOST2/DB; a pooler of transactions needs ?pool_mode=transaction in the address") {
		return nil
	}
	a := &app{session: d.session, db: db}
	if d.schema(a) && d.openAll(a, keys) {
		return a
	}
	a.close()
	return nil
}

// schema checks that the schema is this program's.
func (d *doctor) schema(a *app) bool {
	const what = "schema of the database"
	if !d.check(what, a.db.CheckSchema(d.ctx), "run the release that the database was last used with, or a later one") {
		return false
	}
	done, err := a.db.Applied(d.ctx)
	pending, pendingErr := a.db.Pending(d.ctx)
	switch {
	case err == nil && len(done) == 0:
		d.note(what, "is made at the first start")
		return false
	case err == nil && pendingErr == nil && len(pending) > 0:
		err = fmt.Errorf("it is that of an earlier release: %d changes are missing", len(pending))
	}
	return d.check(what+", its release", errors.Join(err, pendingErr), "helpwright migrate brings it up to date, as the start of a server does") && d.writes(a)
}

// writesLimit is the maximum duration of the check of writes, which wait for other writers.
const writesLimit = 10 * time.Second

// writes checks that the database takes writes.
func (d *doctor) writes(a *app) bool {
	ctx, cancel := context.WithTimeout(d.ctx, writesLimit)
	defer cancel()
	return d.check("writing to the database", a.db.TryWrite(ctx), "free space on its disk, or end what keeps it read-only; if it is a standby of PostgreSQL, name the primary, or both: postgres://USER:PASS@HOST1,HOST2/DB")
}

// openAll opens the parts of a server other than its database.
func (d *doctor) openAll(a *app, keys [][]byte) (ok bool) {
	if keys == nil {
		return d.check("secret key", errors.New("there is none, and the database needs it"), "restore secret.key from a backup into HELPWRIGHT_DATA, or set HELPWRIGHT_SECRET_KEY: what was sealed with it does not open with another")
	}
	var err error
	if a.files, err = a.openFiles(); !d.check("store of files (HELPWRIGHT_BLOB_URL)", err, "make the folder readable and writable for this user, or correct the address") {
		return false
	}
	return d.check("parts of the server", a.assemble(keys, nil), "correct what is named")
}

// filesLimit is the maximum duration of the check of files.
const filesLimit = time.Minute

// files checks that blobs and database belong together, and that every file in the database exists.
func (d *doctor) files(a *app) {
	if !d.check("mark of the blobs", a.Tie().Look(d.ctx), "mount the disk of HELPWRIGHT_BLOB_URL or restore it from a backup; the server waits, and goes on by itself. If these are the right files all the same: helpwright blobs adopt") {
		return
	}
	began, looked, missing, after := time.Now(), 0, 0, ""
	const page = 500
	for time.Since(began) < filesLimit {
		keys, err := a.db.ListNamedBlobs(d.ctx, after, page)
		if err != nil {
			d.check("list of files", err, "see the database's own log")
			return
		}
		for _, key := range d.absent(a.files, keys) {
			if missing++; missing <= 5 {
				d.note("missing file", key)
			}
		}
		if looked += len(keys); len(keys) > 0 {
			after = keys[len(keys)-1]
		}
		if len(keys) < page {
			after = ""
			break
		}
	}
	what := fmt.Sprintf("files that the database names (%d)", looked)
	if after != "" {
		what = fmt.Sprintf("files that the database names (the first %d)", looked)
	}
	var err error
	if missing > 0 {
		err = fmt.Errorf("%d are missing", missing)
	}
	d.check(what, err, "restore them from a backup into HELPWRIGHT_BLOB_URL")
}

// statsAtOnce is the number of concurrent requests for files, as a bucket may be far away.
const statsAtOnce = 16

// absent returns those keys whose files are missing.
func (d *doctor) absent(files storage.Blobs, keys []string) []string {
	var group errgroup.Group
	group.SetLimit(statsAtOnce)
	absent := make([]bool, len(keys))
	for i, key := range keys {
		group.Go(func() error {
			_, err := files.Stat(d.ctx, key)
			absent[i] = err != nil
			return nil
		})
	}
	_ = group.Wait()
	var found []string
	for i, key := range keys {
		if absent[i] {
			found = append(found, key)
		}
	}
	return found
}

// mailboxes tests the connection of every mailbox whose mail is fetched.
func (d *doctor) mailboxes(a *app) {
	sources, err := a.Service().Intake().Sources(d.ctx)
	if !d.check("list of mailboxes", err, "see the database's own log") {
		return
	}
	test := ingest.NewServers(ingest.ServersConfig{AllowPrivateHosts: d.settings.AllowPrivateHosts, Logger: d.log}).Test
	for _, source := range sources {
		name := fmt.Sprintf("mailbox %d (%s)", source.MailboxID, source.Inbound.Type)
		d.check(name, d.try(test, source), "correct the mailbox's connection: host, port, encryption, username, password and folders")
		d.tagged(a, name, source)
	}
}

func (d *doctor) try(test func(context.Context, ledger.FetchSource) error, source ledger.FetchSource) error {
	ctx, cancel := context.WithTimeout(d.ctx, 30*time.Second)
	defer cancel()
	if source.Problem != "" {
		return errors.New(source.Problem)
	}
	return test(ctx, source)
}

func (d *doctor) intake() {
	if d.settings.IntakeListen == "" {
		d.note("mail intake", "is switched off: mailboxes of type FWD receive nothing")
		return
	}
	if d.settings.IntakeDomain == "localhost" {
		d.note("mail intake", "its domain is localhost: no mail from outside reaches it, and replies to answers of mailboxes of type FWD do not either; set HELPWRIGHT_INTAKE_DOMAIN")
		return
	}
	ctx, cancel := context.WithTimeout(d.ctx, 10*time.Second)
	defer cancel()
	hosts, err := dnscheck.NewResolver(d.settings.DNSServer).LookupMX(ctx, d.settings.IntakeDomain)
	if err == nil && len(hosts) == 0 {
		err = errors.New("there is no MX record")
	}
	d.check("DNS of the intake domain", err, "publish an MX record of "+d.settings.IntakeDomain+" that names this server, or a relay that forwards to HELPWRIGHT_INTAKE_LISTEN")
	d.returnPath()
}

// returnPath checks the SPF record of the intake domain: answers of mailboxes whose mail arrives there are sent with an
// envelope address in it, so that bounces come back. The program cannot know how its owner authorizes the relay, so nothing
// fails.
func (d *doctor) returnPath() {
	if d.settings.SMTPURL == "" {
		return
	}
	const what = "SPF of the intake domain"
	want := dnscheck.Record{Type: "TXT", Name: d.settings.IntakeDomain, Value: "v=spf1 " + d.settings.SPF + " ~all"}
	found := dnscheck.Checker{Resolver: dnscheck.NewResolver(d.settings.DNSServer)}.Check(d.ctx, []dnscheck.Record{want})[0]
	switch {
	case found.Verified:
		d.check(what, nil, "")
	case found.Unknown:
		d.note(what, found.Problem)
	default:
		d.note(what, found.Problem+" The envelopes of answers of forwarded mailboxes have addresses of this domain, so that bounces come back: "+
			"receivers may distrust them unless a TXT record of "+want.Name+" lets the relay pass\n      to do: publish "+want.Value+
			", or add to the record that is there what lets the relay pass, and name that in HELPWRIGHT_SPF")
	}
}

func (d *doctor) relay() {
	if d.settings.SMTPURL == "" {
		d.note("relay", "none is set: answers are spooled into "+filepath.Join(d.data, "outbox")+" and reach nobody")
		return
	}
	relays, err := outbound.ParseRelayURLs(d.settings.SMTPURL)
	if err != nil {
		relays = make([]outbound.RelayConfig, 1) // one check, for the problem of the setting
	}
	for n, cfg := range relays {
		name := "relay"
		if len(relays) > 1 {
			name = fmt.Sprintf("relay %d", n+1)
		}
		if err == nil {
			err = checkRelay(d.ctx, cfg)
		}
		d.check(name, err, "correct HELPWRIGHT_SMTP_URL: host, port, tls, user and password; nothing is lost meanwhile, answers wait")
		err = nil
	}
}

func checkRelay(ctx context.Context, cfg outbound.RelayConfig) error {
	relay, err := outbound.NewRelay(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return relay.Check(ctx)
}

func probeReader() io.Reader { return strings.NewReader("probe") }
