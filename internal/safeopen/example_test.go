package safeopen_test

import (
	"errors"
	"fmt"

	"campaignd/internal/safeopen"
)

func Example() {
	_, err := safeopen.Within("campaigns", "../secrets/key.txt")
	fmt.Println(errors.Is(err, safeopen.ErrOutside))
	// Output: true
}
