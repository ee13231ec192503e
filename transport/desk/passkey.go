package desk

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/internal/cookie"
)

// passkeySeconds is how long a browser keeps a challenge.
const passkeySeconds = 300

// maxPasskeyForm is the maximum size of a form with a browser's answer, which is larger when encoded.
const maxPasskeyForm = 2 * identity.MaxPasskeyAnswer

// passkeyForm is a form that the script fills in, and its challenge's address.
type passkeyForm struct {
	Action, Begin string
	Origin        string // the only origin on which passkeys work
	Stay          bool   // stay signed in after the browser is closed; a box on the page overrides it
}

// passkeySignIn returns the form to sign in with a passkey; nil if passkeys do not work.
func (v *visit) passkeySignIn() *passkeyForm {
	origin := v.service().SignIn().PasskeyOrigin()
	if origin == "" {
		return nil
	}
	return &passkeyForm{Action: v.h.url("/sign-in/passkey"), Begin: v.h.url("/sign-in/passkey/begin"), Origin: origin, Stay: true}
}

// challenge sends the script the options for the browser, and sets the cookie that belongs to them.
func (v *visit) challenge(start identity.PasskeyStart) error {
	http.SetCookie(v.w, cookie.SignIn(start.Kept, passkeySeconds, v.h.cfg.Secure(v.r)))
	return v.json(map[string]any{"options": json.RawMessage(start.Options)})
}

// noChallenge sends the script an error that the member can act on.
func (v *visit) noChallenge(err error) error {
	text, status := v.passkeyProblem(err)
	if text == "" {
		return err
	}
	v.w.Header().Set("Content-Type", "application/json")
	v.w.WriteHeader(status)
	return json.NewEncoder(v.w).Encode(map[string]any{"problem": text})
}

// passkeyAnswer reads the browser's cookie and answer. They are valid once.
func (v *visit) passkeyAnswer() (kept string, answer []byte) {
	secure := v.h.cfg.Secure(v.r)
	kept = cookie.Kept(v.r, secure)
	http.SetCookie(v.w, cookie.SignIn("", -1, secure))
	return kept, []byte(v.r.PostFormValue("answer"))
}

func (v *visit) beginPasskeySignIn() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	start, err := v.service().SignIn().BeginPasskey(v.ctx())
	if err != nil {
		return v.noChallenge(err)
	}
	return v.challenge(start)
}

func (v *visit) signInWithPasskey() error {
	if v.h.cfg.Authenticate != nil {
		return v.missing()
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxPasskeyForm)
	kept, answer := v.passkeyAnswer()
	next := v.r.PostFormValue("next")
	caller, err := v.service().SignIn().FinishPasskey(v.ctx(), kept, answer)
	if err != nil {
		text, status := v.passkeyProblem(err)
		if text == "" {
			return err
		}
		return v.askToSignIn(signInView{Next: next, Problem: text}, status)
	}
	if err := v.letIn(caller, v.r.PostFormValue("stay") != ""); err != nil {
		return err
	}
	return v.see(v.safe(next, v.h.url("/")))
}

// passkeyProblem returns the message for a refused passkey; "" if the user cannot do anything about it.
func (v *visit) passkeyProblem(err error) (text string, status int) {
	switch code := codeOf(err); {
	case code == identity.PasskeysOff:
		return v.words.T("Passkeys only work over https://. Ask whoever runs this server."), http.StatusConflict
	case code == identity.UserDisabled:
		return v.words.T("An admin has suspended your access. Ask them to restore it."), http.StatusUnauthorized
	case code == identity.PasskeyExpired:
		return v.words.T("This took too long or was started in another browser. Try again."), http.StatusUnauthorized
	case code == identity.PasskeyUnknown:
		return v.words.T("This passkey is not registered here. Sign in another way, then add it in your profile."), http.StatusUnauthorized
	case code == identity.PasskeyCloned:
		return v.words.T("This passkey may have been copied. Sign in another way, then remove it in your profile."), http.StatusUnauthorized
	case code == identity.UniquePasskey:
		return v.words.T("This passkey is already registered."), http.StatusConflict
	case code == identity.LastSignIn:
		return v.words.T("You would not be able to sign in. Set a password first."), http.StatusConflict
	case fault.Is(err, fault.Unauthenticated):
		v.h.cfg.Logger.InfoContext(v.ctx(), "a passkey was refused", "code", code, "error", errors.Unwrap(err))
		return v.words.T("The passkey was not accepted. Try again."), http.StatusUnauthorized
	case fault.Is(err, fault.Invalid):
		problems := v.problems(err)
		switch {
		case problems["name"] != "":
			return v.words.T("Give the passkey a name of up to 100 characters."), http.StatusUnprocessableEntity
		case problems["current_password"] != "":
			return v.words.T("The password is incorrect."), http.StatusUnprocessableEntity
		}
		return v.words.T("The passkey was not accepted. Try again."), http.StatusUnprocessableEntity
	case fault.Is(err, fault.RateLimited):
		return v.words.T("Too many incorrect passwords. Wait a few minutes."), http.StatusTooManyRequests
	case fault.Is(err, fault.Conflict):
		return v.words.N(identity.MaxPasskeys, "You have %s passkey. Remove one first.|You have %s passkeys. Remove one first."), http.StatusConflict
	}
	return "", 0
}

