"""Steps in the panels: format of the answer, server, knowledge, saved chats, runs, tools, settings."""
import json, time

from page_chat import IDLE, ask

# A model that calls a tool, played by the page's own fetch: what the page does with it is what is tested.
SCRIPTED = """(async () => {
  const real = window.fetch;
  window.calls = [], window.asked = [];
  window.unscripted = () => { window.fetch = real; };
  window.fetch = async (path, of = {}) => {
    if (path === 'v1/mcp/call') calls.push(JSON.parse(of.body));
    if (path !== 'v1/chat/completions') return real(path, of);
    const body = JSON.parse(of.body), last = body.messages[body.messages.length - 1];
    asked.push(body);
    const deltas = last.role === 'tool' ? [{ content: 'It says: ' + last.content }] : [{ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'files__read', arguments: '' } }] }, { tool_calls: [{ index: 0, function: { arguments: '{"path":' } }] }, { tool_calls: [{ index: 0, function: { arguments: ' "a.md"}' } }] }];
    const text = deltas.map(delta => 'data: ' + JSON.stringify({ choices: [{ index: 0, delta }] }) + '\\n\\n').join('') + 'data: [DONE]\\n\\n';
    return new Response(text, { headers: { 'content-type': 'text/event-stream' } });
  };
  return loadTools();
})()"""


# A model that thinks until it is told to answer, and the server's word for it.
THINKS = """(() => { const real = window.fetch, line = delta => new TextEncoder().encode('data: ' + JSON.stringify({ id: 'chatcmpl-7', choices: [{ index: 0, delta }] }) + '\\n\\n');
  let stream;
  window.ended = [];
  window.fetch = async (path, of = {}) => {
    if (path.startsWith('v1/requests/')) {
      ended.push(of.method + ' ' + path), stream.enqueue(line({ content: 'Seven.' })), stream.close(), window.fetch = real;
      return new Response('{"ended": true}');
    }
    if (path !== 'v1/chat/completions') return real(path, of);
    return new Response(new ReadableStream({ start(s) { (stream = s).enqueue(line({ reasoning_content: 'Let me see. ' })); } }), { headers: { 'content-type': 'text/event-stream' } });
  };
})()"""

# What a server with API keys says to an administrator, and to a key that may see no texts.
USAGE = """(async () => { const real = window.fetch, key = (name, limits, left) => ({ name, in_flight: 0, today: { requests: 3, refused: 1, prompt_tokens: 1000, completion_tokens: 234, total_tokens: 1234 }, limits, tokens_left_today: left });
  window.fetch = async () => new Response(JSON.stringify({ data: [key('ada', { requests_per_minute: 60, tokens_per_day: 5000 }, 3766), key('ops', {})] }));
  await drawUsage(); window.fetch = real; })()"""
REFUSED = """(async () => { const real = window.fetch; window.asked = [], $('key').value = 'k';
  window.fetch = async path => { asked.push(path); return /text=true/.test(path) ? new Response('{"error": {"message": "no"}}', { status: 403 }) : new Response('{"models": []}'); };
  await drawCache(), await drawCache(); window.fetch = real, $('key').value = ''; })()"""

# The answer of a server that shows the tree of its cache.
CACHE = """(async () => { const real = window.fetch, node = (begin, where, bytes, hits, age, children) => ({ begin, tokens: 48, where, memory_bytes: bytes, disk_bytes: bytes, hits, age_seconds: age, children });
  window.fetch = async () => new Response(JSON.stringify({ models: [{ model: 'm', memory_bytes: 1 << 20, memory_budget_bytes: 1 << 30, disk: { bytes: 1 << 20, budget_bytes: 1 << 30 }, omitted_nodes: 0, trees: [{ adapter: null, children: [node(0, 'both', 32768, 3, 4, [node(48, 'disk', 16384, 1, 9, [node(96, 'disk', 1, 0, 9, []), node(96, 'disk', 1, 0, 9, [])])])] }] }] }));
  await drawCache(); window.fetch = real; })()"""


def steps(b, home):
    formats(b)
    thinking(b)
    adapters(b)
    server(b)
    knowledge(b)
    if b.run("!!defaults.runs"):
        runs(b, home)
    tools(b)


