// Command goja runs a JavaScript file in goja and prints the value of its last expression.
package main

import (
	"fmt"
	"os"

	"github.com/dop251/goja"
)

func main() {
	source, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	v, err := goja.New().RunScript(os.Args[1], string(source))
	if err != nil {
		panic(err)
	}
	fmt.Println(v.String())
}
