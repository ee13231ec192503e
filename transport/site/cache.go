package site

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport/internal/pattern"
)

// fresh is how long cached data is used without checking the log, unless the log announces an event.
const fresh = time.Second

// stamp is a state of an account's sites. The zero stamp is a state that cannot be cached.
type stamp struct{ account, state int64 }

// cache keeps rendered pages until something in their account changes: a kept page takes 0.04 ms, another one 0.8. The total
// size of the pages is limited; the least recently used go first.
type cache struct {
	cfg     Config
	logger  *slog.Logger
	codings []*coding

	mu       sync.Mutex
	byKey    map[string]*list.Element // of *kept
	used     *list.List               // the most recently used first
	size     int64
	accounts map[int64]*account
	places   map[place]spot // the sites last found
	facts    int            // number of facts remembered, see remembered

	hits, misses atomic.Int64
}

// account tracks the changes of an account.
type account struct {
	mu      sync.Mutex // held while the log is read
	seq     int64      // the last event seen
	state   int64      // counts the changes
	checked time.Time
	stale   bool         // an event has arrived since
	broken  bool         // the log could not be read
	known   map[fact]any // facts of the state
}

// kept is a page.
type kept struct {
	key     string
	stamp   stamp
	route   string // for metrics
	forGood bool   // immutable at its address
	status  int
	header  []field
	stored  bool // shared caches may store it
	etag    string
	plain   *form
	coded   []*coded
	more    int64 // bytes of coded, counted in the cache
}

// field is a header field. Answers share its values, which must not be modified.
type field struct {
	name   string
	values []string
}

// form is a page in one coding.
type form struct {
	body         []byte
	etag, former string   // former: the ETag of other bytes of the same page; "" for none
	tag          []string // the header field of etag
	header       []field
}

// newForm makes the form of a page in a coding; "" means none.
func newForm(body []byte, coding, etag, former string) *form {
	f := &form{body: body, etag: etag, former: former, tag: []string{etag}, header: []field{{"Content-Length", []string{strconv.Itoa(len(body))}}}}
	if coding != "" {
		f.header = append(f.header, field{"Content-Encoding", []string{coding}})
	}
	return f
}

func newCache(cfg Config) *cache {
	c := &cache{cfg: cfg, logger: cfg.Logger, codings: newCodings(), byKey: map[string]*list.Element{}, used: list.New(), accounts: map[int64]*account{}, places: map[place]spot{}}
	if n, ok := cfg.Events.(storage.EventNotifier); ok && cfg.LastEvent != nil {
		n.NotifyEvents(c.notice)
	}
	return c
}

// notice records that the log of an account has grown; 0 means any account.
func (c *cache) notice(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for known, a := range c.accounts {
		if id == 0 || id == known {
			a.stale = true
		}
	}
}

// maxAccounts is the maximum number of accounts remembered.
const maxAccounts = 10_000

// maxPlaces is the maximum number of sites' addresses remembered.
const maxPlaces = 20_000

// maxFirst is the longest first segment remembered, in bytes: that of a site's path.
const maxFirst = 64

// place is a host and the first segment of a path on it.
type place struct{ host, first string }

func placeOf(host, path string) place {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return place{strings.ToLower(host), first}
}

// spot is the site that was found at a place, and the state of its account at that time.
type spot struct {
	stamp stamp
	site  int64
}

// at returns the site last found at a place, or else on its host; zero if unknown. The site may have moved since.
func (c *cache) at(p place) (s spot, exact bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, exact = c.places[p]; exact {
		return s, true
	}
	return c.places[place{p.host, ""}], false
}

// learn remembers the site at a place, found in a state of its account.
func (c *cache) learn(p place, at stamp, s kb.Site) {
	c.mu.Lock()
	if len(c.places) >= maxPlaces {
		clear(c.places)
	}
	if len(p.first) <= maxFirst {
		c.places[place{strings.Clone(p.host), strings.Clone(p.first)}] = spot{at, s.ID} // keeps nothing else of the request
	}
	if s.Path == "" {
		c.places[place{strings.Clone(p.host), ""}] = spot{at, s.ID}
	}
	c.mu.Unlock()
	c.know(at, fact{s.ID, "site"}, s)
}

// now returns the state of an account's sites, to be taken before reading anything that is rendered.
func (c *cache) now(ctx context.Context, id int64) stamp {
	if c.cfg.Events == nil || c.cfg.LastEvent == nil {
		return stamp{}
	}
	c.mu.Lock()
	a := c.accounts[id]
	if a == nil {
		if len(c.accounts) >= maxAccounts {
			clear(c.accounts)
			c.facts = 0
			clear(c.byKey)
			c.used.Init()
			c.size = 0
		}
		a = &account{seq: -1}
		c.accounts[id] = a
	}
	due, state, broken := c.due(a), a.state, a.broken
	c.mu.Unlock()
	if due {
		state, broken = c.check(ctx, id, a)
	}
	if broken {
		return stamp{}
	}
	return stamp{id, state}
}

