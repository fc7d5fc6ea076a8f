// Command hog takes memory until it is killed: what a container that runs out of it looks like.
package main

import (
	"fmt"
	"os"
)

func main() {
	const step = 1 << 20
	var held [][]byte
	for {
		block := make([]byte, step)
		for i := range block {
			block[i] = byte(i) // touched, so that it counts
		}
		held = append(held, block)
		fmt.Fprintf(os.Stderr, "holding %d MiB\n", len(held))
	}
}
