package outbound

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/helpwright/helpwright/helpdesk"
)

// mailKey identifies a reply.
type mailKey struct{ account, interaction int64 }

func (m mailKey) file() string { return fmt.Sprintf("%d-%d.json", m.account, m.interaction) }

// kept has the messages in progress and the unrecorded results, both in memory and as files that outlive the process.
type kept struct {
	root *os.Root // nil: only in memory

	mu      sync.Mutex
	working map[mailKey]bool
	results map[mailKey][]helpdesk.Outcome
}

func newKept(dir string) (*kept, error) {
	k := &kept{working: map[mailKey]bool{}, results: map[mailKey][]helpdesk.Outcome{}}
	if dir == "" {
		return k, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("outbound: the folder of results: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("outbound: the folder of results: %w", err)
	}
	k.root = root
	return k, nil
}

// enter starts work on a message, unless it is in progress.
func (k *kept) enter(m mailKey) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.working[m] {
		return false
	}
	k.working[m] = true
	return true
}

func (k *kept) leave(m mailKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.working, m)
}

// load returns a message's unrecorded results; an error means that there may be some.
func (k *kept) load(m mailKey) ([]helpdesk.Outcome, error) {
	k.mu.Lock()
	outcomes := k.results[m]
	k.mu.Unlock()
	if outcomes != nil || k.root == nil {
		return outcomes, nil
	}
	text, err := k.root.ReadFile(m.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &outcomes)
	}
	if err != nil {
		return nil, fmt.Errorf("outbound: results that are not recorded: %w", err)
	}
	return outcomes, nil
}

// save keeps results in memory and, if possible, in a file.
func (k *kept) save(m mailKey, outcomes []helpdesk.Outcome) (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.results[m] = outcomes
	if k.root == nil {
		return nil
	}
	text, err := json.Marshal(outcomes)
	if err != nil {
		return err
	}
	temporary := "." + m.file() + ".tmp"
	file, err := k.root.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(err, k.root.Remove(temporary))
	}
	return k.root.Rename(temporary, m.file())
}

// remove removes recorded results.
func (k *kept) remove(m mailKey) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, saved := k.results[m]; !saved && k.root == nil {
		return nil
	}
	delete(k.results, m)
	if k.root == nil {
		return nil
	}
	if err := k.root.Remove(m.file()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("outbound: results that are recorded: %w", err)
	}
	return nil
}
