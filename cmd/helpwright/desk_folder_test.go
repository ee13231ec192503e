package main

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A desk is exported to a folder, changed there, applied again, and moved to another account, all while the server runs; and every
// export equals what was applied.
func TestDeskFolder(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, databaseURL string) {
		s := newServer(t, "HELPWRIGHT_DATABASE_URL="+databaseURL)
		run := func(want int, args ...string) (string, string) {
			t.Helper()
			code, out, stderr := command(t, s.dir, s.env, append([]string{"desk"}, args...)...)
			if code != want {
				t.Fatalf("%v: %d\n%s%s", args, code, out, stderr)
			}
			return out, stderr
		}
		for _, tag := range []string{"Repair", "Billing"} {
			s.ok("POST", "/accounts/1/conversation-tags", url.Values{"tag": {tag}}, nil)
		}
		s.ok("POST", "/accounts/1/rules", url.Values{
			"name": {"Repairs"}, "on[]": {"interaction.created"}, "actions[0][type]": {"add_tags"}, "actions[0][value][]": {"1"},
		}, nil)
		dir := folder(filepath.Join(t.TempDir(), "desk"))
		out, _ := run(exitDone, "export", string(dir))
		if out != "exported 1 rule, 0 fields, 0 saved replies and the rest\n" {
			t.Errorf("exported %q", out)
		}
		first := dir.files(t)
		rule := "- name: Repairs\n  state: active\n  events: [interaction.created]\n  actions:\n    - type: add_tags\n      value: Repair\n"
		if diff := cmp.Diff(rule, first["rules.yaml"]); len(first) != 10 || diff != "" {
			t.Errorf("%d files, the rules are (-want +got):\n%s", len(first), diff)
		}
		if out, _ = run(exitDone, "apply", "--delete", string(dir)); out != "no changes\n" {
			t.Errorf("an export that is applied: %s", out)
		}

		dir.write(t, "rules.yaml", strings.Replace(rule, "Repair\n", "[Billing, Repair]\n", 1)+"  stop: true\n")
		dir.write(t, "tags.yaml", first["tags.yaml"]+"- name: VIP\n")
		dir.write(t, "saved-replies.yaml", "- name: Thanks\n  body: <p>Thank you!</p>\n")
		lines := "create tag \"VIP\"\ncreate saved reply \"Thanks\"\nchange rule \"Repairs\" (actions, stop)\n3 changes"
		if out, _ = run(exitDone, "plan", string(dir)); out != lines+", none was made\n" {
			t.Errorf("planned %q", out)
		}
		other := folder(filepath.Join(t.TempDir(), "other"))
		run(exitDone, "export", string(other))
		if diff := cmp.Diff(first, other.files(t)); diff != "" {
			t.Errorf("the plan changed:\n%s", diff)
		}
		if out, _ = run(exitDone, "apply", string(dir)); out != lines+"\n" {
			t.Errorf("applied %q", out)
		}
		run(exitDone, "export", string(dir))
		s.ok("POST", "/accounts", url.Values{"name": {"Other"}}, nil)
		run(exitDone, "apply", "--account", "2", string(dir))
		run(exitDone, "export", "--account", "2", string(other))
		if diff := cmp.Diff(dir.files(t), other.files(t)); diff != "" {
			t.Errorf("the other account (-want +got):\n%s", diff)
		}

		dir.write(t, "rules.yaml", strings.Replace(rule, "Repair\n", "Nothing\n", 1))
		dir.write(t, "slas.yaml", "- name: Fast\n")
		_, stderr := run(exitFail, "apply", string(dir))
		for _, want := range []string{"nothing was changed", `rules.yaml: Repairs: there is no tag "Nothing"`, "slas.yaml: Fast: "} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%q is not in %s", want, stderr)
			}
		}
		dir.write(t, "rules.yaml", "- nam: Repairs\n")
		if _, stderr = run(exitFail, "plan", string(dir)); !strings.Contains(stderr, "rules.yaml: line 1: unknown key nam") {
			t.Errorf("an unknown key: %s", stderr)
		}
		if _, stderr = run(exitFail, "plan", "--as", "nobody@example.org", string(other)); !strings.Contains(stderr, "there is no user") {
			t.Errorf("as nobody: %s", stderr)
		}
		if _, stderr = run(exitFail, "plan", "--account", "7", string(other)); !strings.Contains(stderr, "there is no account 7") {
			t.Errorf("account 7: %s", stderr)
		}
	})
}
