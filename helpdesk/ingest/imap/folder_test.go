package imap_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/ingest/imap"
	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire/wiretest"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/storage/testenv"
)

func searches(commands []string) int {
	n := 0
	for _, command := range commands {
		if strings.HasPrefix(command, "UID SEARCH") {
			n++
		}
	}
	return n
}

// A server with CONDSTORE reports that nothing has changed, and is not searched.
func TestUnchangedFolderIsNotSearched(t *testing.T) {
	t.Parallel()
	for _, condstore := range []bool{false, true} {
		t.Run(fmt.Sprint(condstore), func(t *testing.T) {
			t.Parallel()
			var looks atomic.Int32
			server := &fakeServer{mails: fakeMails(2), caps: "CONDSTORE"}
			server.hook = func(c *fakeConn, tag, command string) bool {
				if !strings.HasPrefix(command, "EXAMINE") {
					return false
				}
				looks.Add(1)
				c.mu.Lock()
				n := len(c.mails)
				c.mu.Unlock()
				c.say("* %d EXISTS\r\n* OK [UIDVALIDITY 7] valid", n)
				if condstore {
					c.say("* OK [HIGHESTMODSEQ %d] grows", 100+n)
				} else {
					c.say("* OK [NOMODSEQ] none")
				}
				c.say("%s OK done", tag)
				return true
			}
			cfg := server.start(t)
			cfg.PollInterval = 5 * time.Millisecond
			sink := newSink()
			wiretest.Run(t, newSource(t, cfg, sink))
			sink.wait(t, "several looks", func() bool { return looks.Load() > 5 })
			before := searches(server.heard())
			if condstore != (before == 1) {
				t.Errorf("%d searches at %d looks", before, looks.Load())
			}
			server.deliver(fakeMails(3)[2])
			sink.wait(t, "the new mail", func() bool { return len(sink.mails["INBOX"]) == 3 })
		})
	}
}

// A connection that has died unnoticed while it idled is replaced when the server does not answer DONE.
func TestHalfOpenConnection(t *testing.T) {
	t.Parallel()
	server := &fakeServer{mails: fakeMails(1), caps: "IDLE"}
	server.hook = func(c *fakeConn, _, command string) bool {
		if command != "IDLE" || c.number > 1 {
			return false
		}
		c.say("+ idling")
		_, _ = c.lines.ReadString(0) // nothing is heard any more
		return true
	}
	cfg := server.start(t)
	cfg.IdleInterval, cfg.StepTimeout = 10*time.Millisecond, 200*time.Millisecond
	sink := newSink()
	wiretest.Run(t, newSource(t, cfg, sink))
	sink.wait(t, "the first mail", func() bool { return len(sink.mails["INBOX"]) == 1 })
	server.deliver(fakeMails(2)[1])
	sink.wait(t, "the second mail", func() bool { return len(sink.mails["INBOX"]) == 2 })
	if n := server.connections(); n < 2 {
		t.Errorf("%d connections, want another one", n)
	}
}

// countingSink takes mails and forgets them; it remembers the most memory that was in use.
type countingSink struct {
	cursor mailserver.Cursor
	mails  int
	most   uint64
}

func (s *countingSink) Cursor(context.Context, string) (mailserver.Cursor, error) {
	return s.cursor, nil
}
func (s *countingSink) Status(context.Context, imap.Status) {}

func (s *countingSink) Take(_ context.Context, _ string, mails []imap.Mail, next mailserver.Cursor) error {
	for _, mail := range mails {
		if mail.UID <= s.cursor.UID {
			return fmt.Errorf("mail %d after %d", mail.UID, s.cursor.UID)
		}
		s.cursor.UID = mail.UID
	}
	s.mails += len(mails)
	s.cursor = next
	if s.mails%10_000 < len(mails) {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		s.most = max(s.most, stats.HeapAlloc)
	}
	return nil
}

