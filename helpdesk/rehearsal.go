package helpdesk

// Rehearsal returns a desk that does all that this one does and changes nothing: what
// a method has done is undone at the end of its transaction, and the method fails with
// a Precondition fault. So a caller learns of all problems of an input that it could
// not even read whole.
func (d *Desk) Rehearsal() *Desk {
	r := *d
	r.guard = d.guard.Rehearsal()
	return &r
}

// Rehearsal is what [Desk.Rehearsal] is to a desk.
func (a *Admin) Rehearsal() *Admin {
	r := *a
	r.guard = a.guard.Rehearsal()
	return &r
}

// Rehearsal is what [Desk.Rehearsal] is to a desk.
func (p *Portal) Rehearsal() *Portal {
	r := *p
	r.guard, r.desk = p.guard.Rehearsal(), p.desk.Rehearsal()
	return &r
}
