// HTTP/3 load generator on quic-go, for e2e/perf/h3-check.ts, which compares it with `fairlead-agent bench`. Runs a closed
// loop on each stream and prints one line of JSON.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

type options struct {
	url, connect, caFile string
	connections, streams int
	warmup, duration     time.Duration
	pids                 []string
}

// Field names equal those of the rows of `fairlead-agent bench --json`.
type row struct {
	Requests                 int     `json:"requests"`
	RequestsPerSecond        float64 `json:"requests_per_second"`
	Errors                   int     `json:"errors"`
	P50us                    int64   `json:"p50_us"`
	P99us                    int64   `json:"p99_us"`
	CpuUsPerRequest          float64 `json:"cpu_us_per_request"`
	GeneratorCpuUsPerRequest float64 `json:"generator_cpu_us_per_request"`
}

func main() {
	var o options
	var pids string
	flag.StringVar(&o.url, "url", "", "what is asked for")
	flag.StringVar(&o.connect, "connect", "", "IP address and port")
	flag.StringVar(&o.caFile, "ca", "", "PEM of the authority")
	flag.IntVar(&o.connections, "connections", 32, "")
	flag.IntVar(&o.streams, "streams", 16, "of each connection")
	flag.DurationVar(&o.warmup, "warmup", 500*time.Millisecond, "")
	flag.DurationVar(&o.duration, "duration", time.Second, "")
	flag.StringVar(&pids, "pids", "", "processes whose CPU is told, by commas")
	flag.Parse()
	o.pids = strings.Split(pids, ",")
	result, err := measure(o)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure(o options) (row, error) {
	pem, err := os.ReadFile(o.caFile)
	if err != nil {
		return row{}, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return row{}, errors.New("no authority in " + o.caFile)
	}
	address, err := net.ResolveUDPAddr("udp", o.connect)
	if err != nil {
		return row{}, err
	}
	var counting, ended atomic.Bool
	var wait sync.WaitGroup
	tallies := make([]tally, o.connections*o.streams)
	for connection := range o.connections {
		// Each client has its own transport, and so its own connection and socket.
		transport := &http3.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13},
			Dial: func(ctx context.Context, _ string, config *tls.Config, quicConfig *quic.Config) (*quic.Conn, error) {
				socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
				if err != nil {
					return nil, err
				}
				return quic.Dial(ctx, socket, address, config, quicConfig)
			},
		}
		defer transport.Close()
		for stream := range o.streams {
			mine := &tallies[connection*o.streams+stream]
			wait.Go(func() { mine.run(transport, o.url, &counting, &ended) })
		}
	}
	time.Sleep(o.warmup)
	proxyBefore, ownBefore := cpu(o.pids), cpu([]string{"self"})
	began := time.Now()
	counting.Store(true)
	time.Sleep(o.duration)
	counting.Store(false)
	took := time.Since(began)
	proxyCpu, ownCpu := cpu(o.pids)-proxyBefore, cpu([]string{"self"})-ownBefore
	ended.Store(true)
	wait.Wait()
	return rowOf(tallies, took, proxyCpu, ownCpu)
}

type tally struct {
	latencies []time.Duration
	errors    int
}

func (t *tally) run(transport *http3.Transport, url string, counting, ended *atomic.Bool) {
	for !ended.Load() {
		began := time.Now()
		err := ask(transport, url)
		if !counting.Load() {
			continue
		}
		if err == nil {
			t.latencies = append(t.latencies, time.Since(began))
		} else {
			t.errors++
		}
	}
}

func ask(transport *http3.Transport, url string) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

func rowOf(tallies []tally, took, proxyCpu, ownCpu time.Duration) (row, error) {
	var all []time.Duration
	failed := 0
	for _, each := range tallies {
		all = append(all, each.latencies...)
		failed += each.errors
	}
	if len(all) == 0 {
		return row{}, fmt.Errorf("no answer, %d errors", failed)
	}
	slices.Sort(all)
	count := float64(len(all))
	return row{
		Requests:                 len(all),
		RequestsPerSecond:        count / took.Seconds(),
		Errors:                   failed,
		P50us:                    all[len(all)/2].Microseconds(),
		P99us:                    all[len(all)*99/100].Microseconds(),
		CpuUsPerRequest:          float64(proxyCpu.Microseconds()) / count,
		GeneratorCpuUsPerRequest: float64(ownCpu.Microseconds()) / count,
	}, nil
}

// Sums the CPU time in nanoseconds of all threads of these processes: the first number in schedstat.
func cpu(pids []string) time.Duration {
	var sum time.Duration
	for _, pid := range pids {
		files, _ := filepath.Glob(filepath.Join("/proc", pid, "task/*/schedstat"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // A thread that ended meanwhile.
			}
			first, _, _ := strings.Cut(string(text), " ")
			if nanoseconds, err := strconv.ParseInt(first, 10, 64); err == nil {
				sum += time.Duration(nanoseconds)
			}
		}
	}
	return sum
}
