// Package status is the one place that maps kinds of faults to HTTP statuses.
package status

import (
	"net/http"

	"github.com/helpwright/helpwright/storage/fault"
)

// Of returns the status of an answer to an error, 500 if it is not a fault.
func Of(err error) int {
	switch fault.Of(err) {
	case fault.Invalid:
		return http.StatusUnprocessableEntity
	case fault.Malformed:
		return http.StatusBadRequest
	case fault.Unauthenticated:
		return http.StatusUnauthorized
	case fault.Forbidden:
		return http.StatusForbidden
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.Precondition:
		return http.StatusPreconditionFailed
	case fault.TooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.Unsupported:
		return http.StatusUnsupportedMediaType
	case fault.RateLimited:
		return http.StatusTooManyRequests
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	case fault.Disabled:
		return http.StatusNotFound
	case fault.OutcomeUnknown:
		return http.StatusServiceUnavailable
	case fault.Internal:
	}
	return http.StatusInternalServerError
}
