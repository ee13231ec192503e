package helpdesk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// PushDevice is a browser in which a member wants to be told of notifications while the desk is closed, through the push
// service of the browser. It is told of what the member has chosen for [ChannelBrowser]. It ends with the session in which it
// was added, and with the membership.
type PushDevice struct {
	ID        int64
	UserID    int64
	SessionID int64     // the session that added it; 0: the application signs its users in itself
	Name      string    // such as "Firefox on Linux"
	Endpoint  string    // https address at the browser's push service
	Key       string    // identifies the endpoint: hash of it
	PublicKey []byte    // of the browser: an uncompressed point of P-256
	Auth      []byte    // secret shared with the browser, 16 bytes
	CreatedAt time.Time // when it was added, or last added again
}

// UniquePushDevice is the code of a store's Conflict fault for a duplicate (account, UserID, Key).
const UniquePushDevice = "push_device"

// PushDeviceFilter narrows a list of devices.
type PushDeviceFilter struct {
	UserIDs []int64 // of any of these users; empty: none
}

// PushDeviceInput describes a device, as the browser does.
type PushDeviceInput struct {
	Endpoint  string // https address of at most 1,000 bytes
	PublicKey []byte // 65 bytes
	Auth      []byte // 16 bytes
	Name      string // one line, cut to 200 characters
}

// MaxPushDevices is the most devices of a member. One more replaces the oldest.
const MaxPushDevices = 10

// pushLife is how long a push service keeps a message for a device that is offline, and how long sending is retried.
const pushLife = 24 * time.Hour

// PushSender sends messages to browsers; see package webpush.
type PushSender interface {
	// PublicKey returns the key of the server that browsers need for a subscription: base64url without padding.
	PublicKey(ctx context.Context) (string, error)
	// Push sends a message once. A NotFound fault means that the device is of no use any more, an Unavailable one that it may
	// be tried again; other errors that this message cannot be sent.
	Push(ctx context.Context, d PushDevice, message []byte, life time.Duration) error
}

// PushMessage is what is sent to a device: nothing of what the notification is about. The browser asks the desk for that.
type PushMessage struct {
	AccountID      int64 `json:"account"`
	NotificationID int64 `json:"notification,omitempty"` // 0: a test
}

// pushOrder is the payload of a job of kind [JobPush], whose Subject is the device.
type pushOrder struct {
	Notification int64     `json:"notification,omitempty"`
	At           time.Time `json:"at"`
}

func pushKey(endpoint string) string {
	sum := sha256.Sum256([]byte(endpoint))
	return hex.EncodeToString(sum[:])
}

func (s *Service) push() (PushSender, error) {
	if s.cfg.Push == nil {
		return nil, fault.New(fault.Disabled, "This server does not send push notifications.")
	}
	return s.cfg.Push, nil
}

// Pushes reports whether there are push notifications, see Config.Push.
func (s *Service) Pushes() bool { return s.cfg.Push != nil }

// PushKey returns the key of the server that a browser needs to be told of notifications. Without Config.Push it is a Disabled
// fault.
func (d Notifications) PushKey(ctx context.Context) (string, error) {
	if _, err := d.guard.Read(anyMember); err != nil {
		return "", err
	}
	push, err := d.svc.push()
	if err != nil {
		return "", err
	}
	return push.PublicKey(ctx)
}

// Devices lists the caller's devices, oldest first.
func (d Notifications) Devices(ctx context.Context) ([]PushDevice, error) {
	r, err := d.guard.Read(anyMember)
	if err != nil {
		return nil, err
	}
	return pushDeviceNoun().Reader(r).List(ctx, PushDeviceFilter{UserIDs: []int64{d.userID}}, storage.Seek{Limit: storage.MaxLimit})
}

