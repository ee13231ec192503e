package desk

import (
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
)

// mayErase reports whether the member may erase customers.
func (v *visit) mayErase() bool {
	return v.may(identity.CustomersDelete) && v.may(identity.ConversationsDelete) && v.Scope().Mailboxes == nil
}

type eraseView struct {
	Customer     customerPanel
	Action, Back string
}

// erasePage shows which customer and which data an erasure will remove, as it cannot be undone.
func (v *visit) erasePage() error {
	if !v.mayErase() {
		return v.missing()
	}
	c, err := v.Desk.Customers().Get(v.ctx(), v.number("id"))
	if err != nil {
		return err
	}
	back := v.at("/customers/" + itoa(c.ID))
	view := eraseView{Customer: v.customerPanel(c), Action: back + "/erase", Back: back}
	return v.show(screen{template: "customer-erase", title: v.words.T("Erase customer"), data: view, nav: "customers"})
}

func (v *visit) eraseCustomer() error {
	if v.r.PostFormValue("sure") == "" { // the browser requires it
		return v.see(v.at("/customers/" + itoa(v.number("id")) + "/erase"))
	}
	err := v.Customers().Erase(v.ctx(), v.number("id"))
	if fault.Is(err, fault.Conflict) { // mail kept arriving
		for _, text := range v.problems(err) {
			v.say(toast{Text: text, Bad: true})
		}
		return v.see(v.at("/customers/" + itoa(v.number("id")) + "/erase"))
	}
	if err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Customer erased")})
	return v.see(v.at("/customers"))
}
