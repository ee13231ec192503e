package main

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/helpwright/helpwright/cmd/helpwright/internal/certs"
	"github.com/helpwright/helpwright/helpdesk/webpush"
	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/filelock"
	"github.com/helpwright/helpwright/transport/server"
)

type keysCmd struct {
	List   keysListCmd   `cmd:"" help:"List the secret keys by id, with the number of stored secrets that need each and the running servers that have it."`
	Add    keysAddCmd    `cmd:"" help:"Create a key and append it to DATA/secret.key. It can decrypt, but does not encrypt yet."`
	Rotate keysRotateCmd `cmd:"" help:"Encrypt all stored secrets with the first key, or with the given one, while servers run. Can be interrupted and repeated."`
	Drop   keysDropCmd   `cmd:"" help:"Remove a key that is no longer needed from DATA/secret.key."`
}

// keyUse describes the use of keys.
type keyUse struct {
	ids    []string       // of the settings, the one that seals first
	values map[string]int // number of stored secrets by the keys that seal them
	peers  []server.Peer  // running servers
}

// keyUse counts the sealed values.
func (a *app) keyUse() (u keyUse, err error) {
	sealer, err := a.keyed()
	if err != nil {
		return u, err
	}
	if u.values, err = a.Service().CountSealed(a.ctx); err != nil {
		return u, err
	}
	kept, err := certs.CountSealed(a.ctx, a.db, sealer)
	if err != nil {
		return u, err
	}
	for id, n := range kept {
		u.values[id] += n
	}
	push, err := webpush.SealedWith(a.ctx, a.db, sealer)
	if err != nil {
		return u, err
	}
	if push != "" {
		u.values[push]++
	}
	u.ids = slices.DeleteFunc(sealer.KeyIDs(), func(id string) bool { return id == a.settings.joinedKey() && u.values[id] == 0 })
	u.peers, err = a.Peers(a.ctx)
	return u, err
}

// keyed returns a sealer with the keys of the settings.
func (a *app) keyed() (storage.KeyedSealer, error) {
	keys, err := a.settings.loadKeys()
	if err != nil {
		return nil, err
	}
	return keyedSealer(keys)
}

func keyedSealer(keys [][]byte) (storage.KeyedSealer, error) {
	sealer, err := storage.NewSealer(keys...)
	if err != nil {
		return nil, err
	}
	return sealer.(storage.KeyedSealer), nil //nolint:forcetypeassert // as NewSealer says
}

// keyID returns the id of a key.
func keyID(key string) string {
	sealer, err := keyedSealer([][]byte{[]byte(key)})
	if err != nil {
		return ""
	}
	return sealer.KeyIDs()[0]
}

// joinedKey returns the id of the whole text of several keys, which secretKeys accepts as an additional key.
func (s *Settings) joinedKey() string {
	text := s.SecretKey
	if text == "" {
		content, err := os.ReadFile(filepath.Join(s.Data, "secret.key"))
		if err != nil {
			return ""
		}
		text = strings.TrimSpace(string(content))
	}
	if !strings.ContainsFunc(text, betweenKeys) {
		return ""
	}
	return keyID(text)
}

