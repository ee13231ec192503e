package blobs_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/blobs"
	"github.com/helpwright/helpwright/storage/fault"
)

// failing is a store whose methods all fail.
type failing struct{ err error }

func (f failing) Put(context.Context, string, io.Reader) (int64, error) { return 0, f.err }
func (f failing) Get(context.Context, string) (io.ReadCloser, error)    { return nil, f.err }
func (f failing) Stat(context.Context, string) (storage.BlobInfo, error) {
	return storage.BlobInfo{}, f.err
}
func (f failing) Delete(context.Context, string) error { return f.err }
func (f failing) GetRange(context.Context, string, int64, int64) (io.ReadCloser, error) {
	return nil, f.err
}
func (f failing) List(context.Context, string, string, int) ([]storage.BlobInfo, error) {
	return nil, f.err
}

func TestClassified(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx       context.Context //nolint:containedctx // of the case
		err       error
		read, put fault.Kind
	}{
		"no fault":    {t.Context(), errors.New("connection refused"), fault.Unavailable, fault.Internal},
		"not found":   {t.Context(), fault.Missing("file", 0), fault.NotFound, fault.NotFound},
		"invalid":     {t.Context(), fault.Field("key", "is none"), fault.Invalid, fault.Invalid},
		"interrupted": {ended, ended.Err(), fault.Internal, fault.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := blobs.Classified(failing{c.err})
			reads := map[string]func() error{
				"Get":      func() error { _, err := b.Get(c.ctx, "k"); return err },
				"GetRange": func() error { _, err := b.GetRange(c.ctx, "k", 0, -1); return err },
				"Stat":     func() error { _, err := b.Stat(c.ctx, "k"); return err },
				"Delete":   func() error { return b.Delete(c.ctx, "k") },
				"List":     func() error { _, err := b.List(c.ctx, "k", "", 1); return err },
			}
			for method, call := range reads {
				if err := call(); fault.Of(err) != c.read || !errors.Is(err, c.err) {
					t.Errorf("%s: %v", method, err)
				}
			}
			if _, err := b.Put(c.ctx, "k", strings.NewReader("")); fault.Of(err) != c.put {
				t.Errorf("Put: %v", err)
			}
		})
	}
}
