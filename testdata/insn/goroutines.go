// goroutines - that talk over a channel, a deferred call and a recovered panic.
package main

import "fmt"

//go:noinline
func risky(n int) (result int) {
	defer func() {
		if recover() != nil {
			result = -1
		}
	}()
	if n%3 == 0 {
		panic("three")
	}
	return n
}

func main() {
	numbers := make(chan int)
	go func() {
		for i := 0; i < 10; i++ {
			numbers <- risky(i)
		}
		close(numbers)
	}()
	sum := 0
	for n := range numbers {
		sum += n
	}
	fmt.Println(sum)
}
