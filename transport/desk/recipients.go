package desk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// answerRecipients returns whom an answer goes to. Who may not read the messages answers the customer.
func (v *visit) answerRecipients(c helpdesk.Conversation) (helpdesk.AnswerRecipients, error) {
	if v.may(identity.InteractionsView) {
		return v.Conversations().Recipients(v.ctx(), c.ID)
	}
	if helpdesk.Unreachable(c.CustomerEmail) {
		return helpdesk.AnswerRecipients{}, nil
	}
	return helpdesk.AnswerRecipients{To: []string{c.CustomerEmail}}, nil
}

// toAll is the kind of a reply that copies the others on the last mail. It is a choice of the form only: such a reply has
// them in Cc, and is otherwise like any.
const toAll = "reply-all"

// turnToAll adds the others on the last mail to the written reply, or takes them out, if the member has chosen that since the
// form was shown. The script does so at once, and says so in the field "answers".
func (v *visit) turnToAll(w *written) {
	chosen := w.kind
	if w.kind == toAll {
		w.kind = "reply"
	}
	if w.kind != "reply" || chosen == v.r.PostFormValue("answers") {
		return
	}
	everybody := split(v.r.PostFormValue("everybody"))
	if chosen == toAll {
		for _, address := range everybody {
			if !has(slices.Concat(w.to, w.cc, w.bcc), address) {
				w.cc = append(w.cc, address)
			}
		}
		return
	}
	w.cc = slices.DeleteFunc(w.cc, func(address string) bool { return has(everybody, address) })
}

// copiesAll reports whether the reply goes to the others on the last mail, too, if there are any.
func (f *composer) copiesAll() bool {
	reply := f.sheet
	for _, s := range f.Others {
		if s.Kind == "reply" {
			reply = s
		}
	}
	if reply.Kind != "reply" || f.Everybody == "" {
		return false
	}
	to := split(strings.Join([]string{reply.To, reply.Cc, reply.Bcc}, ","))
	return !slices.ContainsFunc(split(f.Everybody), func(address string) bool { return !has(to, address) })
}

// has reports whether an address is in a list of addresses, which may have names.
func has(list []string, address string) bool {
	key := mailaddr.Key(bare(address))
	return slices.ContainsFunc(list, func(one string) bool { return mailaddr.Key(bare(one)) == key })
}

// bare returns the address of a recipient: ada@example.com of "Ada <ada@example.com>".
func bare(recipient string) string {
	if at := strings.LastIndexByte(recipient, '<'); at >= 0 {
		return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(recipient[at+1:]), ">"))
	}
	return strings.TrimSpace(recipient)
}

// maxSuggestions is the number of recipients that are suggested at once.
const maxSuggestions = 8

// suggestion is a recipient that the form offers.
type suggestion struct {
	Name     string `json:"name"`
	Email    string `json:"email"`
	Initials string `json:"initials"`
	Hue      int    `json:"hue"`
}

// recipientsURL returns where recipients are looked for, "" if the member may not see customers.
func (v *visit) recipientsURL(below string) string {
	if !v.may(identity.CustomersView) {
		return ""
	}
	return below + "/recipients"
}

// recipients sends the script the addresses that contain what was typed: those in the conversation, if there is one, and
// those of customers.
func (v *visit) recipients() error {
	words := strings.TrimSpace(v.r.URL.Query().Get("q"))
	var found []suggestion
	add := func(p person, email string) {
		if len(found) < maxSuggestions && email != "" && !helpdesk.Unreachable(email) &&
			!slices.ContainsFunc(found, func(s suggestion) bool { return mailaddr.Key(s.Email) == mailaddr.Key(email) }) {
			found = append(found, suggestion{Name: p.Name, Email: email, Initials: p.Initials, Hue: p.Hue})
		}
	}
	if id := v.number("id"); id != 0 {
		answer, err := v.Conversations().Recipients(v.ctx(), id)
		if err != nil {
			return err
		}
		for _, a := range answer.Known {
			if typed(words, a.Name, a.Email) {
				add(newPerson(0, cmp.Or(a.Name, a.Email), mailaddr.Key(a.Email)), a.Email)
			}
		}
	}
	if words != "" {
		page, err := v.Customers().List(v.ctx(), helpdesk.CustomerQuery{Query: words}, storage.PageRequest{Limit: maxSuggestions})
		if err != nil && !fault.Is(err, fault.Invalid) {
			return err
		}
		for _, c := range page.Items {
			all := slices.DeleteFunc(slices.Clone(c.Emails), func(e helpdesk.CustomerEmail) bool { return !typed(words, e.Email) })
			if len(all) == 0 { // the name was typed
				all = c.Emails
			}
			for _, e := range all {
				add(customerPerson(c), e.Email)
			}
		}
	}
	if found == nil {
		found = []suggestion{}
	}
	return v.json(found)
}

// typed reports whether a word of a text begins with what was typed, in any letter case.
func typed(words string, texts ...string) bool {
	words = strings.ToLower(words)
	for _, text := range texts {
		text = strings.ToLower(text)
		if words == "" || strings.HasPrefix(text, words) {
			return true
		}
		for n, r := range text {
			if strings.ContainsRune(" .@-_+", r) && strings.HasPrefix(text[n+1:], words) {
				return true
			}
		}
	}
	return false
}
