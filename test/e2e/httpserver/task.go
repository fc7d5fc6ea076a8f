package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"
)

// task is a command that tests run in the container of the server, instead of a shell: it writes lines, and ends with
// an exit code.
func task(args []string) (code int) {
	flags := flag.NewFlagSet("task", flag.ExitOnError)
	text := flags.String("print", "", "text to write to standard output; $NAME is replaced by the variable")
	warning := flags.String("warn", "", "text to write to standard error")
	every := flags.Duration("every", 0, "time between lines that are written until the task is ended")
	file := flags.String("file", "", "file to write to standard output")
	allocate := flags.Bool("allocate", false, "allocate memory until the container is killed")
	exit := flags.Int("exit", 0, "exit code")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *text != "" {
		fmt.Fprintln(os.Stdout, os.ExpandEnv(strings.ReplaceAll(*text, `\n`, "\n")))
	}
	if *warning != "" {
		fmt.Fprintln(os.Stderr, *warning)
	}
	if *file != "" {
		content, err := os.ReadFile(*file)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		os.Stdout.Write(content)
	}
	for i := 1; *every > 0; i++ {
		fmt.Fprintf(os.Stdout, "line %d\n", i)
		<-time.After(*every)
	}
	var taken []byte
	for *allocate {
		taken = append(taken, make([]byte, 1<<20)...) // copied, because unused pages take no memory
		fmt.Fprintf(os.Stdout, "%d bytes\n", len(taken))
	}
	return *exit
}
