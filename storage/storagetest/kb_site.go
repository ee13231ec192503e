package storagetest

import (
	"context"
	"errors"
	"fmt"
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
		{"Pages", testSitePages},
		{"Unique", testUniqueSite},
		{"Hosts", testSiteHosts},
		{"Account", testSiteAccount},
		{"Outbox", testKBOutbox},
	}
}

func testSite(t *testing.T, b Backend) {
	w := newAccount(t, b)
	scope := kb.Scope{AccountID: w.account.ID}
	site, plain := w.newSite("a"), w.newSite("b")
	filled(t, site, "ID")
	plain.MailboxID, plain.Subdomain, plain.CustomDomain, plain.HostKey, plain.HTMLHead = 0, "", "", kb.SharedHost, ""
	plain.Path = w.mark
	given := site
	given.AccountID, given.DefaultLocale, given.Languages = 0, "xx", []string{"yy"} // are the scope's and the account's
	w.kb(t, scope, func(ctx context.Context, tx kb.Tx) error {
		ok(t, tx.InsertSite(ctx, &given))
		return tx.InsertSite(ctx, &plain)
	})
	same(t, "account of a site", w.account.ID, given.AccountID)
	site.ID = given.ID
	r := w.KB.Within(scope)
	one(t, "site", site, r.Site, site.ID)
	one(t, "site without host", plain, r.Site, plain.ID)
	changed := w.newSite("c")
	changed.ID, changed.MailboxID, changed.Name, changed.Visibility, changed.UpdatedAt = site.ID, w.empty.ID, "Other", kb.Public, at(9)
	w.kb(t, kb.Scope{AccountID: w.account.ID, SiteID: site.ID}, func(ctx context.Context, tx kb.Tx) error {
		locked, err := tx.SiteForUpdate(ctx, site.ID)
		ok(t, err)
		same(t, "site to be changed", site, locked)
		return tx.UpdateSite(ctx, &changed)
	})
	one(t, "changed site", changed, r.Site, site.ID)
	w.kb(t, scope, func(ctx context.Context, tx kb.Tx) error { return tx.DeleteSite(ctx, site.ID) })
	for what, fn := range map[string]kbFunc{
		"deleting again":  func(ctx context.Context, tx kb.Tx) error { return tx.DeleteSite(ctx, site.ID) },
		"updating":        func(ctx context.Context, tx kb.Tx) error { return tx.UpdateSite(ctx, &changed) },
		"reading to lock": func(ctx context.Context, tx kb.Tx) error { _, err := tx.SiteForUpdate(ctx, site.ID); return err },
		"finding": func(ctx context.Context, _ kb.Tx) error {
			_, err := r.Site(context.WithoutCancel(t.Context()), site.ID)
			return err
		},
	} {
		if what == "finding" {
			fails(t, what, fn(t.Context(), nil), fault.NotFound)
			continue
		}
		fails(t, what+" a deleted site", w.KB.InTx(t.Context(), scope, fn), fault.NotFound)
	}
	one(t, "other site", plain, r.Site, plain.ID)
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
	_, err = w.KB.FindSite(t.Context(), nobody)
	fails(t, "a site that is not there", err, fault.NotFound)
}

func testSitePages(t *testing.T, b Backend) {
	w, _ := newLibrary(t, b), newLibrary(t, b)
	want := []kb.Site{w.shelf.site, w.shelf.bare}
	scope := kb.Scope{AccountID: w.account.ID}
	w.kb(t, scope, func(ctx context.Context, tx kb.Tx) error {
		want = want[:2]
		for n := range 3 {
			s := w.newSite(fmt.Sprint("more", n))
			if err := tx.InsertSite(ctx, &s); err != nil {
				return err
			}
			want = append(want, s)
		}
		return nil
	})
	position := func(s kb.Site) storage.Position { return storage.Position{ID: s.ID} }
	checkPages(t, want, position, func(s storage.Seek) ([]kb.Site, error) { return w.KB.Within(scope).Sites(t.Context(), s) })
	checkPages(t, want[:1], position, func(s storage.Seek) ([]kb.Site, error) { return w.inSite().Sites(t.Context(), s) })
}

func testUniqueSite(t *testing.T, b Backend) {
	w, other := newLibrary(t, b), newLibrary(t, b)
	insert := func(in *world, change func(*kb.Site)) error {
		s := in.newSite("new" + in.mark)
		change(&s)
		return in.KB.InTx(t.Context(), kb.Scope{AccountID: in.account.ID}, func(ctx context.Context, tx kb.Tx) error { return tx.InsertSite(ctx, &s) })
	}
	update := func(change func(*kb.Site)) error {
		s := w.shelf.bare
		change(&s)
		return w.KB.InTx(t.Context(), kb.Scope{AccountID: w.account.ID}, func(ctx context.Context, tx kb.Tx) error { return tx.UpdateSite(ctx, &s) })
	}
	conflicts(t, "an address again", insert(w, func(s *kb.Site) { s.Path = "first" }), kb.UniqueSitePath)
	conflicts(t, "updating to an address that is taken", update(func(s *kb.Site) { s.Path = "first" }), kb.UniqueSitePath)
	ok(t, update(func(*kb.Site) {})) // its own is no conflict
	conflicts(t, "another account's host", insert(other, func(s *kb.Site) { s.HostKey = w.shelf.site.HostKey }), kb.UniqueSiteHost)
	conflicts(t, "updating to another account's host", update(func(s *kb.Site) { s.HostKey = other.shelf.site.HostKey }), kb.UniqueSiteHost)
	shared := func(path string) func(*kb.Site) { return func(s *kb.Site) { s.HostKey, s.Path = kb.SharedHost, path } }
	ok(t, insert(w, shared("w"+w.mark)))
	ok(t, insert(other, shared("o"+w.mark)))
	conflicts(t, "another account's path", insert(other, shared("w"+w.mark)), kb.UniqueSitePath)
}