// AddDevice has a browser told of the caller's notifications. A browser that was added before replaces itself. Without
// Config.Push it is a Disabled fault.
func (d Notifications) AddDevice(ctx context.Context, in PushDeviceInput) (PushDevice, error) {
	begin, err := d.guard.Write(anyMember)
	if err != nil {
		return PushDevice{}, err
	}
	if _, err := d.svc.push(); err != nil {
		return PushDevice{}, err
	}
	if err := checkPushDevice(in); err != nil {
		return PushDevice{}, err
	}
	device := PushDevice{
		UserID: d.userID, Name: plain.Cut(plain.Line(in.Name), 200), Endpoint: in.Endpoint, Key: pushKey(in.Endpoint), PublicKey: in.PublicKey, Auth: in.Auth, CreatedAt: d.svc.now(),
	}
	if d.caller.session {
		device.SessionID = d.caller.tokenID
	}
	err = begin(ctx, func(ctx context.Context, tx Tx) error {
		if _, err := tx.Memberships().Lock(ctx, d.membershipID); err != nil {
			return err
		}
		own, err := pushDeviceNoun().Rows(tx).List(ctx, PushDeviceFilter{UserIDs: []int64{d.userID}}, storage.Seek{Limit: storage.MaxLimit})
		if err != nil {
			return err
		}
		same := func(one PushDevice) bool {
			return one.Key == device.Key && one.SessionID == device.SessionID && bytes.Equal(one.PublicKey, device.PublicKey) && bytes.Equal(one.Auth, device.Auth)
		}
		if at := slices.IndexFunc(own, same); at >= 0 { // browsers say it again and again
			device = own[at]
			return nil
		}
		for i, one := range own {
			if one.Key != device.Key && len(own)-i < MaxPushDevices {
				continue
			}
			if err := pushDeviceNoun().Rows(tx).Delete(ctx, one.ID); err != nil {
				return err
			}
		}
		device.ID = 0
		return pushDeviceNoun().Rows(tx).Insert(ctx, &device)
	})
	return device, err
}

// checkPushDevice validates what a browser says.
func checkPushDevice(in PushDeviceInput) error {
	var problems fault.Collector
	u, err := url.Parse(in.Endpoint)
	problems.Check(err == nil && len(in.Endpoint) <= 1000 && u.Scheme == "https" && u.Hostname() != "" && u.User == nil && plain.Text(in.Endpoint) == in.Endpoint,
		"endpoint", "must be an https address of at most 1,000 bytes, without a username and password")
	problems.Check(len(in.PublicKey) == 65 && in.PublicKey[0] == 4, "public_key", "must be an uncompressed point of P-256")
	problems.Check(len(in.Auth) == 16, "auth", "must have 16 bytes")
	return problems.Err()
}

// RemoveDevice removes the caller's device at an endpoint. If there is none, it does nothing.
func (d Notifications) RemoveDevice(ctx context.Context, endpoint string) error {
	begin, err := d.guard.Write(anyMember)
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		known, err := d.ownPushDevice(ctx, tx, endpoint)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return pushDeviceNoun().Rows(tx).Delete(ctx, known.ID)
	})
}

// ownPushDevice finds the caller's device at an endpoint.
func (d *desk) ownPushDevice(ctx context.Context, tx Tx, endpoint string) (PushDevice, error) {
	own, err := pushDeviceNoun().Rows(tx).List(ctx, PushDeviceFilter{UserIDs: []int64{d.userID}}, storage.Seek{Limit: storage.MaxLimit})
	at := slices.IndexFunc(own, func(one PushDevice) bool { return one.Key == pushKey(endpoint) })
	if err != nil {
		return PushDevice{}, err
	}
	if at < 0 {
		return PushDevice{}, fault.Missing("device", 0)
	}
	return own[at], nil
}

