package transport

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
)

const (
	notificationsPath        = accountPath + "/notifications"
	notificationSettingsPath = accountPath + "/notification-settings"
)

// notification as the API shows it.
type notification struct {
	ID             int64  `json:"id"`
	AccountID      int64  `json:"account_id"`
	Kind           string `json:"kind" enum:"assigned,unassigned,replied,mentioned,failed,mailbox" description:"More may be added."`
	ConversationID *int64 `json:"conversation_id" description:"Null: it is about a mailbox."`
	InteractionID  *int64 `json:"interaction_id" description:"It may be gone."`
	MailboxID      *int64 `json:"mailbox_id" description:"Of one without a conversation."`
	ActorID        *int64 `json:"actor_id" description:"The member who did it; null: a customer, or nobody."`
	ReadAt         *Time  `json:"read_at"`
	CreatedAt      Time   `json:"created_at"`
}

type notificationList struct {
	Paging
	Unread bool `query:"unread" description:"Unread ones alone."`
}

type notificationCount struct {
	Unread int `json:"unread" description:"100: so many or more."`
}

type notificationRead struct {
	NotificationID int64 `json:"notification_id" description:"This one alone."`
	ConversationID int64 `json:"conversation_id" description:"Those of a conversation alone."`
	UpTo           int64 `json:"up_to" description:"No newer ones than the one with this id, such as the first of a list that was shown."`
}

// notificationSettings are in which channels a member is told of each kind.
type notificationSettings struct {
	Assigned   []string `json:"assigned" description:"A conversation is assigned to the member."`
	Unassigned []string `json:"unassigned" description:"A new conversation that nobody has yet."`
	Replied    []string `json:"replied" description:"A customer writes in a conversation that is the member's, or that they follow."`
	Mentioned  []string `json:"mentioned" description:"Somebody mentions the member in a note."`
	Failed     []string `json:"failed" description:"An answer by the member, or in their conversation, is not delivered."`
	Mailbox    []string `json:"mailbox" description:"Mail of a mailbox is not fetched any more. For those who may change mailboxes."`
}

type notificationSettingsUpdate struct {
	Assigned   storage.Opt[[]string] `json:"assigned" maxItems:"3" description:"Of desk, browser and mail; empty: none."`
	Unassigned storage.Opt[[]string] `json:"unassigned" maxItems:"3"`
	Replied    storage.Opt[[]string] `json:"replied" maxItems:"3"`
	Mentioned  storage.Opt[[]string] `json:"mentioned" maxItems:"3"`
	Failed     storage.Opt[[]string] `json:"failed" maxItems:"3"`
	Mailbox    storage.Opt[[]string] `json:"mailbox" maxItems:"3"`
}

// follower is a member who follows a conversation.
type follower struct {
	ConversationID int64 `json:"conversation_id"`
	UserID         int64 `json:"user_id"`
	CreatedAt      Time  `json:"created_at" description:"Since when."`
}

type mentionable struct {
	UserID int64  `json:"user_id"`
	Name   string `json:"name"`
	Email  string `json:"email" description:"Typed into a note with an @ in front, it mentions the member."`
}

type mentionableList struct {
	conversationID
	Paging
}

func (a *api) addNotifications(t *Table) {
	op := func(id, method, path, summary, description string) Operation {
		return Operation{ID: id, Method: method, Path: path, Tag: "Notifications", Summary: summary, Description: description}
	}
	HandlePage(t, a.desk, op("listNotifications", http.MethodGet, notificationsPath, "List notifications",
		"What the caller was told in the desk, newest first; it is kept for 90 days, and the newest 500. Needs conversations.view."),
		func(ctx context.Context, d *helpdesk.Desk, in notificationList) (storage.Page[notification], error) {
			page, err := d.Notifications(ctx, in.Unread, in.Request())
			return mapPage(page, func(n helpdesk.Notification) notification { return showNotification(d, n) }), err
		})
	Handle(t, a.desk, op("countNotifications", http.MethodGet, notificationsPath+"/count", "Count unread notifications",
		"Of the caller, up to 100. Needs conversations.view."),
		func(ctx context.Context, d *helpdesk.Desk, _ struct{}) (notificationCount, error) {
			n, err := d.UnreadNotifications(ctx)
			return notificationCount{Unread: n}, err
		})
	HandleEmpty(t, a.desk, op("readNotifications", http.MethodPost, notificationsPath+"/read", "Mark notifications as read",
		"All of the caller's, unless the body narrows that down. Marking a conversation as read marks its notifications, too. Needs conversations.view."),
		func(ctx context.Context, d *helpdesk.Desk, in notificationRead) error {
			if in.NotificationID != 0 {
				_, err := d.ReadNotification(ctx, in.NotificationID)
				return err
			}
			return d.ReadNotifications(ctx, in.ConversationID, in.UpTo)
		})
	Handle(t, a.desk, op("getNotificationSettings", http.MethodGet, notificationSettingsPath, "Retrieve notification settings",
		"In which channels the caller is told of each kind: desk, browser, mail."),
		func(ctx context.Context, d *helpdesk.Desk, _ struct{}) (notificationSettings, error) {
			chosen, err := d.NotifyChoices(ctx)
			return showChoices(chosen), err
		})
	Handle(t, a.desk, op("updateNotificationSettings", http.MethodPut, notificationSettingsPath, "Update notification settings",
		"Of the caller; kinds that are left out stay as they are."),
		func(ctx context.Context, d *helpdesk.Desk, in notificationSettingsUpdate) (notificationSettings, error) {
			chosen, err := d.ChooseNotifications(ctx, in.choices())
			return showChoices(chosen), err
		})
	a.addFollowers(t, op)
}

