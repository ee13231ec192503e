package mail_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
)

// TestRewritten believes that From is not the author only where From says that a list or a group has rewritten it.
func TestRewritten(t *testing.T) {
	t.Parallel()
	ada := mailaddr.Address{Name: "Ada", Email: "ada@example.org"}
	const original, via, list = "X-Original-From: Ada <ada@example.org>", "From: 'Ada' via Desk <desk@example.com>", "List-Id: <desk.example.com>"
	for name, tt := range map[string]struct {
		header []string
		author mailaddr.Address
		ok     bool
	}{
		"a group":                      {[]string{via, original, list}, ada, true},
		"a group of Google":            {[]string{via, original, "X-Google-Group-Id: 1"}, ada, true},
		"the address of the list":      {[]string{"From: Desk <desk@example.com>", original, "List-Post: <mailto:desk@example.com>"}, ada, true},
		"nothing else":                 {[]string{"From: Eve <eve@example.net>", original}, mailaddr.Address{}, false},
		"a list, but From stayed":      {[]string{"From: Eve <eve@example.net>", original, list}, mailaddr.Address{}, false},
		"a group that names no list":   {[]string{via, original}, ada, true},
		"the address of another list":  {[]string{"From: Eve <eve@example.net>", original, "List-Post: <mailto:desk@example.com>"}, mailaddr.Address{}, false},
		"a group that names no author": {[]string{via, list, "Reply-To: ada@example.org"}, mailaddr.Address{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := mail.Parse([]byte(strings.Join(tt.header, "\r\n")+"\r\n\r\nx\r\n"), mail.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			author, ok := m.Rewritten()
			if diff := cmp.Diff(tt.author, author); diff != "" || ok != tt.ok {
				t.Errorf("rewritten: %t\n%s", ok, diff)
			}
		})
	}
}
