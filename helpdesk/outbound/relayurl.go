package outbound

import (
	"errors"
	"net"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/helpwright/helpwright/helpdesk/mailserver"
)

// tlsOptions are the encryptions as relay URLs name them.
func tlsOptions() map[string]mailserver.Encryption {
	return map[string]mailserver.Encryption{"none": mailserver.None, "starttls": mailserver.STARTTLS, "tls": mailserver.TLS}
}

// tlsOption is the encryption as a relay URL names it.
func tlsOption(e mailserver.Encryption) string {
	for word, one := range tlsOptions() {
		if one == e {
			return word
		}
	}
	return ""
}

// defaultPort is the port of a relay by its encryption (RFC 8314 section 3.3, RFC 6409, RFC 5321).
func defaultPort(e mailserver.Encryption) int {
	switch e {
	case mailserver.TLS:
		return 465
	case mailserver.None:
		return 25
	}
	return 587
}

// Errors of a relay URL have fixed texts, since misparsed parts may contain the password.
var (
	errRelayURL      = errors.New("outbound: the relay URL must look like smtp://user:password@host:587?tls=starttls, with special characters of user and password percent-encoded")
	errRelayHost     = errors.New("outbound: the relay URL has no host, or an impossible one")
	errRelayPort     = errors.New("outbound: the port of the relay URL must be from 1 to 65535")
	errRelayTLS      = errors.New("outbound: tls in the relay URL must be none, starttls or tls")
	errRelayOption   = errors.New("outbound: the relay URL may have the options tls and hello, once each")
	errRelayPassword = errors.New("outbound: the relay URL must have user and password, or neither, without control characters")
	errRelayHello    = errors.New("outbound: hello in the relay URL must be a host name")
)

// ParseRelayURLs parses the URLs of several relays, separated by blanks; see [ParseRelayURL].
func ParseRelayURLs(raw string) ([]RelayConfig, error) {
	var all []RelayConfig
	for one := range strings.FieldsSeq(raw) {
		cfg, err := ParseRelayURL(one)
		if err != nil {
			return nil, err
		}
		all = append(all, cfg)
	}
	if len(all) == 0 {
		return nil, errRelayURL
	}
	return all, nil
}

// ParseRelayURL parses smtp://user:password@host:port?tls=none|starttls|tls. tls defaults to starttls. The port defaults to
// 587, with tls=tls to 465, with tls=none to 25. smtps:// is the same as smtp:// with tls=tls. The option hello sets
// RelayConfig.HelloName. Errors contain no part of the URL.
func ParseRelayURL(raw string) (RelayConfig, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return RelayConfig{}, errRelayURL
	}
	cfg := RelayConfig{Host: u.Hostname(), Encryption: mailserver.STARTTLS}
	if u.Scheme == "smtps" {
		cfg.Encryption = mailserver.TLS
	}
	if err := cfg.applyOptions(u); err != nil {
		return RelayConfig{}, err
	}
	cfg.Port = defaultPort(cfg.Encryption)
	if strings.HasSuffix(u.Host, ":") {
		return RelayConfig{}, errRelayPort
	}
	if port := u.Port(); port != "" {
		if cfg.Port, err = strconv.Atoi(port); err != nil || cfg.Port < 1 {
			return RelayConfig{}, errRelayPort
		}
	}
	if u.User != nil {
		cfg.Username = u.User.Username()
		cfg.Password, _ = u.User.Password()
		if cfg.Username == "" || cfg.Password == "" {
			return RelayConfig{}, errRelayPassword
		}
	}
	return cfg, cfg.validate()
}

// applyOptions reads the query of a relay URL.
func (c *RelayConfig) applyOptions(u *url.URL) error {
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return errRelayOption
	}
	for name, values := range options {
		switch {
		case len(values) != 1 || name != "tls" && name != "hello":
			return errRelayOption
		case name == "hello":
			c.HelloName = values[0]
			if c.HelloName == "" {
				return errRelayHello
			}
		default:
			encryption, known := tlsOptions()[values[0]]
			if !known || u.Scheme == "smtps" && encryption != mailserver.TLS {
				return errRelayTLS
			}
			c.Encryption = encryption
		}
	}
	return nil
}

func (c RelayConfig) validate() error {
	switch {
	case c.Host == "" || !isHost(c.Host):
		return errRelayHost
	case c.Port < 0 || c.Port > 65535:
		return errRelayPort
	case !c.Encryption.Valid():
		return errRelayTLS
	case c.Token == nil && (c.Username == "") != (c.Password == ""), hasControl(c.Username), hasControl(c.Password):
		return errRelayPassword
	case c.HelloName != "" && !isHello(c.HelloName):
		return errRelayHello
	}
	return nil
}

// isHost reports whether s is a host name or an IP address.
func isHost(s string) bool {
	if net.ParseIP(s) != nil {
		return true
	}
	return len(s) <= 253 && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r == unicode.ReplacementChar || unicode.IsControl(r) || strings.ContainsRune("/\\@?#[]<>\"':,;%", r)
	})
}

// isHello reports whether s is a host name or an address literal (RFC 5321 section 4.1.3).
func isHello(s string) bool {
	if literal, ok := strings.CutPrefix(s, "["); ok {
		literal, ok = strings.CutSuffix(literal, "]")
		return ok && net.ParseIP(strings.TrimPrefix(literal, "IPv6:")) != nil
	}
	return isHost(s)
}

func hasControl(s string) bool { return strings.ContainsFunc(s, unicode.IsControl) }