func (a *api) addFollowers(t *Table, op func(id, method, path, summary, description string) Operation) {
	HandlePage(t, a.desk, op("listFollowers", http.MethodGet, conversationPath+"/followers", "List followers",
		"The members who follow a conversation: they are told when the customer writes. Who is mentioned in a note follows from then on, unless they have said that they do not. Needs conversations.view."),
		func(ctx context.Context, d *helpdesk.Desk, in mentionableList) (storage.Page[follower], error) {
			if _, err := d.Conversation(ctx, in.ConversationID); err != nil {
				return storage.Page[follower]{}, err
			}
			all, err := d.Followers(ctx, []int64{in.ConversationID})
			if err != nil {
				return storage.Page[follower]{}, err
			}
			return pageBy(in.Paging, showFollowers(all), func(f follower) storage.Position { return storage.Position{ID: f.UserID} })
		})
	for id, follow := range map[string]bool{"followConversation": true, "unfollowConversation": false} {
		method, summary, description := http.MethodPut, "Follow a conversation", "The caller does. "
		if !follow {
			method, summary, description = http.MethodDelete, "Stop following a conversation", "The caller does, and being mentioned there does not change that. "
		}
		HandleEmpty(t, a.desk, op(id, method, conversationPath+"/follow", summary, description+"It is no change of the conversation. Needs conversations.view."),
			func(ctx context.Context, d *helpdesk.Desk, in conversationID) error {
				_, err := d.FollowConversation(ctx, in.ConversationID, follow)
				return err
			})
	}
	HandlePage(t, a.desk, op("listMentionable", http.MethodGet, conversationPath+"/mentionable", "List who can be mentioned",
		"The members who may see a conversation. A note mentions them by @ and their address, or by a link to mailto:member-<user id>@mention.invalid, which is how it is stored; other mentions become text. Needs conversations.view."),
		func(ctx context.Context, d *helpdesk.Desk, in mentionableList) (storage.Page[mentionable], error) {
			users, err := d.Mentionable(ctx, in.ConversationID)
			if err != nil {
				return storage.Page[mentionable]{}, err
			}
			all := make([]mentionable, len(users))
			for i, u := range users {
				all[i] = mentionable{UserID: u.ID, Name: u.Name, Email: u.Email}
			}
			return pageBy(in.Paging, all, func(m mentionable) storage.Position { return storage.Position{ID: m.UserID} })
		})
}

func showNotification(d *helpdesk.Desk, n helpdesk.Notification) notification {
	return notification{
		ID: n.ID, AccountID: d.AccountID(), Kind: string(n.Kind), ConversationID: idOrNull(n.ConversationID), InteractionID: idOrNull(n.InteractionID),
		MailboxID: idOrNull(n.MailboxID), ActorID: idOrNull(n.ActorID), ReadAt: TimePtr(&n.ReadAt), CreatedAt: Time(n.CreatedAt),
	}
}

func showFollowers(all []helpdesk.Follower) []follower {
	shown := make([]follower, len(all))
	for i, f := range all {
		shown[i] = follower{ConversationID: f.ConversationID, UserID: f.UserID, CreatedAt: Time(f.CreatedAt)}
	}
	return shown
}

func (in notificationSettingsUpdate) choices() []helpdesk.NotifyChoice {
	var all []helpdesk.NotifyChoice
	for i, one := range []storage.Opt[[]string]{in.Assigned, in.Unassigned, in.Replied, in.Mentioned, in.Failed, in.Mailbox} {
		if !one.IsSet() {
			continue
		}
		choice := helpdesk.NotifyChoice{Kind: helpdesk.NotificationKinds()[i]}
		for _, channel := range one.Or(nil) {
			choice.Channels = append(choice.Channels, helpdesk.NotificationChannel(channel))
		}
		all = append(all, choice)
	}
	return all
}

func showChoices(chosen helpdesk.NotifyChoices) notificationSettings {
	var out notificationSettings
	for i, list := range []*[]string{&out.Assigned, &out.Unassigned, &out.Replied, &out.Mentioned, &out.Failed, &out.Mailbox} {
		*list = []string{}
		for _, in := range helpdesk.NotificationChannels() {
			if chosen.Tells(helpdesk.NotificationKinds()[i], in) {
				*list = append(*list, string(in))
			}
		}
	}
	return out
}
