package helpdesk

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/helpdesk/sending"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/storage/plain"
)

const (
	// forgottenLife is how long a password link is valid.
	forgottenLife = time.Hour
	// forgottenMails limits password mails to an address per hour, forgottenTries the requests from one network.
	forgottenMails = 3
	forgottenTries = 20
)

// forgotten is the payload of a job of kind [JobPasswordMail].
type forgotten struct {
	Email string    `json:"email"`
	At    time.Time `json:"at"`
}

// ForgotPassword mails a link with which the user of an address can choose another password, see [SignIn.ChoosePassword].
// The link is valid once, for an hour. Neither the result nor the time reveals whether the user exists, since only the job
// that sends the mail looks it up. An address gets only a few mails per hour; further requests succeed without one. An
// invalid address is an Invalid fault on email. Too many requests from one client, see [Service.From], are a RateLimited
// fault.
func (s SignIn) ForgotPassword(ctx context.Context, email string) error {
	email = plain.Line(email)
	if !mailaddr.Valid(email) {
		return fault.Field("email", "is not an email address")
	}
	now := s.svc.now()
	if s.svc.address != "" && !s.svc.throttle.within(now, tryKey{"forgotten", network(s.svc.address)}, forgottenTries, time.Hour) {
		return &fault.Error{
			Kind: fault.RateLimited, Code: "too_many_attempts", Err: retryLater(time.Hour),
			Message: "Too many password resets were requested. Try again after the time in Retry-After.",
		}
	}
	if !s.svc.throttle.within(now, tryKey{"forgotten " + mailaddr.Key(email), ""}, forgottenMails, time.Hour) {
		return nil
	}
	payload, err := json.Marshal(forgotten{Email: email, At: now})
	if err != nil {
		return fault.Wrap(fault.Internal, "making a job", err)
	}
	return s.svc.cfg.Store.InSystemTx(ctx, func(ctx context.Context, tx SystemTx) error {
		return tx.Within(Scope{}).Enqueue(ctx, storage.Job{Kind: JobPasswordMail, Payload: payload, RunAt: now})
	})
}

// passwordMail builds the mail for a forgotten password, from the first account that the user is a member of. Without a user
// or an account there is none.
func (s *Service) passwordMail(ctx context.Context, job storage.ClaimedJob, links sending.MailLinks) (sending.SystemMail, error) {
	var order forgotten
	if err := json.Unmarshal(job.Payload, &order); err != nil {
		return sending.SystemMail{}, fault.Wrap(fault.Internal, "reading a job", err)
	}
	expires := order.At.Add(forgottenLife)
	if !s.now().Before(expires) {
		return sending.SystemMail{}, fault.Missing("mail", job.ID)
	}
	user, err := s.cfg.Store.UserByEmail(ctx, mailaddr.Key(order.Email))
	if err != nil {
		return sending.SystemMail{}, err
	}
	out, _, err := s.mailToUser(ctx, user.ID, "")
	if err != nil {
		return sending.SystemMail{}, err
	}
	out.MessageID = fmt.Sprintf("password.%d.%d@%s", user.ID, order.At.UnixMicro(), s.cfg.IntakeDomain)
	out.Date, out.Subject = order.At, "Choose a new password"
	out.Text = paragraphs(
		greeting(user.Name),
		"someone, probably you, asked to reset your password for the "+out.From.Name+" help desk. To choose a new one, open",
		links.Password(s.passwordToken(user, expires)),
		"The link works once and expires on "+expires.UTC().Format("2 January 2006 15:04 UTC")+".",
		"If this was not you, ignore this email. Your password stays the same.",
	)
	return out, nil
}
