package server

import (
	"context"

	"github.com/helpwright/helpwright/helpdesk/dnscheck"
	"github.com/helpwright/helpwright/helpdesk/sending"
)

// lookUp joins the help desk's domains with the DNS.
func lookUp(resolver dnscheck.Resolver) func(context.Context, []sending.DNSRecord) ([]sending.DNSResult, error) {
	checker := dnscheck.Checker{Resolver: resolver}
	return func(ctx context.Context, records []sending.DNSRecord) ([]sending.DNSResult, error) {
		asked := make([]dnscheck.Record, len(records))
		for i, r := range records {
			asked[i] = dnscheck.Record{Type: r.Type, Name: r.Hostname, Value: r.Value}
		}
		results := make([]sending.DNSResult, len(records))
		for i, found := range checker.Check(ctx, asked) {
			results[i] = sending.DNSResult{Verified: found.Verified, Unknown: found.Unknown, Problem: found.Problem}
		}
		return results, ctx.Err()
	}
}
