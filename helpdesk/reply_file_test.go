package helpdesk_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

func text(name, content string) helpdesk.Upload {
	return helpdesk.Upload{Filename: name, Content: strings.NewReader(content)}
}

// stored counts the account's blobs.
func (b *bundle) stored() int {
	b.t.Helper()
	return len(must(b.blobs.List(b.ctx, "accounts/", "", 1000))(b.t))
}

// purged removes the blobs without rows.
func (b *bundle) purged() {
	b.t.Helper()
	for _, job := range b.jobs(helpdesk.JobPurgeBlobs) {
		if err := b.svc.Jobs().PurgeBlobs(b.ctx, job); err != nil {
			b.t.Fatal(err)
		}
	}
}

// An answer gets copies of a saved reply's files: they are independent of the reply, and of other answers with them.
func TestAttachReplyFiles(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.receive(opening()).ConversationID
	reply := must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Terms", Body: "Here they are.", Shared: storage.Some(true)}))(t)
	draft := func() helpdesk.Interaction {
		return must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "x"}))(t)
	}
	first, second := draft(), draft()
	if got := must(b.desk.Attachments().AddReplyFiles(b.ctx, id, first.ID, reply.ID))(t); len(got) != 0 {
		t.Errorf("of a reply without files: %v", got)
	}
	before := b.stored()
	terms := must(b.desk.SavedReplies().CreateFile(b.ctx, reply.ID, text("terms.txt", "The terms")))(t)
	must(b.desk.SavedReplies().CreateFile(b.ctx, reply.ID, text("form.txt", "The form")))(t)
	attached := must(b.desk.Attachments().AddReplyFiles(b.ctx, id, first.ID, reply.ID))(t)
	must(b.desk.Attachments().AddReplyFiles(b.ctx, id, second.ID, reply.ID))(t)
	if got := b.stored() - before; got != 6 {
		t.Errorf("%d blobs of two files and two copies of each", got)
	}
	if err := b.desk.SavedReplies().DeleteFile(b.ctx, reply.ID, terms.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.desk.SavedReplies().Delete(b.ctx, reply.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.desk.Interactions().Delete(b.ctx, id, second.ID); err != nil {
		t.Fatal(err)
	}
	b.purged()
	if got := b.stored() - before; got != 2 {
		t.Errorf("%d blobs stay for two files", got)
	}
	var names []string
	for _, a := range attached {
		content := must(b.desk.Attachments().Open(b.ctx, a, 0, -1))(t)
		names = append(names, a.Filename+": "+string(must(io.ReadAll(content))(t)))
		_ = content.Close()
	}
	if diff := cmp.Diff([]string{"terms.txt: The terms", "form.txt: The form"}, names); diff != "" {
		t.Error(diff)
	}
	want := []string{"saved_reply.created", "saved_reply.updated", "saved_reply.updated", "saved_reply.updated", "saved_reply.deleted"}
	if diff := cmp.Diff(want, b.kinds("saved_reply.")); diff != "" {
		t.Errorf("events: %s", diff)
	}
}

func TestReplyFileProblems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	reply := must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Terms", Body: "x"}))(t)
	before := b.stored()
	for name, tt := range map[string]struct {
		up   helpdesk.Upload
		want error
	}{
		"no file":    {helpdesk.Upload{}, helpdesk.ErrInvalid},
		"a program":  {text("run.exe", "MZ"), helpdesk.ErrInvalid},
		"too large":  {text("big.txt", strings.Repeat("x", 25<<20+1)), helpdesk.ErrTooLarge},
		"no picture": {text("x.png", "text"), helpdesk.ErrInvalid},
	} {
		if err := errOf(b.desk.SavedReplies().CreateFile(b.ctx, reply.ID, tt.up)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range helpdesk.MaxReplyFiles {
		must(b.desk.SavedReplies().CreateFile(b.ctx, reply.ID, text("a.txt", "a")))(t)
	}
	if err := errOf(b.desk.SavedReplies().CreateFile(b.ctx, reply.ID, text("a.txt", "a"))); !errors.Is(err, helpdesk.ErrConflict) {
		t.Errorf("one too many: %v", err)
	}
	if got := b.stored() - before; got != helpdesk.MaxReplyFiles {
		t.Errorf("%d blobs of %d files", got, helpdesk.MaxReplyFiles)
	}
	other := must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Other", Body: "x"}))(t)
	file := must(b.desk.SavedReplies().Files(b.ctx, reply.ID))(t)[0]
	if err := errOf(b.desk.SavedReplies().File(b.ctx, other.ID, file.ID)); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("a file of another reply: %v", err)
	}
	if err := b.desk.SavedReplies().DeleteFile(b.ctx, other.ID, file.ID); !errors.Is(err, helpdesk.ErrNotFound) {
		t.Errorf("deleting it there: %v", err)
	}
}

// The files of a private saved reply belong to its owner only, and are deleted with them.
func TestReplyFilesOfOthers(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	agent, collaborator := b.member(identity.RoleAgent), b.member(identity.RoleCollaborator)
	before := b.stored()
	own := must(agent.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Own", Body: "Mine"}))(t)
	shared := must(b.desk.SavedReplies().Create(b.ctx, helpdesk.SavedReplyInput{Name: "Ours", Body: "Ours", Shared: storage.Some(true)}))(t)
	mine := must(agent.SavedReplies().CreateFile(b.ctx, own.ID, text("mine.txt", "mine")))(t)
	ours := must(agent.SavedReplies().CreateFile(b.ctx, shared.ID, text("ours.txt", "ours")))(t)
	id := b.receive(opening()).ConversationID
	note := must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "x"}))(t)
	stolen := ours
	stolen.ID, stolen.BlobKey = mine.ID, mine.BlobKey
	for what, err := range map[string]error{
		"listing": errOf(b.desk.SavedReplies().Files(b.ctx, own.ID)), "adding": errOf(b.desk.SavedReplies().CreateFile(b.ctx, own.ID, text("a.txt", "a"))),
		"describing": errOf(b.desk.SavedReplies().File(b.ctx, own.ID, mine.ID)), "by another reply": errOf(b.desk.SavedReplies().File(b.ctx, shared.ID, mine.ID)),
		"opening": errOf(b.desk.SavedReplies().OpenFile(b.ctx, mine, 0, -1)), "opening it as another's": errOf(b.desk.SavedReplies().OpenFile(b.ctx, stolen, 0, -1)),
		"deleting": b.desk.SavedReplies().DeleteFile(b.ctx, own.ID, mine.ID), "attaching": errOf(b.desk.Attachments().AddReplyFiles(b.ctx, id, note.ID, own.ID)),
	} {
		if !errors.Is(err, helpdesk.ErrNotFound) {
			t.Errorf("%s what is another's own: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"adds": errOf(collaborator.SavedReplies().CreateFile(b.ctx, shared.ID, text("a.txt", "a"))), "deletes": collaborator.SavedReplies().DeleteFile(b.ctx, shared.ID, ours.ID),
	} {
		if !errors.Is(err, helpdesk.ErrForbidden) {
			t.Errorf("a collaborator %s: %v", what, err)
		}
	}
	if got := must(b.desk.SavedReplies().FilesOf(b.ctx, []int64{own.ID, shared.ID}))(t); len(got) != 1 || got[0].ID != ours.ID {
		t.Errorf("of both the owner sees %v", got)
	}
	members := must(b.desk.Members().List(b.ctx, storage.PageRequest{}))(t).Items
	at := slices.IndexFunc(members, func(m identity.Membership) bool { return m.UserID == agent.UserID() })
	if err := b.desk.Members().Remove(b.ctx, members[at].ID); err != nil {
		t.Fatal(err)
	}
	b.purged()
	keys := must(b.blobs.List(b.ctx, "accounts/", "", 1000))(t)
	if slices.ContainsFunc(keys, func(i storage.BlobInfo) bool { return i.Key == mine.BlobKey }) || b.stored()-before < 1 {
		t.Error("the file of who has left stays, or the shared one went too")
	}
}

// A note or an answer gets copies of another's files at once, independent of the other.
func TestCopyAttachments(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id, elsewhere := b.receive(opening()).ConversationID, b.receive(opening()).ConversationID
	draft := must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeUser, Status: helpdesk.StatusDraft, Body: "x"}))(t)
	note := must(b.desk.Interactions().Create(b.ctx, id, helpdesk.InteractionInput{Type: helpdesk.TypeNote, Body: "y"}))(t)
	if got := must(b.desk.Attachments().Copy(b.ctx, id, draft.ID, note.ID))(t); len(got) != 0 {
		t.Errorf("of a draft without files: %v", got)
	}
	before := b.stored()
	plan := must(b.desk.Attachments().Create(b.ctx, id, draft.ID, text("plan.txt", "The plan")))(t)
	inline := text("shown.txt", "Shown")
	inline.IsInline = true
	shown := must(b.desk.Attachments().Create(b.ctx, id, draft.ID, inline))(t)
	copies := must(b.desk.Attachments().Copy(b.ctx, id, draft.ID, note.ID))(t)
	if got := b.stored() - before; got != 4 {
		t.Errorf("%d blobs of two files and their copies", got)
	}
	if err := b.desk.Interactions().Delete(b.ctx, id, draft.ID); err != nil {
		t.Fatal(err)
	}
	b.purged()
	got := map[string]string{}
	for original, a := range copies {
		content := must(b.desk.Attachments().Open(b.ctx, a, 0, -1))(t)
		got[fmt.Sprint(original, a.Filename, a.IsInline)] = string(must(io.ReadAll(content))(t))
		_ = content.Close()
	}
	want := map[string]string{fmt.Sprint(plan.ID, "plan.txt", false): "The plan", fmt.Sprint(shown.ID, "shown.txt", true): "Shown"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, err := range map[string]error{
		"from a draft that is gone":      errOf(b.desk.Attachments().Copy(b.ctx, id, draft.ID, note.ID)),
		"in another conversation":        errOf(b.desk.Attachments().Copy(b.ctx, elsewhere, note.ID, note.ID)),
		"to an interaction that is gone": errOf(b.desk.Attachments().Copy(b.ctx, id, note.ID, draft.ID)),
	} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