// A folder of a hundred thousand mails, 400 MB, passes through a little memory.
func TestLargeFolder(t *testing.T) {
	t.Parallel()
	const count, bound = 100_000, 128 << 20
	body := "Subject: x\r\n\r\n" + strings.Repeat("y", 4<<10) + "\r\n"
	server := &fakeServer{}
	server.hook = func(c *fakeConn, tag, command string) bool {
		var out strings.Builder
		switch fields := strings.Fields(command); {
		case fields[0] == "EXAMINE":
			fmt.Fprintf(&out, "* %d EXISTS\r\n* OK [UIDVALIDITY 7] valid\r\n", count)
		case strings.HasPrefix(command, "UID SEARCH"):
			out.WriteString("* SEARCH")
			for uid := 1; uid <= count; uid++ {
				fmt.Fprintf(&out, " %d", 2*uid)
			}
			out.WriteString("\r\n")
		case strings.HasPrefix(command, "UID FETCH"):
			for uid := range strings.SplitSeq(fields[2], ",") {
				if strings.Contains(command, "RFC822.SIZE") {
					fmt.Fprintf(&out, "* 1 FETCH (UID %s RFC822.SIZE %d)\r\n", uid, len(body))
				} else {
					fmt.Fprintf(&out, "* 1 FETCH (UID %s BODY[] {%d}\r\n%s)\r\n", uid, len(body), body)
				}
			}
		default:
			return false
		}
		fmt.Fprintf(&out, "%s OK done\r\n", tag)
		_, _ = c.Write([]byte(out.String()))
		return true
	}
	sink := &countingSink{}
	once(t, newSource(t, server.start(t), sink))
	if sink.mails != count || sink.cursor.UID != 2*count {
		t.Errorf("%d mails, cursor %+v", sink.mails, sink.cursor)
	}
	if sink.most > bound {
		t.Errorf("%d MiB were in use", sink.most>>20)
	}
	t.Logf("%d MiB at most", sink.most>>20)
}

// append puts mails into a folder with the time at which the server received them.
func (a *account) append(t *testing.T, folder string, at time.Time, raws ...string) {
	t.Helper()
	for _, raw := range raws {
		cmd := a.client.Append(folder, int64(len(raw)), &goimap.AppendOptions{Time: at})
		if _, err := cmd.Write([]byte(raw)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// Mails before a given day are left alone, even after the server has renumbered, until they are requested.
func TestDovecotSince(t *testing.T) {
	t.Parallel()
	a := newAccount(t, testenv.Dovecot(t))
	day := time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC)
	older, old, fresh := rawMails("older", 3), rawMails("old", 4), rawMails("new", 5)
	a.append(t, "INBOX", day.AddDate(0, -2, 0), older...)
	a.append(t, "INBOX", day.AddDate(0, 0, -2), old...)
	a.append(t, "INBOX", day, fresh[:3]...)
	cfg := a.config(t, a.server.Addr, mailserver.None)
	cfg.Since = day
	sink := newSink()
	source := newSource(t, cfg, sink)
	once(t, source)
	a.append(t, "INBOX", day.AddDate(0, 0, 1), fresh[3:]...)
	once(t, source)
	if diff := cmp.Diff(fresh, texts(sink.taken(t, "INBOX"))); diff != "" {
		t.Fatal(diff)
	}
	// Each requests the rest, some of it by its day.
	for since, want := range map[time.Time][]string{
		{}:                    slices.Concat(older, old, fresh),
		day.AddDate(0, 0, -2): slices.Concat(old, fresh),
		day.AddDate(1, 0, 0):  nil,
	} {
		all := newSink()
		backfill := newSource(t, cfg, anySink{all})
		err := backfill.Each(t.Context(), since, func(_ context.Context, folder string, validity uint32, uids []uint32) ([]uint32, error) {
			if folder != "INBOX" || validity == 0 {
				t.Errorf("folder %q, UIDVALIDITY %d", folder, validity)
			}
			return uids, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, texts(all.mails["INBOX"])); diff != "" {
			t.Errorf("since %v: %s", since, diff)
		}
	}
}

// anySink takes mails whatever the cursor.
type anySink struct{ *memorySink }

func (s anySink) Take(_ context.Context, folder string, mails []imap.Mail, _ mailserver.Cursor) error {
	s.mails[folder] = append(s.mails[folder], mails...)
	return nil
}
