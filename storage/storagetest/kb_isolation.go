package storagetest

import (
	"context"
	"maps"
	"testing"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage/fault"
)

// ofSite is the level of data that belongs to a site: hidden from other accounts and from other sites of the same account.
const ofSite = ofMailbox

func kbIsolationTests() []testCase {
	return []testCase{
		{"EveryMethodIsProbed", testKBProbesComplete},
		{"Reads", testKBReadProbes},
		{"Writes", testKBWriteProbes},
		{"References", testKBReferences},
	}
}

func kbReads() map[string]readProbeOf[kb.Reader] {
	probes := decorReads()
	maps.Copy(probes, contentReads())
	maps.Copy(probes, readerReads())
	probesOf(kbNouns(), probes, map[string]writeProbeOf[kb.Tx]{})
	return probes
}

func kbWrites() map[string]writeProbeOf[kb.Tx] {
	probes := map[string]writeProbeOf[kb.Tx]{}
	maps.Copy(probes, decorWrites())
	maps.Copy(probes, contentWrites())
	maps.Copy(probes, readerWrites())
	maps.Copy(probes, kbTransferWrites())
	probesOf(kbNouns(), map[string]readProbeOf[kb.Reader]{}, probes)
	return probes
}

// kbUntouchable lists the methods that take no id of another account: they work only in the own account or site.
func kbUntouchable() []string {
	return []string{"Enqueue", "Emit", "InsertAudit", "AddSpellings", "SetExchangeKeys", "NewIDs", "SaveNewIDs", "ForgetNewIDs"}
}

func testKBProbesComplete(t *testing.T, _ Backend) {
	rows := probesOf(kbNouns(), map[string]readProbeOf[kb.Reader]{}, map[string]writeProbeOf[kb.Tx]{})
	probesComplete(t, kbReads(), kbWrites(), append(rows, "Reader"), kbUntouchable())
}

func kbStrangers(victim, other *world) map[string]stranger[kb.Scope] {
	own, foreign := victim.account.ID, other.account.ID
	return map[string]stranger[kb.Scope]{
		"another account":                 {kb.Scope{AccountID: foreign}, ofAccount},
		"another account's site":          {other.shelf.scope, ofAccount},
		"another account naming the site": {kb.Scope{AccountID: foreign, SiteID: victim.shelf.site.ID}, ofAccount},
		"no account":                      {kb.Scope{AccountID: nobody, SiteID: victim.shelf.site.ID}, ofAccount},
		"account 0":                       {kb.Scope{SiteID: victim.shelf.site.ID}, ofAccount},
		"another site":                    {kb.Scope{AccountID: own, SiteID: victim.shelf.bare.ID}, ofSite},
		"no site":                         {kb.Scope{AccountID: own, SiteID: nobody}, ofSite},
		"a site of another account":       {kb.Scope{AccountID: own, SiteID: other.shelf.site.ID}, ofSite},
	}
}

func testKBReadProbes(t *testing.T, b Backend) {
	victim, other := newLibrary(t, b), newLibrary(t, b)
	for name, probe := range kbReads() {
		if got, err := probe.call(t.Context(), victim.inSite(), victim); err != nil || !leaks(got, victim) {
			t.Errorf("%s finds nothing in its own site (%v): the probe is blind", name, err)
		}
	}
	for who, s := range kbStrangers(victim, other) {
		tryReads(t, victim, who+" through Within", s.level, kbReads(), b.KB.Within(s.scope))
		_ = b.KB.InTx(t.Context(), s.scope, func(_ context.Context, tx kb.Tx) error {
			tryReads(t, victim, who+" in a transaction", s.level, kbReads(), tx.Reader())
			return nil
		})
	}
}

func testKBWriteProbes(t *testing.T, b Backend) {
	victim, other := newLibrary(t, b), newLibrary(t, b)
	before := victim.library(t)
	for who, s := range kbStrangers(victim, other) {
		tryWrites(t, victim, who, s.level, kbWrites(), func(fn func(ctx context.Context, tx kb.Tx) error) error {
			return b.KB.InTx(t.Context(), s.scope, fn)
		})
	}
	same(t, "the victim's data", before, victim.library(t))
}

// No row can refer to a row of another account or site. The probes show the same for inserts.
func testKBReferences(t *testing.T, b Backend) {
	victim, w := newLibrary(t, b), newLibrary(t, b)
	for name, fn := range map[string]kbFunc{
		"site to a mailbox": func(ctx context.Context, tx kb.Tx) error {
			s := w.newSite("x")
			s.MailboxID = victim.mailbox.ID
			return tx.Sites().Insert(ctx, &s)
		},
		"giving a site a mailbox": func(ctx context.Context, tx kb.Tx) error {
			s := w.shelf.site
			s.MailboxID = victim.mailbox.ID
			return tx.Sites().Update(ctx, &s)
		},
		"moving a category to a collection": func(ctx context.Context, tx kb.Tx) error {
			c := w.shelf.category
			c.CollectionID = victim.shelf.collection.ID
			return tx.Categories().Update(ctx, &c)
		},
		"article to a category": func(ctx context.Context, tx kb.Tx) error {
			a := w.newArticle(1)
			a.CategoryIDs = []int64{victim.shelf.category.ID}
			return tx.Articles().Insert(ctx, &a)
		},
		"moving an article to a category": func(ctx context.Context, tx kb.Tx) error {
			a := w.shelf.article
			a.CategoryIDs = []int64{victim.shelf.category.ID}
			return tx.Articles().Update(ctx, &a)
		},
	} {
		fails(t, name+" of another account", w.tryKB(t, fn), fault.NotFound)
	}
	// nor in another site of the own account
	err := w.KB.InTx(t.Context(), kb.Scope{AccountID: w.account.ID, SiteID: w.shelf.bare.ID}, func(ctx context.Context, tx kb.Tx) error {
		a := w.newArticle(1)
		a.CategoryIDs = nil
		return tx.Articles().Insert(ctx, &a)
	})
	fails(t, "an article to a collection of another site", err, fault.NotFound)
}
