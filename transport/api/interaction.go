package api

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

// interaction as the API shows it: fields of other types are absent.
type interaction struct {
	ID             int64          `json:"id"`
	Type           string         `json:"type" enum:"user,customer,note" description:"More may be added."`
	Body           string         `json:"body" description:"Sanitized HTML. The mail's own images have URLs on this server. A remote image has its URL in data-remote-src, or a URL of this server's proxy."`
	RemoteImages   int            `json:"remote_images" description:"Number of remote images in the body, blocked or proxied."`
	Attachments    []attachment   `json:"attachments,omitzero" description:"With expand=attachments."`
	ConversationID int64          `json:"conversation_id"`
	CreatedAt      transport.Time `json:"created_at" description:"For mail: when it arrived here."`
	UpdatedAt      transport.Time `json:"updated_at"`

	Status     string                   `json:"status,omitempty" enum:"posted,draft" description:"For users' interactions, and for drafts of notes."`
	To         recipients               `json:"to,omitzero" description:"Recipients: addresses in users' interactions, addresses with names in customers' mail."`
	Cc         recipients               `json:"cc,omitzero" description:"Like to."`
	Bcc        []string                 `json:"bcc,omitzero" description:"For users' interactions."`
	UserID     nullable[int64]          `json:"user_id,omitzero" description:"Creator of a user interaction or note."`
	User       nullable[user]           `json:"user,omitzero" description:"With expand=user."`
	PostedByID nullable[int64]          `json:"posted_by_id,omitzero" description:"User who sent it. Null while it is a draft."`
	PostedBy   nullable[user]           `json:"posted_by,omitzero" description:"With expand=posted_by. Null while it is a draft."`
	IsStarter  *bool                    `json:"is_starter,omitempty" description:"Whether it starts the conversation."`
	IsForward  *bool                    `json:"is_forward,omitempty" description:"Whether it is hidden from the customer."`
	SeenAt     nullable[transport.Time] `json:"seen_at,omitzero" description:"For users' interactions: when the customer saw it."`
	SendAt     nullable[transport.Time] `json:"send_at,omitzero" description:"For users' interactions that wait to be sent: when they will be sent. Null if sent, or posted without a time. Until then the conversation counts as unanswered."`
	MessageID  string                   `json:"message_id,omitempty" description:"Message-ID without angle brackets."`
	Signature  *string                  `json:"signature,omitempty" description:"For users' interactions: the signature below the body, as sanitized HTML. It is fixed when the answer is sent."`
	QuotedIDs  []int64                  `json:"quoted_interaction_ids,omitzero" description:"For users' interactions: the messages quoted below, newest first."`
	Deliveries []delivery               `json:"deliveries,omitzero" description:"For users' interactions: delivery state per recipient."`

	Source        *string                  `json:"source,omitempty" description:"For customers' interactions: its source. For users' interactions: auto, if it is an automatic reply, which has no author."`
	Customer      nullable[customer]       `json:"customer,omitzero" description:"For customers' interactions, with expand=customer."`
	CustomerEmail *emailRef                `json:"customer_email,omitempty" description:"For customers' interactions."`
	Subject       string                   `json:"subject,omitempty" description:"For customers' mail and automatic replies."`
	From          []mailAddress            `json:"from,omitzero" description:"For customers' mail: its author. The customer differs if a form, a list or a group wrote on the customer's behalf."`
	Sender        *mailAddress             `json:"sender,omitempty" description:"For customers' mail: its Sender, if that differs from the author."`
	ReplyTo       []mailAddress            `json:"reply_to,omitzero" description:"For customers' mail: its Reply-To."`
	SentAt        nullable[transport.Time] `json:"sent_at,omitzero" description:"For customers' mail: its Date, unverified. Null if it has none."`
	Forwarded     *forwarded               `json:"forwarded,omitempty" description:"For mail forwarded by a member, who is in from: the mail that was forwarded. The interaction belongs to its author."`
	ReceivedAt    nullable[transport.Time] `json:"received_at,omitzero" description:"For customers' mail: when the receiving mail server got it, as reported by the server it was fetched from or by ours. created_at is when it arrived here. Null if unknown."`
	AutoSubmitted *bool                    `json:"auto_submitted,omitempty" description:"For customers' interactions and automatic replies: whether a machine wrote it (RFC 3834)."`
	AutoReply     *autoResponse            `json:"auto_reply,omitempty" description:"For automatic replies: why it was sent. Absent once the automatic reply is deleted."`
	Threading     *threading               `json:"threading,omitempty" description:"For customers' mail: why it is in this conversation."`

	Security       *mailSecurity       `json:"security,omitempty" description:"For customers' mail: how it was signed or encrypted."`
	Authentication *mailAuthentication `json:"authentication,omitempty" description:"For customers' mail, if known: whether it comes from the domain in its From."`
}

