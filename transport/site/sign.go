package site

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// sign signs data for a purpose on a site.
func (h *Handler) sign(purpose string, site int64, data string) string {
	return signature(h.cfg.Key, purpose, site, data)
}

func signature(key []byte, purpose string, site int64, data string) string {
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "site\n%s\n%d\n%s", purpose, site, data)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

func (h *Handler) signed(purpose string, site int64, data, given string) bool {
	for _, key := range append([][]byte{h.cfg.Key}, h.cfg.FormerKeys...) {
		if hmac.Equal([]byte(signature(key, purpose, site, data)), []byte(given)) {
			return true
		}
	}
	return false
}

// seal returns signed data with the current time.
func (h *Handler) seal(purpose string, site int64, data string) string {
	plain := strconv.FormatInt(h.cfg.Now().Unix(), 36) + "." + base64.RawURLEncoding.EncodeToString([]byte(data))
	return plain + "." + h.sign(purpose, site, plain)
}

// unseal returns the data and its age.
func (h *Handler) unseal(purpose string, site int64, sealed string) (data string, age time.Duration, ok bool) {
	i := strings.LastIndexByte(sealed, '.')
	if i < 0 || len(sealed) > 4000 || !h.signed(purpose, site, sealed[:i], sealed[i+1:]) {
		return "", 0, false
	}
	at, encoded, _ := strings.Cut(sealed[:i], ".")
	unix, err := strconv.ParseInt(at, 36, 64)
	plain, err2 := base64.RawURLEncoding.DecodeString(encoded)
	return string(plain), h.cfg.Now().Sub(time.Unix(unix, 0)), err == nil && err2 == nil
}

// sameOrigin reports whether a form was sent by a page of the same site, according to the browser: Sec-Fetch-Site, or Origin
// if the browser does not send that. Programs send neither; their forms have a signed token.
func (v *visit) sameOrigin() bool {
	if from := v.r.Header.Get("Sec-Fetch-Site"); from != "" {
		return from == "same-origin" || from == "none"
	}
	origin := v.r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == v.r.Host
}

// limited counts an action of the client's address.
func (v *visit) limited(what string) bool {
	addr := v.h.cfg.Addr(v.r)
	key := addr.String()
	if addr.Is6() {
		if network, err := addr.WithZone("").Prefix(64); err == nil {
			key = network.String()
		}
	}
	wait := v.h.cfg.Limit(v.ctx(), what, key)
	if wait > 0 {
		v.w.Header().Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	}
	return wait > 0
}
