package throttle_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"campaignd/throttle"
)

// senderVariable turns the test binary into a sender. Its value is "url key rate senders
// milliseconds".
const senderVariable = "CAMPAIGND_THROTTLE_SENDER"

func TestMain(m *testing.M) {
	if order := os.Getenv(senderVariable); order != "" {
		os.Exit(sender(order))
	}
	flag.Parse()
	// These tests mostly sleep: 12 in parallel keep the package near 12 s.
	if err := flag.Set("test.parallel", "12"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// sender sends until its time is over and prints the instant of each message in nanoseconds since
// 1970.
func sender(order string) int {
	var url, key string
	var rate float64
	var senders, ms int
	if _, err := fmt.Sscan(order, &url, &key, &rate, &senders, &ms); err != nil {
		fmt.Fprintln(os.Stderr, senderVariable, err)
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(ms)*time.Millisecond)
	defer cancel()
	l, err := throttle.NewRedis(ctx, url, throttle.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer l.Close()
	var sent []int64
	pace(ctx, l, key, rate, senders, func(now time.Time) { sent = append(sent, now.UnixNano()) })
	out := bufio.NewWriter(os.Stdout)
	for _, at := range sent {
		fmt.Fprintln(out, at)
	}
	if err := out.Flush(); err != nil {
		return 1
	}
	return 0
}