// check looks for changes in the log. If the log cannot be read, cached pages continue to be served, and no new ones are
// kept.
func (c *cache) check(ctx context.Context, id int64, a *account) (state int64, broken bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.mu.Lock()
	if !c.due(a) { // another request was faster
		defer c.mu.Unlock()
		return a.state, a.broken
	}
	seq, at := a.seq, c.cfg.Now()
	a.stale = false
	c.mu.Unlock()
	changed := seq < 0
	last, err := c.cfg.LastEvent(ctx, id)
	if err == nil && seq >= 0 && last != seq {
		changed, err = c.changed(ctx, id, seq, last)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a.checked, a.broken = at, err != nil
	if err != nil {
		c.logger.WarnContext(ctx, "the log of events cannot be read: pages are served as they are", "error", err)
		return a.state, true
	}
	a.seq = last
	if changed {
		a.state++
		c.facts -= len(a.known)
		a.known = nil
	}
	return a.state, false
}

// areas are the prefixes of events that change pages.
var areas = []string{"site.", "article.", "collection.", "category.", "theme.", "file.", "account.", "mailbox."}

// maxLook is the number of events examined; if there are more, they count as a change.
const maxLook = 200

// changed reports whether an event after the given one changes a page.
func (c *cache) changed(ctx context.Context, id, after, last int64) (bool, error) {
	if last < after || last-after > maxLook {
		return true, nil
	}
	events, err := c.cfg.Events.Events(ctx, id, after, maxLook)
	if err == nil && int64(len(events)) < last-after {
		return true, nil // some have expired
	}
	return slices.ContainsFunc(events, func(e storage.Event) bool {
		return slices.ContainsFunc(areas, func(area string) bool { return strings.HasPrefix(e.Type, area) })
	}), err
}

// key returns the cache key, "" for requests that are not cached.
func key(r *http.Request) string {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || len(r.URL.RawQuery) > 0 || len(r.URL.Path) > 1000 {
		return ""
	}
	scheme := "http:"
	if r.TLS != nil {
		scheme = "https:"
	}
	return scheme + r.Host + r.URL.EscapedPath()
}

// serve answers with a cached page that is still valid.
func (c *cache) serve(w http.ResponseWriter, r *http.Request) bool {
	k := key(r)
	if k == "" || c.cfg.LastEvent == nil {
		return false
	}
	page := c.valid(r.Context(), k)
	if page == nil {
		c.misses.Add(1)
		return false
	}
	c.hits.Add(1)
	pattern.Note(r.Context(), page.route)
	c.send(page, w, r, false)
	return true
}

// due reports whether to read the log; c.mu is held.
func (c *cache) due(a *account) bool {
	return a.stale || a.seq < 0 || c.cfg.Now().Sub(a.checked) >= fresh
}

// valid returns a cached page that is still valid, nil if there is none.
func (c *cache) valid(ctx context.Context, k string) *kept {
	c.mu.Lock()
	e := c.byKey[k]
	if e == nil {
		c.mu.Unlock()
		return nil
	}
	c.used.MoveToFront(e)
	page, _ := e.Value.(*kept)
	c.mu.Unlock()
	if page.forGood {
		return page
	}
	if now := c.now(ctx, page.stamp.account); now != (stamp{}) && now != page.stamp {
		c.mu.Lock()
		c.drop(k)
		c.mu.Unlock()
		return nil
	}
	return page
}

// CacheStats are the statistics of the page cache.
type CacheStats struct {
	Hits, Misses int64 // requests since the start that were answered from the cache, and those that were not
	Pages        int64
	Bytes        int64
}

// CacheStats returns the statistics of the page cache.
func (h *Handler) CacheStats() CacheStats {
	c := h.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheStats{Hits: c.hits.Load(), Misses: c.misses.Load(), Pages: int64(c.used.Len()), Bytes: c.size}
}

func (c *cache) drop(k string) {
	if e := c.byKey[k]; e != nil {
		page, _ := c.used.Remove(e).(*kept)
		c.size -= page.bytes()
		delete(c.byKey, k)
	}
}

func (k *kept) bytes() int64 { return int64(len(k.key)+len(k.plain.body)) + k.more + 1000 }

// storePage stores a page.
func (c *cache) storePage(page *kept) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(page.key)
	if page.bytes() > c.cfg.CacheSize/8 {
		return
	}
	c.byKey[page.key] = c.used.PushFront(page)
	c.size += page.bytes()
	c.shrink()
}

