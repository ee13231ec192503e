package storagetest

import (
	"context"
	"slices"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// withKB reports whether both backends have a knowledge base.
func (c *comparison) withKB() bool { return c.model.KB != nil && c.subject.KB != nil }

// kbScope returns a random scope: mostly a site, rarely an account or none. Few sites get most operations.
func (c *comparison) kbScope() kb.Scope {
	ctx, s := c.t.Context(), c.scope()
	if c.gen.IntN(4) > 0 {
		there := func(id int64) bool {
			_, err := c.model.Store.Within(helpdesk.Scope{AccountID: id}).Account(ctx)
			return err == nil
		}
		if i := slices.IndexFunc(c.gen.pool["Account"], there); i >= 0 {
			s.AccountID = c.gen.pool["Account"][i]
		}
	}
	scope := kb.Scope{AccountID: s.AccountID}
	sites, _ := c.model.KB.Within(scope).Sites().List(ctx, storage.NoFilter{}, all())
	if len(sites) > 0 && c.gen.IntN(12) > 0 {
		scope.SiteID = c.gen.either("Site", sites[min(len(sites)-1, c.gen.IntN(4)/3)].ID).n
	}
	return scope
}

// kb runs a change or a read.
func (c *comparison) kb() {
	c.t.Helper()
	if c.gen.IntN(3) > 0 {
		c.kbTransaction()
	} else {
		c.kbRead()
	}
}

func (c *comparison) kbTransaction() {
	c.t.Helper()
	ctx, scope := c.t.Context(), c.kbScope()
	inOne(c, func(ctx context.Context, tx kb.Tx) (operation, error) {
		seen, err := readLibrary(ctx, tx.Reader())
		if err != nil {
			return operation{}, err
		}
		articles, err := tx.Articles().ByIDs(ctx, c.gen.pool["Article"])
		return c.gen.writeKB(scope, seen, articles), err
	}, func(fn kbFunc) error {
		return c.model.KB.InTx(ctx, scope, fn)
	}, func(fn kbFunc) error {
		return c.subject.KB.InTx(ctx, translate(scope, c.ids.subject).(kb.Scope), fn)
	})
}

func (c *comparison) kbRead() {
	c.t.Helper()
	ctx, scope := c.t.Context(), c.kbScope()
	model := c.model.KB.Within(scope)
	seen, _ := readLibrary(ctx, model)
	seen.Postings = slices.DeleteFunc(seen.Postings, func(p kb.Posting) bool { return c.ids.toSubject[id{"Document", p.DocumentID}] == 0 })
	for range 6 {
		done := do(ctx, model, c.gen.readKB(seen))
		c.again(ctx, c.subject.KB.Within(translate(scope, c.ids.subject).(kb.Scope)), done)
	}
	done := do(ctx, c.model.KB, oneOf(c.gen, []operation{
		{method: "FindSite", args: []any{one64("Site", c.gen.any("Site"))}},
		{method: "HasHost", args: []any{oneOf(c.gen, []string{kb.SharedHost, "a.", "b.example", "none.example"})}},
		{method: "PublicSites", args: []any{oneOf(c.gen, []string{kb.SharedHost, "a.", "b.example"}), 3}},
		{method: "SiteByAddress", args: []any{oneOf(c.gen, []string{kb.SharedHost, "a.", "b.example"}), []string{"", oneOf(c.gen, []string{"", "a", "b"})}}},
	}))
	c.again(ctx, c.subject.KB, done)
}

// kbEverything compares the whole knowledge base of an account.
func (c *comparison) kbEverything(account int64) {
	c.t.Helper()
	ctx := c.t.Context()
	scopes := []kb.Scope{{AccountID: account}}
	sites, _ := c.model.KB.Within(scopes[0]).Sites().List(ctx, storage.NoFilter{}, all())
	for _, s := range sites {
		scopes = append(scopes, kb.Scope{AccountID: account, SiteID: s.ID})
	}
	for _, scope := range scopes {
		model, errModel := readLibrary(ctx, c.model.KB.Within(scope))
		subject, errSubject := readLibrary(ctx, c.subject.KB.Within(translate(scope, c.ids.subject).(kb.Scope)))
		if describe(errModel) != describe(errSubject) {
			c.t.Errorf("library: model %v, subject %v", errModel, errSubject)
		}
		c.same("library", model, subject)
	}
}

// readKB generates a call of a reader that sees part of a knowledge base.
func (g *generator) readKB(seen library) operation {
	seek := storage.Seek{Desc: g.IntN(2) == 0, Limit: 1 + g.IntN(6)}
	reads := append(g.readSite(seen, seek), g.readDecor(seen, seek)...)
	reads = append(reads, g.readContent(seen, seek)...)
	if g.IntN(2) == 0 {
		reads = g.readReaders(seen, seek)
	}
	return oneOf(g, reads)
}

// writeKB generates a change. Articles without a live revision are in articles, but not in seen.
func (g *generator) writeKB(scope kb.Scope, seen library, articles []kb.Article) operation {
	switch p := g.IntN(20); {
	case p < 1, p < 18 && scope.SiteID == 0:
		return g.writeSite(seen)
	case p < 3:
		return g.writeDecor(seen)
	case p < 13 && len(seen.Articles) > 0:
		return g.writeReaders(seen)
	}
	return g.writeContent(seen, articles)
}
