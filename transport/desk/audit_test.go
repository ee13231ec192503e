package desk

import (
	"slices"
	"testing"

	"github.com/helpwright/helpwright/helpdesk"
	"github.com/helpwright/helpwright/kb"
)

// Every action of the audit log has words, and nothing else has. TestWords sees to the languages.
func TestAuditTexts(t *testing.T) {
	t.Parallel()
	actions := helpdesk.AuditActions(slices.Concat(helpdesk.EventTypes(), kb.EventTypes())...)
	for _, action := range actions {
		if auditTexts[action] == "" {
			t.Errorf("%s has no words", action)
		}
	}
	for action := range auditTexts {
		if !slices.Contains(actions, action) {
			t.Errorf("%s is no action", action)
		}
	}
}
