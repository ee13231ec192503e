package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
)

// Settings are the server's configuration. The manual's table is generated from them.
type Settings struct {
	Listen         string   `env:"HELPWRIGHT_LISTEN" default:"127.0.0.1:8080" help:"HTTP address of the desk, the help centres and the API." placeholder:"ADDR"`
	TLSListen      string   `env:"HELPWRIGHT_TLS_LISTEN" name:"tls-listen" help:"HTTPS address, such as :443; off when empty. HELPWRIGHT_LISTEN, such as :80, then redirects there, except for ACME challenges and health checks." placeholder:"ADDR"`
	TLSCert        string   `env:"HELPWRIGHT_TLS_CERT" name:"tls-cert" help:"Certificate chain (PEM) for HTTPS. Needs the key too. Reloaded when the file changes." placeholder:"FILE"`
	TLSKey         string   `env:"HELPWRIGHT_TLS_KEY" name:"tls-key" help:"Private key (PEM) of that certificate." placeholder:"FILE"`
	ACMEEmail      string   `env:"HELPWRIGHT_ACME_EMAIL" name:"acme-email" help:"Get certificates by ACME, with an account for this address: for the host of HELPWRIGHT_BASE_URL, for HELPWRIGHT_ACME_HOSTS, and for help centres' own domains on their first visit. Setting it means that you agree to the authority's terms. Ports 80 and 443 of these hosts must reach HELPWRIGHT_LISTEN and HELPWRIGHT_TLS_LISTEN." placeholder:"EMAIL"`
	ACMEHosts      []string `env:"HELPWRIGHT_ACME_HOSTS" name:"acme-hosts" help:"More hosts to get certificates for, separated by commas, such as the MX host for STARTTLS on the mail intake." placeholder:"HOST"`
	ACMEURL        string   `env:"HELPWRIGHT_ACME_URL" name:"acme-url" default:"https://acme-v02.api.letsencrypt.org/directory" help:"ACME directory of the authority." placeholder:"URL"`
	ACMECA         string   `env:"HELPWRIGHT_ACME_CA" name:"acme-ca" help:"Root certificates (PEM) that verify the directory itself. Default: the system's." placeholder:"FILE"`
	BaseURL        string   `env:"HELPWRIGHT_BASE_URL" name:"base-url" help:"Public address of this server. Default: http://LISTEN, with localhost in place of a wildcard address." placeholder:"URL"`
	Data           string   `env:"HELPWRIGHT_DATA" name:"data" default:"data" help:"Folder for the secret key, the spool and, by default, the database and the files." placeholder:"FOLDER"`
	DatabaseURL    string   `env:"HELPWRIGHT_DATABASE_URL" name:"database-url" secret:"url" help:"sqlite:PATH or postgres://USER:PASS@HOST/DB. Default: sqlite:DATA/helpwright.db. With several hosts, as in HOST1,HOST2, the first that takes writes is used. Behind a pooler that gives each transaction another session, add ?pool_mode=transaction." placeholder:"URL"`
	ReplicaURL     string   `env:"HELPWRIGHT_DATABASE_REPLICA_URL" name:"database-replica-url" secret:"url" help:"Streaming replica of the PostgreSQL database, postgres://USER:PASS@HOST/DB: lists, counts and searches of conversations and customers are read from it, at most one second old, and from the primary while it lags or is away. Off when empty." placeholder:"URL"`
	BlobURL        string   `env:"HELPWRIGHT_BLOB_URL" name:"blob-url" secret:"url" help:"Where raw mails and attachments are stored: file:FOLDER, or s3://BUCKET/PREFIX?region=NAME, with &endpoint=https://HOST:PORT for a server other than Amazon's and &credentials=role for the keys of the machine's role. Default: file:DATA/blobs." placeholder:"URL"`
	BlobRedirect   int64    `env:"HELPWRIGHT_BLOB_REDIRECT" name:"blob-redirect" help:"Attachments of at least this many MB are downloaded straight from the bucket, by addresses that work for two minutes; browsers must be able to reach its endpoint. 0: the server sends all files itself." placeholder:"MB"`
	S3AccessKey    string   `env:"AWS_ACCESS_KEY_ID" name:"aws-access-key-id" help:"Access key of the bucket." placeholder:"KEY"`
	S3SecretKey    string   `env:"AWS_SECRET_ACCESS_KEY" name:"aws-secret-access-key" secret:"all" help:"Its secret key." placeholder:"KEY"`
	S3SessionToken string   `env:"AWS_SESSION_TOKEN" name:"aws-session-token" secret:"all" help:"Session token of temporary keys." placeholder:"TOKEN"`
	S3Region       string   `env:"AWS_REGION" name:"aws-region" help:"Region of the bucket if its address names none. Default: us-east-1." placeholder:"NAME"`
	IntakeListen   string   `env:"HELPWRIGHT_INTAKE_LISTEN" default:"127.0.0.1:2525" help:"SMTP intake for forwarded mail; off when empty." placeholder:"ADDR"`
	IntakeDomain   string   `env:"HELPWRIGHT_INTAKE_DOMAIN" default:"localhost" help:"Domain of the mailboxes' internal addresses." placeholder:"DOMAIN"`
	IntakeTLSCert  string   `env:"HELPWRIGHT_INTAKE_TLS_CERT" name:"intake-tls-cert" help:"Certificate chain (PEM) for STARTTLS on the intake. Needs the key too. Reloaded when the file changes. Default: a certificate by ACME if HELPWRIGHT_ACME_EMAIL is set." placeholder:"FILE"`
	IntakeTLSKey   string   `env:"HELPWRIGHT_INTAKE_TLS_KEY" name:"intake-tls-key" help:"Private key (PEM) of that certificate." placeholder:"FILE"`
	IntakeRelays   []string `env:"HELPWRIGHT_INTAKE_RELAYS" default:"127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7" help:"Addresses or networks of your own mail servers that forward to the intake, separated by commas. Their SPF is not evaluated." placeholder:"NET"`
	TrustedServers []string `env:"HELPWRIGHT_TRUSTED_AUTHSERV_IDS" name:"trusted-authserv-ids" help:"Mail servers (authserv-ids) whose Authentication-Results are trusted in fetched and relayed mail, separated by commas, such as mx.google.com." placeholder:"NAME"`
	LMTPListen     string   `env:"HELPWRIGHT_LMTP_LISTEN" name:"lmtp-listen" help:"LMTP intake (RFC 2033) for a mail server in front: HOST:PORT, or unix:PATH for a socket; off when empty." placeholder:"ADDR"`
	SMTPURL        string   `env:"HELPWRIGHT_SMTP_URL" name:"smtp-url" secret:"url" help:"Outgoing relay: smtp://USER:PASS@HOST:PORT?tls=none, starttls or tls. List several, separated by spaces, for failover: the first that works is used. When empty, replies are written as .eml files to DATA/outbox. Mailboxes can have a relay of their own, set up in the desk." placeholder:"URL"`
	SecretKey      string   `env:"HELPWRIGHT_SECRET_KEY" secret:"all" help:"Key that encrypts stored passwords and signs reply addresses, at least 32 characters. When empty, it is created once in DATA/secret.key. List several, separated by commas or spaces, to change the key: the first encrypts and signs, all decrypt and verify." placeholder:"KEY"`
	BootstrapEmail string   `env:"HELPWRIGHT_BOOTSTRAP_EMAIL" default:"owner@localhost" help:"Email address of the first user on an empty database." placeholder:"EMAIL"`
	BootstrapToken string   `env:"HELPWRIGHT_BOOTSTRAP_TOKEN" secret:"all" help:"Access token of the first user, 20 to 200 printable characters. Default: random." placeholder:"TOKEN"`

	OIDCIssuer       string   `env:"HELPWRIGHT_OIDC_ISSUER" name:"oidc-issuer" help:"OpenID Connect provider that members can sign in with, such as https://id.example.org/realms/main. The address to register there: helpwright doctor shows it." placeholder:"URL"`
	OIDCClientID     string   `env:"HELPWRIGHT_OIDC_CLIENT_ID" name:"oidc-client-id" help:"Client id that the provider gave this server." placeholder:"ID"`
	OIDCClientSecret string   `env:"HELPWRIGHT_OIDC_CLIENT_SECRET" name:"oidc-client-secret" secret:"all" help:"Its secret; empty for a public client." placeholder:"SECRET"`
	OIDCName         string   `env:"HELPWRIGHT_OIDC_NAME" name:"oidc-name" help:"Name of the provider on the sign-in button. Default: its host." placeholder:"NAME"`
	OIDCDomains      []string `env:"HELPWRIGHT_OIDC_DOMAINS" name:"oidc-domains" help:"Mail domains that the provider vouches for, separated by commas; * for all. Only an address there finds a user who has it, and makes members by the rules of an account. Empty: members connect the provider themselves, while they are signed in." placeholder:"DOMAIN"`
	OIDCSecondFactor string   `env:"HELPWRIGHT_OIDC_SECOND_FACTOR" name:"oidc-second-factor" default:"never" help:"When a sign-in with the provider counts as one with two factors: never, amr (it reports mfa), always, or acr= and a value that it is asked for." placeholder:"RULE"`

	GoogleClientID        string `env:"HELPWRIGHT_GOOGLE_CLIENT_ID" name:"google-client-id" help:"Client id from Google Cloud, with which mailboxes are connected by signing in with Google. The address to register there: helpwright doctor shows it." placeholder:"ID"`
	GoogleClientSecret    string `env:"HELPWRIGHT_GOOGLE_CLIENT_SECRET" name:"google-client-secret" secret:"all" help:"Its secret." placeholder:"SECRET"`
	MicrosoftClientID     string `env:"HELPWRIGHT_MICROSOFT_CLIENT_ID" name:"microsoft-client-id" help:"Application id from Microsoft Entra, with which mailboxes are connected by signing in with Microsoft. The address to register there: helpwright doctor shows it." placeholder:"ID"`
	MicrosoftClientSecret string `env:"HELPWRIGHT_MICROSOFT_CLIENT_SECRET" name:"microsoft-client-secret" secret:"all" help:"The value of a client secret of the application." placeholder:"SECRET"`
	MicrosoftTenant       string `env:"HELPWRIGHT_MICROSOFT_TENANT" name:"microsoft-tenant" default:"common" help:"Whose accounts may sign in: common, organizations, consumers, or a tenant's id or domain for an application of one organization." placeholder:"TENANT"`

	AllowPrivateHosts bool          `env:"HELPWRIGHT_ALLOW_PRIVATE_HOSTS" help:"Allow mailboxes, webhooks and the image proxy to connect to loopback and private addresses."`
	DNSServer         string        `env:"HELPWRIGHT_DNS_SERVER" name:"dns-server" help:"DNS resolver for domain verification and doctor, HOST:PORT. Default: the system's." placeholder:"ADDR"`
	SPF               string        `env:"HELPWRIGHT_SPF" name:"spf" default:"a mx" help:"SPF mechanisms that authorize the relay, for the SPF record that domains are shown, such as include:spf.example.net." placeholder:"TERMS"`
	NotifyAfter       time.Duration `env:"HELPWRIGHT_NOTIFY_AFTER" default:"2m" help:"How long a notification stays unread in the desk before it is mailed." placeholder:"TIME"`
	MailPerAddress    int           `env:"HELPWRIGHT_MAIL_PER_ADDRESS" default:"100" help:"Mails per hour and correspondent, in and out each. Above it, incoming mail is filed without reopening conversations and outgoing mail waits; this ends mail loops. 0: no limit." placeholder:"N"`
	FetchInterval     time.Duration `env:"HELPWRIGHT_FETCH_INTERVAL" default:"60s" help:"Polling interval for mailboxes whose server lacks IDLE." placeholder:"TIME"`
	MaxAttachment     int64         `env:"HELPWRIGHT_MAX_ATTACHMENT" default:"25" help:"Maximum size of an uploaded attachment in MB, up to 1024." placeholder:"MB"`
	MaxSiteFile       int64         `env:"HELPWRIGHT_MAX_SITE_FILE" default:"100" help:"Maximum size of a knowledge base file in MB, up to 1024." placeholder:"MB"`
	RateLimit         int           `env:"HELPWRIGHT_RATE_LIMIT" default:"1200" help:"Requests per minute and token, or per address without a token. 0: no limit. Each process counts separately." placeholder:"N"`
	PublicRateLimit   int           `env:"HELPWRIGHT_PUBLIC_RATE_LIMIT" default:"120" help:"Requests per minute and address on public write endpoints; 0: no limit." placeholder:"N"`
	TrustedProxies    []string      `env:"HELPWRIGHT_TRUSTED_PROXIES" help:"Addresses or networks of reverse proxies whose X-Forwarded-For is trusted, separated by commas." placeholder:"NET"`
	CORSOrigins       []string      `env:"HELPWRIGHT_CORS_ORIGINS" name:"cors-origins" help:"Origins of web pages that may call the API from browsers with a token, separated by commas, such as https://app.example.com; * for all." placeholder:"ORIGIN"`
	MetricsListen     string        `env:"HELPWRIGHT_METRICS_LISTEN" help:"Prometheus metrics (/metrics), profiles (/debug/pprof) and log settings (/log); off when empty. There is no authentication: choose an address that only the operator can reach." placeholder:"ADDR"`
	RetainAudit       int           `env:"HELPWRIGHT_RETAIN_AUDIT" name:"retain-audit" default:"730" help:"Days to keep audit log entries. 0: forever." placeholder:"DAYS"`
	RetainEvents      int           `env:"HELPWRIGHT_RETAIN_EVENTS" name:"retain-events" default:"90" help:"Days to keep events, at least as long as webhook deliveries. Histories of conversations go back as far. 0: forever." placeholder:"DAYS"`
	RetainDeliveries  int           `env:"HELPWRIGHT_RETAIN_DELIVERIES" name:"retain-deliveries" default:"30" help:"Days to keep webhook deliveries, at most the newest 10,000 per webhook. 0: forever." placeholder:"DAYS"`
	RetainSessions    int           `env:"HELPWRIGHT_RETAIN_SESSIONS" name:"retain-sessions" default:"1" help:"Days to keep sessions after they expire. 0: forever." placeholder:"DAYS"`
	RetainFailedJobs  int           `env:"HELPWRIGHT_RETAIN_BURIED_JOBS" name:"retain-buried-jobs" default:"180" help:"Days to keep jobs that failed permanently. 0: forever." placeholder:"DAYS"`
	RetainRawMails    int           `env:"HELPWRIGHT_RETAIN_RAW_MAILS" name:"retain-raw-mails" default:"0" help:"Days to keep the raw bytes of mails that were filed or ignored. Their conversations remain; only the source of a message is gone. 0: forever." placeholder:"DAYS"`
	LogLevel          string        `env:"HELPWRIGHT_LOG_LEVEL" name:"log-level" default:"info" help:"Lowest level to log: debug, info, warn or error. The command log level changes it while the server runs." placeholder:"LEVEL"`
	LogFormat         string        `env:"HELPWRIGHT_LOG_FORMAT" name:"log-format" default:"json" help:"Log format: json or text. The command log format changes it while the server runs." placeholder:"FORMAT"`
	EnablePGP         bool          `env:"ENABLE_PGP_ENCRYPTION" name:"enable-pgp-encryption" help:"Store customers' PGP keys and encrypt replies to recipients who have one. If another recipient of the reply has no usable key, the reply fails rather than being sent unencrypted."`
}

