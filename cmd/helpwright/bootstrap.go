package main

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/server"
)

// bootstrap creates the first user, an account and the owner's token in an empty database, and returns the text to print: a
// generated token is shown only this once, a configured one not at all.
func (a *app) bootstrap() (string, error) {
	operator := a.Service().Operator()
	some, err := operator.HasUsers(a.ctx)
	if err != nil {
		return "", err
	}
	if some {
		return a.unfinished()
	}
	user, err := operator.CreateUser(a.ctx, identity.UserInput{Email: a.settings.BootstrapEmail})
	if fault.Is(err, fault.Invalid) {
		// Another server on the same empty database may have been faster.
		if some, again := operator.HasUsers(a.ctx); again == nil && some {
			return "", nil
		}
		return "", usageError{err}
	}
	if err != nil {
		return "", err
	}
	account, err := operator.CreateAccount(a.ctx, identity.AccountInput{Name: "My help desk"}, user.ID)
	if err != nil {
		return "", err
	}
	_, secret, err := operator.CreateToken(a.ctx, user.ID, identity.TokenInput{Name: "bootstrap", Secret: a.settings.BootstrapToken})
	if err != nil {
		return "", err
	}
	link, err := a.setUpLink(user.ID)
	if err != nil {
		return "", err
	}
	if a.settings.BootstrapToken != "" { // it is known, and output ends up in logs
		secret = ""
	}
	return a.tour(account.ID, secret, link)
}

// setUpLink returns the link with which the first user sets up the server. It works until they have a password. If the
// operator has chosen the owner's token, the page asks for that.
func (a *app) setUpLink(userID int64) (string, error) {
	page := a.settings.baseURL() + server.DeskPath + "/setup"
	if a.settings.BootstrapToken != "" {
		return page, nil
	}
	token, err := a.Service().Operator().CreatePasswordToken(a.ctx, userID, 0)
	return page + "?token=" + url.QueryEscape(token), err
}

// unfinished returns the text to print until the server is set up: the link again.
func (a *app) unfinished() (string, error) {
	operator := a.Service().Operator()
	user, err := operator.UserByEmail(a.ctx, a.settings.BootstrapEmail)
	if fault.Is(err, fault.NotFound) || err == nil && user.PasswordHash != "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	link, err := a.setUpLink(user.ID)
	return fmt.Sprintf("Nobody can sign in yet. Set up the help desk in a browser: %s\n", link), err
}

// tourText leads from an empty server to a conversation, ready to paste.
const tourText = `
This database was empty: user {{.Email}} now owns account {{.Account}}.
Set up the help desk in a browser{{if .Token}} with this link, which works once{{else}}, with the owner's token{{end}}:

{{.SetUp}}

{{if .Token}}The owner's token, shown this once:

{{.Token}}

{{else}}The owner's token is that of HELPWRIGHT_BOOTSTRAP_TOKEN.

{{end}}A tour to paste into a shell (with curl):

TOKEN={{if .Token}}'{{.Token}}'{{else}}"${HELPWRIGHT_BOOTSTRAP_TOKEN:?must be set}"{{end}}
API={{.API}}/accounts/{{.Account}}
api() { curl -sS -H "Authorization: Bearer $TOKEN" -H 'Accept: application/json' "$@"; echo; }
# a mailbox, and the internal address that its mail is forwarded to
api -d name=Support -d email=support@example.org $API/mailboxes
FORWARD=$(api $API/mailboxes | sed -E 's/.*"internal_email_address":"([^"]+)".*/\1/')
# a customer writes; the mail becomes a conversation
printf 'From: Ada <ada@example.com>\r\nTo: support@example.org\r\nSubject: The door is stuck\r\nMessage-ID: <1@example.com>\r\n\r\nIt does not open.\r\n' |
  curl -sS smtp://{{.Intake}} --mail-from ada@example.com --mail-rcpt "$FORWARD" --upload-file -
sleep 2
api $API/conversations
api $API/conversations/1/interactions
# an answer leaves, a note never does
api -d type=user -d 'body=<p>Have you tried to pull?</p>' $API/conversations/1/interactions
api -d type=note -d 'body=She pushed.' $API/conversations/1/interactions
sleep 2
ls '{{.Outbox}}'
# the customer replies to the answer, in the same conversation
REPLY_TO=$(sed -nE 's/^Reply-To: (.*<)?([^<>[:space:]]+)>?.*/\2/p' '{{.Outbox}}'/*.eml | tail -1)
printf 'From: Ada <ada@example.com>\r\nTo: <%s>\r\nSubject: Re: The door is stuck\r\nMessage-ID: <2@example.com>\r\n\r\nNow it does.\r\n' "$REPLY_TO" |
  curl -sS smtp://{{.Intake}} --mail-from ada@example.com --mail-rcpt "$REPLY_TO" --upload-file -
sleep 2
api $API/conversations/1/interactions

`

func (a *app) tour(accountID int64, token, setUp string) (string, error) {
	intake := a.settings.IntakeListen
	if host, port, err := net.SplitHostPort(intake); err == nil && (host == "" || host == "0.0.0.0" || host == "::") {
		intake = net.JoinHostPort("127.0.0.1", port)
	}
	var b strings.Builder
	t, err := template.New("tour").Parse(tourText)
	if err != nil {
		return "", err
	}
	err = t.Execute(&b, map[string]any{
		"Email": a.settings.BootstrapEmail, "SetUp": setUp, "Account": accountID, "Token": token,
		"API": a.APIURL(), "Intake": intake, "Outbox": filepath.Join(a.data, "outbox"),
	})
	return b.String(), err
}