// passkeysView is the page of a member's passkeys.
type passkeysView struct {
	Rows        []passkeyRow
	Add         *passkeyForm // nil if passkeys do not work here
	Name        string       // suggestion
	HasPassword bool
	Email, Home string
	Problem     string
}

type passkeyRow struct{ Name, Made, Used, Action, Remove string }

func (v *visit) passkeysPage() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	return v.showPasskeys(admin, passkeysView{}, 0)
}

func (v *visit) showPasskeys(admin *helpdesk.Admin, view passkeysView, status int) error {
	all, err := admin.Passkeys(v.ctx())
	if err != nil {
		return err
	}
	if origin := v.service().SignIn().PasskeyOrigin(); origin != "" {
		view.Add = &passkeyForm{Action: v.h.url("/passkeys"), Begin: v.h.url("/passkeys/begin"), Origin: origin}
	}
	view.HasPassword, view.Email, view.Home, view.Name = v.user.PasswordHash != "", v.user.Email, v.h.url("/"), device(v.r.UserAgent())
	for _, p := range all {
		row := passkeyRow{Name: p.Name, Made: v.words.T("created %s", v.when(p.CreatedAt)), Used: v.words.T("never used"), Action: v.h.url("/passkeys/" + itoa(p.ID))}
		row.Remove = row.Action + "/remove"
		if !p.UsedAt.IsZero() {
			row.Used = v.words.T("last used %s", v.when(p.UsedAt))
		}
		view.Rows = append(view.Rows, row)
	}
	return v.show(screen{template: "passkeys", title: v.words.T("Passkeys"), data: view, bare: true, status: status})
}

func (v *visit) beginPasskey() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	start, err := admin.BeginPasskey(v.ctx(), v.r.PostFormValue("current_password"))
	if err != nil {
		return v.noChallenge(err)
	}
	return v.challenge(start)
}

func (v *visit) addPasskey() error {
	body := v.r.Body
	admin, err := v.own()
	if err != nil {
		return err
	}
	v.r.Body = http.MaxBytesReader(v.w, body, maxPasskeyForm)
	kept, answer := v.passkeyAnswer()
	if _, err := admin.FinishPasskey(v.ctx(), kept, v.r.PostFormValue("name"), answer); err != nil {
		return v.passkeyRefused(admin, err)
	}
	return v.see(v.h.url("/passkeys"))
}

func (v *visit) removePasskey() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	if err := admin.RemovePasskey(v.ctx(), v.r.PostFormValue("current_password"), v.number("id")); err != nil {
		return v.passkeyRefused(admin, err)
	}
	return v.see(v.h.url("/passkeys"))
}

func (v *visit) renamePasskey() error {
	admin, err := v.own()
	if err != nil {
		return err
	}
	if _, err := admin.RenamePasskey(v.ctx(), v.number("id"), v.r.PostFormValue("name")); err != nil {
		return v.passkeyRefused(admin, err)
	}
	return v.see(v.h.url("/passkeys"))
}

func (v *visit) passkeyRefused(admin *helpdesk.Admin, err error) error {
	text, status := v.passkeyProblem(err)
	if text == "" {
		return err
	}
	return v.showPasskeys(admin, passkeysView{Problem: text}, status)
}

func (v *visit) removeMemberPasskeys() error {
	return v.memberUser(func(id int64) error { return v.Members().RemovePasskeys(v.ctx(), id) }, v.words.T("Passkeys removed"))
}

// countPasskeys fills in the number of passkeys in a profile, if passkeys work.
func (v *visit) countPasskeys(view *profileView) error {
	admin, err := v.service().Admin(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	all, err := admin.Passkeys(v.ctx())
	view.Passkeys, view.PasskeyCount = v.h.url("/passkeys"), len(all)
	return err
}