// complete fills in the settings that default to other settings.
func (s *Settings) complete() {
	if s.DatabaseURL == "" {
		s.DatabaseURL = "sqlite:" + filepath.Join(s.Data, "helpwright.db")
	}
	if s.BlobURL == "" {
		s.BlobURL = "file:" + filepath.Join(s.Data, "blobs")
	}
}

func isPostgresURL(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// check reports all problems of the settings at once.
func (s *Settings) check() error {
	var problems fault.Collector
	problems.Check(s.Data != "", "HELPWRIGHT_DATA", "must be a folder")
	listen := func(name, address string) {
		_, _, err := net.SplitHostPort(address)
		problems.Check(err == nil, name, "must be HOST:PORT, such as 127.0.0.1:8080")
	}
	listen("HELPWRIGHT_LISTEN", s.Listen)
	if s.IntakeListen != "" {
		listen("HELPWRIGHT_INTAKE_LISTEN", s.IntakeListen)
	}
	if path, isSocket := strings.CutPrefix(s.LMTPListen, "unix:"); isSocket {
		problems.Check(path != "", "HELPWRIGHT_LMTP_LISTEN", "must be HOST:PORT or unix:PATH, such as unix:/run/helpwright/lmtp.sock")
	} else if s.LMTPListen != "" {
		listen("HELPWRIGHT_LMTP_LISTEN", s.LMTPListen)
	}
	if s.MetricsListen != "" {
		listen("HELPWRIGHT_METRICS_LISTEN", s.MetricsListen)
	}
	if s.DNSServer != "" {
		listen("HELPWRIGHT_DNS_SERVER", s.DNSServer)
	}
	if s.BaseURL != "" {
		u, err := url.Parse(s.BaseURL)
		problems.Check(err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.RawQuery == "",
			"HELPWRIGHT_BASE_URL", "must be an http or https address without a query")
	}
	isSQLite := strings.HasPrefix(s.DatabaseURL, "sqlite:") && s.DatabaseURL != "sqlite:"
	isPostgres := isPostgresURL(s.DatabaseURL)
	problems.Check(isSQLite || isPostgres, "HELPWRIGHT_DATABASE_URL", "must be sqlite:PATH or postgres://USER:PASS@HOST/DB")
	if s.ReplicaURL != "" {
		problems.Check(isPostgresURL(s.ReplicaURL), "HELPWRIGHT_DATABASE_REPLICA_URL", "must be postgres://USER:PASS@HOST/DB")
		problems.Check(isPostgres, "HELPWRIGHT_DATABASE_REPLICA_URL", "needs a PostgreSQL database in HELPWRIGHT_DATABASE_URL")
	}
	s.checkBlobs(&problems)
	problems.Check(s.IntakeDomain != "" && !strings.ContainsAny(s.IntakeDomain, "@ /"), "HELPWRIGHT_INTAKE_DOMAIN", "must be a domain, such as in.example.org")
	s.checkCertificates(&problems)
	if s.SMTPURL != "" {
		if _, err := outbound.ParseRelayURLs(s.SMTPURL); err != nil {
			problems.Add("HELPWRIGHT_SMTP_URL", err.Error())
		}
	}
	_, err := secretKeys(s.SecretKey)
	problems.Check(s.SecretKey == "" || err == nil, "HELPWRIGHT_SECRET_KEY", "must have at least 32 characters; openssl rand -hex 32 makes one")
	problems.Check(s.BootstrapToken == "" || len(s.BootstrapToken) >= 20 && len(s.BootstrapToken) <= 200, "HELPWRIGHT_BOOTSTRAP_TOKEN", "must have 20 to 200 printable characters")
	s.checkOpenID(&problems)
	s.checkMailSignIn(&problems)
	s.checkLimits(&problems)
	_, err = logLevel(s.LogLevel)
	problems.Check(err == nil, "HELPWRIGHT_LOG_LEVEL", "must be debug, info, warn or error")
	problems.Check(s.LogFormat == formatJSON || s.LogFormat == formatText, "HELPWRIGHT_LOG_FORMAT", "must be json or text")
	_, err = s.trustedProxies()
	problems.Check(err == nil, "HELPWRIGHT_TRUSTED_PROXIES", "must be addresses or networks, such as 10.0.0.0/8")
	for _, origin := range s.CORSOrigins {
		problems.Check(transport.ValidOrigin(origin), "HELPWRIGHT_CORS_ORIGINS", "must be origins in lower case without a path, such as https://app.example.com, or *")
	}
	_, err = networks(s.IntakeRelays)
	problems.Check(err == nil, "HELPWRIGHT_INTAKE_RELAYS", "must be addresses or networks, such as 10.0.0.0/8")
	err = problems.Err()
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return usageError{fmt.Errorf("the configuration is invalid:\n  %s", strings.ReplaceAll(f.Fields.String(), "; HELP", "\n  HELP"))}
	}
	return nil
}

