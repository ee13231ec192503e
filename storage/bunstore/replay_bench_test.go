package bunstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
)

// BenchmarkReplay replays a rule over 100,000 conversations in each of which five things happened: it would have changed half of
// them.
func BenchmarkReplay(b *testing.B) {
	benchmarks(b, func(b *testing.B, s *bench) {
		tags := s.tagged(b, 100_000)
		s.happened(b)
		key := storage.NewSecretKey()
		sealer, err := storage.NewSealer(key)
		if err != nil {
			b.Fatal(err)
		}
		svc, err := helpdesk.New(helpdesk.Config{Store: s.db, Blobs: memblob.New(), Sealer: sealer, SigningKey: key})
		if err != nil {
			b.Fatal(err)
		}
		replays := helpdesk.Nouns().RuleReplays
		for b.Loop() {
			replay := helpdesk.RuleReplay{
				State: helpdesk.ReplayRunning, On: []string{"conversation.updated"}, From: time.Unix(1, 0).UTC(), To: time.Now().UTC(), CreatedAt: time.Now().UTC(),
				All: []rules.Condition{
					{Field: "priority", Op: rules.AnyOf, Values: []string{"high"}}, {Field: "tags", Op: rules.Contains, Values: []string{fmt.Sprint(tags[0])}},
					{Field: "customer.email", Op: rules.Contains, Values: []string{"example.org"}},
				},
				Actions: []rules.Action{{Type: rules.SetPriority, Values: []string{"urgent"}}},
			}
			err := s.db.InTx(b.Context(), s.scope, func(ctx context.Context, tx helpdesk.Tx) error { return replays.Rows(tx).Insert(ctx, &replay) })
			if err != nil {
				b.Fatal(err)
			}
			job := storage.ClaimedJob{Job: storage.Job{AccountID: s.scope.AccountID, Subject: replay.ID}}
			if err := svc.Jobs().ReplayRule(b.Context(), job); err != nil {
				b.Fatal(err)
			}
			done, err := replays.Reader(s.db.Within(s.scope)).Get(b.Context(), replay.ID)
			if err != nil || done.Changed != 50_000 || done.Examined != 100_000 {
				b.Fatalf("%+v %v", done, err)
			}
		}
	})
}

// happened adds the events of BenchmarkReplay: each conversation begins, and its priority goes up and down.
func (s *bench) happened(b *testing.B) {
	b.Helper()
	priorities := []string{"normal", "high", "normal", "low", "normal"}
	binary := "CAST('%s' AS BLOB)"
	if s.postgres {
		binary = "CAST('%s' AS BYTEA)"
	}
	add := func(kind, data string, nth int) {
		statement := fmt.Sprintf(`INSERT INTO hw_events (account_id, seq, type, subject, mailbox_id, actor_id, conversation_id, data, time)
			SELECT account_id, %[1]d + number, '%[2]s', id, mailbox_id, 1, id, %[3]s, 1700000000000000 + (%[1]d + number) * 1000000 FROM hw_conversations`,
			nth*100_000, kind, fmt.Sprintf(binary, data))
		if _, err := s.plain.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	add("conversation.created", `{"id":1,"changes":{"status":{"from":null,"to":"posted"}},"actor":{"type":"system"}}`, 0)
	for i := 1; i < len(priorities); i++ {
		data := fmt.Sprintf(`{"id":1,"changes":{"priority":{"from":"%s","to":"%s"}},"actor":{"type":"user","id":1}}`, priorities[i-1], priorities[i])
		add("conversation.updated", data, i)
	}
	if _, err := s.plain.ExecContext(b.Context(), "UPDATE hw_accounts SET last_event = (SELECT MAX(seq) FROM hw_events)"); err != nil {
		b.Fatal(err)
	}
}
