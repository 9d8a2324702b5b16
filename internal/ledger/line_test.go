package ledger

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
)

// Cells are written by encoding/json, and read without it where they may be.
func TestCellsAreReadAsTheyWereWritten(t *testing.T) {
	letters := []string{"a", "Zoë", ",", `"`, `\`, `","`, " ", "[", "]", "\n", "\x00", "<", "日本", "\xff", "\u2028"}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		cells := make([]string, rng.IntN(4))
		for i := range cells {
			for range rng.IntN(4) {
				cells[i] += letters[rng.IntN(len(letters))]
			}
		}
		text, err := json.Marshal(cells)
		if err != nil {
			t.Fatal(err)
		}
		sameCells(t, string(text))
	}
	for _, text := range []string{`[ "a", "b" ]`, `["a", "b"]`, `["a" ,"b"]`, `["a","b"] `, `null`, `["]`, `["a"`, `["a""b"]`,
		`["a",b","c"]`, `{"a":"b"}`, ``, `["a","b",]`, `["a",1]`} {
		sameCells(t, text)
	}
}

// sameCells compares readCells with encoding/json.
func sameCells(t *testing.T, text string) {
	t.Helper()
	var want []string
	failed := json.Unmarshal([]byte(text), &want)
	got, err := readCells(text)
	if (err != nil) != (failed != nil) || err == nil && !slices.Equal(got, want) {
		t.Errorf("%q: got %q, %v; want %q, %v", text, got, err, want, failed)
	}
}

func BenchmarkCells(b *testing.B) {
	const text = `["Ann","2026-000123","12.50"]`
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			_, _ = readCells(text)
		}
	})
	b.Run("json", func(b *testing.B) {
		for b.Loop() {
			var cells []string
			_ = json.Unmarshal([]byte(text), &cells)
		}
	})
}
