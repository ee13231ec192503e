package server

import (
	"bytes"
	"slices"
	"testing"
)

// TestSecretsRotate changes the key: the first seals and signs, all open and verify.
func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	first, second := bytes.Repeat([]byte("a"), 32), bytes.Repeat([]byte("b"), 40)
	for name, c := range map[string]struct {
		before, after [][]byte
		opens         bool
	}{
		"the same":              {[][]byte{first}, [][]byte{first}, true},
		"a new one in front":    {[][]byte{first}, [][]byte{second, first}, true},
		"the former one is out": {[][]byte{second, first}, [][]byte{second}, true},
		"the first one is out":  {[][]byte{second, first}, [][]byte{first}, false},
		"another":               {[][]byte{first}, [][]byte{second}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, err := newSecrets(c.before)
			if err != nil {
				t.Fatal(err)
			}
			after, err := newSecrets(c.after)
			if err != nil {
				t.Fatal(err)
			}
			sealed, err := before.sealer.Seal([]byte("secret"), "context")
			if err != nil {
				t.Fatal(err)
			}
			got, err := after.sealer.Open(sealed, "context")
			if opens := err == nil && string(got) == "secret"; opens != c.opens {
				t.Errorf("sealed text opens: %v", opens)
			}
			knows := func(keys [][]byte, key []byte) bool {
				return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
			}
			if got := knows(after.signing, before.signing[0]); got != c.opens {
				t.Errorf("a reply address is verified: %v", got)
			}
			if got := knows(after.sites, before.sites[0]); got != c.opens {
				t.Errorf("a form of a site is verified: %v", got)
			}
		})
	}
}
