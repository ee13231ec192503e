package storagetest

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/report"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func isolationTests() []testCase {
	return []testCase{
		{"EveryMethodIsProbed", testProbesComplete},
		{"Reads", testReadProbes},
		{"Writes", testWriteProbes},
		{"OwnAccountOnly", testOwnAccountOnly},
		{"References", testReferences},
		{"FieldReferences", testFieldReferences},
		{"Scopes", testScopes},
	}
}

// level says what a method's result belongs to.
type level int

const (
	ofMailbox level = iota // to a mailbox: hidden from other accounts and from scopes without it
	ofAccount              // to the account: hidden from other accounts
)

// readProbe calls a Reader's method with the ids of v. A stranger gets a NotFound fault, or a result that contains nothing
// of v.
type readProbe = readProbeOf[helpdesk.Reader]

type readProbeOf[R any] struct {
	level level
	must  bool // the result must be NotFound
	call  func(ctx context.Context, r R, v *world) (any, error)
}

// writeProbe calls a Tx's method with the ids of v. A stranger gets a NotFound fault, or nil where quiet, and nothing of v
// changes.
type writeProbe = writeProbeOf[helpdesk.Tx]

type writeProbeOf[T any] struct {
	level level
	quiet bool
	call  func(ctx context.Context, tx T, v *world) error
}

// untouchable lists the methods of Tx that take no id of another account: they work only in the own account, which
// OwnAccountOnly tests.
func untouchable() []string {
	return []string{"DeleteAccount", "TrimAccount", "TakeNumber", "InsertCustomer", "Enqueue", "Emit",
		"LockAccount", "Whole", "SaveNotifyChoices", "PruneNotifications",
		"InsertAudit", "NewIDs", "SaveNewIDs", "ForgetNewIDs",
		"WebhookCursorForUpdate", "StartWebhookCursor", "SaveWebhookCursor", "DeleteWebhookCursor"}
}

func testProbesComplete(t *testing.T, _ Backend) {
	rows := probesOf(nouns(), map[string]readProbe{}, map[string]writeProbe{})
	probesComplete(t, readProbes(), writeProbes(), append(rows, "Reader", "Records", "ReadRecords"), untouchable()) // the last two give the rows of plain nouns
}

// probesComplete checks that every method of R has a probe or returns the rows of a noun, and that every other method of T
// has a probe, returns rows or is untouchable.
func probesComplete[R, T any](t *testing.T, reads map[string]readProbeOf[R], writes map[string]writeProbeOf[T], rows, untouchable []string) {
	t.Helper()
	reader := reflect.TypeFor[R]()
	known := map[string]bool{}
	for _, name := range rows {
		known[name] = true
	}
	for m := range reader.NumMethod() {
		name := reader.Method(m).Name
		_, probed := reads[name]
		if !probed && !known[name] {
			t.Errorf("Reader.%s has no probe, and gives no rows of a noun", name)
		}
		known[name] = true
	}
	for _, name := range untouchable {
		known[name] = true
	}
	tx := reflect.TypeFor[T]()
	for m := range tx.NumMethod() {
		name := tx.Method(m).Name
		if _, probed := writes[name]; !probed && !known[name] {
			t.Errorf("Tx.%s has no probe, and gives no rows of a noun", name)
		}
	}
}

// answer adapts a method's results to a probe's.
func answer[T any](v T, err error) (any, error) { return v, err }

