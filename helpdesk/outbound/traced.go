package outbound

import (
	"context"
	"log/slog"

	"github.com/helpwright/helpwright/storage"
)

// Traced returns a transport that traces sending: with the number of recipients, but no address. If the tracer is nil, it
// returns the transport itself.
func Traced(t Transport, tracer storage.Tracer) Transport {
	if tracer == nil || t == nil {
		return t
	}
	return traced{t, tracer}
}

type traced struct {
	Transport
	tracer storage.Tracer
}

// Send implements [Transport].
func (t traced) Send(ctx context.Context, from string, to []string, m *Mail) ([]Result, error) {
	ctx, span := t.tracer.Start(ctx, "send mail", storage.SpanClient, slog.Int("helpwright.mail.recipients", len(to)))
	results, err := t.Transport.Send(ctx, from, to, m)
	span.End(err)
	return results, err
}
