// Command messages prints the sentences of the project's Go code as one Markdown
// page: diagnostics, errors, and descriptions of attributes. A reviewer reads it
// from top to bottom, and vale checks it. What the code fills in at run time is
// shown as «…».
//
// Usage: messages FOLDER…
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: messages FOLDER…")
	}
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(w io.Writer, folders []string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "# Messages")
	for _, folder := range folders {
		if err := printFolder(out, folder); err != nil {
			return err
		}
	}
	return out.Flush()
}

func printFolder(w io.Writer, folder string) error {
	//nolint:gosec // the developer names the directories
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "pb"):
			return filepath.SkipDir
		case entry.IsDir(), filepath.Ext(path) != ".go", strings.HasSuffix(path, "_test.go"):
			return nil
		}
		return printFile(w, path)
	})
}

func printFile(w io.Writer, path string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	var page strings.Builder
	for _, found := range messages(file) {
		if page.Len() == 0 {
			_, _ = fmt.Fprintf(&page, "\n## %s\n", path)
		}
		_, _ = fmt.Fprintf(&page, "\n<!-- %s:%d -->\n%s\n", path, files.Position(found.pos).Line, found.text)
	}
	_, err = io.WriteString(w, page.String())
	return err
}

type message struct {
	pos  token.Pos
	text string
}

// messages returns the texts of a file that are sentences, in order.
func messages(file *ast.File) []message {
	var out []message
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			return node.Tag == nil // tags of fields are no sentences
		case ast.Expr:
			text, ok := textOf(node)
			if !ok {
				return true
			}
			if text = readable(text); isSentence(text) {
				out = append(out, message{pos: node.Pos(), text: text})
			}
			return false
		}
		return true
	})
	return out
}

// textOf joins the strings of an expression; ok is false for one that holds none.
func textOf(expr ast.Expr) (text string, ok bool) {
	switch expr := expr.(type) {
	case *ast.ParenExpr:
		return textOf(expr.X)
	case *ast.BasicLit:
		if expr.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(expr.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		if expr.Op != token.ADD {
			return "", false
		}
		left, isLeft := textOf(expr.X)
		right, isRight := textOf(expr.Y)
		if !isLeft {
			left = placeholder
		}
		if !isRight {
			right = placeholder
		}
		return left + right, isLeft || isRight
	}
	return "", false
}

const placeholder = "…"

var (
	verb  = regexp.MustCompile(`%(\[\d+\])?[-+# 0]*[\d.*]*[a-zA-Z]`)
	words = regexp.MustCompile(`[A-Za-z][a-z'’]*,?(\s+\S+){2,}`)
	shell = regexp.MustCompile(`(?m)^(#!|\s*(if|for|export|exec|set) )|[{};]\s*$`)
)

func readable(text string) string {
	return strings.TrimSpace(verb.ReplaceAllString(text, placeholder))
}

// isSentence reports whether a text is a message: it has three words or more, and is neither a script, a
// comment in one, nor a regular expression.
func isSentence(text string) bool {
	return words.MatchString(text) && !shell.MatchString(text) &&
		!strings.HasPrefix(text, "# ") && !strings.HasPrefix(text, "^(")
}
