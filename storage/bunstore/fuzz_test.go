package bunstore_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/helpdesk/identity"
	"github.com/helpwright/helpwright/storage/bunstore"
	"github.com/helpwright/helpwright/storage/fault"
)

// FuzzText stores any text, in a column and in a list, and reads it back: valid text is returned unchanged, anything else is
// refused as Invalid.
func FuzzText(f *testing.F) {
	for _, seed := range []string{
		"", "plain", `'; DROP TABLE hw_users; --`, `\'`, `\u0000`, `\\u0000`, "\x00", "\xff", "\xed\xa0\x80", "😀 é \u202e", "?0 ?name", "\r\n",
	} {
		f.Add(seed)
	}
	db := open(f, "sqlite::memory:", bunstore.Config{})
	f.Fuzz(func(t *testing.T, text string) {
		err := db.InSystemTx(t.Context(), func(ctx context.Context, tx helpdesk.SystemTx) error {
			account := identity.Account{Name: text, Languages: []string{text, text}}
			if err := tx.InsertAccount(ctx, &account); err != nil {
				return err
			}
			got, err := tx.Within(helpdesk.Scope{AccountID: account.ID}).Account(ctx)
			if err != nil {
				return err
			}
			if got.Name != text || len(got.Languages) != 2 || got.Languages[0] != text || got.Languages[1] != text {
				t.Errorf("%q came back as %+v", text, got)
			}
			return errOnPurpose // rolls back
		})
		storable := utf8.ValidString(text) && !strings.Contains(text, "\x00")
		switch {
		case storable && err != errOnPurpose: //nolint:errorlint // the function's error comes back as it is
			t.Errorf("%q: %v", text, err)
		case !storable && !fault.Is(err, fault.Invalid):
			t.Errorf("%q: %v, want an Invalid fault", text, err)
		}
	})
}