// A host is free again when the last site has left it.
func testSiteHosts(t *testing.T, b Backend) {
	w, other := newLibrary(t, b), newLibrary(t, b)
	host := w.shelf.site.HostKey
	take := func() error {
		return other.tryKB(t, func(ctx context.Context, tx kb.Tx) error {
			s := other.shelf.site
			s.HostKey = host
			return tx.UpdateSite(ctx, &s)
		})
	}
	w.kb(t, w.shelf.scope, func(ctx context.Context, tx kb.Tx) error { return tx.DeleteSite(ctx, w.shelf.site.ID) })
	conflicts(t, "a host with one site left", take(), kb.UniqueSiteHost)
	w.kb(t, kb.Scope{AccountID: w.account.ID}, func(ctx context.Context, tx kb.Tx) error {
		s := w.shelf.bare
		s.HostKey, s.Path = kb.SharedHost, w.mark
		return tx.UpdateSite(ctx, &s)
	})
	ok(t, take())
}

// A site goes with its account, and loses a mailbox that is deleted.
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
	err = w.tryKB(t, func(ctx context.Context, tx kb.Tx) error { s := want; return tx.InsertSite(ctx, &s) })
	fails(t, "a new site of an account that is gone", err, fault.NotFound)
}

// Jobs and events of the knowledge base come and go with its transactions.
func testKBOutbox(t *testing.T, b Backend) {
	w := newLibrary(t, b)
	before := len(w.log(t))
	emit := func(end error) kbFunc {
		return func(ctx context.Context, tx kb.Tx) error {
			s := w.shelf.site
			s.Name = "changed"
			ok(t, tx.UpdateSite(ctx, &s))
			ok(t, tx.Emit(ctx, storage.Event{Type: "site.updated", Subject: s.ID, Data: []byte("{}"), Time: base}))
			ok(t, tx.Enqueue(ctx, storage.Job{Kind: "kb-" + w.mark, Subject: s.ID}))
			return end
		}
	}
	if err := w.tryKB(t, emit(errOnPurpose)); !errors.Is(err, errOnPurpose) {
		t.Errorf("got %v, want the function's error", err)
	}
	one(t, "site after a rollback", w.shelf.site, w.inSite().Site, w.shelf.site.ID)
	same(t, "events after a rollback", before, len(w.log(t)))
	ok(t, w.tryKB(t, emit(nil)))
	same(t, "events after a commit", before+1, len(w.log(t)))
	claimed, err := b.Jobs.Claim(t.Context(), []string{"kb-" + w.mark}, 10, at(100000), at(100001))
	ok(t, err)
	same(t, "jobs", 1, len(claimed))
}

func siteReads() map[string]readProbeOf[kb.Reader] {
	type r = kb.Reader
	return map[string]readProbeOf[kb.Reader]{
		"Site":  {ofSite, true, func(ctx context.Context, r r, v *world) (any, error) { return answer(r.Site(ctx, v.shelf.site.ID)) }},
		"Sites": {ofSite, false, func(ctx context.Context, r r, v *world) (any, error) { return sitesOf(ctx, r, v) }},
	}
}

// sitesOf finds a site among all that a reader lists.
func sitesOf(ctx context.Context, r kb.Reader, v *world) (any, error) {
	list, err := r.Sites(ctx, all())
	for _, s := range list {
		if s.ID == v.shelf.site.ID {
			return s, err
		}
	}
	return nil, err
}

func siteWrites() map[string]writeProbeOf[kb.Tx] {
	type tx = kb.Tx
	return map[string]writeProbeOf[kb.Tx]{
		"SiteForUpdate": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.SiteForUpdate(ctx, v.shelf.site.ID)
			return err
		}},
		"UpdateSite": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error {
			s := v.shelf.site
			s.Name = "stolen"
			return tx.UpdateSite(ctx, &s)
		}},
		"DeleteSite": {level: ofSite, call: func(ctx context.Context, tx tx, v *world) error { return tx.DeleteSite(ctx, v.shelf.site.ID) }},
	}
}

func (g *generator) readSite(seen library, seek storage.Seek) []operation {
	return []operation{
		{method: "Site", args: []any{g.either("Site", oneOf(g, seen.Sites).ID)}},
		{method: "Sites", args: []any{ordered{g.from(seek, "Site"), "Site"}}},
	}
}

func (g *generator) writeSite(seen library) operation {
	old := oneOf(g, seen.Sites)
	if g.IntN(30) == 0 {
		return operation{method: "DeleteSite", args: []any{g.either("Site", old.ID)}}
	}
	s := kb.Site{
		MailboxID: oneOf(g, []int64{0, 0, g.any("Mailbox")}), Name: g.text(), Path: oneOf(g, []string{"", "a", "b", "c"}),
		HostKey: oneOf(g, []string{kb.SharedHost, "a.", "b.example", "c.example"}), Visibility: kb.Public, CreatedAt: g.time(false), UpdatedAt: g.time(false),
	}
	if g.IntN(2) == 0 {
		return operation{method: "InsertSite", args: []any{&s}, clash: true}
	}
	s.ID = g.either("Site", old.ID).n
	return operation{method: "UpdateSite", args: []any{&s}, clash: true}
}
