#!/usr/bin/env bash
# Takes the two profiles anew and writes down what `go tool pprof -top` says about them. Needs Go.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
go run -trimpath main.go
top() {
	go tool pprof -top -nodecount=100000 -nodefraction=0 -edgefraction=0 -sample_index="$1" -unit="$2" "$3" 2>/dev/null
}
top cpu ms cpu.pb.gz >cpu.top.txt
top inuse_space B heap.pb.gz >heap.inuse_space.top.txt
top alloc_space B heap.pb.gz >heap.alloc_space.top.txt
top inuse_objects count heap.pb.gz >heap.inuse_objects.top.txt
