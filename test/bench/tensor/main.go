// Command bench measures the tensor client and server of this module on
// loopback: upload, download and echo, compared with plain gRPC with messages of
// the same size and with raw TCP, of one tensor and of several at the same time.
// It also measures the peak memory of both ends, for the largest size and for the
// probe of a tensor that the client does not hold. Each server is a separate
// process. It requires Linux.
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
	streams := flag.Int("streams", 4, "number of tensors that are transferred at the same time, after single ones")
	probed := flag.Int64("probe", 10<<30, "bytes of the tensor of the probe")
	runs := flag.Int("runs", 5, "number of runs, of which the fastest and the median are reported")
	serve := flag.String("serve", "", "run a server of this kind: ours, grpc or tcp (internal)")
	client := flag.String("client", "", "transfer one tensor with the server at this address and report memory "+
		"(internal)")
	kind := flag.String("kind", "", "kind of -client")
	op := flag.String("op", "", "upload, download or echo, for -client")
	limit := flag.Int64("limit", defaultMemory, "limit of the tensors of -serve, in bytes (internal)")
	size := flag.Int64("size", 0, "bytes for -client")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	switch {
	case *serve != "":
		err = serveChild(ctx, *serve, *limit)
	case *client != "":
		err = clientChild(ctx, *kind, *client, *op, *size)
	default:
		err = run(ctx, *sizes, *streams, *runs)
		if err == nil {
			err = probeMemory(ctx, *probed)
		}
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
		return p.echo(ctx, size)
	}
}

func run(ctx context.Context, list string, streams, runs int) error {
	var sizes []int64
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= 0 {
			return fmt.Errorf("-sizes: %q is not a number of bytes", text)
		}
		sizes = append(sizes, n)
	}
	addresses, stop, err := startAll(ctx)
	defer stop()
	if err != nil {
		return err
	}
	peers, closeAll, err := connect(ctx, addresses, 1, slices.Max(sizes))
	defer closeAll()
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
			printRow(bytesText(size), op, size, times)
		}
	}
	if err := runTogether(ctx, addresses, streams, runs); err != nil {
		return err
	}
	fmt.Println()
	return memory(ctx, slices.Max(sizes))
}

// runTogether measures several tensors at the same time.
func runTogether(ctx context.Context, addresses map[string]string, streams, runs int) error {
	const each = 64 << 20
	peers, closeAll, err := connect(ctx, addresses, streams, each)
	defer closeAll()
	if err != nil {
		return err
	}
	for _, op := range ops() {
		times, err := measure(ctx, peers, op, each, runs)
		if err != nil {
			return err
		}
		printRow(fmt.Sprintf("%d x %s", streams, bytesText(each)), op, each*int64(streams), times)
	}
	return nil
}

// startAll starts a server of each kind. The returned function stops the servers
// and must be called even after an error.
func startAll(ctx context.Context) (addresses map[string]string, stop func(), err error) {
	addresses = map[string]string{}
	var stops []func() string
	stop = func() {
		for _, stop := range stops {
			stop()
		}
	}
	for _, kind := range kinds() {
		address, stopServer, err := startServer(ctx, kind, defaultMemory)
		if err != nil {
			return addresses, stop, err
		}
		stops, addresses[kind] = append(stops, stopServer), address
	}
	return addresses, stop, nil
}

// connect connects several clients of each kind, for tensors of at most the given
// size. The returned function closes them and must be called even after an error.
func connect(
	ctx context.Context, addresses map[string]string, clients int, largest int64,
) (peers map[string]peer, closeAll func(), err error) {
	peers = map[string]peer{}
	closeAll = func() {
		for _, p := range peers {
			p.close()
		}
	}
	for _, kind := range kinds() {
		var all together
		for i := range clients {
			p, err := newPeer(ctx, kind, addresses[kind], uint64(i+1), fileSize(largest))
			if err != nil {
				all.close()
				return peers, closeAll, err
			}
			all = append(all, p)
		}
		peers[kind] = all
		if clients == 1 {
			peers[kind] = all[0]
		}
	}
	return peers, closeAll, nil
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

func printRow(what, op string, size int64, times map[string][]time.Duration) {
	cells := []string{what, op}
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
