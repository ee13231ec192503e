package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/outbound"
	"github.com/helpwright/helpwright/helpdesk/rules"
	"github.com/helpwright/helpwright/kb"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/bunstore/sqlite"
	"github.com/helpwright/helpwright/storage/memblob"
	"github.com/helpwright/helpwright/storage/memstore"
	"github.com/helpwright/helpwright/transport/server"
)

// relay sends nothing.
type relay struct{}

func (relay) Send(_ context.Context, _ string, to []string, _ *outbound.Mail) ([]outbound.Result, error) {
	return make([]outbound.Result, len(to)), nil
}

// bundle is a server with an account, and its owner at work.
type bundle struct {
	t            *testing.T
	server       *server.Server
	url          string
	owner        identity.User
	desk         *helpdesk.Desk
	conversation helpdesk.Conversation
}

func newBundle(t *testing.T) *bundle {
	t.Helper()
	return bundleOf(t, memstore.New(), 0)
}

// bundleOf is a bundle on a store, with so much memory for all requests.
func bundleOf(t *testing.T, store helpdesk.Store, memory int64) *bundle {
	t.Helper()
	cfg := server.Config{Store: store, Blobs: memblob.New(), Keys: [][]byte{storage.NewSecretKey()}, Relay: relay{}, RateLimit: 300}
	cfg.API.Memory = memory
	srv, err := server.New(cfg)
	must(t, err)
	web := httptest.NewServer(srv.Handler())
	t.Cleanup(web.Close)
	b := &bundle{t: t, server: srv, url: web.URL + server.APIBase + "/accounts/"}
	operator := srv.Service().Operator()
	b.owner, err = operator.CreateUser(t.Context(), identity.UserInput{Name: "Olga", Email: "olga@example.org"})
	must(t, err)
	account, err := operator.CreateAccount(t.Context(), identity.AccountInput{Name: "Acme"}, b.owner.ID)
	must(t, err)
	b.desk, err = srv.Service().Desk(t.Context(), srv.Service().As(b.owner.ID), account.ID)
	must(t, err)
	_, err = b.desk.Mailboxes().Create(t.Context(), helpdesk.MailboxInput{Email: storage.Some("support@example.org")})
	must(t, err)
	b.conversation, err = b.desk.Conversations().Create(t.Context(), helpdesk.ConversationInput{
		Channel: "email", To: "ada@example.com", Subject: "The door is stuck",
		Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "<p>It <b>squeaks</b>, too.</p><p>Ada</p>"}},
	})
	must(t, err)
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// token is an access token of the owner; without scopes for all that they may.
func (b *bundle) token(scopes ...identity.Permission) string {
	b.t.Helper()
	_, secret, err := b.server.Service().Operator().CreateToken(b.t.Context(), b.owner.ID, identity.TokenInput{Name: "assistant", Scopes: scopes})
	must(b.t, err)
	return secret
}

