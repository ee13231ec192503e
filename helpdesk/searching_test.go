package helpdesk_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/message"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// search finds conversations, the latest changed first.
func (b *bundle) search(query string) helpdesk.SearchResults {
	b.t.Helper()
	return must(b.desk.Conversations().Search(b.ctx, helpdesk.ConversationQuery{Query: query, Sort: helpdesk.ByUpdated}, storage.PageRequest{}))(b.t)
}

// hits lists the numbers of the conversations that a search finds.
func (b *bundle) hits(query string) string {
	b.t.Helper()
	var all []string
	for _, hit := range b.search(query).Items {
		all = append(all, fmt.Sprint(hit.Number))
	}
	return strings.Join(all, " ")
}

// asked writes four conversations: with Ada about a refund of 2025, with Bob about a gift card, tagged and assigned, with Ada
// closed, and in another mailbox as spam.
func (b *bundle) asked() (first int64, other helpdesk.Mailbox) {
	b.t.Helper()
	t := b.t
	b.clock.Add(time.Date(2025, 6, 1, 12, 0, 0, 0, time.UTC).Sub(b.clock.Now()))
	first = b.receive(ledger.Incoming{Message: message.Message{
		MessageID: "1@example.com", From: []mailaddr.Address{ada}, To: []mailaddr.Address{{Email: "support@example.org"}}, Cc: []mailaddr.Address{{Name: "Eve", Email: "eve@example.net"}},
		Subject: "Refund", Text: "Please send the money back, as the gift was broken and no card came.",
	}}).ConversationID
	b.clock.Add(time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC).Sub(b.clock.Now()))
	create := func(to, subject, body string, mailbox int64) helpdesk.Conversation {
		b.clock.Add(time.Minute)
		return must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: to, Subject: subject, MailboxID: mailbox,
			Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: body}}}))(t)
	}
	second := create("Bob Byte <bob@example.net>", "Gift card", "Where is my <b>gift card</b>?", 0)
	tag := must(b.desk.Tags().Create(b.ctx, helpdesk.TagInput{Name: "Needs reply"}))(t)
	must(b.desk.Conversations().AddTags(b.ctx, second.ID, []int64{tag.ID}))(t)
	must(b.desk.Conversations().Update(b.ctx, second.ID, helpdesk.ConversationUpdate{UserID: storage.Some(b.owner.ID)}))(t)
	third := create("ada@example.com", "Thanks", "All good. I ask for no refund.", 0)
	must(b.desk.Conversations().Update(b.ctx, third.ID, helpdesk.ConversationUpdate{Status: storage.Some(helpdesk.StatusClosed)}))(t)
	other = must(b.desk.Mailboxes().Create(b.ctx, helpdesk.MailboxInput{Name: storage.Some("Sales team"), Email: storage.Some("sales@example.org")}))(t)
	fourth := create("eve@example.net", "Refund cheap", "Refund now", other.ID)
	must(b.desk.Conversations().Update(b.ctx, fourth.ID, helpdesk.ConversationUpdate{Spam: storage.Some(true)}))(t)
	b.clock.Add(time.Minute)
	must(b.desk.Interactions().Create(b.ctx, first, helpdesk.InteractionInput{
		Type: helpdesk.TypeUser, Body: "It is on its way.", To: []string{"ada@example.com"}, Bcc: []string{"books@example.org"}}))(t)
	return first, other
}

