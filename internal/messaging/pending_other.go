//go:build !unix

package messaging

import (
	"errors"
	"time"
)

// listenFor is how long silent listens to a connection.
const listenFor = 100 * time.Microsecond

// pending reports errors.ErrUnsupported: only Unix can look at what has come in without reading it.
func (w *wire) pending() (something bool, err error) { return false, errors.ErrUnsupported }
