// The program behind cpu.pb.gz and heap.pb.gz in this folder: it sells fruit until the time is over, and keeps some of the receipts.
//
//	./record.sh
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sort"
	"time"
)

type item struct {
	Name  string
	Price int
	Tags  []string
}

var kept [][]byte

func catalogue(n int) []item {
	items := make([]item, n)
	for i := range items {
		items[i] = item{fmt.Sprintf("fruit-%d", i*7919%n), i * 31 % 1009, []string{"fresh", "local"}}
	}
	return items
}

func order(items []item) {
	sort.Slice(items, func(a, b int) bool { return items[a].Name < items[b].Name })
}

func receipt(items []item) []byte {
	text, err := json.Marshal(items)
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	packer := gzip.NewWriter(&out)
	packer.Write(text)
	packer.Close()
	return out.Bytes()
}

// total walks the items by recursion, so that a function stands in its own stack.
func total(items []item) int {
	if len(items) == 1 {
		sum := 0
		for i := 0; i < 2000; i++ {
			sum += items[0].Price * i % 7
		}
		return sum
	}
	half := len(items) / 2
	return total(items[:half]) + total(items[half:])
}

func sell() int {
	items := catalogue(400)
	order(items)
	paper := receipt(items)
	kept = append(kept, paper)
	return total(items)
}

func main() {
	runtime.MemProfileRate = 64 * 1024
	cpu, _ := os.Create("cpu.pb.gz")
	pprof.StartCPUProfile(cpu)
	sum := 0
	for begin := time.Now(); time.Since(begin) < 3*time.Second; {
		sum += sell()
	}
	pprof.StopCPUProfile()
	cpu.Close()
	runtime.GC()
	heap, _ := os.Create("heap.pb.gz")
	pprof.WriteHeapProfile(heap)
	heap.Close()
	fmt.Println(sum, len(kept))
}
