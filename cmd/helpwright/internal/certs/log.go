package certs

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logTo returns a logger for certmagic that writes to ours.
func logTo(l *slog.Logger) *zap.Logger { return zap.New(core{l}) }

// core passes certmagic's log entries on. Its routine messages have our debug level.
type core struct{ to *slog.Logger }

var _ zapcore.Core = core{}

func level(l zapcore.Level) slog.Level {
	switch {
	case l >= zapcore.ErrorLevel:
		return slog.LevelWarn // it retries
	case l == zapcore.WarnLevel:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// Enabled implements [zapcore.LevelEnabler].
func (c core) Enabled(l zapcore.Level) bool { return c.to.Enabled(context.Background(), level(l)) }

// With implements [zapcore.Core].
func (c core) With(fields []zapcore.Field) zapcore.Core {
	return core{slog.New(c.to.Handler().WithAttrs(attributes(fields)))}
}

// Check implements [zapcore.Core].
func (c core) Check(e zapcore.Entry, to *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return to.AddCore(e, c)
	}
	return to
}

// Write implements [zapcore.Core].
func (c core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	c.to.LogAttrs(context.Background(), level(e.Level), "certificates: "+e.Message, attributes(fields)...)
	return nil
}

// Sync implements [zapcore.Core].
func (core) Sync() error { return nil }

// kept are the fields that identify the subject. Others contain addresses of clients and tokens.
func kept(name string) bool {
	switch name {
	case "identifier", "identifiers", "server_name", "subjects", "error", "issuer", "challenge_type", "ca", "attempt", "retrying_in", "remaining":
		return true
	}
	return false
}

func attributes(fields []zapcore.Field) []slog.Attr {
	var attrs []slog.Attr
	for _, f := range fields {
		if !kept(f.Key) {
			continue
		}
		m := zapcore.NewMapObjectEncoder()
		f.AddTo(m)
		for name, value := range m.Fields {
			attrs = append(attrs, slog.Any(name, value))
		}
	}
	return attrs
}
