package mail_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail"
)

func TestNewMessageID(t *testing.T) {
	t.Parallel()
	tests := []struct{ domain, want string }{
		{"Example.COM", "@example.com"},
		{" desk.example.com.\r\n", "@desk.example.com"},
		{"a b<c>..d", "@abc.d"},
		{"", "@localhost"},
		{"日本", "@localhost"},
	}
	for _, tt := range tests {
		id, err := mail.NewMessageID(bytes.NewReader(make([]byte, 16)), tt.domain)
		if want := strings.Repeat("0", 32) + tt.want; err != nil || id != want {
			t.Errorf("%q: %q, %v", tt.domain, id, err)
		}
	}
	if _, err := mail.NewMessageID(bytes.NewReader(make([]byte, 15)), "x"); err == nil {
		t.Error("too little randomness must be an error")
	}
	a, _ := mail.NewMessageID(rand.Reader, "x")
	b, _ := mail.NewMessageID(rand.Reader, "x")
	if a == b {
		t.Error("the same id twice")
	}
}

func TestBoundReferences(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf("%d@example.org", i))
	}
	long := []string{"root@example.org"}
	for i := range 30 {
		long = append(long, fmt.Sprintf("%d-%s@example.org", i, strings.Repeat("x", 100)))
	}
	tests := []struct {
		name      string
		in        []string
		n         int
		first     string
		last      string
		unchanged bool
	}{
		{name: "none"},
		{name: "few", in: many[:3], n: 3, first: many[0], last: many[2]},
		{name: "many", in: many, n: 20, first: many[0], last: many[49]},
		{name: "long", in: long, n: 8, first: long[0], last: long[30]},
		{name: "brackets, duplicates, junk", in: []string{"<a@b>", "x y", "a\r\nb", "", "c@d", "a@b", "ä@b"}, n: 2, first: "c@d", last: "a@b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := mail.BoundReferences(tt.in)
			if len(got) != tt.n || tt.n > 0 && (got[0] != tt.first || got[len(got)-1] != tt.last) {
				t.Errorf("%d ids: %v", len(got), got)
			}
			if size := len(strings.Join(got, "   \r\n")); size > 1000 {
				t.Errorf("%d bytes", size)
			}
			if d := cmp.Diff(got, mail.BoundReferences(got)); d != "" {
				t.Errorf("not a fixed point: %s", d)
			}
		})
	}
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, reply, base string }{
		{"Hello", "Re: Hello", "Hello"},
		{"Re: Hello", "Re: Hello", "Hello"},
		{"RE: AW: Sv: re[2]: Hello", "Re: Hello", "Hello"},
		{"Re:Hello", "Re: Hello", "Hello"},
		{"Fwd: Hello", "Re: Fwd: Hello", "Hello"},
		{"AW: WG: Hello", "Re: WG: Hello", "Hello"},
		{"Antw.: Hello", "Re: Antw.: Hello", "Antw.: Hello"},
		{"回复：你好", "Re: 你好", "你好"},
		{"Reminder: pay", "Re: Reminder: pay", "Reminder: pay"},
		{"Regarding: x", "Re: Regarding: x", "Regarding: x"},
		{"12:30 meeting", "Re: 12:30 meeting", "12:30 meeting"},
		{"[list] Re: x", "Re: [list] Re: x", "[list] Re: x"},
		{"", "Re:", ""},
		{"Re:", "Re:", ""},
		{"a\r\nBcc: x", "Re: a  Bcc: x", "a  Bcc: x"},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got := [2]string{mail.ReplySubject(tt.in), mail.BaseSubject(tt.in)}
			if d := cmp.Diff([2]string{tt.reply, tt.base}, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if again := mail.ReplySubject(got[0]); again != got[0] {
				t.Errorf("answered again: %q", again)
			}
		})
	}
}

func ExampleBoundReferences() {
	fmt.Println(mail.BoundReferences([]string{"<root@example.org>", "<one@example.org>"}))
	// Output: [root@example.org one@example.org]
}

func ExampleReplySubject() {
	fmt.Println(mail.ReplySubject("RE: AW: Order 7"))
	// Output: Re: Order 7
}

func ExampleBaseSubject() {
	fmt.Println(mail.BaseSubject("Fwd: RE: Order 7"))
	// Output: Order 7
}