// missing returns the keys that stored secrets need but the settings do not have.
func (u keyUse) missing() []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(u.values)) {
		if !slices.Contains(u.ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// lack counts the running servers that do not have a key.
func (u keyUse) lack(id string) (n int) {
	for _, p := range u.peers {
		if !p.Has(id) {
			n++
		}
	}
	return n
}

// seal counts the running servers that seal with a key.
func (u keyUse) seal(id string) (n int) {
	for _, p := range u.peers {
		if p.Keys[0] == id {
			n++
		}
	}
	return n
}

type keysListCmd struct{}

// Run prints a line for each key.
func (keysListCmd) Run(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	u, err := a.keyUse()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "KEY\tUSE\tSECRETS\tSERVERS")
	for i, id := range u.ids {
		fmt.Fprintf(w, "%s\t%s\t%d\t%d of %d\n", id, cmp.Or(map[int]string{0: "seals"}[i], "opens"), u.values[id], len(u.peers)-u.lack(id), len(u.peers))
	}
	for _, id := range u.missing() {
		fmt.Fprintf(w, "%s\tis missing\t%d\t%d of %d\n", id, u.values[id], len(u.peers)-u.lack(id), len(u.peers))
	}
	return w.Flush()
}

// changeKeys changes the keys in the file of the secret key atomically, for servers that start meanwhile.
func (s *session) changeKeys(change func(keys []string) ([]string, error)) error {
	if s.settings.SecretKey != "" {
		return usageError{errors.New("the keys come from HELPWRIGHT_SECRET_KEY: change them there, separated by commas, the one that seals first; openssl rand -hex 32 makes one")}
	}
	path := filepath.Join(s.data, "secret.key")
	lock, err := filelock.New(path + ".lock")
	if errors.Is(err, os.ErrExist) {
		lock = filelock.Seize(path + ".lock") // of a killed command
	}
	if lock == nil {
		return fmt.Errorf("another command changes %s: %w", path, err)
	}
	defer func() { _ = errors.Join(os.Remove(path+".lock"), lock.Close()) }()
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	keys := strings.FieldsFunc(string(text), betweenKeys)
	if found, err := secretKeys(strings.TrimSpace(string(text))); err != nil || len(keys) > 1 && len(found) == 1 {
		return fmt.Errorf("%s has no list of keys, but one with blanks or commas in it: move it to HELPWRIGHT_SECRET_KEY and put a new one there", path)
	}
	if keys, err = change(keys); err != nil {
		return err
	}
	return replaceFile(path, strings.Join(keys, "\n")+"\n")
}

// replaceFile replaces a file with one that only the owner can read.
func replaceFile(path, text string) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "secret-*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

type keysAddCmd struct{}

// Run adds a key.
func (keysAddCmd) Run(s *session) error {
	key := hex.EncodeToString(storage.NewSecretKey())
	if err := s.changeKeys(func(keys []string) ([]string, error) { return append(keys, key), nil }); err != nil {
		return err
	}
	fmt.Fprintln(s.stdout, keyID(key))
	fmt.Fprintf(s.stderr, "the key is added: restart the server, then run helpwright keys rotate %s\n", keyID(key))
	return nil
}

type keysRotateCmd struct {
	Push bool   `help:"Also replace the key of push notifications, for example after someone could have read the database and the secret key. Devices subscribe again when their members next open the desk."`
	ID   string `arg:"" optional:"" help:"The key that becomes the first."`
}

// Run seals with the first key all values sealed with another.
func (c *keysRotateCmd) Run(s *session) error {
	if c.ID != "" {
		if err := c.lead(s); err != nil {
			return err
		}
	}
	a, err := s.open(false)
	if err != nil {
		return err
	}
	defer a.close()
	u, err := a.keyUse()
	if err != nil {
		return err
	}
	if err := u.refuseUnknown(u.ids[0]); err != nil {
		return err
	}
	if err := a.reseal(); err != nil {
		return err
	}
	if c.Push {
		if err := webpush.Renew(a.ctx, a.db); err != nil {
			return err
		}
		fmt.Fprintln(s.stdout, "servers replace the key of push notifications within a minute: devices subscribe again when their members next open the desk")
	}
	if u, err = a.keyUse(); err != nil {
		return err
	}
	return c.printNextStep(s, u)
}

// refuseUnknown returns an error while a running server does not have a key.
func (u keyUse) refuseUnknown(id string) error {
	if n := u.lack(id); n > 0 {
		return fmt.Errorf("%d of %d running servers do not have the key %s and could not open what is sealed with it: give it to them as a further key and restart them", n, len(u.peers), id)
	}
	return nil
}

// lead makes a key the first one, once all servers have it.
func (c *keysRotateCmd) lead(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	u, err := a.keyUse()
	a.close()
	if err == nil {
		err = u.refuseUnknown(c.ID)
	}
	if err != nil || u.ids[0] == c.ID {
		return err
	}
	return s.changeKeys(func(keys []string) ([]string, error) {
		at := slices.IndexFunc(keys, func(key string) bool { return keyID(key) == c.ID })
		if at < 0 {
			return nil, fmt.Errorf("there is no key %s: helpwright keys list shows them", c.ID)
		}
		return append([]string{keys[at]}, slices.Delete(slices.Clone(keys), at, at+1)...), nil
	})
}

// reseal seals everything with the first key.
func (a *app) reseal() error {
	sealer, err := a.keyed()
	if err != nil {
		return err
	}
	done, err := a.Service().Reseal(a.ctx, nil)
	if err != nil {
		return fmt.Errorf("%d secrets are sealed anew, the others when you run the command again: %w", done.Done, err)
	}
	kept, err := certs.Reseal(a.ctx, a.db, sealer)
	if err == nil {
		var push bool
		if push, err = webpush.Reseal(a.ctx, a.db, sealer); push {
			kept++
		}
	}
	fmt.Fprintf(a.stdout, "%d secrets are sealed with %s now\n", done.Done+kept, sealer.KeyIDs()[0])
	if done.Lost > 0 {
		fmt.Fprintf(a.stdout, "%d secrets do not open with any key: helpwright keys list shows which key they need\n", done.Lost)
	}
	return err
}

// printNextStep prints the next step.
func (c *keysRotateCmd) printNextStep(s *session, u keyUse) error {
	for _, id := range u.ids[1:] {
		switch {
		case u.seal(id) > 0:
			fmt.Fprintf(s.stdout, "%d running servers still seal with %s: restart them, then run helpwright keys rotate again\n", u.seal(id), id)
		case u.values[id] == 0:
			fmt.Fprintf(s.stdout, "no stored secret needs %s: keep it while answers to mails that were sent with it are expected, then helpwright keys drop %s\n", id, id)
		}
	}
	return nil
}

type keysDropCmd struct {
	ID string `arg:"" help:"The key."`
}

// Run removes an unused key.
func (c *keysDropCmd) Run(s *session) error {
	a, err := s.open(false)
	if err != nil {
		return err
	}
	u, err := a.keyUse()
	a.close()
	switch {
	case err != nil:
		return err
	case u.values[c.ID] > 0:
		return fmt.Errorf("%d stored secrets are sealed with %s: run helpwright keys rotate", u.values[c.ID], c.ID)
	case u.seal(c.ID) > 0:
		return fmt.Errorf("%d running servers seal with %s: restart them, then run helpwright keys rotate", u.seal(c.ID), c.ID)
	}
	err = s.changeKeys(func(keys []string) ([]string, error) {
		left := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return keyID(key) == c.ID })
		switch {
		case len(left) == len(keys):
			return nil, fmt.Errorf("there is no key %s: helpwright keys list shows them", c.ID)
		case keyID(keys[0]) == c.ID:
			return nil, fmt.Errorf("%s is the key that seals: make another the first with helpwright keys rotate ID", c.ID)
		}
		return left, nil
	})
	if err == nil {
		fmt.Fprintf(s.stdout, "the key %s is removed; running servers have it until they start again\n", c.ID)
	}
	return err
}

// sealedWith returns the keys that stored secrets need.
func (d *doctor) sealedWith(a *app) {
	u, err := a.keyUse()
	const what = "keys of the stored secrets"
	if err != nil {
		d.check(what, err, "see the database's own log")
		return
	}
	for _, id := range u.missing() {
		err = errors.Join(err, fmt.Errorf("%d secrets are sealed with the key %s, which is not configured", u.values[id], id))
	}
	if d.check(what, err, "add the key to HELPWRIGHT_SECRET_KEY or secret.key, from a backup; or set these passwords and keys again") {
		for _, id := range u.ids[1:] {
			d.note("former key "+id, fmt.Sprintf("%d stored secrets need it; helpwright keys rotate seals them with %s", u.values[id], u.ids[0]))
		}
	}
}
