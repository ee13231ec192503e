package api

import (
	"fmt"
	"testing"
)

// Exactly the channel names that are issued are accepted.
func FuzzParseChannel(f *testing.F) {
	for _, s := range []string{"accounts.1", "conversations.9223372036854775807", "accounts.01", "accounts.+1", "conversations.", "accounts.1.2", "x.1", "accounts.-1", "accounts.9223372036854775808"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		c, ok := parseChannel(name)
		if !ok {
			return
		}
		again := fmt.Sprintf("accounts.%d", c.account)
		if c.account == 0 {
			again = fmt.Sprintf("conversations.%d", c.conversation)
		}
		if again != name || c.account < 0 || c.conversation < 0 {
			t.Errorf("%q is %+v", name, c)
		}
	})
}

// An accepted id is absent or not negative.
func FuzzParseEventID(f *testing.F) {
	for _, s := range []string{"", "0", "42", "-1", "9223372036854775808", "1 ", "0x1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := parseEventID(text)
		if value, given := id.Get(); err == nil && (given != (text != "") || value < 0) {
			t.Errorf("%q is %d, %v", text, value, given)
		}
	})
}
