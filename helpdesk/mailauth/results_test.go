package mailauth_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/helpwright/helpwright/helpdesk/mailauth"
)

func TestReadResults(t *testing.T) {
	t.Parallel()
	const google = `mx.google.com; dkim=pass header.i=@example.com header.s=20230601 header.b="a/b;c=";
       spf=pass (google.com: domain of ada@example.com designates 192.0.2.1 as permitted sender) smtp.mailfrom=ada@example.com;
       dmarc=pass (p=REJECT sp=REJECT dis=NONE) header.from=example.com`
	for name, tt := range map[string]struct {
		fields []string
		want   string // "" if none is trusted
	}{
		"of Google":                {[]string{google}, "mx.google.com spf=pass(example.com) dkim=pass(example.com) dmarc=pass(example.com) p=reject aligned"},
		"another case of letters":  {[]string{"MX.Google.COM; SPF=Pass smtp.MAILFROM=example.com"}, "MX.Google.COM spf=pass(example.com) dmarc=none(example.com) aligned"},
		"of nobody who is trusted": {[]string{strings.Replace(google, "mx.google.com", "mx.evil.example", 1)}, ""},
		"no field":                 {nil, ""},
		"a Kelvin sign":            {[]string{"mx.stri\u212ae.example; dmarc=pass header.from=example.com"}, ""},
		"a long s":                 {[]string{"mx.\u017ftrike.example; dmarc=pass header.from=example.com"}, ""},
		"empty ones":               {[]string{"", ";", "(mx.google.com); dmarc=pass", `"mx.google.com"; dmarc=pass header.from=example.com`}, ""},
		"below one of another": {[]string{"mx.evil.example; dmarc=fail", google},
			"mx.google.com spf=pass(example.com) dkim=pass(example.com) dmarc=pass(example.com) p=reject aligned"},
		"a second one came with the mail": {[]string{"mx.google.com; spf=fail smtp.mailfrom=x.example; dmarc=fail (p=NONE) header.from=example.com", google},
			"mx.google.com spf=fail(x.example) dmarc=fail(example.com) p=none"},
		"a version":            {[]string{"mx.google.com 1; dkim=pass header.d=list.example"}, "mx.google.com spf=none() dkim=pass(list.example) dmarc=none(example.com)"},
		"an unknown version":   {[]string{"mx.google.com 2; dmarc=pass header.from=example.com"}, ""},
		"nothing done":         {[]string{"mx.google.com; none"}, "mx.google.com spf=none() dmarc=none(example.com)"},
		"results in a comment": {[]string{"mx.google.com; spf=softfail (x; dmarc=pass header.from=example.com) smtp.helo=h.example"}, "mx.google.com spf=softfail(h.example) dmarc=none(example.com)"},
		"in nested comments":   {[]string{`mx.google.com; spf=fail (a (b\)) ; dmarc=pass header.from=example.com) smtp.mailfrom=x.example`}, "mx.google.com spf=fail(x.example) dmarc=none(example.com)"},
		"in a comment without an end": {[]string{"mx.google.com; spf=fail (x; dmarc=pass header.from=example.com"},
			"mx.google.com spf=fail() dmarc=none(example.com)"},
		"in a quoted local part": {[]string{`mx.google.com; spf=pass smtp.mailfrom="a; dmarc=pass header.from=example.com"@x.example`},
			"mx.google.com spf=pass(x.example) dmarc=none(example.com)"},
		"as a property":                  {[]string{"mx.google.com; spf=fail smtp.mailfrom=x.example dmarc=pass header.from=example.com"}, "mx.google.com spf=fail(x.example) dmarc=none(example.com)"},
		"of another From":                {[]string{"mx.google.com; dmarc=pass header.from=evil.example"}, "mx.google.com spf=none() dmarc=permerror()"},
		"of another From, though signed": {[]string{"mx.google.com; dkim=pass header.d=example.com; dmarc=pass header.from=evil.example"}, "mx.google.com spf=none() dkim=pass(example.com) dmarc=permerror()"},
		"of two":                         {[]string{"mx.google.com; dmarc=fail header.from=evil.example; dmarc=pass header.from=example.com"}, "mx.google.com spf=none() dmarc=permerror()"},
		"of two, ours first":             {[]string{"mx.google.com; dmarc=pass header.from=example.com; dmarc=pass header.from=evil.example"}, "mx.google.com spf=none() dmarc=permerror()"},
		"of no From, a failure":          {[]string{"mx.google.com; dmarc=fail (p=REJECT)"}, "mx.google.com spf=none() dmarc=fail(example.com) p=reject"},
		"of no From":                     {[]string{"mx.google.com; dmarc=pass"}, "mx.google.com spf=none() dmarc=none(example.com)"},
		"the first of two counts":        {[]string{"mx.google.com; spf=fail smtp.mailfrom=x.example smtp.mailfrom=example.com"}, "mx.google.com spf=fail(x.example) dmarc=none(example.com)"},
		"spaces everywhere":              {[]string{"mx.google.com ; dmarc = fail  policy.dmarc = quarantine  header.from = example.com"}, "mx.google.com spf=none() dmarc=fail(example.com) p=quarantine"},
		"an unknown word":                {[]string{"mx.google.com; spf=hardfail smtp.mailfrom=a@x.example; dmarc=bestguesspass header.from=example.com"}, "mx.google.com spf=fail(x.example) dmarc=permerror(example.com)"},
		"an unknown method":              {[]string{"mx.google.com; arc=pass; iprev=pass policy.iprev=192.0.2.1; dkim/1=fail header.d=example.com; dkim/2=pass header.d=example.com"}, "mx.google.com spf=none() dkim=fail(example.com) dmarc=none(example.com)"},
	} {
		got := ""
		if r, ok := mailauth.ReadResults(tt.fields, []string{"mx.google.com", "mail.example.org", "mx.strike.example"}, "example.com"); ok {
			got = r.Server + " " + show(r)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	// Without exactly one From domain nothing is aligned.
	if r, _ := mailauth.ReadResults([]string{google}, []string{"mx.google.com"}, ""); r.Aligned || r.DMARC.Result != mailauth.PermError {
		t.Error(show(r))
	}
}

func FuzzReadResults(f *testing.F) {
	f.Add(`a.example; dkim=pass header.i=@example.com; dmarc=pass (p=REJECT) header.from=example.com`)
	f.Add(`a.example 1; spf=fail (x (y) \( "z") smtp.mailfrom="a b"@example.com reason="x;y"`)
	f.Fuzz(func(t *testing.T, field string) {
		r, ok := mailauth.ReadResults([]string{field, "a.example; dmarc=fail"}, []string{"a.example"}, "example.com")
		if !ok || len(r.DKIM) > 5 {
			t.Errorf("%v %+v", ok, r)
		}
		if r.DMARC.Result == mailauth.Pass && (r.DMARC.Domain != "example.com" || !r.Aligned) {
			t.Errorf("%+v", r)
		}
		// The content of a comment changes nothing but the policy.
		safe := strings.NewReplacer("(", "", ")", "", `\`, "").Replace(field)
		again, ok := mailauth.ReadResults([]string{"a.example; (" + safe + ") spf=none"}, []string{"a.example"}, "example.com")
		if !ok || again.Aligned || len(again.DKIM) > 0 || again.DMARC.Result != mailauth.None {
			t.Errorf("a comment counts: %+v", again)
		}
	})
}

func ExampleReadResults() {
	header := []string{"mx.example.org; dmarc=pass (p=reject) header.from=example.com"}
	report, ok := mailauth.ReadResults(header, []string{"mx.example.org"}, "example.com")
	fmt.Println(ok, report.DMARC.Result)
	_, ok = mailauth.ReadResults(header, []string{"mail.example.net"}, "example.com")
	fmt.Println(ok)
	// Output:
	// true pass
	// false
}
