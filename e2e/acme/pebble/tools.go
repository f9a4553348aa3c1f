//go:build tools

// Package pebble pins the certificate authority of the tests.
package pebble

import (
	_ "github.com/letsencrypt/pebble/v2/cmd/pebble"
)
