package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/helpwright/helpwright"

// rule restricts the imports of packages. Patterns are paths below the module, with "/..." for all below; "std" is the
// standard library.
type rule struct {
	of     []string // packages the rule is about
	not    []string // forbidden imports, directly or through others
	but    []string // allowed in spite of not
	only   []string // if set: the only allowed direct imports apart from the standard library
	reason string
}

var rules = []rule{
	{of: []string{"storage", "storage/fault"}, only: []string{"storage/fault"},
		reason: "every backend author and embedder links them: standard library only"},
	{of: []string{"helpdesk"}, only: []string{"storage", "storage/fault", "storage/filetype", "storage/gather", "storage/guard", "storage/plain", "storage/search", "helpdesk/identity", "helpdesk/ledger", "helpdesk/sending", "helpdesk/mailaddr", "helpdesk/mailserver", "helpdesk/message", "helpdesk/subscription", "helpdesk/mailhtml", "helpdesk/assign", "helpdesk/hours", "helpdesk/report", "helpdesk/rules", "helpdesk/sla", "helpdesk/internal/...", "golang.org/x/..."},
		reason: "the domain knows its rooms, the contract below it and the cleaning of HTML, nothing else"},
	{of: []string{"helpdesk/mailaddr"}, only: []string{"golang.org/x/net/idna", "golang.org/x/text/unicode/norm"},
		reason: "it is the vocabulary of addresses, for parsers and servers too"},
	{of: []string{"helpdesk/assign"}, only: []string{"storage/fault"},
		reason: "the choice of a member is arithmetic: it knows no help desk and no clock"},
	{of: []string{"helpdesk/hours"}, only: []string{"storage/fault"},
		reason: "business hours are arithmetic: they know no help desk and no clock"},
	{of: []string{"helpdesk/sla"}, only: []string{"helpdesk/hours"},
		reason: "what is due is arithmetic: it knows no help desk and no clock"},
	{of: []string{"helpdesk/report"}, only: []string{"helpdesk/hours", "helpdesk/sla"},
		reason: "figures are arithmetic: they know no help desk, no store and no clock"},
	{of: []string{"helpdesk/rules"}, only: []string{"storage/fault", "storage/plain"},
		reason: "conditions are compared with plain values: they know no help desk and no clock"},
	{of: []string{"helpdesk/mailserver"}, only: []string{},
		reason: "it is the vocabulary of connections, for whoever fetches and whoever sends"},
	{of: []string{"helpdesk/message"}, only: []string{"helpdesk/mailaddr"},
		reason: "parsers return it and the help desk files it: it knows neither"},
	{of: []string{"storage/openelements"}, only: []string{},
		reason: "both domains balance HTML alike, by the standard library alone"},
	{of: []string{"storage/plain"}, only: []string{"golang.org/x/text/..."},
		reason: "both domains clean text alike"},
	{of: []string{"helpdesk/identity", "helpdesk/sending"}, only: []string{"storage", "storage/fault", "storage/plain", "helpdesk/mailaddr", "helpdesk/mailserver", "golang.org/x/net/publicsuffix"},
		reason: "rooms of nouns know no service and no other room"},
	{of: []string{"helpdesk/subscription"}, only: []string{"storage", "helpdesk/identity"},
		reason: "who follows events has permissions, and knows nothing of mail"},
	{of: []string{"helpdesk/ledger"}, only: []string{"storage", "storage/fault", "storage/plain", "helpdesk/mailaddr", "helpdesk/mailserver", "helpdesk/message", "helpdesk/sending"},
		reason: "inbound mail reports on outbound mail, never the other way"},
	{of: []string{"kb"}, only: []string{"storage", "storage/fault", "storage/filetype", "storage/gather", "storage/guard", "storage/plain", "storage/search", "kb/...", "golang.org/x/..."},
		reason: "the domain knows the contract below it"},
	{of: []string{"kb/..."}, not: []string{"helpdesk/...", "transport/...", "storage/bunstore/...", "storage/memstore", "storage/fileblob", "storage/memblob", "storage/s3blob"},
		reason: "the two domains share words, not code; backends and transport import domains, never the other way"},
	{of: []string{"helpdesk/..."}, not: []string{"kb/...", "transport/...", "storage/bunstore/...", "storage/memstore", "storage/fileblob", "storage/memblob", "storage/s3blob"},
		reason: "the two domains share words, not code; backends and transport import domains, never the other way"},
	{of: []string{"helpdesk/mail", "helpdesk/mailhtml", "helpdesk/ingest/imap", "helpdesk/ingest/pop3", "helpdesk/ingest/internal/wire", "helpdesk/ingest/internal/oauth", "helpdesk/dnscheck", "helpdesk/pgp", "helpdesk/mailauth"}, not: []string{"helpdesk", "storage/..."}, but: []string{"storage/openelements"},
		reason: "they know a technology and no help desk"},
	{of: []string{"helpdesk/movein/foreign", "helpdesk/movein/zendesk", "helpdesk/movein/helpscout", "helpdesk/movein/freescout", "helpdesk/movein/internal/hal"}, only: []string{"helpdesk/movein/foreign", "helpdesk/movein/internal/hal"},
		reason: "they know the files of another help desk, and not this one"},
	{of: []string{"kb/contenthtml", "kb/theme"}, not: []string{"kb", "helpdesk/...", "storage/..."}, but: []string{"storage/openelements"},
		reason: "they know a technology and no knowledge base"},
	{of: []string{"helpdesk", "kb", "storage", "storage/jobs", "helpdesk/ingest/...", "helpdesk/outbound", "helpdesk/webhook"},
		not:    []string{"github.com/uptrace/...", "modernc.org/...", "github.com/jackc/...", "github.com/alecthomas/..."},
		reason: "embedding the help desk links no router and no SQL driver"},
	{of: []string{"helpdesk/webhook"}, only: []string{"helpdesk", "helpdesk/subscription", "helpdesk/netguard", "helpdesk/webhook/signature", "storage", "storage/fault", "storage/jobs"},
		reason: "it joins the help desk and HTTP, and links nothing of mail"},
	{of: []string{"helpdesk/oidc"}, only: []string{"storage/fault", "github.com/coreos/go-oidc/v3/oidc", "golang.org/x/oauth2"},
		reason: "it knows OpenID Connect and no help desk: whoever signs people in otherwise links nothing of it"},
	{of: []string{"helpdesk/mailsignin"}, only: []string{"helpdesk/mailserver", "helpdesk/mailaddr", "storage/fault", "golang.org/x/oauth2"},
		reason: "it knows OAuth 2 and no help desk: a program without it links nothing of it"},
	{of: []string{"helpdesk/passkey"}, only: []string{"helpdesk/identity", "storage/fault", "github.com/go-webauthn/webauthn/..."},
		reason: "it joins identities and WebAuthn: a program without passkeys links nothing of it"},
	{of: []string{"helpdesk/webpush"}, only: []string{"helpdesk", "storage", "storage/fault"},
		reason: "it joins the help desk and push services with the standard library alone"},
	{of: []string{"transport/..."}, not: []string{"helpdesk/oidc", "helpdesk/mailsignin", "helpdesk/passkey"},
		reason: "as above"},
	{of: []string{"helpdesk/netguard", "helpdesk/webhook/signature"}, only: []string{},
		reason: "programs that only connect, or only receive webhooks, link the standard library and nothing else"},
	{of: []string{"transport", "transport/form", "transport/internal/..."}, not: []string{"helpdesk/...", "kb/...", "transport/api"},
		reason: "the engine serves any table of operations: what the operations are about is transport/api's"},
	{of: []string{"transport/..."}, not: []string{"storage/bunstore/...", "storage/memstore", "storage/fileblob", "storage/memblob", "storage/s3blob", "github.com/uptrace/bun"},
		reason: "the door in front knows no backend"},
	{of: []string{"transport/server"}, not: []string{"database/sql/...", "modernc.org/...", "github.com/jackc/...", "github.com/uptrace/bun/..."},
		reason: "whoever embeds a server links the driver of their own store only"},
	{of: []string{"storage/bunstore"}, not: []string{"modernc.org/...", "github.com/jackc/...", "storage/bunstore/both", "storage/bunstore/postgres", "storage/bunstore/sqlite"},
		reason: "a program links the driver of its own database only: bunstore/sqlite, bunstore/postgres"},
	{of: []string{"storage/bunstore/sqlite"}, not: []string{"github.com/jackc/...", "storage/bunstore/postgres"},
		reason: "as above"},
	{of: []string{"storage/bunstore/postgres"}, not: []string{"modernc.org/...", "storage/bunstore/sqlite"},
		reason: "as above"},
	{of: []string{"storage/backup"}, only: []string{"storage", "storage/fault", "storage/blobs", "storage/filelock", "github.com/klauspost/compress/zstd", "golang.org/x/sync/errgroup"},
		reason: "it knows archives and no database: whoever has one says how it is copied and opened"},
	{of: []string{"storage/transfer"}, only: []string{"storage", "storage/fault", "github.com/klauspost/compress/zstd", "golang.org/x/crypto/argon2"},
		reason: "it knows archives of rows, and no noun: helpdesk/transfer and kb/transfer do"},
	{of: []string{"helpdesk/transfer"}, only: []string{"helpdesk", "helpdesk/identity", "helpdesk/ledger", "helpdesk/sending", "helpdesk/subscription", "helpdesk/mailaddr", "helpdesk/mailserver", "helpdesk/mailhtml", "storage", "storage/fault", "storage/transfer"},
		reason: "any backend can move an account"},
	{of: []string{"kb/transfer"}, only: []string{"kb", "storage", "storage/fault", "storage/transfer"},
		reason: "any backend can move a site"},
	{of: []string{"storage/s3blob"}, only: []string{"storage", "storage/fault", "github.com/minio/minio-go/v7/..."},
		reason: "it knows S3 and no help desk"},
	{of: []string{"storage/bunstore/...", "storage/memstore"}, not: []string{"transport/...", "helpdesk/ingest/...", "helpdesk/outbound", "helpdesk/webhook", "helpdesk/mail"},
		reason: "backends store and find"},
}

