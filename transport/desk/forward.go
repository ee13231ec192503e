package desk

import (
	"html/template"
	"slices"
	"strconv"

	"github.com/helpwright/helpwright/helpdesk"
)

// forwarding is what a forward passes on, as the composer shows it.
type forwarding struct {
	ID    int64 // the message
	HTML  template.HTML
	Files []forwardedFile
}

// forwardedFile is a file of the message, and whether it goes along.
type forwardedFile struct {
	fileView
	On bool
}

// fillForwarding shows the message that a forward passes on: the chosen one, or the customer's last.
func (v *visit) fillForwarding(f *composer, c helpdesk.Conversation, all []helpdesk.Interaction, chosen helpdesk.Forwarding) error {
	at := slices.IndexFunc(all, func(i helpdesk.Interaction) bool { return i.ID == chosen.InteractionID && i.MayForward() })
	given := at >= 0
	for n, i := range all {
		if !given && i.MayForward() && (at < 0 || i.Type == helpdesk.TypeCustomer || all[at].Type != helpdesk.TypeCustomer) {
			at = n
		}
	}
	if at < 0 {
		return nil
	}
	original := all[at]
	head, err := v.Interactions().ForwardHead(v.ctx(), c, original)
	if err != nil {
		return err
	}
	view := v.bodyView(false)
	view.Fold = false
	shown, err := v.Interactions().Show(v.ctx(), []helpdesk.Interaction{original}, view)
	if err != nil {
		return err
	}
	files, err := v.filesOf([]int64{original.ID})
	if err != nil {
		return err
	}
	f.Forwarding = &forwarding{ID: original.ID, HTML: safeHTML(plainStyle(head + "<br>" + withoutGaps(shown[0].HTML)))}
	for _, file := range files[original.ID] {
		if !file.IsInline {
			f.Forwarding.Files = append(f.Forwarding.Files, forwardedFile{v.showFile(file), !given || slices.Contains(chosen.FileIDs, file.ID)})
		}
	}
	return nil
}

// forwarding reads from the form what is passed on.
func (v *visit) forwarding() helpdesk.Forwarding {
	f := helpdesk.Forwarding{InteractionID: v.field("forwards")}
	for _, text := range v.r.PostForm["along"] {
		if id, err := strconv.ParseInt(text, 10, 64); err == nil {
			f.FileIDs = append(f.FileIDs, id)
		}
	}
	return f
}

// passedOn returns the files that went along with a forward.
func passedOn(i helpdesk.Interaction, files map[int64][]helpdesk.Attachment) []helpdesk.Attachment {
	f := i.Forwarding()
	return slices.DeleteFunc(slices.Clone(files[f.InteractionID]), func(a helpdesk.Attachment) bool { return !slices.Contains(f.FileIDs, a.ID) })
}