// bearer adds a token to requests.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// connect is a session of the SDK's client at the endpoint of an account.
func (b *bundle) connect(account int64, token string) (*sdk.ClientSession, error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(b.t.Context(), &sdk.StreamableClientTransport{
		Endpoint: b.url + strconv.FormatInt(account, 10) + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, MaxRetries: -1, DisableStandaloneSSE: true,
	}, nil)
	if err == nil {
		b.t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

func (b *bundle) session(scopes ...identity.Permission) *sdk.ClientSession {
	b.t.Helper()
	session, err := b.connect(b.desk.AccountID(), b.token(scopes...))
	must(b.t, err)
	return session
}

// call calls a tool and reads its answer, or returns the error.
func call[Out any](t *testing.T, s *sdk.ClientSession, tool string, args map[string]any) (out Out, problem string) {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	must(t, err)
	text := res.Content[0].(*sdk.TextContent).Text
	if res.IsError {
		return out, text
	}
	must(t, json.Unmarshal([]byte(text), &out))
	return out, ""
}

func done[Out any](t *testing.T, s *sdk.ClientSession, tool string, args map[string]any) Out {
	t.Helper()
	out, problem := call[Out](t, s, tool, args)
	if problem != "" {
		t.Fatalf("%s: %s", tool, problem)
	}
	return out
}

type thread struct {
	Conversation struct {
		ID       int64
		Subject  string
		Status   string
		Customer string
		URL      string
	}
	Messages []struct {
		ID    int64
		From  string
		Text  string
		Draft bool
	}
	Seen int64
}

// Tools are those that the permissions of the token allow, and no others can be called.
func TestTools(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	const (
		find, read, note, draft, send = "search_conversations", "read_conversation", "add_note", "draft_answer", "send_draft"
		findArticle, readArticle      = "search_articles", "read_article"
		draftArticle                  = "draft_article"
		replies, macro, ruleList      = "list_saved_replies", "apply_macro", "list_rules"
	)
	for name, tt := range map[string]struct {
		scopes []identity.Permission
		want   []string
	}{
		"everything":            {nil, []string{note, macro, draft, draftArticle, ruleList, replies, readArticle, read, findArticle, find, send}},
		"reading":               {[]identity.Permission{identity.ConversationsView, identity.InteractionsView}, []string{replies, read, find}},
		"lists":                 {[]identity.Permission{identity.ConversationsView}, []string{find}},
		"drafts, no sending":    {[]identity.Permission{identity.ConversationsView, identity.InteractionsView, identity.InteractionsCreate}, []string{note, draft, replies, read, find}},
		"notes":                 {[]identity.Permission{identity.NotesCreate}, []string{note}},
		"articles":              {[]identity.Permission{identity.Permission(kb.SitesView), identity.Permission(kb.ArticlesView)}, []string{readArticle, findArticle}},
		"nothing of it":         {[]identity.Permission{identity.WebhooksView}, nil},
		"sending needs reading": {[]identity.Permission{identity.InteractionsCreate, identity.InteractionsUpdate}, []string{note, draft}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := b.session(tt.scopes...)
			list, err := s.ListTools(t.Context(), nil)
			must(t, err)
			var got []string
			for _, tool := range list.Tools {
				got = append(got, tool.Name)
				if tool.Description == "" || tool.Annotations == nil || tool.OutputSchema == nil {
					t.Errorf("%s says too little of itself", tool.Name)
				}
				if dangerous := *tool.Annotations.OpenWorldHint; dangerous != (tool.Name == send) {
					t.Errorf("%s reaches outside: %t", tool.Name, dangerous)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			for _, tool := range []string{find, read, note, draft, send, findArticle, readArticle, draftArticle, replies, macro, ruleList} {
				if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{}}); !slices.Contains(tt.want, tool) && err == nil {
					t.Errorf("%s can be called", tool)
				}
			}
		})
	}
}

// An assistant reads macros and rules, and applies a macro in its member's name.
func TestMacro(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	act := []rules.Action{{Type: rules.SetPriority, Values: []string{"low"}}}
	m, err := b.desk.SavedReplies().Create(t.Context(), helpdesk.SavedReplyInput{Name: "Later", Body: "<p>Later.</p>", Actions: storage.Some(act)})
	must(t, err)
	_, err = b.desk.Rules().Create(t.Context(), helpdesk.RuleInput{
		Name: storage.Some("Calm"), On: storage.Some([]string{"conversation.created"}), Actions: storage.Some(act),
		All: storage.Some([]rules.Condition{{Field: rules.FieldSubject, Op: rules.Contains, Values: []string{"hurry"}}}),
	})
	must(t, err)
	s := b.session()
	type action struct {
		Type   string
		Values []string
	}
	listed := done[struct {
		Replies []struct {
			ID      int64
			Text    string
			Actions []action
		} `json:"saved_replies"`
	}](t, s, "list_saved_replies", nil)
	want := []action{{"set_priority", []string{"low"}}}
	if len(listed.Replies) != 1 || listed.Replies[0].ID != m.ID || listed.Replies[0].Text != "Later." || !cmp.Equal(listed.Replies[0].Actions, want) {
		t.Errorf("%+v", listed)
	}
	found := done[struct {
		Rules []struct {
			Name    string
			All     []struct{ Field, Op string }
			Actions []action
		}
	}](t, s, "list_rules", nil)
	if len(found.Rules) != 1 || found.Rules[0].All[0].Op != "contains" || !cmp.Equal(found.Rules[0].Actions, want) {
		t.Errorf("%+v", found)
	}
	args := map[string]any{"conversation_id": b.conversation.ID, "saved_reply_id": m.ID}
	if c := done[struct{ Priority string }](t, s, "apply_macro", args); c.Priority != "low" {
		t.Errorf("priority is %s", c.Priority)
	}
	args["saved_reply_id"] = 99
	if _, problem := call[struct{}](t, s, "apply_macro", args); problem == "" {
		t.Error("a macro that is not there is applied")
	}
}

// An assistant finds a conversation, drafts an answer and, told so, sends it once.
func TestAnswer(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	s := b.session()
	type page struct {
		Conversations []struct{ ID int64 }
	}
	id := b.conversation.ID
	for words, want := range map[string]int{"squeaks": 1, "ada@example.com": 1, "window": 0, "": 1} {
		got := done[page](t, s, "search_conversations", map[string]any{"words": words, "status": []string{"open"}, "waiting": true})
		if len(got.Conversations) != want || want == 1 && got.Conversations[0].ID != id {
			t.Errorf("%q: %+v", words, got)
		}
	}
	drafted := done[struct{ ID int64 }](t, s, "draft_answer", map[string]any{"conversation_id": id, "text": "Oil it.\n\n<b>Olga</b>"})
	done[struct{ ID int64 }](t, s, "add_note", map[string]any{"conversation_id": id, "text": "She has two doors."})
	got := done[thread](t, s, "read_conversation", map[string]any{"conversation_id": id})
	var said []string
	for _, m := range got.Messages {
		said = append(said, m.From+": "+m.Text)
	}
	want := []string{"customer: It squeaks, too.\n\nAda", "team: Oil it.\n\n<b>Olga</b>", "note: She has two doors."}
	if diff := cmp.Diff(want, said); diff != "" || !got.Messages[1].Draft || got.Conversation.Status != "open" || got.Conversation.Customer != "ada@example.com" {
		t.Errorf("%+v: %s", got, diff)
	}
	if want := "/desk/a/1/c/" + strconv.FormatInt(id, 10); !strings.HasSuffix(got.Conversation.URL, want) {
		t.Errorf("the conversation is at %s", got.Conversation.URL)
	}

	args := map[string]any{"conversation_id": id, "draft_id": drafted.ID, "seen": got.Seen}
	_, err := b.desk.Interactions().Create(t.Context(), id, helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: "Never mind!"})
	must(t, err)
	if _, problem := call[struct{}](t, s, "send_draft", args); problem == "" {
		t.Error("it was sent although the customer has written since")
	}
	args["seen"] = done[thread](t, s, "read_conversation", map[string]any{"conversation_id": id}).Seen
	var sending sync.WaitGroup
	for range 4 {
		sending.Go(func() { _, _ = s.CallTool(t.Context(), &sdk.CallToolParams{Name: "send_draft", Arguments: args}) })
	}
	sending.Wait()
	if _, problem := call[struct{}](t, s, "send_draft", args); !strings.Contains(problem, "already have been sent") {
		t.Errorf("it can be sent again: %s", problem)
	}
	all, err := b.desk.Interactions().List(t.Context(), id, storage.PageRequest{})
	must(t, err)
	posted := 0
	for _, i := range all.Items {
		if i.Type == helpdesk.TypeUser && i.Status == helpdesk.StatusPosted {
			posted++
		}
	}
	if posted != 1 {
		t.Errorf("%d answers", posted)
	}
}

