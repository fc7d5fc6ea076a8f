// Command httpserver is a server like that of a model: it needs time to start, answers health checks, and completes
// running requests before it ends. With the argument task, it is a command to run in the same container.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "task" {
		os.Exit(task(os.Args[2:]))
	}
	port := flag.Int("port", 8080, "port to listen on")
	start := flag.Duration("start", 0, "time before the server listens, as for loading weights")
	drain := flag.Duration("drain", 0, "time after SIGTERM in which new requests are still answered")
	code := flag.Int("exit", 0, "exit code after SIGTERM; 143 is that of a program that does not handle it")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	err := serve(ctx, *port, *start, *drain)
	stop()
	if err != nil {
		log.Fatal(err)
	}
	os.Exit(*code)
}

func serve(ctx context.Context, port int, start, drain time.Duration) error {
	select {
	case <-time.After(start):
	case <-ctx.Done():
		return nil
	}
	log.Printf("listening on port %d", port)
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, os.Getenv("VERSION"))
	})
	server := &http.Server{Addr: fmt.Sprintf(":%d", port), Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	<-time.After(drain) // clients may not know yet that this pod ends
	return server.Shutdown(context.WithoutCancel(ctx))
}
