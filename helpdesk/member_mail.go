package helpdesk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/filetype"
	"github.com/helpwright/helpwright/storage/plain"
)

// MemberMail records a member's command mail, so that each is executed only once. It also records mails to the member, to
// limit their number per hour.
type MemberMail struct {
	ID        int64
	UserID    int64
	Key       string // of the mail; unique among the user's
	InboundID int64  // its ledger row; 0: it was sent to the member
	Outcome   MemberMailOutcome
	CreatedAt time.Time
}

// MemberMailOutcome is the result of a member's command mail.
type MemberMailOutcome string

// The outcomes of command mails.
const (
	MemberMailDone     MemberMailOutcome = "done"     // executed
	MemberMailReturned MemberMailOutcome = "returned" // returned to the member, whose authorship was proven
	MemberMailUnproven MemberMailOutcome = "unproven" // its authorship was not proven, and the member was notified
	MemberMailTold     MemberMailOutcome = "told"     // a notification mail to the member
)

// UniqueMemberMail is the code of a store's Conflict fault for a duplicate (account, UserID, Key).
const UniqueMemberMail = "member_mail"

func memberMailNoun() storage.Declared[MemberMail, MemberMailFilter] {
	return storage.Declared[MemberMail, MemberMailFilter]{
		Noun: storage.Noun[MemberMail]{
			Name: "member mail",
			ID:   func(t *MemberMail) *int64 { return &t.ID },
			Unique: []storage.Unique[MemberMail]{
				{Code: UniqueMemberMail, Index: "key", Fields: func(t *MemberMail) []any { return []any{&t.UserID, &t.Key} }},
			},
		},
		Key: "member_mail", Plural: "member_mails",
		Columns: []storage.Column[MemberMail]{
			{Name: "user_id", Field: func(t *MemberMail) any { return &t.UserID }, Refers: "user"},
			{Name: "mail_key", Field: func(t *MemberMail) any { return &t.Key }},
			{Name: "inbound_id", Field: func(t *MemberMail) any { return &t.InboundID }, Refers: "mail", Loose: true},
			{Name: "outcome", Field: func(t *MemberMail) any { return (*string)(&t.Outcome) }},
			{Name: "created_at", Field: func(t *MemberMail) any { return &t.CreatedAt }},
		},
		Where: func(f MemberMailFilter) []storage.Condition {
			where := []storage.Condition{storage.OneOf("user_id", []int64{f.UserID})}
			if f.Key != "" {
				where = append(where, storage.OneOf("mail_key", []string{f.Key}))
			}
			return where
		},
	}
}

// MemberMailFilter selects the mails to list.
type MemberMailFilter struct {
	UserID int64
	Key    string // "": all
}

const (
	// returnsAnHour limits the mails returned to a member per hour; of unproven ones, only one is returned. Others are only in
	// the ledger.
	returnsAnHour = 20
	// memberMailLife is how long a member's mail is recorded: longer than the notification that it replies to can be answered.
	memberMailLife = 2 * mailWorkLife
)

// memberWork is the state of a command mail before the transaction.
type memberWork struct {
	tokens  []memberToken
	machine bool // an automatic message
	forward bool // it begins with @fwd
}

// findWork detects a member's command mail. Such mail never becomes a customer's message, whatever its outcome.
func (in *Intake) findWork(ctx context.Context, f *filing) error {
	if f.mail.Archived { // its commands are from the past
		return nil
	}
	machine := f.mail.AutoSubmitted || f.mail.Report != nil
	tokens, formal := f.memberTokens()
	switch {
	case formal || machine && f.aboutMemberMail():
		f.work = &memberWork{tokens: tokens, machine: machine}
		return nil
	case machine:
		return nil
	}
	return in.findForwardCommand(ctx, f)
}

