package desk

import (
	"net/http"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage/fault"
)

// suppressionsView is the page of addresses that mail is not sent to.
type suppressionsView struct {
	Rows          []suppressionRow
	Next, Action  string
	CanChange     bool
	Email, Detail string // of the form
	Errors        map[string]string
}

type suppressionRow struct {
	Email, Detail, When, Full, Action string
	Bounced                           bool
	Who                               string // who stopped mail to it; "" if it bounced
}

func (v *visit) suppressionsPage() error { return v.listSuppressions(suppressionsView{}, 0) }

func (v *visit) listSuppressions(view suppressionsView, status int) error {
	page, err := v.Suppressions().List(v.ctx(), v.pageOf(100))
	if err != nil {
		return err
	}
	var ids []int64
	for _, s := range page.Items {
		ids = append(ids, s.UserID)
	}
	who, err := v.people(ids)
	if err != nil {
		return err
	}
	view.Next, view.Action, view.Errors = v.older("/settings/suppressions", page.Next), v.at("/settings/suppressions"), orEmpty(view.Errors)
	view.CanChange = v.may(identity.CustomersUpdate) && v.Scope().Mailboxes == nil
	for _, s := range page.Items {
		row := suppressionRow{Email: s.Email, Detail: s.Detail, When: v.when(s.CreatedAt), Full: v.full(s.CreatedAt), Bounced: s.Reason == sending.SuppressedBounce,
			Action: view.Action + "/" + itoa(s.ID) + "/delete"}
		if !row.Bounced {
			if row.Who = who[s.UserID].Name; row.Who == "" {
				row.Who = v.words.T("Former member")
			}
		}
		view.Rows = append(view.Rows, row)
	}
	return v.settingsPage("suppressions", v.words.T("Suppressed addresses"), view, status)
}

func (v *visit) addSuppression() error {
	in := sending.SuppressionInput{Email: v.r.PostFormValue("email"), Detail: v.r.PostFormValue("detail")}
	s, err := v.Suppressions().Add(v.ctx(), in)
	if fault.Is(err, fault.Invalid) {
		problems := v.problems(err)
		if takenAddress(err) {
			problems["email"] = v.words.T("This address is already on the list")
		}
		return v.listSuppressions(suppressionsView{Email: in.Email, Detail: in.Detail, Errors: problems}, http.StatusUnprocessableEntity)
	}
	return v.unless(err, "suppressions", v.words.T("%s will get no more mail", s.Email))
}

// takenAddress reports whether an address was refused only as it is on the list.
func takenAddress(err error) bool {
	f, ok := asFault(err)
	return ok && len(f.Fields["email"]) == 1 && f.Fields["email"][0] == "is already taken"
}

func (v *visit) liftSuppression() error {
	id := v.number("id")
	s, err := v.Suppressions().Get(v.ctx(), id)
	if err == nil {
		err = v.Suppressions().Lift(v.ctx(), id)
	}
	return v.unless(err, "suppressions", v.words.T("Mail to %s is allowed again", s.Email))
}