// TestDevice sends a test to the caller's device at an endpoint. A device that is not known is a NotFound fault.
func (d Notifications) TestDevice(ctx context.Context, endpoint string) error {
	begin, err := d.guard.Write(anyMember)
	if err != nil {
		return err
	}
	if _, err := d.svc.push(); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		known, err := d.ownPushDevice(ctx, tx, endpoint)
		if err != nil {
			return err
		}
		return d.svc.order(ctx, tx, d.scope.AccountID, []PushDevice{known}, nil)
	})
}

// pushSoon orders messages about new notifications to the devices of members who chose to be told by the browser.
func (s *Service) pushSoon(ctx context.Context, tx Tx, accountID int64, rows []Notification) error {
	if s.cfg.Push == nil {
		return nil
	}
	told := map[int64][]int64{} // by user
	var users []int64
	for _, n := range rows {
		if n.Browser {
			users = append(users, n.UserID)
			told[n.UserID] = append(told[n.UserID], n.ID)
		}
	}
	if users = sortedSet(users); len(users) == 0 {
		return nil
	}
	devices, err := pushDeviceNoun().Rows(tx).List(ctx, PushDeviceFilter{UserIDs: users}, storage.Seek{Limit: storage.NoLimit})
	if err != nil || len(devices) == 0 {
		return err
	}
	return s.order(ctx, tx, accountID, devices, told)
}

// order enqueues messages to devices: about notifications, by user, or tests if there are none.
func (s *Service) order(ctx context.Context, tx Tx, accountID int64, devices []PushDevice, told map[int64][]int64) error {
	var orders []storage.Job
	for _, device := range devices {
		about := told[device.UserID]
		if told == nil {
			about = []int64{0}
		}
		for _, id := range about {
			payload, err := json.Marshal(pushOrder{Notification: id, At: s.now()})
			if err != nil {
				return fault.Wrap(fault.Internal, "making a job", err)
			}
			orders = append(orders, storage.Job{Kind: JobPush, AccountID: accountID, Subject: device.ID, Payload: payload, RunAt: s.now()})
		}
	}
	return tx.Enqueue(ctx, orders...)
}

// Push runs a [JobPush] job: it sends a message to a device, unless its member has read the notification or has
// signed out there. A device that is of no use any more is removed.
func (j Jobs) Push(ctx context.Context, job storage.ClaimedJob) error {
	var order pushOrder
	if err := json.Unmarshal(job.Payload, &order); err != nil {
		return fault.Wrap(fault.Internal, "reading a job", err)
	}
	push, err := j.svc.push()
	if err != nil || j.svc.now().Sub(order.At) > pushLife {
		return nil //nolint:nilerr // nobody sends it any more
	}
	scope := Scope{AccountID: job.AccountID}
	r := j.svc.cfg.Store.Within(scope)
	device, err := pushDeviceNoun().Reader(r).Get(ctx, job.Subject)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if lives, err := j.svc.signedIn(ctx, device); err != nil || !lives {
		return errors.Join(err, j.svc.dropPushDevice(ctx, scope, device, err == nil))
	}
	if order.Notification != 0 {
		n, err := r.Notifications().Get(ctx, order.Notification)
		if fault.Is(err, fault.NotFound) || err == nil && !n.ReadAt.IsZero() {
			return nil
		}
		if err != nil {
			return err
		}
	}
	message, err := json.Marshal(PushMessage{AccountID: job.AccountID, NotificationID: order.Notification})
	if err != nil {
		return fault.Wrap(fault.Internal, "making a message", err)
	}
	err = push.Push(ctx, device, message, pushLife)
	switch {
	case err == nil, fault.Is(err, fault.Unavailable), ctx.Err() != nil:
		return err
	case fault.Is(err, fault.NotFound):
		return j.svc.dropPushDevice(ctx, scope, device, true)
	}
	j.svc.cfg.Logger.WarnContext(ctx, "a push service refuses a message", slog.Int64("device_id", device.ID), slog.Any("error", err))
	return nil
}

