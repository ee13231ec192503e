package api

import (
	"context"
	"fmt"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport"
)

// talk is the handle of an operation that is open to customers, too: a member's desk or a customer's portal.
type talk struct {
	desk   *helpdesk.Desk
	portal *helpdesk.Portal
}

// Rehearsal changes nothing, see [helpdesk.Desk.Rehearsal].
func (t talk) Rehearsal() talk {
	if t.portal != nil {
		return talk{portal: t.portal.Rehearsal()}
	}
	return talk{desk: t.desk.Rehearsal()}
}

// talk is the resolver of operations that are open to customers, too.
func (a *api) talk(ctx context.Context, r *transport.Request) (talk, error) {
	portal, err := a.portalOf(ctx, r)
	if err != nil {
		return talk{}, err
	}
	if portal == nil {
		d, err := a.desk(ctx, r)
		return talk{desk: d}, err
	}
	who := fmt.Sprintf("portal %d %s", portal.AccountID(), mailaddr.Key(portal.Email()))
	r.Identify(who)
	// The application can sign any number of tokens for a customer.
	if err := r.Limit(who); err != nil {
		return talk{}, err
	}
	return talk{portal: portal}, nil
}

// portalOf returns the portal of the caller, nil if the caller is not a customer. If the application authenticates callers
// and configures no portals, there are none.
func (a *api) portalOf(ctx context.Context, r *transport.Request) (*helpdesk.Portal, error) {
	account := r.ParamID("account_id")
	switch {
	case a.portal != nil:
		if err := a.sameSite(r); err != nil {
			return nil, err
		}
		return a.portal(ctx, r.HTTP(), account)
	case a.authenticate == nil && helpdesk.IsPortalToken(r.Token()):
		return a.svc.AuthenticatePortal(ctx, account, r.Token())
	}
	return nil, nil //nolint:nilnil // nobody's portal
}

// both adds an operation for members and for customers.
func both[In, Out any](
	desk func(context.Context, *helpdesk.Desk, In) (Out, error), portal func(context.Context, *helpdesk.Portal, In) (Out, error),
) func(context.Context, talk, In) (Out, error) {
	return func(ctx context.Context, t talk, in In) (Out, error) {
		if t.portal != nil {
			return portal(ctx, t.portal, in)
		}
		return desk(ctx, t.desk, in)
	}
}

const notForCustomers = "is not for portal tokens"

// customersExpand refuses relations that only members may see.
func customersExpand(expand transport.Expand, allowed ...string) error {
	for _, name := range expand {
		if !transport.Expand(allowed).Has(name) {
			return fault.Newf(fault.Forbidden, "A portal token cannot expand %s.", name)
		}
	}
	return nil
}

func customersType(kind string) error {
	if helpdesk.InteractionType(kind) == helpdesk.TypeUser || helpdesk.InteractionType(kind) == helpdesk.TypeNote {
		return fault.New(fault.Forbidden, "A portal token can only post interactions of type customer.")
	}
	return nil
}

// customersConversations shows conversations with the fields that customers see.
func customersConversations(ctx context.Context, p *helpdesk.Portal, rows []helpdesk.Conversation) ([]conversation, error) {
	set, err := p.Fields(ctx, ids(rows, func(c helpdesk.Conversation) []int64 { return []int64{c.ID} }))
	if err != nil {
		return nil, err
	}
	shown := make([]conversation, len(rows))
	for i, c := range rows {
		shown[i] = customersConversation(c)
		shown[i].Fields = showFields(set, c.ID)
	}
	return shown, nil
}

// oneOfCustomer shows a conversation with the fields that customers see.
func oneOfCustomer(ctx context.Context, p *helpdesk.Portal, c helpdesk.Conversation, err error) (conversation, error) {
	if err != nil {
		return conversation{}, err
	}
	shown, err := customersConversations(ctx, p, []helpdesk.Conversation{c})
	if err != nil {
		return conversation{}, err
	}
	return shown[0], nil
}

// customersConversation is a conversation without the fields that only members may see.
func customersConversation(c helpdesk.Conversation) conversation {
	out := showConversation(c)
	out.RealtimeChannel, out.Tags, out.SnoozedUntil, out.SpamAt, out.Priority = "", []conversationTag{}, nil, nil, ""
	out.SLA, out.DueAt, out.Hold = nil, nil, nil
	return out
}

