package desk

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// entry is an entry of a thread: a message, a note or an event.
type entry struct {
	ID     int64
	Kind   string // customer, agent, note, event or events
	Person person
	To     string
	Time   string
	Full   string
	At     time.Time

	Text  string // of an event
	Icon  string
	Lines []line // of an event, or several

	Preview    string
	Folded     bool
	New        bool
	HTML       template.HTML
	Ending     template.HTML // of an answer: the signature in its mail
	Frame      string        // address of a designed mail; "" if HTML is shown
	Remote     int           // number of images on other servers
	RemoteURL  string
	Files      []fileView
	Deliveries []deliveryView
	Failed     bool
	Waiting    bool // it can be called back
	Link       string
	Article    string // address for starting an article with it; "" for none
	CallBack   string
	Later      bool // it is scheduled for a chosen time
	SendNow    string
	Retry      string
	Trust      string // a warning about the sender
	TrustGood  string
	Cc         string // who else got it openly
	Automatic  bool   // an automatic reply, or what a rule wrote
	Auto       string // which automatic reply or rule; "" if it is gone
	AutoURL    string
}

type fileView struct {
	ID              int64
	Name, Size, URL string
	Image           bool
	Remove          string
}

type deliveryView struct {
	State, Icon, Text string
	Detail            string
}

const (
	// maxThread is the maximum number of interactions that a page reads.
	maxThread = 500
	// manyEntries is the length from which the middle of a thread is folded.
	manyEntries = 30
)

// interactions returns the interactions of a conversation, oldest first.
func (v *visit) interactions(id int64) ([]helpdesk.Interaction, error) {
	var all []helpdesk.Interaction
	for cursor := ""; ; {
		page, err := v.Interactions().List(v.ctx(), id, storage.PageRequest{Limit: storage.MaxLimit, Cursor: cursor})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if cursor = page.Next; cursor == "" || len(all) >= maxThread {
			return all, nil
		}
	}
}

// fillThread fills in the messages and, between them, the events of the conversation.
func (v *visit) fillThread(c helpdesk.Conversation, view *conversationView) error {
	if !v.may(identity.InteractionsView) {
		return nil
	}
	all, err := v.interactions(c.ID)
	if err != nil {
		return err
	}
	shown := slices.DeleteFunc(slices.Clone(all), func(i helpdesk.Interaction) bool { return i.Status == helpdesk.StatusDraft })
	entries, err := v.messages(c, shown, int(view.marks.Unread))
	if err != nil {
		return err
	}
	events, err := v.happened(c, entries)
	if err != nil {
		return err
	}
	view.Entries = append(entries, events...)
	slices.SortStableFunc(view.Entries, func(a, b entry) int { return a.At.Compare(b.At) })
	view.Entries = v.foldChanges(view.Entries)
	wanted := v.unfold(view.Entries)
	if len(view.Entries) > manyEntries && wanted < 0 && v.r.URL.Query().Get("all") == "" {
		view.Hidden = len(view.Entries) - manyEntries
		view.Entries = append([]entry{view.Entries[0]}, view.Entries[view.Hidden+1:]...)
		view.Whole = v.at("/c/"+itoa(c.ID)) + "?all=1&in=" + url.QueryEscape(view.In)
	}
	view.all, view.Seen = all, helpdesk.NewestSeen(all)
	others, err := v.others(view.marks.Presence)
	view.Others = others[c.ID]
	return err
}

// unfold opens the message that the address selects, as links in notifications do, and returns its position: -1 if there is
// none, or none is selected.
func (v *visit) unfold(entries []entry) int {
	asked := number(v.r.URL.Query().Get("m"))
	at := slices.IndexFunc(entries, func(e entry) bool { return asked != 0 && e.ID == asked })
	if at >= 0 {
		entries[at].Folded = false
	}
	return at
}

