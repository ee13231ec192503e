package bunstore

import (
	"context"
	"log/slog"

	"github.com/uptrace/bun"

	"github.com/helpwright/helpwright/storage"
)

// tracing tells a tracer of statements: what they do and to which table, not their text, in which bun writes the values.
type tracing struct {
	tracer storage.Tracer
	system string
}

type spanKey struct{}

// BeforeQuery implements [bun.QueryHook].
func (t tracing) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	name, attrs := event.Operation(), make([]slog.Attr, 0, 3)
	attrs = append(attrs, slog.String("db.system.name", t.system), slog.String("db.operation.name", name))
	if event.IQuery != nil {
		if table := event.IQuery.GetTableName(); table != "" {
			name += " " + table
			attrs = append(attrs, slog.String("db.collection.name", table))
		}
	}
	ctx, span := t.tracer.Start(ctx, name, storage.SpanClient, attrs...)
	if event.Stash == nil {
		event.Stash = map[any]any{}
	}
	event.Stash[spanKey{}] = span
	return ctx
}

// AfterQuery implements [bun.QueryHook].
func (t tracing) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	if span, ok := event.Stash[spanKey{}].(storage.Span); ok {
		span.End(event.Err)
	}
}

// traced adds the hook to the pools, where there is a tracer.
func (db *DB) traced() {
	if db.cfg.Tracer == nil {
		return
	}
	hook := tracing{db.cfg.Tracer, "sqlite"}
	if db.postgres {
		hook.system = "postgresql"
	}
	one := db.read == db.write
	db.write = db.write.WithQueryHook(hook)
	if db.read = db.read.WithQueryHook(hook); one {
		db.read = db.write
	}
}

// spanned runs a transaction within a span.
func (db *DB) spanned(ctx context.Context, fn func(context.Context) error) (err error) {
	ctx, span := db.cfg.Tracer.Start(ctx, "transaction", storage.SpanInternal)
	defer func() { span.End(err) }()
	return fn(ctx)
}
