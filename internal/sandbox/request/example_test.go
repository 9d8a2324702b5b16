package request_test

import (
	"fmt"

	"campaignd/internal/sandbox/request"
)

func Example() {
	var m request.Message
	two := `{"connectionId":"conn_1","to":"+15555550106","text":"Hello","image":{"link":"https://a.example/b.png"}}`
	if err := m.Decode([]byte(two)); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Shape().Code)
	fmt.Println(m.Decode([]byte(`{"connectionID":"conn_1"}`)))
	// Output:
	// multiple_content
	// body has an unknown field "connectionID"
}