func (v *visit) messages(c helpdesk.Conversation, list []helpdesk.Interaction, unread int) ([]entry, error) {
	ids, users := make([]int64, len(list)), make([]int64, len(list))
	for n, i := range list {
		ids[n], users[n] = i.ID, cmp.Or(i.PostedByID, i.UserID)
	}
	people, err := v.people(users)
	if err != nil {
		return nil, err
	}
	files, err := v.filesOf(ids)
	if err != nil {
		return nil, err
	}
	deliveries, err := v.deliveriesOf(list)
	if err != nil {
		return nil, err
	}
	bodies, err := v.Interactions().Show(v.ctx(), list, v.bodyView(false))
	if err != nil {
		return nil, err
	}
	asked := number(v.r.URL.Query().Get("images"))
	if n := slices.IndexFunc(list, func(i helpdesk.Interaction) bool { return i.ID == asked }); n >= 0 {
		shown, err := v.Interactions().Show(v.ctx(), list[n:n+1], v.bodyView(true))
		if err != nil {
			return nil, err
		}
		bodies[n] = shown[0]
	}
	entries := make([]entry, len(list))
	for n, i := range list {
		bodies[n].HTML = withoutGaps(bodies[n].HTML)
		e := v.message(c, i, people)
		e.show(v, i, bodies[n], append(passedOn(i, files), files[i.ID]...))
		v.showDeliveries(&e, i, deliveries[i.ID])
		entries[n] = e
	}
	v.fold(entries, list, unread)
	if err := v.explainAutomatic(entries, list); err != nil {
		return nil, err
	}
	return entries, v.explainByRule(list, entries)
}

// fold folds the messages that the member has read, except the last two.
func (v *visit) fold(entries []entry, list []helpdesk.Interaction, unread int) {
	first := len(list)
	for n, i := range slices.Backward(list) {
		if unread > 0 && i.Type == helpdesk.TypeCustomer {
			entries[n].New, first = true, n
			unread--
		}
	}
	open := 0
	for n := range slices.Backward(entries) {
		keep := n >= first || open < 2 || entries[n].Failed || entries[n].Kind == "note" && n >= len(entries)-4
		if keep && entries[n].Kind != "note" {
			open++
		}
		entries[n].Folded = !keep
	}
}

func (v *visit) message(c helpdesk.Conversation, i helpdesk.Interaction, people map[int64]person) entry {
	e := entry{ID: i.ID, At: i.At, Time: v.when(i.At), Full: v.full(i.At), Link: v.at(fmt.Sprintf("/c/%d/i/%d", c.ID, i.ID))}
	switch i.Type {
	case helpdesk.TypeCustomer:
		e.Kind, e.Person, e.Cc = "customer", v.author(i), copied(i)
		e.Trust, e.TrustGood = v.trust(i)
	case helpdesk.TypeNote:
		e.Kind = "note"
	default:
		e.Kind, e.To = "agent", v.words.T("to %s", v.words.list(i.To))
		e.Cc = copied(i)
		if i.IsForward {
			e.To = v.words.T("forwarded to %s", v.words.list(i.To))
		}
	}
	if e.Kind != "customer" {
		p, ok := people[cmp.Or(i.PostedByID, i.UserID)]
		switch {
		case ok:
		case len(i.Mail.From) > 0: // of an archive
			p = newPerson(0, cmp.Or(i.Mail.From[0].Name, i.Mail.From[0].Email), "")
		default:
			p = newPerson(0, v.words.T("Former member"), "")
		}
		e.Person = p
	}
	if i.Automatic() {
		e.Automatic, e.Person = true, newPerson(0, v.words.T("Automatic reply"), "")
	}
	e.Preview = mailhtml.Preview(i.Body, 200, true)
	return e
}

// copied returns the addresses in Cc, with names as far as they are known.
func copied(i helpdesk.Interaction) string {
	if len(i.Mail.Cc) == 0 || i.Mail.Forwarded.UserID != 0 {
		return strings.Join(i.Cc, ", ")
	}
	var all []string
	for _, a := range i.Mail.Cc {
		all = append(all, cmp.Or(a.Name, a.Email))
	}
	return strings.Join(all, ", ")
}

