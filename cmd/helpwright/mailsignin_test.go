package main

import (
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/fault"
)

func TestMailSignInSettings(t *testing.T) {
	t.Parallel()
	good := Settings{
		BaseURL: "https://help.example.org/", GoogleClientID: "1.apps.googleusercontent.com", GoogleClientSecret: "g", MicrosoftClientID: "m", MicrosoftClientSecret: "s",
		MicrosoftTenant: "common",
	}
	for name, test := range map[string]struct {
		change func(*Settings)
		want   []string // what the problem says
	}{
		"good":                {func(*Settings) {}, nil},
		"none":                {func(s *Settings) { *s = Settings{MicrosoftTenant: "common"} }, nil},
		"a tenant":            {func(s *Settings) { s.MicrosoftTenant = "9122040d-6c67-4c5b-b112-36a304b66dad" }, nil},
		"no secret":           {func(s *Settings) { s.GoogleClientSecret = "" }, []string{"HELPWRIGHT_GOOGLE_CLIENT_SECRET", "https://help.example.org/desk/mailbox-sign-in/google/done"}},
		"no id":               {func(s *Settings) { s.MicrosoftClientID = "" }, []string{"HELPWRIGHT_MICROSOFT_CLIENT_ID", "https://help.example.org/desk/mailbox-sign-in/microsoft/done"}},
		"another id":          {func(s *Settings) { s.GoogleClientID = "my-project" }, []string{"HELPWRIGHT_GOOGLE_CLIENT_ID", ".apps.googleusercontent.com"}},
		"a secret of 2 words": {func(s *Settings) { s.MicrosoftClientSecret = "a b" }, []string{"HELPWRIGHT_MICROSOFT_CLIENT_SECRET"}},
		"no tenant":           {func(s *Settings) { s.MicrosoftTenant = "https://example.org" }, []string{"HELPWRIGHT_MICROSOFT_TENANT"}},
	} {
		s := good
		test.change(&s)
		var problems fault.Collector
		s.checkMailSignIn(&problems)
		err := problems.Err()
		if (err == nil) != (test.want == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, text := range test.want {
			if err != nil && !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %v, and not %q", name, err, text)
			}
		}
	}
}

// The providers of the settings send browsers to the right places, with the right address to come back to.
func TestMailProvidersOfSettings(t *testing.T) {
	t.Parallel()
	s := &session{settings: &Settings{
		BaseURL: "https://help.example.org", GoogleClientID: "1.apps.googleusercontent.com", GoogleClientSecret: "g", MicrosoftClientID: "m", MicrosoftClientSecret: "s",
		MicrosoftTenant: "example.org",
	}}
	all, err := s.mailProviders()
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for i, want := range []string{"https://accounts.google.com/o/oauth2/v2/auth?", "https://login.microsoftonline.com/example.org/oauth2/v2.0/authorize?"} {
		address, _, err := all[i].Begin("")
		if err != nil || !strings.HasPrefix(address, want) || !strings.Contains(address, "redirect_uri=https%3A%2F%2Fhelp.example.org%2Fdesk%2Fmailbox-sign-in%2F"+all[i].Key+"%2Fdone") {
			t.Errorf("%s, %v", address, err)
		}
	}
}
