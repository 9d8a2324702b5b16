package postgres

import (
	"reflect"
	"testing"

	"campaignd/campaign"
)

func TestTextsOfPortableStatementsAreStorable(t *testing.T) {
	t.Parallel()
	got := storable([]any{"a\x00b", campaign.State("\xff"), int64(3), []byte("\x00"), nil, "plain"})
	if want := []any{"a\uFFFDb", "\uFFFD", int64(3), []byte("\x00"), nil, "plain"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
