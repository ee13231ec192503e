package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"text/tabwriter"
	"time"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/server"
)

type userCmd struct {
	List              userListCmd        `cmd:"" help:"List the users with address, name, password, second factor and whether they are disabled."`
	Show              userShowCmd        `cmd:"" help:"Show a user and their account memberships."`
	Create            userCreateCmd      `cmd:"" help:"Create a user, optionally as a member of an account, and print an access token on the last line."`
	Disable           userDisableCmd     `cmd:"" help:"Disable a user: sessions end immediately and access tokens stop working. Memberships and conversations are kept."`
	Enable            userEnableCmd      `cmd:"" help:"Enable a disabled user."`
	Delete            userDeleteCmd      `cmd:"" help:"Delete a user with their access tokens and memberships. What they wrote is kept."`
	ResetSecondFactor userResetFactorCmd `cmd:"" help:"Remove the second factor of a user who has lost it. Make sure that the request comes from the user."`
	RemovePasskeys    userPasskeysCmd    `cmd:"" help:"Remove all passkeys of a user who has lost a device, and end their sessions."`
	ResetPassword     userPasswordCmd    `cmd:"" help:"Print a link for choosing a new password. It works once and expires after a day."`
}

type userPasswordCmd struct{ userArg }

// Run prints the link.
func (c *userPasswordCmd) Run(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	operator := a.Service().Operator()
	user, err := userByEmail(a, c.Email)
	if err != nil {
		return err
	}
	token, err := operator.CreatePasswordToken(s.ctx, user.ID, 24*time.Hour)
	if err != nil {
		return err
	}
	page := "/reset"
	if user.PasswordHash == "" && user.EmailKey == mailaddr.Key(s.settings.BootstrapEmail) {
		page = "/setup" // the first user also enters name and address
	}
	fmt.Fprintf(s.stdout, "%s%s%s?token=%s\n", a.settings.baseURL(), server.DeskPath, page, url.QueryEscape(token))
	return nil
}

type userCreateCmd struct {
	Email    string `required:"" help:"Mail address."`
	Name     string `help:"Name. Default: the local part of the address."`
	Password string `help:"Password of 8 to 200 characters. Default: none."`
	Account  int64  `help:"Account to make the user a member of."`
	Role     string `help:"Role in that account." enum:"owner,admin,agent,collaborator,editor" default:"agent"`
}

// Run creates the user.
func (c *userCreateCmd) Run(s *session) error {
	a, err := s.open(true)
	if err != nil {
		return err
	}
	defer a.close()
	operator := a.Service().Operator()
	user, err := operator.CreateUser(s.ctx, identity.UserInput{Email: c.Email, Name: c.Name, Password: c.Password})
	if err != nil {
		return err
	}
	if c.Account != 0 {
		if _, err := operator.AddMember(s.ctx, c.Account, user.ID, c.Role); err != nil {
			return fmt.Errorf("user %d was created, but is not a member of account %d: %w", user.ID, c.Account, err)
		}
	}
	_, secret, err := operator.CreateToken(s.ctx, user.ID, identity.TokenInput{Name: "made with the user"})
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "user %d\n%s\n", user.ID, secret)
	return nil
}

// userArg identifies a user.
type userArg struct {
	Email string `arg:"" help:"The user's email address." placeholder:"ADDRESS"`
}

func userByEmail(a *app, email string) (identity.User, error) {
	user, err := a.Service().Operator().UserByEmail(a.ctx, email)
	if fault.Is(err, fault.NotFound) {
		return identity.User{}, errors.New("there is no user with this address")
	}
	return user, err
}

// withUser performs an action on the user.
func (c userArg) withUser(s *session, do func(a *app, user identity.User) error) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	user, err := userByEmail(a, c.Email)
	if err != nil {
		return err
	}
	return do(a, user)
}

type userListCmd struct{}