def formats(b):
    run, check = b.run, b.check
    b.click("#format")
    b.wait("the panel", "$('formatBox').open")
    b.choose("formatKind", "schema")
    check("a schema is valid as it comes", run("$('formatSays').textContent") == "✓ 2 properties")
    for text, says in (('{"type": "object", "properties": {', "✗ "), ('{"type": "objekt"}', "'objekt' is no type"), ('{"type": "string", "contentEncoding": "base64"}', "contentEncoding is not supported"), ('{"type": "object", "required": ["a"]}', "a is required but not"), ('{"$ref": "#/$defs/x"}', "#/$defs/x is not there")):
        b.choose("formatText", text)
        check(f"a schema that is wrong says why: {says}", says in run("$('formatSays').textContent") and run("$('formatText').getAttribute('aria-invalid')") == "true")
    check("what is not valid is not sent", run("JSON.stringify(formatFields())") == "{}")
    b.choose("formatText", "")
    b.choose("propertyName", "answer")
    b.choose("propertyType", "integer")
    b.press("Add property")
    check("a property is added by name and type", json.loads(run("formatText()")) == {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]})
    b.press("Check with the server")
    b.wait("the server's word", "$('formatSays').textContent === '✓ the server accepts it'", 10)
    check("the server accepts what the page calls valid", True)
    b.shot("06-format")
    b.key("Escape")
    run("freshChat()")
    ask(b, "What is 12 + 15?")
    check("the answer is a document of the schema, shown as JSON", run("Number.isInteger(JSON.parse(lastOf(current).content).answer) && document.querySelector('article.assistant .bar span').textContent") == "json")
    b.click("#format")
    b.choose("formatKind", "regex")
    b.choose("formatText", "[A-Z]{2}-[0-9]{4}")
    b.choose("sample", "AB-1234")
    good = run("$('sampleSays').textContent")
    b.choose("sample", "AB-12")
    check("a text is tried against the expression", [good, run("$('sampleSays').textContent")] == ["✓ matches", "✗ does not match"])
    b.choose("formatText", "(a")
    check("an expression that is wrong says why", run("$('formatSays').className") == "bad")
    b.choose("formatText", "[A-Z]{2}-[0-9]{4}")
    b.choose("formatKind", "grammar")
    for text, says in (("root ::= item", "item is not defined"), ("item ::= \"a\"", "root is missing"), ("root ::= (\"a\"", "not closed"), ("root ::= root \"a\"", "left recursion"), ("root ::= \"a", "a text is not closed")):
        b.choose("formatText", text)
        check(f"a grammar that is wrong says why: {says}", says in run("$('formatSays').textContent"))
    b.choose("formatText", "root ::= number \" apples\"\nnumber ::= [0-9]{1,3}")
    b.press("Check with the server")
    b.wait("the server's word", "$('formatSays').textContent === '✓ the server accepts it'", 10)
    b.key("Escape")
    run("freshChat()")
    ask(b, "What is 12 + 15?")
    check("the answer is derived from the grammar", run("/^\\d{1,3} apples$/.test(lastOf(current).content)"))
    b.choose("formatKind", "choice")
    b.choose("formatText", "red\nblue")
    run("freshChat()")
    ask(b, "Name a color.")
    check("the answer is one of the choices", run("lastOf(current).content") in ("red", "blue"))
    b.choose("formatKind", "none")
    check("no format again", run("JSON.stringify(formatFields())") == "{}" and run("$('format').textContent") == "Format: free")


def thinking(b):
    run, check = b.run, b.check
    run(THINKS)
    run("freshChat()")
    run("$('ask').focus()")
    b.type("What is seven?")
    b.key("Enter")
    b.wait("the thinking", "!$('answerNow').hidden")
    b.click("#answerNow")
    b.wait("the answer", IDLE + " && lastOf(current).content === 'Seven.'")
    check("a thinking can be ended by its request's id", run("ended.join()") == "POST v1/requests/chatcmpl-7/end_thinking" and run("lastOf(current).reasoning") == "Let me see. ")
    check("and the button goes with it", run("$('answerNow').hidden"))
    run("freshChat()")


