package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Compare runs the same random operations on two new backends, model and subject, and fails at the first difference: in a
// result, in the kind or code of an error, or in the contents after a commit or a rollback. Ids may differ. The same seed
// repeats the same operations; with an odd seed most are on the knowledge base. steps is the number of transactions and
// reads.
func Compare(t *testing.T, seed uint64, steps int, model, subject Backend) {
	t.Helper()
	c := &comparison{t: t, model: model, subject: subject, ids: newIDMap(), gen: newGenerator(seed)}
	c.system(c.gen.newAccount())
	c.system(c.gen.newAccount())
	for n := range steps {
		c.step = n
		switch p := c.gen.IntN(100); {
		case p < 1:
			c.system(c.gen.newAccount())
		case p < 4:
			c.system(c.gen.system())
		case p < 20+50*int(seed%2) && c.withKB():
			c.kb()
		case p < 60:
			c.transaction()
		case p < 85:
			c.read()
		case p < 90:
			c.directory()
		case p < 98:
			c.jobs()
		default:
			c.events()
		}
		if n%20 == 19 || n == steps-1 {
			c.everything()
		}
		if t.Failed() {
			t.Fatalf("seed %d, step %d", seed, n)
		}
	}
}

type comparison struct {
	t              *testing.T
	model, subject Backend
	ids            *idMap
	gen            *generator
	step           int
}

// call is a method called on the model, with its outcome.
type call struct {
	method  string
	args    []any // with the model's ids; pointers and slices as the method changed them
	given   []any // a copy of args from before the call
	results []any
	err     error
	clash   bool // it violates a uniqueness rule on purpose, so that it may violate two rules at once
}

// do calls a method on the model.
func do(ctx context.Context, on any, o operation) *call {
	c := &call{method: o.method, clash: o.clash, args: o.args}
	for _, a := range o.args {
		c.given = append(c.given, translate(a, func(_ string, id int64) int64 { return id }))
	}
	c.results, c.err = invoke(ctx, on, o.method, c.args)
	return c
}

// methodOf returns a method of on, or of rows of on, as in "Tags.Insert": those of a plain noun or that a method of on returns.
func methodOf(on any, method string) reflect.Value {
	rows, of, found := strings.Cut(method, ".")
	if !found {
		return reflect.ValueOf(on).MethodByName(method)
	}
	if declared := reflect.ValueOf(helpdesk.Nouns()).FieldByName(rows); declared.IsValid() {
		if of == "Find" { // in all accounts
			return declared.MethodByName(of)
		}
		switch on := on.(type) {
		case storage.RecordWriter:
			if m := declared.MethodByName("Rows"); m.IsValid() {
				return m.Call([]reflect.Value{reflect.ValueOf(on)})[0].MethodByName(of)
			}
		case storage.RecordReader:
			if m := declared.MethodByName("Reader"); m.IsValid() {
				return m.Call([]reflect.Value{reflect.ValueOf(on)})[0].MethodByName(of)
			}
		}
	}
	return reflect.ValueOf(on).MethodByName(rows).Call(nil)[0].MethodByName(of)
}

func invoke(ctx context.Context, on any, method string, args []any) ([]any, error) {
	m := methodOf(on, method)
	in := []reflect.Value{reflect.ValueOf(ctx)}
	if strings.HasSuffix(method, ".Find") {
		in = append(in, reflect.ValueOf(on))
	}
	for i, a := range args {
		v := reflect.ValueOf(plain(a))
		if m.Type().IsVariadic() && i == m.Type().NumIn()-2 {
			for n := range v.Len() {
				in = append(in, v.Index(n))
			}
			continue
		}
		in = append(in, v)
	}
	var results []any
	out := m.Call(in)
	for _, r := range out[:len(out)-1] {
		results = append(results, r.Interface())
	}
	err, _ := out[len(out)-1].Interface().(error)
	return results, err
}

