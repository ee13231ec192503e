package server

import (
	"net/url"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/netguard"
	"github.com/helpwright/helpwright/helpdesk/webpush"
	"github.com/helpwright/helpwright/storage"
)

// pushSender sends push notifications with a key that all servers on the store share.
func (s *Server) pushSender(vault storage.Vault, sealer storage.Sealer) *webpush.Push {
	return webpush.NewPush(webpush.PushConfig{
		Vault: vault, Sealer: sealer, Contact: pushContact(s.cfg.BaseURL), Dial: netguard.Dialer(s.cfg.AllowPrivateHosts, dialTimeout), Now: s.cfg.Now,
	})
}

// pushContact returns the address at which the operators of push services reach whoever runs this server.
func pushContact(base string) string {
	u, err := url.Parse(base)
	if err != nil || strings.HasPrefix(base, "https://") {
		return base
	}
	return "mailto:postmaster@" + u.Hostname()
}
