package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
)

// event as the API shows it: a CloudEvent.
type event struct {
	SpecVersion     string          `json:"specversion" example:"1.0"`
	ID              string          `json:"id" description:"Position in the account's log, counted from 1 without gaps." example:"42"`
	Source          string          `json:"source" description:"The account." example:"https://desk.example.org/api/v1/accounts/1"`
	Type            string          `json:"type" description:"area.past_tense" example:"conversation.created"`
	Subject         string          `json:"subject" description:"area/id" example:"conversation/7"`
	Time            string          `json:"time" format:"date-time" example:"2026-11-01T12:00:00.000000Z"`
	DataContentType string          `json:"datacontenttype" example:"application/json"`
	Data            json.RawMessage `json:"data" description:"Ids: id of the resource and, where they apply, mailbox_id, conversation_id and actor_id, the user who acted. Events about conversations, interactions and customers also have changes, as in a conversation's history, and actor: its type (user, customer, token, rule, sla, team, mail or system) and, but for system, its id. What a team handed out by itself has assignment, too, as why in the history. No event has the text of a message, a subject or anything personal about a customer: their changes are empty objects."`
}

type eventList struct {
	transport.Paging
	Types          []string `query:"types" description:"Any of these types, such as conversation.created; at most 50."`
	ConversationID int64    `query:"conversation_id" description:"Only events of this conversation."`
	After          int64    `query:"after" description:"Only events after the one with this id. If some of those have been deleted: 422 with code events_lost. Reload your data then."`
}

type realtimeInput struct {
	Channel string `query:"channel" description:"The realtime_channel of an account or a conversation. Required."`
	After   *int64 `query:"after" description:"Id of the last event seen. The header Last-Event-ID takes precedence."`
}

func (a *api) addEvents(t *transport.Table) {
	transport.HandlePage(t, a.desk, transport.Operation{
		ID: "listEvents", Method: http.MethodGet, Path: accountPath + "/events", Tag: "Events", Summary: "List events",
		Description: "The account's log of all changes, oldest first. A client that remembers the id of the last event it has seen, and asks " +
			"for later ones, misses nothing. Events of mailboxes out of reach are omitted, and so are areas that the caller may not " +
			"view: conversation.* needs conversations.view, tag.* needs tags.view, and so on. 403 without any of them.",
	}, a.listEvents)
	transport.HandleStream(t, a.follower, transport.Operation{
		ID: "followEvents", Method: http.MethodGet, Path: "/realtime", Tag: "Events", Summary: "Stream events",
		Description: "Server-sent events (text/event-stream) of type message, each with its id and, as data, the JSON of an event as in the " +
			"list. A client that reconnects with Last-Event-ID, as browsers do, misses nothing and receives nothing twice; without " +
			"it, the stream starts with new events. If the id is unknown or its successors have been deleted, the stream starts with " +
			"an event named reset: reload what you show. A comment or a bare id is sent every 15 seconds. The caller sees the same " +
			"events as in the list; when the membership, a role or the token changes, the stream adapts within 15 seconds or ends. " +
			"404 for another account's channel, 429 for more than 50 streams per user.",
	}, a.followEvents)
}

func (a *api) listEvents(ctx context.Context, d *helpdesk.Desk, in eventList) (storage.Page[event], error) {
	page, err := d.Events().List(ctx, subscription.EventQuery{Types: in.Types, ConversationID: in.ConversationID, After: in.After}, in.Request())
	return mapPage(page, func(e storage.Event) event { return event(a.svc.CloudEvent(d.AccountID(), e)) }), err
}

// channel is a parsed channel name; one of the ids is 0.
type channel struct{ account, conversation int64 }

// parseChannel parses the realtime_channel of an account or a conversation.
func parseChannel(name string) (channel, bool) {
	noun, text, _ := strings.Cut(name, ".")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != text {
		return channel{}, false
	}
	switch noun {
	case "accounts":
		return channel{account: id}, true
	case "conversations":
		return channel{conversation: id}, true
	}
	return channel{}, false
}

// parseEventID parses the Last-Event-ID header; "" is the zero Opt.
func parseEventID(text string) (storage.Opt[int64], error) {
	if text == "" {
		return storage.Opt[int64]{}, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 0 {
		return storage.Opt[int64]{}, fault.Field("Last-Event-ID", "must be the id of an event")
	}
	return storage.Some(id), nil
}

// following is the handle of a stream.
type following struct {
	desk   *helpdesk.Desk
	in     helpdesk.FollowInput
	header string // Last-Event-ID
}

// follower is the resolver of streams: it opens the desk that the channel names.
func (a *api) follower(ctx context.Context, r *transport.Request) (*following, error) {
	caller, err := a.caller(ctx, r)
	if err != nil {
		return nil, err
	}
	name, err := r.Query("channel")
	if err != nil {
		return nil, err
	}
	if name == "" {
		return nil, fault.Field("channel", "is required")
	}
	c, ok := parseChannel(name)
	if !ok {
		return nil, errNoChannel
	}
	d, err := a.channelDesk(ctx, caller, c)
	if err != nil {
		return nil, err
	}
	account := d.AccountID()
	f := &following{desk: d, header: r.Header("Last-Event-ID"), in: helpdesk.FollowInput{ConversationID: c.conversation}}
	f.in.Reopen = func(ctx context.Context) (*helpdesk.Desk, error) {
		again, err := a.caller(ctx, r)
		if err != nil {
			return nil, err
		}
		return a.svc.Desk(ctx, again, account)
	}
	return f, nil
}

// errNoChannel is the same for channels that do not exist and channels of another account.
var errNoChannel = fault.New(fault.NotFound, "There is no such channel.")

// channelDesk opens the account of a channel for a caller. A conversation is looked up in the accounts of the caller only:
// its id in another account must look like one that does not exist.
func (a *api) channelDesk(ctx context.Context, caller helpdesk.Caller, c channel) (*helpdesk.Desk, error) {
	if c.account != 0 {
		d, err := a.svc.Desk(ctx, caller, c.account)
		if fault.Is(err, fault.NotFound) {
			err = errNoChannel
		}
		return d, err
	}
	admin, err := a.svc.Admin(ctx, caller)
	if err != nil {
		return nil, err
	}
	for last := int64(0); ; {
		ids, err := admin.AccountIDs(ctx, last)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			d, err := a.svc.Desk(ctx, caller, id)
			if err == nil {
				_, err = d.Conversations().Get(ctx, c.conversation)
			}
			if err == nil || !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Forbidden) {
				return d, err
			}
			last = id
		}
		if len(ids) < storage.MaxLimit {
			return nil, errNoChannel
		}
	}
}

