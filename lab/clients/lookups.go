// Looks up each URL, one after the other, and prints how many milliseconds all of them took.
//
//	lookups [-no-reuse] CA URL...
//
// As in the article: net/http keeps its connection unless DisableKeepAlives is set.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	arguments := os.Args[1:]
	reuse := true
	if len(arguments) > 0 && arguments[0] == "-no-reuse" {
		reuse, arguments = false, arguments[1:]
	}
	if len(arguments) < 2 {
		fail("usage: lookups [-no-reuse] CA URL...")
	}
	pem, err := os.ReadFile(arguments[0])
	if err != nil {
		fail(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		DisableKeepAlives: !reuse,
	}}
	began := time.Now()
	for _, url := range arguments[1:] {
		lookUp(client, url)
	}
	fmt.Printf("%.3f\n", float64(time.Since(began).Nanoseconds())/1e6)
}

func lookUp(client *http.Client, url string) {
	answer, err := client.Get(url)
	if err != nil {
		fail(err)
	}
	defer answer.Body.Close()
	// A body that is not read to its end costs the connection.
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		fail(err)
	}
	if answer.StatusCode >= 400 {
		fail(url, answer.Status)
	}
}

func fail(what ...any) {
	fmt.Fprintln(os.Stderr, what...)
	os.Exit(1)
}
