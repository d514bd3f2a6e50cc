module example/go-server

go 1.24
