package form_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/form"
)

// known fails the test when err is no fault of the client.
func known(t *testing.T, err error) {
	t.Helper()
	if k := fault.Of(err); k != fault.Invalid && k != fault.Malformed && k != fault.TooLarge {
		t.Errorf("kind %v: %v", k, err)
	}
}

// size counts the nodes of a tree and checks that lists can be read.
func size(n *form.Node) int {
	count := 1
	n.Items(1000)
	for _, name := range n.Names() {
		count += size(n.Get(name))
	}
	if n.Kind() == form.List {
		items, _, _ := n.Items(1 << 20)
		for _, item := range items {
			count += size(item.Node)
		}
	}
	return count
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a=1&a[b]=2", "a[][b]=%zz", "emails[0][email]=x&emails[1][email]=y", "translations[en=", "a[999999]=1&a[]=2", "%00=%ff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		n, err := form.Parse(in, form.Limits{})
		if err != nil {
			known(t, err)
			return
		}
		if got, most := size(n), 1+16*(1+strings.Count(in, "&")); got > most {
			t.Errorf("%d nodes of %d fields", got, most/16)
		}
	})
}

func FuzzParseJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":null}],"a":"\u00e9"}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}", `{"a":{"b":{}}} `, `[1]`, `{"a\"":1e5}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		n, err := form.ParseJSON(in, form.Limits{})
		if err != nil {
			known(t, err)
			return
		}
		// encoding/json reads the same names at the top.
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(strings.TrimPrefix(string(in), "\uFEFF")), &want); err != nil {
			t.Fatalf("taken, but encoding/json says %v", err)
		}
		if len(want) != len(n.Names()) {
			t.Errorf("%d names, encoding/json has %d", len(n.Names()), len(want))
		}
		for name, raw := range want {
			if s := ""; n.Get(name).Kind() == form.Text && n.Get(name).Valid() && json.Unmarshal(raw, &s) == nil && s != n.Get(name).Text() {
				t.Errorf("%q: %q, encoding/json has %q", name, n.Get(name).Text(), s)
			}
		}
	})
}

func FuzzParseMultipart(f *testing.F) {
	for _, seed := range []string{
		"--b\r\nContent-Disposition: form-data; name=\"a[]\"\r\n\r\n1\r\n--b--\r\n",
		"--b\r\nContent-Disposition: form-data; name=f; filename=x\r\nContent-Type: text/plain\r\n\r\nhello\r\n--b--",
		"--b\r\n\r\n\r\n--b\r\n", "--b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		n, cleanup, err := form.ParseMultipart(strings.NewReader(in), "b", form.Limits{Memory: 64})
		defer cleanup()
		if err != nil {
			known(t, err)
			return
		}
		size(n)
	})
}
