// A JSON-RPC server of Go's standard library: getBalance and getHealth over the ledger that the harness gives it.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

func read(path string, into any) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		log.Fatalf("%s: %v", path, err)
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	ledger := flag.String("ledger", "", "folder of the ledger")
	flag.Parse()

	var chain struct {
		APIVersion string      `json:"api_version"`
		Rooted     [][2]uint64 `json:"rooted"`
	}
	read(filepath.Join(*ledger, "chain.json"), &chain)
	tip := chain.Rooted[len(chain.Rooted)-1][1]
	context := map[string]any{"apiVersion": chain.APIVersion, "slot": tip}

	balances := map[string]uint64{}
	files, _ := filepath.Glob(filepath.Join(*ledger, "accounts", "*.json"))
	for _, file := range files {
		var known struct {
			Pubkey  string
			Account struct{ Lamports uint64 }
		}
		read(file, &known)
		balances[known.Pubkey] = known.Account.Lamports
	}

	http.HandleFunc("/", func(out http.ResponseWriter, in *http.Request) {
		var call struct {
			ID     json.RawMessage
			Method string
			Params []any
		}
		answer := map[string]any{"jsonrpc": "2.0"}
		if err := json.NewDecoder(in.Body).Decode(&call); err != nil {
			answer["error"] = map[string]any{"code": -32700, "message": "Parse error"}
		} else if call.Method == "getHealth" {
			answer["result"] = "ok"
		} else if call.Method == "getBalance" && len(call.Params) > 0 {
			account, _ := call.Params[0].(string)
			answer["result"] = map[string]any{"context": context, "value": balances[account]}
		} else {
			answer["error"] = map[string]any{"code": -32601, "message": "Method not found"}
		}
		answer["id"] = call.ID
		out.Header().Set("Content-Type", "application/json")
		json.NewEncoder(out).Encode(answer)
	})

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	// The ready line: from now on it answers.
	fmt.Printf("{\"addr\": %q}\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
