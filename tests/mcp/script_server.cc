// The script.
#include "tests/mcp/script_server.h"

#include <fstream>

namespace quern {
namespace {

constexpr const char* kScript = R"sh(
say() { printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}\n' "$id" "$1"; }
tool() { printf '{"name":"%s","description":"does %s","inputSchema":{"type":"object","properties":{"text":{"enum":["one","two"]}},"required":["text"]}}' "$1" "$1"; }
[ "$START" = never ] && { echo "no start with $TOKEN" >&2; exit 3; }
[ "$START" = mute ] && sleep 60
[ "$START" = refuse ] && { read -r line; printf '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no entry with %s"}}\n' "$TOKEN"; read -r line; exit; }
while IFS= read -r line; do
  rest=${line#*\"id\":}; id=${rest%%,*}
  case "$line" in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"7"}}}\n' "$id";;
  *'"method":"tools/list"'*'"cursor":"b"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}\n' "$id" "$(tool echo),$(tool fail)";;
  *'"method":"tools/list"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s],"nextCursor":"b"}}\n' "$id" \
      "$(tool silent),$(tool leave),$(tool noise),$(tool giant),$(tool large),$(tool broken),$(tool slow),$(tool pid),$(tool secret)";;
  *'"name":"echo"'*) text=${line#*\"text\":\"}; say "said: ${text%%\"*}";;
  *'"name":"fail"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"it failed"}],"isError":true}}\n' "$id";;
  *'"name":"silent"'*) ;;
  *'"name":"leave"'*) exit 0;;
  *'"name":"noise"'*) printf 'starting up\n{"half": \n[1,2]\n{"jsonrpc":"2.0","id":99999,"result":{}}\n\001\002\n'; say quiet;;
  *'"name":"giant"'*) head -c 20000000 /dev/zero | tr '\0' x; echo; say after;;
  *'"name":"large"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
    head -c 600000 /dev/zero | tr '\0' y; printf '"}]}}\n';;
  *'"name":"broken"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":"no list"}}\n' "$id";;
  *'"name":"slow"'*)
    printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1,"total":4,"message":"a quarter"}}\n' "$id"
    printf '{"jsonrpc":"2.0","id":"theirs","method":"sampling/createMessage","params":{}}\n'
    read -r refusal
    case "$refusal" in *'"theirs"'*-32601*) say slowly;; *) say "no refusal";; esac;;
  *'"name":"pid"'*) say $$;;
  *'"name":"secret"'*) echo "cannot log in with $TOKEN" >&2; exit 1;;
  *'"name":"unknown"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no tool unknown"}}\n' "$id";;
  esac
done
)sh";

}  // namespace

mcp::ServerConfig script_server(const std::string& folder, const std::string& name) {
  const std::string file = folder + "/" + name + ".sh";
  std::ofstream(file) << kScript;
  mcp::ServerConfig c{.name = name};
  c.command = "/bin/sh", c.args = {file}, c.env = {{"TOKEN", "s3cret-token"}};
  return c;
}

}  // namespace quern
