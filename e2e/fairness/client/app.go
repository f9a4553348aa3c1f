package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// A prime number of bytes: no window, record or frame ends where the pattern restarts.
const patternBytes = 1_048_573

const endlessBytes = 1 << 40

var pattern = makePattern()

func makePattern() []byte {
	random := rand.NewChaCha8([32]byte{})
	bytes := make([]byte, patternBytes)
	random.Read(bytes)
	return bytes
}

var page = []byte(strings.Repeat("<p>A line of a page that goes on and on.</p>\n", 4096))

// Returns the first `left` bytes of a piece that repeats without end.
type repeated struct {
	piece []byte
	at    int
	left  int64
}

func (r *repeated) Read(out []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	count := copy(out[:min(int64(len(out)), r.left)], r.piece[r.at:])
	r.at = (r.at + count) % len(r.piece)
	r.left -= int64(count)
	return count, nil
}

func digestOf(reader io.Reader) (string, error) {
	digest := sha256.New()
	_, err := io.CopyBuffer(struct{ io.Writer }{digest}, struct{ io.Reader }{reader}, make([]byte, 256*1024))
	return sum(digest), err
}

func sum(digest hash.Hash) string { return hex.EncodeToString(digest.Sum(nil)) }

func patternDigest(bytes int64) (string, error) {
	return digestOf(&repeated{piece: pattern, left: bytes})
}

// Serves plain HTTP/1.1 until its standard input ends.
func runApp([]string) (any, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /small", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	routes.HandleFunc("GET /bytes/{count}", func(w http.ResponseWriter, r *http.Request) {
		serveBytes(w, r.PathValue("count"))
	})
	routes.HandleFunc("GET /digest/{count}", func(w http.ResponseWriter, r *http.Request) {
		count, err := strconv.ParseInt(r.PathValue("count"), 10, 64)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		digest, _ := patternDigest(count)
		io.WriteString(w, digest)
	})
	routes.HandleFunc("GET /endless", func(w http.ResponseWriter, _ *http.Request) {
		send(w, "application/octet-stream", pattern, endlessBytes)
	})
	routes.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) {
		send(w, "text/html", page, endlessBytes)
	})
	routes.HandleFunc("/digest", takeBody)
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"address": listener.Addr().String()}); err != nil {
		return nil, err
	}
	go http.Serve(listener, routes)
	_, err = io.Copy(io.Discard, os.Stdin)
	return nil, err
}

func serveBytes(w http.ResponseWriter, text string) {
	count, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	send(w, "application/octet-stream", pattern, count)
}

func send(w http.ResponseWriter, kind string, piece []byte, bytes int64) {
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", strconv.FormatInt(bytes, 10))
	// A disconnect of the client ends an endless body.
	io.CopyBuffer(struct{ io.Writer }{w}, &repeated{piece: piece, left: bytes}, make([]byte, 256*1024))
}

// Responds with the digest of the body. Refuses a body whose digest differs from the client's, for clients that only see statuses.
func takeBody(w http.ResponseWriter, r *http.Request) {
	digest, err := digestOf(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if named := r.Header.Get("X-Sha256"); named != "" && named != digest {
		http.Error(w, "the body has another digest", http.StatusUnprocessableEntity)
		return
	}
	io.WriteString(w, digest)
}
