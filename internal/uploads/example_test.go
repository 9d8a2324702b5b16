package uploads_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"campaignd/campaign"
	"campaignd/internal/uploads"
)

func Example() {
	dir, err := os.MkdirTemp("", "uploads")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	f := uploads.New(dir, func(context.Context) ([]campaign.Run, error) { return nil, nil })
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte("phone\n+2348031234560\n")))
	first, err := f.Add(hash, 0, strings.NewReader("phone\n"))
	fmt.Println(first.Received, err)
	_, err = f.Add(hash, first.Received, strings.NewReader("+2348031234560\n"))
	fmt.Println(err)
	list := filepath.Join(dir, "list.csv")
	err = f.Link(context.Background(), hash, list)
	text, _ := os.ReadFile(list)
	fmt.Printf("%v %q\n", err, text)
	// Output:
	// 6 <nil>
	// <nil>
	// <nil> "phone\n+2348031234560\n"
}