// findForwardCommand detects a member's mail that begins with @fwd.
func (in *Intake) findForwardCommand(ctx context.Context, f *filing) error {
	user := f.users[mailaddr.Key(f.mail.FirstAuthor().Email)]
	if user == 0 {
		return nil
	}
	text := f.body
	if f.passed != nil {
		text = f.passed.note
	}
	answer, ok := mailhtml.SplitAnswer(text, isCommand)
	if !ok || len(answer.Head) == 0 {
		return nil
	}
	if name, _, _ := strings.Cut(commandLine(answer.Head[0]), " "); !strings.EqualFold(name, "@fwd") {
		return nil
	}
	dir, err := in.system.Read(receive)
	if err != nil {
		return err
	}
	grant, err := dir.Grant(ctx, user, f.accountID)
	if fault.Is(err, fault.NotFound) || grant.Disabled {
		return nil
	}
	if err != nil {
		return err
	}
	f.work = &memberWork{forward: true}
	if f.passed == nil { // the first line says so even if the subject does not
		if f.passed = f.forwardedAs("Fwd: " + f.mail.Subject); f.passed != nil {
			f.passed.member, f.passed.mail.UserID = grant, user
		}
	}
	if f.passed != nil {
		f.passed.explicit = true
	}
	return nil
}

// refusal is the reason why a member's mail is not executed. The mail is returned to a member.
type refusal struct {
	reason   string
	to       identity.User // the zero user: nobody is notified
	unproven bool          // its authorship is not proven
	stranger bool          // sent from another address than the member's; its text is not returned
	// token of the address for the member's reply; zero: none
	token memberToken
	newer string // what was said in the meantime
}

func (r *refusal) Error() string { return r.reason }

// fileWork executes a command mail, completely or not at all.
func (in *Intake) fileWork(ctx context.Context, f *filing) (ledger.Mail, error) {
	begin, err := in.system.Write(receive)
	if err != nil {
		return ledger.Mail{}, err
	}
	var row ledger.Mail
	err = retryUnique(func() error {
		return begin(ctx, func(ctx context.Context, sys SystemTx) error {
			f.taken = false
			row, err = f.doWork(ctx, sys)
			return err
		})
	}, UniqueCustomerEmail, ledger.UniqueIdentity, UniqueMemberMail)
	back, refused := errors.AsType[*refusal](err)
	if !refused {
		return row, err
	}
	err = begin(ctx, func(ctx context.Context, sys SystemTx) error {
		f.taken = false
		row, err = f.giveBack(ctx, sys, back)
		return err
	})
	return row, err
}

// startWork locks the message's ledger row; done reports that nothing is left to do.
func (f *filing) startWork(ctx context.Context, tx Tx) (row ledger.Mail, done bool, err error) {
	row, err = tx.InboundForUpdate(ctx, f.ledgerID)
	if err != nil || row.State != ledger.Received {
		return row, true, err
	}
	f.taken = true
	row.Head = ledger.Head{Subject: f.mail.Subject, From: f.mail.FirstAuthor()}
	row.MessageID, f.auth = f.mail.MessageID, f.authentication(row)
	return row, false, nil
}

func (f *filing) doWork(ctx context.Context, sys SystemTx) (ledger.Mail, error) {
	tx := sys.Within(Scope{AccountID: f.accountID})
	row, done, err := f.startWork(ctx, tx)
	if done || err != nil {
		return row, err
	}
	double, err := f.doubled(ctx, tx, row)
	if err != nil {
		return row, err
	}
	if double != "" {
		return row, f.drop(ctx, tx, &row, ledger.Ignored, double)
	}
	if f.work.machine {
		return row, f.drop(ctx, tx, &row, ledger.Ignored, "it is an automatic reply to a mail to a member")
	}
	d, user, token, err := f.worker(ctx, sys, row)
	if err != nil {
		return row, err
	}
	m := MemberMail{UserID: user.ID, Key: f.workKey(), InboundID: row.ID, Outcome: MemberMailDone, CreatedAt: f.now}
	before, err := memberMailNoun().Rows(tx).List(ctx, MemberMailFilter{UserID: m.UserID, Key: m.Key}, storage.Seek{Limit: 1})
	if err != nil {
		return row, err
	}
	if len(before) > 0 {
		return row, f.drop(ctx, tx, &row, ledger.Ignored, fmt.Sprintf("it is a copy of a member's mail, which also arrived as mail %d", before[0].InboundID))
	}
	if err := memberMailNoun().Rows(tx).Insert(ctx, &m); err != nil {
		return row, err
	}
	w := &mailWorker{filing: f, sys: sys, desk: d, user: user, token: token}
	if f.work.forward {
		row, err = w.forward(ctx, row)
	} else {
		row, err = w.answer(ctx, row)
	}
	return row, w.refused(err)
}

