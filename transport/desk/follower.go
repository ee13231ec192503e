package desk

import (
	"regexp"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
)

// fillFollowers shows the followers of a conversation.
func (v *visit) fillFollowers(c helpdesk.Conversation, view *conversationView) error {
	all, err := v.Conversations().Followers(v.ctx(), []int64{c.ID})
	if err != nil {
		return err
	}
	ids := make([]int64, len(all))
	for i, f := range all {
		ids[i] = f.UserID
		view.Follows = view.Follows || f.UserID == v.UserID()
	}
	people, err := v.people(ids)
	for _, id := range ids {
		if p, known := people[id]; known {
			view.Followers = append(view.Followers, p)
		}
	}
	sortByName(view.Followers)
	return err
}

// follow adds or removes the member as a follower, who is notified of the customer's messages.
func (v *visit) follow() error {
	id, on := v.number("id"), v.r.PostFormValue("follow") != "0"
	if _, err := v.Conversations().Follow(v.ctx(), id, on); err != nil {
		return err
	}
	text := v.words.T("No longer following")
	if on {
		text = v.words.T("Following. You are notified when the customer writes")
	}
	v.say(toast{Text: text})
	return v.see(v.back(v.at("/c/" + itoa(id))))
}

// mentionedMember is a member who can be mentioned in a note.
type mentionedMember struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Email    string `json:"email"`
	Initials string `json:"initials"`
	Hue      int    `json:"hue"`
	Picture  string `json:"picture,omitempty"`
}

// mentionable sends the script the members who can be mentioned in a note.
func (v *visit) mentionable() error {
	users, err := v.Conversations().Mentionable(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	list := make([]person, len(users))
	emails := map[int64]string{}
	for i, u := range users {
		list[i], emails[u.ID] = v.person(u), u.Email
	}
	sortByName(list)
	out := []mentionedMember{}
	for _, p := range list {
		if p.ID != v.UserID() {
			out = append(out, mentionedMember{ID: p.ID, Name: p.Name, Email: emails[p.ID], Initials: p.Initials, Hue: p.Hue, Picture: p.Picture})
		}
	}
	return v.json(out)
}

// mentionLink matches a mention as helpdesk renders it.
var mentionLink = regexp.MustCompile(`<a href="mailto:member-([0-9]+)@mention\.invalid"[^>]*>([^<]*)</a>`)

// chips renders mentions as labels, as nobody can write to their addresses.
func (v *visit) chips(body string) string {
	if !strings.Contains(body, "@mention.invalid") {
		return body
	}
	return mentionLink.ReplaceAllStringFunc(body, func(link string) string {
		found := mentionLink.FindStringSubmatch(link)
		class := "mention"
		if number(found[1]) == v.UserID() {
			class += " me"
		}
		return `<span class="` + class + `">` + found[2] + `</span>`
	})
}