// signedIn reports whether the member is still signed in on a device.
func (s *Service) signedIn(ctx context.Context, device PushDevice) (bool, error) {
	user, err := s.cfg.Store.User(ctx, device.UserID)
	if fault.Is(err, fault.NotFound) || err == nil && user.Disabled() {
		return false, nil
	}
	if err != nil || device.SessionID == 0 {
		return err == nil, err
	}
	sessions, err := s.cfg.Store.TokensOf(ctx, device.UserID, true, storage.Seek{Limit: storage.NoLimit})
	return slices.ContainsFunc(sessions, func(t identity.AccessToken) bool {
		return t.ID == device.SessionID && t.ExpiresAt.After(s.now())
	}), err
}

// dropPushDevice removes a device, if it is to be removed.
func (s *Service) dropPushDevice(ctx context.Context, scope Scope, device PushDevice, drop bool) error {
	if !drop {
		return nil
	}
	err := s.cfg.Store.InTx(ctx, scope, func(ctx context.Context, tx Tx) error { return pushDeviceNoun().Rows(tx).Delete(ctx, device.ID) })
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// forgetPushDevices removes the devices of a former member.
func forgetPushDevices(ctx context.Context, tx Tx, userID int64) error {
	devices, err := pushDeviceNoun().Rows(tx).List(ctx, PushDeviceFilter{UserIDs: []int64{userID}}, storage.Seek{Limit: storage.NoLimit})
	for _, device := range devices {
		if err := pushDeviceNoun().Rows(tx).Delete(ctx, device.ID); err != nil {
			return err
		}
	}
	return err
}

// endPushDevices removes the devices that a session added, in all accounts of its user.
func (s *Service) endPushDevices(ctx context.Context, userID, sessionID int64) error {
	list := func(seek storage.Seek) ([]identity.Account, error) { return s.cfg.Store.AccountsOf(ctx, userID, seek) }
	return each(list, func(a identity.Account) int64 { return a.ID }, func(a identity.Account) error {
		scope := Scope{AccountID: a.ID}
		devices, err := pushDeviceNoun().Reader(s.cfg.Store.Within(scope)).List(ctx, PushDeviceFilter{UserIDs: []int64{userID}}, storage.Seek{Limit: storage.MaxLimit})
		for _, device := range devices {
			err = errors.Join(err, s.dropPushDevice(ctx, scope, device, device.SessionID == sessionID))
		}
		return err
	})
}

// pushDeviceNoun declares the rows of devices.
func pushDeviceNoun() storage.Declared[PushDevice, PushDeviceFilter] {
	return storage.Declared[PushDevice, PushDeviceFilter]{
		Noun: storage.Noun[PushDevice]{
			Name: "device",
			ID:   func(t *PushDevice) *int64 { return &t.ID },
			Unique: []storage.Unique[PushDevice]{
				{Code: UniquePushDevice, Index: "key", Fields: func(t *PushDevice) []any { return []any{&t.UserID, &t.Key} }},
			},
		},
		Key: "push_device", Plural: "push_devices",
		Columns: []storage.Column[PushDevice]{
			{Name: "user_id", Field: func(t *PushDevice) any { return &t.UserID }, Refers: "user"},
			{Name: "session_id", Field: func(t *PushDevice) any { return &t.SessionID }},
			{Name: "name", Field: func(t *PushDevice) any { return &t.Name }},
			{Name: "endpoint", Field: func(t *PushDevice) any { return &t.Endpoint }},
			{Name: "endpoint_key", Field: func(t *PushDevice) any { return &t.Key }},
			{Name: "public_key", Field: func(t *PushDevice) any { return &t.PublicKey }},
			{Name: "auth", Field: func(t *PushDevice) any { return &t.Auth }},
			{Name: "created_at", Field: func(t *PushDevice) any { return &t.CreatedAt }},
		},
		Where: func(f PushDeviceFilter) []storage.Condition {
			return []storage.Condition{storage.OneOf("user_id", f.UserIDs)}
		},
	}
}
