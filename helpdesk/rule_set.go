package helpdesk

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// RuleSet is the version of all rules of an account together, and that of its SLAs, in one small row.
type RuleSet struct {
	ID      int64
	Version int64 // random: another one with each change of any rule
	SLAs    int64 // one more with each change of an SLA or a calendar; 0: there was no SLA yet
}

// ruleSetNoun declares the only row of an account that made rules.
func ruleSetNoun() storage.Declared[RuleSet, storage.NoFilter] {
	return storage.Declared[RuleSet, storage.NoFilter]{
		Noun: storage.Noun[RuleSet]{
			Name: "rule set",
			ID:   func(t *RuleSet) *int64 { return &t.ID },
		},
		Key: "rule_set", Plural: "rule_sets",
		Columns: []storage.Column[RuleSet]{
			{Name: "version", Field: func(t *RuleSet) any { return &t.Version }},
			{Name: "slas", Field: func(t *RuleSet) any { return &t.SLAs }},
		},
	}
}

// ruleSetOf reads the row, the zero value if there is none.
func ruleSetOf(ctx context.Context, r storage.RecordReader) (RuleSet, error) {
	all, err := ruleSetNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: 1})
	if err != nil || len(all) == 0 {
		return RuleSet{}, err
	}
	return all[0], nil
}

// saveRuleSet writes another version, and which events all rules of an account listen to. The caller has locked the account.
func (s *Service) saveRuleSet(ctx context.Context, tx Tx, all []Rule) error {
	set, err := ruleSetOf(ctx, tx.Reader())
	if err != nil {
		return err
	}
	number, err := s.random(8)
	if err != nil {
		return err
	}
	set.Version = int64(binary.BigEndian.Uint64(number) >> 1) //nolint:gosec // 63 bits
	account, err := tx.Reader().Account(ctx)
	if err != nil {
		return err
	}
	former := account.Listens
	account.Listens = slices.DeleteFunc(slices.Clone(former), func(kind string) bool { return kind != listensSurvey })
	for _, r := range all {
		if r.State != RuleOff {
			account.Listens = append(account.Listens, r.On...)
		}
	}
	account.Listens = slices.Compact(slices.Sorted(slices.Values(account.Listens)))
	if !slices.Equal(former, account.Listens) {
		if err := tx.UpdateAccount(ctx, &account); err != nil {
			return err
		}
	}
	if set.ID == 0 {
		return ruleSetNoun().Rows(tx).Insert(ctx, &set)
	}
	return ruleSetNoun().Rows(tx).Update(ctx, &set)
}

// compiledRules are the rules of an account in some version.
type compiledRules struct {
	version int64
	set     *rules.Set
	rules   map[int64]Rule
	fields  []Field
}

// maxCompiled is how many accounts' rules are kept ready.
const maxCompiled = 1000

// ruleCache keeps the compiled rules of accounts. Compiling a thousand for each mail would cost several times what filing it
// does.
type ruleCache struct {
	mu sync.Mutex
	of map[int64]compiledRules
}

func newRuleCache() *ruleCache { return &ruleCache{of: map[int64]compiledRules{}} }

func (c *ruleCache) get(accountID, version int64) (compiledRules, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.of[accountID]
	return found, found.set != nil && found.version == version
}

func (c *ruleCache) put(accountID int64, compiled compiledRules) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.of) >= maxCompiled {
		clear(c.of)
	}
	c.of[accountID] = compiled
}

// compiledRules returns the rules of an account that are not switched off, ready to run.
func (s *Service) compiledRules(ctx context.Context, r Reader, accountID int64) (compiledRules, error) {
	stored, err := ruleSetOf(ctx, r)
	if err != nil {
		return compiledRules{}, err
	}
	if ready, found := s.ruleCache.get(accountID, stored.Version); found {
		return ready, nil
	}
	all, err := allRules(ctx, r)
	if err != nil {
		return compiledRules{}, err
	}
	fields, err := allFields(ctx, r)
	if err != nil {
		return compiledRules{}, err
	}
	out := compiledRules{version: stored.Version, rules: map[int64]Rule{}, fields: fields}
	var on []rules.Rule
	for _, rule := range all {
		if rule.State != RuleOff {
			on = append(on, rule.plain())
			out.rules[rule.ID] = rule
		}
	}
	out.set = rules.Compile(ruleVocabulary(fields), on)
	s.ruleCache.put(accountID, out)
	return out, nil
}

// plain returns what the rule does as plain values.
func (r Rule) plain() rules.Rule {
	return rules.Rule{
		ID: r.ID, Version: int64(r.Version), On: r.On, All: r.All, Any: r.Any, Actions: r.Actions, Stop: r.Stop, Dry: r.State == RuleDry,
	}
}

// MaxRuleDepth is how many times in a row the rules run at events that they cause.
const MaxRuleDepth = 5

// ruleChain is how rules led to an event.
type ruleChain struct {
	Depth int     `json:"depth,omitempty"` // how many times rules have run
	Rules []int64 `json:"rules,omitempty"` // that changed something, the first one first
}

// toRun is the payload of [JobRules].
type toRun struct {
	At    time.Time `json:"at"` // of the events
	Chain ruleChain `json:"chain"`
	Timed *timedRun `json:"timed,omitempty"` // nil: at the events of an operation
}

// enqueueRules enqueues a job for each conversation and operation, which the store drops unless a rule listens to one of its
// events.
func (r *record) enqueueRules(ctx context.Context) error {
	type operation struct {
		conversation int64
		at           time.Time
	}
	var jobs []storage.Job
	of := map[operation]int{} // places in jobs
	for _, e := range r.ready {
		area := areaOf(e.Type)
		if e.ConversationID == 0 || area != "conversation" && area != "interaction" && area != "sla" && area != "rating" {
			continue
		}
		op := operation{e.ConversationID, e.Time}
		place, known := of[op]
		if !known {
			payload, err := json.Marshal(toRun{At: e.Time, Chain: r.chain})
			if err != nil {
				return fault.Wrap(fault.Internal, "encoding a job", err)
			}
			place, of[op] = len(jobs), len(jobs)
			jobs = append(jobs, storage.Job{Kind: JobRules, AccountID: r.accountID, Subject: e.ConversationID, Payload: payload})
		}
		jobs[place].Listens = append(jobs[place].Listens, e.Type)
	}
	if len(jobs) == 0 {
		return nil
	}
	return r.tx.Enqueue(ctx, jobs...)
}
