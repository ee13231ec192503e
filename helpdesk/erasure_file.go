package helpdesk

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/helpwright/helpwright/storage"
	"github.com/helpwright/helpwright/storage/fault"
)

// What a file of tombstones begins with.
const (
	erasureFormat  = "helpwright erasures"
	erasureVersion = 1
)

// Limits of a file of tombstones.
const (
	maxErasureLine = 4 << 10
	maxErasures    = 1_000_000
)

// erasureHead is the first line of a file of tombstones.
type erasureHead struct {
	Format  string   `json:"format"`
	Version int      `json:"version"`
	Keys    [][]byte `json:"keys"`
}

// erasureLine is each of the following lines.
type erasureLine struct {
	Digest   []byte    `json:"digest"`
	ErasedAt time.Time `json:"erased_at"`
	Customer int64     `json:"customer_id"`
}

// WriteErasures writes the tombstones of an account as JSON lines, for [Admin.ApplyErasures], and returns their number. The
// file contains no address, but its keys: whoever has it can find out whether a given address was erased. Operators only.
func (a *Admin) WriteErasures(ctx context.Context, accountID int64, w io.Writer) (n int, err error) {
	r, err := a.account(accountID)
	if err != nil {
		return 0, err
	}
	keys, err := ErasureKeys(ctx, r, a.svc.cfg.Sealer)
	if err != nil {
		return 0, err
	}
	out := json.NewEncoder(w)
	if err := out.Encode(erasureHead{erasureFormat, erasureVersion, keys}); err != nil {
		return 0, err
	}
	list := func(seek storage.Seek) ([]Erasure, error) {
		return erasureNoun().Reader(r).List(ctx, ErasureFilter{}, seek)
	}
	err = each(list, func(e Erasure) int64 { return e.ID }, func(e Erasure) error {
		n++
		return out.Encode(erasureLine{e.Digest, e.ErasedAt, e.CustomerID})
	})
	return n, err
}

// AppliedErasures is the result of [Admin.ApplyErasures].
type AppliedErasures struct {
	Tombstones int // in the file
	New        int // of these, not known here before, or with a later time
	Customers  int // erased now, or in a dry run to be erased
}

// ApplyErasures adds the tombstones of a file of [Admin.WriteErasures] to an account, and erases the customers whom they
// name again, as after restoring a backup from before their erasure. Customers created since their erasure came of their own
// accord, and stay: apply the file before the restored server runs. It works in several transactions; calling it again
// continues. dryRun changes nothing. A file that is damaged, or made by a later version, is an Invalid fault, and nothing is
// changed. Operators only.
func (a *Admin) ApplyErasures(ctx context.Context, accountID int64, file io.Reader, dryRun bool) (AppliedErasures, error) {
	var done AppliedErasures
	e, err := a.eraser(accountID)
	if err != nil {
		return done, err
	}
	keys, stones, err := readErasures(file, e.at)
	if err != nil {
		return done, err
	}
	done.Tombstones = len(stones)
	customers, err := e.named(ctx, keys, stones)
	if err != nil {
		return done, err
	}
	done.Customers = len(customers)
	if dryRun {
		return done, nil
	}
	err = retryUnique(func() error {
		return e.begin(ctx, func(ctx context.Context, tx Tx) (err error) {
			if _, err = addErasureKeys(ctx, tx, a.svc.cfg.Sealer, keys); err == nil {
				done.New, err = setErasures(ctx, tx, stones)
			}
			return err
		})
	}, UniqueErasure)
	if err != nil {
		done.Customers = 0
		return done, err
	}
	for n, c := range customers {
		one := *e
		one.customerID, one.since = c.id, c.erasedAt
		if err := one.run(ctx); err != nil && !fault.Is(err, fault.NotFound) {
			done.Customers = n
			return done, err
		}
	}
	return done, nil
}

// namedCustomer is a customer with an address that tombstones name.
type namedCustomer struct {
	id       int64
	erasedAt time.Time // the latest of all addresses
}

// named finds the customers with an address that the tombstones name.
func (e *eraser) named(ctx context.Context, keys erasureKeys, stones []Erasure) (found []namedCustomer, err error) {
	at := make(map[string]time.Time, len(stones))
	for _, s := range stones {
		at[string(s.Digest)] = s.ErasedAt
	}
	list := func(seek storage.Seek) ([]Customer, error) { return e.r.Customers(ctx, CustomerFilter{}, seek) }
	err = each(list, func(c Customer) int64 { return c.ID }, func(c Customer) error {
		one := namedCustomer{id: c.ID}
		for _, email := range c.Emails {
			for _, d := range keys.digests(email.Key) {
				if erased := at[string(d)]; erased.After(one.erasedAt) {
					one.erasedAt = erased
				}
			}
		}
		if !one.erasedAt.IsZero() && !c.CreatedAt.After(one.erasedAt) {
			found = append(found, one)
		}
		return nil
	})
	return found, err
}

// readErasures reads and checks a whole file.
func readErasures(file io.Reader, now time.Time) (erasureKeys, []Erasure, error) {
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, maxErasureLine), maxErasureLine)
	var head erasureHead
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &head) != nil || head.Format != erasureFormat {
		return nil, nil, damagedErasures(errors.Join(lines.Err(), errors.New("it does not begin as one")))
	}
	if head.Version != erasureVersion {
		return nil, nil, fault.Newf(fault.Invalid, "The tombstones have version %d, and this release knows %d.", head.Version, erasureVersion)
	}
	if len(head.Keys) > maxErasureKeys {
		return nil, nil, damagedErasures(errors.New("it has too many keys"))
	}
	for _, key := range head.Keys {
		if len(key) != erasureKeySize {
			return nil, nil, damagedErasures(errors.New("a key has the wrong length"))
		}
	}
	var stones []Erasure
	known := map[string]int{} // by digest: of an address that is there twice, the later time counts
	for line := 2; lines.Scan(); line++ {
		var l erasureLine
		err := json.Unmarshal(lines.Bytes(), &l)
		switch {
		case err != nil || len(l.Digest) != erasureKeySize || l.ErasedAt.Year() < 1970 || l.ErasedAt.After(now.Add(clockSkew)):
			return nil, nil, damagedErasures(fmt.Errorf("line %d is not a tombstone", line))
		case len(head.Keys) == 0:
			return nil, nil, damagedErasures(errors.New("it has no keys"))
		case line-2 == maxErasures:
			return nil, nil, damagedErasures(fmt.Errorf("it has more than %d lines", maxErasures))
		}
		stone := Erasure{CustomerID: l.Customer, Digest: l.Digest, ErasedAt: l.ErasedAt.UTC().Truncate(time.Microsecond)}
		at, twice := known[string(l.Digest)]
		switch {
		case !twice:
			known[string(l.Digest)] = len(stones)
			stones = append(stones, stone)
		case stone.ErasedAt.After(stones[at].ErasedAt):
			stones[at] = stone
		}
	}
	if err := lines.Err(); err != nil {
		return nil, nil, damagedErasures(err)
	}
	return head.Keys, stones, nil
}

func damagedErasures(err error) error {
	return fault.Newf(fault.Invalid, "This is not a file of tombstones: %s.", err)
}
