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

// listened returns spans in which webhooks were taken, each from a minute to another.
func listened(minutes ...int) (spans []reception.Span) {
	for i := 0; i < len(minutes); i += 2 {
		spans = append(spans, reception.Span{Since: minute(minutes[i]), Until: minute(minutes[i+1])})
	}
	return spans
}

func minute(n int) time.Time {
	return time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
}

// alwaysListening says that webhooks were taken all the time.
func alwaysListening() reception.Listening {
	return reception.NewListening([]reception.Span{{Since: time.Unix(0, 0), Until: time.Now()}}, reception.ServiceRepeats(), time.Now())
}
