package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// A slow reader takes one piece, waits and takes the next: 64 KiB a second.
	slowPieceBytes = 16 * 1024
	slowPause      = 250 * time.Millisecond
)

type load struct {
	target
	bulk               string
	clients, polite    int
	interval, duration time.Duration
	moved, failed      atomic.Int64
}

// Fields that e2e/fairness/fairness.ts reads.
type loadResult struct {
	Requests int     `json:"requests"`
	Failed   int64   `json:"failed"`
	P50ms    float64 `json:"p50Ms"`
	P99ms    float64 `json:"p99Ms"`
	// Median of the bulk bytes that arrived while a small request was answered.
	BulkBytesMedian int64 `json:"bulkBytesMedian"`
	BulkBytes       int64 `json:"bulkBytes"`
}

// Sends small requests at a steady rate beside bulk.
func runLoad(arguments []string) (any, error) {
	l := &load{}
	set := flag.NewFlagSet("load", flag.ContinueOnError)
	l.flags(set)
	set.StringVar(&l.bulk, "bulk", "download", "download, upload, page or slow")
	set.IntVar(&l.clients, "clients", 1, "of bulk, a connection each")
	set.IntVar(&l.polite, "polite", 20, "clients that ask small requests")
	set.DurationVar(&l.interval, "interval", 100*time.Millisecond, "between the requests of one of them")
	set.DurationVar(&l.duration, "duration", 2*time.Second, "")
	if err := set.Parse(arguments); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	askers, err := l.askers(ctx)
	if err != nil {
		return nil, err
	}
	// Bulk ends with the process: an upload has no other end.
	begun := make(chan error, l.clients)
	for range l.clients {
		client, _, err := l.client()
		if err != nil {
			return nil, err
		}
		go l.move(ctx, client, begun)
	}
	for range l.clients {
		if err := <-begun; err != nil {
			return nil, err
		}
	}
	before := l.moved.Load()
	answers := make([][]answer, len(askers))
	var wait sync.WaitGroup
	start := time.Now()
	for number, client := range askers {
		offset := l.interval * time.Duration(number) / time.Duration(len(askers))
		wait.Go(func() { answers[number] = l.ask(ctx, client, start.Add(offset)) })
	}
	wait.Wait()
	return l.result(slices.Concat(answers...), l.moved.Load()-before)
}

// Clients with a connection that has served a request.
func (l *load) askers(ctx context.Context) ([]*http.Client, error) {
	clients := make([]*http.Client, l.polite)
	for number := range clients {
		client, _, err := l.client()
		if err != nil {
			return nil, err
		}
		if err := small(ctx, client); err != nil {
			return nil, err
		}
		clients[number] = client
	}
	return clients, nil
}

func small(ctx context.Context, client *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+host+"/small", nil)
	if err != nil {
		return err
	}
	return exchange(client, request, func(body io.Reader) error {
		_, err := io.Copy(io.Discard, body)
		return err
	})
}

type answer struct {
	latency time.Duration
	bulk    int64
}

// Latency counts from the moment a request was due: a request that waits for the previous one is late too.
func (l *load) ask(ctx context.Context, client *http.Client, due time.Time) []answer {
	var answers []answer
	for end := due.Add(l.duration); due.Before(end); due = due.Add(l.interval) {
		time.Sleep(time.Until(due))
		moved := l.moved.Load()
		if small(ctx, client) != nil {
			l.failed.Add(1)
			continue
		}
		answers = append(answers, answer{time.Since(due), l.moved.Load() - moved})
	}
	return answers
}

// Transfers bytes until the process ends. Reports once that the first bytes moved, or the error.
func (l *load) move(ctx context.Context, client *http.Client, begun chan<- error) {
	tell := sync.OnceFunc(func() { begun <- nil })
	count := func(bytes int) {
		l.moved.Add(int64(bytes))
		tell()
	}
	method, path, body := http.MethodGet, "/endless", io.Reader(nil)
	switch l.bulk {
	case "page":
		path = "/page"
	case "upload":
		method, path = http.MethodPut, "/digest"
		body = &counted{repeated{piece: pattern, left: endlessBytes}, count}
	}
	request, err := http.NewRequestWithContext(ctx, method, "https://"+host+path, body)
	if err == nil {
		if l.bulk == "page" {
			request.Header.Set("Accept-Encoding", "gzip")
		}
		if body != nil {
			request.ContentLength = endlessBytes
		}
		err = exchange(client, request, func(body io.Reader) error { return l.read(body, count) })
	}
	if ctx.Err() == nil {
		begun <- fmt.Errorf("bulk ended: %w", errors.Join(err, errors.New("it has no end")))
	}
}

func (l *load) read(body io.Reader, count func(bytes int)) error {
	piece := make([]byte, 256*1024)
	if l.bulk == "slow" {
		piece = piece[:slowPieceBytes]
	}
	for {
		bytes, err := body.Read(piece)
		count(bytes)
		if err != nil {
			return err
		}
		if l.bulk == "slow" {
			time.Sleep(slowPause)
		}
	}
}

// Counts the bytes that are read.
type counted struct {
	repeated
	count func(bytes int)
}

func (c *counted) Read(out []byte) (int, error) {
	bytes, err := c.repeated.Read(out)
	c.count(bytes)
	return bytes, err
}

func (l *load) result(answers []answer, moved int64) (loadResult, error) {
	if len(answers) == 0 {
		return loadResult{}, errors.New("no small request was answered")
	}
	latencies, bulk := make([]time.Duration, len(answers)), make([]int64, len(answers))
	for number, each := range answers {
		latencies[number], bulk[number] = each.latency, each.bulk
	}
	slices.Sort(latencies)
	slices.Sort(bulk)
	ms := func(share int) float64 { return float64(latencies[len(latencies)*share/100].Microseconds()) / 1000 }
	return loadResult{
		Requests: len(answers), Failed: l.failed.Load(), P50ms: ms(50), P99ms: ms(99),
		BulkBytesMedian: bulk[len(bulk)/2], BulkBytes: moved,
	}, nil
}
