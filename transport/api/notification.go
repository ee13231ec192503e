package api

import (
	"context"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/transport"
)

const (
	notificationsPath        = accountPath + "/notifications"
	notificationSettingsPath = accountPath + "/notification-settings"
)

// notification as the API shows it.
type notification struct {
	ID             int64           `json:"id"`
	AccountID      int64           `json:"account_id"`
	Kind           string          `json:"kind" enum:"assigned,unassigned,replied,mentioned,failed,mailbox" description:"More may be added."`
	ConversationID *int64          `json:"conversation_id" description:"Null: it is about a mailbox."`
	InteractionID  *int64          `json:"interaction_id" description:"It may be gone."`
	MailboxID      *int64          `json:"mailbox_id" description:"For notifications without a conversation."`
	ActorID        *int64          `json:"actor_id" description:"The member who did it. Null: a customer, or nobody."`
	ReadAt         *transport.Time `json:"read_at"`
	CreatedAt      transport.Time  `json:"created_at"`
}

type notificationList struct {
	transport.Paging
	Unread bool `query:"unread" description:"Only unread ones."`
}

type notificationCount struct {
	Unread int `json:"unread" description:"100 means 100 or more."`
}

type notificationRead struct {
	NotificationID int64 `json:"notification_id" description:"Only this one."`
	ConversationID int64 `json:"conversation_id" description:"Only those of this conversation."`
	UpTo           int64 `json:"up_to" description:"Only those not newer than this id, such as the first in a displayed list."`
}

// notificationSettings are the channels in which a member is notified of each kind.
type notificationSettings struct {
	Assigned   []string `json:"assigned" description:"A conversation is assigned to the member."`
	Unassigned []string `json:"unassigned" description:"A new conversation is unassigned."`
	Replied    []string `json:"replied" description:"A customer writes in a conversation that the member is assigned to or follows."`
	Mentioned  []string `json:"mentioned" description:"Somebody mentions the member in a note."`
	Failed     []string `json:"failed" description:"An answer by the member, or in their conversation, was not delivered."`
	Mailbox    []string `json:"mailbox" description:"A mailbox is no longer fetched. For members who may change mailboxes."`
}

type notificationSettingsUpdate struct {
	Assigned   storage.Opt[[]string] `json:"assigned" maxItems:"3" description:"Any of desk, browser and mail. Empty: none."`
	Unassigned storage.Opt[[]string] `json:"unassigned" maxItems:"3"`
	Replied    storage.Opt[[]string] `json:"replied" maxItems:"3"`
	Mentioned  storage.Opt[[]string] `json:"mentioned" maxItems:"3"`
	Failed     storage.Opt[[]string] `json:"failed" maxItems:"3"`
	Mailbox    storage.Opt[[]string] `json:"mailbox" maxItems:"3"`
}

// follower is a member who follows a conversation.
type follower struct {
	ConversationID int64          `json:"conversation_id"`
	UserID         int64          `json:"user_id"`
	CreatedAt      transport.Time `json:"created_at" description:"Since this time."`
}

type mentionable struct {
	UserID int64  `json:"user_id"`
	Name   string `json:"name"`
	Email  string `json:"email" description:"Typed into a note after an @, it mentions the member."`
}

type mentionableList struct {
	conversationID
	transport.Paging
}

