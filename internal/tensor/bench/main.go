// Command bench measures the tensor client and server of this module on
// loopback: upload, download and echo, compared with plain gRPC with messages of
// the same size and with raw TCP, and the peak memory of both ends at the largest
// size. Each server is a separate process. It requires Linux.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"
)

const chunk = 1 << 20

func main() {
	sizes := flag.String("sizes", "1024,1048576,268435456,1073741824", "bytes of the tensors")
	runs := flag.Int("runs", 5, "number of runs, of which the fastest and the median are reported")
	serve := flag.String("serve", "", "run a server of this kind: ours, grpc or tcp (internal)")
	client := flag.String("client", "", "transfer one tensor with the server at this address and report memory "+
		"(internal)")
	kind := flag.String("kind", "", "kind of -client")
	op := flag.String("op", "", "upload, download or echo, for -client")
	size := flag.Int64("size", 0, "bytes for -client")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	switch {
	case *serve != "":
		err = serveChild(ctx, *serve)
	case *client != "":
		err = clientChild(ctx, *kind, *client, *op, *size)
	default:
		err = run(ctx, *sizes, *runs)
	}
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// peer transfers one tensor of the given size and returns when the other end has received it completely.
type peer interface {
	upload(ctx context.Context, size int64) error
	download(ctx context.Context, size int64) error
	echo(ctx context.Context, size int64) error
	close()
}

func kinds() []string { return []string{"ours", "grpc", "tcp"} }

func ops() []string { return []string{"upload", "download", "echo"} }

func do(ctx context.Context, p peer, op string, size int64) error {
	switch op {
	case "upload":
		return p.upload(ctx, size)
	case "download":
		return p.download(ctx, size)
	default:
		if _, ok := p.(*ours); !ok {
			size = fileSize(size) // the same bytes for all
		}
		return p.echo(ctx, size)
	}
}

func run(ctx context.Context, list string, runs int) error {
	var sizes []int64
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= 0 {
			return fmt.Errorf("-sizes: %q is not a number of bytes", text)
		}
		sizes = append(sizes, n)
	}
	peers, stop, err := startAll(ctx, slices.Max(sizes))
	defer stop()
	if err != nil {
		return err
	}
	fmt.Printf("Throughput on loopback in MiB/s, fastest of %d runs (median), chunks of 1 MiB; 1 KiB in calls per "+
		"second\n\n", runs)
	fmt.Println("| tensor | | ours | plain gRPC | raw TCP | ours / gRPC |")
	fmt.Println("|---|---|---|---|---|---|")
	for _, size := range sizes {
		for _, op := range ops() {
			times, err := measure(ctx, peers, op, size, runs)
			if err != nil {
				return err
			}
			printRow(op, size, times)
		}
	}
	fmt.Println()
	return memory(ctx, slices.Max(sizes))
}

// startAll starts a server of each kind and connects to it. The returned function
// stops the servers and must be called even after an error.
func startAll(ctx context.Context, largest int64) (peers map[string]peer, stop func(), err error) {
	peers = map[string]peer{}
	var stops []func() string
	stop = func() {
		for _, p := range peers {
			p.close()
		}
		for _, stop := range stops {
			stop()
		}
	}
	for _, kind := range kinds() {
		address, stopServer, err := startServer(ctx, kind)
		if err != nil {
			return peers, stop, err
		}
		stops = append(stops, stopServer)
		if peers[kind], err = newPeer(ctx, kind, address, fileSize(largest)); err != nil {
			return peers, stop, err
		}
	}
	return peers, stop, nil
}

// measure alternates between the kinds, so that other load affects all of them.
func measure(
	ctx context.Context, peers map[string]peer, op string, size int64, runs int,
) (map[string][]time.Duration, error) {
	// Small tensors are transferred many times per run, and each transfer is measured.
	calls := int(min(max((64<<20)/size, 1), 2000))
	times := map[string][]time.Duration{}
	for i := range runs + 1 {
		for _, kind := range kinds() {
			start := time.Now()
			for range calls {
				if err := do(ctx, peers[kind], op, size); err != nil {
					return nil, fmt.Errorf("%s of %d bytes by %s: %w", op, size, kind, err)
				}
			}
			if i > 0 { // the first run is a warm-up
				times[kind] = append(times[kind], time.Since(start)/time.Duration(calls))
			}
		}
	}
	return times, nil
}

func printRow(op string, size int64, times map[string][]time.Duration) {
	cells := []string{bytesText(size), op}
	rate := func(d time.Duration) float64 {
		if size < chunk {
			return 1 / d.Seconds()
		}
		return float64(size) / (1 << 20) / d.Seconds()
	}
	for _, kind := range kinds() {
		slices.Sort(times[kind])
		fastest, median := times[kind][0], times[kind][len(times[kind])/2]
		cells = append(cells, fmt.Sprintf("%.0f (%.0f)", rate(fastest), rate(median)))
	}
	cells = append(cells, fmt.Sprintf("%.2f (%.2f)",
		times["grpc"][0].Seconds()/times["ours"][0].Seconds(),
		times["grpc"][len(times["grpc"])/2].Seconds()/times["ours"][len(times["ours"])/2].Seconds()))
	fmt.Println("| " + strings.Join(cells, " | ") + " |")
}

func bytesText(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d B", n)
	}
}
