package transport

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ForwardedOrigin returns the origin, such as https://help.example.org, that a client requested from a reverse proxy, as the
// proxy reports it in X-Forwarded-Host and X-Forwarded-Proto, or in Forwarded (RFC 7239). It is "" unless the peer is one of
// trusted, and unless the header names exactly one plain host: a list of hosts starts with the value that the client sent,
// and two header fields that disagree come from two senders.
//
// A proxy that sets neither header forwards the client's own, so use the result for the answer to this request only, never
// for anything mailed, stored or signed.
func ForwardedOrigin(r *http.Request, trusted []netip.Prefix) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(peer.Addr().Unmap()) }) {
		return ""
	}
	host, ok := single(r.Header, "X-Forwarded-Host")
	proto, ok2 := single(r.Header, "X-Forwarded-Proto")
	by, ok3 := single(r.Header, "Forwarded")
	if !ok || !ok2 || !ok3 {
		return ""
	}
	if by != "" {
		fields := forwardedFields(by)
		if fields == nil || !agree(&host, fields["host"]) || !agree(&proto, fields["proto"]) {
			return ""
		}
	}
	host, proto = strings.ToLower(host), strings.ToLower(proto)
	if proto == "" {
		proto = "http"
	}
	if proto != "http" && proto != "https" || !plainHost(host) {
		return ""
	}
	return proto + "://" + host
}

// single returns the only value of a header field, "" if there is none. It is not ok if there are several.
func single(h http.Header, name string) (value string, ok bool) {
	all := h.Values(name)
	if len(all) == 0 {
		return "", true
	}
	value = strings.Trim(all[0], " \t")
	return value, len(all) == 1 && !strings.Contains(value, ",")
}

// agree merges the value of another header field, and fails if the two differ.
func agree(value *string, other string) bool {
	if *value == "" {
		*value = other
	}
	return other == "" || strings.EqualFold(*value, other)
}

// forwardedFields returns the parameters of one element of Forwarded, by name in lower case; nil if it is malformed.
func forwardedFields(element string) map[string]string {
	fields := map[string]string{}
	for pair := range strings.SplitSeq(element, ";") {
		name, value, ok := strings.Cut(strings.Trim(pair, " \t"), "=")
		name = strings.ToLower(name)
		if _, twice := fields[name]; !ok || twice {
			return nil
		}
		if inner, quoted := strings.CutPrefix(value, `"`); quoted {
			if value, quoted = strings.CutSuffix(inner, `"`); !quoted || strings.ContainsAny(value, `"\`) {
				return nil
			}
		}
		fields[name] = value
	}
	return fields
}

// plainHost reports whether a text is a host name or an IP address, with or without a port, and nothing else.
func plainHost(text string) bool {
	if text == "" || len(text) > 255 {
		return false
	}
	if rest, ok := strings.CutPrefix(text, "["); ok {
		inside, after, _ := strings.Cut(rest, "]")
		addr, err := netip.ParseAddr(inside)
		port, hasPort := strings.CutPrefix(after, ":")
		return err == nil && addr.Is6() && addr.Zone() == "" && inside != rest && (after == "" || hasPort && plainPort(port))
	}
	name, port, hasPort := strings.Cut(text, ":")
	if hasPort && !plainPort(port) {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		plain := len(label) > 0 && len(label) <= 63 && label[0] != '-' && label[len(label)-1] != '-'
		for _, c := range []byte(label) {
			plain = plain && (c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_')
		}
		if !plain {
			return false
		}
	}
	return true
}

func plainPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0 && text[0] != '+'
}
