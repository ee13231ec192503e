package helpdesk

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// ruleActs does what a rule plans, with the permissions and in the mailboxes of its maker.
type ruleActs struct {
	*desk
	tx      Tx
	o       occasion
	run     *RuleRun
	makerID int64
	done    []string // types of actions beside changes
	left    []string // why actions were left out
}

// carryOut carries out a plan: the changes of the conversation first, then all else in order.
func (a *ruleActs) carryOut(ctx context.Context, conversationID int64, plan rules.Plan) error {
	if err := a.changeFields(ctx, conversationID, plan); err != nil {
		return err
	}
	for _, action := range plan.Does {
		does := map[rules.ActionType]func(context.Context, int64, rules.Action) (left string, err error){
			rules.AddNote: a.addNote, rules.Reply: a.sendReply, rules.Notify: a.tellMembers, rules.Webhook: a.callWebhook, rules.Follow: a.addFollowers,
		}[action.Type]
		left, err := does(ctx, conversationID, action)
		if err != nil {
			return err
		}
		if left != "" {
			a.left = append(a.left, left)
			continue
		}
		a.done = append(a.done, string(action.Type))
	}
	return nil
}

// changeFields makes the changes of fields, in one update.
func (a *ruleActs) changeFields(ctx context.Context, conversationID int64, plan rules.Plan) error {
	if len(plan.Changes) == 0 {
		return nil
	}
	if _, err := a.guard.Write(identity.ConversationsUpdate); err != nil {
		return err
	}
	in := ConversationUpdate{
		UserID: idTo(plan, rules.FieldUser), TeamID: idTo(plan, rules.FieldTeam), MailboxID: idTo(plan, rules.FieldMailbox),
	}
	if to, changes := plan.To(rules.FieldStatus); changes {
		in.Status = storage.Some(Status(to[0]))
	}
	if to, changes := plan.To(rules.FieldPriority); changes {
		in.Priority = storage.Some(Priority(to[0]))
	}
	if _, changes := plan.To(rules.FieldSpam); changes {
		in.Spam = storage.Some(true)
	}
	if to, changes := plan.To(rules.FieldSnoozed); changes {
		until, err := time.Parse(time.RFC3339, to[0])
		if err != nil {
			return fault.Wrap(fault.Internal, "reading a time", err)
		}
		in.SnoozedUntil = storage.Some(until)
	}
	others := 0
	for field, c := range plan.Changes {
		if key, own := cutPrefix(field, rules.PrefixField); own {
			if in.Fields == nil {
				in.Fields = FieldTexts{}
			}
			in.Fields[key] = c.To
		}
		if field != rules.FieldTags {
			others++
		}
	}
	if others > 0 {
		if err := in.check(); err != nil {
			return err
		}
		if _, err := a.updateConversation(ctx, a.tx, conversationID, in); err != nil {
			return err
		}
	}
	c, changes := plan.Changes[rules.FieldTags]
	if !changes {
		return nil
	}
	added, removed := idsOfTexts(c.To), idsOfTexts(c.From)
	_, err := a.changeTags(ctx, a.tx, conversationID, added, func(old, given []int64) []int64 {
		return slices.DeleteFunc(slices.Concat(old, given), func(id int64) bool { return slices.Contains(removed, id) })
	})
	return err
}

func cutPrefix(text, prefix string) (string, bool) {
	if len(text) <= len(prefix) || text[:len(prefix)] != prefix {
		return "", false
	}
	return text[len(prefix):], true
}

// idTo returns what the id of a field would become; absent: it stays.
func idTo(plan rules.Plan, field string) storage.Opt[int64] {
	to, changes := plan.To(field)
	if !changes {
		return storage.Opt[int64]{}
	}
	if ids := idsOfTexts(to); len(ids) > 0 {
		return storage.Some(ids[0])
	}
	return storage.Null[int64]()
}