func TestSearchConditions(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.asked()
	for query, want := range map[string]string{
		"refund": "1 3", "refund is:spam": "4", "-is:spam": "1 3 2", "is:spam": "4", "-refund": "2", "refund -thanks": "1", "-refund -gift": "",
		"from:ada": "1 3", "from:lovelace": "1 3", "from:ada@example.com refund": "1 3", "from:eve": "", "from:eve is:spam": "4", "-from:ada": "2", `from:"Ada Lovelace"`: "1 3",
		"to:eve": "1", "cc:eve": "1", "to:books": "1", "to:ada": "1", "to:support@example.org": "1", "books": "",
		"subject:refund": "1", "subject:ref": "1", "subject:money": "", "-subject:refund": "3 2",
		`tag:"needs reply"`: "2", "tag:needs-reply": "2", "tag:needs": "", `-tag:"needs reply"`: "1 3",
		"mailbox:sales is:spam": "4", "mailbox:sales": "", "mailbox:sales@example.org is:spam": "4", "-mailbox:sales": "1 3 2", "mailbox:none": "",
		"assigned:me": "2", "is:mine": "2", "assigned:nobody": "1 3", "is:unassigned": "1 3", "-assigned:me": "1 3", "assigned:olga": "2", "assigned:owner@example.org": "2", "assigned:nobodyelse": "",
		"before:2026": "1", "before:2026-02-01": "1", "before:2026-02-02": "1 3 2", "after:2026-02": "1 3 2", "after:2026-02-02": "", "after:0d": "1 3 2", "-before:2026": "3 2",
		"is:open": "1 2", "is:closed": "3", "-is:closed": "1 2", "is:waiting": "2", "is:open is:closed": "", "is:pending": "", "is:snoozed": "", "is:undelivered": "",
		"has:attachment": "", "-has:attachment": "1 3 2",
		`"gift card"`: "2", "gift card": "1 2", `"card gift"`: "", `-"gift card"`: "1 3", `subject:"gift card"`: "2", `-subject:"gift card"`: "1 3", `"Ada Lovelace"`: "1 3", `"gift"`: "1 2",
		`"gift card" is:closed`: "", `"money back" from:ada`: "1", `"money back`: "1",
		"no:such": "", "from:": "", "!?": "", `""`: "", "-": "", "--": "", "": "1 3 2", "refund from:ada -subject:thanks after:2026 is:open": "1",
	} {
		if got := b.hits(query); got != want {
			t.Errorf("%q finds %q, not %q", query, got, want)
		}
	}
	// what the query says and what is given besides hold together
	page := must(b.desk.Conversations().Search(b.ctx, helpdesk.ConversationQuery{Query: "is:open assigned:nobody", Statuses: []helpdesk.Status{helpdesk.StatusClosed}}, storage.PageRequest{}))(t)
	if len(page.Items) > 0 {
		t.Errorf("%+v", page.Items)
	}
	b.finds("from:ada", 1, 3) // as in lists
	b.finds("-from:ada", 2, 4)
	day := must(b.desk.Conversations().List(b.ctx, helpdesk.ConversationQuery{Query: "before:2026-02-01", Zone: time.FixedZone("", -48*3600)}, storage.PageRequest{}))(t)
	if len(day.Items) != 4 {
		t.Errorf("%d conversations in a zone where the day begins later", len(day.Items))
	}
}

// The matching words are marked in their context, as HTML that is safe.
func TestSearchHighlights(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.asked()
	b.receive(ledger.Incoming{Message: message.Message{MessageID: "5@example.com", From: []mailaddr.Address{ada}, Subject: `<script>alert("x")</script> Zebra`,
		Text: strings.Repeat("before it ", 30) + "a <img src=x onerror=zebra> & more " + strings.Repeat("after it ", 60)}})
	one := b.search("zebra")
	if one.Count != 1 || one.AtLeast || len(one.Items) != 1 {
		t.Fatalf("%+v", one)
	}
	h := one.Items[0].Highlight
	if h.Subject != `&lt;script&gt;alert(&#34;x&#34;)&lt;/script&gt; <mark>Zebra</mark>` || !strings.Contains(h.Snippet, "&lt;img src=x onerror=<mark>zebra</mark>&gt; &amp; more") ||
		!strings.HasPrefix(h.Snippet, "… ") || !strings.HasSuffix(h.Snippet, " …") || len(h.Snippet) > 400 {
		t.Errorf("%+v", h)
	}
	if h := b.search("gift card from:bob").Items[0].Highlight; h != (helpdesk.Highlight{Subject: "<mark>Gift</mark> <mark>card</mark>", Snippet: "Where is my <mark>gift</mark> <mark>card</mark>?"}) {
		t.Errorf("%+v", h)
	}
	if h := b.search("is:mine").Items[0].Highlight; h != (helpdesk.Highlight{Subject: "Gift card"}) {
		t.Errorf("%+v", h)
	}
}

// One wrong character is forgiven when nothing has the word, and said.
func TestSearchCorrects(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	first, other := b.asked()
	for query, want := range map[string]string{
		"refnud": "refund", "Refnd from:ada": "refund from:ada", "subject:refuns": "subject:refund", `"gift cart"`: `"gift card"`, "from:lovelase moneyy": "from:lovelace money",
		"refund": "", "refund giift": "refund gift", "refund bob": "", "cheep": "", "xylophone": "", "-refnud": "", "refnud giift mony": "", "crd": "",
	} {
		found := b.search(query)
		if found.Corrected != want || want != "" && len(found.Items) == 0 {
			t.Errorf("%q is %q: %d", query, found.Corrected, len(found.Items))
		}
	}
	// what only others see corrects nothing
	must(b.desk.Interactions().Create(b.ctx, first, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "wombat"}))(t)
	limited := b.member(identity.RoleAgent)
	if found := must(limited.Conversations().Search(b.ctx, helpdesk.ConversationQuery{Query: "wombst"}, storage.PageRequest{}))(t); found.Corrected != "wombat" {
		t.Errorf("%+v", found)
	}
	m := membershipOf(t, b.ctx, limited)
	must(b.desk.Members().Update(b.ctx, m.ID, identity.MembershipUpdate{RoleIDs: m.RoleIDs, MailboxIDs: storage.Some([]int64{other.ID})}))(t)
	limited = b.again(limited)
	for _, query := range []string{"wombst", "wombat", "refund", `"money back"`, "mailbox:support"} {
		if found := must(limited.Conversations().Search(b.ctx, helpdesk.ConversationQuery{Query: query}, storage.PageRequest{}))(t); len(found.Items) > 0 || found.Corrected != "" || found.Count > 0 {
			t.Errorf("%s: %+v", query, found)
		}
	}
}