// checkLimits validates numbers, times and SPF.
func (s *Settings) checkLimits(problems *fault.Collector) {
	problems.Check(s.FetchInterval >= time.Second, "HELPWRIGHT_FETCH_INTERVAL", "must be at least 1s")
	problems.Check(validSPF(s.SPF), "HELPWRIGHT_SPF", "must be mechanisms such as include:spf.example.net, without v=spf1 and all")
	problems.Check(s.NotifyAfter > 0 && s.NotifyAfter <= 24*time.Hour, "HELPWRIGHT_NOTIFY_AFTER", "must be more than 0 and at most 24h")
	for name, days := range map[string]int{
		"HELPWRIGHT_RETAIN_AUDIT": s.RetainAudit, "HELPWRIGHT_RETAIN_EVENTS": s.RetainEvents, "HELPWRIGHT_RETAIN_DELIVERIES": s.RetainDeliveries,
		"HELPWRIGHT_RETAIN_SESSIONS": s.RetainSessions, "HELPWRIGHT_RETAIN_BURIED_JOBS": s.RetainFailedJobs,
		"HELPWRIGHT_RETAIN_RAW_MAILS": s.RetainRawMails,
	} {
		problems.Check(days >= 0 && days <= 36500, name, "must be from 0 to 36500")
	}
	problems.Check(s.RetainEvents == 0 || s.RetainDeliveries > 0 && s.RetainEvents >= s.RetainDeliveries, "HELPWRIGHT_RETAIN_EVENTS",
		"must be at least HELPWRIGHT_RETAIN_DELIVERIES: webhook deliveries refer to events")
	problems.Check(s.MailPerAddress >= 0, "HELPWRIGHT_MAIL_PER_ADDRESS", "must not be negative")
	problems.Check(s.BlobRedirect >= 0 && s.BlobRedirect <= 1024, "HELPWRIGHT_BLOB_REDIRECT", "must be from 0 to 1024")
	problems.Check(s.BlobRedirect == 0 || s.blobFolder() == "", "HELPWRIGHT_BLOB_REDIRECT", "needs files in a bucket, see HELPWRIGHT_BLOB_URL")
	problems.Check(s.MaxAttachment >= 1 && s.MaxAttachment <= 1024, "HELPWRIGHT_MAX_ATTACHMENT", "must be from 1 to 1024")
	problems.Check(s.MaxSiteFile >= 1 && s.MaxSiteFile <= 1024, "HELPWRIGHT_MAX_SITE_FILE", "must be from 1 to 1024")
	problems.Check(s.RateLimit >= 0, "HELPWRIGHT_RATE_LIMIT", "must not be negative")
	problems.Check(s.PublicRateLimit >= 0, "HELPWRIGHT_PUBLIC_RATE_LIMIT", "must not be negative")
}