// workKey returns the key that identifies a member's mail.
func (f *filing) workKey() string {
	sum := sha256.Sum256([]byte(f.mail.MessageID))
	if f.mail.MessageID == "" {
		sum = sha256.Sum256(f.mail.Identity)
	}
	return hex.EncodeToString(sum[:])
}

// worker returns the desk of the mail's member, with current permissions. It returns a refusal if the author is in doubt.
func (f *filing) worker(ctx context.Context, sys SystemTx, row ledger.Mail) (*desk, identity.User, memberToken, error) {
	fail := func(err error) (*desk, identity.User, memberToken, error) {
		return nil, identity.User{}, memberToken{}, err
	}
	sender, senderDesk, err := f.member(ctx, sys, f.users[mailaddr.Key(f.mail.FirstAuthor().Email)])
	if err != nil {
		return fail(err)
	}
	proven := sender.ID != 0 && f.proves(sender)
	if f.work.forward {
		switch {
		case !proven:
			return fail(&refusal{reason: unprovenMail, to: sender, unproven: true})
		case senderDesk == nil:
			return fail(&refusal{reason: notMember, to: sender})
		}
		return senderDesk, sender, memberToken{}, nil
	}
	back := func(reason string) error {
		if !proven || senderDesk == nil {
			return &refusal{reason: reason}
		}
		return &refusal{reason: reason, to: sender}
	}
	token, err := f.oneToken(sender.ID, back)
	if err != nil {
		return fail(err)
	}
	user, desk := sender, senderDesk
	if token.user != sender.ID {
		if proven && senderDesk != nil {
			return fail(back("it was sent to a reply address that belongs to another member"))
		}
		if user, desk, err = f.member(ctx, sys, token.user); err != nil {
			return fail(err)
		}
		proven = false
	}
	switch {
	case !proven && desk == nil:
		return fail(&refusal{reason: unprovenMail})
	case !proven:
		stranger := mailaddr.Key(f.mail.FirstAuthor().Email) != user.EmailKey
		return fail(&refusal{reason: unprovenMail, to: user, unproven: true, stranger: stranger})
	case desk == nil:
		return fail(&refusal{reason: notMember, to: user})
	case token.expired(row.ReceivedAt):
		return fail(&refusal{reason: "the email it replies to is too old; open the conversation in the desk", to: user})
	}
	return desk, user, token, nil
}

// Reasons for not treating a mail as a member's.
const (
	unprovenMail = "nothing proves that the member sent it: it must come from the member's own address, and the domain must authenticate it (DMARC, DKIM or SPF)"
	notMember    = "its author is not a member of the account"
)

// member returns a user and the user's desk, which is nil if the user is no member.
func (f *filing) member(ctx context.Context, sys SystemTx, userID int64) (identity.User, *desk, error) {
	if userID == 0 {
		return identity.User{}, nil, nil
	}
	user, err := sys.User(ctx, userID)
	if fault.Is(err, fault.NotFound) {
		return identity.User{}, nil, nil
	}
	if err != nil {
		return identity.User{}, nil, err
	}
	opened, err := f.svc.Bind(joined{sys, sys}).Desk(ctx, f.svc.As(user.ID), f.accountID)
	if fault.Is(err, fault.NotFound) {
		return user, nil, nil
	}
	if err != nil {
		return user, nil, err
	}
	return user, &opened.desk, nil
}

// proves reports whether the user is proven to be the author, with the same requirements as for a member's forward, see
// believeForward.
func (f *filing) proves(u identity.User) bool {
	return mailaddr.Key(f.mail.FirstAuthor().Email) == u.EmailKey && len(f.mail.From) < 2 && !f.mail.Guessed && !f.mail.Rewritten &&
		f.auth.FromAligned && !f.auth.Refused()
}

// oneToken returns the token that determines what the mail replies to.
func (f *filing) oneToken(sender int64, back func(string) error) (memberToken, error) {
	tokens := slices.DeleteFunc(slices.Clone(f.work.tokens), func(t memberToken) bool { return t.account != f.accountID })
	if len(tokens) == 0 {
		return memberToken{}, back("the address it was sent to is not valid here")
	}
	if slices.ContainsFunc(tokens, func(t memberToken) bool { return t.user == sender }) {
		tokens = slices.DeleteFunc(tokens, func(t memberToken) bool { return t.user != sender })
	}
	one := tokens[0]
	for _, t := range tokens[1:] {
		if t.conversation != one.conversation || t.user != one.user {
			return memberToken{}, back("it was sent to addresses of several conversations")
		}
		if t.seen < one.seen {
			one = t
		}
	}
	return one, nil
}