// again calls the same method on the subject and compares the outcomes.
func (c *comparison) again(ctx context.Context, on any, done *call) {
	c.t.Helper()
	var args []any
	for _, a := range done.given {
		args = append(args, translate(a, c.ids.subject))
	}
	results, err := invoke(ctx, on, done.method, args)
	if err == nil && done.err == nil {
		for i := range args {
			c.ids.learn(done.args[i], args[i])
		}
		for i := range results {
			c.same(done.method, done.results[i], results[i])
		}
	} else {
		c.sameError(done, results, err)
	}
	if c.t.Failed() {
		c.t.Logf("step %d: %s(%+v)\nmodel: %+v %v\nsubject: %+v %v", c.step, done.method, done.given, done.results, done.err, results, err)
	}
}

func (c *comparison) same(method string, model, subject any) {
	c.t.Helper()
	c.ids.meet(model, subject)
	subject = translate(subject, c.ids.model)
	if diff := cmp.Diff(inOrder(method, model), inOrder(method, subject), cmpopts.EquateEmpty()); diff != "" {
		c.t.Errorf("%s (-model +subject):\n%s", method, diff)
	}
}

// inOrder sorts results that may come in any order.
func inOrder(method string, v any) any {
	r := reflect.ValueOf(v)
	if method == "MarkSeen" || method == "SetInboundState" {
		return r.Len() // the ids are of no known noun
	}
	if method == "LastArrived" {
		return r.Int() != 0 // likewise for a single id
	}
	if r.Kind() != reflect.Slice || !strings.HasSuffix(method, "ByID") && !strings.HasSuffix(method, ".ByIDs") && method != "RevisionsByKey" && method != "BlobKeys" && method != "SearchTerms" {
		return v
	}
	var lines []string
	for i := range r.Len() {
		lines = append(lines, fmt.Sprintf("%+v", r.Index(i).Interface()))
	}
	slices.Sort(lines)
	return lines
}

func (c *comparison) sameError(done *call, results []any, err error) {
	c.t.Helper()
	// a method that finds nothing of another account's may report that or return nothing
	if quiet(done.method) && (err == nil || fault.Is(err, fault.NotFound)) && (done.err == nil || fault.Is(done.err, fault.NotFound)) {
		for _, r := range append(slices.Clone(results), done.results...) {
			if v := reflect.ValueOf(r); !v.IsZero() && (v.Kind() != reflect.Slice || v.Len() > 0) {
				c.t.Errorf("%s: one of %v and %v", done.method, done.err, err)
			}
		}
		return
	}
	want, got := describe(done.err), describe(err)
	if want.kind == "conflict" && want.code == "" {
		got.code = "" // the contract defines only the Unique codes
	}
	both := []string{want.kind, got.kind}
	slices.Sort(both)
	if want != got && !(done.clash && slices.Equal(both, []string{"conflict", "not_found"})) {
		c.t.Errorf("%s: model %v, subject %v", done.method, done.err, err)
	}
}

func quiet(method string) bool {
	return slices.Contains([]string{"DeleteDeliveries", "FetchStatus", "FetchCursor", "Participant", "Participants", "Interactions.List", "Thread", "Messages", "BlobKeys",
		"Marks", "Revisions", "FailWebhookDeliveries", "PruneWebhookDeliveries", "PruneAudit", "PruneRawMails", "PruneEvents", "SetInboundState",
		"Followers", "MarkNotifications"}, method)
}

type failure struct{ kind, code string }

func describe(err error) failure {
	f, ok := errors.AsType[*fault.Error](err)
	switch {
	case err == nil:
		return failure{"none", ""}
	case !ok:
		return failure{err.Error(), ""}
	case f.Kind == fault.Conflict:
		return failure{f.Kind.String(), f.Code}
	default:
		return failure{f.Kind.String(), ""}
	}
}

// system runs a script in system transactions.
func (c *comparison) system(script []operation) {
	c.t.Helper()
	var calls []*call
	ctx := c.t.Context()
	errModel := c.model.Store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		calls = nil
		for _, o := range script {
			calls = append(calls, do(ctx, tx, o))
			if err := calls[len(calls)-1].err; err != nil {
				return err
			}
		}
		return nil
	})
	mark := c.ids.mark()
	errSubject := c.subject.Store.InSystemTx(ctx, func(ctx context.Context, tx helpdesk.SystemTx) error {
		c.ids.reset(mark)
		for _, done := range calls {
			if c.again(ctx, tx, done); done.err != nil {
				return done.err
			}
		}
		return nil
	})
	c.ended(mark, errModel, errSubject)
	if errModel == nil {
		c.gen.note(calls)
	}
}

