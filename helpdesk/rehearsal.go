package helpdesk

// Rehearsal returns a desk that executes everything and changes nothing: each method rolls back its transaction and returns
// a Precondition fault. It lets a caller find all problems of an input that could not be parsed completely.
func (d *Desk) Rehearsal() *Desk { return &Desk{*d.rehearsal()} }

func (d *desk) rehearsal() *desk {
	r := *d
	r.guard = d.guard.Rehearsal()
	return &r
}

// Rehearsal is [Desk.Rehearsal] for an Admin.
func (a *Admin) Rehearsal() *Admin {
	r := *a
	r.guard = a.guard.Rehearsal()
	return &r
}

// Rehearsal is [Desk.Rehearsal] for a Portal.
func (p *Portal) Rehearsal() *Portal {
	r := *p
	r.guard, r.desk = p.guard.Rehearsal(), p.desk.rehearsal()
	return &r
}
