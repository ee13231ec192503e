package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
)

const (
	sizesTime = 20 * time.Second // for counting
	maxSkew   = 30 * time.Second // between two clocks
)

// sizes prints the sizes of growing data.
func (d *doctor) sizes(a *app) {
	ctx, cancel := context.WithTimeout(d.ctx, sizesTime)
	defer cancel()
	if sizes, err := a.db.Sizes(ctx); err != nil {
		d.note("sizes of tables", "are not known: "+shown(err))
	} else {
		var parts []string
		for _, s := range sizes {
			part := strings.TrimPrefix(s.Name, "hw_") + " "
			if s.Rows < 0 {
				part += "?"
			} else {
				part += fmt.Sprint(s.Rows)
			}
			if s.Bytes > 0 {
				part += " (" + megabytes(s.Bytes) + ")"
			}
			parts = append(parts, part)
		}
		d.note("rows of tables that grow", strings.Join(parts, ", "))
	}
	files, bytes := 0, int64(0)
	err := storage.WalkBlobs(ctx, a.files, "", func(found []storage.BlobInfo) error {
		for _, f := range found {
			files++
			bytes += f.Size
		}
		return ctx.Err()
	})
	text := fmt.Sprintf("%d, %s", files, megabytes(bytes))
	if err != nil {
		text = "more than " + text
	}
	d.note("files of mails, attachments and sites", text)
}

// clock returns the server's time.
func (d *doctor) clock() time.Time {
	if d.now != nil {
		return d.now()
	}
	return time.Now()
}

// clocks compares this machine's clock with those of the servers that it uses.
func (d *doctor) clocks(a *app) {
	const advice = "let both machines set their clocks by NTP: leases, signatures and the order of messages go by them"
	began := d.clock()
	theirs, err := a.db.Clock(d.ctx)
	if err != nil {
		d.check("clock of the database", err, "see the database's own log")
	} else if !theirs.IsZero() {
		d.check("clock of the database", skew(began, d.clock(), theirs), advice)
	}
	if endpoint := d.settings.bucketEndpoint(); endpoint != "" {
		began := d.clock()
		if theirs, err := dated(d.ctx, endpoint); err == nil { // access is checked elsewhere
			d.check("clock of the bucket's server", skew(began, d.clock(), theirs), advice)
		}
	}
}

// bucketEndpoint returns the address of the server of a bucket, except Amazon's, whose clock is right.
func (s *Settings) bucketEndpoint() string {
	u, err := url.Parse(s.BlobURL)
	if err != nil || u.Scheme != "s3" {
		return ""
	}
	return u.Query().Get("endpoint")
}

// skew returns an error if a server's time differs too much from the time of its request and that of its answer.
func skew(before, after, theirs time.Time) error {
	switch {
	case theirs.Before(before.Add(-maxSkew)):
		return fmt.Errorf("it is %v behind this machine's", before.Sub(theirs).Round(time.Second))
	case theirs.After(after.Add(maxSkew)):
		return fmt.Errorf("it is %v ahead of this machine's", theirs.Sub(after).Round(time.Second))
	}
	return nil
}

// dated returns the Date of a server's answer, whatever its status.
func dated(ctx context.Context, address string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return time.Time{}, err
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return time.Time{}, err
	}
	_ = res.Body.Close()
	return http.ParseTime(res.Header.Get("Date"))
}

// tagged determines whether a mailbox receives mail at a tagged address: from the mail of the mailbox's own test, or else by
// a trial with the relay that sends no mail.
func (d *doctor) tagged(a *app, name string, source ledger.FetchSource) {
	found, err := a.Service().Intake().TaggedAddress(d.ctx, source.AccountID, source.MailboxID)
	if err != nil {
		return
	}
	what := name + ", address with a tag"
	const advice = "let the mail server know such addresses (recipient_delimiter = + of Postfix, subaddressing of others) and test the mailbox again; or set the mailbox's reply_address"
	switch found.State {
	case ledger.ProbeArrived:
		d.check(what, nil, "")
		return
	case ledger.ProbeRefused, ledger.ProbeMissing:
		d.check(what, errors.New(found.Text), advice)
		return
	}
	if refused := d.refusesTags(source.Email); refused != "" {
		d.check(what, errors.New(refused), advice)
		return
	}
	d.note(what, found.Text)
}

// refusesTags returns the relay's objection to a tagged address if it accepts the address without the tag.
func (d *doctor) refusesTags(email string) string {
	at := strings.LastIndexByte(email, '@')
	relays, err := outbound.ParseRelayURLs(d.settings.SMTPURL)
	if at <= 0 || d.settings.SMTPURL == "" || err != nil {
		return ""
	}
	relay, err := outbound.NewRelay(relays[0])
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(d.ctx, 30*time.Second)
	defer cancel()
	results, err := relay.Ask(ctx, email, []string{email, email[:at] + "+doctor" + email[at:]})
	if err != nil || results[0].State != "" || results[1].State != sending.Failed {
		return ""
	}
	return fmt.Sprintf("the relay takes mail for the mailbox's address, and none for it with a tag: %d %s", results[1].Code, results[1].Response)
}

// replicaTime is how long a replica may take to show that it is current.
const replicaTime = 3 * time.Second

// replica checks the replica of the database, if there is one.
func (d *doctor) replica() {
	const what, back = "replica of the database", "; until then, lists are read from the primary"
	if d.settings.ReplicaURL == "" {
		return
	}
	db, err := both.Open(d.ctx, d.settings.DatabaseURL, bunstore.Config{Replica: d.settings.ReplicaURL})
	if wrong := wrongReplica(err); wrong != nil {
		err = wrong
	}
	if err != nil {
		d.check(what, err, "correct HELPWRIGHT_DATABASE_REPLICA_URL, or leave it empty")
		return
	}
	defer func() { _ = db.Close() }()
	var is bunstore.ReplicaStatus
	for end := time.Now().Add(replicaTime); time.Now().Before(end) && d.ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		if is = db.Replica(); is.State == bunstore.ReplicaCurrent {
			break
		}
	}
	switch is.State {
	case bunstore.ReplicaCurrent:
		d.check(fmt.Sprintf("%s, at most %v behind", what, is.Lag.Round(10*time.Millisecond)), nil, "")
	case bunstore.ReplicaUnreachable:
		d.check(what, errors.New("it does not answer"), "see that the server of HELPWRIGHT_DATABASE_REPLICA_URL runs, takes connections while it recovers (hot_standby) and knows the user"+back)
	case bunstore.ReplicaWrong:
		d.check(what, errors.New("it is the primary at the moment"), "after a failover, set HELPWRIGHT_DATABASE_REPLICA_URL to a standby of this server"+back)
	default:
		err := errors.New("it is more than a second behind")
		if is.Lag >= 0 {
			err = fmt.Errorf("it is %v behind", is.Lag.Round(100*time.Millisecond))
		}
		d.check(what, err, "see pg_stat_replication on the primary, and whether the replay is paused or waits for long queries (max_standby_streaming_delay)"+back)
	}
}
