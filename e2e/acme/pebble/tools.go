//go:build tools

// Package pebble pins the certificate authority and the DNS server of the tests.
package pebble

import (
	_ "github.com/letsencrypt/pebble/v2/cmd/pebble"
	_ "github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv"
)
