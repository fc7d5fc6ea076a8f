package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cpuSeconds is the CPU time of the bench, and of the dev cluster that it has started. Unlike the duration of cycles,
// it hardly depends on what else the machine does.
type cpuSeconds struct{ bench, cluster float64 }

// cpuUsed returns the CPU time so far, or 0 where /proc does not show it.
func cpuUsed() cpuSeconds {
	used := cpuSeconds{bench: cpuOf("self")}
	lists, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is valid
	for _, list := range lists {
		children, _ := os.ReadFile(list) // none if the thread has ended
		for pid := range strings.FieldsSeq(string(children)) {
			used.cluster += cpuOf(pid)
		}
	}
	return used
}

// cpuOf returns the user and system time of a process.
func cpuOf(pid string) float64 {
	data, _ := os.ReadFile("/proc/" + pid + "/stat")
	text := string(data)
	fields := strings.Fields(text[strings.LastIndex(text, ")")+1:]) // the name of the program may contain spaces
	const userTime, systemTime = 11, 12
	ticks := 0.0
	for i, field := range fields {
		if i == userTime || i == systemTime {
			n, _ := strconv.ParseFloat(field, 64) // an integer
			ticks += n
		}
	}
	const ticksPerSecond = 100 // on all platforms of Linux that Go has
	return ticks / ticksPerSecond
}