func readProbes() map[string]readProbe {
	type r = helpdesk.Reader
	probes := map[string]readProbe{
		"Account": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) { return answer(r.Account(ctx)) }},
		"UsersByID": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.UsersByID(ctx, []int64{v.user.ID}))
		}},
		"Picture": {ofAccount, true, func(ctx context.Context, r r, v *world) (any, error) {
			content, err := r.Picture(ctx, v.user.ID)
			return nonZero(string(content), v), err
		}},
		"FailedJobs": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.FailedJobs(ctx, helpdesk.FailedJobFilter{Kind: v.failedJob.Kind}, all()))
		}},
		"FetchStatus": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) { return answer(r.FetchStatus(ctx, v.mailbox.ID)) }},
		"FetchCursor": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			c, err := r.FetchCursor(ctx, v.mailbox.ID, "INBOX")
			return nonZero(c, v), err
		}},
		"Customer": {ofAccount, true, func(ctx context.Context, r r, v *world) (any, error) { return answer(r.Customer(ctx, v.customer.ID)) }},
		"Customers": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Customers(ctx, helpdesk.CustomerFilter{EmailKey: v.customer.Emails[0].Key}, all()))
		}},
		"CustomersByID": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.CustomersByID(ctx, []int64{v.customer.ID}))
		}},
		"CustomerByEmail": {ofAccount, true, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.CustomerByEmail(ctx, v.customer.Emails[0].Key))
		}},
		"EmailsByKey": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.EmailsByKey(ctx, []string{v.customer.Emails[0].Key}))
		}},
		"CustomerStats": {ofAccount, true, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.CustomerStats(ctx, v.customer.ID))
		}},
		"CustomerBeyond": {ofAccount, true, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.CustomerBeyond(ctx, v.customer.ID))
		}},
		"Involving": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Involving(ctx, v.customer.ID, []string{v.address("grace")}, storage.Seek{Limit: 10}))
		}},
		"Participants": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Participants(ctx, v.conversation.ID, 10))
		}},
		"Participant": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			took, err := r.Participant(ctx, v.conversation.ID, []string{v.address("grace")})
			return nonZero(took, v), err
		}},
		"LastArrived": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			last, err := r.LastArrived(ctx, v.conversation.ID)
			return nonZero(last != 0, v), err
		}},
		"Contributions": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			found, err := r.Contributions(ctx, []int64{v.conversation.ID})
			return nonZero(len(found) > 0, v), err
		}},
		"Facts": {ofAccount, false, func(ctx context.Context, r r, _ *world) (any, error) {
			return answer(r.Facts(ctx, report.Read{Clock: report.Created, From: at(-1), To: at(9), Columns: []report.Column{report.ColumnConversation, report.ColumnChannel}}))
		}},
		"KnownTerms": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) {
			known, err := r.KnownTerms(ctx, []string{"known", "unknown"})
			return nonZero(len(known) > 0, v), err
		}},
		"PassagesByID": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.PassagesByID(ctx, []int64{v.conversation.ID}, 10))
		}},
		"Messages": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Messages(ctx, v.mailbox.ID, []string{v.question.MessageID}))
		}},
		"Thread": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Thread(ctx, v.conversation.ID, 10))
		}},
		"BlobKeys": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.BlobKeys(ctx, []int64{v.conversation.ID}))
		}},
		"InboundMail": {ofMailbox, true, func(ctx context.Context, r r, v *world) (any, error) { return answer(r.InboundMail(ctx, v.mail.ID)) }},
		"InboundMails": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.InboundMails(ctx, ledger.Filter{MailboxID: v.mailbox.ID}, all()))
		}},
		"InboundPositions": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.InboundPositions(ctx, v.mailbox.ID, v.mail.Source, []string{v.mail.Position}))
		}},
	}
	maps.Copy(probes, ledgerReads())
	maps.Copy(probes, organisingReads())
	maps.Copy(probes, suppressionReads())
	maps.Copy(probes, portalReads())
	maps.Copy(probes, auditReads())
	maps.Copy(probes, webhookReads())
	probesOf(nouns(), probes, map[string]writeProbe{})
	maps.Copy(probes, deskReads())
	maps.Copy(probes, notificationReads())
	maps.Copy(probes, transferReads())
	return probes
}

func ledgerReads() map[string]readProbe {
	type r = helpdesk.Reader
	return map[string]readProbe{
		"InboundCounts": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			counts, err := r.InboundCounts(ctx, v.mailbox.ID)
			return nonZero(counts, v), err
		}},
		"InboundByIdentity": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.InboundByIdentity(ctx, [][]byte{v.mail.Identity}))
		}},
		"InboundOf": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.InboundOf(ctx, v.question.ID))
		}},
	}
}

// nonZero reports a leak for a result without text that could contain the mark.
func nonZero[T comparable](got T, v *world) any {
	var zero T
	if got != zero {
		return fmt.Sprint(got, " of ", v.mark)
	}
	return nil
}

