package launch_test

import (
	"testing"
	"time"

	"campaignd/campaign/file"
	"campaignd/campaign/reception"
)

const minimal = "name: a\nconnections: [conn_1]\ntemplate: {name: hello_world, language: en_US}\n"

func parse(t testing.TB, src string) *file.Definition {
	t.Helper()
	d, err := file.Parse("test.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// alwaysListening says that webhooks were taken all the time.
func alwaysListening() reception.Listening {
	return reception.NewListening([]reception.Span{{Since: time.Unix(0, 0), Until: time.Now()}}, reception.ServiceRepeats(), time.Now())
}
