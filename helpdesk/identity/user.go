package identity

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/helpwright/helpwright/storage"
)

// User is a person who signs in. A user works in accounts through memberships.
type User struct {
	ID              int64
	Name            string
	Email           string
	EmailKey        string // normalised Email, see [mailaddr.Key]; unique over all accounts
	EmailVerifiedAt time.Time
	PasswordHash    string    // Argon2id in PHC string form; "": the user has no password
	DisabledAt      time.Time // zero: not disabled, see helpdesk.Admin.DisableUser
	DisabledByID    int64     // admin who disabled the user, see helpdesk.Desk.DisableMember; 0: the operator
	SecondFactorAt  time.Time // since when signing in requires a code too; zero: not required
	// SealedSecondFactor verifies codes. It is set before the second factor is confirmed, see helpdesk.Admin.BeginSecondFactor.
	SealedSecondFactor []byte
	Picture            string // names the content of the user's picture, see helpdesk.Admin.SetPicture; "": none
	Preferences        Preferences
	CreatedAt          time.Time
	UpdatedAt          time.Time
}

// Initials returns the first letters of the first and the last word of the name.
func (u User) Initials() string { return initials(u.Name) }

// Disabled reports whether the user cannot sign in, see helpdesk.Admin.DisableUser.
func (u User) Disabled() bool { return !u.DisabledAt.IsZero() }

// HasSecondFactor reports whether signing in with the password also requires a code.
func (u User) HasSecondFactor() bool { return !u.SecondFactorAt.IsZero() }

// Secrets returns the sealed fields of a user. They are bound to the id.
func (u *User) Secrets() []storage.Secret {
	return []storage.Secret{{Sealed: &u.SealedSecondFactor, Context: u.FactorContext()}}
}

// FactorContext is what the second factor is sealed for, see [storage.Sealer].
func (u User) FactorContext() string { return fmt.Sprintf("user/%d/second_factor", u.ID) }

// UserInput is a new user.
type UserInput struct {
	Name  string // "" means the address's local part
	Email string // required
	// Password is 8 to 200 characters; empty: the user cannot sign in with a password.
	Password string
}

// UserUpdate changes the caller's own user. Absent fields are unchanged.
type UserUpdate struct {
	Name storage.Opt[string] // 1 to 200 characters; required if nothing else is given
	// Password is the new password, 8 to 200 characters; "" leaves it unchanged.
	Password string
	// CurrentPassword confirms a new password. A user without a password does not need it.
	CurrentPassword string
	Preferences     PreferencesUpdate
}

// UserDisabled is the code of faults about operations that a disabled user blocks.
const UserDisabled = "user_disabled"

// OtherAccounts is the code of the Conflict fault about a user who also works in other accounts. Only the operator may
// disable or enable such a user.
const OtherAccounts = "other_accounts"

// initials returns the first letters of the first and the last word.
func initials(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) })
	var b strings.Builder
	for i, w := range words {
		if i == 0 || i == len(words)-1 {
			r, _ := utf8.DecodeRuneInString(w)
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}
