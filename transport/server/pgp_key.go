package server

import (
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/pgp"
)

// parseKey adapts the parsing of OpenPGP keys to the help desk.
func parseKey(content []byte, now time.Time) (helpdesk.PublicKey, error) {
	k, err := pgp.Parse(content, now)
	return helpdesk.PublicKey{
		UserID: k.UserID, Emails: k.Emails, Fingerprint: k.Fingerprint, ExpiresAt: k.ExpiresAt, Content: k.Packets,
	}, err
}
