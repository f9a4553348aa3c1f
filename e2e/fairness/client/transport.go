package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// Connection settings of a client to the proxy. Zero windows mean the library's own.
type target struct {
	protocol, connect, caFile      string
	streamWindow, connectionWindow int
}

func (t *target) flags(set *flag.FlagSet) {
	set.StringVar(&t.protocol, "protocol", "http1", "http1, http2 or http3")
	set.StringVar(&t.connect, "connect", "", "IP address and port")
	set.StringVar(&t.caFile, "ca", "", "PEM of the authority")
	set.IntVar(&t.streamWindow, "stream-window", 0, "bytes; of HTTP/1 the socket's buffer")
	set.IntVar(&t.connectionWindow, "connection-window", 0, "bytes")
}

// Client with its own connection.
func (t *target) client() (*http.Client, func(), error) {
	text, err := os.ReadFile(t.caFile)
	if err != nil {
		return nil, nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, nil, errors.New("no authority in " + t.caFile)
	}
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}
	if t.protocol == "http3" {
		return t.http3Client(config)
	}
	transport := &http.Transport{
		TLSClientConfig: config, DisableCompression: true, ReadBufferSize: 64 * 1024, WriteBufferSize: 64 * 1024,
		Protocols: new(http.Protocols),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			dialer := net.Dialer{Control: t.control}
			return dialer.DialContext(ctx, "tcp", t.connect)
		},
	}
	transport.Protocols.SetHTTP1(t.protocol == "http1")
	transport.Protocols.SetHTTP2(t.protocol == "http2")
	if t.streamWindow > 0 {
		transport.HTTP2 = &http.HTTP2Config{
			MaxReceiveBufferPerStream: t.streamWindow, MaxReceiveBufferPerConnection: t.connectionWindow,
		}
	}
	return &http.Client{Transport: transport}, transport.CloseIdleConnections, nil
}

func (t *target) control(_, _ string, socket syscall.RawConn) error {
	if t.protocol != "http1" || t.streamWindow == 0 {
		return nil
	}
	var fault error
	err := socket.Control(func(descriptor uintptr) {
		fault = syscall.SetsockoptInt(int(descriptor), syscall.SOL_SOCKET, syscall.SO_RCVBUF, t.streamWindow)
	})
	return errors.Join(err, fault)
}

func (t *target) http3Client(config *tls.Config) (*http.Client, func(), error) {
	address, err := net.ResolveUDPAddr("udp", t.connect)
	if err != nil {
		return nil, nil, err
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, nil, err
	}
	windows := &quic.Config{}
	if t.streamWindow > 0 {
		windows.InitialStreamReceiveWindow, windows.MaxStreamReceiveWindow = uint64(t.streamWindow), uint64(t.streamWindow)
		windows.InitialConnectionReceiveWindow = uint64(t.connectionWindow)
		windows.MaxConnectionReceiveWindow = uint64(t.connectionWindow)
	}
	transport := &http3.Transport{
		TLSClientConfig: config, QUICConfig: windows, DisableCompression: true,
		Dial: func(ctx context.Context, _ string, config *tls.Config, quicConfig *quic.Config) (*quic.Conn, error) {
			return quic.Dial(ctx, socket, address, config, quicConfig)
		},
	}
	close := func() {
		transport.Close()
		socket.Close()
	}
	return &http.Client{Transport: transport}, close, nil
}

// Sends one request and passes its response's body to `take`.
func exchange(client *http.Client, request *http.Request, take func(io.Reader) error) error {
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %s", response.Status)
	}
	return take(response.Body)
}
