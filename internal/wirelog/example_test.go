package wirelog_test

import (
	"fmt"
	"os"

	"campaignd/campaign"
	"campaignd/internal/wirelog"
)

func Example() {
	dir, err := os.MkdirTemp("", "wirelog-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	o := wirelog.Options{Dir: dir, Name: "campaignd", Ledger: "5f0c", Owner: "host/1", Boot: "5d2f1c0a"}
	first, err := wirelog.Open(o)
	if err != nil {
		fmt.Println(err) // not on Linux
		return
	}
	no, _ := first.Note(campaign.Post{Run: 1, Seq: 17, Attempt: 1}, 1)
	first.Recorded(no)
	_, _ = first.Note(campaign.Post{Run: 1, Seq: 18, Attempt: 1}, 1)
	_ = first.Close() // or kill -9

	o.Owner = "host/2"
	second, err := wirelog.Open(o)
	if err != nil {
		panic(err)
	}
	defer second.Close()
	for _, d := range second.Dead() {
		fmt.Println(d.Owner, "had posted", d.Posts)
	}
	// Output: host/1 had posted [{1 18 1}]
}
