package errand

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// Prefix is the key prefix of the files of errands.
const Prefix = "errands/"

// Keys in the vault: the states, and the errands that a server is to run. The second are few, and looked for often.
const (
	states = "errands"
	due    = "errands-due"
)

// key identifies the errand of an account and a kind.
func key(account int64, kind string) string { return strconv.FormatInt(account, 10) + "/" + kind }

// parseKey is the opposite of key for the key of an item.
func parseKey(item, top string) (account int64, kind string, ok bool) {
	id, kind, ok := strings.Cut(strings.TrimPrefix(item, top+"/"), "/")
	account, err := strconv.ParseInt(id, 10, 64)
	return account, kind, ok && err == nil
}

// blobKey is the key of a file of an errand.
func blobKey(e Errand, name string) string {
	return fmt.Sprintf("%s%d/%s/%s", Prefix, e.AccountID, e.ID, name)
}

// Find returns the errand of an account and a kind, otherwise a NotFound fault.
func (o *Office) Find(ctx context.Context, account int64, kind string) (Errand, error) {
	e, _, err := o.read(ctx, account, kind)
	return e, err
}

// Get is Find for a known errand: another one is a NotFound fault.
func (o *Office) Get(ctx context.Context, account int64, kind, id string) (Errand, error) {
	e, err := o.Find(ctx, account, kind)
	if err == nil && e.ID != id {
		err = fault.Missing("errand", 0)
	}
	return e, err
}

func (o *Office) read(ctx context.Context, account int64, kind string) (e Errand, raw []byte, err error) {
	item, err := o.cfg.Vault.Item(ctx, states+"/"+key(account, kind))
	if err != nil {
		return e, nil, err
	}
	if err := json.Unmarshal(item.Value, &e); err != nil {
		return e, nil, fault.Wrap(fault.Internal, "reading an errand", err)
	}
	return e, item.Value, nil
}

// change changes an errand atomically, unless fn returns an error.
func (o *Office) change(ctx context.Context, account int64, kind, id string, fn func(e *Errand) error) (Errand, error) {
	for {
		e, old, err := o.read(ctx, account, kind)
		if err == nil && e.ID != id {
			err = fault.Missing("errand", 0)
		}
		if err == nil {
			err = fn(&e)
		}
		if err != nil {
			return e, err
		}
		raw, err := json.Marshal(e)
		if err != nil {
			return e, fault.Wrap(fault.Internal, "writing an errand", err)
		}
		done, err := o.cfg.Vault.ReplaceValue(ctx, states+"/"+key(account, kind), old, raw)
		if done || err != nil {
			return e, err
		}
	}
}

// Order describes a new errand.
type Order struct {
	AccountID, UserID int64
	Kind, Step        string
	Input             map[string]string
	File              string    // name of the uploaded file
	Content           io.Reader // of the uploaded file; nil: there is none
}

var errBusy = &fault.Error{Kind: fault.Conflict, Code: "errand_exists", Message: "There is one already. Delete it first."}

// Begin stores the uploaded file and begins an errand. It is a Conflict fault if the account has one of its kind, and a
// TooLarge fault if the file is larger than Config.MaxUpload.
func (o *Office) Begin(ctx context.Context, order Order) (Errand, error) {
	if o.cfg.Works[order.Kind] == nil {
		return Errand{}, fault.Field("kind", "is not known")
	}
	if err := o.free(ctx, order); err != nil {
		return Errand{}, err
	}
	now := o.cfg.Now().UTC()
	e := Errand{
		ID: strings.ToLower(rand.Text()), AccountID: order.AccountID, UserID: order.UserID, Kind: order.Kind, Step: order.Step, Input: order.Input, File: order.File,
		State: Waiting, Created: now, Changed: now,
	}
	if order.Content != nil {
		if err := o.keepUpload(ctx, &e, order.Content); err != nil {
			return e, err
		}
	}
	if err := o.insert(ctx, e, order); err != nil {
		o.removeFiles(context.WithoutCancel(ctx), e)
		return e, err
	}
	o.ring()
	return e, nil
}

