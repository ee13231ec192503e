package imap

import (
	"context"
	"errors"
	"net"
	"time"

	goimap "github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"
	"github.com/emersion/go-sasl"

	"github.com/helpwright/helpwright/helpdesk/ingest/internal/wire"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

const (
	smallAnswer = 1 << 20  // limit of a response without a message
	listAnswer  = 64 << 20 // limit of a list of UIDs: some six million of them
)

// session is one authenticated connection. It is for one goroutine and one command at a time, because servers mix up the
// responses of several FETCH commands.
type session struct {
	cfg     *Config
	conn    *wire.Conn
	guard   *guard
	client  *imapclient.Client
	wake    chan struct{} // holds a value when the number of mails in the selected folder may have changed
	canIdle bool
}

// connect dials, secures the connection and logs in. Errors are *StepError, or ctx's. A rejected access token may have
// expired early, so it retries with a new one over another connection.
func connect(ctx context.Context, cfg *Config) (s *session, err error) {
	err = cfg.Authorize(ctx, protocol, func(token string) error {
		s = &session{cfg: cfg, wake: make(chan struct{}, 1)}
		if err := s.dial(ctx); err != nil {
			return err
		}
		if err := s.logIn(ctx, token); err != nil {
			s.abort()
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *session) dial(ctx context.Context) error {
	link, err := s.cfg.Connect(ctx, protocol, explain, startTLS)
	if err != nil {
		return err
	}
	s.conn = link.Conn
	options := &imapclient.Options{
		UnilateralDataHandler: &imapclient.UnilateralDataHandler{
			Mailbox: func(data *imapclient.UnilateralDataMailbox) {
				if data.NumMessages != nil {
					s.notify()
				}
			},
		},
	}
	plain := link.Plain
	if s.cfg.Encryption == mailserver.STARTTLS {
		plain = &greetedConn{Conn: plain}
	}
	s.guard = newGuard(plain, s.conn.Fail)
	s.client = imapclient.New(s.guard, options)
	return nil
}

// logIn waits for the greeting, logs in and then reads the server's capabilities.
func (s *session) logIn(ctx context.Context, token string) error {
	var caps goimap.CapSet
	err := s.step(ctx, StepGreeting, smallAnswer, 0, func() error {
		if err := s.client.WaitGreeting(); err != nil {
			return err
		}
		caps = s.client.Caps()
		return nil
	})
	if err != nil {
		return err
	}
	if s.client.State() == goimap.ConnStateNotAuthenticated { // else PREAUTH
		if err := s.step(ctx, StepLogin, smallAnswer, 0, func() error { return s.authenticate(caps, token) }); err != nil {
			return err
		}
	}
	return s.step(ctx, StepGreeting, smallAnswer, 0, func() error {
		// Always request them: the client's own list may be from before the login.
		caps, err := s.client.Capability().Wait()
		if err != nil {
			return err
		}
		s.canIdle = caps.Has(goimap.CapIdle)
		if _, both := caps[goimap.CapIMAP4rev1]; both && caps.Has(goimap.CapIMAP4rev2) {
			// The client encodes folder names according to rev2 as soon as the server supports it, but a server that supports both
			// decodes them so only after ENABLE (RFC 9051, appendix E).
			_, err = s.client.Enable(goimap.CapIMAP4rev2).Wait()
		}
		return err
	})
}

func (s *session) authenticate(caps goimap.CapSet, token string) error {
	if s.cfg.Token != nil {
		return s.client.Authenticate(s.cfg.Bearer(token, caps.Has(goimap.AuthCap(sasl.OAuthBearer))))
	}
	if caps.Has(goimap.AuthCap(sasl.Plain)) {
		return s.client.Authenticate(sasl.NewPlainClient("", s.cfg.Username, s.cfg.Password))
	}
	if caps.Has(goimap.CapLoginDisabled) {
		return ErrLoginDisabled
	}
	return s.client.Login(s.cfg.Username, s.cfg.Password).Wait()
}

// step runs one step of the dialogue; see [wire.Conn.Step].
func (s *session) step(ctx context.Context, name string, limit, expect int64, do func() error) error {
	return s.conn.Step(ctx, name, limit, expect, do)
}

// notify records that there may be new messages.
func (s *session) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// alive reports whether the connection is not known to be closed.
func (s *session) alive() bool {
	select {
	case <-s.client.Closed():
		return false
	default:
		return s.conn.Why() == nil
	}
}

// abort closes the connection at once, and waits for the client's reader to end.
func (s *session) abort() {
	s.conn.Fail(net.ErrClosed)
	if s.client != nil {
		_ = s.client.Close()
	}
}

// logOut sends LOGOUT.
func (s *session) logOut(ctx context.Context) {
	if s.alive() {
		_ = s.step(ctx, "logout", smallAnswer, 0, func() error { return s.client.Logout().Wait() })
	}
	s.abort()
}

// folder is the state of a folder when it was opened.
type folder struct {
	name     string
	validity uint32
	exists   uint32
	modSeq   uint64 // HIGHESTMODSEQ: it grows with whatever changes (RFC 7162); 0 if the server has none
}

// examine opens a folder read-only (RFC 9051, section 6.3.3). It runs before each read of a folder, since only that reveals
// its UIDVALIDITY and removed messages.
func (s *session) examine(ctx context.Context, name string) (folder, error) {
	select {
	case <-s.wake: // the following read will find what it announced
	default:
	}
	var data *goimap.SelectData
	err := s.step(ctx, StepSelect+" "+name, smallAnswer, 0, func() (err error) {
		data, err = s.client.Select(name, &goimap.SelectOptions{ReadOnly: true}).Wait()
		return err
	})
	if err != nil {
		return folder{}, err
	}
	if data.UIDValidity == 0 {
		return folder{}, stepError(StepSelect+" "+name, ErrNoUIDs)
	}
	return folder{name: name, validity: data.UIDValidity, exists: data.NumMessages, modSeq: data.HighestModSeq}, nil
}

// search returns the UIDs from first on, of messages that the server received on a day or later unless since is zero. more
// means that there may be others after the last of them.
func (s *session) search(ctx context.Context, f folder, first uint32, since time.Time) (uids goimap.UIDSet, more bool, err error) {
	// A range to * is never empty: it includes the last message even if first is beyond it.
	criteria := &goimap.SearchCriteria{UID: []goimap.UIDSet{{{Start: goimap.UID(first), Stop: 0}}}}
	if !since.IsZero() {
		criteria.Since = since.Add(-12 * time.Hour) // the day is the server's, wherever it is
	}
	result := &found{first: first}
	err = s.step(ctx, StepSearch+" "+f.name, listAnswer, listAnswer/64, func() error {
		return s.finds(result, func() *imapclient.SearchCommand { return s.client.UIDSearch(criteria, nil) })
	})
	if err != nil {
		return nil, false, err
	}
	uids = result.set()
	return uids, result.last > 0, nil
}

// finds runs a search, whose result the guard collects.
func (s *session) finds(result *found, search func() *imapclient.SearchCommand) error {
	s.guard.result.Store(result)
	_, err := search().Wait()
	s.guard.result.Store(nil)
	return err
}

// sequence returns the sequence number of a mail, 0 if it is not in the folder.
func (s *session) sequence(ctx context.Context, f folder, uid uint32) (uint32, error) {
	criteria := &goimap.SearchCriteria{UID: []goimap.UIDSet{goimap.UIDSetNum(goimap.UID(uid))}}
	result := new(found)
	err := s.step(ctx, StepSearch+" "+f.name, smallAnswer, 0, func() error {
		return s.finds(result, func() *imapclient.SearchCommand { return s.client.Search(criteria, nil) })
	})
	numbers := result.set()
	if err != nil || len(numbers) == 0 {
		return 0, err
	}
	return uint32(numbers[0].Start), nil
}

// sizes requests messages' sizes, and arrival times if arrived is not nil. Messages without a size are missing in the
// result.
func (s *session) sizes(ctx context.Context, f folder, uids []uint32, arrived map[uint32]time.Time) (map[uint32]int64, error) {
	sizes := make(map[uint32]int64, len(uids))
	options := &goimap.FetchOptions{UID: true, RFC822Size: true, InternalDate: arrived != nil}
	err := s.step(ctx, StepFetch+" "+f.name, smallAnswer+int64(len(uids))<<10, 0, func() error {
		cmd := s.client.Fetch(uidSet(uids), options)
		for msg := cmd.Next(); msg != nil; msg = cmd.Next() {
			var uid goimap.UID
			size, date := int64(-1), time.Time{}
			for item := msg.Next(); item != nil; item = msg.Next() {
				switch item := item.(type) {
				case imapclient.FetchItemDataUID:
					uid = item.UID
				case imapclient.FetchItemDataRFC822Size:
					size = item.Size
				case imapclient.FetchItemDataInternalDate:
					date = item.Time
				}
			}
			if uid != 0 && size >= 0 {
				sizes[uint32(uid)] = size
			}
			if uid != 0 && arrived != nil {
				arrived[uint32(uid)] = date
			}
		}
		return cmd.Close()
	})
	return sizes, err
}

func uidSet(uids []uint32) goimap.UIDSet {
	var set goimap.UIDSet
	for _, uid := range uids {
		set.AddNum(goimap.UID(uid))
	}
	return set
}

// pulse is a step that shows that the server is alive.
func (s *session) pulse(ctx context.Context, do func() error) error {
	return s.conn.StepWithin(ctx, min(s.cfg.StepTimeout, pulseTimeout), StepIdle, smallAnswer, 0, do)
}

const pulseTimeout = 20 * time.Second

// idle waits with IDLE for new messages, at most for d; woken reports that there are some.
func (s *session) idle(ctx context.Context, d time.Duration) (woken bool, err error) {
	var idle *imapclient.IdleCommand
	err = s.pulse(ctx, func() (err error) {
		idle, err = s.client.Idle()
		return err
	})
	var reply *ReplyError
	if errors.As(err, &reply) && s.alive() {
		s.canIdle = false // it announced IDLE, but rejects it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	began := time.Now()
	waitErr := s.wait(ctx, d, s.wake)
	if waitErr != nil {
		s.conn.Fail(net.ErrClosed) // so that ending the command cannot hang
	}
	end := func() error {
		closeErr := idle.Close()
		return errors.Join(idle.Wait(), closeErr)
	}
	if waitErr != nil {
		_ = end()
		return false, waitErr
	}
	woken = time.Since(began) < d
	if err := s.pulse(ctx, end); err != nil {
		return false, err
	}
	return woken || len(s.wake) > 0, nil
}

// wait waits for d, for a value of wake (nil: none comes), for the end of ctx or of the connection.
func (s *session) wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-wake:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.client.Closed():
		return stepError(StepIdle, ErrClosed)
	}
}
