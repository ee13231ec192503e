package sending_test

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/sending"
)

const sesID = "0102018c3f5e7a91-3b6c2f10-9d4e-4a7b-8c21-5f0e6d7a8b9c-000000"

func TestRelayMessageID(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"Ok " + sesID: sesID + "@amazonses.com", // Amazon SES
		"OK " + sesID: sesID + "@amazonses.com",
		"Ok <" + sesID + "@eu-west-1.amazonses.com>":                                    sesID + "@amazonses.com",
		"OK <AM0PR01@AM0PR01.eurprd01.prod.example> [InternalId=1, Hostname=x.example]": "AM0PR01@AM0PR01.eurprd01.prod.example", // Microsoft
		"OK: queued as <202611290841.17@relay.example>":                                 "202611290841.17@relay.example",
		"OK\nqueued as <17@relay.example>":                                              "17@relay.example", // an answer of two lines
		"<17@[192.0.2.1]> Queued mail for delivery":                                     "17@[192.0.2.1]",
		"<own@example.org> Queued mail for delivery":                                    "",
		"<own@example.org> is now <17@relay.example>":                                   "17@relay.example",
		"Ok: queued as 4ABCDEF012":                                                      "", // Postfix
		"Ok: queued as 4Zc1Xb3Yd2z9vKQ":                                                 "", // Postfix with long ids
		"OK id=1tGx2k-000000003Bp-1aBc":                                                 "", // Exim
		"OK id=1tGx2k-0003Bp-1a":                                                        "", // Exim before 4.97
		"OK 1732869705 a640c23a62f3a-aa5998e6d8dsi123456 - gsmtp":                       "", // Gmail
		"ok 1732869705 qp 4711":                                                         "", // qmail
		"Message accepted for delivery, 5AT8fjZt012345":                                 "",
		"Ok 3b6c2f10-9d4e-4a7b-8c21-5f0e6d7a8b9c":                                       "",
		"Ok " + sesID + " and more":                                                     "",
		"":                                                                              "",
		"<>":                                                                            "",
		"<@relay.example>":                                                              "",
		"<17@>":                                                                         "",
		"<17>":                                                                          "",
		"<1@7@relay.example>":                                                           "",
		"<1 7@relay.example>":                                                           "",
		"<17@relay.example":                                                             "",
		"17@relay.example":                                                              "",
		"<grün@relay.example>":                                                          "",
		"<17\x00@relay.example>":                                                        "",
		"<" + strings.Repeat("1", 300) + "@relay.example>":                              "",
		strings.Repeat(" ", 10_000) + "<17@relay.example>":                              "",
	} {
		if got := sending.RelayMessageID(answer, "own@example.org"); got != want {
			t.Errorf("%.100q: %q, want %q", answer, got, want)
		}
	}
}

func TestWithoutRegion(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"1@email.amazonses.com":       "1@amazonses.com",
		"1@EU-west-1.AmazonSES.com":   "1@amazonses.com",
		"1@amazonses.com":             "1@amazonses.com",
		"1@x.notamazonses.com":        "1@x.notamazonses.com",
		"1@amazonses.com.example.com": "1@amazonses.com.example.com",
		"amazonses.com":               "amazonses.com",
		"":                            "",
	} {
		if got := sending.WithoutRegion(id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

func FuzzRelayMessageID(f *testing.F) {
	for _, answer := range []string{
		"Ok " + sesID, "OK <a@b.example> [Hostname=c.example]", "<own@example.org> <a@[IPv6:::1]>", "Ok: queued as 4ABC", "OK id=1tGx2k-0003Bp-1a", "<\x00@\xff>",
	} {
		f.Add(answer)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		id := sending.RelayMessageID(answer, "own@example.org")
		if id == "" {
			return
		}
		if len(id) > sending.MaxMessageID || strings.Count(id, "@") != 1 || strings.HasPrefix(id, "@") || strings.HasSuffix(id, "@") || id == "own@example.org" {
			t.Errorf("%q", id)
		}
		if strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '<' || r == '>' }) {
			t.Errorf("%q is no Message-ID", id)
		}
		if sending.WithoutRegion(id) != id {
			t.Errorf("%q is not as it is looked up", id)
		}
	})
}
