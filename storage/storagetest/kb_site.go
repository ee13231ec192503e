package storagetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func siteTests() []testCase {
	return []testCase{
		{"Site", testSite},
		{"Directory", testSiteDirectory},
		{"Unique", testUniqueSite},
		{"Hosts", testSiteHosts},
		{"Account", testSiteAccount},
		{"Outbox", testKBOutbox},
	}
}

// Fields of a site that come from its account are not written, and a scope with a site includes no other.
func testSite(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	scope := kb.Scope{AccountID: w.account.ID}
	site, plain := w.newSite("a"), w.newSite("b")
	plain.MailboxID, plain.Subdomain, plain.CustomDomain, plain.HostKey, plain.HTMLHead = 0, "", "", kb.SharedHost, ""
	plain.Path = w.mark
	given := site
	given.DefaultLocale, given.Languages = "xx", []string{"yy"}
	w.kb(t, scope, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Insert(ctx, &given, &plain) })
	site.ID = given.ID
	r := w.KB.Within(scope).Sites()
	one(t, "site", site, r.Get, site.ID)
	one(t, "site without host", plain, r.Get, plain.ID)
	w.kb(t, scope, func(ctx context.Context, tx kb.Tx) error {
		locked, err := tx.Sites().Lock(ctx, site.ID)
		ok(t, err)
		same(t, "site to be changed", site, locked)
		return tx.Sites().Update(ctx, &given)
	})
	one(t, "changed site", site, r.Get, site.ID)
	own, err := w.inSite().Sites().List(t.Context(), storage.NoFilter{}, all())
	ok(t, err)
	same(t, "sites of a scope with one", []kb.Site{w.shelf.site}, own)
}

func testSiteDirectory(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	one(t, "site of any account", w.shelf.site, w.KB.FindSite, w.shelf.site.ID)
	got, err := w.KB.SiteByAddress(t.Context(), w.shelf.site.HostKey, w.shelf.site.Path)
	ok(t, err)
	same(t, "site by address", w.shelf.site, got)
	for _, address := range [][2]string{{w.shelf.site.HostKey, ""}, {"", w.shelf.site.Path}, {kb.SharedHost, w.shelf.site.Path}} {
		_, err := w.KB.SiteByAddress(t.Context(), address[0], address[1])
		fails(t, fmt.Sprint("address ", address), err, fault.NotFound)
	}
	got, err = w.KB.SiteByAddress(t.Context(), w.shelf.site.HostKey, "", w.shelf.site.Path, "x"+w.shelf.site.Path)
	ok(t, err)
	same(t, "site by one of some paths", w.shelf.site, got)
	for _, paths := range [][]string{nil, {"", "x"}} {
		_, err := w.KB.SiteByAddress(t.Context(), w.shelf.site.HostKey, paths...)
		fails(t, fmt.Sprint("paths ", paths), err, fault.NotFound)
	}
	for host, want := range map[string]bool{w.shelf.site.HostKey: true, w.shelf.site.HostKey + "x": false, "": false} {
		found, err := w.KB.HasHost(t.Context(), host)
		ok(t, err)
		same(t, "a site of the host "+host, want, found)
	}
	testPublicSites(t, w)
	_, err = w.KB.FindSite(t.Context(), nobody)
	fails(t, "a site that is not there", err, fault.NotFound)
}

func testPublicSites(t *testing.T, w *world) {
	t.Helper()
	host := w.mark + ".public.example"
	insert := func(path string, visibility kb.Visibility) {
		s := w.newSite("p" + path + w.mark)
		s.HostKey, s.Path, s.Visibility, s.CustomDomain, s.Subdomain = host, path, visibility, host, ""
		ok(t, w.KB.InTx(t.Context(), kb.Scope{AccountID: w.account.ID}, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Insert(ctx, &s) }))
	}
	insert("c", kb.Public)
	insert("b", kb.Private)
	insert("a", kb.Public)
	for limit, want := range map[int]string{10: "a c", 1: "a"} {
		found, err := w.KB.PublicSites(t.Context(), host, limit)
		ok(t, err)
		var paths []string
		for _, s := range found {
			paths = append(paths, s.Path)
		}
		same(t, "paths of public sites", want, strings.Join(paths, " "))
	}
	none, err := w.KB.PublicSites(t.Context(), "x"+host, 10)
	ok(t, err)
	same(t, "public sites of a host without sites", 0, len(none))
}

