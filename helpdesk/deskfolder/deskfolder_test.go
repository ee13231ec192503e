package deskfolder_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/deskfolder"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
)

// bundle is an account with the people, mailboxes and webhooks that the folder of the tests names.
type bundle struct {
	*testing.T
	store *memstore.Store
	svc   *helpdesk.Service
	desk  *helpdesk.Desk
}

func newBundle(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{T: t, store: memstore.New()}
	sealer, err := storage.NewSealer(make([]byte, 32))
	b.must(err)
	b.svc, err = helpdesk.New(helpdesk.Config{
		Store: b.store, Blobs: memblob.New(), Sealer: sealer, SigningKey: make([]byte, 32),
	})
	b.must(err)
	b.desk = b.account()
	return b
}

// account makes another account of the same kind.
func (b *bundle) account() *helpdesk.Desk {
	b.Helper()
	owner, err := b.svc.Operator().UserByEmail(b.Context(), "olga@example.org")
	if err != nil {
		owner, err = b.svc.Operator().CreateUser(b.Context(), identity.UserInput{Email: "olga@example.org"})
		b.must(err)
	}
	account, err := b.svc.Operator().CreateAccount(b.Context(), identity.AccountInput{Name: "Acme"}, owner.ID)
	b.must(err)
	desk, err := b.svc.Desk(b.Context(), b.svc.As(owner.ID), account.ID)
	b.must(err)
	_, err = desk.Mailboxes().Create(b.Context(), helpdesk.MailboxInput{Name: storage.Some("Support"), Email: storage.Some("support@example.org")})
	b.must(err)
	_, err = desk.Companies().Create(b.Context(), helpdesk.CompanyInput{Name: "Big Bank"})
	b.must(err)
	_, err = desk.Customers().Create(b.Context(), helpdesk.CustomerInput{FirstName: storage.Some("Ada"), Emails: storage.Some([]helpdesk.Item{{Value: "ada@example.com"}})})
	b.must(err)
	for _, path := range []string{"a-secret", "b-secret"} {
		_, _, err = desk.Webhooks().Create(b.Context(), subscription.WebhookInput{URL: storage.Some("https://hooks.example.com/" + path), Events: storage.Some([]string{"*"})})
		b.must(err)
	}
	// A member sees the views of their teams.
	_, err = desk.Teams().Create(b.Context(), helpdesk.TeamInput{Name: "Support", MemberIDs: storage.Some([]int64{owner.ID})})
	b.must(err)
	return desk
}

func (b *bundle) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bundle) same(want, got any) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("(-want +got)\n%s", diff)
	}
}

func (b *bundle) apply(s deskfolder.Setup, o deskfolder.Options) []string {
	b.Helper()
	changes, err := deskfolder.Apply(b.Context(), b.store, b.desk, s, o)
	b.must(err)
	return words(changes)
}

func (b *bundle) plan(s deskfolder.Setup, o deskfolder.Options) []string {
	b.Helper()
	changes, err := deskfolder.Plan(b.Context(), b.store, b.desk, s, o)
	b.must(err)
	return words(changes)
}

func words(changes []deskfolder.Change) []string {
	var all []string
	for _, c := range changes {
		all = append(all, c.String())
	}
	return all
}

// exported returns the files of the desk.
func (b *bundle) exported(desk *helpdesk.Desk) map[string]string {
	b.Helper()
	s, err := deskfolder.Export(b.Context(), desk)
	b.must(err)
	root, err := os.OpenRoot(b.TempDir())
	b.must(err)
	defer root.Close()
	b.must(deskfolder.Save(s, root))
	return files(b.T, root.FS())
}

