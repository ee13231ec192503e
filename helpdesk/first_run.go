package helpdesk

import (
	"context"

	"github.com/helpwright/helpwright/storage"
)

// SetUp reports whether somebody can sign in in a browser: there is a second user, a password or an identity provider. It is
// for leading the first visitor to the set-up, tells nothing about users, and needs no caller.
func (s *Service) SetUp(ctx context.Context) (bool, error) {
	if len(s.cfg.Providers) > 0 {
		return true, nil
	}
	users, err := s.cfg.Store.Users(ctx, storage.Seek{Limit: 2})
	if err != nil {
		return false, err
	}
	return len(users) > 1 || len(users) == 1 && users[0].PasswordHash != "", nil
}