// What is due is found, the most pressing first, and said of a conversation.
func TestDue(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	s := b.session()
	_, err := b.desk.SLAs().Create(t.Context(), helpdesk.SLAInput{
		Name: storage.Some("Gold"), FirstReply: storage.Some(60 * 24 * 3), Resolution: storage.Some(60 * 24 * 9),
	})
	must(t, err)
	ask := func(priority helpdesk.Priority) int64 {
		made, err := b.desk.Conversations().Create(t.Context(), helpdesk.ConversationInput{
			Channel: "email", To: "ada@example.com", Priority: priority, Interactions: []helpdesk.InteractionInput{{Type: helpdesk.TypeCustomer, Body: "Is it open?"}},
		})
		must(t, err)
		return made.ID
	}
	first := ask(helpdesk.PriorityNormal)
	_, err = b.desk.SLAs().Create(t.Context(), helpdesk.SLAInput{
		Name: storage.Some("Urgent"), Position: storage.Some[int64](1), FirstReply: storage.Some(60 * 48),
		All: storage.Some([]rules.Condition{{Field: "priority", Op: rules.Is, Values: []string{"urgent"}}}),
	})
	must(t, err)
	second := ask(helpdesk.PriorityUrgent)
	type page struct {
		Conversations []struct {
			ID      int64
			DueAt   string `json:"due_at"`
			Targets []struct{ Kind, State string }
		}
	}
	for name, tt := range map[string]struct {
		args map[string]any
		want []int64
	}{
		"any":                 {map[string]any{"due": "any"}, []int64{second, first}},
		"overdue":             {map[string]any{"due": "breached"}, nil},
		"soon":                {map[string]any{"due": "soon"}, nil},
		"today":               {map[string]any{"due": "today", "timezone": "Asia/Tokyo"}, nil},
		"newest that is due":  {map[string]any{"due": "any", "sort": "newest"}, []int64{second, first}},
		"the rest comes last": {map[string]any{"sort": "due"}, []int64{second, first, b.conversation.ID}},
	} {
		var got []int64
		found := done[page](t, s, "search_conversations", tt.args)
		for _, c := range found.Conversations {
			got = append(got, c.ID)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if name == "any" && (len(got) != 2 || found.Conversations[1].DueAt == "" || len(found.Conversations[1].Targets) != 2 || found.Conversations[1].Targets[1].Kind != "resolution" || found.Conversations[0].Targets[0].State != "running") {
			t.Errorf("%+v", found)
		}
	}
}

// Failures are explained in words, and change nothing.
func TestProblems(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	s := b.session()
	id := b.conversation.ID
	other, err := b.server.Service().Operator().CreateAccount(t.Context(), identity.AccountInput{Name: "Other"}, b.owner.ID)
	must(t, err)
	sites, err := b.server.KB().Sites(b.server.Service().As(b.owner.ID))
	must(t, err)
	elsewhere, err := sites.Create(t.Context(), kb.SiteInput{AccountID: other.ID, Name: "Help", Path: storage.Some("other")})
	must(t, err)
	for name, tt := range map[string]struct {
		tool string
		args map[string]any
		says string
	}{
		"a blank draft":             {"draft_answer", map[string]any{"conversation_id": id, "text": " \n "}, "text: is required"},
		"a draft beyond the limit":  {"draft_answer", map[string]any{"conversation_id": id, "text": strings.Repeat("x", 2<<20)}, "1 MiB"},
		"a note to nothing":         {"add_note", map[string]any{"conversation_id": 999, "text": "x"}, "no such conversation"},
		"no such status":            {"search_conversations", map[string]any{"status": []string{"posted"}}, "status: must be open, pending or closed"},
		"no such time":              {"search_conversations", map[string]any{"due": "never"}, "due: must be soon, breached, today or any"},
		"no such order":             {"search_conversations", map[string]any{"sort": "id"}, "sort: must be newest, waiting or due"},
		"no such zone":              {"search_conversations", map[string]any{"timezone": "Local"}, "timezone: must be"},
		"a cursor of nothing":       {"search_conversations", map[string]any{"cursor": "x"}, "cursor"},
		"a site of another account": {"search_articles", map[string]any{"words": "x", "site_id": elsewhere.ID}, "no such site"},
		"what a customer wrote":     {"send_draft", map[string]any{"conversation_id": id, "draft_id": 1, "seen": 1}, "not a draft reply"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, problem := call[struct{}](t, s, tt.tool, tt.args); !strings.Contains(problem, tt.says) {
				t.Errorf("%q, want %q", problem, tt.says)
			}
		})
	}
}