// ended compares the ends of transactions and drops the ids that were rolled back.
func (c *comparison) ended(mark int, model, subject error) {
	c.t.Helper()
	if (model == nil) != (subject == nil) {
		c.t.Errorf("transaction: model %v, subject %v", model, subject)
	}
	if model != nil {
		c.ids.reset(mark)
	}
}

// transaction runs some random operations in one transaction, and sometimes rolls it back.
func (c *comparison) transaction() {
	c.t.Helper()
	ctx, scope := c.t.Context(), c.scope()
	inOne(c, func(ctx context.Context, tx helpdesk.Tx) (operation, error) {
		seen, err := readAll(ctx, tx.Reader(), "")
		return c.gen.write(seen), err
	}, func(fn txFunc) error {
		return c.model.Store.InTx(ctx, scope, fn)
	}, func(fn txFunc) error {
		return c.subject.Store.InTx(ctx, translate(scope, c.ids.subject).(helpdesk.Scope), fn)
	})
}

// inOne runs the operations that next generates, in one transaction of the model and one of the subject.
func inOne[T any](c *comparison, next func(ctx context.Context, tx T) (operation, error), model, subject func(fn func(ctx context.Context, tx T) error) error) {
	c.t.Helper()
	undo, want := c.gen.IntN(6) == 0, 1+c.gen.IntN(6)
	var calls []*call
	end := func() error {
		if undo {
			return errOnPurpose
		}
		return nil
	}
	errModel := model(func(ctx context.Context, tx T) error {
		for len(calls) < want {
			o, err := next(ctx, tx)
			if err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
			done := do(ctx, tx, o)
			calls = append(calls, done)
			if done.err != nil {
				return done.err
			}
		}
		return end()
	})
	mark := c.ids.mark()
	errSubject := subject(func(ctx context.Context, tx T) error {
		c.ids.reset(mark)
		for _, done := range calls {
			if c.again(ctx, tx, done); done.err != nil {
				return done.err
			}
		}
		return end()
	})
	c.ended(mark, errModel, errSubject)
	if errModel == nil {
		c.gen.note(calls)
	}
}

// scope returns a random scope: mostly a whole account, sometimes a missing one.
func (c *comparison) scope() helpdesk.Scope {
	s := helpdesk.Scope{AccountID: c.gen.any("Account")}
	if first := c.gen.pool["Account"]; c.gen.IntN(4) > 0 { // most operations are in few accounts
		s.AccountID = first[c.gen.IntN(min(len(first), 2))]
	}
	mailboxes, _ := c.model.Store.Within(s).Mailboxes().List(c.t.Context(), storage.NoFilter{}, all())
	if p := c.gen.IntN(20); p < 4 {
		s.Mailboxes = []int64{}
		for _, m := range mailboxes {
			if p > 0 && c.gen.IntN(2) == 0 {
				s.Mailboxes = append(s.Mailboxes, m.ID)
			}
		}
	}
	return s
}

func (c *comparison) read() {
	c.t.Helper()
	ctx, scope := c.t.Context(), c.scope()
	model := c.model.Store.Within(scope)
	seen, _ := readAll(ctx, model, "")
	for range 3 {
		done := do(ctx, model, c.gen.read(seen))
		c.again(ctx, c.subject.Store.Within(translate(scope, c.ids.subject).(helpdesk.Scope)), done)
	}
}

func (c *comparison) directory() {
	c.t.Helper()
	done := do(c.t.Context(), c.model.Store, c.gen.directory())
	c.again(c.t.Context(), c.subject.Store, done)
}

func (c *comparison) events() {
	c.t.Helper()
	done := do(c.t.Context(), c.model.Events, operation{method: "Events", args: []any{one64("Account", c.gen.any("Account")), int64(c.gen.IntN(5)), 1 + c.gen.IntN(20)}})
	c.again(c.t.Context(), c.subject.Events, done)
}