// beat is the interval of a stream's heartbeats, and reconnect is how long a client waits before it reconnects.
const (
	beat      = 15 * time.Second
	reconnect = 2 * time.Second
)

func (a *api) followEvents(ctx context.Context, f *following, in realtimeInput) (transport.Stream, error) {
	after, err := parseEventID(f.header)
	if err != nil {
		return nil, err
	}
	f.in.After = after
	if in.After != nil && !after.IsSet() {
		f.in.After = storage.Some(*in.After)
	}
	user := f.desk.UserID()
	if !a.streams.enter(user) {
		return nil, transport.TooMany(reconnect)
	}
	follower, err := f.desk.Events().Follow(ctx, f.in)
	if err != nil {
		a.streams.leave(user)
		return nil, err
	}
	account := f.desk.AccountID()
	return func(ctx context.Context, w *transport.EventWriter) error {
		defer a.streams.leave(user)
		defer follower.Close()
		if w == nil {
			return nil
		}
		return a.writeEvents(ctx, account, follower, w)
	}, nil
}

// writeEvents writes events until the client disconnects, loses access to them, or the server stops.
func (a *api) writeEvents(ctx context.Context, account int64, follower *helpdesk.EventFollower, w *transport.EventWriter) error {
	if err := w.Begin(reconnect); err != nil {
		return err
	}
	told := strconv.FormatInt(follower.Position(), 10)
	name, data := "", []byte(nil)
	if follower.Reset() {
		name, data = "reset", []byte("{}")
	}
	err := w.Send(told, name, data)
	for err == nil {
		told, err = a.writeSome(ctx, account, follower, w, told)
	}
	return err
}

// writeSome writes events until there are none for a while, and then a heartbeat. told is the last id that was sent.
func (a *api) writeSome(
	ctx context.Context, account int64, follower *helpdesk.EventFollower, w *transport.EventWriter, told string,
) (string, error) {
	wait, cancel := context.WithTimeout(ctx, beat) // one for many events: each costs a timer
	defer cancel()
	for {
		events, err := follower.Next(wait)
		if quiet := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil; err != nil && !quiet {
			return told, err
		}
		for _, e := range events {
			data, err := a.encoded.of(account, e, a.svc.CloudEvent)
			if err != nil {
				return told, err
			}
			told = strconv.FormatInt(e.Seq, 10)
			if err := w.Add(told, "", data); err != nil {
				return told, err
			}
		}
		if err := w.Flush(); err != nil {
			return told, err
		}
		if len(events) > 0 {
			continue
		}
		if position := strconv.FormatInt(follower.Position(), 10); position != told {
			return position, w.Send(position, "", nil)
		}
		return told, w.Beat()
	}
}

// encodings caches the encoding of the latest events, so that an event is encoded once for all its readers.
type encodings struct {
	slots [256]atomic.Pointer[encoding]
}

type encoding struct {
	account int64
	event   storage.Event
	data    []byte
}

// of returns the JSON of an event.
func (c *encodings) of(account int64, e storage.Event, make func(accountID int64, e storage.Event) subscription.CloudEvent) ([]byte, error) {
	slot := &c.slots[uint64(e.Seq+account)%uint64(len(c.slots))] // any slot will do
	if there := slot.Load(); there != nil && there.is(account, e) {
		return there.data, nil
	}
	data, err := json.Marshal(make(account, e))
	if err == nil {
		slot.Store(&encoding{account, e, data})
	}
	return data, err
}

// is reports whether the encoding is that of this very event. A restored log may have another event with the same Seq.
func (c *encoding) is(account int64, e storage.Event) bool {
	there := c.event
	return c.account == account && there.Seq == e.Seq && there.Type == e.Type && there.Subject == e.Subject && there.MailboxID == e.MailboxID &&
		there.ConversationID == e.ConversationID && there.ActorID == e.ActorID && there.Time.Equal(e.Time) && bytes.Equal(there.Data, e.Data)
}

// maxStreams is the maximum number of streams of one user in this process.
const maxStreams = 50

// streams counts the streams of each user.
type streams struct {
	mu   sync.Mutex
	open map[int64]int
}

// enter counts one more stream, unless there are too many.
func (s *streams) enter(user int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[user] >= maxStreams {
		return false
	}
	if s.open == nil {
		s.open = map[int64]int{}
	}
	s.open[user]++
	return true
}

func (s *streams) leave(user int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[user]--; s.open[user] <= 0 {
		delete(s.open, user)
	}
}