// An assistant finds and reads articles, and its drafts are not shown to readers.
func TestArticles(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	s := b.session()
	if _, problem := call[struct{}](t, s, "search_articles", map[string]any{"words": "oil"}); problem == "" {
		t.Error("there is a help centre")
	}
	caller := b.server.Service().As(b.owner.ID)
	sites, err := b.server.KB().Sites(caller)
	must(t, err)
	site, err := sites.Create(t.Context(), kb.SiteInput{AccountID: b.desk.AccountID(), Name: "Help", Path: storage.Some("help")})
	must(t, err)
	editor, err := b.server.KB().Editor(t.Context(), caller, site.ID)
	must(t, err)
	if _, problem := call[struct{}](t, s, "draft_article", map[string]any{"title": "Doors", "markdown": "Oil them."}); !strings.Contains(problem, "collection_id") {
		t.Errorf("without a collection: %s", problem)
	}
	_, err = editor.CreateCollection(t.Context(), kb.CollectionInput{TextInput: kb.TextInput{
		SourceLocale: "en", Translations: map[string]storage.Opt[kb.TranslationInput]{"en": storage.Some(kb.TranslationInput{Title: storage.Some("Doors")})},
	}})
	must(t, err)
	made := done[struct{ ID int64 }](t, s, "draft_article", map[string]any{"title": "Oil a door", "markdown": "# How\n\nWith *oil*."})
	type article struct {
		Title     string
		Text      string
		Published bool
	}
	read := func(draft bool) article {
		t.Helper()
		return done[article](t, s, "read_article", map[string]any{"article_id": made.ID, "draft": draft})
	}
	if diff := cmp.Diff(article{"Oil a door", "# How\n\nWith *oil*.", false}, read(false)); diff != "" {
		t.Error(diff)
	}
	_, err = editor.UpdateArticle(t.Context(), made.ID, kb.ArticleInput{Status: storage.Some(kb.Published), CollectionID: 1, TextInput: kb.TextInput{SourceLocale: "en"}})
	must(t, err)
	done[struct{ ID int64 }](t, s, "draft_article", map[string]any{"article_id": made.ID, "markdown": "With *wax*."})
	if diff := cmp.Diff([]article{{"Oil a door", "# How\n\nWith *oil*.", true}, {"Oil a door", "With *wax*.", false}}, []article{read(false), read(true)}); diff != "" {
		t.Error(diff)
	}
	type page struct {
		Articles []struct {
			Title, Snippet string
			Published      bool
		}
	}
	got := done[page](t, s, "search_articles", map[string]any{"words": "oil"})
	if len(got.Articles) != 1 || !got.Articles[0].Published || !strings.Contains(got.Articles[0].Snippet, "With oil") {
		t.Errorf("%+v", got)
	}
}

