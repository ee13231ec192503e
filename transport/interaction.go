package transport

import (
	"context"
	"net/http"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

// interaction as the API shows it: fields of other types are absent.
type interaction struct {
	ID             int64        `json:"id"`
	Type           string       `json:"type" enum:"user,customer,note" description:"More may be added."`
	Body           string       `json:"body" description:"HTML that is safe to show. Images of the mail have our own addresses; the address of one on another server stands in data-remote-src, or is that of our proxy."`
	RemoteImages   int          `json:"remote_images" description:"Images on other servers in the body, blocked or through the proxy."`
	Attachments    []attachment `json:"attachments,omitzero" description:"With expand=attachments."`
	ConversationID int64        `json:"conversation_id"`
	CreatedAt      Time         `json:"created_at" description:"Of a mail: when it arrived here."`
	UpdatedAt      Time         `json:"updated_at"`

	Status     string          `json:"status,omitempty" enum:"posted,draft" description:"Of a user's."`
	To         recipients      `json:"to,omitzero" description:"Of a user's: addresses. Of a customer's mail: addresses with the names that it gives them."`
	Cc         recipients      `json:"cc,omitzero" description:"As to."`
	Bcc        []string        `json:"bcc,omitzero" description:"Of a user's."`
	UserID     nullable[int64] `json:"user_id,omitzero" description:"Creator of a user's or a note."`
	User       nullable[user]  `json:"user,omitzero" description:"With expand=user."`
	PostedByID nullable[int64] `json:"posted_by_id,omitzero" description:"Sender of a user's; null while it is a draft."`
	PostedBy   nullable[user]  `json:"posted_by,omitzero" description:"With expand=posted_by; null while it is a draft."`
	IsStarter  *bool           `json:"is_starter,omitempty" description:"Of a user's and a customer's: it starts the conversation."`
	IsForward  *bool           `json:"is_forward,omitempty" description:"Of a user's and a customer's: the customer does not see it."`
	SeenAt     nullable[Time]  `json:"seen_at,omitzero" description:"Of a user's: when the customer saw it."`
	SendAt     nullable[Time]  `json:"send_at,omitzero" description:"Of a user's: when it is to leave, and that it waits for it; null when it was posted at once, or has left. Until then the conversation counts as unanswered."`
	MessageID  string          `json:"message_id,omitempty" description:"Of a mail, without angle brackets."`
	Signature  *string         `json:"signature,omitempty" description:"Of a user's: what stands below the body in the mail, HTML that is safe to show. It is fixed when the answer leaves."`
	QuotedIDs  []int64         `json:"quoted_interaction_ids,omitzero" description:"Of a user's: what the mail quotes below, newest first."`
	Deliveries []delivery      `json:"deliveries,omitzero" description:"Of a user's: how far it got to each recipient."`

	Source        *string            `json:"source,omitempty" description:"Of a customer's: where it came from."`
	Customer      nullable[customer] `json:"customer,omitzero" description:"Of a customer's, with expand=customer."`
	CustomerEmail *emailRef          `json:"customer_email,omitempty" description:"Of a customer's."`
	Subject       string             `json:"subject,omitempty" description:"Of a customer's mail."`
	From          []mailAddress      `json:"from,omitzero" description:"Of a customer's mail: who wrote it. The customer is another where a form, a list or a group wrote in the customer's name."`
	Sender        *mailAddress       `json:"sender,omitempty" description:"Of a customer's mail: who sent it, where that is another than who wrote it."`
	ReplyTo       []mailAddress      `json:"reply_to,omitzero" description:"Of a customer's mail: where its author wants answers to go."`
	SentAt        nullable[Time]     `json:"sent_at,omitzero" description:"Of a customer's mail: its own Date, whatever that says; null when it has none."`
	Forwarded     *forwarded         `json:"forwarded,omitempty" description:"Of a mail that a member has forwarded, who is in from: the mail that was forwarded. The interaction is its author's."`
	ReceivedAt    nullable[Time]     `json:"received_at,omitzero" description:"Of a customer's mail: when the server that it was delivered to had it, as that says: the one that it was fetched from, or our own. created_at is when we had it. Null when nobody says."`
	AutoSubmitted *bool              `json:"auto_submitted,omitempty" description:"Of a customer's: a machine wrote it (RFC 3834)."`
	Threading     *threading         `json:"threading,omitempty" description:"Of a customer's mail: why it is in this conversation."`

	Security       *mailSecurity       `json:"security,omitempty" description:"Of a customer's mail: how it was signed or encrypted."`
	Authentication *mailAuthentication `json:"authentication,omitempty" description:"Of a customer's mail of which it is known: whether it comes from the domain that its From names."`
}

// delivery is how far an answer got to one recipient.
type delivery struct {
	Address       string  `json:"address"`
	Field         string  `json:"field" enum:"to,cc,bcc"`
	State         string  `json:"state" enum:"queued,sent,deferred,failed,bounced,suppressed" description:"Queued: not tried yet. Sent: the relay has taken it. Deferred: tried again later. Failed: refused for good, or given up. Bounced: came back. Suppressed: not tried, the address gets no mail."`
	Attempts      int     `json:"attempts"`
	Code          *int    `json:"code" description:"SMTP reply code of the last try."`
	EnhancedCode  *string `json:"enhanced_code" description:"RFC 3463, such as 5.1.1."`
	Response      string  `json:"response"`
	NextAttemptAt *Time   `json:"next_attempt_at" description:"Not before; null when no try is to come."`
	UpdatedAt     Time    `json:"updated_at" description:"When the last answer came."`
}

type interactionInput struct {
	Type      string   `json:"type" required:"true" enum:"user,customer,note"`
	Status    string   `json:"status" enum:"posted,draft" description:"Of a user's; posted without it."`
	Body      string   `json:"body" description:"HTML or text, at most 1 MiB. Required unless a draft or a note." example:"<p>It is fixed.</p>"`
	To        []string `json:"to" description:"Of a user's; the customer's address without it."`
	Cc        []string `json:"cc"`
	Bcc       []string `json:"bcc"`
	IsForward bool     `json:"is_forward"`
	Source    string   `json:"source" maxLength:"50" description:"Of a customer's."`

	SendAt storage.Opt[time.Time] `json:"send_at" description:"Of a user's that is posted: when it is to leave, at most a year ahead; at once without it. It becomes a draft again, with the event interaction.returned, when the customer or another user says something before, or the conversation is merged or split."`
}

type interactionCreate struct {
	conversationID
	expanding
	interactionInput
	LastSeenID storage.Opt[int64] `json:"last_seen_interaction_id" description:"Of a user's that is posted: the interaction that was said last of those that its author has seen, drafts counting from when they were posted. 409 with the code crossed, and nothing is sent, when a customer or another user has said more since. Nothing is compared without it."`
}

type interactionID struct {
	ConversationID int64 `path:"conversation_id"`
	InteractionID  int64 `path:"interaction_id"`
}

type interactionUpdate struct {
	interactionID
	expanding
	Status    storage.Opt[string]   `json:"status" enum:"posted,draft" description:"Posted sends a draft."`
	Body      storage.Opt[string]   `json:"body"`
	To        storage.Opt[[]string] `json:"to"`
	Cc        storage.Opt[[]string] `json:"cc"`
	Bcc       storage.Opt[[]string] `json:"bcc"`
	IsForward storage.Opt[bool]     `json:"is_forward"`
	Source    storage.Opt[string]   `json:"source" maxLength:"50"`

	SendAt     storage.Opt[time.Time] `json:"send_at" description:"With the status posted: when a draft is to leave. Of one that waits to leave: another time, or null to send it now."`
	LastSeenID storage.Opt[int64]     `json:"last_seen_interaction_id" description:"When a draft is posted, as when an interaction is created: 409 with the code crossed leaves it a draft."`
}

// showing is how bodies are shown.
type showing struct {
	Quotes       string `query:"quotes" enum:"full,fold" default:"full" description:"Fold: a quoted mail at the end is in a closed <details>."`
	RemoteImages string `query:"remote_images" enum:"block,proxy" description:"Images on other servers: not loaded, or through our proxy. Without it as the account says."`
}

func (q *showing) check(problem func(field, text string)) {
	if q.Quotes != "" {
		among(problem, "quotes", q.Quotes, "full", "fold")
	}
	if q.RemoteImages != "" {
		among(problem, "remote_images", q.RemoteImages, "block", "proxy")
	}
}

// view is what a request for interactions asks for.
func (q *showing) view(expand Expand) view {
	return view{expand: expand, fold: q.Quotes == "fold", images: q.RemoteImages}
}

type interactionGet struct {
	interactionID
	expanding
	showing
}

// CheckInput refuses unknown ways to show bodies.
func (in *interactionGet) CheckInput(problem func(field, text string)) { in.check(problem) }

type interactionList struct {
	conversationID
	expanding
	showing
	Paging
}

// CheckInput refuses unknown ways to show bodies.
func (in *interactionList) CheckInput(problem func(field, text string)) { in.check(problem) }

func (a *api) addInteractions(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{
			ID: id, Method: method, Path: path, Tag: "Interactions", Bare: true,
			Expand:  []string{"user", "posted_by", "customer", "attachments"},
			Summary: summary, Description: description,
		}
	}
	create := op("createInteraction", http.MethodPost, interactionsPath, "Add to a conversation",
		"A posted user interaction is sent. Needs interactions.create; for a note interactions.note is enough.")
	create.Status, create.Customers = http.StatusCreated, true
	Handle(t, a.talk, create, both(a.createInteraction, a.portalCreateInteraction))
	list := op("listInteractions", http.MethodGet, interactionsPath, "List a conversation's interactions",
		"Oldest first: as they came, and what was fetched from the backlog of a mailbox as it was sent, as far as servers bear that out. Needs interactions.view. To a customer, the answers on the page count as seen from then on.")
	list.Customers = true
	HandlePage(t, a.talk, list, both(a.listInteractions, a.portalListInteractions))
	get := op("getInteraction", http.MethodGet, interactionPath, "Retrieve an interaction",
		"Needs interactions.view. To a customer, an answer counts as seen from then on.")
	get.Customers = true
	Handle(t, a.talk, get, both(a.getInteraction, a.portalGetInteraction))
	Handle(t, a.desk, op("updateInteraction", http.MethodPut, interactionPath, "Update an interaction",
		"Setting the status of a draft to posted sends it. 409 to change text or recipients of what was sent. "+
			"Needs interactions.update, and interactions.create to post."), a.updateInteraction)
	remove := op("deleteInteraction", http.MethodDelete, interactionPath, "Delete an interaction",
		"A mail whose sending has not begun is not sent any more. Needs interactions.delete.")
	remove.Expand = nil
	HandleEmpty(t, a.desk, remove, a.deleteInteraction)
}

