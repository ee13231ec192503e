package smtpin_test

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ingest/smtpin"
)

// For any input, every line of the reply is well formed, nothing panics, and the ledger has every mail answered with 250.
func FuzzSession(f *testing.F) {
	w := newWorld(f)
	l := newPipeListener()
	w.start(f, smtpin.Config{Listener: l, MaxSize: 5000, MaxRecipients: 3, CommandTimeout: 10 * time.Second})
	line := regexp.MustCompile(`^[245]\d\d( [245]\.\d\.\d{1,3})?[ -][ -~]+$|^(220|221|250|354)[ -][ -~]+$`)
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 20_000 {
			return
		}
		before := len(w.raws(t, 0))
		c := l.dial(t)
		go func() {
			_, _ = io.WriteString(c.conn, strings.ReplaceAll(string(input), "BOX", w.address(0)))
			_, _ = io.WriteString(c.conn, "\r\n.\r\nQUIT\r\n")
		}()
		_ = c.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		said, err := io.ReadAll(c.r)
		if err != nil {
			t.Fatal(err)
		}
		c.conn.Close()
		taken := 0
		for one := range strings.SplitSeq(strings.TrimSuffix(string(said), "\r\n"), "\r\n") {
			if one != "" && !line.MatchString(one) {
				t.Errorf("answer %q", one)
			}
			if strings.HasPrefix(one, "250 2.6.0") {
				taken++
			}
		}
		// The list shows at most one page; it is long enough for one input.
		if got := len(w.raws(t, 0)) - before; got != taken && before+taken < 50 {
			t.Errorf("%d mails in the ledger, %d answered", got, taken)
		}
		if strings.Contains(w.log.String(), "panic") {
			t.Fatal(w.log.String())
		}
	})
}
