package kb

import "context"

// Rehearsal returns an editor that does everything this one does but changes nothing: each transaction is rolled back at its
// end, and the method fails with a Precondition fault. A caller can thus report all problems of an input before changing
// anything, even of an input that it could not read completely.
func (e *Editor) Rehearsal() *Editor {
	r := *e
	r.guard = e.guard.Rehearsal()
	return &r
}

// Rehearsal is [Editor.Rehearsal] for Sites.
func (h *Sites) Rehearsal() *Sites {
	r := *h
	r.open = func(ctx context.Context, accountID int64) (editorGuard, Membership, error) {
		g, m, err := h.open(ctx, accountID)
		return g.Rehearsal(), m, err
	}
	return &r
}

// Rehearsal is [Editor.Rehearsal] for visitors.
func (v *Visitor) Rehearsal() *Visitor {
	r := *v
	r.guard = v.guard.Rehearsal()
	return &r
}