// autoResponse says why an automatic reply was sent.
type autoResponse struct {
	ID            int64             `json:"id" description:"The automatic reply."`
	Version       int               `json:"version" description:"Its version at that time."`
	InteractionID *int64            `json:"interaction_id" description:"The customer's interaction that it answered. Null if that is gone."`
	When          helpdesk.AutoWhen `json:"when" enum:"always,inside,outside" description:"The condition that held."`
	CalendarID    *int64            `json:"calendar_id" description:"The calendar whose hours were asked. Null: none."`
	Locale        string            `json:"locale" description:"Language of the text." example:"en"`
}

// delivery is the state of an answer's delivery to one recipient.
type delivery struct {
	Address       string          `json:"address"`
	Field         string          `json:"field" enum:"to,cc,bcc"`
	State         string          `json:"state" enum:"queued,sent,delivered,deferred,failed,bounced,suppressed" description:"Queued: not attempted yet. Sent: accepted by the relay. Delivered: a delivery report says that it reached the mailbox. Deferred: will be retried. Failed: rejected for good, or retries exhausted. Bounced: returned. Suppressed: not attempted because the address is suppressed."`
	Attempts      int             `json:"attempts"`
	Code          *int            `json:"code" description:"SMTP reply code of the last attempt."`
	EnhancedCode  *string         `json:"enhanced_code" description:"Enhanced status code (RFC 3463), such as 5.1.1."`
	Response      string          `json:"response"`
	NextAttemptAt *transport.Time `json:"next_attempt_at" description:"Earliest time of the next attempt. Null if there is none."`
	UpdatedAt     transport.Time  `json:"updated_at" description:"When the last response was received."`
}

type interactionInput struct {
	Type      string   `json:"type" required:"true" enum:"user,customer,note"`
	Status    string   `json:"status" enum:"posted,draft" description:"For user interactions and notes. Default: posted."`
	Body      string   `json:"body" description:"HTML, or text without tags, at most 1 MiB. body or text is required unless it is a draft or a note." example:"<p>It is fixed.</p>"`
	Text      string   `json:"text" description:"Plain text, shown as it is: what looks like a tag is none. Not together with body."`
	To        []string `json:"to" description:"For user interactions. Default: the customer's address."`
	Cc        []string `json:"cc"`
	Bcc       []string `json:"bcc"`
	IsForward bool     `json:"is_forward"`
	Source    string   `json:"source" maxLength:"50" description:"For customers' interactions."`

	SendAt storage.Opt[time.Time] `json:"send_at" description:"For posted user interactions: when to send it, at most a year ahead. Default: now. It becomes a draft again, with the event interaction.returned, if the customer or another user writes first, or if the conversation is merged or split."`
}

type interactionCreate struct {
	conversationID
	expanding
	interactionInput
	LastSeenID storage.Opt[int64] `json:"last_seen_interaction_id" description:"For posted user interactions: the newest interaction that the author has seen, not counting drafts. If a customer or another user has written since, the answer is 409 with code crossed and nothing is sent. Omit it to skip the check."`

	SavedReplyID storage.Opt[int64] `json:"saved_reply_id" description:"For posted user interactions and notes: the saved reply whose actions are done with it, in one transaction. 403 or 409 with code macro if one is not possible: then nothing is sent. Cancelling the sending undoes none of them."`
}

type interactionID struct {
	ConversationID int64 `path:"conversation_id"`
	InteractionID  int64 `path:"interaction_id"`
}

type interactionUpdate struct {
	interactionID
	expanding
	Status    storage.Opt[string]   `json:"status" enum:"posted,draft" description:"posted sends a draft of an answer, or adds a draft of a note."`
	Body      storage.Opt[string]   `json:"body"`
	Text      storage.Opt[string]   `json:"text" description:"Plain text, shown as it is, instead of body."`
	To        storage.Opt[[]string] `json:"to"`
	Cc        storage.Opt[[]string] `json:"cc"`
	Bcc       storage.Opt[[]string] `json:"bcc"`
	IsForward storage.Opt[bool]     `json:"is_forward"`
	Source    storage.Opt[string]   `json:"source" maxLength:"50"`

	SendAt     storage.Opt[time.Time] `json:"send_at" description:"With status posted: when to send the draft. For one that is waiting: a new time, or null to send it now."`
	LastSeenID storage.Opt[int64]     `json:"last_seen_interaction_id" description:"When posting a draft: the same check as on creation. 409 with code crossed leaves it a draft."`

	SavedReplyID storage.Opt[int64] `json:"saved_reply_id" description:"When posting a draft: as on creation."`
}