// mailWorker is a member at work by mail.
type mailWorker struct {
	*filing
	sys   SystemTx
	desk  *desk
	user  identity.User
	token memberToken
}

// refused converts an error about permissions or input to a refusal. Errors of the store stay errors.
func (w *mailWorker) refused(err error) error {
	if back, ok := errors.AsType[*refusal](err); ok {
		if back.to.ID == 0 {
			back.to = w.user
		}
		if back.token == (memberToken{}) {
			back.token = w.token
		}
		return back
	}
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	switch {
	case isUnique(err, UniqueCustomerEmail, ledger.UniqueIdentity, UniqueMemberMail):
		return err
	case f.Kind == fault.Forbidden && f.Message == "":
		return &refusal{reason: "you are not allowed to do that", to: w.user, token: w.token}
	case f.Kind == fault.Invalid || f.Kind == fault.Forbidden || f.Kind == fault.NotFound || f.Kind == fault.Conflict || f.Kind == fault.TooLarge:
		reason := strings.TrimSuffix(f.Text(), ".")
		if len(f.Fields) > 0 {
			reason += " (" + f.Fields.String() + ")"
		}
		return &refusal{reason: reason, to: w.user, token: w.token}
	}
	return err
}

func refuse(format string, args ...any) error { return &refusal{reason: fmt.Sprintf(format, args...)} }

// read splits the member's text into commands and body.
func (w *mailWorker) read(text string) (mailCommands, string, error) {
	m := &w.mail
	nothing := m.HTML == "" && strings.TrimSpace(m.Text) == ""
	switch {
	case nothing && standIn(m.Security) != "":
		return mailCommands{}, "", refuse("it is encrypted or wrapped in a signature and cannot be read")
	case len(m.HTML) > MaxBody || m.HTML == "" && len(m.Text) > MaxBody:
		return mailCommands{}, "", refuse("it is larger than 1 MiB")
	}
	answer, ok := mailhtml.SplitAnswer(text, isCommand)
	if !ok {
		return mailCommands{}, "", refuse("its text cannot be separated from what it quotes")
	}
	commands, err := readCommands(answer.Head, w.now)
	if err != nil {
		return mailCommands{}, "", refuse("%v", err)
	}
	body := answer.Body
	if commands.Text != "" {
		body = mailhtml.FromText(commands.Text) + body
	}
	if body = mailhtml.Clean(body); w.leaks(body) {
		return mailCommands{}, "", refuse("its text cannot be separated from what it quotes; delete the quoted email below it")
	}
	return commands, body, nil
}

// memberDetails matches the tagged addresses of members' replies.
var memberDetails = regexp.MustCompile(`\+a-[a-z2-7]{24,}`)

// leaks reports whether a text contains parts of the mail to the member.
func (w *mailWorker) leaks(body string) bool {
	text := strings.ToLower(mailhtml.Text(body))
	line, _, _ := strings.Cut(mailWorkFooter, ";")
	return memberDetails.MatchString(text) || strings.Contains(strings.Join(strings.Fields(text), " "), strings.ToLower(line))
}

// answer executes a reply to a notification mail.
func (w *mailWorker) answer(ctx context.Context, row ledger.Mail) (ledger.Mail, error) {
	commands, body, err := w.read(w.body)
	if err != nil {
		return row, err
	}
	text := !blank(body)
	files, err := w.sentAlong(ctx, body)
	switch {
	case err != nil:
		return row, err
	case commands.Forward:
		return row, refuse("@fwd belongs in an email that you forward to a mailbox's address")
	case !text && len(files) > 0:
		return row, refuse("it has files but no text of its own")
	case !text && (commands.Note || !commands.acts()):
		return row, refuse("it has no text of its own")
	}
	c, err := w.conversation(ctx)
	if err != nil {
		return row, err
	}
	var said Interaction
	if text {
		if said, err = w.say(ctx, c, commands, body, files); err != nil {
			return row, err
		}
	}
	if err := w.act(ctx, c.ID, commands); err != nil {
		return row, err
	}
	return row, w.finishLedgerRow(ctx, &row, c, said, commands, files)
}

