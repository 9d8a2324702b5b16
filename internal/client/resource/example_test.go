package resource_test

import (
	"encoding/json"
	"fmt"

	"campaignd/internal/client/resource"
)

func ExampleKey() {
	var keys []resource.Key // what `campaignd keys list -o json` prints
	text := `[{"id": "3f9a1c02", "name": "dashboard", "scope": "read", "created_at": "2026-03-02T09:00:00Z"}]`
	if err := json.Unmarshal([]byte(text), &keys); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(keys[0].Name, keys[0].Scope, keys[0].RevokedAt == nil)
	// Output: dashboard read true
}