// author returns the author of a customer's message.
func (v *visit) author(i helpdesk.Interaction) person {
	name, address := "", i.CustomerEmail
	if len(i.Mail.From) > 0 {
		name, address = i.Mail.From[0].Name, cmp.Or(i.Mail.From[0].Email, address)
	}
	if f := i.Mail.Forwarded; f.From.Email != "" {
		name, address = f.From.Name, f.From.Email
	}
	return newPerson(i.CustomerID, cmp.Or(name, address, v.words.T("Unknown sender")), mailaddr.Key(cmp.Or(i.CustomerEmail, address)))
}

// trust describes how well the sender of a mail is authenticated, if that is worth a note.
func (v *visit) trust(i helpdesk.Interaction) (warning, good string) {
	switch {
	case i.Authentication.Refused():
		return v.words.T("The sender could not be verified."), ""
	case i.Authentication.FromGuessed:
		return v.words.T("It is not clear who sent this email."), ""
	case i.Security.Signature == ledger.SignatureValid:
		return "", v.words.T("Signed")
	}
	return "", ""
}

// show sets the body of an entry. Designed mails get a frame of their own.
func (e *entry) show(v *visit, i helpdesk.Interaction, body helpdesk.ShownBody, files []helpdesk.Attachment) {
	if i.Type == helpdesk.TypeUser && v.writesArticles() {
		e.Article = v.at("/help/write") + "?conversation=" + itoa(i.ConversationID) + "&answer=" + itoa(i.ID)
	}
	if body.RemoteImages > 0 && v.r.URL.Query().Get("images") != itoa(i.ID) {
		e.Remote = body.RemoteImages
		e.RemoteURL = v.at(fmt.Sprintf("/c/%d", i.ConversationID)) + "?images=" + itoa(i.ID) + "&in=" + url.QueryEscape(v.r.URL.Query().Get("in")) + "#m" + itoa(i.ID)
	}
	if i.Type == helpdesk.TypeCustomer && designed(body.HTML) {
		e.Frame = v.at(fmt.Sprintf("/c/%d/i/%d/body", i.ConversationID, i.ID))
		if e.Remote == 0 && body.RemoteImages > 0 {
			e.Frame += "?images=1"
		}
	} else {
		e.HTML, e.Ending = safeHTML(plainStyle(body.HTML)), showEnding(i.Ending.Signature)
		if i.Type == helpdesk.TypeNote {
			e.HTML = safeHTML(v.chips(plainStyle(body.HTML)))
		}
	}
	for _, f := range files {
		if !f.IsInline {
			e.Files = append(e.Files, v.showFile(f))
		}
	}
}

// withoutGaps removes the addresses of inline images that are missing from the mail: a browser cannot load them.
func withoutGaps(body string) string {
	return mailhtml.RewriteImages(body, func(src string) string {
		if scheme, _, _ := strings.Cut(src, ":"); strings.EqualFold(strings.TrimSpace(scheme), "cid") {
			return ""
		}
		return src
	})
}

func (v *visit) showFile(f helpdesk.Attachment) fileView {
	at := v.fileURL(f, "")
	return fileView{
		ID: f.ID, Name: f.Filename, Size: f.SizeHuman(), URL: at, Remove: at + "/remove",
		Image: shownImage(f.ContentType, f.Size),
	}
}

// shownImage reports whether a file is an image that a page shows.
func shownImage(contentType string, size int64) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"}, contentType) && size < 10<<20
}

func (v *visit) fileURL(f helpdesk.Attachment, key string) string {
	at := v.at(fmt.Sprintf("/c/%d/i/%d/files/%d", f.ConversationID, f.InteractionID, f.ID))
	if key != "" {
		at += "?key=" + key
	}
	return at
}

// bodyView shows images of mails under addresses of the desk. Images on other servers are blocked, or loaded through the
// proxy.
func (v *visit) bodyView(remote bool) helpdesk.BodyView {
	view := helpdesk.BodyView{Fold: true, AttachmentURL: v.fileURL, RemoteImages: identity.BlockImages}
	if remote {
		view.RemoteImages = identity.ProxyImages
		view.ProxyURL = func(token string) string { return v.at("/image/" + token) }
	}
	return view
}