// conversation locks the conversation that the member replies in, even if it was merged.
func (w *mailWorker) conversation(ctx context.Context) (Conversation, error) {
	tx := w.sys.Within(w.desk.scope)
	c, err := tx.Conversations().Lock(ctx, w.token.conversation)
	if fault.Is(err, fault.NotFound) {
		c, err = merged(ctx, tx, w.token.conversation)
	}
	if fault.Is(err, fault.NotFound) {
		err = refuse("the conversation was deleted or is in a mailbox you cannot access")
	}
	return c, err
}

// say posts the text as a reply or a note. If others contributed since, it is returned to the member.
func (w *mailWorker) say(ctx context.Context, c Conversation, commands mailCommands, body string, files []Attachment) (Interaction, error) {
	in := InteractionInput{Type: TypeUser, Body: body, Seen: storage.Some(Seen{ID: w.token.seen})}
	if commands.Note {
		in = InteractionInput{Type: TypeNote, Body: body}
	}
	said, err := Interactions{w.desk}.Create(ctx, c.ID, in)
	if isUnique(err, CodeCrossed) {
		return said, w.crossed(ctx, c)
	}
	if err != nil || len(files) == 0 {
		return said, err
	}
	return said, w.desk.attachAll(ctx, said, files)
}

// crossed returns the text to the member, with what others have said since the notification.
func (w *mailWorker) crossed(ctx context.Context, c Conversation) error {
	r, err := w.desk.guard.Read(identity.InteractionsView)
	if err != nil {
		return err
	}
	last, err := r.Interactions().List(ctx, InteractionFilter{ConversationID: c.ID}, storage.Seek{Desc: true, Limit: 20})
	if err != nil {
		return err
	}
	var seen Interaction
	if at := slices.IndexFunc(last, func(i Interaction) bool { return i.ID == w.token.seen }); at >= 0 {
		seen = last[at]
	}
	var told []string
	newest := w.token.seen
	var latest Interaction
	for _, i := range slices.Backward(last) {
		if i.Type == TypeNote || i.Type == TypeUser && (i.Status != StatusPosted || i.PostedByID == w.user.ID || i.Automatic()) || i.ID == seen.ID || seen.ID != 0 && !i.saidAfter(seen) || seen.ID == 0 && i.ID <= w.token.seen {
			continue
		}
		who := i.CustomerEmail
		if i.Type == TypeUser {
			who = "A colleague"
		}
		told = append(told, fmt.Sprintf("%s, %s:\n\n%s", who, i.SaidAt().UTC().Format("2 January 2006 15:04 UTC"), plain.Cut(strings.TrimSpace(mailhtml.Text(i.Body)), maxReturned)))
		if latest.ID == 0 || i.saidAfter(latest) {
			latest, newest = i, i.ID
		}
	}
	again := w.token
	again.conversation, again.returned, again.seen, again.expires = c.ID, true, newest, tokenDay(w.now.Add(mailWorkLife))
	return &refusal{
		reason: "there are newer messages in the conversation than the one it replies to", to: w.user, token: again,
		newer: strings.Join(told, "\n\n"),
	}
}

// act applies the commands to the conversation.
func (w *mailWorker) act(ctx context.Context, conversationID int64, commands mailCommands) error {
	if len(commands.Tags) > 0 {
		ids, err := w.tags(ctx, commands.Tags)
		if err != nil {
			return err
		}
		if _, err := (Conversations{w.desk}).AddTags(ctx, conversationID, ids); err != nil {
			return err
		}
	}
	if commands.Status == "" && commands.Assign == "" && commands.Team == "" && !commands.Unassign && commands.Snooze.IsZero() {
		return nil
	}
	var update ConversationUpdate
	if commands.Status != "" {
		update.Status = storage.Some(commands.Status)
	}
	if !commands.Snooze.IsZero() {
		update.SnoozedUntil = storage.Some(commands.Snooze)
	}
	if commands.Unassign {
		update.UserID = storage.Null[int64]()
	}
	if commands.Assign != "" {
		user, err := w.colleague(ctx, commands.Assign)
		if err != nil {
			return err
		}
		update.UserID = storage.Some(user)
	}
	if commands.Team != "" {
		team, err := w.team(ctx, commands.Team)
		if err != nil {
			return err
		}
		update.TeamID = storage.Some(team)
	}
	update.unasked = true // mail cannot ask back
	_, err := Conversations{w.desk}.Update(ctx, conversationID, update)
	return err
}

