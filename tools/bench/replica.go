//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"

	"campaignd/internal/daemon"
)

// runReplica runs `campaignd serve`.
func runReplica(ctx context.Context, in *json.Decoder, out *json.Encoder) (err error) {
	var job productJob
	if err := in.Decode(&job); err != nil {
		return err
	}
	cfg := job.config()
	cfg.Campaigns = job.Campaigns
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	d, err := daemon.New(ctx, cfg, daemon.Options{Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	addresses, served := make(chan [2]string, 1), make(chan error, 1)
	go func() {
		served <- d.Serve(ctx, func(public, admin string) { addresses <- [2]string{public, admin} })
	}()
	var a [2]string
	select {
	case a = <-addresses:
	case err := <-served:
		return err
	}
	if err := sampled(in, out, a[0], func() (int64, error) {
		select {
		case err := <-served:
			return 0, fmt.Errorf("a replica ended: %w", err)
		default:
			return posts(ctx, a[1])
		}
	}); err != nil {
		return err
	}
	return <-served // ctx has ended with the input
}

// posts returns how many messages a replica has posted, from its metrics.
func posts(ctx context.Context, admin string) (n int64, err error) {
	body, err := ask(ctx, "GET", admin+"/metrics", "")
	if err != nil {
		return 0, err
	}
	defer body.Close()
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "campaignd_posts_total{") {
			continue
		}
		value := lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:]
		one, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		n += int64(one)
	}
	return n, lines.Err()
}
