package storagetest

import (
	"context"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
)

// withKB reports whether both backends have a knowledge base.
func (c *comparison) withKB() bool { return c.model.KB != nil && c.subject.KB != nil }

// kbScope is a random one: mostly a site, sometimes an account, rarely none.
func (c *comparison) kbScope() kb.Scope {
	s := kb.Scope{AccountID: c.scope().AccountID}
	sites, _ := c.model.KB.Within(s).Sites(c.t.Context(), all())
	if c.gen.IntN(4) > 0 {
		s.SiteID = c.gen.either("Site", oneOf(c.gen, sites).ID).n
	}
	return s
}

func (c *comparison) kbTransaction() {
	c.t.Helper()
	ctx, scope := c.t.Context(), c.kbScope()
	inOne(c, func(ctx context.Context, tx kb.Tx) (operation, error) {
		seen, err := readLibrary(ctx, tx)
		return c.gen.writeKB(seen), err
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
	for range 3 {
		done := do(ctx, model, c.gen.readKB(seen))
		c.again(ctx, c.subject.KB.Within(translate(scope, c.ids.subject).(kb.Scope)), done)
	}
	done := do(ctx, c.model.KB, oneOf(c.gen, []operation{
		{method: "FindSite", args: []any{one64("Site", c.gen.any("Site"))}},
		{method: "SiteByAddress", args: []any{oneOf(c.gen, []string{kb.SharedHost, "a.", "b.example"}), oneOf(c.gen, []string{"", "a", "b"})}},
	}))
	c.again(ctx, c.subject.KB, done)
}

// kbEverything compares all that an account has of a knowledge base.
func (c *comparison) kbEverything(account int64) {
	c.t.Helper()
	ctx := c.t.Context()
	scopes := []kb.Scope{{AccountID: account}}
	sites, _ := c.model.KB.Within(scopes[0]).Sites(ctx, all())
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

// readKB makes a call of a reader who sees some of a knowledge base.
func (g *generator) readKB(seen library) operation {
	seek := storage.Seek{Desc: g.IntN(2) == 0, Limit: 1 + g.IntN(6)}
	reads := append(g.readSite(seen, seek), g.readDecor(seen, seek)...)
	return oneOf(g, append(reads, g.readContent(seen, seek)...))
}

// writeKB makes up a change of it.
func (g *generator) writeKB(seen library) operation {
	switch g.IntN(5) {
	case 0:
		return g.writeSite(seen)
	case 1:
		return g.writeDecor(seen)
	}
	return g.writeContent(seen)
}