func writeProbes() map[string]writeProbe {
	type tx = helpdesk.Tx
	probes := map[string]writeProbe{
		"UpdateAccount":   {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error { a := v.account; return tx.UpdateAccount(ctx, &a) }},
		"ReviveJob":       {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error { return tx.ReviveJob(ctx, v.failedJob.ID, at(60)) }},
		"DropJob":         {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error { return tx.DropJob(ctx, v.failedJob.ID) }},
		"SaveFetchStatus": {call: func(ctx context.Context, tx tx, v *world) error { return tx.SaveFetchStatus(ctx, v.newStatus()) }},
		"SaveFetchCursor": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.SaveFetchCursor(ctx, v.mailbox.ID, "INBOX", mailserver.Cursor{UID: 1})
		}},
		"UpdateCustomer": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			c := v.customer
			c.Emails, c.Phones, c.Websites = nil, nil, nil
			return tx.UpdateCustomer(ctx, &c)
		}},
		"DeleteCustomer": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error { return tx.DeleteCustomer(ctx, v.customer.ID) }},
		"DeleteConversations": {quiet: true, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.DeleteConversations(ctx, []int64{v.conversation.ID})
		}},
		"DeleteFacts": {quiet: true, level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.DeleteFacts(ctx, []int64{v.conversation.ID})
		}},
		"ForgetNotes": {quiet: true, call: func(ctx context.Context, tx tx, v *world) error {
			return tx.ForgetNotes(ctx, []int64{v.conversation.ID})
		}},
		"AddParticipants": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.AddParticipants(ctx, v.conversation.ID, []string{"thief@example.com"})
		}},
		"RemoveParticipants": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.RemoveParticipants(ctx, v.conversation.ID, []string{v.address("grace")})
		}},
		// deleting none of them is not an error, as long as none is deleted
		"DeleteDeliveries": {quiet: true, call: func(ctx context.Context, tx tx, v *world) error { return tx.DeleteDeliveries(ctx, v.answer.ID) }},
		"InsertInbound": {call: func(ctx context.Context, tx tx, v *world) error {
			m := v.newMail("thief")
			return tx.InsertInbound(ctx, []*ledger.Mail{&m})
		}},
		"UpdateInbound": {call: func(ctx context.Context, tx tx, v *world) error {
			m := v.mail
			m.Reason = "stolen"
			return tx.UpdateInbound(ctx, &m)
		}},
		"SetInboundState": {quiet: true, call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.SetInboundState(ctx, []int64{v.mail.ID}, v.mail.State, ledger.Received, at(50))
			return err
		}},
		"InboundForUpdate": {call: func(ctx context.Context, tx tx, v *world) error {
			_, err := tx.InboundForUpdate(ctx, v.mail.ID)
			return err
		}},
	}
	maps.Copy(probes, organisingWrites())
	maps.Copy(probes, searchProbes())
	maps.Copy(probes, portalWrites())
	maps.Copy(probes, notificationWrites())
	maps.Copy(probes, webhookWrites())
	maps.Copy(probes, retentionWrites())
	maps.Copy(probes, transferWrites())
	probesOf(nouns(), map[string]readProbe{}, probes)
	return probes
}

// organisingReads and organisingWrites are the probes for tags, views, read marks, merging, roles and invitations.
func organisingReads() map[string]readProbe {
	type r = helpdesk.Reader
	return map[string]readProbe{
		"Marks": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Marks(ctx, helpdesk.MarksQuery{
				ConversationIDs: []int64{v.conversation.ID}, UnreadBy: nobody, Tags: true, PresentAfter: base.AddDate(-1, 0, 0), Scheduled: true,
			}))
		}},
		"FieldValues": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			values, err := r.FieldValues(ctx, helpdesk.FieldOfConversation, []int64{v.conversation.ID})
			return nonZero(len(values), v), err
		}},
		"UsedFieldKeys": {ofAccount, false, func(ctx context.Context, r r, v *world) (any, error) {
			used, err := r.UsedFieldKeys(ctx, helpdesk.FieldOfConversation, v.field.ID, []string{v.values[0].Key})
			return nonZero(len(used), v), err
		}},
		"MergedInto": {ofMailbox, true, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.MergedInto(ctx, v.merged))
		}},
		"Moves": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			moves, err := r.Moves(ctx, []int64{v.answer.ID})
			return nonZero(len(moves), v), err
		}},
		"Events": {ofMailbox, false, func(ctx context.Context, r r, v *world) (any, error) {
			return answer(r.Events(ctx, subscription.EventFilter{}, all()))
		}},
		"LastEvent": {ofAccount, false, func(ctx context.Context, r r, _ *world) (any, error) { return answer(r.LastEvent(ctx)) }},
	}
}

