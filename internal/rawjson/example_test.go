package rawjson_test

import (
	"fmt"

	"campaignd/internal/rawjson"
)

func Example() {
	v, err := rawjson.Parse([]byte(`{"data":{"messageId":"wamid.X","warning":null},"more":[1,2]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Get("data").Get("messageId").Text(), v.Get("data").Get("warning").IsNull())
	for m := v.Get("more").Members(); m.Next(); {
		fmt.Println(m.Val.Integer())
	}
	// Output:
	// wamid.X true
	// 1 true
	// 2 true
}