func (a *api) createInteraction(ctx context.Context, d *helpdesk.Desk, in interactionCreate) (interaction, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return interaction{}, err
	}
	input := a.interactionInput(d, in.interactionInput)
	input.Seen = in.LastSeenID
	i, err := d.CreateInteraction(ctx, in.ConversationID, input)
	return one(ctx, d, i, err, view{expand: in.Expand}, a.showInteractions)
}

func (a *api) listInteractions(ctx context.Context, d *helpdesk.Desk, in interactionList) (storage.Page[interaction], error) {
	page, err := d.Interactions(ctx, in.ConversationID, in.Request())
	if err != nil {
		return storage.Page[interaction]{}, err
	}
	shown, err := a.showInteractions(ctx, d, page.Items, in.view(in.Expand))
	return storage.Page[interaction]{Items: shown, Next: page.Next, Prev: page.Prev}, err
}

func (a *api) getInteraction(ctx context.Context, d *helpdesk.Desk, in interactionGet) (interaction, error) {
	i, err := d.Interaction(ctx, in.ConversationID, in.InteractionID)
	return one(ctx, d, i, err, in.view(in.Expand), a.showInteractions)
}

func (a *api) updateInteraction(ctx context.Context, d *helpdesk.Desk, in interactionUpdate) (interaction, error) {
	if err := mayExpand(d, in.Expand); err != nil {
		return interaction{}, err
	}
	if body, given := in.Body.Get(); given {
		in.Body = storage.Some(a.stored(d.AccountID(), body))
	}
	i, err := d.UpdateInteraction(ctx, in.ConversationID, in.InteractionID, helpdesk.InteractionUpdate{
		Status: asNamed[helpdesk.Status](in.Status), Body: in.Body, To: in.To, Cc: in.Cc, Bcc: in.Bcc, IsForward: in.IsForward, Source: in.Source,
		Seen: in.LastSeenID, SendAt: in.SendAt,
	})
	return one(ctx, d, i, err, view{expand: in.Expand}, a.showInteractions)
}

