package ledger

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"campaignd/campaign"
)

// pagesOf sorts numbers, and takes step pages at once.
func pagesOf(t *testing.T, numbers []string, step int) (all []KeyPage) {
	t.Helper()
	var p PartKeys
	for segment := range slices.Chunk(numbers, campaign.SegmentSize) {
		if err := p.Add(strings.Join(segment, ",")); err != nil {
			t.Fatal(err)
		}
	}
	for more := true; more; {
		var pages []KeyPage
		var err error
		if pages, more, err = p.Pages(step); err != nil || len(pages) > step || more && len(pages) < step {
			t.Fatalf("got %d pages, more: %v (%v), want %d, or fewer that are the last", len(pages), more, err, step)
		}
		all = append(all, pages...)
	}
	return all
}

// Each number is on one page, that with the highest Lo which is not above it.
func TestEachNumberIsOnItsPage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var text []string
	want := map[int64][]int64{}
	for row := range int64(2*chunkRows + 20_000) { // three chunks
		key := 491700000000 + r.Int64N(60_000)
		if row%10 == 0 {
			key = 491700004444 // more rows than a page has
		}
		text = append(text, fmt.Sprint(key, " ", 3*partRows+row))
		want[key] = append(want[key], row)
	}
	pages := pagesOf(t, text, 10)
	if len(pages) < 120 || len(pages) > 140 || pages[0].Lo != 0 {
		t.Errorf("got %d pages from %d on, want some 130 from 0 on", len(pages), pages[0].Lo)
	}
	for key, all := range want {
		if key%101 != 491700004444%101 {
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

func TestAPartWithoutNumbersHasAnEmptyPage(t *testing.T) {
	if pages := pagesOf(t, nil, 10); len(pages) != 1 || pages[0].Lo != 0 || len(pages[0].Keys) != 0 {
		t.Errorf("got %v, want one page from 0 on without rows", pages)
	}
}

func TestADamagedPageOfNumbersIsRefused(t *testing.T) {
	page := packKeys([]KeyRow{{491700000000, 7}})
	if rows, err := ReadKeyPage(page[:len(page)-1]); err == nil {
		t.Errorf("got %v of a page without its end, want an error", rows)
	}
}
