package pop3

import (
	"bufio"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/testenv"
)

// TestGrowth checks that the cost of a server's lists and mails is linear in their size.
func TestGrowth(t *testing.T) {
	t.Parallel()
	for name, piece := range map[string]string{
		"entries": "1 id\r\n", "long entries": "1 id " + strings.Repeat("x ", 200) + "\r\n", "dots": "..\r\n", "spaces": " \r\n",
	} {
		t.Run("list, "+name, func(t *testing.T) {
			testenv.Growth(t, 256<<10, func(n int) func() {
				text := strings.Repeat(piece, n/len(piece)) + ".\r\n"
				return func() {
					_ = list(bufio.NewReader(strings.NewReader(text)), func(text string) error {
						_, _, _ = numbered(text)
						return nil
					})
				}
			})
		})
	}
	for name, piece := range map[string]string{
		"lines": "x\r\n", "dots": "..\r\n", "bare returns": "\r", "bare newlines": "\n.", "returns before newlines": "\r\r\n", "one line": "x",
	} {
		t.Run("mail, "+name, func(t *testing.T) {
			testenv.Growth(t, 256<<10, func(n int) func() {
				text := strings.Repeat(piece, n/len(piece)) + "\r\n.\r\n"
				return func() {
					if _, err := body(bufio.NewReader(strings.NewReader(text)), 0, 1<<30); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
