# The clients of Scripts/clients: what each needs, whether it is there, and how its conversation begins.
# Sourced after daemon.bash; `work` is a directory for what is built.

# shellcheck shell=bash disable=SC2034,SC2154
required_clients=(redis-cli redis-py valkey valkey-glide coredis walrus hiredis perl ruby php lua)
# Clients that bring a compiler or a machine of their own.
other_clients=(redigo node-redis)
programs=$repository/Scripts/lib/clients
node_modules=/usr/share/nodejs
go_sources=/usr/share/gocode

# python_package NAME: its package of PyPI; nothing if it is no client of Python.
python_package() {
    case $1 in
        redis-py) echo redis ;;
        valkey | walrus | valkey-glide | coredis) echo "$1" ;;
    esac
}

# debian_packages NAME: its packages of Debian.
debian_packages() {
    case $1 in
        hiredis) echo libhiredis-dev gcc libc6-dev ;;
        perl) echo libredis-perl ;;
        ruby) echo ruby ruby-redis ;;
        php) echo php-cli php-redis ;;
        lua) echo lua5.1 lua-redis ;;
        redigo) echo golang-go golang-github-gomodule-redigo-dev ;;
        node-redis) echo node-redis ;;
    esac
}

# worker_samples NAME: the workers of Documents/Workers.md that are written for it.
worker_samples() {
    case $1 in
        redis-cli) echo shell ;;
        redis-py) echo python asyncio ;;
        node-redis) echo node ;;
        ruby | perl | php) echo "$1" ;;
    esac
}

# version NAME: which one is there; fails if none is.
version() {
    case $1 in
        redis-py | valkey | walrus | valkey-glide | coredis)
            "$work/python/bin/python" -c "import importlib.metadata as packages
print(packages.version('$(python_package "$1")'))"
            ;;
        hiredis)
            command -v gcc >/dev/null || return 1
            awk '/define HIREDIS_(MAJOR|MINOR|PATCH) / { printf dot $3; dot = "." }' \
                /usr/include/hiredis/hiredis.h
            ;;
        redis-cli) redis-cli --version | awk '{ print $2 }' ;;
        perl) perl -MRedis -e 'print Redis->VERSION' ;;
        ruby) ruby -e 'require "redis"; print Redis::VERSION' ;;
        php) php -r 'extension_loaded("redis") || exit(1); echo phpversion("redis");' ;;
        lua) lua5.1 -e 'io.write(require("redis")._VERSION:match("[%d.]+%S*"))' ;;
        redigo)
            command -v go >/dev/null && [ -d $go_sources/src/github.com/gomodule/redigo ] || return 1
            dpkg-query --show --showformat '${source:Upstream-Version}' golang-github-gomodule-redigo-dev
            ;;
        node-redis)
            NODE_PATH=$node_modules node -p 'require("redis"); require("redis/package.json").version'
            ;;
    esac 2>/dev/null
}

# converse NAME: has it talk to the daemon; it prints each step that has passed.
converse() {
    local python=$work/python/bin/python
    case $1 in
        redis-cli) [ "$(redis-cli -s "$WORKERD_SOCKET" PERFORM images echo WAIT hello)" = hello ] && echo PERFORM ;;
        redis-py) "$python" "$programs/redis_py.py" redis ;;
        valkey | walrus) "$python" "$programs/redis_py.py" "$1" ;;
        valkey-glide) "$python" "$programs/valkey_glide.py" ;;
        coredis) "$python" "$programs/coredis_client.py" ;;
        hiredis)
            gcc -Wall -o "$work/hiredis" "$programs/hiredis.c" -lhiredis && "$work/hiredis"
            ;;
        perl) perl "$programs/perl.pl" ;;
        ruby) ruby "$programs/ruby.rb" ;;
        php) php "$programs/php.php" ;;
        lua) lua5.1 "$programs/lua.lua" ;;
        redigo)
            GO111MODULE=off GOPATH=$go_sources GOCACHE=$work/go go build -o "$work/redigo" \
                "$programs/redigo.go" && "$work/redigo"
            ;;
        node-redis) NODE_PATH=$node_modules node "$programs/node.js" ;;
    esac
}