func (a *api) portalCreateConversation(ctx context.Context, p *helpdesk.Portal, in conversationInput) (conversation, error) {
	if err := customersExpand(in.Expand); err != nil {
		return conversation{}, err
	}
	var problems fault.Collector
	problems.Check(in.Channel == "email", "channel", "must be email")
	problems.Check(in.To == "" || mailaddr.Key(in.To) == mailaddr.Key(p.Email()), "to", "must be the customer's own address")
	problems.Check(in.UserID.Or(0) == 0, "user_id", notForCustomers)
	problems.Check(in.TeamID.Or(0) == 0, "team_id", notForCustomers)
	problems.Check(in.Priority == "" || in.Priority == string(helpdesk.PriorityNormal), "priority", notForCustomers)
	problems.Check(in.Status == "" || in.Status == string(helpdesk.StatusPosted), "status", "must be posted")
	input := helpdesk.PortalConversationInput{Subject: in.Subject, MailboxID: in.MailboxID.Or(0), Fields: in.Fields.texts()}
	for i, one := range in.Interactions {
		if err := customersType(one.Type); err != nil {
			return conversation{}, err
		}
		problems.Check(one.Type == string(helpdesk.TypeCustomer), fmt.Sprintf("interactions[%d][type]", i), "must be customer")
		input.Messages = append(input.Messages, helpdesk.PortalMessage{Body: one.Body, Text: one.Text, Source: one.Source})
	}
	if problems.Err() != nil {
		_, err := p.Rehearsal().CreateConversation(ctx, input)
		_ = problems.Take(err) // the other problems are reported when these are fixed
		return conversation{}, problems.Err()
	}
	c, err := p.CreateConversation(ctx, input)
	return oneOfCustomer(ctx, p, c, err)
}

func (a *api) portalListConversations(ctx context.Context, p *helpdesk.Portal, in conversationList) (storage.Page[conversation], error) {
	var none storage.Page[conversation]
	if err := customersExpand(in.Expand); err != nil {
		return none, err
	}
	var problems fault.Collector
	for field, used := range map[string]bool{
		"mailbox_id": in.MailboxID != 0, "user_id": in.UserID != "", "team_id": in.TeamID != 0, "customer_id": in.CustomerID != 0, "tag_id": len(in.TagID) > 0,
		"updated_since": !in.UpdatedSince.IsZero(), "query": in.Query != "", "view_id": in.ViewID != 0,
		"awaiting": in.Awaiting.IsSet(), "draft": in.Draft != "", "fields": len(in.Fields) > 0, "undelivered": in.Undelivered, "snoozed": in.Snoozed.IsSet(),
		"priority": len(in.Priority) > 0, "spam": in.Spam.IsSet(), "company_id": in.CompanyID != 0, "due": in.Due != "", "rating": len(in.Rating) > 0, "timezone": in.Timezone != "",
		"sort_by":   in.SortBy != "" && in.SortBy != string(helpdesk.ByCreated),
		"sort_type": in.SortType == "asc",
	} {
		problems.Check(!used, field, notForCustomers)
	}
	if err := problems.Err(); err != nil {
		return none, err
	}
	page, err := p.Conversations(ctx, in.filter().Statuses, in.Request())
	if err != nil {
		return none, err
	}
	shown, err := customersConversations(ctx, p, page.Items)
	return storage.Page[conversation]{Items: shown, Next: page.Next, Prev: page.Prev}, err
}

func (a *api) portalGetConversation(ctx context.Context, p *helpdesk.Portal, in conversationGet) (conversation, error) {
	if err := customersExpand(in.Expand); err != nil {
		return conversation{}, err
	}
	c, err := p.Conversation(ctx, in.ConversationID)
	return oneOfCustomer(ctx, p, c, err)
}

func (a *api) portalCreateInteraction(ctx context.Context, p *helpdesk.Portal, in interactionCreate) (interaction, error) {
	if err := customersExpand(in.Expand, customersRelations...); err != nil {
		return interaction{}, err
	}
	if err := customersType(in.Type); err != nil {
		return interaction{}, err
	}
	message := helpdesk.PortalMessage{Body: a.stored(p.AccountID(), in.Body), Text: in.Text, Source: in.Source}
	if in.Type != string(helpdesk.TypeCustomer) {
		problems := fault.Collector{}
		problems.Add("type", "must be customer")
		_, err := p.Rehearsal().CreateInteraction(ctx, in.ConversationID, message)
		_ = problems.Take(err)
		return interaction{}, problems.Err()
	}
	i, err := p.CreateInteraction(ctx, in.ConversationID, message)
	return a.customersInteraction(ctx, p, in.ConversationID, i, err, view{expand: in.Expand})
}

