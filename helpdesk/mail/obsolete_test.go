package mail_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mail"
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
)

// Comments and white space inside of addresses (RFC 5322 sections 3.2.2 and 4.4).
func TestCommentsInAddresses(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]mailaddr.Address{
		`Ada <ada@example.com(work)>`:                                   {Name: "Ada", Email: "ada@example.com"},
		`Ada <(at work) ada@example.com>`:                               {Name: "Ada", Email: "ada@example.com"},
		`Ada <ada(at work)@(the)example.com>`:                           {Name: "Ada", Email: "ada@example.com"},
		`Ada <ada @ example . com>`:                                     {Name: "Ada", Email: "ada@example.com"},
		`Pete(A nice \) chap) <pete(his account)@silly.test(his host)>`: {Name: "Pete", Email: "pete@silly.test"},
		`ada@example.com (evil@evil.example)`:                           {Name: "evil@evil.example", Email: "ada@example.com"},
		`"a b" <"a b"@example.com>`:                                     {Name: "a b", Email: `"a b"@example.com`},
		`ada (at work) @ (the) example . com (Ada)`:                     {Name: "at work the Ada", Email: "ada@example.com"},
		`ada(Ada) . lovelace@example.com`:                               {Name: "Ada", Email: "ada.lovelace@example.com"},
		`ada @ example.com`:                                             {Email: "ada@example.com"},
		`Ada @ Home ada@example.com`:                                    {Name: "Ada @ Home", Email: "ada@example.com"},
	} {
		got, bad := mail.ParseAddresses(raw, "")
		if diff := cmp.Diff([]mailaddr.Address{want}, got); diff != "" || bad > 0 {
			t.Errorf("%s: %s", raw, diff)
		}
	}
}

// Message-IDs that lost their angle brackets, or never had them.
func TestReferencesWithoutBrackets(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][]string{
		"a@x b@y":                   {"a@x", "b@y"},
		"a@x, b@y":                  {"a@x", "b@y"},
		"a@x\n b@y\n c@z":           {"a@x", "b@y", "c@z"},
		"<a@x> b@y <c@z>":           {"a@x", "b@y", "c@z"},
		"<a@x><b@y":                 {"a@x", "b@y"},
		"a@x>":                      {"a@x"},
		"&lt;a@x&gt;":               {"a@x"},
		"Your message of Mon <a@x>": {"a@x"},
		"ada@example.com's message": nil,
		"see ada@example.com":       nil,
		"a@ @x @":                   nil,
	} {
		for _, field := range []string{"References", "In-Reply-To"} {
			m, err := mail.Parse([]byte(field+": "+raw+"\n\nText."), mail.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got := m.References
			if field == "In-Reply-To" {
				got = m.InReplyTo
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %q: %s", field, raw, diff)
			}
		}
	}
}
