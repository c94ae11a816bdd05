redis-server --port 0 --unixsocket "$PWD/socket" --save '' --daemonize no >/dev/null &
for i in 1 2 3 4 5 6 7 8 9; do [ -S socket ] && break; sleep 0.3; done
for i in 1 2 3 4 5 6 7 8; do redis-cli -s socket set "key$i" "value$i"; redis-cli -s socket get "key$i"; done
redis-cli -s socket shutdown nosave
wait