func idsOfTexts(texts []string) []int64 {
	var ids []int64
	for _, text := range texts {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

func (a *ruleActs) addNote(ctx context.Context, conversationID int64, action rules.Action) (string, error) {
	p, err := a.prepare(InteractionInput{Type: TypeNote, Body: action.Values[0]}, "")
	if err != nil {
		return "", err
	}
	p.Source = SourceAuto
	_, err = a.contribute(ctx, a.tx, conversationID, p)
	return "", err
}

// sendReply sends a saved reply, marked as automatic (RFC 3834), to the author of the message that it answers. Like automatic
// replies, it answers nobody who must not be answered by a machine.
func (a *ruleActs) sendReply(ctx context.Context, conversationID int64, action rules.Action) (left string, err error) {
	if _, err := a.guard.Write(identity.InteractionsCreate); err != nil {
		return "", err
	}
	c, err := a.tx.Conversations().Lock(ctx, conversationID)
	if err != nil {
		return "", err
	}
	cause, err := a.causeOfReply(ctx, c)
	if err != nil {
		return "", err
	}
	machine := cause.AutoSubmitted || cause.Mail.ListID != "" || cause.Mail.Rewritten || cause.Threading.Rule == RuleReport || cause.Threading.ForwardedBy != 0
	if c.IsSpam() || machine || unread(cause.author()) {
		return "The reply was left out: the message is spam, was passed on, or is from a machine or a list.", nil
	}
	timed := slices.Contains(a.o.events, RuleTime)                              // it answers late on purpose
	if !timed && cause.ID != 0 && a.svc.now().Sub(cause.At) > autoReplyWithin { // of a backlog, for example
		return "The reply was left out: the message is older than a day.", nil
	}
	if may, err := a.svc.mayWriteTo(ctx, a.tx, a.scope.AccountID, cause); err != nil || !may {
		return "The reply was left out: the address must not be written to, or has got too much mail.", err
	}
	mailbox, err := a.tx.Mailboxes().Get(ctx, c.MailboxID)
	if err != nil {
		return "", err
	}
	author := *a.desk
	author.userID = a.makerID // whose saved replies may be sent
	body, err := author.fillReply(ctx, a.tx.Reader(), c.ID, idsOfTexts(action.Values)[0], mailbox.Name)
	if err != nil {
		return "", err
	}
	if blank(body) { // a macro of actions only
		return "The reply was left out: the saved reply has no text.", nil
	}
	_, err = a.svc.sendByItself(ctx, a.tx, a.scope.AccountID, c, mailbox, cause, "", body)
	return "", err
}

// causeOfReply returns the message that a reply answers: the one that the event is about, or else the customer's last one.
func (a *ruleActs) causeOfReply(ctx context.Context, c Conversation) (Interaction, error) {
	if a.o.interactionID != 0 {
		if i, err := a.tx.Interactions().Get(ctx, a.o.interactionID); err != nil || i.Type == TypeCustomer {
			return i, err
		}
	}
	before, err := recentOf(ctx, a.tx, c.ID, recentForReply)
	if err != nil {
		return Interaction{}, err
	}
	last, found, err := before.answered(ctx, a.tx, c.CustomerID)
	if err != nil || found {
		return last, err
	}
	return Interaction{ConversationID: c.ID, CustomerID: c.CustomerID, CustomerEmail: c.CustomerEmail}, nil
}

func (a *ruleActs) tellMembers(ctx context.Context, conversationID int64, action rules.Action) (string, error) {
	return "", a.svc.notifyAfterCommit(ctx, a.tx, a.scope.AccountID, occurrence{
		Kind: NotifyRule, ConversationID: conversationID, InteractionID: a.o.interactionID, UserIDs: idsOfTexts(action.Values),
	})
}

// callWebhook delivers the event to a webhook, whatever it subscribes to.
func (a *ruleActs) callWebhook(ctx context.Context, conversationID int64, action rules.Action) (left string, err error) {
	if _, err := a.guard.Write(identity.WebhooksUpdate); err != nil {
		return "", err
	}
	w, err := webhookNoun().Rows(a.tx).Get(ctx, idsOfTexts(action.Values)[0])
	if err != nil {
		return "", err
	}
	if err := a.mayHandle(w); err != nil {
		return "", err
	}
	if !w.IsActive {
		return "The webhook is switched off.", nil
	}
	c, err := a.tx.Conversations().Get(ctx, conversationID)
	if err != nil || a.run.EventID == 0 { // a test
		return "", err
	}
	now := a.svc.now()
	delivery := subscription.WebhookDelivery{
		WebhookID: w.ID, Seq: a.run.EventID, Type: a.run.Event, MailboxID: c.MailboxID, State: subscription.WebhookPending,
		NextAttemptAt: now, CreatedAt: now, UpdatedAt: now,
	}
	if err := a.tx.WebhookDeliveries().Insert(ctx, &delivery); err != nil {
		return "", err
	}
	return "", a.tx.Enqueue(ctx, webhookJob(a.scope.AccountID, w.ID, now))
}

// addFollowers makes members follow the conversation, unless they have said that they do not.
func (a *ruleActs) addFollowers(ctx context.Context, conversationID int64, action rules.Action) (left string, err error) {
	there, err := a.tx.Followers(ctx, []int64{conversationID})
	if err != nil {
		return "", err
	}
	var added []Follower
	for _, id := range idsOfTexts(action.Values) {
		if err := checkUser(ctx, a.tx.Reader(), id); err != nil {
			return "", err
		}
		if _, known := followerOf(there, id); !known {
			added = append(added, Follower{ConversationID: conversationID, UserID: id, Follows: true, CreatedAt: a.svc.now()})
		}
	}
	if len(added) == 0 {
		return "Everybody follows already, or does not want to.", nil
	}
	if err := a.tx.SaveFollowers(ctx, added); err != nil {
		return "", err
	}
	c, err := a.tx.Conversations().Get(ctx, conversationID)
	if err != nil {
		return "", err
	}
	return "", a.emit(ctx, a.tx, "conversation.followed", c.ID, c.MailboxID)
}
