package kb

import (
	"context"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

// KeyKind is the kind of resource that an [ExchangeKey] names.
type KeyKind string

// The kinds.
const (
	CollectionKey KeyKind = "collection"
	CategoryKey   KeyKind = "category"
	ArticleKey    KeyKind = "article"
	FileKey       KeyKind = "file"
)

// ExchangeKey is the name of a resource in the site's folder, see package exchange. It stays the same when titles change.
type ExchangeKey struct {
	Kind KeyKind
	ID   int64
	Key  string // unique among the keys of its kind in the site; at most 255 bytes
}

// ExchangeKeys returns all keys of the site, in any order, including those of deleted resources. It needs articles.view.
func (e *Editor) ExchangeKeys(ctx context.Context) ([]ExchangeKey, error) {
	r, err := e.guard.Read(ArticlesView)
	if err != nil {
		return nil, err
	}
	return r.ExchangeKeys(ctx)
}

// SetExchangeKeys assigns keys to resources of the site, and takes each key from its former owner. It needs articles.update.
func (e *Editor) SetExchangeKeys(ctx context.Context, keys []ExchangeKey) error {
	begin, err := e.guard.Write(ArticlesUpdate)
	if err != nil {
		return err
	}
	if err := checkKeys(keys); err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error { return tx.SetExchangeKeys(ctx, keys) })
}

func checkKeys(keys []ExchangeKey) error {
	var problems fault.Collector
	for _, k := range keys {
		problems.Check(k.Key != "" && len(k.Key) <= 255 && plain.Text(k.Key) == k.Key, "key", "must have from 1 to 255 bytes of text")
	}
	return problems.Err()
}

// setKey assigns a key, if any, to a new resource.
func setKey(ctx context.Context, tx Tx, kind KeyKind, id int64, key string) error {
	if key == "" {
		return nil
	}
	keys := []ExchangeKey{{Kind: kind, ID: id, Key: key}}
	if err := checkKeys(keys); err != nil {
		return err
	}
	return tx.SetExchangeKeys(ctx, keys)
}