// Run prints the users by id.
func (c *userListCmd) Run(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tADDRESS\tNAME\tPASSWORD\tSECOND FACTOR\tDISABLED")
	users := func(req storage.PageRequest) (storage.Page[identity.User], error) {
		return a.Service().Operator().Users(a.ctx, req)
	}
	for u, err := range storage.Each(users) {
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", u.ID, printable(u.Email), printable(u.Name), yesNo(u.PasswordHash != ""), yesNo(u.HasSecondFactor()), since(u.DisabledAt))
	}
	return w.Flush()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// since formats a time for commands, "no" for the zero time.
func since(t time.Time) string {
	if t.IsZero() {
		return "no"
	}
	return "since " + t.UTC().Format(time.RFC3339)
}

type userShowCmd struct{ userArg }

// Run prints the user's data and accounts.
func (c *userShowCmd) Run(s *session) error {
	return c.withUser(s, func(a *app, u identity.User) error {
		w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintf(w, "id\t%d\naddress\t%s\nname\t%s\n", u.ID, printable(u.Email), printable(u.Name))
		fmt.Fprintf(w, "address verified\t%s\npassword\t%s\nsecond factor\t%s\ndisabled\t%s\n", since(u.EmailVerifiedAt), yesNo(u.PasswordHash != ""), since(u.SecondFactorAt), since(u.DisabledAt))
		fmt.Fprintf(w, "made\t%s\n", u.CreatedAt.UTC().Format(time.RFC3339))
		return errors.Join(printAccounts(a, w, u.ID), w.Flush())
	})
}

func printAccounts(a *app, w io.Writer, userID int64) error {
	accounts := func(req storage.PageRequest) (storage.Page[identity.Account], error) {
		return a.Service().Operator().AccountsOfUser(a.ctx, userID, req)
	}
	for account, err := range storage.Each(accounts) {
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "account\t%d %s\n", account.ID, printable(account.Name))
	}
	return nil
}

// noticed waits until running servers see a change of a user: they cache users for less than a second.
func (a *app) noticed() {
	select {
	case <-a.ctx.Done():
	case <-time.After(time.Second):
	}
}

type userDisableCmd struct{ userArg }

// Run disables the user, including in running servers: their next request is refused.
func (c *userDisableCmd) Run(s *session) error {
	return c.withUser(s, func(a *app, u identity.User) error {
		if _, err := a.Service().Operator().DisableUser(a.ctx, u.ID); err != nil {
			return err
		}
		a.noticed()
		fmt.Fprintf(s.stdout, "user %d is disabled\n", u.ID)
		return nil
	})
}

type userEnableCmd struct{ userArg }

// Run enables the user again.
func (c *userEnableCmd) Run(s *session) error {
	return c.withUser(s, func(a *app, u identity.User) error {
		if _, err := a.Service().Operator().EnableUser(a.ctx, u.ID); err != nil {
			return err
		}
		a.noticed()
		fmt.Fprintf(s.stdout, "user %d is enabled\n", u.ID)
		return nil
	})
}

type userResetFactorCmd struct{ userArg }

// Run removes the second factor.
func (c *userResetFactorCmd) Run(s *session) error {
	return c.withUser(s, func(a *app, u identity.User) error {
		if err := a.Service().Operator().ResetSecondFactor(a.ctx, u.ID); err != nil {
			return err
		}
		a.noticed()
		fmt.Fprintf(s.stdout, "user %d signs in with the password alone\n", u.ID)
		return nil
	})
}

type userPasskeysCmd struct{ userArg }

// Run removes the passkeys.
func (c *userPasskeysCmd) Run(s *session) error {
	return c.withUser(s, func(a *app, u identity.User) error {
		if err := a.Service().Operator().RemoveUserPasskeys(a.ctx, u.ID); err != nil {
			return err
		}
		a.noticed()
		fmt.Fprintf(s.stdout, "user %d has no passkeys\n", u.ID)
		return nil
	})
}

type userDeleteCmd struct{ userArg }

// Run removes the user.
func (c *userDeleteCmd) Run(s *session) error {
	return c.withUser(s, func(a *app, u identity.User) error {
		if err := a.Service().Operator().DeleteUser(a.ctx, u.ID); err != nil {
			return err
		}
		a.noticed()
		fmt.Fprintf(s.stdout, "user %d is deleted\n", u.ID)
		return nil
	})
}
