package bunstore

import (
	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

type pushDeviceRow struct {
	bun.BaseModel `bun:"table:hw_push_devices,alias:hw_push_devices"`
	ID            int64 `bun:",pk,autoincrement"`
	AccountID     int64
	UserID        int64
	SessionID     int64
	Name          string
	Endpoint      string
	EndpointKey   string
	PublicKey     []byte
	Auth          []byte
	CreatedAt     int64
}

func (r *pushDeviceRow) device() helpdesk.PushDevice {
	return helpdesk.PushDevice{
		ID: r.ID, UserID: r.UserID, SessionID: r.SessionID, Name: r.Name, Endpoint: r.Endpoint, Key: r.EndpointKey, PublicKey: r.PublicKey, Auth: r.Auth,
		CreatedAt: timeOf(r.CreatedAt),
	}
}

func pushDeviceRowOf(account int64, d *helpdesk.PushDevice) pushDeviceRow {
	return pushDeviceRow{
		ID: d.ID, AccountID: account, UserID: d.UserID, SessionID: d.SessionID, Name: d.Name, Endpoint: d.Endpoint, EndpointKey: d.Key, PublicKey: d.PublicKey,
		Auth: d.Auth, CreatedAt: micros(d.CreatedAt),
	}
}

var pushDevices = table[writer, helpdesk.PushDevice, helpdesk.PushDeviceFilter, pushDeviceRow]{
	Noun: nouns.PushDevices, row: pushDeviceRowOf, item: (*pushDeviceRow).device,
	belongs: func(f helpdesk.PushDeviceFilter) (string, []int64) { return "user_id", f.UserIDs },
}

// PushDevices implements [helpdesk.Reader].
func (r reader) PushDevices() storage.RowReader[helpdesk.PushDevice, helpdesk.PushDeviceFilter] {
	return rowsOf(r.placed(), &pushDevices)
}

// PushDevices implements [helpdesk.Rows].
func (w writer) PushDevices() storage.Rows[helpdesk.PushDevice, helpdesk.PushDeviceFilter] {
	return storedOf(w, &pushDevices)
}