// free returns a fault if the account has an errand of the kind.
func (o *Office) free(ctx context.Context, order Order) error {
	_, err := o.Find(ctx, order.AccountID, order.Kind)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil
	case err == nil:
		return errBusy
	}
	return err
}

// insert stores a new errand under its lock, so that no two begin at the same time.
func (o *Office) insert(ctx context.Context, e Errand, order Order) error {
	h, err := o.hold(ctx, e.AccountID, e.Kind)
	if err != nil {
		return err
	}
	if h == nil {
		return errBusy
	}
	defer h.free(ctx)
	if err := o.free(ctx, order); err != nil {
		return err
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return fault.Wrap(fault.Internal, "writing an errand", err)
	}
	if err := o.mark(ctx, e); err != nil {
		return err
	}
	return o.cfg.Vault.SetItem(ctx, storage.VaultItem{Key: states + "/" + key(e.AccountID, e.Kind), Value: raw, Modified: e.Created})
}

// mark notes that an errand is due, and ring has this server look for it at once.
func (o *Office) mark(ctx context.Context, e Errand) error {
	return o.cfg.Vault.SetItem(ctx, storage.VaultItem{Key: due + "/" + key(e.AccountID, e.Kind), Modified: o.cfg.Now()})
}

func (o *Office) ring() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// call has a server run the errand.
func (o *Office) call(ctx context.Context, e Errand) error {
	defer o.ring()
	return o.mark(ctx, e)
}

// keepUpload stores the uploaded file.
func (o *Office) keepUpload(ctx context.Context, e *Errand, content io.Reader) (err error) {
	if e.Size, err = o.cfg.Blobs.Put(ctx, blobKey(*e, Uploaded), io.LimitReader(content, o.cfg.MaxUpload+1)); err != nil {
		return err
	}
	if e.Size > o.cfg.MaxUpload {
		o.removeFiles(context.WithoutCancel(ctx), *e)
		return fault.Newf(fault.TooLarge, "The file is larger than %d MB.", o.cfg.MaxUpload>>20)
	}
	return nil
}

// Go runs the next step of an errand, or the same one again. It is a Conflict fault while it is active.
func (o *Office) Go(ctx context.Context, e Errand, step string) error {
	e, err := o.change(ctx, e.AccountID, e.Kind, e.ID, func(e *Errand) error {
		if e.State.Active() {
			return errRunning
		}
		e.Step, e.State, e.Reason, e.Tries, e.Progress.Done, e.Changed = step, Waiting, "", 0, 0, o.cfg.Now().UTC()
		return nil
	})
	if err != nil {
		return err
	}
	return o.call(ctx, e)
}

// Again is [Office.Go] with the step, the input and the member of an order.
func (o *Office) Again(ctx context.Context, e Errand, order Order) error {
	_, err := o.change(ctx, e.AccountID, e.Kind, e.ID, func(e *Errand) error {
		if e.State.Active() {
			return errRunning
		}
		e.Input, e.UserID = order.Input, order.UserID
		return nil
	})
	if err != nil {
		return err
	}
	return o.Go(ctx, e, order.Step)
}

var errRunning = &fault.Error{Kind: fault.Conflict, Message: "It is already running."}

// Stop stops an errand that is active; others stay as they are. The server that runs it needs a moment to do so.
func (o *Office) Stop(ctx context.Context, e Errand) error {
	_, err := o.change(ctx, e.AccountID, e.Kind, e.ID, func(e *Errand) error {
		if e.State.Active() {
			e.State, e.Changed = Stopping, o.cfg.Now().UTC()
		}
		return nil
	})
	if err == nil {
		err = o.call(ctx, e) // if no server runs it, the next one that looks stops it
	}
	return err
}

// Delete removes an errand with its files. It is a Conflict fault while it is active.
func (o *Office) Delete(ctx context.Context, e Errand) error {
	h, err := o.hold(ctx, e.AccountID, e.Kind)
	if err != nil {
		return err
	}
	if h != nil {
		defer h.free(ctx)
		if e, err = o.Get(ctx, e.AccountID, e.Kind, e.ID); err != nil {
			return err
		}
	}
	if h == nil || e.State.Active() {
		return &fault.Error{Kind: fault.Conflict, Message: "It is running. Stop it first."}
	}
	return o.remove(ctx, e)
}