// grow counts the bytes by which a page has grown since it was stored.
func (c *cache) grow(page *kept, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[page.key]; e != nil && e.Value == page {
		page.more += int64(bytes)
		c.size += int64(bytes)
		c.shrink()
	}
}

// shrink evicts pages until the others fit; c.mu is held.
func (c *cache) shrink() {
	for c.size > c.cfg.CacheSize {
		last, _ := c.used.Back().Value.(*kept)
		c.drop(last.key)
	}
}

// Cache-Control of public pages: browsers revalidate each time, shared caches each minute, serving the stored page while
// they do.
const shared = "public, max-age=0, s-maxage=60, stale-while-revalidate=86400, stale-if-error=86400"

// send sends a page and stores it if it is the same for everyone: until something changes, or permanently if it is
// immutable.
func (v *visit) send(status int, body []byte, same bool) error {
	return v.sendUntil(status, body, same, v.w.Header().Get("Cache-Control") == forGood)
}

// sendUntil is send with an explicit choice of permanent storage, which need not follow from Cache-Control.
func (v *visit) sendUntil(status int, body []byte, same, good bool) error {
	h := v.w.Header()
	same = same && !v.unstable && !v.preview.signed && v.site.Visibility == kb.Public
	switch {
	case h.Get("Cache-Control") != "":
	case same:
		h.Set("Cache-Control", shared)
	case v.site.Visibility == kb.Private || v.preview.signed:
		h.Set("Cache-Control", "private, no-store")
	default:
		h.Set("Cache-Control", "no-store")
	}
	if m := storage.MeterOf(v.ctx()); m != nil {
		if err := m.Take(len(body)); err != nil { // the answer counts in addition to the rows read
			return err
		}
	}
	codings := v.h.cache.codings
	if !compressible(h.Get("Content-Type")) {
		codings = nil
	} else if len(body) >= smallest {
		h.Add("Vary", "Accept-Encoding")
	}
	control := h.Get("Cache-Control")
	page := &kept{key: key(v.r), route: pattern.Of(v.ctx()), stamp: v.stamp, forGood: good, status: status, stored: !strings.Contains(control, "no-store")}
	for name, values := range h {
		page.header = append(page.header, field{name, slices.Clip(slices.Clone(values))})
	}
	sum := sha256.Sum256(body)
	page.etag = base64.RawURLEncoding.EncodeToString(sum[:12])
	page.plain = newForm(body, "", `"`+page.etag+`"`, "")
	page.coded = newCoded(codings, len(body))
	if page.key != "" && (page.forGood || same && v.stamp != (stamp{})) {
		v.h.cache.storePage(page)
	}
	v.h.cache.send(page, v.w, v.r, true)
	return nil
}

// send answers a request with a page, or 304 if the client has it. A new page is compressed fast: the reader waits, and the
// page may not be requested again.
func (c *cache) send(k *kept, w http.ResponseWriter, r *http.Request, first bool) {
	h := w.Header()
	for _, f := range k.header {
		h[f.name] = f.values
	}
	page := k.plain
	if in := accepted(r.Header.Get("Accept-Encoding"), k.coded); in != nil {
		if coded := c.encoded(k, in, first); coded != nil {
			page = coded
		}
	}
	if k.stored {
		etag, tag, given := page.etag, page.tag, r.Header.Get("If-None-Match")
		if page.former != "" && !has(given, etag) && has(given, page.former) {
			etag, tag = page.former, []string{page.former}
		}
		h["Etag"] = tag
		if k.status == http.StatusOK && has(given, etag) {
			h.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	for _, f := range page.header {
		h[f.name] = f.values
	}
	w.WriteHeader(k.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(page.body) // the client may have disconnected
	}
}

// encoded returns a page in a coding, nil if that would not be smaller.
func (c *cache) encoded(k *kept, in *coded, first bool) *form {
	effort := often
	if k.forGood {
		effort = forEver
	}
	if first && !k.forGood {
		body := in.encode(k.plain.body, once)
		if body == nil {
			return nil
		}
		return newForm(body, in.name, `"`+k.etag+in.tag+`1"`, `"`+k.etag+in.tag+`"`) // the next encoding will have other bytes
	}
	if grown := in.make(k.plain.body, k.etag, effort); grown > 0 {
		c.grow(k, grown)
	}
	return in.form
}

// has reports whether If-None-Match contains a tag.
func has(header, etag string) bool {
	if header == "" {
		return false
	}
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimPrefix(strings.TrimSpace(part), "W/")
		if part == etag || part == "*" {
			return true
		}
	}
	return false
}