// Requests without a token, for another account or from a page of another origin get nothing, and guessing is slowed down.
func TestRefused(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	token := b.token()
	for name, tt := range map[string]struct {
		account       int64
		token, origin string
		want          int
	}{
		"a member":            {b.desk.AccountID(), token, "", http.StatusOK},
		"no token":            {b.desk.AccountID(), "", "", http.StatusUnauthorized},
		"a wrong token":       {b.desk.AccountID(), "wrong", "", http.StatusUnauthorized},
		"another account":     {99, token, "", http.StatusNotFound},
		"a page of elsewhere": {b.desk.AccountID(), token, "https://evil.example", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := b.post(tt.account, tt.token, tt.origin); got != tt.want {
				t.Errorf("status %d, want %d", got, tt.want)
			}
		})
	}
}

// Reads by assistants count like those of the API, so many of them cannot exhaust the memory.
func TestMemory(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "help.db"), bunstore.Config{})
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	must(t, db.Migrate(t.Context()))
	b := bundleOf(t, db, 16<<20)
	for range 10 {
		_, err := b.desk.Interactions().Create(t.Context(), b.conversation.ID, helpdesk.InteractionInput{Type: helpdesk.TypeCustomer, Body: strings.Repeat("It still squeaks. ", 20_000)})
		must(t, err)
	}
	s := b.session()
	ids := map[int64]bool{}
	for cursor := ""; ; {
		got := done[struct {
			Messages   []struct{ ID int64 }
			NextCursor string `json:"next_cursor"`
		}](t, s, "read_conversation", map[string]any{"conversation_id": b.conversation.ID, "cursor": cursor})
		if len(got.Messages) > 5 {
			t.Errorf("%d messages at once", len(got.Messages))
		}
		for _, m := range got.Messages {
			ids[m.ID] = true
		}
		if cursor = got.NextCursor; cursor == "" {
			break
		}
	}
	if len(ids) != 11 {
		t.Errorf("%d messages", len(ids))
	}
}

// Guessing tokens is limited by the address, whatever the guesses are.
func TestGuesses(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	refused := 0
	for i := range 400 {
		switch got := b.post(b.desk.AccountID(), "guess-"+strconv.Itoa(i), ""); got {
		case http.StatusUnauthorized:
			refused++
		case http.StatusTooManyRequests:
			if refused < 200 {
				t.Errorf("after %d", refused)
			}
			return
		default:
			t.Fatalf("status %d", got)
		}
	}
	t.Errorf("%d guesses were answered", refused)
}

// post sends a request of the protocol and returns the status.
func (b *bundle) post(account int64, token, origin string) int {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+strconv.FormatInt(account, 10)+"/mcp",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	must(b.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	res, err := http.DefaultClient.Do(req)
	must(b.t, err)
	must(b.t, res.Body.Close())
	return res.StatusCode
}