func (v *visit) filesOf(ids []int64) (map[int64][]helpdesk.Attachment, error) {
	files := map[int64][]helpdesk.Attachment{}
	found, err := v.Attachments().Of(v.ctx(), ids)
	for _, f := range found {
		files[f.InteractionID] = append(files[f.InteractionID], f)
	}
	return files, err
}

func (v *visit) deliveriesOf(list []helpdesk.Interaction) (map[int64][]sending.Delivery, error) {
	var ids []int64
	for _, i := range list {
		if i.Type == helpdesk.TypeUser {
			ids = append(ids, i.ID)
		}
	}
	found, err := v.Interactions().Deliveries(v.ctx(), ids)
	deliveries := map[int64][]sending.Delivery{}
	for _, d := range found {
		deliveries[d.InteractionID] = append(deliveries[d.InteractionID], d)
	}
	return deliveries, err
}

// showDeliveries shows the state of delivery to each recipient.
func (v *visit) showDeliveries(e *entry, i helpdesk.Interaction, list []sending.Delivery) {
	if i.Type != helpdesk.TypeUser {
		return
	}
	if i.Scheduled() {
		v.showLater(e, i)
		return
	}
	base := v.at(fmt.Sprintf("/c/%d/i/%d", i.ConversationID, i.ID))
	for _, d := range list {
		shown := v.delivery(d, i)
		if shown.State == "bad" {
			e.Failed, e.Retry = true, base+"/retry"
		}
		e.Deliveries = append(e.Deliveries, shown)
	}
	hold := i.PostedAt.Add(v.account.SendHold)
	if i.SendStartedAt.IsZero() && len(list) > 0 && v.now.Before(hold) {
		e.Waiting, e.CallBack = true, base+"/back"
		e.Deliveries = []deliveryView{{State: "wait", Icon: "clock", Text: v.words.T("Sends in %s s", int(hold.Sub(v.now).Seconds())+1)}}
	}
}

func (v *visit) delivery(d sending.Delivery, i helpdesk.Interaction) deliveryView {
	reason := d.Response
	switch d.State {
	case sending.Sent:
		if d.Spooled() {
			return deliveryView{State: "warn", Icon: "alert", Text: v.words.T("Not sent: no outgoing mail is set up"), Detail: v.words.T("to %s", d.Address)}
		}
		return deliveryView{State: "ok", Icon: "check", Text: v.words.T("Sent"), Detail: v.words.T("to %s at %s", d.Address, v.when(d.UpdatedAt))}
	case sending.Delivered:
		return deliveryView{State: "ok", Icon: "check", Text: v.words.T("Delivered"), Detail: v.words.T("to %s at %s", d.Address, v.when(d.UpdatedAt))}
	case sending.Deferred:
		return deliveryView{State: "wait", Icon: "refresh", Text: v.words.T("Trying again at %s", v.when(d.NextAttemptAt)), Detail: v.words.T("%s: %s", d.Address, reason)}
	case sending.Failed, sending.Bounced:
		return deliveryView{State: "bad", Icon: "alert", Text: v.words.T("Not delivered to %s", d.Address), Detail: reason}
	case sending.Suppressed:
		return deliveryView{State: "bad", Icon: "alert", Text: v.words.T("Not sent to %s", d.Address), Detail: v.words.T("This address is suppressed.")}
	case sending.Queued:
	}
	return deliveryView{State: "wait", Icon: "clock", Text: v.words.T("On its way"), Detail: v.words.T("to %s", d.Address)}
}

// retry tries to deliver an answer again.
func (v *visit) retry() error {
	if _, err := v.Interactions().RetryDeliveries(v.ctx(), v.number("id"), v.number("i")); err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("Trying again now")})
	return v.see(v.back(v.at("/c/" + v.r.PathValue("id"))))
}

