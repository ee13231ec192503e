package ingest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/testenv"
)

// BenchmarkMailWithRules files a mail of a new customer and runs the rules at it: in an account without any, and in one with a
// thousand that listen to it in its mailbox and ask about its text, subject and author. Both run in turns, to meet the same noise.
func BenchmarkMailWithRules(b *testing.B) {
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		b.Run(name, func(b *testing.B) {
			var sides [2]*fileBench
			for n := range sides {
				url := "sqlite:" + b.TempDir() + "/bench.db"
				if name == "PostgreSQL" {
					url = testenv.Postgres(b)
				}
				sides[n] = newFileBench(b, url)
			}
			for n := range helpdesk.MaxRules {
				word := fmt.Sprint("nothing", n)
				check(sides[1].desk.Rules().Create(b.Context(), helpdesk.RuleInput{
					Name: storage.Some(word), On: storage.Some([]string{"interaction.created"}),
					All: storage.Some([]rules.Condition{{Field: rules.FieldInteractionType, Op: rules.Is, Values: []string{"customer"}}}),
					Any: storage.Some([]rules.Condition{
						{Field: rules.FieldSubject, Op: rules.Contains, Values: []string{word}}, {Field: rules.FieldInteractionBody, Op: rules.Contains, Values: []string{word}},
						{Field: rules.FieldCustomerEmail, Op: rules.Is, Values: []string{word + "@example.com"}},
					}),
					Actions: storage.Some([]rules.Action{{Type: rules.SetPriority, Values: []string{"high"}}}),
				}))(b)
			}
			var took [2]time.Duration
			for n := 0; b.Loop(); n++ {
				for i, f := range sides {
					began := time.Now()
					f.take(b, rawMail(n))
					f.handle(b)
					f.runRules(b)
					took[i] += time.Since(began)
				}
			}
			per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(b.N) }
			b.ReportMetric(per(took[0]), "no-rules-ns/op")
			b.ReportMetric(per(took[1]), "1000-rules-ns/op")
			b.ReportMetric(per(took[1])/per(took[0]), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// runRules does the jobs of rules.
func (f *fileBench) runRules(b *testing.B) {
	b.Helper()
	now := time.Now()
	for _, job := range check(f.db.Claim(b.Context(), map[string]int{helpdesk.JobRules: 10}, now, now.Add(time.Minute)))(b) {
		if err := f.svc.Jobs().RunRules(b.Context(), job); err != nil {
			b.Fatal(err)
		}
		if err := f.db.Finish(b.Context(), job); err != nil {
			b.Fatal(err)
		}
	}
}
