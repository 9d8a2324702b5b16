package request_test

import (
	"testing"

	"campaignd/internal/sandbox/request"
)

func FuzzSendRequest(f *testing.F) {
	f.Add([]byte(`{"connectionId":"conn_1","to":"+23480312345","template":{"name":"order_update","language":"en_US","body":["Ada","A-1"]}}`))
	f.Add([]byte(`{"connectionId":"c","to":"+1","list":{"body":"b","button":"x","sections":[{"title":"t","rows":[{"id":"1","title":"t"}]}]}}`))
	f.Add([]byte(`{"document":{"assetId":"a","filename":"b"},"location":{"latitude":1e400}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := new(request.Message)
		if m.Decode(raw) == nil {
			m.Shape()
		}
	})
}