// showing selects how bodies are shown.
type showing struct {
	Quotes       string `query:"quotes" enum:"full,fold" default:"full" description:"fold: a quoted mail at the end is in a closed <details>."`
	RemoteImages string `query:"remote_images" enum:"block,proxy" description:"Remote images: blocked, or loaded through this server's proxy. Default: the account's setting."`
}

func (q *showing) check(problem func(field, text string)) {
	if q.Quotes != "" {
		among(problem, "quotes", q.Quotes, "full", "fold")
	}
	if q.RemoteImages != "" {
		among(problem, "remote_images", q.RemoteImages, "block", "proxy")
	}
}

// view holds the parameters of a request for interactions.
func (q *showing) view(expand transport.Expand) view {
	return view{expand: expand, fold: q.Quotes == "fold", images: q.RemoteImages}
}

type interactionGet struct {
	interactionID
	expanding
	showing
}

// CheckInput refuses unknown ways of showing bodies.
func (in *interactionGet) CheckInput(problem func(field, text string)) { in.check(problem) }

type interactionList struct {
	conversationID
	expanding
	showing
	transport.Paging
}

// CheckInput refuses unknown ways of showing bodies.
func (in *interactionList) CheckInput(problem func(field, text string)) { in.check(problem) }

func (a *api) addInteractions(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{
			ID: id, Method: method, Path: path, Tag: "Interactions", Bare: true,
			Expand:  []string{"user", "posted_by", "customer", "attachments"},
			Summary: summary, Description: description,
		}
	}
	create := op("createInteraction", http.MethodPost, interactionsPath, "Create an interaction",
		"A posted user interaction is sent. Needs interactions.create; for a note interactions.note is enough.")
	create.Status, create.Customers = http.StatusCreated, true
	transport.Handle(t, a.talk, create, both(a.createInteraction, a.portalCreateInteraction))
	list := op("listInteractions", http.MethodGet, interactionsPath, "List a conversation's interactions",
		"Oldest first by arrival; mail from a mailbox's backlog by when it was sent, as far as servers confirm it. Needs interactions.view. For a customer, the answers on the page then count as seen.")
	list.Customers = true
	transport.HandlePage(t, a.talk, list, both(a.listInteractions, a.portalListInteractions))
	get := op("getInteraction", http.MethodGet, interactionPath, "Retrieve an interaction",
		"Needs interactions.view. For a customer, an answer then counts as seen.")
	get.Customers = true
	transport.Handle(t, a.talk, get, both(a.getInteraction, a.portalGetInteraction))
	transport.Handle(t, a.desk, op("updateInteraction", http.MethodPut, interactionPath, "Update an interaction",
		"Setting a draft's status to posted sends it. 409 to change the text or recipients of a sent mail. Needs "+
			"interactions.update, and interactions.create to post."), a.updateInteraction)
	remove := op("deleteInteraction", http.MethodDelete, interactionPath, "Delete an interaction",
		"If sending has not begun, the mail is not sent. Needs interactions.delete.")
	remove.Expand = nil
	transport.HandleEmpty(t, a.desk, remove, a.deleteInteraction)
}

func (a *api) createInteraction(ctx context.Context, d *helpdesk.Desk, in interactionCreate) (interaction, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return interaction{}, err
	}
	input := a.interactionInput(d, in.interactionInput)
	input.Seen, input.MacroID = seen(in.LastSeenID), in.SavedReplyID.Or(0)
	i, err := d.Interactions().Create(ctx, in.ConversationID, input)
	return one(ctx, d, i, err, view{expand: in.Expand}, a.showInteractions)
}

// seen is what a client has seen, by the newest interaction's id.
func seen(id storage.Opt[int64]) storage.Opt[helpdesk.Seen] {
	last, given := id.Get()
	if !given {
		return storage.Opt[helpdesk.Seen]{}
	}
	return storage.Some(helpdesk.Seen{ID: last})
}

func (a *api) listInteractions(ctx context.Context, d *helpdesk.Desk, in interactionList) (storage.Page[interaction], error) {
	page, err := d.Interactions().List(ctx, in.ConversationID, in.Request())
	if err != nil {
		return storage.Page[interaction]{}, err
	}
	shown, err := a.showInteractions(ctx, d, page.Items, in.view(in.Expand))
	return storage.Page[interaction]{Items: shown, Next: page.Next, Prev: page.Prev}, err
}

