// Asks one URL: asking URL BYTES h1|h2, where BYTES are sent if there are any.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	pem, err := os.ReadFile(os.Getenv("ORIGIN_CA"))
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: os.Args[3] == "h2"}
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	method, body := "GET", io.Reader(nil)
	if size, _ := strconv.Atoi(os.Args[2]); size > 0 {
		method, body = "POST", strings.NewReader(strings.Repeat("x", size))
	}
	request, err := http.NewRequest(method, os.Args[1], body)
	if err != nil {
		log.Fatal(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		log.Fatal(err)
	}
}