func organisingWrites() map[string]writeProbe {
	type tx = helpdesk.Tx
	return map[string]writeProbe{
		"SetTags": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.SetTags(ctx, []int64{v.conversation.ID}, nil)
		}},
		"SetFieldValues": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.SetFieldValues(ctx, helpdesk.FieldOfConversation, []int64{v.conversation.ID}, []int64{v.field.ID}, nil)
		}},
		"SavePresence": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.SavePresence(ctx, helpdesk.Presence{ConversationID: v.conversation.ID, UserID: v.user.ID, Doing: helpdesk.Reading, SeenAt: base}, base)
		}},
		"SaveReadMark": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.SaveReadMark(ctx, helpdesk.ReadMark{UserID: v.user.ID, ConversationID: v.conversation.ID, InteractionID: nobody})
		}},
		"MoveInteractions": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.MoveInteractions(ctx, []int64{v.question.ID}, v.move(v.conversation.ID))
		}},
		"MergeConversation": {call: func(ctx context.Context, tx tx, v *world) error {
			return tx.MergeConversation(ctx, v.move(v.conversation.ID))
		}},
		"TouchMembership": {level: ofAccount, call: func(ctx context.Context, tx tx, v *world) error { return tx.TouchMembership(ctx, v.member.ID, at(700)) }},
	}
}

// stranger is a scope that must not reach the victim's data, or only that of the account.
type stranger[S any] struct {
	scope S
	level level
}

func strangers(victim, other *world) map[string]stranger[helpdesk.Scope] {
	own := victim.account.ID
	return map[string]stranger[helpdesk.Scope]{
		"another account":                      {other.scope, ofAccount},
		"another account naming the mailbox":   {helpdesk.Scope{AccountID: other.account.ID, Mailboxes: []int64{victim.mailbox.ID}}, ofAccount},
		"no account":                           {helpdesk.Scope{AccountID: nobody}, ofAccount},
		"account 0":                            {helpdesk.Scope{}, ofAccount},
		"another mailbox":                      {helpdesk.Scope{AccountID: own, Mailboxes: []int64{victim.empty.ID}}, ofMailbox},
		"no mailbox":                           {helpdesk.Scope{AccountID: own, Mailboxes: []int64{}}, ofMailbox},
		"mailboxes of others and none of them": {helpdesk.Scope{AccountID: own, Mailboxes: []int64{other.mailbox.ID, nobody, 0}}, ofMailbox},
	}
}

// covered reports whether data of a level is hidden from strangers of another level.
func covered(probe, stranger level) bool { return stranger == ofAccount || probe == ofMailbox }

func testReadProbes(t *testing.T, b Backend) {
	victim, other := newWorld(t, b), newWorld(t, b)
	victim.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		waiting := victim.mail
		waiting.ID, waiting.Position, waiting.Identity, waiting.State, waiting.InteractionID, waiting.ConversationID = 0, "waiting", nil, ledger.Received, 0, 0
		refused := waiting
		refused.Position, refused.State = "refused", ledger.Quarantined
		ok(t, tx.InsertInbound(ctx, []*ledger.Mail{&waiting, &refused}))
		ok(t, tx.SetSearchTerms(ctx, victim.conversation.ID, []string{"known"}))
		return tx.Emit(ctx, storage.Event{Type: "test." + victim.mark, MailboxID: victim.mailbox.ID, Time: base})
	})
	for name, probe := range readProbes() {
		if got, err := probe.call(t.Context(), victim.in(), victim); err != nil || !leaks(got, victim) && !marksOnly(name) {
			t.Errorf("%s finds nothing in its own account (%v): the probe is blind", name, err)
		}
	}
	for who, s := range strangers(victim, other) {
		tryReads(t, victim, who+" through Within", s.level, readProbes(), b.Store.Within(s.scope))
		_ = b.Store.InTx(t.Context(), s.scope, func(_ context.Context, tx helpdesk.Tx) error {
			tryReads(t, victim, who+" in a transaction", s.level, readProbes(), tx.Reader())
			return nil
		})
	}
	sameFault(t, victim, other)
}

