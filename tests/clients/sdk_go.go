// A program with two functions that burn CPU, profiled by pyroscope-go.
package main

import (
	"encoding/json"
	"log"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/grafana/pyroscope-go"
)

type times struct {
	CPU  float64 `json:"cpu"`
	Wall float64 `json:"wall"`
}

var kept []byte

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

//go:noinline
func spin(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += i % 7
	}
	return sum
}

//go:noinline
func light(seconds float64) {
	for end := cpuSeconds() + seconds; cpuSeconds() < end; {
		spin(1000000)
	}
}

//go:noinline
func heavy(seconds float64) {
	kept = make([]byte, 64<<20)
	for end := cpuSeconds() + seconds; cpuSeconds() < end; {
		spin(1000000)
	}
}

func measure(run func(float64), seconds float64) times {
	cpu, wall := cpuSeconds(), time.Now()
	run(seconds)
	return times{cpuSeconds() - cpu, time.Since(wall).Seconds()}
}

func main() {
	profiler, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "sdk-go",
		ServerAddress:   os.Getenv("SERVER"),
		Tags:            map[string]string{"env": "test"},
	})
	if err != nil {
		log.Fatal(err)
	}
	measured := map[string]times{"light": measure(light, 1), "heavy": measure(heavy, 3)}
	// a heap profile is up to two garbage collections old
	runtime.GC()
	runtime.GC()
	// stopping alone sends no heap
	profiler.Flush(true)
	if err := profiler.Stop(); err != nil {
		log.Fatal(err)
	}
	kept[0] = 1
	if err := json.NewEncoder(os.Stdout).Encode(measured); err != nil {
		log.Fatal(err)
	}
}
