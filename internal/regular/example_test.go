package regular_test

import (
	"errors"
	"fmt"

	"campaignd/internal/regular"
)

func Example() {
	_, err := regular.Within("campaigns", "../secrets/key.txt")
	fmt.Println(errors.Is(err, regular.ErrOutside))
	// Output: true
}