// tryReads calls all probes that are hidden from a stranger's reader.
func tryReads[R any](t *testing.T, victim *world, who string, level level, probes map[string]readProbeOf[R], r R) {
	t.Helper()
	for name, probe := range probes {
		if !covered(probe.level, level) {
			continue
		}
		got, err := probe.call(t.Context(), r, victim)
		switch {
		case err != nil && !fault.Is(err, fault.NotFound):
			t.Errorf("%s by %s: got %v, want NotFound", name, who, err)
		case err == nil && probe.must:
			t.Errorf("%s by %s: got %+v, want NotFound", name, who, got)
		case leaks(got, victim):
			t.Errorf("%s by %s: leaks %+v", name, who, got)
		}
	}
}

// tryWrites calls all probes that are hidden from a stranger, each in a transaction that begin opens.
func tryWrites[T any](t *testing.T, victim *world, who string, level level, probes map[string]writeProbeOf[T], begin func(fn func(ctx context.Context, tx T) error) error) {
	t.Helper()
	for name, probe := range probes {
		if !covered(probe.level, level) {
			continue
		}
		err := begin(func(ctx context.Context, tx T) error { return probe.call(ctx, tx, victim) })
		if !fault.Is(err, fault.NotFound) && !(probe.quiet && err == nil) {
			t.Errorf("%s by %s: got %v, want NotFound", name, who, err)
		}
	}
}

// marksOnly reports a probe whose result has no text.
func marksOnly(name string) bool {
	return name == "CustomerStats" || name == "CustomerBeyond" || name == "Membership" || name == "LastEvent"
}

// sameFault compares the errors for missing rows with those for rows of other accounts.
func sameFault(t *testing.T, victim, stranger *world) {
	t.Helper()
	text := func(id int64, err error) string {
		return strings.ReplaceAll(fmt.Sprint(err), fmt.Sprint(id), "ID")
	}
	r := stranger.in()
	_, absent := r.Conversations().Get(t.Context(), nobody)
	_, foreign := r.Conversations().Get(t.Context(), victim.conversation.ID)
	same(t, "what is not there and what is another's", text(nobody, absent), text(victim.conversation.ID, foreign))
}

func leaks(got any, victim *world) bool {
	return got != nil && strings.Contains(fmt.Sprintf("%+v", got), victim.mark)
}

func testWriteProbes(t *testing.T, b Backend) {
	victim, other := newWorld(t, b), newWorld(t, b)
	before := victim.content(t)
	for who, s := range strangers(victim, other) {
		tryWrites(t, victim, who, s.level, writeProbes(), func(fn func(ctx context.Context, tx helpdesk.Tx) error) error {
			return b.Store.InTx(t.Context(), s.scope, fn)
		})
	}
	same(t, "the victim's data", before, victim.content(t))
	took, err := victim.in().Participant(t.Context(), victim.conversation.ID, []string{"thief@example.com"})
	ok(t, err)
	same(t, "thief takes part", false, took)
}

// Methods that take no id work only in the own account.
func testOwnAccountOnly(t *testing.T, b Backend) {
	victim, stranger := newWorld(t, b), newWorld(t, b)
	before := victim.content(t)
	stranger.tx(t, func(ctx context.Context, tx helpdesk.Tx) error {
		for range 3 {
			_, err := tx.TakeNumber(ctx)
			ok(t, err)
		}
		role := stranger.role
		ok(t, helpdesk.Nouns().Roles.Rows(tx).Insert(ctx, &role))
		mailbox := stranger.newMailbox("new")
		mailbox.AccountID = victim.account.ID // ignored
		ok(t, tx.Mailboxes().Insert(ctx, &mailbox))
		same(t, "account of the mailbox", stranger.account.ID, mailbox.AccountID)
		customer := stranger.newCustomer("new")
		ok(t, tx.InsertCustomer(ctx, &customer))
		_, err := tx.PruneNotifications(ctx, at(1000), 0, 100)
		ok(t, err)
		ok(t, tx.SaveNotifyChoices(ctx, helpdesk.NotifyChoices{UserID: victim.user.ID}))
		return tx.Emit(ctx, storage.Event{Type: "test.done", Data: []byte("{}"), Time: base})
	})
	same(t, "events of the victim", 0, len(victim.log(t)))
	same(t, "the victim's data", before, victim.content(t))
	mailbox := stranger.mailbox
	mailbox.AccountID = victim.account.ID
	stranger.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Mailboxes().Update(ctx, &mailbox) })
	one(t, "mailbox given away", stranger.mailbox, stranger.in().Mailboxes().Get, mailbox.ID)
	stranger.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteAccount(ctx) })
	same(t, "the victim's data", before, victim.content(t))
	err := b.Store.InTx(t.Context(), helpdesk.Scope{AccountID: nobody}, func(ctx context.Context, tx helpdesk.Tx) error {
		_, err := tx.TakeNumber(ctx)
		return err
	})
	fails(t, "a number of no account", err, fault.NotFound)
}

