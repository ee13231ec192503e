package storagetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailserver"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/search"
)

// oneOf picks a random element; the zero value when there is none.
func oneOf[T any](g *generator, list []T) T {
	if len(list) == 0 {
		var none T
		return none
	}
	return list[g.IntN(len(list))]
}

// some returns the ids of a few rows, and sometimes another id.
func some[T any](g *generator, noun string, list []T, of func(T) int64) idList {
	out := idList{noun: noun}
	for _, v := range list {
		if g.IntN(3) == 0 {
			out.n = append(out.n, of(v))
		}
	}
	if g.IntN(4) == 0 {
		out.n = append(out.n, g.any(noun))
	}
	return out
}

func (g *generator) text() string {
	return oneOf(g, []string{"", "a", "Ä", "it's", `\`, "💥", "a long text with words", "%_?", `{"a":1}`, "שלום"})
}

// time returns one of few times, so that many are equal; with none, sometimes the zero time.
func (g *generator) time(none bool) time.Time {
	if none && g.IntN(3) == 0 {
		return time.Time{}
	}
	return at(g.IntN(12)).Add(time.Duration(g.IntN(2)) * time.Microsecond)
}

func (g *generator) newAccount() []operation {
	n := g.next()
	user := &identity.User{Name: g.text(), Email: fmt.Sprint("U", n), EmailKey: fmt.Sprint("u", n), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	account := &identity.Account{Name: g.text(), NextNumber: 1 + int64(g.IntN(5)), DefaultLocale: "en", Languages: []string{"en"},
		CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	return []operation{{method: "InsertUser", args: []any{user}}, {method: "InsertAccount", args: []any{account}}}
}

func (g *generator) system() []operation {
	switch g.IntN(4) {
	case 3:
		return []operation{g.peopleSystem()}
	case 0:
		n := g.IntN(int(g.count)) + 1 // probably taken
		return []operation{{method: "InsertUser", args: []any{&identity.User{EmailKey: fmt.Sprint("u", n), CreatedAt: base, UpdatedAt: base}}}}
	case 1:
		token := &identity.AccessToken{UserID: oneOf(g, g.pool["User"]), Name: g.text(), Hash: fmt.Append(nil, "hash", len(g.pool["AccessToken"])), CreatedAt: base, ExpiresAt: g.time(true)}
		return []operation{{method: "InsertToken", args: []any{token}}}
	default:
		return []operation{{method: "TouchToken", args: []any{one64("AccessToken", g.any("AccessToken")), g.time(false)}}}
	}
}

func (g *generator) directory() operation {
	seek := storage.Seek{Desc: g.IntN(2) == 0, Limit: 1 + g.IntN(5)}
	return oneOf(g, []operation{
		{method: "User", args: []any{one64("User", g.any("User"))}},
		{method: "UserByEmail", args: []any{fmt.Sprint("u", g.IntN(int(g.count)+1))}},
		{method: "TokenByHash", args: []any{fmt.Append(nil, "hash", g.IntN(len(g.pool["AccessToken"])+1))}},
		{method: "Grant", args: []any{one64("User", g.any("User")), one64("Account", g.any("Account"))}},
		{method: "AccountsOf", args: []any{one64("User", g.any("User")), seek}},
		{method: "MailboxByLocal", args: []any{g.local()}},
		{method: "MailboxesToFetch", args: []any{ordered{g.from(seek, "Mailbox"), "Mailbox"}}},
		{method: "HasUsers"},
		g.peopleDirectory(seek), g.identityDirectory(), g.passkeyDirectory(),
		{method: oneOf(g, []string{"WebhookBacklog", "AccountsWithWebhooks"}), args: []any{ordered{g.from(seek, "Account"), "Account"}}},
	})
}

// local returns the local part of a mailbox, if there are any.
func (g *generator) local() string {
	return oneOf(g, append([]string{"nobody"}, g.locals...))
}

func (g *generator) from(seek storage.Seek, noun string) storage.Seek {
	if g.IntN(2) == 0 && len(g.pool[noun]) > 0 {
		seek.From = &storage.Position{ID: oneOf(g, g.pool[noun])}
	}
	return seek
}

func conversationID(c helpdesk.Conversation) int64 { return c.ID }
func interactionID(i helpdesk.Interaction) int64   { return i.ID }
func mailboxID(m helpdesk.Mailbox) int64           { return m.ID }
func mailID(m ledger.Mail) int64                   { return m.ID }
func customerID(c helpdesk.Customer) int64         { return c.ID }

// either returns a row that is seen, or rarely any row.
func (g *generator) either(noun string, seen int64) id {
	if seen == 0 || g.IntN(10) == 0 {
		return one64(noun, g.any(noun))
	}
	return one64(noun, seen)
}

// read generates a call of a Reader that sees some content.
func (g *generator) read(seen content) operation {
	seek := storage.Seek{Desc: g.IntN(2) == 0, Limit: 1 + g.IntN(6)}
	conversation, mailbox := g.either("Conversation", oneOf(g, seen.Conversations).ID), g.either("Mailbox", oneOf(g, seen.Mailboxes).ID)
	customer, interaction := oneOf(g, seen.Customers), oneOf(g, seen.Interactions)
	mail := oneOf(g, seen.Mails)
	messages := []string{interaction.MessageID, oneOf(g, seen.Interactions).MessageID, "unknown", "s1"}
	by := oneOf(g, []helpdesk.ConversationSort{helpdesk.ByCreated, helpdesk.ByUpdated, helpdesk.ByNumber, helpdesk.ByAwaiting, helpdesk.ByDue})
	sorting := seek
	if from := oneOf(g, seen.Conversations); from.ID != 0 && g.IntN(2) == 0 {
		sorting.From = &storage.Position{Key: from.SortKey(by), ID: from.ID}
	}
	placed := seek
	if interaction.ID != 0 && g.IntN(2) == 0 {
		placed.From = &storage.Position{Key: interaction.SortKey(), ID: interaction.ID}
	}
	return oneOf(g, []operation{
		{method: "Account"}, {method: "Roles.List", args: []any{storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit}}}, g.readInvitation(seen, seek), g.readJoinRule(seen, seek),
		{method: "Memberships.Get", args: []any{g.either("Membership", oneOf(g, seen.Memberships).ID)}},
		{method: "Memberships.List", args: []any{storage.NoFilter{}, ordered{g.from(seek, "Membership"), "Membership"}}},
		{method: "Picture", args: []any{one64("User", g.any("User"))}},
		{method: "UsersByID", args: []any{idList{"User", []int64{g.any("User"), oneOf(g, seen.Memberships).UserID}}}},
		{method: "Mailboxes.Get", args: []any{mailbox}},
		{method: "Mailboxes.List", args: []any{storage.NoFilter{}, ordered{g.from(seek, "Mailbox"), "Mailbox"}}},
		{method: "Mailboxes.ByIDs", args: []any{some(g, "Mailbox", seen.Mailboxes, mailboxID)}},
		{method: "FetchStatus", args: []any{mailbox}},
		{method: "FetchCursor", args: []any{mailbox, g.folder()}},
		{method: "Customer", args: []any{g.either("Customer", customer.ID)}},
		{method: "Customers", args: []any{helpdesk.CustomerFilter{}, ordered{g.from(seek, "Customer"), "Customer"}}},
		{method: "Customers", args: []any{helpdesk.CustomerFilter{EmailKey: oneOf(g, customer.Emails).Key}, seek}},
		{method: "CustomersByID", args: []any{some(g, "Customer", seen.Customers, customerID)}},
		{method: "CustomerByEmail", args: []any{oneOf(g, customer.Emails).Key}},
		{method: "CustomerStats", args: []any{g.either("Customer", customer.ID)}},
		{method: "CustomerBeyond", args: []any{g.either("Customer", customer.ID)}},
		{method: "Conversations.Get", args: []any{conversation}},
		{method: "Conversations.List", args: []any{helpdesk.ConversationOrder{ConversationFilter: g.filter(seen), Sort: by}, ordered{sorting, "Conversation"}}},
		{method: "Conversations.List", args: []any{helpdesk.ConversationOrder{ConversationFilter: g.filter(seen), Sort: by}, ordered{sorting, "Conversation"}}},
		{method: "Conversations.ByIDs", args: []any{some(g, "Conversation", seen.Conversations, conversationID)}},
		{method: "Participants", args: []any{conversation, g.IntN(4)}},
		{method: "Participant", args: []any{conversation, []string{g.participant(), g.participant()}}},
		{method: "Involving", args: []any{g.either("Customer", customer.ID), []string{g.participant()}, ordered{g.from(seek, "Conversation"), "Conversation"}}},
		{method: "Interactions.Get", args: []any{g.either("Interaction", interaction.ID)}},
		{method: "Interactions.ByIDs", args: []any{some(g, "Interaction", seen.Interactions, interactionID)}},
		{method: "Interactions.List", args: []any{helpdesk.InteractionFilter{ConversationID: conversation.n, Brief: g.IntN(3) == 0}, ordered{placed, "Interaction"}}},
		{method: "Interactions.List", args: []any{helpdesk.InteractionFilter{ConversationID: conversation.n, WrittenBy: customer.ID, Brief: g.IntN(3) == 0}, ordered{placed, "Interaction"}}},
		{method: "LastArrived", args: []any{conversation}},
		{method: "KnownTerms", args: []any{[]string{"abc", "b", "東", "c", "ж", "a'b", ""}[g.IntN(3):]}},
		{method: "PassagesByID", args: []any{some(g, "Conversation", seen.Conversations, conversationID), g.IntN(4)}},
		{method: "MailTraffic", args: []any{g.time(false)}},
		{method: "MailQueues"},
		{method: "Count", args: []any{helpdesk.CountQuery{
			Maintained: g.IntN(2) == 0, TagIDs: some(g, "Tag", seen.Tags, tagID).n,
			Conversations: []helpdesk.ConversationFilter{g.filter(seen), g.filter(seen), g.filter(seen)}[:g.IntN(4)], Quarantined: g.IntN(2) == 0,
			Notifications: []helpdesk.NotificationFilter{g.notificationFilter(seen), g.notificationFilter(seen)}[:g.IntN(3)], Limit: g.IntN(6),
		}}},
		{method: "NewestFrom", args: []any{conversation, one64("User", oneOf(g, g.pool["User"]))}},
		{method: "Scheduled", args: []any{some(g, "Conversation", seen.Conversations, conversationID)}},
		{method: "Messages", args: []any{mailbox, messages}},
		{method: "Thread", args: []any{conversation, 1 + g.IntN(4)}},
		{method: "Deliveries.List", args: []any{sending.DeliveryFilter{InteractionIDs: some(g, "Interaction", seen.Interactions, interactionID).n}, storage.Seek{Limit: storage.NoLimit}}},
		{method: "Attachments.Get", args: []any{g.either("Attachment", oneOf(g, seen.Attachments).ID)}},
		{method: "Attachments.List", args: []any{helpdesk.AttachmentFilter{InteractionIDs: some(g, "Interaction", seen.Interactions, interactionID).n}, storage.Seek{Limit: storage.NoLimit}}},
		{method: "BlobKeys", args: []any{some(g, "Conversation", seen.Conversations, conversationID)}},
		{method: "InboundMail", args: []any{g.either("InboundMail", mail.ID)}},
		{method: "InboundMails", args: []any{ledger.Filter{States: g.states()}, ordered{g.from(seek, "InboundMail"), "InboundMail"}}},
		{method: "InboundCounts", args: []any{mailbox}},
		{method: "InboundByIdentity", args: []any{[][]byte{mail.Identity, oneOf(g, seen.Mails).Identity}}},
		{method: "InboundOf", args: []any{g.either("Interaction", interaction.ID)}},
		{method: "InboundPositions", args: []any{mailbox, "imap", []string{mail.Position, oneOf(g, seen.Mails).Position, "", "nowhere"}}},
		{method: "Domains.Get", args: []any{g.either("Domain", oneOf(g, seen.Domains).ID)}},
		{method: "Domains.List", args: []any{storage.NoFilter{}, ordered{g.from(seek, "Domain"), "Domain"}}},
		{method: "PGPKeys.Get", args: []any{g.either("PGPKey", oneOf(g, seen.PGPKeys).ID)}},
		{method: "PGPKeys.List", args: []any{helpdesk.PGPKeyFilter{CustomerEmailIDs: some(g, "CustomerEmail", customer.Emails, emailID).n}, ordered{g.from(seek, "PGPKey"), "PGPKey"}}},
		{method: "EmailsByKey", args: []any{[]string{oneOf(g, customer.Emails).Key, oneOf(g, oneOf(g, seen.Customers).Emails).Key}}},
		{method: "Tags.Get", args: []any{g.either("Tag", oneOf(g, seen.Tags).ID)}},
		{method: "Tags.List", args: []any{storage.NoFilter{}, ordered{g.from(seek, "Tag"), "Tag"}}},
		{method: "Tags.ByIDs", args: []any{some(g, "Tag", seen.Tags, tagID)}},
		{method: "Companies.Get", args: []any{g.either("Company", oneOf(g, seen.Companies).ID)}},
		{method: "Companies.List", args: []any{helpdesk.CompanyFilter{Words: oneOf(g, []string{"", "o", "co1"})}, ordered{g.from(seek, "Company"), "Company"}}},
		{method: "CompanyKeys.List", args: []any{helpdesk.CompanyKeyFilter{CompanyID: oneOf(g, seen.Companies).ID}, ordered{g.from(seek, "CompanyKey"), "CompanyKey"}}},
		{method: "Teams.Get", args: []any{g.either("Team", oneOf(g, seen.Teams).ID)}},
		{method: "Teams.List", args: []any{storage.NoFilter{}, ordered{g.from(seek, "Team"), "Team"}}},
		{method: "Marks", args: []any{g.marksQuery(seen)}},
		{method: "Views.Get", args: []any{g.either("View", oneOf(g, seen.Views).ID)}},
		{method: "Views.List", args: []any{helpdesk.ViewReader{UserID: int64(g.IntN(2)) * g.pool["User"][0], TeamIDs: []int64{oneOf(g, seen.Teams).ID, oneOf(g, seen.Teams).ID}[:g.IntN(3)]}, ordered{g.from(seek, "View"), "View"}}},
		{method: "Events", args: []any{subscription.EventFilter{Types: g.eventTypes()}, storage.Seek{Desc: seek.Desc, From: &storage.Position{ID: int64(g.IntN(9))}, Limit: seek.Limit}}},
		{method: "LastEvent"},
		{method: "Moves", args: []any{some(g, "Interaction", seen.Interactions, interactionID)}},
		{method: "MergedInto", args: []any{one64("Conversation", g.any("Conversation"))}},
		g.readNotification(seen, seek), g.readSuppression(seen, seek), g.readTraffic(seen), g.readWebhook(seen, seek), g.readWebhook(seen, seek),
		{method: "Correspondence", args: []any{conversation, g.keys(seen), ordered{placed, "Interaction"}}},
		{method: "LastCorrespondence", args: []any{some(g, "Conversation", seen.Conversations, conversationID), g.keys(seen)}},
		{method: "PortalKeys.Get", args: []any{g.either("PortalKey", oneOf(g, seen.PortalKeys).ID)}},
		{method: "AuditLog", args: []any{g.auditFilter(seen), seek}},
		{method: "PortalKeys.List", args: []any{storage.NoFilter{}, ordered{g.from(seek, "PortalKey"), "PortalKey"}}},
	})
}

func (g *generator) eventTypes() []string {
	return []string{"a.b", "conversation.created"}[:g.IntN(3)]
}

func (g *generator) folder() string { return oneOf(g, []string{"INBOX", "inbox", "Ü"}) }

func (g *generator) participant() string { return fmt.Sprint("p", g.IntN(6)) }

func (g *generator) states() []ledger.State {
	var states []ledger.State
	for range g.IntN(3) {
		states = append(states, oneOf(g, []ledger.State{ledger.Received, ledger.Filed, ledger.Ignored}))
	}
	return states
}

func (g *generator) status() helpdesk.Status {
	return oneOf(g, []helpdesk.Status{helpdesk.StatusPosted, helpdesk.StatusDraft, helpdesk.StatusPending, helpdesk.StatusClosed})
}

func (g *generator) filter(seen content) helpdesk.ConversationFilter {
	var f helpdesk.ConversationFilter
	for range g.IntN(3) {
		f.Statuses = append(f.Statuses, g.status())
	}
	if g.IntN(4) == 0 {
		f.MailboxID = oneOf(g, seen.Mailboxes).ID
	}
	if g.IntN(4) == 0 {
		f.CustomerID = oneOf(g, seen.Customers).ID
	}
	if g.IntN(4) == 0 {
		f.CompanyID = oneOf(g, seen.Customers).CompanyID
	}
	switch g.IntN(6) {
	case 0:
		f.UserID = storage.Null[int64]()
	case 1:
		f.UserID = storage.Some(g.any("User"))
	}
	switch g.IntN(6) {
	case 0:
		f.TeamID = storage.Null[int64]()
	case 1:
		f.TeamID = storage.Some(oneOf(g, seen.Teams).ID)
	}
	if g.IntN(4) == 0 {
		f.UpdatedSince = g.time(false)
	}
	if g.IntN(3) == 0 {
		f = helpdesk.ConversationFilter{MailboxID: f.MailboxID, Terms: g.query()}
	}
	if g.IntN(4) == 0 {
		f.TagIDs = some(g, "Tag", seen.Tags, tagID).n
	}
	if g.IntN(5) == 0 {
		f.Audience = g.keys(seen)
	}
	g.atDesk(&f)
	if g.IntN(5) == 0 {
		f.CreatedBefore = g.time(false)
	}
	if g.IntN(8) == 0 {
		f.Ratings = []helpdesk.Verdict{helpdesk.VerdictOf(g.IntN(6), 5)}
	}
	f.Attached = g.IntN(8) == 0
	f.Unerased = g.IntN(8) == 0
	if g.IntN(8) == 0 {
		f.Held = storage.Some(g.IntN(2) == 0)
	}
	for range g.IntN(7) - 4 {
		f.Also = append(f.Also, g.filter(seen))
	}
	for range g.IntN(7) - 4 {
		f.Except = append(f.Except, g.filter(seen))
	}
	return f
}

// terms and queries use few words, so that they match often.
func (g *generator) terms() []string {
	var out []string
	for _, term := range []string{"a", "ab", "abc", "b", "東京", "京都", "ж", "1"} {
		if g.IntN(3) == 0 {
			out = append(out, term)
		}
	}
	return out
}

func (g *generator) query() []helpdesk.SearchTerm {
	term := func() search.Term {
		return search.Term{Text: oneOf(g, []string{"a", "ab", "b", "東京", "京", "ж"}), Prefix: g.IntN(2) == 0}
	}
	var out []helpdesk.SearchTerm
	for range 1 + g.IntN(2) {
		first := term()
		out = append(out, helpdesk.SearchTerm{Text: first.Text, Prefix: first.Prefix})
		for range g.IntN(3) - 1 {
			out[len(out)-1].Or = append(out[len(out)-1].Or, term())
		}
	}
	return out
}

// write generates a call of a Tx that sees some content. It violates at most one rule, so that there is one correct error.
func (g *generator) write(seen content) operation {
	switch p := g.IntN(100); {
	case p < 10:
		return g.writeAccount(seen)
	case p < 22:
		return g.writeMailbox(seen)
	case p < 34:
		return g.writeCustomer(seen)
	case p < 56:
		return g.writeConversation(seen)
	case p < 79:
		return g.writeInteraction(seen)
	case p < 82:
		return g.writeWebhook(seen)
	case p < 88:
		return g.writeLedger(seen)
	case p < 93:
		return g.writeDomain(seen)
	case p < 94:
		return g.writePGPKey(seen)
	case p < 95:
		return g.writePortal(seen)
	case p < 96:
		return g.organise(seen)
	case p < 97:
		if g.IntN(3) > 0 {
			return g.writeNotification(seen)
		}
		return g.writeSuppression(seen)
	default:
		return g.outbox(seen)
	}
}

func (g *generator) writeAccount(seen content) operation {
	member := oneOf(g, seen.Memberships)
	switch g.IntN(10) {
	case 7, 8, 9:
		return g.writePeople(seen)
	case 0:
		a := seen.Account
		a.Name, a.Languages, a.UpdatedAt = g.text(), []string{"en", "de"}[:g.IntN(3)], g.time(false)
		a.NextNumber += int64(g.IntN(3))
		a.SendHold = time.Duration(g.IntN(600)) * time.Second
		return operation{method: "UpdateAccount", args: []any{&a}}
	case 1:
		return operation{method: "TakeNumber"}
	case 2:
		r := identity.Role{Key: oneOf(g, []string{"", identity.RoleAgent}), Name: g.text(), Description: g.text(),
			Permissions: []identity.Permission{identity.CustomersView}[:g.IntN(2)], CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "Roles.Insert", args: []any{[]*identity.Role{&r}}}
	case 3, 4:
		m := identity.Membership{UserID: oneOf(g, g.pool["User"]), RoleIDs: g.roles(seen), MailboxIDs: g.mailboxes(seen),
			LastActivity: g.time(true), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		return operation{method: "Memberships.Insert", args: []any{[]*identity.Membership{&m}}, clash: true}
	case 5:
		member.RoleIDs, member.MailboxIDs, member.LastActivity = g.roles(seen), g.mailboxes(seen), g.time(true)
		member.UserID = max(member.UserID, g.pool["User"][0])
		return operation{method: "Memberships.Update", args: []any{[]*identity.Membership{&member}}, clash: true}
	default:
		if g.IntN(20) == 0 && len(g.pool["Account"]) > 3 {
			return operation{method: "DeleteAccount"}
		}
		return operation{method: "Memberships.Delete", args: []any{g.either("Membership", member.ID)}}
	}
}

func (g *generator) roles(seen content) []int64 {
	var out []int64
	for _, r := range seen.Roles {
		if g.IntN(2) == 0 {
			out = append(out, r.ID)
		}
	}
	return out
}

func (g *generator) mailboxes(seen content) []int64 {
	var out []int64
	for _, m := range seen.Mailboxes {
		if g.IntN(3) == 0 {
			out = append(out, m.ID)
		}
	}
	return out
}

func (g *generator) writeMailbox(seen content) operation {
	old := oneOf(g, seen.Mailboxes)
	mailbox := g.either("Mailbox", old.ID)
	switch g.IntN(9) {
	default:
		n := g.next()
		m := helpdesk.Mailbox{Name: g.text(), Email: g.text(), EmailKey: fmt.Sprint("m", n), From: g.text(), InternalLocal: fmt.Sprint("local", n),
			Inbound: ledger.Inbound{Type: oneOf(g, []ledger.InboundType{ledger.InboundForward, ledger.InboundIMAP}), Folders: []string{"Ü"}[:g.IntN(2)],
				Port: g.IntN(1000), SealedPassword: []byte{0, 1}[:g.IntN(3)]},
			CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		g.locals = append(g.locals, m.InternalLocal)
		clash := old.ID != 0 && g.IntN(6) == 0
		switch {
		case clash && old.EmailKey != "" && g.IntN(2) == 0:
			m.EmailKey = old.EmailKey
		case clash:
			m.InternalLocal = old.InternalLocal
		case g.IntN(4) == 0:
			m.EmailKey = ""
		}
		if g.IntN(3) > 0 || old.ID == 0 {
			return operation{method: "Mailboxes.Insert", args: []any{[]*helpdesk.Mailbox{&m}}, clash: clash}
		}
		m.ID = mailbox.n
		return operation{method: "Mailboxes.Update", args: []any{[]*helpdesk.Mailbox{&m}}, clash: clash}
	case 0:
		return operation{method: "Mailboxes.Delete", args: []any{mailbox}}
	case 1, 2:
		s := ledger.FetchStatus{MailboxID: mailbox.n, Connected: g.IntN(2) == 0, LastError: g.text(), LastErrorAt: g.time(true),
			LastSuccessAt: g.time(true), Worker: g.text(), Deaths: []time.Time{g.time(false)}, Fruitless: g.IntN(3), ParkedAt: g.time(true), UpdatedAt: g.time(false)}
		return operation{method: "SaveFetchStatus", args: []any{s}}
	case 3, 4:
		return operation{method: "SaveFetchCursor", args: []any{mailbox, g.folder(), mailserver.Cursor{UIDValidity: g.Uint32(), UID: g.Uint32()}}}
	}
}

func (g *generator) writeCustomer(seen content) operation {
	old, other := oneOf(g, seen.Customers), oneOf(g, seen.Customers)
	if old.ID != 0 && g.IntN(8) == 0 {
		return operation{method: "DeleteCustomer", args: []any{g.either("Customer", old.ID)}}
	}
	switch g.IntN(8) {
	case 0, 1:
		return operation{method: "SetCustomerTerms", args: []any{g.either("Customer", old.ID), g.terms()}}
	case 2:
		return operation{method: "MoveCustomer", args: []any{g.either("Customer", old.ID), g.either("Customer", other.ID)}}
	case 3:
		return operation{method: "SpreadCustomerTerms", args: []any{g.either("Customer", old.ID), idList{"Conversation", slices.Clone(g.pool["Conversation"])}}}
	}
	c := helpdesk.Customer{FirstName: g.text(), LastName: g.text(), Company: g.text(), Note: g.text(), ExternalID: oneOf(g, []string{"", fmt.Sprint("x", g.next())}), CompanyID: oneOf(g, []int64{0, oneOf(g, seen.Companies).ID}), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	update := old.ID != 0 && g.IntN(2) == 0
	if update { // keep some of the items
		c.ID = old.ID
		c.Emails = slices.DeleteFunc(slices.Clone(old.Emails), func(helpdesk.CustomerEmail) bool { return g.IntN(3) == 0 })
		c.Phones = slices.DeleteFunc(slices.Clone(old.Phones), func(helpdesk.CustomerPhone) bool { return g.IntN(3) == 0 })
		c.Websites = slices.DeleteFunc(slices.Clone(old.Websites), func(helpdesk.CustomerWebsite) bool { return g.IntN(3) == 0 })
		for i := range c.Phones {
			c.Phones[i].Phone = g.text()
		}
	}
	for range g.IntN(3) {
		c.Emails = append(c.Emails, helpdesk.CustomerEmail{Email: g.text(), Key: fmt.Sprint("c", g.next())})
		c.Phones = append(c.Phones, helpdesk.CustomerPhone{Phone: g.text()})
		c.Websites = append(c.Websites, helpdesk.CustomerWebsite{Website: g.text()})
	}
	clash := other.ID != old.ID && len(other.Emails) > 0 && g.IntN(6) == 0
	if clash {
		c.Emails = append(c.Emails, helpdesk.CustomerEmail{Email: "taken", Key: other.Emails[0].Key})
	}
	if !update {
		return operation{method: "InsertCustomer", args: []any{&c}, clash: clash}
	}
	if !clash && g.IntN(12) == 0 {
		c = helpdesk.Customer{ID: g.any("Customer"), CreatedAt: base, UpdatedAt: base}
	}
	return operation{method: "UpdateCustomer", args: []any{&c}, clash: clash}
}

// address returns a customer and one of its addresses, or neither.
func (g *generator) address(seen content) (customer, email int64, text string) {
	c := oneOf(g, seen.Customers)
	e := oneOf(g, c.Emails)
	return c.ID, e.ID, e.Email
}

func (g *generator) writeConversation(seen content) operation {
	old := oneOf(g, seen.Conversations)
	conversation := g.either("Conversation", old.ID)
	switch g.IntN(20) {
	default:
		c := helpdesk.Conversation{Number: 1000000 + g.next(), Channel: oneOf(g, []string{"email", "api"}), MailboxID: g.either("Mailbox", oneOf(g, seen.Mailboxes).ID).n,
			UserID: oneOf(g, []int64{0, g.pool["User"][0]}), TeamID: oneOf(g, []int64{0, oneOf(g, seen.Teams).ID}), Status: g.status(), Priority: oneOf(g, helpdesk.Priorities()), Subject: g.text(), Preview: g.text(), AwaitingSince: g.time(true), SnoozedUntil: g.time(true), SpamAt: g.time(true),
			SLATrack: g.text(), DueAt: g.time(true), SoonAt: g.time(true),
			HeldAt: g.time(true), HoldReason: g.text(), ErasedAt: g.time(true),
			CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		c.CustomerID, c.CustomerEmailID, c.CustomerEmail = g.address(seen)
		if c.CustomerID == 0 || g.IntN(20) == 0 {
			c.CustomerID, c.CustomerEmailID = g.any("Customer"), 0
		}
		if g.IntN(3) > 0 || old.ID == 0 {
			return operation{method: "Conversations.Insert", args: []any{[]*helpdesk.Conversation{&c}}}
		}
		c.ID, c.Number = conversation.n, old.Number
		return operation{method: "Conversations.Update", args: []any{[]*helpdesk.Conversation{&c}}}
	case 0:
		return operation{method: "Conversations.Lock", args: []any{conversation}}
	case 5:
		return operation{method: "SearchTerms", args: []any{conversation}}
	case 6, 7, 8:
		return operation{method: "SetSearchTerms", args: []any{conversation, g.terms()}}
	case 9:
		return operation{method: "RemoveParticipants", args: []any{conversation, []string{g.participant(), g.participant()}}}
	case 1, 2, 3:
		return operation{method: "AddParticipants", args: []any{conversation, []string{g.participant(), g.participant()}}}
	case 4:
		list := idList{noun: "Conversation", n: []int64{conversation.n}}
		return operation{method: "DeleteConversations", args: []any{list}}
	}
}

func (g *generator) writeInteraction(seen content) operation {
	old, conversation := oneOf(g, seen.Interactions), oneOf(g, seen.Conversations)
	interaction := g.either("Interaction", old.ID)
	switch g.IntN(20) {
	default:
		i := helpdesk.Interaction{ConversationID: g.either("Conversation", conversation.ID).n,
			Type: oneOf(g, []helpdesk.InteractionType{helpdesk.TypeUser, helpdesk.TypeCustomer, helpdesk.TypeNote}), Status: g.status(), Body: g.text(), Subject: g.text(),
			UserID: oneOf(g, []int64{0, g.pool["User"][0]}), To: []string{g.text(), "x"}[:g.IntN(3)], Cc: []string{g.text()}[:g.IntN(2)], Source: g.text(),
			IsStarter: g.IntN(2) == 0, IsForward: g.IntN(4) == 0, AutoSubmitted: g.IntN(4) == 0, SeenAt: g.time(true), PostedAt: g.time(true), SendAt: g.time(true), SendStartedAt: g.time(true),
			MessageID: oneOf(g, []string{"", "m1", "m2", "m3"}), References: []string{"r1", "r2"}[:g.IntN(3)], Threading: helpdesk.Threading{Rule: g.text()},
			Ending:   helpdesk.Ending{Signature: g.text(), Quotes: []int64{1, 2}[:g.IntN(3)], Files: []int64{3, 4}[:g.IntN(3)]},
			Security: ledger.Security{Protocol: g.text(), Encrypted: g.IntN(2) == 0}, Authentication: ledger.Authentication{Server: g.text()},
			At: g.time(true), ReceivedAt: g.time(true), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
		if g.IntN(2) == 0 {
			i.CustomerID, i.CustomerEmailID, i.CustomerEmail = g.address(seen)
		}
		if g.IntN(3) > 0 || old.ID == 0 {
			return operation{method: "Interactions.Insert", args: []any{[]*helpdesk.Interaction{&i}}}
		}
		i.ID, i.ConversationID = interaction.n, old.ConversationID
		return operation{method: "Interactions.Update", args: []any{[]*helpdesk.Interaction{&i}}}
	case 0:
		return operation{method: "Interactions.Lock", args: []any{interaction}}
	case 1:
		return operation{method: "Interactions.Delete", args: []any{interaction}}
	case 2, 3, 4:
		if old.ID == 0 {
			return operation{method: "TakeNumber"}
		}
		a := helpdesk.Attachment{InteractionID: old.ID, ConversationID: old.ConversationID, Filename: g.text(), ContentType: g.text(), ContentID: g.text(),
			Size: g.Int64(), IsInline: g.IntN(2) == 0, BlobKey: fmt.Sprint("a", g.next()), CreatedAt: g.time(false)}
		b := a
		b.BlobKey = fmt.Sprint("a", g.next())
		return operation{method: "Attachments.Insert", args: []any{[]*helpdesk.Attachment{&a, &b}[:1+g.IntN(2)]}}
	case 5:
		return operation{method: "Attachments.Delete", args: []any{g.either("Attachment", oneOf(g, seen.Attachments).ID)}}
	case 6, 7, 8, 9, 10:
		return g.writeDelivery(seen, interaction)
	}
}

func (g *generator) writeDelivery(seen content, interaction id) operation {
	old := oneOf(g, seen.Deliveries)
	d := sending.Delivery{InteractionID: interaction.n, Address: g.text(), AddressKey: g.participant(), Field: "to", HeldBy: int64(g.IntN(3)), HeldUntil: g.time(true), State: sending.Queued, Attempts: g.IntN(9), Code: g.IntN(600),
		EnhancedCode: g.text(), Response: g.text(), MessageID: oneOf(g, []string{"", "m1", "s1", "s2"}), NextAttemptAt: g.time(true), CreatedAt: g.time(false), UpdatedAt: g.time(false)}
	switch g.IntN(6) {
	case 0, 1, 2:
		return operation{method: "Deliveries.Insert", args: []any{storage.Pointers([]sending.Delivery{d, d}[:1+g.IntN(2)])}}
	case 3, 4:
		if old.ID != 0 {
			d.ID, d.InteractionID, d.State = g.either("Delivery", old.ID).n, old.InteractionID, sending.Sent
			return operation{method: "Deliveries.Update", args: []any{[]*sending.Delivery{&d}}}
		}
		fallthrough
	default:
		return operation{method: "DeleteDeliveries", args: []any{interaction}}
	}
}

func (g *generator) writeLedger(seen content) operation {
	old, other, interaction := oneOf(g, seen.Mails), oneOf(g, seen.Mails), oneOf(g, seen.Interactions)
	n := g.next()
	m := ledger.Mail{MailboxID: oneOf(g, seen.Mailboxes).ID, Source: "imap", Position: oneOf(g, []string{"", fmt.Sprint("p", n)}),
		State: oneOf(g, []ledger.State{ledger.Received, ledger.Filed, ledger.Ignored}), Reason: g.text(), RawKey: fmt.Sprint("raw", n),
		Size: g.Int64(), UserID: oneOf(g, g.pool["User"]), Note: g.text(), Deaths: g.IntN(3), MessageID: g.text(), Head: ledger.Head{Subject: g.text(), From: mailaddr.Address{Name: g.text(), Email: g.text()}},
		Authentication: ledger.Authentication{SPF: ledger.AuthCheck{Domain: g.text()}}, ReceivedAt: g.time(false), UpdatedAt: g.time(false)}
	if g.IntN(3) > 0 {
		m.Identity = fmt.Append(nil, "\x00\xff", n)
	}
	if interaction.ID != 0 && g.IntN(2) == 0 {
		m.InteractionID, m.ConversationID = interaction.ID, interaction.ConversationID
	}
	switch g.IntN(7) {
	case 6:
		return operation{method: "SetInboundState", args: []any{some(g, "InboundMail", seen.Mails, mailID), m.State, ledger.Quarantined, g.time(false)}}
	case 0:
		return operation{method: "InboundForUpdate", args: []any{g.either("InboundMail", old.ID)}}
	case 1, 2:
		if old.ID == 0 {
			break
		}
		clash := len(other.Identity) > 0 && other.ID != old.ID && other.MailboxID == old.MailboxID && g.IntN(3) == 0
		m.ID, m.MailboxID = old.ID, old.MailboxID
		if clash {
			m.Identity = other.Identity
		} else if g.IntN(10) == 0 {
			m.ID = g.any("InboundMail")
		}
		return operation{method: "UpdateInbound", args: []any{&m}, clash: clash}
	}
	mails := []*ledger.Mail{&m}
	clash := false
	switch twin := m; {
	case g.IntN(4) == 0 && old.Position != "": // a known position: left out
		m.MailboxID, m.Source, m.Position, m.Identity = old.MailboxID, old.Source, old.Position, nil
	case g.IntN(4) == 0 && m.Position != "": // twice in one call
		twin.Identity = nil
		mails = append(mails, &twin)
	case g.IntN(8) == 0 && len(old.Identity) > 0:
		m.MailboxID, m.Identity, clash = old.MailboxID, old.Identity, true
	case g.IntN(10) == 0:
		m.MailboxID = g.any("Mailbox")
	}
	return operation{method: "InsertInbound", args: []any{mails}, clash: clash}
}

func (g *generator) outbox(seen content) operation {
	if g.IntN(2) == 0 {
		e := storage.Event{Type: "test.done", Subject: g.next(), MailboxID: oneOf(g, seen.Mailboxes).ID, ActorID: g.pool["User"][0], Data: []byte("{}"), Time: g.time(false)}
		return operation{method: "Emit", args: []any{[]storage.Event{e, e}[:1+g.IntN(2)]}}
	}
	j := storage.Job{Kind: oneOf(g, []string{"a", "b", "other"}), AccountID: seen.Account.ID, Subject: g.next(), Payload: []byte("{}"),
		UniqueKey: oneOf(g, []string{"", "", "k1", "k2", "k3"}), RunAt: g.now.Add(time.Duration(g.IntN(120)-60) * time.Second)}
	return operation{method: "Enqueue", args: []any{[]storage.Job{j}}}
}

// outcome is a random result for a claimed job.
func (g *generator) outcome(j storage.ClaimedJob) operation {
	switch g.IntN(4) {
	case 0:
		j.Failed, j.Away = g.IntN(3), g.IntN(3)
		return operation{method: "Retry", args: []any{j, g.now.Add(time.Duration(g.IntN(60)) * time.Second), g.text()}}
	case 1:
		return operation{method: "Fail", args: []any{j, g.text()}}
	case 2:
		return operation{method: "Extend", args: []any{j, g.now.Add(time.Duration(g.IntN(60)) * time.Second)}}
	default:
		return operation{method: "Finish", args: []any{[]storage.ClaimedJob{j}}}
	}
}

// marksQuery generates a query for some or all marks.
func (g *generator) marksQuery(seen content) helpdesk.MarksQuery {
	q := helpdesk.MarksQuery{
		ConversationIDs: some(g, "Conversation", seen.Conversations, conversationID).n, Tags: g.IntN(2) == 0, Scheduled: g.IntN(2) == 0,
	}
	if g.IntN(2) == 0 {
		q.UnreadBy = oneOf(g, g.pool["User"])
	}
	if g.IntN(2) == 0 {
		q.PresentAfter = g.time(false)
	}
	return q
}