// colleague finds the user to assign a conversation to.
func (w *mailWorker) colleague(ctx context.Context, who string) (int64, error) {
	if who == "me" {
		return w.user.ID, nil
	}
	unknown := refuse("no member of the account has the address %s", who)
	user, err := w.sys.UserByEmail(ctx, mailaddr.Key(who))
	if fault.Is(err, fault.NotFound) {
		return 0, unknown
	}
	if err != nil {
		return 0, err
	}
	members, err := Members{w.desk}.Users(ctx, []int64{user.ID})
	if err == nil && len(members) == 0 {
		err = unknown
	}
	return user.ID, err
}

// team finds the team to assign a conversation to.
func (w *mailWorker) team(ctx context.Context, name string) (int64, error) {
	r, err := w.desk.guard.Read(identity.MembershipsView)
	if err != nil {
		return 0, err
	}
	all, err := teamNoun().Reader(r).List(ctx, storage.NoFilter{}, storage.Seek{Limit: storage.NoLimit})
	if err != nil {
		return 0, err
	}
	at := slices.IndexFunc(all, func(t Team) bool { return t.Key == tagKey(plain.Line(name)) })
	if at < 0 {
		return 0, refuse("there is no team named %s; @assign takes me, the address of a colleague, or the name of a team", name)
	}
	return all[at].ID, nil
}

