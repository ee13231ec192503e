package netguard_test

import (
	"errors"
	"testing"

	"github.com/helpwright/helpwright/helpdesk/netguard"
)

func TestDialPolicy(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"127.0.0.1:1", "[::1]:1", "10.0.0.1:1", "192.168.1.1:1", "172.16.0.1:1", "169.254.169.254:80", "100.64.0.1:1",
		"0.0.0.0:1", "[fe80::1]:1", "[fd00::1]:1", "[::ffff:127.0.0.1]:1", "[64:ff9b::7f00:1]:1", "255.255.255.255:1", "224.0.0.1:1", "localhost:1",
		"[fec0::1]:1", "[feff::1]:1", "[::10.0.0.1]:1", "[::2]:1", "[::]:1", "[::ffff:0:10.0.0.1]:1", "[2002:a00:1::1]:1", "[2001::1]:1", "[fe80::1%lo]:1",
		"[::ffff:169.254.169.254]:80", "nothing.invalid:1",
	} {
		conn, err := netguard.Dialer(false, 0)(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		if err != netguard.ErrPrivateHost { //nolint:errorlint // nothing else may stand around it
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := netguard.Dialer(true, 0)(t.Context(), "tcp", "127.0.0.1:1"); err == nil || errors.Is(err, netguard.ErrPrivateHost) {
		t.Errorf("where private hosts are allowed: %v", err)
	}
}