// No row can refer to a row of another account.
func testReferences(t *testing.T, b Backend) {
	victim, w := newWorld(t, b), newWorld(t, b)
	for name, fn := range map[string]txFunc{
		"conversation to a mailbox": func(ctx context.Context, tx helpdesk.Tx) error {
			c := w.newConversation()
			c.MailboxID = victim.mailbox.ID
			return tx.Conversations().Insert(ctx, &c)
		},
		"conversation to a customer": func(ctx context.Context, tx helpdesk.Tx) error {
			c := w.newConversation()
			c.CustomerID, c.CustomerEmailID = victim.customer.ID, 0
			return tx.Conversations().Insert(ctx, &c)
		},
		"conversation to an address": func(ctx context.Context, tx helpdesk.Tx) error {
			c := w.newConversation()
			c.CustomerEmailID = victim.customer.Emails[0].ID
			return tx.Conversations().Insert(ctx, &c)
		},
		"moving a conversation to a mailbox": func(ctx context.Context, tx helpdesk.Tx) error {
			c := w.conversation
			c.MailboxID = victim.mailbox.ID
			return tx.Conversations().Update(ctx, &c)
		},
		"giving a conversation to a customer": func(ctx context.Context, tx helpdesk.Tx) error {
			c := w.conversation
			c.CustomerID, c.CustomerEmailID = victim.customer.ID, 0
			return tx.Conversations().Update(ctx, &c)
		},
		"interaction to a conversation": func(ctx context.Context, tx helpdesk.Tx) error {
			i := w.newQuestion(victim.conversation)
			return tx.Interactions().Insert(ctx, &i)
		},
		"interaction to a customer": func(ctx context.Context, tx helpdesk.Tx) error {
			i := w.newQuestion(w.conversation)
			i.CustomerID, i.CustomerEmailID = victim.customer.ID, 0
			return tx.Interactions().Insert(ctx, &i)
		},
		"interaction to an address": func(ctx context.Context, tx helpdesk.Tx) error {
			i := w.newQuestion(w.conversation)
			i.CustomerEmailID = victim.customer.Emails[0].ID
			return tx.Interactions().Insert(ctx, &i)
		},
		"moving an interaction": func(ctx context.Context, tx helpdesk.Tx) error {
			i := w.answer
			i.ConversationID = victim.conversation.ID
			return tx.Interactions().Update(ctx, &i)
		},
		"delivery to an interaction": func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.Deliveries().Insert(ctx, storage.Pointers([]sending.Delivery{w.newDelivery(victim.answer)})...)
		},
		"attachment to an interaction": func(ctx context.Context, tx helpdesk.Tx) error {
			a := w.newAttachment(victim.question, "x")
			a.ConversationID = w.conversation.ID
			return tx.Attachments().Insert(ctx, &a)
		},
		"attachment to a conversation": func(ctx context.Context, tx helpdesk.Tx) error {
			a := w.newAttachment(w.question, "x")
			a.ConversationID = victim.conversation.ID
			return tx.Attachments().Insert(ctx, &a)
		},
		"ledger to a mailbox": func(ctx context.Context, tx helpdesk.Tx) error {
			m := w.newMail("x")
			m.MailboxID = victim.mailbox.ID
			return tx.InsertInbound(ctx, []*ledger.Mail{&m})
		},
		"ledger to a conversation": func(ctx context.Context, tx helpdesk.Tx) error {
			m := w.newMail("x")
			m.ConversationID = victim.conversation.ID
			return tx.InsertInbound(ctx, []*ledger.Mail{&m})
		},
		"filing a mail as an interaction": func(ctx context.Context, tx helpdesk.Tx) error {
			m := w.mail
			m.ConversationID, m.InteractionID = victim.conversation.ID, victim.question.ID
			return tx.UpdateInbound(ctx, &m)
		},
		"marking with a tag": func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.SetTags(ctx, []int64{w.conversation.ID}, []int64{victim.tag.ID})
		},
		"marking a conversation": func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.SetTags(ctx, []int64{victim.conversation.ID}, []int64{w.tag.ID})
		},
		"merging a conversation": func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.MergeConversation(ctx, victim.move(w.conversation.ID))
		},
		"moving interactions": func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.MoveInteractions(ctx, []int64{victim.question.ID}, victim.move(w.conversation.ID))
		},
		"moving interactions into a conversation": func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.MoveInteractions(ctx, []int64{w.question.ID}, w.move(victim.conversation.ID))
		},
		"merging into a conversation": func(ctx context.Context, tx helpdesk.Tx) error {
			return tx.MergeConversation(ctx, w.move(victim.conversation.ID))
		},
	} {
		fails(t, name+" of another account", w.try(t, fn), fault.NotFound)
	}
}