// tags finds the named tags. All of them must exist.
func (w *mailWorker) tags(ctx context.Context, names []string) ([]int64, error) {
	r, err := w.desk.guard.Read(identity.TagsView)
	if err != nil {
		return nil, err
	}
	known := map[string]int64{}
	err = eachRow(ctx, tagNoun().Reader(r), func(t Tag) int64 {
		known[t.Key] = t.ID
		return t.ID
	})
	if err != nil {
		return nil, err
	}
	var ids []int64
	var missing []string
	for _, name := range names {
		if id := known[tagKey(plain.Line(name))]; id != 0 {
			ids = append(ids, id)
		} else {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, refuse("there is no tag named %s", strings.Join(missing, ", "))
	}
	return ids, nil
}

// signatureTypes are files that should not be passed on.
var signatureTypes = []string{"application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature"}

// sentAlong returns the message's files that belong to the member's text, without the images of quotes and signatures. Their
// types must be allowed for uploads.
func (w *mailWorker) sentAlong(ctx context.Context, body string) ([]Attachment, error) {
	own, all := namedBy(body), namedBy(w.body)
	var files []Attachment
	for n, a := range w.files {
		key := contentKey(a.ContentID)
		if slices.Contains(signatureTypes, a.ContentType) || all[key] && !own[key] {
			continue
		}
		head := w.mail.Attachments[n].Body
		if err := CheckFile(a.Filename, head[:min(len(head), filetype.HeadSize)]); err != nil {
			return nil, refuse("the file %s cannot be sent: its type is not allowed", a.Filename)
		}
		if a.Size > w.svc.cfg.MaxAttachment {
			return nil, refuse("the file %s is larger than %d MiB", a.Filename, w.svc.cfg.MaxAttachment>>20)
		}
		a.ContentType = filetype.MediaType(a.Filename, head[:min(len(head), filetype.HeadSize)])
		files = append(files, a)
	}
	return files, ctx.Err()
}

// attachAll attaches stored files to the member's new interaction.
func (d *desk) attachAll(ctx context.Context, i Interaction, files []Attachment) error {
	begin, err := d.guard.Write(d.createPermission(i.Type))
	if err != nil {
		return err
	}
	return begin(ctx, func(ctx context.Context, tx Tx) error {
		c, err := tx.Conversations().Lock(ctx, i.ConversationID)
		if err != nil {
			return err
		}
		if err := changeable(ctx, tx, c.ID, i.ID); err != nil {
			return err
		}
		for _, a := range files {
			a.InteractionID, a.ConversationID = i.ID, c.ID
			if err := tx.Attachments().Insert(ctx, &a); err != nil {
				return err
			}
			if err := d.emitIn(ctx, tx, "attachment.created", a.ID, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// finishLedgerRow finishes the message's ledger row: it refers to the new interaction, or is set aside if there is none. Files
// without a row are removed.
func (w *mailWorker) finishLedgerRow(ctx context.Context, row *ledger.Mail, c Conversation, said Interaction, commands mailCommands, files []Attachment) error {
	tx := w.sys.Within(Scope{AccountID: w.accountID})
	unused := slices.DeleteFunc(slices.Clone(w.parts()), func(a Attachment) bool {
		return slices.ContainsFunc(files, func(b Attachment) bool { return a.BlobKey == b.BlobKey })
	})
	row.Identity = w.mail.Identity
	if said.ID == 0 {
		return w.drop(ctx, tx, row, ledger.Ignored, fmt.Sprintf("a member's commands, carried out in conversation %d: %s", c.Number, commands))
	}
	if err := w.purge(ctx, tx, unused); err != nil {
		return err
	}
	what := "it is a member's reply"
	if commands.Note {
		what = "it is a member's note"
	}
	if names := commands.String(); names != "" && names != "@note" {
		what += ", with " + names
	}
	row.State, row.Reason, row.Deaths, row.UpdatedAt = ledger.Filed, plain.Cut(plain.Line(what), 500), 0, w.now
	row.ConversationID, row.InteractionID = c.ID, said.ID
	return tx.UpdateInbound(ctx, row)
}

// forward opens a conversation with the author of a message that the member forwards, and applies the commands there.
func (w *mailWorker) forward(ctx context.Context, row ledger.Mail) (ledger.Mail, error) {
	if w.passed == nil {
		return row, refuse("the email it forwards cannot be read: forward it inline, or attach it as a single file")
	}
	note := w.passed.note
	if w.asked != nil {
		note = *w.asked // the transaction may run again
	}
	w.asked = &note
	commands, body, err := w.read(note)
	if err != nil {
		return row, err
	}
	w.passed.note = ""
	if !blank(body) {
		w.passed.note = body
	}
	shared := &filingTogether{mailboxes: map[int64]Mailbox{}}
	if row, err = w.file(ctx, byMail{w.sys.Within(Scope{AccountID: w.accountID})}, shared); err != nil {
		return row, err
	}
	tx := w.sys.Within(Scope{AccountID: w.accountID})
	if err := shared.index.write(ctx, tx); err != nil {
		return row, err
	}
	if err := w.svc.notifyAfterCommit(ctx, tx, w.accountID, shared.told...); err != nil {
		return row, err
	}
	if row.State != ledger.Filed {
		return row, nil
	}
	return row, w.act(ctx, row.ConversationID, commands)
}

// joined is a store inside a running transaction, for the desk that executes a member's mail.
type joined struct {
	Directory
	sys SystemTx
}

// Within implements [Store].
func (j joined) Within(s Scope) Reader { return j.sys.Within(s).Reader() }

// InTx implements [Store].
func (j joined) InTx(ctx context.Context, s Scope, fn func(ctx context.Context, tx Tx) error) error {
	tx := j.sys.Within(s)
	if err := fn(ctx, byMail{tx}); err != nil {
		return err
	}
	return endOperation(ctx, tx)
}

// InSnapshot implements [Store]: the transaction is one.
func (j joined) InSnapshot(ctx context.Context, s Scope, fn func(ctx context.Context, r Reader) error) error {
	return fn(ctx, j.Within(s))
}

// InSystemTx implements [Store].
func (j joined) InSystemTx(ctx context.Context, fn func(ctx context.Context, tx SystemTx) error) error {
	return fn(ctx, j.sys)
}

// byMail is a transaction whose events record that a member's mail caused them.
type byMail struct{ Tx }

// Emit implements [storage.Outbox].
func (t byMail) Emit(ctx context.Context, events ...storage.Event) error {
	marked := slices.Clone(events)
	for i, e := range marked {
		data := map[string]any{}
		if json.Unmarshal(e.Data, &data) != nil {
			continue
		}
		data["via"] = channelEmail
		text, err := json.Marshal(data)
		if err != nil {
			return fault.Wrap(fault.Internal, "encoding an event", err)
		}
		marked[i].Data = text
	}
	return t.Tx.Emit(ctx, marked...)
}