// everything compares all accounts and their event logs.
func (c *comparison) everything() {
	c.t.Helper()
	ctx := c.t.Context()
	for _, account := range c.gen.pool["Account"] {
		scope := helpdesk.Scope{AccountID: account}
		model, errModel := readAll(ctx, c.model.Store.Within(scope), "nobody")
		subject, errSubject := readAll(ctx, c.subject.Store.Within(translate(scope, c.ids.subject).(helpdesk.Scope)), "nobody")
		if describe(errModel) != describe(errSubject) {
			c.t.Errorf("content: model %v, subject %v", errModel, errSubject)
		}
		c.same("content", model, subject)
		done := do(ctx, c.model.Events, operation{method: "Events", args: []any{one64("Account", account), int64(0), 100000}})
		c.again(ctx, c.subject.Events, done)
		if c.withKB() {
			c.kbEverything(account)
		}
	}
}

// jobs claims all due jobs and gives them random results. The order of claims is not compared here.
func (c *comparison) jobs() {
	c.t.Helper()
	ctx := c.t.Context()
	c.gen.now = c.gen.now.Add(time.Duration(c.gen.IntN(90)) * time.Second)
	lease := c.gen.now.Add(time.Duration(1+c.gen.IntN(60)) * time.Second)
	claim := func(b Backend) []storage.ClaimedJob {
		got, err := b.Jobs.Claim(ctx, map[string]int{"a": 10000, "b": 10000}, c.gen.now, lease)
		ok(c.t, err)
		slices.SortFunc(got, func(a, b storage.ClaimedJob) int { return int(a.Subject - b.Subject) })
		return got
	}
	model, subject := claim(c.model), claim(c.subject)
	c.ids.learn(model, subject)
	c.same("Claim", model, subject)
	c.gen.held = append(c.gen.held, model...)
	for range min(len(c.gen.held), 4) {
		n := c.gen.IntN(len(c.gen.held))
		done := do(ctx, c.model.Jobs, c.gen.outcome(c.gen.held[n]))
		c.again(ctx, c.subject.Jobs, done)
		if c.gen.IntN(4) > 0 { // otherwise there is a second, late result
			c.gen.held = slices.Delete(c.gen.held, n, n+1)
		}
	}
	done := do(ctx, c.model.Jobs, operation{method: "FailedJobs", args: []any{storage.Seek{Desc: true, Limit: 1000}}})
	buried := slices.Clone(done.results[0].([]storage.FailedJob))
	other, err := c.subject.Jobs.FailedJobs(ctx, storage.Seek{Desc: true, Limit: 1000})
	ok(c.t, err)
	bySubject := func(a, b storage.FailedJob) int { return int(a.Subject - b.Subject) }
	slices.SortFunc(buried, bySubject)
	slices.SortFunc(other, bySubject)
	c.same("FailedJobs", buried, other)
}

// id is an argument that identifies a row; ids identifies several.
type (
	id struct {
		noun string
		n    int64
	}
	idList struct {
		noun string
		n    []int64
	}
)

func one64(noun string, n int64) id { return id{noun, n} }

// plain returns an argument in the form that the method takes.
func plain(a any) any {
	switch a := a.(type) {
	case id:
		return a.n
	case idList:
		return a.n
	case ordered:
		return a.Seek
	}
	return a
}

// idMap maps ids of the model to ids of the subject.
type idMap struct {
	toSubject, toModel map[id]int64
	learnt             []pair
}

type pair struct {
	noun           string
	model, subject int64
}

func newIDMap() *idMap { return &idMap{toSubject: map[id]int64{}, toModel: map[id]int64{}} }

func (m *idMap) mark() int { return len(m.learnt) }

// reset forgets the ids learned since mark.
func (m *idMap) reset(mark int) {
	learnt := m.learnt[:mark]
	m.learnt = nil
	clear(m.toSubject)
	clear(m.toModel)
	for _, p := range learnt {
		m.add(p)
	}
}

func (m *idMap) add(p pair) {
	if old, known := m.toModel[id{p.noun, p.subject}]; known && old != p.model {
		delete(m.toSubject, id{p.noun, old}) // the subject has reused an id
	}
	m.toSubject[id{p.noun, p.model}] = p.subject
	m.toModel[id{p.noun, p.subject}] = p.model
	m.learnt = append(m.learnt, p)
}

