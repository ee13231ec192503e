package kb

import (
	"fmt"
	"math"
	"strings"

	"github.com/helpwright/helpwright/storage"
)

// SortOrder is a place among siblings: a decimal with up to nine fractional digits, kept in billionths. It is exact and
// sorts as an integer.
type SortOrder int64

// sortUnit is the value of 1.
const sortUnit SortOrder = 1_000_000_000

// maxSortOrder limits input, so that there is always a place after it.
const maxSortOrder = 1_000_000_000 * sortUnit

// ParseSortOrder reads a decimal such as "2", "-1.5" or "0.125".
func ParseSortOrder(s string) (SortOrder, error) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, point := strings.Cut(digits, ".")
	if whole == "" || point && fraction == "" {
		return 0, fmt.Errorf("no decimal")
	}
	if len(whole) > 10 || len(fraction) > 9 {
		return 0, fmt.Errorf("out of range")
	}
	var n SortOrder
	for _, c := range []byte(whole + fraction + strings.Repeat("0", 9-len(fraction))) {
		if c < '0' || c > '9' {
			return 0, fmt.Errorf("no decimal")
		}
		if n > math.MaxInt64/10-1 {
			return 0, fmt.Errorf("out of range")
		}
		n = n*10 + SortOrder(c-'0')
	}
	if n > maxSortOrder {
		return 0, fmt.Errorf("out of range")
	}
	if negative {
		n = -n
	}
	return n, nil
}

// String returns the shortest decimal, without an exponent.
func (o SortOrder) String() string {
	sign, n := "", o
	if n < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%s%d", sign, int64(n/sortUnit))
	if fraction := n % sortUnit; fraction != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%09d", int64(fraction)), "0")
	}
	return text
}

// after returns the next whole number after o.
func (o SortOrder) after() SortOrder {
	whole := o / sortUnit
	if o < 0 && o%sortUnit != 0 {
		whole--
	}
	return min((whole+1)*sortUnit, maxSortOrder)
}

// place returns the place of a resource: the given one; the last among its siblings when it is new or null is given;
// otherwise the old one. last returns the place of the last sibling.
func place(given storage.Opt[SortOrder], old SortOrder, isNew bool, last func() (SortOrder, bool, error)) (SortOrder, error) {
	if order, ok := given.Get(); ok {
		return order, nil
	}
	if !isNew && !given.IsNull() {
		return old, nil
	}
	order, any, err := last()
	if !any || err != nil {
		return sortUnit, err
	}
	return order.after(), nil
}
