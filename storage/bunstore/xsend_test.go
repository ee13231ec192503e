package bunstore_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/both"
)

type sinkhole struct{}

func (sinkhole) Send(ctx context.Context, from string, to []string, m *outbound.Mail) ([]outbound.Result, error) {
	return []outbound.Result{{State: sending.Sent}}, nil
}

func TestXSend(t *testing.T) {
	db, err := both.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "helpwright.db"), bunstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.Migrate(t.Context())
	svc, desk, c := answering(t, db)
	var jobs []storage.ClaimedJob
	for n := range 800 {
		i, err := desk.CreateInteraction(t.Context(), c.ID, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Body: "Push.", To: []string{fmt.Sprintf("ada%d@example.com", n)}})
		if err != nil {
			t.Fatal(err)
		}
		jobs = append(jobs, storage.ClaimedJob{ID: int64(n + 1), Job: storage.Job{AccountID: desk.AccountID(), Subject: i.ID}})
	}
	s, err := outbound.New(outbound.Config{Outgoing: svc.Outgoing(), Transport: sinkhole{}})
	if err != nil {
		t.Fatal(err)
	}
	t0 := time.Now()
	ch := make(chan storage.ClaimedJob)
	var g sync.WaitGroup
	for range 8 {
		g.Go(func() {
			for j := range ch {
				if err := s.Handle(context.Background(), j); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, j := range jobs {
		ch <- j
	}
	close(ch)
	g.Wait()
	fmt.Println("rate", float64(len(jobs))/time.Since(t0).Seconds())
}
