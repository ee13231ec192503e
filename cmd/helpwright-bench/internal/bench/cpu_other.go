//go:build !unix

package bench

import "time"

// cpu returns wall-clock time if the system does not provide processor time.
func cpu() time.Duration { return time.Duration(time.Now().UnixNano()) }