func (a *api) deleteInteraction(ctx context.Context, d *helpdesk.Desk, in interactionID) error {
	return d.DeleteInteraction(ctx, in.ConversationID, in.InteractionID)
}

func (a *api) interactionInput(d *helpdesk.Desk, in interactionInput) helpdesk.InteractionInput {
	return helpdesk.InteractionInput{
		Type: helpdesk.InteractionType(in.Type), Status: helpdesk.Status(in.Status), Body: a.stored(d.AccountID(), in.Body),
		To: in.To, Cc: in.Cc, Bcc: in.Bcc, IsForward: in.IsForward, Source: in.Source, SendAt: in.SendAt.Or(time.Time{}),
	}
}

// view is how interactions are shown.
type view struct {
	expand Expand
	fold   bool
	images string // of other servers: "block", "proxy" or as the account says
}

// related is what interactions of a page refer to.
type related struct {
	users       map[int64]user
	customers   map[int64]customer
	attachments map[int64][]attachment
	deliveries  map[int64][]delivery
}

// showInteractions shows a page with one query for each relation.
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

// showAll shows a page whose bodies and relations are known.
func showAll(rows []helpdesk.Interaction, bodies []helpdesk.ShownBody, rel related, v view) []interaction {
	out := make([]interaction, len(rows))
	for n, i := range rows {
		one := interaction{
			ID: i.ID, Type: string(i.Type), Body: bodies[n].HTML, RemoteImages: bodies[n].RemoteImages, ConversationID: i.ConversationID,
			CreatedAt: Time(i.CreatedAt), UpdatedAt: Time(i.UpdatedAt), MessageID: i.MessageID,
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
		}
		out[n] = one
	}
	return out
}

