package site_test

import (
	"context"
	"testing"
	"time"

	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memstore"
)

// changing does something once, right after a site was read by its address, or when one that is known is opened.
type changing struct {
	store
	then *func()
}

func (c changing) KB() kb.Store { return changingKB{c.store.KB(), c.then} }

type changingKB struct {
	kb.Store
	then *func()
}

func (c changingKB) SiteByAddress(ctx context.Context, hostKey string, paths ...string) (kb.Site, error) {
	s, err := c.Store.SiteByAddress(ctx, hostKey, paths...)
	c.change()
	return s, err
}

func (c changingKB) Within(s kb.Scope) kb.Reader {
	c.change()
	return c.Store.Within(s)
}

func (c changingKB) change() {
	if then := *c.then; then != nil {
		*c.then = nil
		then()
	}
}

// A site that turns private while a page of it is made is not kept as it was.
func TestChangeWhileServed(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]int{"the first page": 0, "a later page": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var then func()
			w := newWorld(t, changing{memstore.New(), &then})
			w.library()
			for range before {
				if rec := w.get("/en"); rec.Code != 200 {
					t.Fatal(rec.Code)
				}
			}
			then = func() {
				if _, err := w.editor.UpdateSite(t.Context(), kb.SiteInput{AccountID: w.site.AccountID, Name: "Acme", Visibility: storage.Some(kb.Private)}); err != nil {
					t.Error(err)
				}
			}
			w.get(articlePath) // made from data read before or after the change
			w.advance(2 * time.Second)
			if rec := w.get(articlePath); rec.Code == 200 {
				t.Errorf("a private article is served to everybody: %q", rec.Header().Get("Cache-Control"))
			}
		})
	}
}