// A draft's words are found when it is posted, and not before.
func TestSearchFindsNoDrafts(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	for _, kind := range []helpdesk.InteractionType{helpdesk.TypeUser, helpdesk.TypeNote} {
		word := "walrus" + string(kind)
		draft := must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: kind, Status: helpdesk.StatusDraft, Body: word, To: map[bool][]string{true: {word + "@example.net"}}[kind == helpdesk.TypeUser]}))(t)
		b.finds(word)
		draft = must(b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Body: storage.Some(word + " changed")}))(t)
		b.finds(word)
		b.finds("to:" + word)
		must(b.desk.Conversations().Update(b.ctx, id, helpdesk.ConversationUpdate{Subject: storage.Some("Renamed for " + string(kind))}))(t)
		b.finds(word)
		gone := must(b.desk.Interactions().Discard(b.ctx, id, draft.ID))(t)
		b.finds(word)
		draft = must(b.desk.Interactions().Restore(b.ctx, gone))(t)
		b.finds(word)
		if found := b.search(`"` + word + ` changed"`); len(found.Items) > 0 {
			t.Errorf("a phrase of a draft: %+v", found)
		}
		must(b.desk.Interactions().Update(b.ctx, id, draft.ID, helpdesk.InteractionUpdate{Status: storage.Some(helpdesk.StatusPosted)}))(t)
		b.finds(word+" changed", id)
		if kind == helpdesk.TypeUser {
			b.finds("to:"+word, id)
		}
	}
}

// Many results are counted up to a limit, and paged.
func TestSearchCounts(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for i := range 130 {
		b.clock.Add(time.Minute)
		body := "common word"
		if i%2 == 0 {
			body = "word common"
		}
		must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeNote, Body: body}}}))(t)
	}
	for query, want := range map[string]int{"common": 130, "comon": 130, `"common word"`: 65, `-"common word"`: 65} {
		first, seen := -1, 0
		for req := (storage.PageRequest{Limit: 20}); ; {
			page := must(b.desk.Conversations().Search(b.ctx, helpdesk.ConversationQuery{Query: query, Sort: helpdesk.ByUpdated}, req))(t)
			if first < 0 {
				if first = page.Count; first != want && !page.AtLeast {
					t.Errorf("%q: %d, at least %t", query, first, page.AtLeast)
				}
			} else if page.Count != 0 {
				t.Errorf("%q: a later page counts %d", query, page.Count)
			}
			seen += len(page.Items)
			if req.Cursor = page.Next; req.Cursor == "" {
				break
			}
		}
		if seen != want {
			t.Errorf("%q: %d on all pages", query, seen)
		}
	}
}

// A phrase that none of many conversations has ends a page, which says that there are more.
func TestSearchPhraseIsBounded(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for range 60 {
		var said []helpdesk.InteractionInput
		for range helpdesk.MaxPhraseMessages + 2 {
			said = append(said, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "word, and then common"})
		}
		must(b.desk.Conversations().Create(b.ctx, helpdesk.ConversationInput{Channel: "email", To: "ada@example.com", Interactions: said}))(t)
	}
	var pages []string
	req := storage.PageRequest{}
	for range 10 {
		page := must(b.desk.Conversations().Search(b.ctx, helpdesk.ConversationQuery{Query: `"common word"`}, req))(t)
		pages = append(pages, fmt.Sprint(len(page.Items), page.Unread, page.Count, page.AtLeast, page.Next != ""))
		if req.Cursor = page.Next; req.Cursor == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"0 true 0 true true", "0 true 0 false false"}, pages); diff != "" {
		t.Error(diff)
	}
}

func TestSearchNeedsPermissions(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.asked()
	for _, scopes := range [][]identity.Permission{{identity.ConversationsView}, {identity.InteractionsView}} {
		d := must(b.svc.Desk(b.ctx, b.scoped(scopes...), b.account.ID))(t)
		if _, err := d.Conversations().Search(b.ctx, helpdesk.ConversationQuery{Query: "refund"}, storage.PageRequest{}); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%v: %v", scopes, err)
		}
	}
	d := must(b.svc.Desk(b.ctx, b.scoped(identity.ConversationsView, identity.InteractionsView), b.account.ID))(t)
	for query, want := range map[string]int{"refund": 2, `tag:"needs reply"`: 0, "mailbox:sales is:spam": 0, "assigned:olga": 0, "assigned:me": 1} {
		page := must(d.Conversations().Search(b.ctx, helpdesk.ConversationQuery{Query: query}, storage.PageRequest{}))(t)
		if len(page.Items) != want {
			t.Errorf("%s by who may see no tags, mailboxes and members: %d", query, len(page.Items))
		}
	}
	if _, err := b.desk.Conversations().Search(b.ctx, helpdesk.ConversationQuery{Query: "refund", MailboxID: 12345}, storage.PageRequest{}); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}