def adapters(b):
    run, check = b.run, b.check
    run("adapterList = ['poet', 'judge'].map(id => ({ id, parent: $('model').value, loaded: true })), showAdapters(), $('adapter1').checked = true, $('scale1').value = '0.5'")
    b.click("#settings")
    b.wait("the settings", "$('settingsBox').open")
    check("a choice of adapters outlives the opening of the settings", run("JSON.stringify(chosenAdapters())") == '[{"id":"judge","scale":0.5}]')
    b.key("Escape")
    run("loadModels()")
    check("adapters that the server no longer has are not sent", run("chosenAdapters()") is None)


def server(b):
    run, check = b.run, b.check
    b.click("#status")
    b.wait("the server's state", "$('statusBox').open && document.querySelectorAll('#statusBody tr').length > 8")
    check("counters and models are shown", run("/Tokens generated/.test($('statusBody').textContent) && /zaya-nano/.test($('statusBody').textContent) && /4,096/.test($('statusBody').textContent)"))
    b.wait("the prefix cache", "document.querySelectorAll('#cacheBody .tree li').length > 0")
    check("the tree of this server's prefix cache is shown", run("/^tokens 0 to \\d+ · in memory · .* KiB · \\d+ hits? · used \\d+ s ago/.test(document.querySelector('#cacheBody .tree li').textContent)"))
    check("a server without keys shows no usage", run("$('usageBody').childNodes.length") == 0)
    run(USAGE)
    check("what keys used and may use is shown", run("[...document.querySelectorAll('#usageBody tbody tr')].map(r => [...r.children].map(c => c.textContent).join(' | ')).join(' / ')") == "ada | 3 | 1,234 | 3,766 | 1 | 60 requests/min, 5,000 tokens/day / ops | 3 | 1,234 | – | 1 | –")
    run(REFUSED)
    check("a key that may see no texts sees the tree without them, and asks once", run("asked.join()") == "v1/cache?text=true,v1/cache,v1/cache" and run("$('cacheBody').textContent") == "No model is loaded.")
    run(CACHE)
    check("a tree of prefixes is shown, with what is on disk", run("[...document.querySelectorAll('#cacheBody li > div')].map(e => e.textContent).slice(0, 2).join('|')") == "tokens 0 to 48 · in memory and on disk · 64 KiB · 3 hits · used 4 s ago|tokens 48 to 96 · on disk · 32 KiB · 1 hit · used 9 s ago")
    check("it is indented where prefixes part, and nowhere else", run("[...document.querySelectorAll('#cacheBody li')].map(e => [...e.children].map(c => c.tagName === 'DIV' ? 1 : c.children.length).join('')).join(' ')") == "112 1 1")
    run("fetch('v1/completions', { method: 'POST', body: JSON.stringify({ prompt: 'A long story: ', max_tokens: 3000, ignore_eos: true, timeout: 4 }) }).then(r => r.text()).then(() => { window.done = true; }); 1")
    b.wait("the running request", "/decode/.test($('slotsBody').textContent)", 6)
    check("a running request is listed with its state", run("/zaya-nano/.test($('slotsBody').textContent)"))
    b.shot("07-server")
    b.wait("its end", "window.done === true", 30)
    b.key("Escape")
    check("Escape closes a panel", not run("$('statusBox').open"))


def knowledge(b):
    run, check = b.run, b.check
    if run("!!defaults.memory"):
        b.choose("memory", f"page {time.time()}")
        for question in ("My cat is called Wheat.", "What is my cat called?"):
            run("freshChat()")
            ask(b, question)
        check("what memory gave is shown above the answer", "Wheat" in run("document.querySelector('details.recalled')?.textContent || ''"))
        b.click("#knowledge")
        check("and in the panel, for this chat", "Wheat" in run("$('foundBody').textContent"))
        run("$('look').value = 'What is my cat called?'; $('lookGo').click()")
        b.wait("the turns", "$('lookBody').textContent.includes('Wheat')", 10)
        check("memory is asked without an answer", True)
        b.shot("08-knowledge")
        b.key("Escape")
        b.choose("memory", "")
    if run("!!defaults.documents"):
        b.choose("documents", "1")
        run("freshChat()")
        ask(b, "Where does the mill stand?")
        check("what the documents gave is shown, with its number", run("/\\[1\\].*mill\\.md/.test([...document.querySelectorAll('details.recalled')].map(d => d.textContent).join())"))
        b.choose("documents", "")
    run("freshChat()")
    ask(b, "What is 12 + 15?")
    run("showKnowledge()")
    b.wait("the saved chats", "$('savedBody').childNodes.length > 0")
    if run("!$('saveForm').hidden"):
        run("$('saveName').value = 'mill'; $('saveForm').requestSubmit()")
        b.wait("the saved chat", "$('savedBody').textContent.includes('mill')", 20)
        check("a chat is saved on the server", True)
        b.press("Open mill")
        b.wait("the restored chat", "!$('knowledgeBox').open && titleOf(current) === 'mill'", 10)
        check("and opened from there", run("path(current).length") == 2)
        run("showKnowledge()")
        b.wait("the list", "$('savedBody').textContent.includes('mill')")
        b.press("Delete mill")
        b.wait("the question", "$('askBox').open")
        run("$('askYes').click()")
        b.wait("its end", "$('savedBody').textContent.includes('None yet')")
        check("and deleted there", True)
    run("$('knowledgeBox').close()")


