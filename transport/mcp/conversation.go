package mcp

import (
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/hours"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

const (
	pageSize   = 20      // conversations, messages or articles of a page
	maxMessage = 8 << 10 // maximum bytes shown of a message
)

func (v *visit) addConversations(s *mcp.Server) {
	if v.may(identity.ConversationsView) {
		add(v, s, reads("search_conversations", "Search conversations",
			"Finds conversations with customers, the newest first, or what is due. Without words it lists them."), v.searchConversations)
	}
	if v.may(identity.ConversationsView, identity.InteractionsView) {
		add(v, s, reads("read_conversation", "Read a conversation",
			"Reads a conversation as text: what the customer and the team wrote, and the team's notes, oldest first."), v.readConversation)
	}
	if v.may(identity.NotesCreate) || v.may(identity.InteractionsCreate) {
		add(v, s, writes("add_note", "Add a note",
			"Adds a note for the team to a conversation. The customer never sees it."), v.addNote)
	}
	if v.may(identity.InteractionsCreate) {
		add(v, s, writes("draft_answer", "Draft an answer",
			"Writes the draft of an answer to the customer. A member of the team reads, changes and sends it."), v.draftAnswer)
	}
	if v.may(identity.InteractionsView, identity.InteractionsCreate, identity.InteractionsUpdate) {
		add(v, s, sends("send_draft", "Send a draft",
			"Sends the draft of an answer to the customer by mail. It cannot be taken back. Use it only when a person has told you to send this draft."), v.sendDraft)
	}
}

type conversation struct {
	ID           int64  `json:"id"`
	Number       int64  `json:"number" jsonschema:"what people call it by"`
	Subject      string `json:"subject"`
	Status       string `json:"status" jsonschema:"open, pending, closed or draft"`
	Priority     string `json:"priority"`
	Customer     string `json:"customer" jsonschema:"address that answers go to"`
	Preview      string `json:"preview"`
	AssignedTo   int64  `json:"assigned_to,omitempty" jsonschema:"id of a user; absent: nobody"`
	MailboxID    int64  `json:"mailbox_id"`
	WaitingSince string `json:"waiting_since,omitempty" jsonschema:"since when the customer waits for an answer; absent: nobody waits"`
	DueAt        string `json:"due_at,omitempty" jsonschema:"when the next of its targets is due, in the past if it is overdue; absent: none is, or time stands still"`
	UpdatedAt    string `json:"updated_at"`
	URL          string `json:"url,omitempty" jsonschema:"where people open it"`

	Targets []target `json:"targets,omitempty" jsonschema:"what was promised to the customer by an SLA, of each kind the last one"`
}

// target is something that was promised for a conversation.
type target struct {
	Kind  string `json:"kind" jsonschema:"first_reply, next_reply or resolution"`
	DueAt string `json:"due_at,omitempty" jsonschema:"absent: time stands still"`
	State string `json:"state" jsonschema:"running, paused, met or breached (too late, whether it was done since or not)"`
}

func (v *visit) conversation(c helpdesk.Conversation) conversation {
	out := conversation{
		ID: c.ID, Number: c.Number, Subject: c.Subject, Status: statusName(c.Status), Priority: string(c.Priority), Customer: c.CustomerEmail,
		Preview: c.Preview, AssignedTo: c.UserID, MailboxID: c.MailboxID, WaitingSince: moment(c.AwaitingSince), UpdatedAt: moment(c.UpdatedAt),
		DueAt: moment(c.DueAt),
	}
	for _, t := range c.Targets() {
		out.Targets = append(out.Targets, target{Kind: string(t.Kind), DueAt: moment(t.DueAt), State: string(t.State)})
	}
	if v.h.cfg.ConversationURL != nil {
		out.URL = v.h.cfg.ConversationURL(v.desk.AccountID(), c.ID)
	}
	return out
}

// statuses maps the statuses in the user interface to the internal ones.
var statuses = map[string]helpdesk.Status{"open": helpdesk.StatusPosted, "pending": helpdesk.StatusPending, "closed": helpdesk.StatusClosed}

func statusName(s helpdesk.Status) string {
	if s == helpdesk.StatusPosted {
		return "open"
	}
	return string(s)
}

// moment formats a time by RFC 3339, "" for the zero time.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

type searchConversationsInput struct {
	Words      string   `json:"words,omitempty" jsonschema:"words that all occur in the subject, the messages or the customer's name and addresses"`
	Status     []string `json:"status,omitempty" jsonschema:"any of open, pending and closed; absent: all"`
	Assigned   string   `json:"assigned,omitempty" jsonschema:"me or nobody; absent: all"`
	Waiting    *bool    `json:"waiting,omitempty" jsonschema:"true: customers wait for an answer, the longest first; false: none waits"`
	Due        string   `json:"due,omitempty" jsonschema:"soon, breached (overdue), today or any: when something is due by an SLA, the most pressing first; absent: all"`
	Timezone   string   `json:"timezone,omitempty" jsonschema:"IANA name such as Europe/Berlin, of the day that is today and of days in words; absent: UTC"`
	Sort       string   `json:"sort,omitempty" jsonschema:"newest, waiting (the longest first) or due (the most pressing first); absent: as said for waiting and due, else newest"`
	MailboxID  int64    `json:"mailbox_id,omitempty"`
	CustomerID int64    `json:"customer_id,omitempty"`
	Cursor     string   `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

type conversationPage struct {
	Conversations []conversation `json:"conversations"`
	NextCursor    string         `json:"next_cursor,omitempty" jsonschema:"absent: there are no more"`
}

func (v *visit) searchConversations(ctx context.Context, in searchConversationsInput) (out conversationPage, err error) {
	q := helpdesk.ConversationQuery{
		Query: in.Words, MailboxID: in.MailboxID, CustomerID: in.CustomerID, Sort: helpdesk.ByUpdated, Spam: storage.Some(false),
	}
	for _, name := range in.Status {
		status, ok := statuses[name]
		if !ok {
			return out, fault.Field("status", "must be open, pending or closed")
		}
		q.Statuses = append(q.Statuses, status)
	}
	switch in.Assigned {
	case "":
	case "me":
		q.UserID = storage.Some(v.desk.UserID())
	case "nobody":
		q.UserID = storage.Null[int64]()
	default:
		return out, fault.Field("assigned", "must be me or nobody")
	}
	if in.Waiting != nil {
		q.Awaiting = storage.Some(*in.Waiting)
		if *in.Waiting {
			q.Sort, q.Ascending = helpdesk.ByAwaiting, true
		}
	}
	if err := in.order(&q); err != nil {
		return out, err
	}
	page, err := v.desk.Conversations().List(ctx, q, storage.PageRequest{Limit: pageSize, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	out = conversationPage{Conversations: make([]conversation, len(page.Items)), NextCursor: page.Next}
	for i, c := range page.Items {
		out.Conversations[i] = v.conversation(c)
	}
	return out, nil
}

// order applies what is due, and the order.
func (in searchConversationsInput) order(q *helpdesk.ConversationQuery) (err error) {
	if in.Timezone != "" {
		if q.Zone, err = hours.Zone(in.Timezone); err != nil {
			return fault.Field("timezone", "must be the name of a time zone, such as Europe/Berlin")
		}
	}
	if q.Due = helpdesk.Due(in.Due); q.Due != "" {
		q.Sort, q.Ascending = helpdesk.ByDue, true
	}
	switch in.Sort {
	case "":
	case "newest":
		q.Sort, q.Ascending = helpdesk.ByUpdated, false
	case "waiting":
		q.Sort, q.Ascending = helpdesk.ByAwaiting, true
	case "due":
		q.Sort, q.Ascending = helpdesk.ByDue, true
	default:
		return fault.Field("sort", "must be newest, waiting or due")
	}
	return nil
}

type readConversationInput struct {
	ConversationID int64  `json:"conversation_id"`
	Cursor         string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

type message struct {
	ID     int64    `json:"id"`
	From   string   `json:"from" jsonschema:"customer, team or note"`
	Name   string   `json:"name,omitempty" jsonschema:"address of the customer"`
	UserID int64    `json:"user_id,omitempty" jsonschema:"the member of the team who wrote it"`
	To     []string `json:"to,omitempty"`
	Draft  bool     `json:"draft,omitempty" jsonschema:"nobody but the team has seen it"`
	Text   string   `json:"text" jsonschema:"long ones are cut, which […] shows"`
	Files  []string `json:"files,omitempty" jsonschema:"names of what is attached"`
	At     string   `json:"at"`
}

type thread struct {
	Conversation conversation `json:"conversation"`
	Messages     []message    `json:"messages"`
	Seen         int64        `json:"seen" jsonschema:"what send_draft is to be told, from the last page"`
	NextCursor   string       `json:"next_cursor,omitempty" jsonschema:"absent: there are no more"`
}

func (v *visit) readConversation(ctx context.Context, in readConversationInput) (out thread, err error) {
	c, err := v.desk.Conversations().Get(ctx, in.ConversationID)
	if err != nil {
		return out, err
	}
	page, err := v.desk.Interactions().List(ctx, c.ID, storage.PageRequest{Limit: pageSize, Cursor: in.Cursor})
	if err != nil {
		return out, err
	}
	files, err := v.files(ctx, page.Items)
	if err != nil {
		return out, err
	}
	out = thread{Conversation: v.conversation(c), Messages: make([]message, len(page.Items)), Seen: helpdesk.NewestSeen(page.Items).ID, NextCursor: page.Next}
	for i, one := range page.Items {
		out.Messages[i] = showMessage(one, files[one.ID])
	}
	return out, nil
}

// files returns the names of the attachments of interactions.
func (v *visit) files(ctx context.Context, list []helpdesk.Interaction) (map[int64][]string, error) {
	ids := make([]int64, len(list))
	for i, one := range list {
		ids[i] = one.ID
	}
	found, err := v.desk.Attachments().Of(ctx, ids)
	names := map[int64][]string{}
	for _, a := range found {
		names[a.InteractionID] = append(names[a.InteractionID], a.Filename)
	}
	return names, err
}

func showMessage(i helpdesk.Interaction, files []string) message {
	m := message{ID: i.ID, From: "customer", Name: i.CustomerEmail, Text: cut(mailhtml.Text(i.Body), maxMessage), Files: files, At: moment(i.SaidAt())}
	switch i.Type {
	case helpdesk.TypeUser:
		m.From, m.Name, m.UserID, m.To, m.Draft = "team", "", i.UserID, i.To, i.Status == helpdesk.StatusDraft
		if i.Automatic() {
			m.Name = "Automatic reply"
		}
	case helpdesk.TypeNote:
		m.From, m.Name, m.UserID, m.Draft = "note", "", i.UserID, i.Status == helpdesk.StatusDraft
	case helpdesk.TypeCustomer:
	}
	return m
}

type writeInput struct {
	ConversationID int64  `json:"conversation_id"`
	Text           string `json:"text" jsonschema:"plain text, paragraphs with an empty line between them"`
}

type written struct {
	ID  int64  `json:"id"`
	URL string `json:"url,omitempty" jsonschema:"the conversation, where people open it"`
}

func (v *visit) addNote(ctx context.Context, in writeInput) (written, error) {
	return v.write(ctx, in, helpdesk.InteractionInput{Type: helpdesk.TypeNote})
}

func (v *visit) draftAnswer(ctx context.Context, in writeInput) (written, error) {
	return v.write(ctx, in, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft})
}

func (v *visit) write(ctx context.Context, in writeInput, as helpdesk.InteractionInput) (out written, err error) {
	if strings.TrimSpace(in.Text) == "" {
		return out, fault.Field("text", "is required")
	}
	as.Body = mailhtml.FromText(in.Text)
	made, err := v.desk.Interactions().Create(ctx, in.ConversationID, as)
	if err != nil {
		return out, err
	}
	out.ID = made.ID
	if v.h.cfg.ConversationURL != nil {
		out.URL = v.h.cfg.ConversationURL(v.desk.AccountID(), made.ConversationID)
	}
	return out, nil
}

type sendInput struct {
	ConversationID int64 `json:"conversation_id"`
	DraftID        int64 `json:"draft_id"`
	Seen           int64 `json:"seen" jsonschema:"seen of the last page of read_conversation: nothing is sent when somebody has written since"`
}

type sent struct {
	ID int64    `json:"id"`
	To []string `json:"to"`
}

// sendDraft sends nothing twice: a draft that was sent already is refused.
func (v *visit) sendDraft(ctx context.Context, in sendInput) (out sent, err error) {
	draft, err := v.desk.Interactions().Get(ctx, in.ConversationID, in.DraftID)
	if err != nil {
		return out, err
	}
	if draft.Type != helpdesk.TypeUser || draft.Status != helpdesk.StatusDraft {
		return out, fault.New(fault.Conflict, "This is not a draft reply. It may already have been sent.")
	}
	made, err := v.desk.Interactions().Update(ctx, in.ConversationID, in.DraftID, helpdesk.InteractionUpdate{
		Status: storage.Some(helpdesk.StatusPosted), Seen: storage.Some(helpdesk.Seen{ID: in.Seen}),
	})
	return sent{ID: made.ID, To: made.To}, err
}
