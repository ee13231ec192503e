package mail_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail"
)

func TestDates(t *testing.T) {
	t.Parallel()
	const day = "2023-01-02T14:04:05Z"
	tests := []struct{ in, want string }{
		{"Mon, 02 Jan 2023 15:04:05 +0100", day},
		{"Mon, 2 Jan 2023 15:04:05 +0100 (CET)", day},
		{"2 Jan 23 14:04:05 GMT", day},
		{"Mon, 02 Jan 2023 09:04:05 EST", day},
		{"Mon Jan  2 14:04:05 2023", day},
		{"Mon Jan 2 15:04:05 CET 2023", day},
		{"2023-01-02T15:04:05+01:00", day},
		{"2023-01-02T14:04:05.123Z", day},
		{"2023-01-02 14:04:05", day},
		{"Montag, 2. Januar 2023 15:04:05 +0100", day},
		{"Mon, 02-Jan-2023 14:04:05 UT", day},
		{"Mon, 02 Jan 2023 02:04:05 PM +0000", day},
		{"Mon, 02 Jan 2023 16:04:05 GMT+0200", day},
		{"Mon, 02 Jan 2023 14:04 +0000", "2023-01-02T14:04:00Z"},
		{"Fri, 21 Nov 97 09:55:06 -0600", "1997-11-21T15:55:06Z"},
		{"Tue, 31 Feb 2023 00:00:00 +0000", "0001-01-01T00:00:00Z"},
		{"yesterday", "0001-01-01T00:00:00Z"},
		{"Mon, 02 Jan 99999 15:04:05 +0100", "0001-01-01T00:00:00Z"},
		{"", "0001-01-01T00:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			m, err := mail.Parse([]byte("Date: "+tt.in+"\nSubject: x\n\nx"), mail.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, m.Date.Format("2006-01-02T15:04:05Z07:00")); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