func testUniqueSite(t *testing.T, b Backend) {
	w, other := newLibrary(t, b), newLibrary(t, b)
	insert := func(in *world, change func(*kb.Site)) error {
		s := in.newSite("new" + in.mark)
		change(&s)
		return in.KB.InTx(t.Context(), kb.Scope{AccountID: in.account.ID}, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Insert(ctx, &s) })
	}
	update := func(change func(*kb.Site)) error {
		s := w.shelf.bare
		change(&s)
		return w.KB.InTx(t.Context(), kb.Scope{AccountID: w.account.ID}, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Update(ctx, &s) })
	}
	conflicts(t, "another account's host", insert(other, func(s *kb.Site) { s.HostKey = w.shelf.site.HostKey }), kb.UniqueSiteHost)
	conflicts(t, "updating to another account's host", update(func(s *kb.Site) { s.HostKey = other.shelf.site.HostKey }), kb.UniqueSiteHost)
	shared := func(path string) func(*kb.Site) { return func(s *kb.Site) { s.HostKey, s.Path = kb.SharedHost, path } }
	ok(t, insert(w, shared("w"+w.mark)))
	ok(t, insert(other, shared("o"+w.mark)))
	conflicts(t, "another account's path", insert(other, shared("w"+w.mark)), kb.UniqueSitePath)
}

// A host is free again when the last site on it is gone.
func testSiteHosts(t *testing.T, b Backend) {
	w, other := newLibrary(t, b), newLibrary(t, b)
	host := w.shelf.site.HostKey
	take := func() error {
		return other.tryKB(t, func(ctx context.Context, tx kb.Tx) error {
			s := other.shelf.site
			s.HostKey = host
			return tx.Sites().Update(ctx, &s)
		})
	}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.Sites().Delete(ctx, w.shelf.site.ID) })
	conflicts(t, "a host with one site left", take(), kb.UniqueSiteHost)
	w.kb(t, kb.Scope{AccountID: w.account.ID}, func(ctx context.Context, tx kb.Tx) error {
		s := w.shelf.bare
		s.HostKey, s.Path = kb.SharedHost, w.mark
		return tx.Sites().Update(ctx, &s)
	})
	ok(t, take())
}

// Deleting an account deletes its sites; deleting a mailbox clears it from them.
func testSiteAccount(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		a := w.account
		a.DefaultLocale, a.Languages = "de", nil
		ok(t, tx.UpdateAccount(ctx, &a))
		return tx.Mailboxes().Delete(ctx, w.mailbox.ID)
	})
	want := w.shelf.site
	want.MailboxID, want.DefaultLocale, want.Languages = 0, "de", nil
	one(t, "site of a changed account", want, w.KB.FindSite, want.ID)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteAccount(ctx) })
	_, err := w.KB.FindSite(t.Context(), want.ID)
	fails(t, "site of an account that is gone", err, fault.NotFound)
	err = w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { s := want; return tx.Sites().Insert(ctx, &s) })
	fails(t, "a new site of an account that is gone", err, fault.NotFound)
}

// Jobs and events of the knowledge base are committed and rolled back with its transactions.
func testKBOutbox(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	before := len(w.log(t))
	emit := func(end error) kbFunc {
		return func(ctx context.Context, tx kb.Tx) error {
			s := w.shelf.site
			s.Name = "changed"
			ok(t, tx.Sites().Update(ctx, &s))
			ok(t, tx.Emit(ctx, storage.Event{Type: "site.updated", Subject: s.ID, Data: []byte("{}"), Time: base}))
			ok(t, tx.Enqueue(ctx, storage.Job{Kind: "kb-" + w.mark, Subject: s.ID}))
			return end
		}
	}
	if err := w.tryKB(t, emit(errOnPurpose)); !errors.Is(err, errOnPurpose) {
		t.Errorf("got %v, want the function's error", err)
	}
	one(t, "site after a rollback", w.shelf.site, w.inSite().Sites().Get, w.shelf.site.ID)
	same(t, "events after a rollback", before, len(w.log(t)))
	ok(t, w.tryKB(t, emit(nil)))
	same(t, "events after a commit", before+1, len(w.log(t)))
	claimed, err := b.Jobs.Claim(t.Context(), map[string]int{"kb-" + w.mark: 10}, at(100000), at(100001))
	ok(t, err)
	same(t, "jobs", 1, len(claimed))
}

func (g *generator) readSite(seen library, seek storage.Seek) []operation {
	return []operation{
		{method: "Sites.Get", args: []any{g.either("Site", oneOf(g, seen.Sites).ID)}},
		{method: "Sites.List", args: []any{storage.NoFilter{}, ordered{g.from(seek, "Site"), "Site"}}},
	}
}

func (g *generator) writeSite(seen library) operation {
	old := oneOf(g, seen.Sites)
	if g.IntN(30) == 0 {
		return operation{method: "Sites.Delete", args: []any{g.either("Site", old.ID)}}
	}
	s := kb.Site{
		MailboxID: oneOf(g, []int64{0, 0, g.any("Mailbox")}), Name: g.text(), Path: oneOf(g, []string{"", "a", "b", "c"}),
		HostKey: oneOf(g, []string{kb.SharedHost, "a.", "b.example", "c.example"}), Visibility: kb.Public, CreatedAt: g.time(false), UpdatedAt: g.time(false),
	}
	if g.IntN(2) == 0 {
		return operation{method: "Sites.Insert", args: []any{[]*kb.Site{&s}}, clash: true}
	}
	s.ID = g.either("Site", old.ID).n
	return operation{method: "Sites.Update", args: []any{[]*kb.Site{&s}}, clash: true}
}
