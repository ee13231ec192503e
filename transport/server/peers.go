package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Servers on one store publish the ids of their secret keys, in items of the vault: each server must be able to open what
// another has sealed.
const (
	peersKey    = "servers"       // prefix of their items
	unseen      = "-"             // prefix of the names of processes if the store cannot tell whether they are alive
	peerBeat    = time.Minute     // interval between two heartbeats of a server
	peerSilence = 3 * time.Minute // after which a silent server is considered dead, without other evidence
	peerCleanup = time.Hour       // after which items of dead servers are removed
)

// Peer is a server that runs on the store.
type Peer struct {
	Name string
	Keys []string // ids of its secret keys, see [storage.KeyedSealer]; the first seals
}

// Has reports whether the server has a key.
func (p Peer) Has(key string) bool { return slices.Contains(p.Keys, key) }

// KeyIDs returns the ids of Config.Keys.
func (s *Server) KeyIDs() []string { return s.keyIDs }

// Peers returns the servers that run on the store, including this one once it runs. It is empty if the store does not
// implement [storage.Vault].
func (s *Server) Peers(ctx context.Context) ([]Peer, error) {
	vault, ok := s.cfg.Store.(storage.Vault)
	if !ok {
		return nil, nil
	}
	items, err := vault.Items(ctx, peersKey)
	if err != nil {
		return nil, err
	}
	var all []Peer
	for _, item := range items {
		name := strings.TrimPrefix(item.Key, peersKey+"/")
		lives, err := s.lives(ctx, name, item.Modified)
		if err != nil {
			return nil, err
		}
		if !lives {
			if s.cfg.Now().Sub(item.Modified) > peerCleanup {
				_ = vault.DeleteItems(ctx, item.Key) // otherwise the next call removes it
			}
			continue
		}
		full, err := vault.Item(ctx, item.Key)
		if fault.Is(err, fault.NotFound) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return nil, err
		}
		p := Peer{Name: name}
		if json.Unmarshal(full.Value, &p.Keys) == nil && len(p.Keys) > 0 {
			all = append(all, p)
		}
	}
	return all, nil
}

// lives reports whether a server with an item in the vault is still running.
func (s *Server) lives(ctx context.Context, name string, noted time.Time) (bool, error) {
	if p := s.cfg.Desk.Processes; p != nil && !strings.HasPrefix(name, unseen) {
		return p.Lives(ctx, name)
	}
	return s.cfg.Now().Sub(noted) < peerSilence, nil
}

// join publishes this server to the others. It refuses to run next to a server that could not open what this one seals, or
// vice versa.
func (s *Server) join(ctx context.Context) error {
	vault, ok := s.cfg.Store.(storage.Vault)
	if !ok {
		return nil
	}
	name := s.peer // of an earlier attempt
	if p := s.cfg.Desk.Processes; p != nil {
		var err error
		if name, err = p.Process(ctx); err != nil {
			return err
		}
	}
	if name == "" {
		name = unseen + rand.Text()
	}
	s.peer = name
	if err := s.note(ctx, vault); err != nil {
		return err
	}
	peers, err := s.Peers(ctx)
	for _, p := range peers {
		if err == nil && p.Name != name {
			err = s.understands(p)
		}
	}
	if err != nil {
		s.leave(ctx)
	}
	return err
}

// meet refuses to start next to a server that could not open what this one seals, or vice versa. It only reads, so that a
// process that holds the store's lock does not keep a server from starting; stay publishes this server and checks again.
func (s *Server) meet(ctx context.Context) error {
	peers, err := s.Peers(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.cfg.Logger.WarnContext(ctx, "cannot read the keys of other servers yet", "error", err)
		}
		return nil
	}
	for _, p := range peers {
		if err := s.understands(p); err != nil {
			return err
		}
	}
	return nil
}

// understands returns a Conflict fault if one server lacks the key with which the other one seals.
func (s *Server) understands(p Peer) error {
	switch {
	case !p.Has(s.keyIDs[0]):
		return fault.Newf(fault.Conflict, "Another server on this database does not have the secret key %s, which this one would seal with. Give the key to every server as a further one first.", s.keyIDs[0])
	case !slices.Contains(s.keyIDs, p.Keys[0]):
		return fault.Newf(fault.Conflict, "Another server on this database seals with the secret key %s, which this one does not have. Give it the same keys.", p.Keys[0])
	}
	return nil
}

func (s *Server) note(ctx context.Context, vault storage.Vault) error {
	keys, err := json.Marshal(s.keyIDs)
	if err != nil {
		return fmt.Errorf("noting the keys: %w", err)
	}
	return vault.SetItem(ctx, storage.VaultItem{Key: peersKey + "/" + s.peer, Value: keys, Modified: s.cfg.Now()})
}

// leave removes the item that join has added.
func (s *Server) leave(ctx context.Context) {
	vault, ok := s.cfg.Store.(storage.Vault)
	if !ok || s.peer == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := vault.DeleteItems(ctx, peersKey+"/"+s.peer); err != nil {
		s.cfg.Logger.WarnContext(ctx, "cannot tell other servers that this one ends", "error", err)
	}
}

// stay publishes this server's heartbeat until ctx ends.
func (s *Server) stay(ctx context.Context) error {
	defer s.leave(ctx)
	vault, ok := s.cfg.Store.(storage.Vault)
	if !ok {
		<-ctx.Done()
		return nil
	}
	for {
		err := s.join(ctx)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil
		}
		if fault.Is(err, fault.Conflict) {
			return err
		}
		s.cfg.Logger.WarnContext(ctx, "cannot tell other servers that this one runs", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
	tick := time.NewTicker(peerBeat)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := s.note(ctx, vault); err != nil && ctx.Err() == nil {
				s.cfg.Logger.WarnContext(ctx, "cannot tell other servers that this one runs", "error", err)
			}
		}
	}
}
