// Command allocate allocates memory until it is killed, as in a container that exceeds its memory limit.
package main

import (
	"fmt"
	"os"
)

func main() {
	const step = 1 << 20
	var blocks [][]byte
	for {
		block := make([]byte, step)
		for i := range block {
			block[i] = byte(i) // written, because unused pages take no memory
		}
		blocks = append(blocks, block)
		fmt.Fprintf(os.Stderr, "allocated %d MiB\n", len(blocks))
	}
}
