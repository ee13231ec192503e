package server_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// awayBlobs cannot be reached while there is an error.
type awayBlobs struct {
	*memblob.Blobs
	err atomic.Pointer[error]
}

func (b *awayBlobs) away() error {
	if err := b.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (b *awayBlobs) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := b.away(); err != nil {
		return nil, err
	}
	return b.Blobs.Get(ctx, key)
}

func (b *awayBlobs) Stat(ctx context.Context, key string) (storage.BlobInfo, error) {
	if err := b.away(); err != nil {
		return storage.BlobInfo{}, err
	}
	return b.Blobs.Stat(ctx, key)
}

// plainStore is a store that cannot check its blobs.
type plainStore struct {
	helpdesk.Store
	storage.Jobs
	storage.EventLog
}

// After a night without the blobs the answer leaves: nothing was given up.
func TestNightWithoutBlobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tied bool
		err  error
	}{
		"a fault":                              {true, fault.New(fault.Unavailable, "away")},
		"another error":                        {true, errors.New("connection refused")},
		"a fault, of a store of its own":       {false, fault.New(fault.Unavailable, "away")},
		"another error, of a store of its own": {false, errors.New("connection refused")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := config()
				files, out := &awayBlobs{Blobs: memblob.New()}, make(relay, 1)
				cfg.Blobs, cfg.Relay = files, out
				if store := memstore.New(); c.tied {
					cfg.Store = store
				} else {
					cfg.Store = plainStore{store, store, store}
				}
				m := newServer(t, cfg)
				answerWithFile(t, m)
				files.err.Store(&c.err)
				stop := m.start(t)
				time.Sleep(14 * time.Hour)
				if len(out) > 0 {
					t.Error("the answer has left without its file")
				}
				files.err.Store(nil)
				time.Sleep(5 * time.Minute)
				stop()
				if len(out) != 1 {
					buried, err := cfg.Store.(storage.Jobs).FailedJobs(t.Context(), storage.Seek{Limit: 10})
					t.Errorf("the answer has not left; given up: %v %v", buried, err)
				}
			})
		})
	}
}

// answerWithFile posts an answer with an attachment.
func answerWithFile(t *testing.T, m *made) {
	t.Helper()
	conversation, err := m.desk.Conversations().Create(t.Context(), helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: "Your door",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeUser, Body: "This is how it opens."}},
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := m.desk.Interactions().List(t.Context(), conversation.ID, storage.PageRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.desk.Attachments().Create(t.Context(), conversation.ID, page.Items[0].ID, helpdesk.Upload{
		Filename: "door.txt", Content: strings.NewReader("pull"),
	})
	if err != nil {
		t.Fatal(err)
	}
}