func (m *idMap) subject(noun string, n int64) int64 {
	if s, known := m.toSubject[id{noun, n}]; known || n == 0 {
		return s
	}
	return nobody + n
}

func (m *idMap) model(noun string, n int64) int64 {
	if s, known := m.toModel[id{noun, n}]; known || n == 0 {
		return s
	}
	return -n
}

// learn pairs the ids that both sides have assigned to rows.
func (m *idMap) learn(model, subject any) {
	a, b := rowIDs(reflect.ValueOf(model), nil), rowIDs(reflect.ValueOf(subject), nil)
	for i := range min(len(a), len(b)) {
		if a[i].noun == b[i].noun && a[i].n > 0 && b[i].n > 0 && m.toSubject[a[i]] != b[i].n {
			m.add(pair{a[i].noun, a[i].n, b[i].n})
		}
	}
}

// meet pairs the ids of documents, which only searches return: both sides find them in the same order, and later by the same
// ids.
func (m *idMap) meet(model, subject any) {
	a, b := rowIDs(reflect.ValueOf(model), nil), rowIDs(reflect.ValueOf(subject), nil)
	for i := range min(len(a), len(b)) {
		if a[i].noun != "Document" || b[i].noun != "Document" {
			continue
		}
		_, met := m.toSubject[a[i]]
		_, taken := m.toModel[b[i]]
		if !met && !taken {
			m.add(pair{"Document", a[i].n, b[i].n})
		}
	}
}

// rowIDs returns the fields named ID in a value.
func rowIDs(v reflect.Value, found []id) []id {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return rowIDs(v.Elem(), found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			found = rowIDs(v.Index(i), found)
		}
	case reflect.Struct:
		if f := v.FieldByName("ID"); f.IsValid() && f.Kind() == reflect.Int64 {
			found = append(found, id{nounOf(v.Type(), "ID"), f.Int()})
		}
		if p, is := v.Interface().(kb.Posting); is {
			found = append(found, id{"Document", p.DocumentID})
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Field(i).Kind() != reflect.Int64 {
				found = rowIDs(v.Field(i), found)
			}
		}
	}
	return found
}

// nounOf returns the noun that the ids in a field refer to, or "" when it holds none.
func nounOf(in reflect.Type, field string) string {
	switch field {
	case "ID":
		if in == reflect.TypeFor[ledger.Mail]() {
			return "InboundMail"
		}
		if in == reflect.TypeFor[kb.Hit]() {
			return "Document"
		}
		return strings.TrimPrefix(strings.TrimPrefix(in.Name(), "Claimed"), "Failed")
	case "PostedByID", "ActorID", "DisabledByID", "MemberIDs", "UnreadBy":
		return "User"
	case "WrittenBy":
		return "Customer"
	case "FromID", "IntoID":
		return "Conversation"
	case "Mailboxes":
		if in == reflect.TypeFor[helpdesk.Scope]() {
			return "Mailbox"
		}
		return ""
	case "IDs":
		if in == reflect.TypeFor[kb.ArticleFilter]() {
			return "Article"
		}
		if in == reflect.TypeFor[kb.DocumentQuery]() {
			return "Document"
		}
		return ""
	case "Articles":
		if in == reflect.TypeFor[kb.DocumentQuery]() {
			return "Article"
		}
	}
	if noun, is := strings.CutSuffix(strings.TrimSuffix(field, "s"), "ID"); is {
		return noun
	}
	return ""
}

