package main

import (
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/passkey"
	"github.com/helpwright/helpwright/transport/server"
)

// passkeys verifies passkeys for pages at the base URL; nil if they do not work there.
func (s *Settings) passkeys() (identity.PasskeyVerifier, error) {
	address := s.baseURL() + server.DeskPath
	if _, err := passkey.Origin(address); err != nil {
		return nil, nil //nolint:nilnil,nilerr // there are none; the doctor says why
	}
	return passkey.New(passkey.Config{Address: address})
}

// passkeys explains why there are none.
func (d *doctor) passkeys() {
	if _, err := passkey.Origin(d.settings.baseURL()); err != nil {
		d.note("passkeys", "are switched off: the base URL (HELPWRIGHT_BASE_URL) "+err.Error())
	}
}