func (a *api) relate(ctx context.Context, d *helpdesk.Desk, rows []helpdesk.Interaction, expand Expand) (rel related, err error) {
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
		found, err := d.AttachmentsOf(ctx, ids(rows, func(i helpdesk.Interaction) []int64 { return []int64{i.ID} }))
		if err != nil {
			return rel, err
		}
		rel.attachments = map[int64][]attachment{}
		for _, one := range found {
			rel.attachments[one.InteractionID] = append(rel.attachments[one.InteractionID], a.showAttachment(d.AccountID(), one))
		}
	}
	rel.deliveries, err = findDeliveries(ctx, d, rows)
	return rel, err
}

// findDeliveries asks for those of the posted answers only. Who may write but not
// read sees none: the answer to their own POST must not fail for it.
func findDeliveries(ctx context.Context, d *helpdesk.Desk, rows []helpdesk.Interaction) (map[int64][]delivery, error) {
	if !d.Holds(helpdesk.InteractionsView) {
		return nil, nil //nolint:nilnil // a nil map is an empty one
	}
	found, err := d.Deliveries(ctx, ids(rows, func(i helpdesk.Interaction) []int64 {
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

func showDelivery(one helpdesk.Delivery) delivery {
	out := delivery{
		Address: one.Address, Field: one.Field, State: string(one.State), Attempts: one.Attempts,
		EnhancedCode: textOrNull(one.EnhancedCode), Response: one.Response,
		NextAttemptAt: TimePtr(&one.NextAttemptAt), UpdatedAt: Time(one.UpdatedAt),
	}
	if one.Code != 0 {
		out.Code = &one.Code
	}
	return out
}

func (out *interaction) fillCreator(i helpdesk.Interaction, rel related, expand Expand) {
	out.UserID = shownOrNull(idOrNull(i.UserID))
	if expand.Has("user") {
		out.User = shownOrNull(pick(rel.users, i.UserID))
	}
}

func (out *interaction) fillUser(i helpdesk.Interaction, rel related, expand Expand) {
	out.fillCreator(i, rel, expand)
	out.Status, out.To, out.Cc, out.Bcc = string(i.Status), plainRecipients(i.To), plainRecipients(i.Cc), listed(i.Bcc)
	out.PostedByID = shownOrNull(idOrNull(i.PostedByID))
	if expand.Has("posted_by") || i.Status == helpdesk.StatusDraft {
		out.PostedBy = shownOrNull(pick(rel.users, i.PostedByID))
	}
	out.IsStarter, out.IsForward = &i.IsStarter, &i.IsForward
	out.SeenAt = shownOrNull(TimePtr(&i.SeenAt))
	out.SendAt = shownOrNull(TimePtr(&i.SendAt))
	out.Signature, out.QuotedIDs = &i.Ending.Signature, listed(i.Ending.Quotes)
	out.Deliveries = listed(rel.deliveries[i.ID])
}

func (out *interaction) fillCustomer(i helpdesk.Interaction, rel related, expand Expand) {
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