// holders are technologies and the only packages that may import them directly.
var holders = map[string][]string{
	"github.com/uptrace/bun":                     {"storage/bunstore/...", "cmd/...", "examples/..."},
	"github.com/uptrace/bun/...":                 {"storage/bunstore/...", "cmd/...", "examples/..."},
	"modernc.org/sqlite":                         {"storage/bunstore/sqlite"},
	"github.com/jackc/pgx/v5":                    {"storage/bunstore/postgres"},
	"github.com/jackc/pgx/v5/stdlib":             {"storage/bunstore/postgres", "storage/testenv"},
	module + "/storage/bunstore/both":            {"cmd/..."},
	"github.com/uptrace/bunrouter":               {"transport"},
	"github.com/emersion/go-imap/v2/...":         {"helpdesk/ingest/imap"},
	"github.com/emersion/go-smtp":                {"helpdesk/ingest/smtpin", "helpdesk/outbound"},
	"github.com/emersion/go-message/...":         {"helpdesk/mail"},
	"github.com/emersion/go-msgauth/...":         {"helpdesk/mailauth", "helpdesk/outbound"},
	"github.com/ProtonMail/go-crypto/...":        {"helpdesk/pgp"},
	"github.com/microcosm-cc/bluemonday":         {"helpdesk/mailhtml", "kb/contenthtml"},
	"github.com/coreos/go-oidc/...":              {"helpdesk/oidc"},
	"golang.org/x/oauth2":                        {"helpdesk/oidc", "helpdesk/mailsignin"},
	"github.com/zitadel/oidc/...":                {"storage/testenv/openid"},
	module + "/helpdesk/oidc":                    {"cmd/...", "examples/..."},
	module + "/helpdesk/mailsignin":              {"cmd/...", "examples/..."},
	"github.com/go-webauthn/...":                 {"helpdesk/passkey"},
	module + "/helpdesk/passkey":                 {"cmd/...", "examples/..."},
	"github.com/golang-jwt/jwt/v5":               {"helpdesk/internal/portaltoken"},
	"github.com/yuin/goldmark/...":               {"kb/contenthtml"},
	"github.com/blevesearch/snowballstem":        {"storage/search"},
	"github.com/blevesearch/snowballstem/...":    {"storage/search"},
	"blitiri.com.ar/go/spf":                      {"helpdesk/mailauth"},
	"github.com/alecthomas/kong":                 {"cmd/..."},
	"github.com/prometheus/...":                  {"cmd/helpwright/internal/metrics"},
	"go.opentelemetry.io/...":                    {"cmd/helpwright/internal/tracing"},
	"github.com/caddyserver/certmagic":           {"cmd/helpwright/internal/certs"},
	"go.uber.org/zap/...":                        {"cmd/helpwright/internal/certs"},
	"github.com/standard-webhooks/...":           {}, // tests only
	"github.com/minio/minio-go/v7/...":           {"storage/s3blob"},
	"github.com/modelcontextprotocol/go-sdk/...": {"transport/mcp"},
	"go.yaml.in/yaml/v3":                         {"kb/exchange", "helpdesk/deskfolder"},
	"github.com/swaggest/...":                    {"transport/internal/openapigen"},
	"github.com/getkin/kin-openapi/...":          {"transport/internal/openapitest"},
	"github.com/chromedp/...":                    {"storage/testenv/browser"},
	module + "/storage/testenv":                  {"storage/testenv/browser"},
	module + "/storage/testenv/browser":          {},
}

