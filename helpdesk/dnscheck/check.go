package dnscheck

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of what is checked.
const (
	maxRecords = 20    // of one Check
	maxAnswers = 50    // strings of one TXT look-up
	maxLength  = 4096  // bytes of one TXT string
	maxFound   = 10    // strings of a result
	foundBytes = 1000  // of one string of a result
	maxTags    = 100   // of a DKIM or DMARC record, terms of an SPF record
	quoteMarks = `"“”` // typed along by mistake
)

// Record is a DNS record to be published.
type Record struct {
	Type  string // "TXT" or "CNAME"
	Name  string // absolute, with or without the final dot
	Value string
}

// Result is the result of looking up a [Record].
type Result struct {
	// Verified reports that the published record serves its purpose.
	Verified bool
	// Unknown reports that no server answered, so that the record may exist or not.
	Unknown bool
	// Problem describes in a sentence what is wrong, or a warning about a verified record. Empty: nothing.
	Problem string
	// Found contains what is published under the name, truncated to at most 10 strings of 1000 bytes.
	Found []string
}

// Resolver looks up names, such as *[net.Resolver]. Names end with a dot. A name that does not exist is an error that is a
// *[net.DNSError] with IsNotFound; any other error means that nothing is known.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
	LookupCNAME(ctx context.Context, name string) (string, error)
}

// NewResolver returns a resolver that uses the server at an address (host:port), or the system's servers if it is empty. It
// repeats a query by TCP if the response does not fit into a UDP packet.
func NewResolver(server string) *net.Resolver {
	if server == "" {
		return &net.Resolver{PreferGo: true, StrictErrors: true}
	}
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server)
	}
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: dial}
}

// Checker looks up records. Its zero value uses the system's servers.
type Checker struct {
	Resolver Resolver      // nil: NewResolver("")
	Timeout  time.Duration // per look-up; 0 means 5 s. A whole Check has twice as long.
}

// Check looks up records, one after the other, and returns one result for each in order. Records beyond the twentieth are
// Unknown.
func (c Checker) Check(ctx context.Context, records []Record) []Result {
	if c.Resolver == nil {
		c.Resolver = NewResolver("")
	}
	if c.Timeout <= 0 {
		c.Timeout = 5 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, 2*c.Timeout)
	defer cancel()
	results := make([]Result, len(records))
	for i, r := range records {
		if i >= maxRecords {
			results[i] = Result{Unknown: true, Problem: "There are too many records to look all of them up."}
			continue
		}
		results[i] = c.one(ctx, r)
	}
	return results
}

func (c Checker) one(ctx context.Context, r Record) Result {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	name := strings.TrimSuffix(r.Name, ".") + "."
	switch strings.ToUpper(r.Type) {
	case "TXT":
		answers, err := c.Resolver.LookupTXT(ctx, name)
		if err != nil {
			return failed(err, "There is no TXT record with this name.")
		}
		return text(r.Value, answers[:min(len(answers), maxAnswers)])
	case "CNAME":
		target, err := c.Resolver.LookupCNAME(ctx, name)
		if err != nil {
			return failed(err, "There is no CNAME record with this name.")
		}
		return alias(r, target)
	}
	return Result{Unknown: true, Problem: "Records of this type cannot be looked up."}
}

// failed returns the result of a look-up without an answer.
func failed(err error, absent string) Result {
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return Result{Problem: absent}
	}
	return Result{Unknown: true, Problem: "The name servers did not answer: try again later."}
}

func alias(r Record, target string) Result {
	target = host(target)
	if target == host(r.Name) { // how a resolver reports that there is no alias
		return Result{Problem: "There is no CNAME record with this name."}
	}
	out := Result{Verified: target == host(r.Value), Found: shortened([]string{target})}
	if !out.Verified {
		out.Problem = "The record points elsewhere."
	}
	return out
}

func host(name string) string {
	return strings.ToLower(strings.TrimSuffix(strings.TrimSpace(name), "."))
}

// text finds the answer that serves the purpose of want.
func text(want string, answers []string) Result {
	judge := plain
	switch lower := strings.ToLower(want); {
	case strings.HasPrefix(lower, "v=dkim1"):
		judge = dkim
	case isSPF(want):
		judge = spf
	case strings.HasPrefix(lower, "v=dmarc1"):
		judge = dmarc
	}
	quoted := false
	cleaned := make([]string, 0, len(answers))
	for _, answer := range answers {
		if len(answer) > maxLength {
			continue
		}
		bare := unquote(answer)
		quoted = quoted || bare != strings.TrimSpace(answer)
		cleaned = append(cleaned, bare)
	}
	problem := judge(want, cleaned)
	out := Result{Verified: problem == "", Problem: problem, Found: shortened(answers)}
	if out.Verified && quoted {
		out.Problem = "The record has quotation marks or backslashes in it, which some receivers do not understand: remove them."
	}
	return out
}

// unquote removes what people copy from a zone file: quotation marks around a record's strings, and backslashes before
// semicolons.
func unquote(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), `\;`, ";")
	if !strings.ContainsAny(s, quoteMarks) {
		return s
	}
	var b strings.Builder
	inside := false
	for _, r := range s {
		switch {
		case strings.ContainsRune(quoteMarks, r):
			inside = !inside
		case inside || r != ' ' && r != '\t': // blanks between two strings belong to neither
			b.WriteRune(r)
		}
	}
	return strings.TrimSpace(b.String())
}

// plain compares text, ignoring differences in white space.
func plain(want string, answers []string) string {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, answer := range answers {
		if squeeze(answer) == squeeze(want) {
			return ""
		}
	}
	return "The TXT records with this name are others."
}

// shortened returns answers truncated for a result.
func shortened(answers []string) []string {
	var out []string
	for _, answer := range answers[:min(len(answers), maxFound)] {
		answer = strings.ToValidUTF8(strings.ReplaceAll(answer, "\x00", ""), "\uFFFD")
		if len(answer) > foundBytes {
			cut := foundBytes
			for !utf8.RuneStart(answer[cut]) {
				cut--
			}
			answer = answer[:cut]
		}
		out = append(out, answer)
	}
	return out
}
