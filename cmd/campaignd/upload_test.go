package main

import (
	"bytes"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"campaignd/internal/client"
)

func TestAnUploadIsToldNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		tell := uploadLines(&out)
		for i := range int64(5) { // 2 seconds for each part
			time.Sleep(2 * time.Second)
			tell(client.UploadProgress{Sent: (i + 1) * 16e6, Size: 120e6})
		}
		tell(client.UploadProgress{Sent: 80e6, Size: 120e6, Err: errors.New("no answer from h:1: EOF"), Wait: 250 * time.Millisecond})
		const want = "uploaded 48 of 120 MB\nthe upload stands at 80 of 120 MB (no answer from h:1: EOF); it goes on in 250ms\n"
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", &out, want)
		}
	})
}