func (a *api) getInteraction(ctx context.Context, d *helpdesk.Desk, in interactionGet) (interaction, error) {
	i, err := d.Interactions().Get(ctx, in.ConversationID, in.InteractionID)
	return one(ctx, d, i, err, in.view(in.Expand), a.showInteractions)
}

func (a *api) updateInteraction(ctx context.Context, d *helpdesk.Desk, in interactionUpdate) (interaction, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return interaction{}, err
	}
	if body, given := in.Body.Get(); given {
		in.Body = storage.Some(a.stored(d.AccountID(), body))
	}
	i, err := d.Interactions().Update(ctx, in.ConversationID, in.InteractionID, helpdesk.InteractionUpdate{
		Status: asNamed[helpdesk.Status](in.Status), Body: in.Body, Text: in.Text, To: in.To, Cc: in.Cc, Bcc: in.Bcc, IsForward: in.IsForward, Source: in.Source,
		Seen: seen(in.LastSeenID), SendAt: in.SendAt, MacroID: in.SavedReplyID.Or(0),
	})
	return one(ctx, d, i, err, view{expand: in.Expand}, a.showInteractions)
}

func (a *api) deleteInteraction(ctx context.Context, d *helpdesk.Desk, in interactionID) error {
	return d.Interactions().Delete(ctx, in.ConversationID, in.InteractionID)
}

func (a *api) interactionInput(d *helpdesk.Desk, in interactionInput) helpdesk.InteractionInput {
	return helpdesk.InteractionInput{
		Type: helpdesk.InteractionType(in.Type), Status: helpdesk.Status(in.Status), Body: a.stored(d.AccountID(), in.Body), Text: in.Text,
		To: in.To, Cc: in.Cc, Bcc: in.Bcc, IsForward: in.IsForward, Source: in.Source, SendAt: in.SendAt.Or(time.Time{}),
	}
}

// view selects how interactions are shown.
type view struct {
	expand transport.Expand
	fold   bool
	images string // remote ones: "block", "proxy", or "" for the account's setting
}

// related has the objects to which the interactions of a page refer.
type related struct {
	users       map[int64]user
	customers   map[int64]customer
	attachments map[int64][]attachment
	deliveries  map[int64][]delivery
	automatic   map[int64]helpdesk.AutoResponse
}

// showInteractions converts a page with one query for each relation.
func (a *api) showInteractions(ctx context.Context, d *helpdesk.Desk, rows []helpdesk.Interaction, v view) ([]interaction, error) {
	rel, err := a.relate(ctx, d, rows, v.expand)
	if err != nil {
		return nil, err
	}
	bodies, err := a.showBodies(ctx, d, rows, v)
	if err != nil {
		return nil, err
	}
	return showAll(rows, bodies, rel, v), nil
}

// showAll converts a page whose bodies and relations are loaded.
func showAll(rows []helpdesk.Interaction, bodies []helpdesk.ShownBody, rel related, v view) []interaction {
	out := make([]interaction, len(rows))
	for n, i := range rows {
		one := interaction{
			ID: i.ID, Type: string(i.Type), Body: bodies[n].HTML, RemoteImages: bodies[n].RemoteImages, ConversationID: i.ConversationID,
			CreatedAt: transport.Time(i.CreatedAt), UpdatedAt: transport.Time(i.UpdatedAt), MessageID: i.MessageID,
		}
		if v.expand.Has("attachments") {
			one.Attachments = listed(rel.attachments[i.ID])
		}
		switch i.Type {
		case helpdesk.TypeUser:
			one.fillUser(i, rel, v.expand)
		case helpdesk.TypeCustomer:
			one.fillCustomer(i, rel, v.expand)
		case helpdesk.TypeNote:
			one.fillCreator(i, rel, v.expand)
			if i.Status == helpdesk.StatusDraft {
				one.Status = string(i.Status)
			}
		}
		out[n] = one
	}
	return out
}

func (a *api) relate(ctx context.Context, d *helpdesk.Desk, rows []helpdesk.Interaction, expand transport.Expand) (rel related, err error) {
	users := ids(rows, func(i helpdesk.Interaction) (wanted []int64) {
		if expand.Has("user") {
			wanted = append(wanted, i.UserID)
		}
		if expand.Has("posted_by") {
			wanted = append(wanted, i.PostedByID)
		}
		return wanted
	})
	if rel.users, err = findUsers(ctx, d, users); err != nil {
		return rel, err
	}
	if expand.Has("customer") {
		wanted := ids(rows, func(i helpdesk.Interaction) []int64 { return []int64{i.CustomerID} })
		if rel.customers, err = findCustomers(ctx, d, wanted); err != nil {
			return rel, err
		}
	}
	if expand.Has("attachments") {
		found, err := d.Attachments().Of(ctx, ids(rows, func(i helpdesk.Interaction) []int64 { return []int64{i.ID} }))
		if err != nil {
			return rel, err
		}
		rel.attachments = map[int64][]attachment{}
		for _, one := range found {
			rel.attachments[one.InteractionID] = append(rel.attachments[one.InteractionID], a.showAttachment(d.AccountID(), one))
		}
	}
	if d.Holds(identity.InteractionsView) {
		if rel.automatic, err = d.Interactions().AutoResponses(ctx, rows); err != nil {
			return rel, err
		}
	}
	rel.deliveries, err = findDeliveries(ctx, d, rows)
	return rel, err
}

