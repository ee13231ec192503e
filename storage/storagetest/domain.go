package storagetest

import (
	"context"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func domainTests() []testCase {
	return []testCase{
		{"Domain", testDomain},
		{"Pages", testDomainPages},
		{"Unique", testUniqueDomain},
	}
}

func (w *world) newDomain(label string) helpdesk.Domain {
	name := label + "." + w.mark + ".example"
	return helpdesk.Domain{AccountID: w.account.ID, Name: name, Selector: "hw-" + w.mark, SealedKey: []byte{0, 1, 2, 255},
		Records: []helpdesk.DNSRecord{
			{Label: helpdesk.LabelDKIM, Type: "TXT", Hostname: "hw._domainkey." + name, Value: `v=DKIM1; p="\é` + w.mark, Verified: true},
			{Label: helpdesk.LabelSPF, Type: "TXT", Hostname: name, Value: "v=spf1 ~all", Problem: "It isn't <there>."}},
		CreatedAt: base, UpdatedAt: at(1)}
}

// domainsOf finds a domain among all that a reader lists.
func domainsOf(ctx context.Context, r helpdesk.Reader, v *world) (any, error) {
	list, err := r.Domains(ctx, all())
	for _, d := range list {
		if d.ID == v.domain.ID {
			return d, err
		}
	}
	return nil, err
}

func testDomain(t *testing.T, b Backend) {
	w := newAccount(t, b)
	d, bare := w.newDomain("a"), w.newDomain("bare")
	d.AccountID = 0 // is the scope's
	bare.SealedKey, bare.Records = nil, nil
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		ok(t, tx.InsertDomain(ctx, &bare))
		return tx.InsertDomain(ctx, &d)
	})
	same(t, "account of a domain", w.account.ID, d.AccountID)
	one(t, "domain", d, w.in().Domain, d.ID)
	one(t, "domain without records", bare, w.in().Domain, bare.ID)
	changed := w.newDomain("b")
	changed.ID, changed.Selector, changed.SealedKey, changed.UpdatedAt = d.ID, "other", []byte{9}, at(9)
	changed.Records[1].Verified = true
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		locked, err := tx.DomainForUpdate(ctx, d.ID)
		ok(t, err)
		same(t, "domain to be changed", d, locked)
		return tx.UpdateDomain(ctx, &changed)
	})
	one(t, "changed domain", changed, w.in().Domain, d.ID)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteDomain(ctx, d.ID) })
	for what, fn := range map[string]txFunc{
		"deleting again":  func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteDomain(ctx, d.ID) },
		"updating":        func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateDomain(ctx, &changed) },
		"reading to lock": func(ctx context.Context, tx helpdesk.Tx) error { _, err := tx.DomainForUpdate(ctx, d.ID); return err },
	} {
		fails(t, what+" a deleted domain", w.try(t, fn), fault.NotFound)
	}
	one(t, "other domain", bare, w.in().Domain, bare.ID)
}

func testDomainPages(t *testing.T, b Backend) {
	w := newAccount(t, b)
	var want []int64
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for _, label := range []string{"e", "d", "c", "b", "a"} {
			d := w.newDomain(label)
			ok(t, tx.InsertDomain(ctx, &d))
			want = append(want, d.ID)
		}
		return nil
	})
	id := func(d helpdesk.Domain) int64 { return d.ID }
	list := func(seek storage.Seek) []int64 {
		got, err := w.in().Domains(t.Context(), seek)
		ok(t, err)
		return ids(got, id)
	}
	same(t, "first page", want[:2], list(storage.Seek{Limit: 2}))
	same(t, "second page", want[2:4], list(storage.Seek{Limit: 2, From: &storage.Position{ID: want[1]}}))
	same(t, "page before", []int64{want[2], want[1]}, list(storage.Seek{Limit: 2, Desc: true, From: &storage.Position{ID: want[3]}}))
	same(t, "page of none", []int64{}, list(storage.Seek{}))
}

func testUniqueDomain(t *testing.T, b Backend) {
	w, other := newWorld(t, b), newAccount(t, b)
	insert := func(in *world) error {
		return in.try(t, func(ctx context.Context, tx helpdesk.Tx) error {
			d := w.domain
			return tx.InsertDomain(ctx, &d)
		})
	}
	conflicts(t, "a domain again", insert(w), helpdesk.UniqueDomain)
	ok(t, insert(other))
	second := w.newDomain("second")
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.InsertDomain(ctx, &second) })
	second.Name = w.domain.Name
	err := w.try(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateDomain(ctx, &second) })
	conflicts(t, "updating to a name that is taken", err, helpdesk.UniqueDomain)
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.UpdateDomain(ctx, &w.domain) }) // its own is no conflict
}

func domainReads() map[string]readProbe {
	type r = helpdesk.Reader
	return map[string]readProbe{
		"Domain":  {ofAccount, true, func(ctx context.Context, r r, v *world) (any, error) { return answer(r.Domain(ctx, v.domain.ID)) }},
		"Domains": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) { return domainsOf(ctx, r, v) }},
	}
}

func domainWrites() map[string]writeProbe {
	type tx = helpdesk.Tx
	return map[string]writeProbe{
		"DomainForUpdate": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.DomainForUpdate(ctx, v.domain.ID)
			return err
		}},
		"UpdateDomain": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			d := v.domain
			d.Name = "stolen.example"
			return tx.UpdateDomain(ctx, &d)
		}},
		"DeleteDomain": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error { return tx.DeleteDomain(ctx, v.domain.ID) }},
	}
}

func (g *generator) writeDomain(seen content) operation {
	old := oneOf(g, seen.Domains)
	if g.IntN(5) == 0 {
		return operation{method: "DeleteDomain", args: []any{g.either("Domain", old.ID)}}
	}
	d := helpdesk.Domain{Name: oneOf(g, []string{"a.example", "b.example", "c.example"}), Selector: g.text(),
		CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	for range g.IntN(3) {
		d.Records = append(d.Records, helpdesk.DNSRecord{Label: g.text(), Value: g.text(), Verified: g.IntN(2) == 0, Problem: g.text()})
	}
	if g.IntN(2) == 0 {
		return operation{method: "InsertDomain", args: []any{&d}, clash: true}
	}
	d.ID = g.either("Domain", old.ID).n
	return operation{method: "UpdateDomain", args: []any{&d}, clash: true}
}
