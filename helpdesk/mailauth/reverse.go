package mailauth

import (
	"context"
	"net"
	"time"
)

// maxNames is how many names of an address SPF looks at (RFC 7208 section 4.6.4).
const maxNames = 10

// reverse has the names that an address claims looked up in a part of the time: who delivers a mail
// runs the servers that know them, and must not decide by their silence what becomes of a record that asks
// for them (RFC 7208 section 5.5).
type reverse struct {
	Resolver

	time  time.Duration
	known map[string][]net.IPAddr // what the names stand for; nil: nothing, or nobody said in time
}

func newReverse(l lookups) *reverse {
	return &reverse{Resolver: l.resolver, time: l.time / 4, known: map[string][]net.IPAddr{}}
}

// LookupAddr finds the names of an address, and what each of them stands for.
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

// LookupIPAddr answers for those names with what was found already.
func (r *reverse) LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error) {
	if found, ok := r.known[host]; ok {
		if found == nil {
			return nil, &net.DNSError{Err: "no answer", Name: host, IsNotFound: true}
		}
		return found, nil
	}
	return r.Resolver.LookupIPAddr(ctx, host)
}
