//go:build tools

// Package h2spec pins the HTTP/2 suite, at versions that Debian 12's Go 1.19 builds.
package h2spec

import _ "github.com/summerwind/h2spec/cmd/h2spec"
