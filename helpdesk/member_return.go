package helpdesk

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/helpwright/helpwright/helpdesk/ledger"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/mailhtml"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

const (
	maxReturned = 32 << 10 // characters of a returned text
	maxPayload  = 60 << 10 // bytes of the whole payload
)

// returnLife is how long the delivery of a returned mail is retried.
const returnLife = 2 * 24 * time.Hour

// returnOrder is the payload of a job of kind [JobReturnMail].
type returnOrder struct {
	Mailbox int64            `json:"mailbox"`
	To      mailaddr.Address `json:"to"`
	Subject string           `json:"subject"`
	Reason  string           `json:"reason"`
	Newer   string           `json:"newer,omitempty"`
	From    string           `json:"from,omitempty"` // the author, if the text is not returned
	Text    string           `json:"text,omitempty"`
	Token   memberWords      `json:"token"`
	Refers  string           `json:"refers,omitempty"` // Message-ID of the returned message
	At      time.Time        `json:"at"`
}

// memberWords is the stored form of a token.
type memberWords struct {
	User         int64 `json:"user"`
	Conversation int64 `json:"conversation"`
	Expires      int64 `json:"expires"`
	Seen         int64 `json:"seen"`
}

// giveBack finishes a command mail that is not executed: only its ledger row is kept, and it is returned to the member with
// the reason.
func (f *filing) giveBack(ctx context.Context, sys SystemTx, back *refusal) (ledger.Mail, error) {
	tx := sys.Within(Scope{AccountID: f.accountID})
	row, done, err := f.startWork(ctx, tx)
	if done || err != nil {
		return row, err
	}
	told := "no one was notified"
	if back.to.ID != 0 {
		outcome, key := MemberMailReturned, f.workKey()
		if back.unproven { // otherwise anyone could use up the key of the member's next mail
			outcome, key = MemberMailUnproven, fmt.Sprintf("unproven/%d", row.ID)
		} else {
			row.Identity = f.mail.Identity
		}
		m := MemberMail{UserID: back.to.ID, Key: key, InboundID: row.ID, Outcome: outcome, CreatedAt: f.now}
		may, err := f.mayReturn(ctx, tx, m)
		if err != nil {
			return row, err
		}
		if may {
			told = "it was returned to the member"
			if err := f.orderReturn(ctx, tx, row, back); err != nil {
				return row, err
			}
			if err := memberMailNoun().Rows(tx).Insert(ctx, &m); err != nil {
				return row, err
			}
		} else {
			told = "the member was not notified, because they were notified of others within the hour"
		}
	}
	return row, f.drop(ctx, tx, &row, ledger.Ignored, fmt.Sprintf("a member's mail that was not accepted, %s: %s", told, back.reason))
}

// mayReturn reports whether a mail may be returned to a member within the hourly limit. It also removes old records.
func (f *filing) mayReturn(ctx context.Context, tx Tx, m MemberMail) (bool, error) {
	if err := tx.LockAccount(ctx); err != nil {
		return false, err
	}
	if err := forgetMemberMails(ctx, tx, m.UserID, f.now); err != nil {
		return false, err
	}
	last, err := memberMailNoun().Rows(tx).List(ctx, MemberMailFilter{UserID: m.UserID}, storage.Seek{Desc: true, Limit: 200})
	if err != nil {
		return false, err
	}
	counts := map[MemberMailOutcome]int{}
	for _, other := range last {
		if f.now.Sub(other.CreatedAt) < time.Hour {
			counts[other.Outcome]++
		}
		if other.Key == m.Key {
			return false, nil // a duplicate
		}
	}
	if m.Outcome == MemberMailUnproven {
		return counts[MemberMailUnproven] == 0, nil
	}
	return counts[MemberMailReturned] < returnsAnHour, nil
}

// forgetMemberMails removes some old records.
func forgetMemberMails(ctx context.Context, tx Tx, userID int64, now time.Time) error {
	oldest, err := memberMailNoun().Rows(tx).List(ctx, MemberMailFilter{UserID: userID}, storage.Seek{Limit: 20})
	for _, old := range oldest {
		if err == nil && now.Sub(old.CreatedAt) > memberMailLife {
			err = memberMailNoun().Rows(tx).Delete(ctx, old.ID)
		}
	}
	return err
}

