package secret_test

import (
	"fmt"

	"campaignd/internal/secret"
)

// The example prints a key in the usual ways; only Reveal shows it.
func Example() {
	key := secret.New("k-7291")
	fmt.Printf("%v %q %s\n", key, key, []secret.Value{key})
	fmt.Println(len(key.Reveal()), secret.Value{}.IsZero())
	// Output:
	// *** "***" [***]
	// 6 true
}
