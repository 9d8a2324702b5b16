//go:build !unix

package messaging

import "errors"

// pending reports errors.ErrUnsupported: only Unix can look at what has come in without reading it.
func (w *wire) pending() (something bool, err error) { return false, errors.ErrUnsupported }