// orderReturn enqueues the job that returns the message.
func (f *filing) orderReturn(ctx context.Context, tx Tx, row ledger.Mail, back *refusal) error {
	order := returnOrder{
		Mailbox: row.MailboxID, To: mailaddr.Address{Name: back.to.Name, Email: back.to.Email}, Subject: f.mail.Subject, Reason: plain.Cut(plain.Line(back.reason), 500), Newer: back.newer,
		Token:  memberWords{User: back.to.ID, Conversation: back.token.conversation, Expires: back.token.expires, Seen: back.token.seen},
		Refers: f.mail.MessageID, At: f.now,
	}
	if back.stranger {
		order.From, order.Refers = f.mail.FirstAuthor().Email, ""
	} else {
		order.Text = plain.Cut(strings.TrimSpace(mailhtml.Text(f.body)), maxReturned)
	}
	payload, err := order.payload()
	if err != nil {
		return err
	}
	return tx.Enqueue(ctx, storage.Job{
		Kind: JobReturnMail, AccountID: f.accountID, Subject: row.ID, Payload: payload, RunAt: f.now,
		UniqueKey: fmt.Sprintf("return/%d/%d", f.accountID, row.ID),
	})
}

// payload encodes the job's payload within its size limit.
func (r returnOrder) payload() ([]byte, error) {
	for {
		payload, err := json.Marshal(r)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "making a job", err)
		}
		if len(payload) <= maxPayload {
			return payload, nil
		}
		if len(r.Newer) > len(r.Text) {
			r.Newer = plain.Cut(r.Newer, plain.Length(r.Newer)/2) + " …"
		} else {
			r.Text = plain.Cut(r.Text, plain.Length(r.Text)/2) + " …"
		}
	}
}

// returnedMail builds the mail of a [JobReturnMail] job, for two days.
func (s *Service) returnedMail(ctx context.Context, r Reader, job storage.ClaimedJob) (sending.SystemMail, error) {
	var order returnOrder
	if err := json.Unmarshal(job.Payload, &order); err != nil {
		return sending.SystemMail{}, fault.Wrap(fault.Internal, "reading a job", err)
	}
	if s.now().Sub(order.At) > returnLife {
		return sending.SystemMail{}, fault.Missing("mail", job.Subject)
	}
	m, err := r.Mailboxes().Get(ctx, order.Mailbox)
	if err != nil {
		return sending.SystemMail{}, err
	}
	// Without a conversation, the address contains an expired token: mail to it is returned and opens no conversation.
	token := memberToken{
		account: job.AccountID, user: order.Token.User, conversation: order.Token.Conversation, returned: true,
		expires: order.Token.Expires, seen: order.Token.Seen,
	}
	from := s.mailFrom(m)
	return sending.SystemMail{
		MessageID: s.memberMessageID(token, job.Subject, from), Date: order.At,
		From: mailaddr.Address{Name: fromName(m, ""), Email: from}, ReplyTo: s.memberAddress(m, token), To: order.To,
		Subject: "Not accepted: " + order.Subject, InReplyTo: order.Refers, Text: order.text(),
	}, nil
}

func (r returnOrder) text() string {
	parts := []string{"An email sent to the help desk in your name was not accepted: " + r.Reason + ".", "Nothing was sent to the customer and nothing was changed."}
	if r.From != "" {
		parts = append(parts, "It came from "+r.From+". You do not need to do anything. The desk notifies you of such mail at most once an hour. Whoever manages the mailbox finds it in the mailbox's list of received mail.")
	}
	if r.Newer != "" {
		parts = append(parts, "New in the conversation:", r.Newer, "To send your text anyway, reply to this email with it.")
	} else if r.Token.Conversation != 0 {
		parts = append(parts, "To try again, reply to this email.")
	}
	if r.Text != "" {
		parts = append(parts, "Your email said:", r.Text)
	}
	return paragraphs(parts...)
}
