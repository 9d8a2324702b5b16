package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"campaignd/internal/client"
	"campaignd/internal/sentence"
)

// turnLine prints once why a launch waits for its turn.
func turnLine(w io.Writer) func(*client.Error) {
	var once sync.Once
	return func(e *client.Error) {
		once.Do(func() { fmt.Fprintf(w, "waiting for its turn: %s\n", sentence.Printable(e.Message)) })
	}
}

// uploadLines prints the progress of an upload: a line every lineInterval, and one for each time
// the upload waits.
func uploadLines(w io.Writer) func(client.UploadProgress) {
	last := time.Now()
	return func(p client.UploadProgress) {
		const mega = 1e6
		sent, size := float64(p.Sent)/mega, float64(p.Size)/mega
		switch {
		case p.Err != nil:
			fmt.Fprintf(w, "the upload stands at %.0f of %.0f MB (%s); it goes on in %v\n", sent, size, sentence.Printable(p.Err.Error()), p.Wait)
		case time.Since(last) < lineInterval:
			return
		default:
			fmt.Fprintf(w, "uploaded %.0f of %.0f MB\n", sent, size)
		}
		last = time.Now()
	}
}
