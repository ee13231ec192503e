package server

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
)

// parseGet parses the bytes that a connection has sent at the start of a request. whole means that they are one complete
// request without a body, in the strict form of RFC 9112, so that two programs cannot parse it differently. The request is
// nil unless it is a GET for an address without a query. It has only the fields that choose between the forms of a page.
func parseGet(p []byte) (r *http.Request, whole bool) {
	line, rest, ok := cutLine(p)
	method, line, _ := bytes.Cut(line, []byte(" "))
	target, version, _ := bytes.Cut(line, []byte(" "))
	get := string(method) == http.MethodGet
	if !ok || string(version) != "HTTP/1.1" || !get && string(method) != http.MethodHead {
		return nil, false
	}
	fields, ok := parseFields(rest)
	if !ok {
		return nil, false
	}
	u := parseTarget(target)
	if !get || !fields.once || u == nil {
		return nil, true
	}
	r = &http.Request{Method: http.MethodGet, URL: u, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Host: fields.host, Header: http.Header{}}
	if fields.coding != "" {
		r.Header["Accept-Encoding"] = []string{fields.coding}
	}
	if fields.tag != "" {
		r.Header["If-None-Match"] = []string{fields.tag}
	}
	return r, true
}

// cutLine cuts off a line that ends in CR LF and contains no control characters except tabs.
func cutLine(p []byte) (line, rest []byte, ok bool) {
	end := bytes.IndexByte(p, '\n')
	if end < 1 || p[end-1] != '\r' {
		return nil, nil, false
	}
	line = p[:end-1]
	for _, b := range line {
		if b < ' ' && b != '\t' || b == 0x7f {
			return nil, nil, false
		}
	}
	return line, p[end+1:], true
}

// parseTarget parses the path of a request; nil if it has other characters than letters, digits and safe punctuation.
func parseTarget(target []byte) *url.URL {
	if len(target) == 0 || target[0] != '/' {
		return nil
	}
	for _, b := range target {
		if !letter(b) && !digit(b) && !bytes.ContainsRune([]byte("/-_.~%"), rune(b)) {
			return nil
		}
	}
	u, err := url.ParseRequestURI(string(target))
	if err != nil {
		return nil
	}
	return u
}

// getFields are the fields of a request that matter here.
type getFields struct {
	host, coding, tag string // Host, Accept-Encoding, If-None-Match
	once              bool   // one host, and at most one of each of the others
}

// parseFields parses the fields of a request without a body. It is not ok if anything but an empty line follows them, or if
// a field gives the request a body or changes the connection.
func parseFields(rest []byte) (f getFields, ok bool) {
	f.once = true
	for {
		var line []byte
		if line, rest, ok = cutLine(rest); !ok {
			return f, false
		}
		if len(line) == 0 {
			f.once = f.once && f.host != ""
			return f, len(rest) == 0
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !fieldName(name) || !f.take(name, bytes.Trim(value, " \t")) {
			return f, false
		}
	}
}

// take takes a field; false if the request needs net/http because of it.
func (f *getFields) take(name, value []byte) bool {
	switch {
	case named(name, "host"):
		return f.set(&f.host, value)
	case named(name, "accept-encoding"):
		return f.set(&f.coding, value)
	case named(name, "if-none-match"):
		return f.set(&f.tag, value)
	case named(name, "connection"):
		return named(value, "keep-alive")
	}
	return !slices.ContainsFunc(more, func(m string) bool { return named(name, m) })
}

// more are fields of requests that have a body or ask for another protocol.
var more = []string{"content-length", "transfer-encoding", "trailer", "te", "expect", "upgrade", "http2-settings"}

func (f *getFields) set(field *string, value []byte) bool {
	f.once = f.once && *field == ""
	*field = string(value)
	return true
}

func named(given []byte, name string) bool {
	return len(given) == len(name) && bytes.EqualFold(given, []byte(name))
}

func fieldName(name []byte) bool {
	for _, b := range name {
		if !letter(b) && !digit(b) && b != '-' {
			return false
		}
	}
	return len(name) > 0
}

func letter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }

func digit(b byte) bool { return '0' <= b && b <= '9' }