// translate returns a deep copy of a value with other ids.
func translate(v any, to func(noun string, id int64) int64) any {
	switch v := v.(type) {
	case nil:
		return nil
	case id:
		return id{v.noun, to(v.noun, v.n)}
	case idList:
		out := idList{noun: v.noun}
		for _, n := range v.n {
			out.n = append(out.n, to(v.noun, n))
		}
		return out
	case time.Time:
		return v
	case storage.Seek:
		if v.From != nil {
			from := *v.From
			v.From = &from
		}
		return v
	case ordered:
		if v.From != nil {
			v.From = &storage.Position{Key: v.From.Key, ID: to(v.noun, v.From.ID)}
		}
		return v
	case helpdesk.AuditFilter:
		if user, given := v.UserID.Get(); given {
			v.UserID = storage.Some(to("User", user))
		}
		return v
	case helpdesk.ConversationOrder:
		v.ConversationFilter = translate(v.ConversationFilter, to).(helpdesk.ConversationFilter)
		return v
	case helpdesk.CountQuery:
		v.Conversations = translateAll(v.Conversations, to)
		notifications := make([]helpdesk.NotificationFilter, len(v.Notifications))
		for i, f := range v.Notifications {
			notifications[i] = translate(f, to).(helpdesk.NotificationFilter)
		}
		v.Notifications, v.TagIDs = notifications, translate(idList{"Tag", v.TagIDs}, to).(idList).n
		return v
	case helpdesk.ConversationFilter:
		if user, given := v.UserID.Get(); given {
			v.UserID = storage.Some(to("User", user))
		}
		if team, given := v.TeamID.Get(); given {
			v.TeamID = storage.Some(to("Team", team))
		}
		v.MailboxID, v.CustomerID, v.DraftBy = to("Mailbox", v.MailboxID), to("Customer", v.CustomerID), to("User", v.DraftBy)
		v.CompanyID = to("Company", v.CompanyID)
		v.TagIDs = translate(idList{"Tag", v.TagIDs}, to).(idList).n
		v.Also, v.Except = translateAll(v.Also, to), translateAll(v.Except, to)
		return v
	}
	out := reflect.New(reflect.TypeOf(v)).Elem()
	copyWith(out, reflect.ValueOf(v), "", to)
	return out.Interface()
}

func translateAll(filters []helpdesk.ConversationFilter, to func(string, int64) int64) []helpdesk.ConversationFilter {
	all := make([]helpdesk.ConversationFilter, len(filters))
	for i, f := range filters {
		all[i] = translate(f, to).(helpdesk.ConversationFilter)
	}
	return all
}

// ordered is a Seek whose position contains the id of a row.
type ordered struct {
	storage.Seek
	noun string
}

func copyWith(out, in reflect.Value, noun string, to func(string, int64) int64) {
	switch in.Kind() {
	case reflect.Pointer:
		if !in.IsNil() {
			out.Set(reflect.New(in.Type().Elem()))
			copyWith(out.Elem(), in.Elem(), noun, to)
		}
	case reflect.Slice:
		if in.IsNil() {
			return
		}
		out.Set(reflect.MakeSlice(in.Type(), in.Len(), in.Len()))
		for i := range in.Len() {
			copyWith(out.Index(i), in.Index(i), noun, to)
		}
	case reflect.Struct:
		out.Set(in)
		if in.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range in.NumField() {
			if !in.Type().Field(i).IsExported() {
				continue // as in a storage.Opt
			}
			copyWith(out.Field(i), in.Field(i), nounOf(in.Type(), in.Type().Field(i).Name), to)
		}
	case reflect.Int64:
		out.Set(in)
		if noun != "" {
			out.SetInt(to(noun, in.Int()))
		}
	default:
		out.Set(in)
	}
}

// generator generates the operations. It knows only the model's ids.
type generator struct {
	*rand.Rand
	count  int64              // source of unique values
	pool   map[string][]int64 // ids that exist or existed
	held   []storage.ClaimedJob
	locals []string // local parts of mailboxes
	now    time.Time
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 1)), pool: map[string][]int64{}, now: base}
}

// operation is a method and its arguments.
type operation struct {
	method string
	args   []any
	clash  bool
}

// note records the ids of inserted rows.
func (g *generator) note(calls []*call) {
	for _, c := range calls {
		if !strings.HasPrefix(c.method, "Insert") && !strings.HasSuffix(c.method, ".Insert") {
			continue
		}
		for _, a := range c.args {
			for _, found := range rowIDs(reflect.ValueOf(a), nil) {
				if found.n > 0 {
					g.pool[found.noun] = append(g.pool[found.noun], found.n)
				}
			}
		}
	}
}

func (g *generator) next() int64 {
	g.count++
	return g.count
}

// any returns the id of a row of any account, possibly deleted, and rarely one of no row.
func (g *generator) any(noun string) int64 {
	if len(g.pool[noun]) == 0 || g.IntN(50) == 0 {
		return nobody
	}
	return g.pool[noun][g.IntN(len(g.pool[noun]))]
}
