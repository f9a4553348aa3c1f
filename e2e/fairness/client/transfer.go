package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Moves a body of the pattern over several streams of one connection, and compares digests.
func runTransfer(arguments []string) (any, error) {
	var to target
	set := flag.NewFlagSet("transfer", flag.ContinueOnError)
	to.flags(set)
	up := set.Bool("up", false, "to the app instead of from it")
	bytes := set.Int64("bytes", 1, "")
	streams := set.Int("streams", 1, "at once")
	limit := set.Duration("limit", time.Minute, "a transfer that takes longer is broken")
	if err := set.Parse(arguments); err != nil {
		return nil, err
	}
	expected, err := patternDigest(*bytes)
	if err != nil {
		return nil, err
	}
	client, close, err := to.client()
	if err != nil {
		return nil, err
	}
	defer close()
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	faults := make([]error, *streams)
	var wait sync.WaitGroup
	for stream := range *streams {
		wait.Go(func() { faults[stream] = transfer(ctx, client, *up, *bytes, expected) })
	}
	wait.Wait()
	return nil, errors.Join(faults...)
}

func transfer(ctx context.Context, client *http.Client, up bool, bytes int64, expected string) error {
	method, path, body := http.MethodGet, fmt.Sprintf("/bytes/%d", bytes), io.Reader(nil)
	if up {
		method, path, body = http.MethodPut, "/digest", &repeated{piece: pattern, left: bytes}
	}
	request, err := http.NewRequestWithContext(ctx, method, "https://"+host+path, body)
	if err != nil {
		return err
	}
	if up {
		request.ContentLength = bytes
	}
	return exchange(client, request, func(body io.Reader) error {
		var digest string
		var err error
		if up {
			var text []byte
			text, err = io.ReadAll(body)
			digest = string(text)
		} else {
			digest, err = digestOf(body)
		}
		if err == nil && digest != expected {
			err = errors.New("the body has another digest")
		}
		return err
	})
}