func files(t *testing.T, root fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	names, err := fs.Glob(root, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(root, name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(data)
	}
	return all
}

func acme(t *testing.T) deskfolder.Setup {
	t.Helper()
	s, err := deskfolder.Read(os.DirFS(filepath.Join("testdata", "acme")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What is applied is exported again, byte for byte, also into another account, and changes nothing a second time.
func TestFolder(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	want := files(t, os.DirFS(filepath.Join("testdata", "acme")))
	planned := b.plan(acme(t), deskfolder.Options{})
	if len(planned) != 22 || !slices.Contains(planned, `change team "Support" (assignment)`) || !slices.Contains(planned, `create rule "Remind"`) {
		t.Errorf("planned %q", planned)
	}
	if now := b.exported(b.desk); now["rules.yaml"] != "[]\n" {
		t.Errorf("the plan made rules: %s", now["rules.yaml"])
	}
	b.same(planned, b.apply(acme(t), deskfolder.Options{}))
	b.same(want, b.exported(b.desk))
	b.same([]string(nil), b.plan(acme(t), deskfolder.Options{Delete: true}))
	before, err := b.store.Within(b.desk.Scope()).LastEvent(t.Context())
	b.must(err)
	b.same([]string(nil), b.apply(acme(t), deskfolder.Options{Delete: true}))
	after, err := b.store.Within(b.desk.Scope()).LastEvent(t.Context())
	b.must(err)
	b.same(before, after)

	other := b.account()
	_, err = deskfolder.Apply(t.Context(), b.store, other, acme(t), deskfolder.Options{})
	b.must(err)
	b.same(want, b.exported(other))
}

func TestChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(s *deskfolder.Setup)
		delete bool
		want   []string
	}{
		"a rule is changed": {
			change: func(s *deskfolder.Setup) {
				s.Rules[1].State, s.Rules[1].Actions[0].Value = "off", deskfolder.Values{"Later."}
			},
			want: []string{`change rule "Remind" (state, actions)`},
		},
		"what is spelt otherwise is the same": {
			change: func(s *deskfolder.Setup) {
				s.Rules[1].After.Calendar, s.Rules[0].Events = "office", []string{"interaction.created", "conversation.created"}
				s.AutoReplies[0].Mailboxes, s.Calendars[1].Week.Tue = []string{"Support@Example.org"}, "9 – 17:30"
			},
		},
		"order": {
			change: func(s *deskfolder.Setup) { slices.Reverse(s.Rules); slices.Reverse(s.SLAs) },
			want:   []string{"order SLAs", "order rules"},
		},
		"what is not in the folder stays": {
			change: func(s *deskfolder.Setup) { s.Rules, s.Tags = s.Rules[1:], s.Tags[:0] },
		},
		"where it is": {
			change: func(s *deskfolder.Setup) {
				first := s.Rules[1]
				first.Name = "First"
				s.Rules = []deskfolder.Rule{first, s.Rules[1]}
			},
			want: []string{`create rule "First"`},
		},
		"or goes, with what refers to it": {
			change: func(s *deskfolder.Setup) {
				*s = deskfolder.Setup{Rules: s.Rules[1:], SLAs: []deskfolder.SLA{}, Fields: s.Fields[1:2], Views: []deskfolder.View{}}
			},
			delete: true,
			want: []string{
				`delete field "conversation/order"`, `delete field "customer/plan"`, `delete view "Repairs"`, `delete view "Unassigned"`, `delete view "Unassigned"`,
				`delete SLA "VIP"`, `delete SLA "All others"`, `delete rule "Urgent repairs"`,
			},
		},
		"a kind that the folder does not have stays": {
			change: func(s *deskfolder.Setup) { *s = deskfolder.Setup{Tags: s.Tags} },
			delete: true,
		},
		"a name is another item": {
			change: func(s *deskfolder.Setup) {
				s.Tags[0].Name = "Invoices"
				s.SavedReplies[1].Actions[0].Value[0] = "Invoices"
				s.Views[0].Filter.Tags[0] = "Invoices"
				s.SLAs[0].Any[0].Value[0] = "invoices"
			},
			delete: true,
			want: []string{
				`create tag "Invoices"`, `delete tag "Billing"`, `change saved reply "Thanks" (actions)`, `change view "Repairs" (filter)`, `change SLA "VIP" (any)`,
			},
		},
		"one of two views with the same name": {
			change: func(s *deskfolder.Setup) { s.Views[2].Filter.Agent = "olga@example.org" },
			want:   []string{`change view "Unassigned" (filter)`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.apply(acme(t), deskfolder.Options{})
			s := acme(t)
			test.change(&s)
			b.same(test.want, b.plan(s, deskfolder.Options{Delete: test.delete}))
			b.same(test.want, b.apply(s, deskfolder.Options{Delete: test.delete}))
			b.same([]string(nil), b.plan(s, deskfolder.Options{Delete: test.delete}))
		})
	}
}

// All that the desk refuses is told together, and nothing is changed then.
func TestRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	s := acme(t)
	s.Tags[0].Color = "blue"
	s.Calendars[1].Week.Mon = "whenever"
	s.Fields[0].Type = "colour"
	s.Views[0].Filter.Team = "Nobody"
	s.Surveys[1].Mail = "sometimes"
	s.AutoReplies[0].State = "maybe"
	s.Rules[0].All, s.Rules[0].Actions = nil, []deskfolder.Action{{Type: "explode"}}
	s.Rules[1].After.Calendar = "Lunch"
	before := b.exported(b.desk)
	_, err := deskfolder.Apply(t.Context(), b.store, b.desk, s, deskfolder.Options{})
	for _, want := range []string{
		"tags.yaml: Billing: color: ", "calendars.yaml: Office: week mon: must be hours", "fields.yaml: conversation/order: type: ",
		`views.yaml: Repairs: there is no team "Nobody"`, "surveys.yaml: Under replies: mail: must be after_closing", "automatic-replies.yaml: Away: state: must be",
		"rules.yaml: Urgent repairs: actions[0][type]: ", `rules.yaml: Remind: there is no calendar "Lunch"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the error:\n%v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 8 {
		t.Errorf("%d problems, 8 expected:\n%v", n, err)
	}
	b.same(before, b.exported(b.desk))
}

// What something names that stays is not deleted.
func TestWidowed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(s *deskfolder.Setup)
		want   string
	}{
		"a saved reply of a rule": {
			func(s *deskfolder.Setup) { *s = deskfolder.Setup{SavedReplies: s.SavedReplies[:1]} }, "rules.yaml: Urgent repairs: names something that would be deleted",
		},
		"a team of a rule":         {func(s *deskfolder.Setup) { *s = deskfolder.Setup{Teams: s.Teams[:1]} }, "rules.yaml: Urgent repairs: "},
		"a tag of an SLA":          {func(s *deskfolder.Setup) { *s = deskfolder.Setup{Tags: s.Tags[:1]} }, "slas.yaml: VIP: "},
		"a calendar of a rule":     {func(s *deskfolder.Setup) { *s = deskfolder.Setup{Calendars: s.Calendars[:1]} }, "calendars.yaml: Office: "},
		"a field of a saved reply": {func(s *deskfolder.Setup) { *s = deskfolder.Setup{Fields: s.Fields[:1]} }, "fields.yaml: conversation/product: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t)
			b.apply(acme(t), deskfolder.Options{})
			before := b.exported(b.desk)
			s := acme(t)
			test.change(&s)
			_, planned := deskfolder.Plan(t.Context(), b.store, b.desk, s, deskfolder.Options{Delete: true})
			_, applied := deskfolder.Apply(t.Context(), b.store, b.desk, s, deskfolder.Options{Delete: true})
			for _, err := range []error{planned, applied} {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v, not %s", err, test.want)
				}
			}
			b.same(before, b.exported(b.desk))
		})
	}
}

// What a rule names may be gone: the rule can be exported, and the folder still changes nothing.
func TestGone(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.apply(acme(t), deskfolder.Options{})
	page, err := b.desk.Customers().List(t.Context(), helpdesk.CustomerQuery{}, storage.PageRequest{})
	b.must(err)
	b.must(b.desk.Customers().Delete(t.Context(), page.Items[0].ID, false))
	s, err := deskfolder.Export(t.Context(), b.desk)
	b.must(err)
	b.same(deskfolder.Values{"(deleted)"}, s.SLAs[0].Any[1].Value)
	b.same([]string(nil), b.plan(s, deskfolder.Options{Delete: true}))
}

func TestRead(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":     {map[string]string{"other.yaml": "a: b"}, "rules.yaml: there is neither this file nor any other one of a desk's folder"},
		"unknown key": {map[string]string{"tags.yaml": "- name: A\n  colour: red\n"}, "tags.yaml: line 2: unknown key colour"},
		"wrong type":  {map[string]string{"slas.yaml": "- name: A\n  first_reply: soon\n"}, "slas.yaml: line 2: unexpected !!str `soon`"},
		"no list":     {map[string]string{"tags.yaml": "name: A\n"}, "tags.yaml: line 1: unexpected !!map"},
		"twice":       {map[string]string{"tags.yaml": "- name: A\n- name: a\n"}, "tags.yaml: a: is there twice"},
		"no name":     {map[string]string{"rules.yaml": "- events: []\n"}, "rules.yaml: an item has no name"},
		"documents":   {map[string]string{"tags.yaml": "[]\n---\n[]\n"}, "tags.yaml: there is more than one YAML document in it"},
		"no YAML":     {map[string]string{"tags.yaml": "- \"a"}, "tags.yaml: found unexpected end of stream"},
		"two files":   {map[string]string{"tags.yaml": "- {}", "rules.yaml": "- {x: 1}"}, "tags.yaml: an item has no name\nrules.yaml: line 1: unknown key x"},
		"empty":       {map[string]string{"tags.yaml": ""}, ""},
		"null":        {map[string]string{"tags.yaml": "~\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for file, text := range test.files {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s, err := deskfolder.Read(os.DirFS(folder))
			got := ""
			if err != nil {
				got = err.Error()
			} else if s.Tags == nil || s.Rules != nil {
				t.Errorf("read %+v", s)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A folder with whatever text is refused with an error, or is saved and read again as the same.
func FuzzRead(f *testing.F) {
	for name := range files(&testing.T{}, os.DirFS(filepath.Join("testdata", "acme"))) {
		data, err := os.ReadFile(filepath.Join("testdata", "acme", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, string(data))
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		s, err := deskfolder.Read(fstest.MapFS{name: {Data: []byte(text)}})
		if err != nil {
			return
		}
		root, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if err := deskfolder.Save(s, root); err != nil {
			t.Fatal(err)
		}
		once := files(t, root.FS())
		again, err := deskfolder.Read(root.FS())
		if err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if err := deskfolder.Save(again, root); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(once, files(t, root.FS())); diff != "" {
			t.Error(diff)
		}
	})
}
