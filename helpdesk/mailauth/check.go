package mailauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"blitiri.com.ar/go/spf"
	"github.com/emersion/go-msgauth/dkim"
	"github.com/emersion/go-msgauth/dmarc"
)

const (
	maxSignatures = 5 // limit of checked DKIM signatures of a message
	maxAnswers    = 50
	maxRecord     = 2 << 10 // bytes of one TXT record: a key of 10,000 bits; one of 380,000 takes 14 s per signature

	// The check of signatures takes the square of some of these, see looksSigned.
	maxHeader         = 256 << 10 // bytes
	maxFields         = 1000
	maxLines          = 5000
	maxSignatureField = 8 << 10 // bytes of one DKIM-Signature
)

// Resolver looks up names. *[net.Resolver] is one.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
	LookupMX(ctx context.Context, name string) ([]*net.MX, error)
	LookupIPAddr(ctx context.Context, host string) ([]net.IPAddr, error)
	LookupAddr(ctx context.Context, addr string) ([]string, error)
}

// Checker authenticates messages during receipt. It is safe for concurrent use.
type Checker struct {
	Resolver Resolver      // nil: the system's
	Timeout  time.Duration // of all look-ups for one message; 0 means 10 s
}

// Mail is a message as received by a server.
type Mail struct {
	// Peer is the client. An invalid one is a relay that hides the sender: SPF is not evaluated then.
	Peer  netip.Addr
	Hello string // its HELO name
	From  string // MAIL FROM, without brackets; "" for a bounce
	// FromDomain is the domain of the only address of the only From header field; "" if there is not exactly one, since it is
	// then unclear whose policy applies (RFC 7489 section 6.6.1).
	FromDomain string
	Raw        []byte // with CRLF line endings, without the header fields that this server added
}

// Check authenticates a message. A failed or late look-up is a TempError of its method; there is no other error.
func (c Checker) Check(ctx context.Context, m Mail) (r Report) {
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	lookup := lookups{ctx, c.Resolver, c.Timeout}
	from := cleanDomain(m.FromDomain)
	// Run them concurrently, so that a server chosen by the sender cannot use up the time of the others.
	signatures, policies := make(chan []DKIM, 1), make(chan policy, 1)
	go func() { signatures <- lookup.dkim(m.Raw) }()
	go func() { policies <- lookup.policy(from) }()
	r.SPF = lookup.spf(m)
	r.DKIM = <-signatures
	r.dmarc(from, <-policies)
	return r
}

// lookups are the DNS look-ups for one message.
type lookups struct {
	ctx      context.Context //nolint:containedctx // of one Check
	resolver Resolver
	time     time.Duration // for all of them
}

// spf evaluates MAIL FROM, or HELO when that is empty (RFC 7208 section 2.4).
func (l lookups) spf(m Mail) (out SPF) {
	defer func() {
		if recover() != nil { // a record may be anything
			out.Result = PermError
		}
	}()
	if !m.Peer.IsValid() {
		return SPF{Result: Unknown}
	}
	sender := m.From
	if sender == "" {
		sender = "postmaster@" + m.Hello
	}
	out.Domain = domainOf(sender)
	if out.Domain == "" {
		return SPF{Result: None}
	}
	result, err := spf.CheckHostWithSender(net.IP(m.Peer.Unmap().AsSlice()), m.Hello, sender, spf.WithContext(l.ctx), spf.WithResolver(newReverse(l)))
	out.Result = Result(result)
	if l.ctx.Err() != nil && err != nil && out.Result != Pass {
		out.Result = TempError
	}
	return out
}

// txt looks up TXT records. Any error except a nonexistent name is temporary.
func (l lookups) txt(name string) ([]string, error) {
	answers, err := l.resolver.LookupTXT(l.ctx, strings.TrimSuffix(name, ".")+".")
	if err == nil {
		kept := slices.Clone(answers[:min(len(answers), maxAnswers)])
		for i, answer := range kept {
			if len(answer) > maxRecord {
				kept[i] = "" // no record of any kind
			}
		}
		return kept, nil
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return nil, err
	}
	return nil, &net.DNSError{Err: "no answer", Name: name, IsTemporary: true}
}

func (l lookups) dkim(raw []byte) (out []DKIM) {
	defer func() {
		if recover() != nil {
			out = []DKIM{{Result: PermError}}
		}
	}()
	switch signed, hostile := looksSigned(raw); {
	case !signed:
		return nil
	case hostile:
		return []DKIM{{Result: PermError}} // a verifier may set limits
	}
	found, err := dkim.VerifyWithOptions(bytes.NewReader(raw), &dkim.VerifyOptions{LookupTXT: l.txt, MaxVerifications: maxSignatures})
	if err != nil && !errors.Is(err, dkim.ErrTooManySignatures) {
		return []DKIM{{Result: PermError}} // the library gives up without a result for any signature
	}
	for _, v := range found {
		if v == nil {
			continue
		}
		out = append(out, DKIM{Result: verdict(v.Err), Domain: cleanDomain(v.Domain)})
	}
	return out
}

