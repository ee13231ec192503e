package transport

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage/fault"
)

// maxVariant is the maximum length of the query that an ETag contains; an answer to a longer query has no ETag.
const maxVariant = 512

// representation is the body of an object with a hash of it and, if the object has a different stable part, a hash of that;
// see [Stabler].
type representation struct {
	body         []byte
	hash, stable string
}

func represent(out any, bare bool) (shown representation, err error) {
	if shown.body, err = encode(out, bare); err != nil {
		return shown, err
	}
	shown.hash = version(shown.body, out)
	if s, ok := out.(Stabler); ok {
		part := s.Stable()
		body, err := encode(part, bare)
		if err != nil {
			return shown, err
		}
		shown.stable = version(body, part)
	}
	return shown, nil
}

// version hashes a body and its timestamps to the microsecond. The body shows whole seconds only, and an object that was
// changed twice within one second must get two versions.
func version(body []byte, out any) string {
	h := sha256.New()
	h.Write(body)
	var times []byte
	instants(reflect.ValueOf(out), func(t Time) {
		times = binary.BigEndian.AppendUint64(times, uint64(time.Time(t).UnixMicro())) // any bits will do
	})
	h.Write(times)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// instants finds the timestamps in exported fields.
func instants(v reflect.Value, found func(Time)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			instants(v.Elem(), found)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[Time]() {
			t, _ := v.Interface().(Time)
			found(t)
			return
		}
		for i := range v.NumField() {
			if field := v.Field(i); field.CanInterface() { // it is exported
				instants(field, found)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			instants(v.Index(i), found)
		}
	}
}

// etag returns the strong entity tag of a body (RFC 9110 section 8.8.3): the hash of the body, a colon and the hash of its
// stable part, and the query that chose the representation. With the query, a later If-Match on the same resource can
// request the same representation again: an object read with `expand=user` is compared with its current representation under
// `expand=user`.
func etag(shown representation, variant string) string {
	if len(variant) > maxVariant {
		return ""
	}
	tag := shown.hash
	if shown.stable != "" {
		tag += ":" + shown.stable
	}
	if variant != "" {
		tag += "." + base64.RawURLEncoding.EncodeToString([]byte(variant))
	}
	return `"` + tag + `"`
}

// etag returns the tag of the answer with this body. A lean answer gets the tag that a GET of the object would have, so that
// a client can continue from it, or none if the client may not GET the object.
func (r *Request) etag(shown representation) string {
	variant := r.variant()
	if r.route.Lean {
		get := r.route.entry.methods[http.MethodGet]
		if get == nil || get.represent == nil {
			return ""
		}
		var err error
		if shown, err = get.represent(r.forGet(r.Context(), get, variant)); err != nil {
			return ""
		}
	}
	return etag(shown, variant)
}

// unchanged compares two tags of one resource, by the stable part if there is one.
func unchanged(a, b string) bool {
	_, x, stable := strings.Cut(a, ":")
	_, y, _ := strings.Cut(b, ":")
	return a == b || stable && x == y
}

// variantOf returns the query that an ETag contains.
func variantOf(tag string) (query string, ok bool) {
	_, encoded, found := strings.Cut(strings.Trim(tag, `"`), ".")
	if !found {
		return "", true
	}
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	return string(raw), err == nil && len(raw) <= maxVariant
}

// variant returns the part of the query that the resource's GET accepts.
func (r *Request) variant() string {
	get := r.route.entry.methods[http.MethodGet]
	if get == nil {
		get = r.route
	}
	known := get.QueryNames()
	kept := url.Values{}
	for name, values := range r.http.URL.Query() {
		if slices.Contains(known, strings.TrimSuffix(name, "[]")) {
			kept[name] = values
		}
	}
	return kept.Encode()
}

// entityTags splits the values of If-Match or If-None-Match.
func entityTags(values []string) []string {
	var tags []string
	for _, value := range values {
		for tag := range strings.SplitSeq(value, ",") {
			if tag = strings.TrimSpace(tag); tag != "" {
				tags = append(tags, tag)
			}
		}
	}
	return tags
}

// noneMatch implements the weak comparison of If-None-Match (RFC 9110 section 13.1.2).
func noneMatch(values []string, current string) bool {
	for _, tag := range entityTags(values) {
		if tag == "*" || strings.TrimPrefix(tag, "W/") == current {
			return true
		}
	}
	return false
}

// maxTags is the maximum number of tags in one If-Match, as each may cost a read.
const maxTags = 8

// matching returns the tags of If-Match if the method honours them.
func (r *Request) matching() []string {
	switch r.http.Method {
	case http.MethodPut, http.MethodPatch, http.MethodDelete:
		return entityTags(r.http.Header.Values("If-Match"))
	}
	return nil
}

// ifMatch evaluates If-Match (RFC 9110 section 13.1.1) with the GET of the same path. A condition that cannot be checked
// fails: ignoring it would overwrite data that the client wanted to protect.
func (r *Request) ifMatch(ctx context.Context) error {
	tags := r.matching()
	if len(tags) == 0 {
		return nil
	}
	get := r.route.entry.methods[http.MethodGet]
	if get == nil || get.represent == nil {
		return fault.New(fault.Precondition, "The resource has no entity tag.")
	}
	for _, tag := range tags[:min(maxTags, len(tags))] {
		query, ok := variantOf(tag)
		if tag == "*" {
			query = ""
		} else if !ok || strings.HasPrefix(tag, "W/") {
			continue
		}
		shown, err := get.represent(r.forGet(ctx, get, query))
		if err != nil {
			return err
		}
		if tag == "*" || unchanged(tag, etag(shown, query)) {
			return nil
		}
	}
	return fault.New(fault.Precondition, "Someone else has changed the resource since you read it.")
}

// matchLocked is ifMatch at the beginning of the transaction that makes the change. The first GET locks the object; the
// second reads all of it in its current state.
func (r *Request) matchLocked(ctx context.Context) error {
	get := r.route.entry.methods[http.MethodGet]
	if get != nil && get.represent != nil {
		locker := r.forGet(ctx, get, "")
		locker.locking = true
		if _, err := get.represent(locker); err != nil {
			return err
		}
	}
	return r.ifMatch(ctx)
}