// validSPF reports whether terms are valid between v=spf1 and all (RFC 7208 section 4.6.1).
func validSPF(terms string) bool {
	for _, term := range strings.Fields(terms) {
		if strings.HasPrefix(term, "v=") || strings.TrimLeft(term, "+-~?") == "all" || strings.ContainsAny(term, `"\\;`) {
			return false
		}
	}
	return len(terms) <= 400
}

// trustedProxies returns the networks of HELPWRIGHT_TRUSTED_PROXIES.
func (s *Settings) trustedProxies() ([]netip.Prefix, error) {
	return networks(s.TrustedProxies)
}

// networks parses addresses and networks; the list is not nil.
func networks(texts []string) ([]netip.Prefix, error) {
	networks := []netip.Prefix{}
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if addr, err := netip.ParseAddr(text); err == nil {
			networks = append(networks, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, err
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// sqliteFile returns the file of the database; "" for PostgreSQL or a database in memory.
func (s *Settings) sqliteFile() string {
	path, ok := strings.CutPrefix(s.DatabaseURL, "sqlite:")
	if !ok || s.inMemory() {
		return ""
	}
	return strings.TrimPrefix(path, "//")
}

// inMemory reports whether the database is in memory.
func (s *Settings) inMemory() bool {
	return s.DatabaseURL == "sqlite:"+sqlite.Memory || s.DatabaseURL == "sqlite://"+sqlite.Memory
}

// baseURL returns the public address.
func (s *Settings) baseURL() string {
	if s.BaseURL != "" {
		return strings.TrimRight(s.BaseURL, "/")
	}
	scheme, listen := "http://", s.Listen
	if s.TLSListen != "" {
		scheme, listen = "https://", s.TLSListen
	}
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return scheme + net.JoinHostPort("localhost", port) // an unspecified address cannot be visited
	}
	return scheme + listen
}

// loadKeys returns the secret keys from the settings, or from their file, which it creates if there is none.
func (s *Settings) loadKeys() ([][]byte, error) {
	text := s.SecretKey
	if text == "" {
		var err error
		if text, err = secretFile(filepath.Join(s.Data, "secret.key")); err != nil {
			return nil, err
		}
	}
	return secretKeys(text)
}

// secretKeys parses keys separated by commas or blanks. If a part is too short for a key, the whole text is one key that
// contains commas or blanks. As it might be one key even if all parts are long enough, the whole text is always accepted for
// opening.
func secretKeys(text string) ([][]byte, error) {
	if len(text) < minKey {
		return nil, fmt.Errorf("it has less than %d characters", minKey)
	}
	parts := strings.FieldsFunc(text, betweenKeys)
	if slices.ContainsFunc(parts, func(part string) bool { return len(part) < minKey }) || len(parts) == 0 {
		return [][]byte{[]byte(text)}, nil
	}
	var keys [][]byte
	for _, part := range parts {
		keys = append(keys, []byte(part))
	}
	if len(parts) > 1 || parts[0] != text {
		keys = append(keys, []byte(text))
	}
	return keys, nil
}

// betweenKeys reports whether a character separates keys.
func betweenKeys(r rune) bool { return r == ',' || unicode.IsSpace(r) }

const minKey = 32

// secretFile reads or creates the key file, which only the owner can read. Two servers that start at the same time agree on
// one key: the file is linked into place.
func secretFile(path string) (string, error) {
	read := func() (string, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		key := strings.TrimSpace(string(text))
		if len(key) < minKey {
			return "", fmt.Errorf("%s holds no key: restore it from a backup, or remove it to start anew (stored mailbox passwords are lost then)", path)
		}
		return key, nil
	}
	key, err := read()
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "secret-*")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = tmp.WriteString(hex.EncodeToString(storage.NewSecretKey()) + "\n")
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return "", err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return read()
}
