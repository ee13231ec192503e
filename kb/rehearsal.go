package kb

import "context"

// Rehearsal returns an editor that does all that this one does and changes nothing:
// what a method has done is undone at the end of its transaction, and the method fails
// with a Precondition fault. So a caller learns of all problems of an input before
// anything is done, or of one that it could not even read whole.
func (e *Editor) Rehearsal() *Editor {
	r := *e
	r.guard = e.guard.Rehearsal()
	return &r
}

// Rehearsal is what [Editor.Rehearsal] is to an editor.
func (h *Sites) Rehearsal() *Sites {
	r := *h
	r.open = func(ctx context.Context, accountID int64) (editorGuard, Membership, error) {
		g, m, err := h.open(ctx, accountID)
		return g.Rehearsal(), m, err
	}
	return &r
}

// Rehearsal is what [Editor.Rehearsal] is to an editor.
func (v *Visitor) Rehearsal() *Visitor {
	r := *v
	r.guard = v.guard.Rehearsal()
	return &r
}
