package mail

import "strings"

// autoSubmitted decides whether a program sent the mail on its own. These say so:
//
//   - Auto-Submitted (RFC 3834) with any value but "no"
//   - Precedence: auto_reply or junk; bulk or list too, unless the mail came over a
//     mailing list (List-Id or List-Post), where a person may have written it
//   - X-Auto-Response-Suppress asking for no automatic answers (All, OOF, AutoReply)
//   - X-Autoreply, X-Autorespond and their variants, X-Failed-Recipients
//   - a report or notification as the content (multipart/report, delivery-status ...)
//   - the null return path, or a MAILER-DAEMON or postmaster as the author or return
//     path: vacation programs have always spared these
//
// Subjects are not looked at: people write "Out of office" too.
func (p *parser) autoSubmitted(contentType string) bool {
	h := &p.msg.Header
	for _, v := range h.Values("Auto-Submitted") {
		v, _, _ = strings.Cut(strings.ToLower(stripComments(v)), ";")
		if v = strings.TrimSpace(v); v != "" && v != "no" {
			return true
		}
	}
	switch strings.ToLower(strings.ReplaceAll(h.Get("Precedence"), "-", "_")) {
	case "junk", "auto_reply", "autoreply":
		return true
	case "bulk", "list":
		if !h.Has("List-Id") && !h.Has("List-Post") {
			return true
		}
	}
	suppress := strings.ToLower(h.Get("X-Auto-Response-Suppress"))
	for _, word := range []string{"all", "oof", "autoreply"} {
		if strings.Contains(suppress, word) {
			return true
		}
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
	return p.msg.NullReturnPath || daemonAuthor(p.msg.From) || daemonAuthor([]Address{{Email: p.msg.ReturnPath}})
}

func daemonAuthor(from []Address) bool {
	for _, a := range from {
		if local, _, _ := strings.Cut(a.Email, "@"); isDaemon(local) {
			return true
		}
	}
	return false
}
