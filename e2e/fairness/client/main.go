// App and clients of e2e/fairness: transfers with verified digests, and small requests beside bulk transfers. `client MODE ARGUMENTS`.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

var modes = map[string]func(arguments []string) (any, error){
	"app":         runApp,
	"certificate": writeCertificate,
	"load":        runLoad,
	"transfer":    runTransfer,
}

func main() {
	err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Prints the mode's result as one line of JSON, if it has one.
func run(arguments []string) error {
	if len(arguments) == 0 || modes[arguments[0]] == nil {
		return errors.New("client app | certificate FOLDER | load … | transfer …")
	}
	result, err := modes[arguments[0]](arguments[1:])
	if err != nil || result == nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}
