#!/bin/sh
# Makes a certificate for this machine's loopback address, and what it is verified by, in target/tls; again once less than a day of it is
# left. No key is kept in the repository. What is named behind it has to be on the PATH: certificate.sh haproxy
set -eu
for program in openssl "$@"; do
  command -v "$program" >/dev/null || { echo "$program is not on the PATH; install it first" >&2; exit 1; }
done
mkdir -p target/tls
cd target/tls
if openssl x509 -checkend 86400 -noout -in loopback.pem >/dev/null 2>&1; then
  exit 0
fi
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
# shellcheck disable=SC2086 # several words
openssl req -x509 $key -days 30 -subj "/CN=rpc-bench" -addext "basicConstraints=critical,CA:TRUE" -keyout ca.key -out ca.pem 2>/dev/null
# shellcheck disable=SC2086
openssl req $key -subj "/CN=localhost" -keyout loopback.key -out loopback.csr 2>/dev/null
echo "subjectAltName=IP:127.0.0.1,DNS:localhost" >loopback.ext
openssl x509 -req -in loopback.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile loopback.ext -out loopback.crt 2>/dev/null
rm ca.key
cat loopback.crt loopback.key >loopback.pem