// callBack turns an answer that is not sent yet into a draft again. If it is a draft already, as when the browser repeats
// the form after a lost connection, it is not an error.
func (v *visit) callBack() error {
	_, err := v.Interactions().CancelSending(v.ctx(), v.number("id"), v.number("i"))
	if fault.Is(err, fault.Conflict) {
		if i, known := v.Interactions().Get(v.ctx(), v.number("id"), v.number("i")); known == nil && i.Status == helpdesk.StatusDraft {
			err = nil
		}
	}
	if err != nil {
		return err
	}
	v.say(toast{Text: v.words.T("The reply is a draft again")})
	return v.see(v.back(v.at("/c/" + v.r.PathValue("id"))))
}

// mailView is a mail with its header.
type mailView struct {
	Back    string
	HTML    string // address of it
	Source  string // address of the mail's source; "" if it did not arrive by mail
	Subject string
	Fields  [][2]string
	Words   []string

	Misplaced *misplacedView // nil if the member may not move it
}

// mail shows the header of a mail, and why it is in this conversation.
func (v *visit) mail() error {
	i, err := v.Interactions().Get(v.ctx(), v.number("id"), v.number("i"))
	if err != nil {
		return err
	}
	why, err := v.Interactions().ExplainThreading(v.ctx(), i.ConversationID, i.ID)
	if err != nil {
		return err
	}
	c, err := v.Conversations().Get(v.ctx(), i.ConversationID)
	if err != nil {
		return err
	}
	view := mailView{Back: v.at("/c/"+itoa(c.ID)) + "#m" + itoa(i.ID), HTML: v.at(fmt.Sprintf("/c/%d/i/%d/html", c.ID, i.ID)), Subject: cmp.Or(i.Subject, c.Subject), Words: why.Words}
	if view.Misplaced, err = v.misplaced(i); err != nil {
		return err
	}
	if i.Mail.Date != (time.Time{}) || len(i.Mail.From) > 0 || i.Threading.Rule != "" {
		view.Source = v.at(fmt.Sprintf("/c/%d/i/%d/source", c.ID, i.ID))
	}
	add := func(name, value string) {
		if value != "" {
			view.Fields = append(view.Fields, [2]string{name, value})
		}
	}
	w := v.words
	add(w.T("From"), addresses(i.Mail.From))
	add(w.T("Sender"), addresses([]mailaddr.Address{i.Mail.Sender}))
	add(w.T("Reply to"), addresses(i.Mail.ReplyTo))
	add(w.T("To"), cmp.Or(addresses(i.Mail.To), strings.Join(i.To, ", ")))
	add(w.T("Cc"), cmp.Or(addresses(i.Mail.Cc), strings.Join(i.Cc, ", ")))
	add(w.T("Bcc"), strings.Join(i.Bcc, ", "))
	for _, t := range []struct {
		name string
		at   time.Time
	}{{w.T("Date, as sent"), i.Mail.Date}, {w.T("Received"), i.ReceivedAt}, {w.T("Sent"), i.PostedAt}, {w.T("Seen"), i.SeenAt}} {
		if !t.at.IsZero() && (t.at != i.PostedAt || i.Type == helpdesk.TypeUser) {
			add(t.name, v.full(t.at))
		}
	}
	if i.MessageID != "" {
		add("Message-ID", "<"+i.MessageID+">")
	}
	if len(i.References) > 0 {
		add("References", "<"+strings.Join(i.References, "> <")+">")
	}
	if i.Authentication.Source != "" {
		add("SPF", i.Authentication.SPF.Result)
		add("DMARC", i.Authentication.DMARC.Result)
	}
	return v.show(screen{template: "mail", title: w.T("Email details"), data: view})
}

func addresses(list []mailaddr.Address) string {
	var out []string
	for _, a := range list {
		switch {
		case a.Name != "" && a.Email != "":
			out = append(out, a.Name+" <"+a.Email+">")
		case a.Email != "":
			out = append(out, a.Email)
		}
	}
	return strings.Join(out, ", ")
}

// html shows the HTML of a message as text.
func (v *visit) html() error {
	i, err := v.Interactions().Get(v.ctx(), v.number("id"), v.number("i"))
	if err != nil {
		return err
	}
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.w.WriteHeader(http.StatusOK)
	_, _ = v.w.Write([]byte(i.Body)) // the browser may have disconnected
	return nil
}