// remove removes an errand with its files.
func (o *Office) remove(ctx context.Context, e Errand) error {
	for _, top := range []string{due, states} {
		if err := o.cfg.Vault.DeleteItems(ctx, top+"/"+key(e.AccountID, e.Kind)); err != nil {
			return err
		}
	}
	o.removeFiles(ctx, e)
	return nil
}

// removeFiles removes the files of an errand. What cannot be removed now, such as during a backup, is removed by tidy.
func (o *Office) removeFiles(ctx context.Context, e Errand) {
	for _, name := range []string{Uploaded, ReportFile, Result} {
		if err := o.cfg.Blobs.Delete(ctx, blobKey(e, name)); err != nil {
			o.cfg.Logger.InfoContext(ctx, "a file of an errand is removed later", "error", err)
		}
	}
}

// Open opens a file of an errand, and returns its size.
func (o *Office) Open(ctx context.Context, e Errand, name string) (size int64, open func(offset int64) (io.ReadCloser, error), err error) {
	info, err := o.cfg.Blobs.Stat(ctx, blobKey(e, name))
	if err != nil {
		return 0, nil, err
	}
	return info.Size, func(offset int64) (io.ReadCloser, error) { return o.cfg.Blobs.GetRange(ctx, info.Key, offset, -1) }, nil
}

// youngest is the age at which a file without an errand is a leftover: its errand is stored right after it.
const youngest = time.Hour

// Tidy removes what is no longer needed: errands that are old or whose account is gone, and files without an errand.
func (o *Office) Tidy(ctx context.Context) error {
	items, err := o.cfg.Vault.Items(ctx, states)
	if err != nil {
		return err
	}
	kept := map[string]bool{} // ids
	for _, item := range items {
		account, kind, ok := parseKey(item.Key, states)
		if !ok {
			continue
		}
		e, err := o.Find(ctx, account, kind)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		over, err := o.over(ctx, e)
		if err != nil {
			return err
		}
		if over {
			continue
		}
		kept[e.ID] = true
		if e.State.Active() { // a server may have crashed before it noted that it is due
			if err := o.call(ctx, e); err != nil {
				return err
			}
		}
	}
	return o.tidyFiles(ctx, kept)
}

// over removes an errand that is over, and reports whether it was.
func (o *Office) over(ctx context.Context, e Errand) (bool, error) {
	there, err := o.cfg.Accounts(ctx, e.AccountID)
	if err != nil || there && (e.State.Active() || o.cfg.Now().Sub(e.Changed) < o.cfg.Keep) {
		return false, err
	}
	h, err := o.hold(ctx, e.AccountID, e.Kind)
	if err != nil || h == nil {
		return false, err // its server finds that the account is gone
	}
	defer h.free(ctx)
	return true, o.remove(ctx, e)
}

// tidyFiles removes old files of other errands than those kept.
func (o *Office) tidyFiles(ctx context.Context, kept map[string]bool) error {
	o.tidyFolders(kept)
	return storage.WalkBlobs(ctx, o.cfg.Blobs, Prefix, func(found []storage.BlobInfo) error {
		for _, b := range found {
			parts := strings.Split(b.Key, "/")
			if len(parts) < 3 || kept[parts[2]] || o.cfg.Now().Sub(b.Modified) < youngest {
				continue
			}
			if err := o.cfg.Blobs.Delete(ctx, b.Key); err != nil {
				return err
			}
		}
		return nil
	})
}

// text returns a report as a file.
func (r Report) text(notes []Note) []byte {
	var b bytes.Buffer
	for _, c := range r.Counts {
		fmt.Fprintf(&b, "%s: %d\n", c.What, c.N)
	}
	for _, n := range notes {
		fmt.Fprintf(&b, "%s: %s\n", n.About, n.Text)
	}
	return b.Bytes()
}