func (a *api) addNotifications(t *transport.Table) {
	op := func(id, method, path, summary, description string) transport.Operation {
		return transport.Operation{ID: id, Method: method, Path: path, Tag: "Notifications", Summary: summary, Description: description}
	}
	transport.HandlePage(t, a.desk, op("listNotifications", http.MethodGet, notificationsPath, "List notifications",
		"The caller's notifications in the desk, newest first. The newest 500 of the last 90 days are kept. Needs conversations.view."),
		func(ctx context.Context, d *helpdesk.Desk, in notificationList) (storage.Page[notification], error) {
			page, err := d.Notifications().List(ctx, in.Unread, in.Request())
			return mapPage(page, func(n helpdesk.Notification) notification { return showNotification(d, n) }), err
		})
	transport.Handle(t, a.desk, op("countNotifications", http.MethodGet, notificationsPath+"/count", "Count unread notifications",
		"The caller's unread notifications, counted up to 100. Needs conversations.view."),
		func(ctx context.Context, d *helpdesk.Desk, _ struct{}) (notificationCount, error) {
			n, err := d.Notifications().Unread(ctx)
			return notificationCount{Unread: n}, err
		})
	transport.HandleEmpty(t, a.desk, op("readNotifications", http.MethodPost, notificationsPath+"/read", "Mark notifications as read",
		"Marks all of the caller's notifications unless the body narrows it down. Marking a conversation as read also marks its notifications. Needs conversations.view."),
		func(ctx context.Context, d *helpdesk.Desk, in notificationRead) error {
			if in.NotificationID != 0 {
				_, err := d.Notifications().MarkRead(ctx, in.NotificationID)
				return err
			}
			return d.Notifications().MarkAllRead(ctx, in.ConversationID, in.UpTo)
		})
	transport.Handle(t, a.desk, op("getNotificationSettings", http.MethodGet, notificationSettingsPath, "Retrieve notification settings",
		"The channels by which the caller is notified of each kind: desk, browser, mail."),
		func(ctx context.Context, d *helpdesk.Desk, _ struct{}) (notificationSettings, error) {
			chosen, err := d.Notifications().Choices(ctx)
			return showChoices(chosen), err
		})
	transport.Handle(t, a.desk, op("updateNotificationSettings", http.MethodPut, notificationSettingsPath, "Update notification settings",
		"The caller's settings. Omitted kinds stay unchanged."),
		func(ctx context.Context, d *helpdesk.Desk, in notificationSettingsUpdate) (notificationSettings, error) {
			chosen, err := d.Notifications().Choose(ctx, in.choices())
			return showChoices(chosen), err
		})
	a.addFollowers(t, op)
}

func (a *api) addFollowers(t *transport.Table, op func(id, method, path, summary, description string) transport.Operation) {
	transport.HandlePage(t, a.desk, op("listFollowers", http.MethodGet, conversationPath+"/followers", "List followers",
		"Members who follow the conversation and are notified when the customer writes. A member mentioned in a note follows from then on, unless they have stopped following. Needs conversations.view."),
		func(ctx context.Context, d *helpdesk.Desk, in mentionableList) (storage.Page[follower], error) {
			if _, err := d.Conversations().Get(ctx, in.ConversationID); err != nil {
				return storage.Page[follower]{}, err
			}
			all, err := d.Conversations().Followers(ctx, []int64{in.ConversationID})
			if err != nil {
				return storage.Page[follower]{}, err
			}
			return pageBy(in.Paging, showFollowers(all), func(f follower) storage.Position { return storage.Position{ID: f.UserID} })
		})
	for id, follow := range map[string]bool{"followConversation": true, "unfollowConversation": false} {
		method, summary, description := http.MethodPut, "Follow a conversation", "The caller follows it. "
		if !follow {
			method, summary, description = http.MethodDelete, "Stop following a conversation", "The caller stops following, even if mentioned later. "
		}
		transport.HandleEmpty(t, a.desk, op(id, method, conversationPath+"/follow", summary, description+"The conversation itself does not change. Needs conversations.view."),
			func(ctx context.Context, d *helpdesk.Desk, in conversationID) error {
				_, err := d.Conversations().Follow(ctx, in.ConversationID, follow)
				return err
			})
	}
	transport.HandlePage(t, a.desk, op("listMentionable", http.MethodGet, conversationPath+"/mentionable", "List who can be mentioned",
		"Members who can see the conversation. A note mentions them by @ and their address, or by a link to mailto:member-<user id>@mention.invalid, the stored form. Other mentions become plain text. Needs conversations.view."),
		func(ctx context.Context, d *helpdesk.Desk, in mentionableList) (storage.Page[mentionable], error) {
			users, err := d.Conversations().Mentionable(ctx, in.ConversationID)
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
		MailboxID: idOrNull(n.MailboxID), ActorID: idOrNull(n.ActorID), ReadAt: transport.TimePtr(&n.ReadAt), CreatedAt: transport.Time(n.CreatedAt),
	}
}

func showFollowers(all []helpdesk.Follower) []follower {
	shown := make([]follower, len(all))
	for i, f := range all {
		shown[i] = follower{ConversationID: f.ConversationID, UserID: f.UserID, CreatedAt: transport.Time(f.CreatedAt)}
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
