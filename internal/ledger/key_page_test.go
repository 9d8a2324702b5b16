package ledger

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Each number is on one page, that with the highest Lo which is not above it.
func TestEachNumberIsOnItsPage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var text []string
	want := map[int64][]int64{}
	for row := range int64(20_000) {
		key := 491700000000 + r.Int64N(9_000)
		if row%10 == 0 {
			key = 491700004444 // more rows than a page has
		}
		text = append(text, fmt.Sprint(key, " ", 3*partRows+row))
		want[key] = append(want[key], row)
	}
	rows, err := ReadKeys(nil, strings.Join(text, ","))
	if err != nil {
		t.Fatal(err)
	}
	pages := KeyPages(rows)
	if len(pages) < 10 || pages[0].Lo != 0 {
		t.Errorf("got %d pages from %d on, want some 18 from 0 on", len(pages), pages[0].Lo)
	}
	for key, all := range want {
		if key%20 != 4 {
			continue // the others take seconds
		}
		i, found := slices.BinarySearchFunc(pages, key, func(p KeyPage, key int64) int { return cmp.Compare(p.Lo, key) })
		if !found {
			i--
		}
		page, err := ReadKeyPage(pages[i].Keys)
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, r := range page {
			if r.Key == key {
				got = append(got, r.Row)
			}
		}
		if all = all[:min(len(all), mostOfNumber)]; !slices.Equal(got, all) {
			t.Fatalf("got rows %v of %d, want %v", got, key, all)
		}
		left, err := WithoutKey(pages[i].Keys, key)
		if err != nil {
			t.Fatal(err)
		}
		if rest, err := ReadKeyPage(left); err != nil || len(rest) != len(page)-len(got) {
			t.Fatalf("got %d rows without %d (%v), want the other %d", len(rest), key, err, len(page)-len(got))
		}
	}
}

func TestADamagedPageOfNumbersIsRefused(t *testing.T) {
	page := packKeys([]KeyRow{{491700000000, 7}})
	if rows, err := ReadKeyPage(page[:len(page)-1]); err == nil {
		t.Errorf("got %v of a page without its end, want an error", rows)
	}
}
