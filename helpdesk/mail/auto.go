package mail

import (
	"github.com/helpwright/helpwright/helpdesk/mailaddr"
	"strings"
)

// autoSubmitted reports whether a program sent the mail on its own. The signs are:
//
//   - Auto-Submitted (RFC 3834) with any value but "no"
//   - Precedence: auto_reply
//   - X-Autoreply, X-Autorespond and their variants, X-Failed-Recipients
//   - a report or notification as the content (multipart/report, delivery-status ...)
//   - the null return path, or a MAILER-DAEMON or postmaster as the author or return
//     path: vacation programs have always spared these
//
// Subjects are ignored: people write "Out of office", too.
func (p *parser) autoSubmitted(contentType string) bool {
	h := &p.msg.Header
	for _, v := range h.Values("Auto-Submitted") {
		v, _, _ = strings.Cut(strings.ToLower(stripComments(v)), ";")
		if v = strings.TrimSpace(v); v != "" && v != "no" {
			return true
		}
	}
	if v := precedence(h); v == "auto_reply" || v == "autoreply" {
		return true
	}
	for _, name := range []string{"X-Autoreply", "X-Auto-Reply", "X-Autorespond", "X-Autoresponder", "X-AutoReply-From",
		"X-Mail-Autoreply", "X-Failed-Recipients"} {
		if h.Has(name) && !strings.EqualFold(h.Get(name), "no") {
			return true
		}
	}
	switch contentType {
	case "multipart/report", "message/delivery-status", "message/disposition-notification":
		return true
	}
	return p.msg.NullReturnPath || daemonAuthor(p.msg.From) || daemonAuthor([]mailaddr.Address{{Email: p.msg.ReturnPath}})
}

func precedence(h *Header) string {
	return strings.ToLower(strings.ReplaceAll(h.Get("Precedence"), "-", "_"))
}

// noAutoReply reports whether the sender asks for no automatic answers, though a person may have written the mail: with
// X-Auto-Response-Suppress (All, OOF, AutoReply), which Exchange adds to mails from people, or with Precedence: bulk, junk
// or list.
func (p *parser) noAutoReply() bool {
	h := &p.msg.Header
	switch precedence(h) {
	case "bulk", "junk", "list":
		return true
	}
	for _, v := range h.Values("X-Auto-Response-Suppress") {
		v = strings.ToLower(v)
		if strings.Contains(v, "all") || strings.Contains(v, "oof") || strings.Contains(v, "autoreply") {
			return true
		}
	}
	return h.Has("List-Id") || h.Has("List-Post") || h.Has("List-Unsubscribe")
}

func daemonAuthor(from []mailaddr.Address) bool {
	for _, a := range from {
		if local, _, _ := strings.Cut(a.Email, "@"); isDaemon(local) {
			return true
		}
	}
	return false
}