type listed struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func TestImportRules(t *testing.T) {
	t.Parallel()
	packages := list(t)
	for _, p := range packages {
		own := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		for _, r := range rules {
			if matches(own, r.of) {
				r.check(t, p)
			}
		}
		for tech, allowed := range holders {
			for _, imported := range p.Imports {
				if match(imported, tech) && !matches(own, allowed) {
					t.Errorf("%s imports %s, which only %v may", own, imported, allowed)
				}
			}
		}
	}
}

// The top level is fixed: what both domains need lies below storage, and what belongs to one room in that room.
func TestTopLevel(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			got = append(got, e.Name())
		}
	}
	want := []string{"LICENSE", "README.md", "cmd", "doc.go", "examples", "go.mod", "go.sum", "helpdesk", "kb", "storage", "transport"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func (r rule) check(t *testing.T, p listed) {
	t.Helper()
	for _, dep := range p.Deps {
		if matches(short(dep), r.not) && !matches(short(dep), r.but) {
			t.Errorf("%s depends on %s: %s", short(p.ImportPath), short(dep), r.reason)
		}
	}
	for _, imported := range p.Imports {
		if r.only != nil && !standard(imported) && !matches(short(imported), r.only) {
			t.Errorf("%s imports %s: %s", short(p.ImportPath), short(imported), r.reason)
		}
	}
}

// list returns all packages, without those of tests, from the go command.
func list(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages only", len(all))
	}
	return all
}

func short(path string) string { return strings.TrimPrefix(path, module+"/") }

func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func matches(path string, patterns []string) bool {
	for _, p := range patterns {
		if match(path, p) {
			return true
		}
	}
	return false
}

func match(path, pattern string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == below || strings.HasPrefix(path, below+"/")
	}
	return path == pattern
}
