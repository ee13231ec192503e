package kb

import (
	"context"
	"net/netip"
	"strings"

	"github.com/helpwright/helpwright/storage"
)

// audited reports whether events of a type go into the account's audit log, which the help desk shows: all deletions do.
func audited(kind string) bool { return strings.HasSuffix(kind, ".deleted") }

// From returns the service for requests from an address. The audit log records the address with deletions.
func (s *Service) From(address netip.Addr) *Service {
	out := *s
	if address = address.Unmap(); address.IsValid() {
		out.address = address.String()
	}
	return &out
}

// auditing is a transaction of a caller who came with a token.
type auditing struct {
	Tx
	svc   *Service
	token int64
}

func (t auditing) Emit(ctx context.Context, events ...storage.Event) error {
	return storage.EmitAudited(ctx, t.Tx, audited, t.token, t.svc.address, events)
}