func (a *api) portalListInteractions(ctx context.Context, p *helpdesk.Portal, in interactionList) (storage.Page[interaction], error) {
	if err := customersExpand(in.Expand, customersRelations...); err != nil {
		return storage.Page[interaction]{}, err
	}
	page, err := p.Interactions(ctx, in.ConversationID, in.Request())
	if err != nil {
		return storage.Page[interaction]{}, err
	}
	shown, err := a.customersInteractions(ctx, p, in.ConversationID, page.Items, in.view(in.Expand))
	return storage.Page[interaction]{Items: shown, Next: page.Next, Prev: page.Prev}, err
}

func (a *api) portalGetInteraction(ctx context.Context, p *helpdesk.Portal, in interactionGet) (interaction, error) {
	if err := customersExpand(in.Expand, customersRelations...); err != nil {
		return interaction{}, err
	}
	i, err := p.Interaction(ctx, in.ConversationID, in.InteractionID)
	return a.customersInteraction(ctx, p, in.ConversationID, i, err, in.view(in.Expand))
}

// customersRelations are the relations of interactions that a portal token can expand.
var customersRelations = []string{"user", "posted_by", "attachments"}

func (a *api) customersInteraction(
	ctx context.Context, p *helpdesk.Portal, conversationID int64, i helpdesk.Interaction, err error, v view,
) (interaction, error) {
	if err != nil {
		return interaction{}, err
	}
	shown, err := a.customersInteractions(ctx, p, conversationID, []helpdesk.Interaction{i}, v)
	if err != nil {
		return interaction{}, err
	}
	return shown[0], nil
}

// customersInteractions converts a page with one query for each relation, without the fields that only members may see.
func (a *api) customersInteractions(
	ctx context.Context, p *helpdesk.Portal, conversationID int64, rows []helpdesk.Interaction, v view,
) ([]interaction, error) {
	rel := related{users: map[int64]user{}, attachments: map[int64][]attachment{}}
	if v.expand.Has("user") || v.expand.Has("posted_by") {
		agents, err := p.Agents(ctx, rows)
		if err != nil {
			return nil, err
		}
		for _, agent := range agents {
			rel.users[agent.ID] = user{ID: agent.ID, Name: agent.Name, Initials: identity.User{Name: agent.Name}.Initials()}
		}
	}
	if v.expand.Has("attachments") {
		found, err := p.AttachmentsOf(ctx, conversationID, ids(rows, func(i helpdesk.Interaction) []int64 { return []int64{i.ID} }))
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			rel.attachments[one.InteractionID] = append(rel.attachments[one.InteractionID], a.showAttachment(p.AccountID(), one))
		}
	}
	bodies, err := a.customersBodies(ctx, p, conversationID, rows, v)
	if err != nil {
		return nil, err
	}
	out := showAll(rows, bodies, rel, v)
	for n := range out {
		out[n].Bcc, out[n].Deliveries, out[n].Threading = nil, nil, nil
		if out[n].Type == string(helpdesk.TypeCustomer) {
			out[n].From, out[n].Sender, out[n].ReplyTo, out[n].To, out[n].Cc = nil, nil, nil, recipients{}, recipients{}
		}
	}
	return out, nil
}

func (a *api) portalCreateAttachment(ctx context.Context, p *helpdesk.Portal, in attachmentInput) (attachment, error) {
	created, err := in.upload(func(up helpdesk.Upload) (helpdesk.Attachment, error) {
		return p.CreateAttachment(ctx, in.ConversationID, in.InteractionID, up)
	})
	return a.showAttachment(p.AccountID(), created), err
}

func (a *api) portalListAttachments(ctx context.Context, p *helpdesk.Portal, in interactionRows) (storage.Page[attachment], error) {
	found, err := p.Attachments(ctx, in.ConversationID, in.InteractionID)
	if err != nil {
		return storage.Page[attachment]{}, err
	}
	return a.pageAttachments(p.AccountID(), found, in.Paging)
}

func (a *api) portalGetAttachment(ctx context.Context, p *helpdesk.Portal, in attachmentID) (attachment, error) {
	found, err := p.Attachment(ctx, in.ConversationID, in.InteractionID, in.AttachmentID)
	return a.showAttachment(p.AccountID(), found), err
}

func (a *api) portalGetAttachmentContent(ctx context.Context, p *helpdesk.Portal, in attachmentID) (transport.Content, error) {
	found, err := p.Attachment(ctx, in.ConversationID, in.InteractionID, in.AttachmentID)
	if err != nil {
		return transport.Content{}, err
	}
	return attachedContent(ctx, found, p.OpenAttachment, p.LinkAttachment)
}
