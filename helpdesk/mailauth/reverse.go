package mailauth

import (
	"context"
	"net"
	"time"
)

// maxNames limits the names of an address that SPF examines (RFC 7208 section 4.6.4).
const maxNames = 10

// reverse looks up an address's names within part of the time. The client's owner runs the servers for these names, and
// their silence must not decide the result of a record that needs them (RFC 7208 section 5.5).
type reverse struct {
	Resolver

	time  time.Duration
	known map[string][]net.IPAddr // addresses of the names; nil: none, or not answered in time
}

func newReverse(l lookups) *reverse {
	return &reverse{Resolver: l.resolver, time: l.time / 4, known: map[string][]net.IPAddr{}}
}

// LookupAddr looks up the names of an address, and the addresses of each name.
func (r *reverse) LookupAddr(ctx context.Context, addr string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.time)
	defer cancel()
	names, err := r.Resolver.LookupAddr(ctx, addr)
	names = names[:min(len(names), maxNames)]
	for _, name := range names {
		found, err := r.Resolver.LookupIPAddr(ctx, name)
		if err != nil {
			found = nil
		}
		r.known[name] = found
	}
	return names, err
}

// LookupIPAddr returns the addresses found before for one of those names.
func (r *reverse) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	if found, ok := r.known[host]; ok {
		if found == nil {
			return nil, &net.DNSError{Err: "no answer", Name: host, IsNotFound: true}
		}
		return found, nil
	}
	return r.Resolver.LookupIPAddr(ctx, host)
}