// No value of a field can refer to a field or a subject of another account.
func testFieldReferences(t *testing.T, b Backend) {
	victim, w := newWorld(t, b), newWorld(t, b)
	for name, fn := range map[string]txFunc{
		"a value of a field": func(ctx context.Context, tx helpdesk.Tx) error {
			value := helpdesk.FieldValue{SubjectID: w.conversation.ID, FieldID: victim.field.ID}
			return tx.SetFieldValues(ctx, helpdesk.FieldOfConversation, []int64{w.conversation.ID}, []int64{victim.field.ID}, []helpdesk.FieldValue{value})
		},
		"a value of a company": func(ctx context.Context, tx helpdesk.Tx) error {
			value := helpdesk.FieldValue{SubjectID: victim.company.ID, FieldID: w.fact.ID}
			return tx.SetFieldValues(ctx, helpdesk.FieldOfCompany, []int64{victim.company.ID}, []int64{w.fact.ID}, []helpdesk.FieldValue{value})
		},
		"a value of a customer": func(ctx context.Context, tx helpdesk.Tx) error {
			value := helpdesk.FieldValue{SubjectID: victim.customer.ID, FieldID: w.trait.ID}
			return tx.SetFieldValues(ctx, helpdesk.FieldOfCustomer, []int64{victim.customer.ID}, []int64{w.trait.ID}, []helpdesk.FieldValue{value})
		},
	} {
		fails(t, name+" of another account", w.try(t, fn), fault.NotFound)
	}
}

// A scope with some mailboxes works within them like a scope with all.
func testScopes(t *testing.T, b Backend) {
	w := newWorld(t, b)
	hidden := w.newConversation()
	hidden.MailboxID = w.empty.ID
	w.tx(t, func(ctx context.Context, tx helpdesk.Tx) error { return tx.Conversations().Insert(ctx, &hidden) })
	scope := helpdesk.Scope{AccountID: w.account.ID, Mailboxes: []int64{w.mailbox.ID}}
	want := w.content(t)
	want.Mailboxes, want.Statuses, want.Cursors = want.Mailboxes[:1], want.Statuses[:1], want.Cursors[:1]
	want.Conversations, want.Threads = want.Conversations[:1], want.Threads[:1]
	want.Stats[0].Total, want.Stats[0].Posted, want.Stats[0].EmailChannel = 1, 1, 1
	got, err := readAll(t.Context(), b.Store.Within(scope), w.address("grace"))
	ok(t, err)
	same(t, "content of a mailbox", want, got)
	err = b.Store.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
		c := w.conversation
		c.MailboxID = w.empty.ID
		return tx.Conversations().Update(ctx, &c)
	})
	fails(t, "moving a conversation out of the scope", err, fault.NotFound)
	err = b.Store.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error {
		c := w.conversation
		c.Subject = "changed"
		ok(t, tx.Conversations().Update(ctx, &c))
		i := w.answer
		i.Body = "changed"
		ok(t, tx.Interactions().Update(ctx, &i))
		return tx.DeleteConversations(ctx, []int64{hidden.ID, w.conversation.ID})
	})
	ok(t, err)
	left := w.content(t)
	same(t, "conversations left", []helpdesk.Conversation{hidden}, left.Conversations)
	// deleting a customer affects all conversations, whether or not they are in the scope
	err = b.Store.InTx(t.Context(), scope, func(ctx context.Context, tx helpdesk.Tx) error { return tx.DeleteCustomer(ctx, w.customer.ID) })
	fails(t, "deleting a customer with conversations out of sight", err, fault.Conflict)
}