def runs(b, home):
    run, check = b.run, b.check
    b.click("#runs")
    b.wait("the curves", "document.querySelectorAll('#runBody .chart').length >= 4", 10)
    check("a training run has its curves", run("[...document.querySelectorAll('#runBody .chart b')].map(e => e.textContent).slice(0, 2).join()") == "Loss,Reward")
    check("each curve says in words what it shows", run("/^Loss: from 4.000 at step 1 to 0.283 at step 200/.test(document.querySelector('#runBody svg').getAttribute('aria-label'))"))
    check("evaluations, events and samples are listed", run("['Evaluations', 'the loss rose', 'What is 2 + 2?'].every(s => $('runBody').textContent.includes(s))"))
    b.shot("09-runs")
    if home:
        with open(home / "runs" / "sums" / "metrics.jsonl", "a") as f:
            f.write(json.dumps({"step": 201, "loss": 0.1, "reward": 1.0, "tokens": 201 * 4096}) + "\n")
        b.wait("the new step", "/step 201/.test($('runSays').textContent)", 8)
        check("a new step appears by itself", run("shownRun.rows.length") == 206)
    b.key("Escape")


def tools(b):
    run, check = b.run, b.check
    run(SCRIPTED)
    run("freshChat()")
    check("tools are offered when the server has MCP servers", run("!$('tools').hidden"))
    b.click("#tools")
    b.wait("the tools", "document.querySelectorAll('#toolsBody input').length === 1")
    check("a server whose tools cannot be listed is named", "broken: " in run("$('toolsBody').textContent"))
    b.click("#toolsBody input")
    b.key("Escape")
    run("$('ask').focus()")
    b.type("What does a.md say?")
    b.key("Enter")
    b.wait("the permission", "!!document.querySelector('.permission')")
    check("a call waits for permission, with its arguments", run("document.querySelector('.permission').textContent.includes('files__read') && document.querySelector('.permission pre').textContent.includes('a.md') && calls.length === 0"))
    b.shot("10-permission")
    check("the tool was offered with its schema", run("asked[0].tools[0].function.parameters.properties.path.type") == "string")
    b.press("Allow once")
    b.wait("the answer", IDLE + " && lastOf(current).content === 'It says: the key is under the mat'")
    check("an allowed call runs, and the model goes on with its result", run("calls.length === 1 && calls[0].arguments.path === 'a.md' && asked[1].messages.slice(-2).map(m => m.role).join()") == "assistant,tool")
    ask_again = lambda text: (run("$('ask').focus()"), b.type(text), b.key("Enter"), b.wait("the permission", "!!document.querySelector('.permission')"))
    ask_again("Again")
    b.press("Deny")
    b.wait("the answer", IDLE + " && lastOf(current).role === 'assistant' && lastOf(current).content.includes('not allow')")
    check("a denied call does not run, and the model is told", run("calls.length") == 1)
    ask_again("Once more")
    b.press("Allow for this chat")
    b.wait("the answer", IDLE + " && calls.length === 2 && lastOf(current).role === 'assistant' && !!lastOf(current).content")
    run("$('ask').focus()")
    b.type("And again")
    b.key("Enter")
    b.wait("the answer", IDLE + " && calls.length === 3 && lastOf(current).role === 'assistant' && !!lastOf(current).content")
    check("a tool that is allowed for the chat is not asked for again", run("!document.querySelector('.permission')"))
    run("unscripted()")
    run("loadTools()")
    run("freshChat()")