// findDeliveries returns the deliveries of posted answers only. A member who may write but not read gets none, rather than
// an error: the answer to their own POST must not fail.
func findDeliveries(ctx context.Context, d *helpdesk.Desk, rows []helpdesk.Interaction) (map[int64][]delivery, error) {
	if !d.Holds(identity.InteractionsView) {
		return nil, nil //nolint:nilnil // a nil map is an empty one
	}
	found, err := d.Interactions().Deliveries(ctx, ids(rows, func(i helpdesk.Interaction) []int64 {
		if i.Type != helpdesk.TypeUser || i.Status != helpdesk.StatusPosted {
			return nil
		}
		return []int64{i.ID}
	}))
	shown := map[int64][]delivery{}
	for _, one := range found {
		shown[one.InteractionID] = append(shown[one.InteractionID], showDelivery(one))
	}
	return shown, err
}

func showDelivery(one sending.Delivery) delivery {
	out := delivery{
		Address: one.Address, Field: one.Field, State: string(one.State), Attempts: one.Attempts,
		EnhancedCode: textOrNull(one.EnhancedCode), Response: one.Response,
		NextAttemptAt: transport.TimePtr(&one.NextAttemptAt), UpdatedAt: transport.Time(one.UpdatedAt),
	}
	if one.Code != 0 {
		out.Code = &one.Code
	}
	return out
}

func (out *interaction) fillCreator(i helpdesk.Interaction, rel related, expand transport.Expand) {
	out.UserID = shownOrNull(idOrNull(i.UserID))
	if expand.Has("user") {
		out.User = shownOrNull(pick(rel.users, i.UserID))
	}
}

func (out *interaction) fillUser(i helpdesk.Interaction, rel related, expand transport.Expand) {
	out.fillCreator(i, rel, expand)
	out.Status, out.To, out.Cc, out.Bcc = string(i.Status), plainRecipients(i.To), plainRecipients(i.Cc), listed(i.Bcc)
	out.PostedByID = shownOrNull(idOrNull(i.PostedByID))
	if expand.Has("posted_by") || i.Status == helpdesk.StatusDraft {
		out.PostedBy = shownOrNull(pick(rel.users, i.PostedByID))
	}
	if i.Automatic() {
		out.Source, out.Subject, out.AutoSubmitted = &i.Source, i.Subject, &i.AutoSubmitted
		if why, known := rel.automatic[i.ID]; known {
			out.AutoReply = &autoResponse{
				ID: why.AutoReplyID, Version: why.Version, InteractionID: idOrNull(why.CauseID), When: why.When, CalendarID: idOrNull(why.CalendarID), Locale: why.Locale,
			}
		}
	}
	out.IsStarter, out.IsForward = &i.IsStarter, &i.IsForward
	out.SeenAt = shownOrNull(transport.TimePtr(&i.SeenAt))
	out.SendAt = shownOrNull(transport.TimePtr(&i.SendAt))
	out.Signature, out.QuotedIDs = &i.Ending.Signature, listed(i.Ending.Quotes)
	out.Deliveries = listed(rel.deliveries[i.ID])
}

func (out *interaction) fillCustomer(i helpdesk.Interaction, rel related, expand transport.Expand) {
	out.Source, out.Subject = &i.Source, i.Subject
	out.CustomerEmail = &emailRef{ID: idOrNull(i.CustomerEmailID), Email: i.CustomerEmail}
	if expand.Has("customer") {
		out.Customer = shownOrNull(pick(rel.customers, i.CustomerID))
	}
	out.IsStarter, out.IsForward, out.AutoSubmitted = &i.IsStarter, &i.IsForward, &i.AutoSubmitted
	out.Security, out.Authentication = showSecurity(i.Security), showAuthentication(i.Authentication)
	if i.Threading.Rule == "" {
		return
	}
	out.Threading = showThreading(i.Threading)
	out.fillHeader(i)
}