// looksSigned reports whether a message's header has signatures, and whether checking would take far longer than reading it:
// the library joins the lines of a field one by one, and searches all fields for each name in a signature.
func looksSigned(raw []byte) (signed, hostile bool) {
	const name = "DKIM-Signature"
	size, fields, lines, signature := 0, 0, 0, -1 // signature: bytes of the current one; -1: none
	for line := range bytes.Lines(raw) {
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			break
		}
		size += len(line)
		lines++
		if line[0] != ' ' && line[0] != '\t' {
			fields++
			signature = -1
			if key, _, ok := bytes.Cut(line, []byte{':'}); ok && strings.EqualFold(string(bytes.TrimSpace(key)), name) {
				signed, signature = true, 0
			}
		}
		if signature >= 0 {
			signature += len(line)
		}
		hostile = hostile || size > maxHeader || fields > maxFields || lines > maxLines || signature > maxSignatureField
	}
	return signed, hostile
}

func verdict(err error) Result {
	switch {
	case err == nil:
		return Pass
	case dkim.IsTempFail(err):
		return TempError
	case dkim.IsPermFail(err):
		return PermError
	}
	return Fail
}

// dmarc applies the policy of the domain of From to the results.
func (r *Report) dmarc(from string, p policy) {
	r.DMARC.Domain = from
	if from == "" {
		r.DMARC.Result = PermError
		return
	}
	r.Aligned = r.alignedWith(from, Pass, false, false)
	if r.SPF.Result == Unknown && !r.Aligned {
		// Whatever the policy is, it cannot be evaluated here.
		if r.DMARC.Result = Unknown; r.alignedWith(from, TempError, false, false) {
			r.DMARC.Result = TempError
		}
		return
	}
	switch {
	case p.err != nil && dmarc.IsTempFail(p.err), errors.Is(p.err, errTemporary):
		r.DMARC.Result = TempError
		return
	case p.err != nil:
		r.DMARC.Result = PermError
		return
	case p.record == nil:
		r.DMARC.Result = None
		return
	}
	r.DMARC.Policy = string(p.demand)
	strictSPF, strictDKIM := p.record.SPFAlignment == dmarc.AlignmentStrict, p.record.DKIMAlignment == dmarc.AlignmentStrict
	switch {
	case r.alignedWith(from, Pass, strictSPF, strictDKIM):
		r.DMARC.Result = Pass
	case r.alignedWith(from, TempError, strictSPF, strictDKIM):
		r.DMARC.Result = TempError // it might pass if the name servers answered
	case r.SPF.Result == Unknown:
		r.DMARC.Result = Unknown
	default:
		r.DMARC.Result = Fail
	}
}

// alignedWith reports whether SPF or a signature has a result for the domain of From. Results for other domains never count,
// since the sender chooses those.
func (r *Report) alignedWith(from string, result Result, strictSPF, strictDKIM bool) bool {
	if r.SPF.Result == result && aligned(r.SPF.Domain, from, strictSPF) {
		return true
	}
	for _, s := range r.DKIM {
		if s.Result == result && aligned(s.Domain, from, strictDKIM) {
			return true
		}
	}
	return false
}

var errTemporary = errors.New("mailauth: the name servers do not answer")

// policy is a DMARC record with its policy for a domain's mail; nothing without a record.
type policy struct {
	record *dmarc.Record
	demand dmarc.Policy
	err    error
}

// policy finds the DMARC record of a domain, or else of its organization (RFC 7489 section 6.6.3).
func (l lookups) policy(domain string) (p policy) {
	defer func() {
		if recover() != nil { // a record may be anything
			p = policy{err: errors.New("mailauth: the record cannot be read")}
		}
	}()
	if domain == "" {
		return policy{}
	}
	record, err := l.record(domain)
	if err != nil {
		return policy{err: err}
	}
	if record != nil {
		return policy{record: record, demand: record.Policy}
	}
	org := organization(domain)
	if org == domain {
		return policy{}
	}
	if record, err = l.record(org); err != nil || record == nil {
		return policy{err: err}
	}
	if record.SubdomainPolicy != "" {
		return policy{record: record, demand: record.SubdomainPolicy}
	}
	return policy{record: record, demand: record.Policy}
}

// record reads the only DMARC record of a name; several count as none.
func (l lookups) record(domain string) (*dmarc.Record, error) {
	answers, err := l.txt("_dmarc." + domain)
	if err != nil {
		if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
			return nil, nil //nolint:nilnil // no record
		}
		return nil, errTemporary
	}
	var found []string
	for _, text := range answers {
		if tag, _, _ := strings.Cut(text, ";"); strings.Join(strings.Fields(tag), "") == "v=DMARC1" {
			found = append(found, text)
		}
	}
	if len(found) != 1 {
		return nil, nil //nolint:nilnil // no record
	}
	record, err := dmarc.Parse(found[0])
	if err != nil {
		return nil, fmt.Errorf("mailauth: %w", err)
	}
	return record, nil
}
