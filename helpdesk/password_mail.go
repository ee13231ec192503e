package helpdesk

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

const (
	// forgottenLife is how long the link to choose another password is good.
	forgottenLife = time.Hour
	// forgottenMails is how many of them an address is mailed within an hour, and
	// forgottenTries how many requests are taken from one household or office.
	forgottenMails = 3
	forgottenTries = 20
)

// forgotten is the payload of a job of kind [JobPasswordMail].
type forgotten struct {
	Email string    `json:"email"`
	At    time.Time `json:"at"`
}

// ForgotPassword has a link mailed by which the user of an address chooses another password,
// see [Service.ChoosePassword]: it is good once, and for an hour. Nobody learns from it, or
// from how long it takes, whether there is such a user: only the job that sends the mail
// looks. An address gets few mails within an hour; what is asked for beyond is done as if.
// What is no mail address is an Invalid fault on email. Who asks too often, as [Service.From]
// tells them apart, gets a RateLimited one.
func (s *Service) ForgotPassword(ctx context.Context, email string) error {
	email = cleanLine(email)
	if !ValidEmail(email) {
		return fault.Field("email", "is no mail address")
	}
	now := s.now()
	if s.address != "" && !s.throttle.within(now, tryKey{"forgotten", network(s.address)}, forgottenTries, time.Hour) {
		return &fault.Error{
			Kind: fault.RateLimited, Code: "too_many_attempts", Err: retryLater(time.Hour),
			Message: "Too many passwords were forgotten here. Wait as long as Retry-After says, then try again.",
		}
	}
	if !s.throttle.within(now, tryKey{"forgotten " + EmailKey(email), ""}, forgottenMails, time.Hour) {
		return nil
	}
	payload, err := json.Marshal(forgotten{Email: email, At: now})
	if err != nil {
		return fault.Wrap(fault.Internal, "making a job", err)
	}
	return s.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
		return tx.Within(Scope{}).Enqueue(ctx, storage.Job{Kind: JobPasswordMail, Payload: payload, RunAt: now})
	})
}

// passwordMail is the mail to who has forgotten a password, from the first account that they
// are a member of. Without a user or an account there is none.
func (s *Service) passwordMail(ctx context.Context, job storage.ClaimedJob, links MailLinks) (SystemMail, error) {
	var order forgotten
	if err := json.Unmarshal(job.Payload, &order); err != nil {
		return SystemMail{}, fault.Wrap(fault.Internal, "reading a job", err)
	}
	expires := order.At.Add(forgottenLife)
	if !s.now().Before(expires) {
		return SystemMail{}, fault.Missing("mail", job.ID)
	}
	user, err := s.cfg.Store.UserByEmail(ctx, EmailKey(order.Email))
	if err != nil {
		return SystemMail{}, err
	}
	accounts, err := s.cfg.Store.AccountsOf(ctx, user.ID, storage.Seek{Limit: 1})
	if err != nil {
		return SystemMail{}, err
	}
	if len(accounts) == 0 {
		return SystemMail{}, fault.Missing("account", 0)
	}
	r := s.cfg.Store.Within(Scope{AccountID: accounts[0].ID})
	if user, err = s.memberToMail(ctx, r, user.ID); err != nil {
		return SystemMail{}, err
	}
	from, _, err := s.sender(ctx, r, 0)
	if err != nil {
		return SystemMail{}, err
	}
	dkim, err := s.signers(ctx, r, from.Email)
	if err != nil {
		return SystemMail{}, err
	}
	return SystemMail{
		MessageID: fmt.Sprintf("password.%d.%d@%s", user.ID, order.At.UnixMicro(), s.cfg.IntakeDomain), Date: order.At,
		From: from, To: Address{Name: user.Name, Email: user.Email}, Subject: "Choose a new password", DKIM: dkim,
		Text: paragraphs(
			greeting(user.Name),
			"somebody, probably you, has asked for a new password at the help desk of "+from.Name+". To choose it, open",
			links.Password(s.passwordToken(user, expires)),
			"The link works once, until "+expires.UTC().Format("2 January 2006 15:04 UTC")+".",
			"If it was not you, ignore this mail: your password stays as it is.",
		),
	}, nil
}
