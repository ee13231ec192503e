package memstore

import (
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

var pushDevices = noun[helpdesk.Scope, helpdesk.PushDevice, helpdesk.PushDeviceFilter]{
	Noun: nouns.PushDevices, of: func(db *data) *table[helpdesk.PushDevice] { return &db.pushDevices },
	match: func(_ *data, _ helpdesk.Scope, f helpdesk.PushDeviceFilter, d *helpdesk.PushDevice) bool {
		return slices.Contains(f.UserIDs, d.UserID)
	},
}

// PushDevices implements [helpdesk.Reader].
func (r reader) PushDevices() storage.RowReader[helpdesk.PushDevice, helpdesk.PushDeviceFilter] {
	return rowsOf(r.src, r.scope.AccountID, r.scope, &pushDevices)
}

// PushDevices implements [helpdesk.Rows].
func (t tx) PushDevices() storage.Rows[helpdesk.PushDevice, helpdesk.PushDeviceFilter] {
	return storedOf(t.src, t.scope.AccountID, t.scope, &pushDevices)
}
