"""Steps in the conversation: asking, reasoning, versions, Markdown, plans, search, files, import and export."""
import json

import page_markup

IDLE = "!running && $('stop').hidden"
# The suggested questions, and what is right.
SUGGESTED = {"Nora is older than Iris. Iris is older than Lena. Who is the youngest?": "Lena", "Today is Sunday. What day is it 4 days from now?": "Thursday", "Which of 14, 9, 28 is the largest?": "28",
             "Ana has 7 marbles. Ana finds 5 more. How many marbles does Ana have now?": "12 marbles", "How many ml are 8 l?": "8000 ml", "What is 12 + 15?": "27"}
HOSTILE = "<img src=x onerror=\"window.pwned=1\"> <script>window.pwned=1</script> [x](javascript:window.pwned=1) ![y](http://elsewhere.example/y.png) **bold** `code`\n\n```html\n<b>block</b>\n```\n\n$\\frac{1}{2}$"


def ask(b, text):
    b.run("$('ask').focus()")
    b.type(text)
    b.key("Enter")
    b.wait("an answer", IDLE + " && path(current).length > 0 && lastOf(current).role === 'assistant'")


def steps(b):
    run, check = b.run, b.check
    check("the question field has the focus", run("document.activeElement.id") == "ask")
    check("suggested questions are shown", run("[...document.querySelectorAll('#tries button')].map(b => b.firstChild.textContent)") == list(SUGGESTED))
    b.shot("01-empty")
    right = run(f"""(async () => {{ const out = {{}};
      for (const [q, a] of Object.entries({json.dumps(SUGGESTED)})) {{
        const all = await Promise.all([...Array(10).keys()].map(seed => askJson('v1/chat/completions', {{ model: $('model').value, messages: [{{ role: 'user', content: q }}], temperature: 1, seed, max_tokens: 400 }})));
        out[q] = all.filter(r => r.choices[0].message.content.trim() === 'Answer: ' + a).length; }}
      return out; }})()""")
    check(f"the model answers each rightly at least 9 times of 10 {list(right.values())}", min(right.values()) >= 9)

    b.click("#tries button")
    b.wait("an answer", IDLE + " && path(current).length === 2")
    check("a suggested question is asked by a click", "Lena" in run("document.querySelector('article.assistant > .said').textContent"))
    check("the reasoning is folded, with its time and tokens", run("(d => !d.open && /^Thought for [\\d.]+ s · \\d+ tokens$/.test(d.querySelector('summary').textContent))(document.querySelector('details.thinking'))"))
    b.click("details.thinking summary")
    b.wait("the reasoning", "document.querySelector('details.thinking').open && document.querySelector('details.thinking .body').textContent.length > 3", 5)
    check("the reasoning opens", True)
    check("figures stand below the answer", run("/\\d+ tokens · [\\d.]+ tokens\\/s · first after [\\d.]+ s · prompt \\d+/.test(document.querySelector('article.assistant .stats').textContent)"))
    check("the gauge shows the context that is used", run("(s => s.prompt + s.completion > 0 && $('gaugeText').textContent.startsWith((s.prompt + s.completion).toLocaleString('en') + ' / 4,096'))(lastOf(current).stats)"))
    check("the chat is in the list, under its question", run("document.querySelector('#chats li.on b').textContent").startswith("Nora is older"))
    b.shot("02-answer")

    b.choose("temperature", "0")  # from here on every answer is the likeliest one
    b.press("Regenerate")
    b.wait("the second answer", IDLE + " && document.querySelector('.versions')?.textContent === '‹2/2›'")
    check("regenerating makes a second version", run("path(current).length") == 2)
    b.press("Previous version")
    check("‹ shows the first version again", run("document.querySelector('.versions').textContent") == "‹1/2›")
    if run("modelIds().length > 1"):
        b.press("Regenerate with another model")
        b.wait("the menu", "document.querySelectorAll('.menu button').length >= 2")
        run("document.querySelectorAll('.menu button')[1].click()")
        b.wait("the other model's answer", IDLE + " && document.querySelector('.versions')?.textContent === '‹3/3›'")
        check("regenerating with another model", run("lastOf(current).model === modelIds()[1]"))
        b.wait("its state", "models.every(m => m.loaded)")
        check("the model that was not loaded is listed as loaded now", run("![...$('model').options].some(o => /not loaded/.test(o.textContent))"))

    run("edit(path(current)[0])")
    run("document.querySelector('.editor textarea').value = 'What is 18 + 18?'")
    b.press("Send", "document.querySelector('.editor')")
    b.wait("the answer to the edited question", IDLE + " && path(current)[0].content === 'What is 18 + 18?' && path(current).length === 2")
    check("an edited question is a version beside the first", run("document.querySelector('article.user .versions').textContent") == "‹2/2›" and "36" in run("lastOf(current).content"))
    run("edit(lastOf(current))")
    run("document.querySelector('.editor textarea').value = 'Answer: **thirty-six**'")
    b.press("Save")
    check("an edited answer stands as another version", run("lastOf(current).content === 'Answer: **thirty-six**' && document.querySelector('article.assistant strong').textContent") == "thirty-six")
    run("choose(current, path(current)[0], 0)")
    check("the versions below the other question are still there", run("current.nodes[path(current)[0].id].children.length") >= 2)

    b.press("New chat")
    ask(b, "What is 12 + 15?")
    ask(b, "What is 5 + 17?")
    check("a second turn follows the first", run("path(current).map(n => n.role).join()") == "user,assistant,user,assistant")
    b.press("Copy")
    check("an answer is copied", run("document.querySelector('.note')?.textContent") == "Copied")

    b.choose("plan", "mrsa:8x4x1")
    ask(b, "Which of 14, 9, 28 is the largest?")
    check("a plan shows all its candidates", run("document.querySelectorAll('.cell').length") == 16)
    run("document.querySelectorAll('.round')[1].querySelector('.cell').focus()")
    check("a candidate shows whom it read", run("document.querySelectorAll('.cell.on').length") >= 1)
    run("document.querySelector('details.rounds').scrollIntoView()")
    b.shot("03-rounds")
    run("showChat()")
    check("the rounds are there when the chat is opened again", run("document.querySelectorAll('.cell').length") == 16)
    b.choose("custom", "mrsa:64x4x40")
    b.choose("plan", "custom")
    run("$('ask').focus()")
    b.type("What is 12 * 13?")
    b.key("Enter")
    b.wait("the first candidates", "running && running.node.rounds && running.node.rounds.length > 2")
    b.key("Escape")
    b.wait("the end of the answer", IDLE, 5)
    check("Escape stops an answer", run("$('numbers').textContent.startsWith('stopped') || !(lastOf(current).role === 'assistant' && lastOf(current).live)"))
    b.choose("plan", "")
    b.choose("budget", "8")
    run("freshChat()")
    ask(b, "Nora is older than Iris. Iris is older than Lena. Who is the youngest?")
    check("a thinking budget shortens the reasoning", run("lastOf(current).stats.reasoning") <= 12)
    b.choose("budget", "")
    b.choose("maxTokens", "5")
    run("freshChat()")
    ask(b, "What is 12 + 15?")
    check("an answer that max tokens ended says so", "ended at max tokens" in run("document.querySelector('article.assistant .acts').textContent"))
    b.choose("maxTokens", "1024")
    for id, value in (("effort", "high"), ("temperature", "0.5"), ("seed", "7"), ("topP", "0.9"), ("system", "Be brief.")):
        b.choose(id, value)
    check("effort, temperature, seed, top p and system message are sent", run("(b => [b.reasoning_effort, b.temperature, b.seed, b.top_p, b.messages[0].role, b.messages[0].content].join())(request(current, lastOf(current), $('model').value))") == "high,0.5,7,0.9,system,Be brief.")
    for id in ("effort", "seed", "topP", "system"):
        b.choose(id, "")
    b.choose("temperature", "0")

    differences = page_markup.markdown_differences(b)
    check(f"Markdown of {len(page_markup.CASES.strip().splitlines())} texts is as markdown-it-py shows it {differences[:1]}", not differences)
    differences = page_markup.formula_differences(b)
    check(f"symbols of {len(page_markup.FORMULAS)} formulas are as latex2mathml has them {differences[:1]}", not differences)
    run(f"(() => {{ const u = addNode(current, lastOf(current), {{ role: 'user', content: 'Hostile' }}); addNode(current, u, {{ role: 'assistant', model: 'x', content: {json.dumps(HOSTILE)} }}); showChat(); toEnd(); }})()")
    last = "[...document.querySelectorAll('article.assistant')].pop()"
    check("markup of a model stays text", run(f"{last}.querySelectorAll('img, script, b').length === 0 && !window.pwned && {last}.textContent.includes('<img src=x')"))
    check("links lead to the web alone, without a referrer", run(f"[...{last}.querySelectorAll('a')].every(a => /^https?:/.test(a.href) && /noopener/.test(a.rel) && /noreferrer/.test(a.rel))"))
    check("the browser refuses markup from the page's own script", run("(() => { try { document.createElement('div').innerHTML = '<b>x</b>'; return false; } catch { return true; } })()"))
    b.seen = [m for m in b.seen if "TrustedHTML" not in json.dumps(m)]  # that it says so was the point
    check("code is highlighted, with its language", run("(() => { const d = document.createElement('div'); showMarkdown(d, '```python\\ndef f(x):  # note\\n    return \"a\"\\n```'); return d.querySelector('.bar span').textContent + ' ' + [...d.querySelectorAll('pre span')].map(s => s.className).join(' '); })()") == "python hl-k hl-f hl-c hl-k hl-s")
    check("every language's expression compiles and keeps the text", run("Object.keys(LANGUAGES).every(n => { const t = 'a = \"b\" + 0x1F; // c\\n# d\\n<e f=\"g\">'; return highlight(t, n).map(x => x.textContent ?? x).join('') === t; })"))
    check("blocks that did not change stay while a text grows", run("(() => { const d = document.createElement('div'); showMarkdown(d, '# A\\n\\nb'); const h = d.firstChild; showMarkdown(d, '# A\\n\\nb c\\n\\n- d'); return d.firstChild === h && d.childNodes.length === 3; })()"))
    check("a text of 200 kB is shown within a second", run("(() => { const d = document.createElement('div'), t = performance.now(); showMarkdown(d, ('word **bold** `x` and $y$ ' .repeat(20) + '\\n\\n').repeat(400)); return performance.now() - t < 1000; })()"))
    check("hostile nesting ends", run("(() => { const d = document.createElement('div'), t = performance.now(); for (const s of ['>'.repeat(5000), '- '.repeat(3000), '['.repeat(20000), '*a '.repeat(10000), '$' + '{'.repeat(3000) + '$', '`'.repeat(9999)]) showMarkdown(d, s); return performance.now() - t < 5000; })()"))

    b.choose("search", "marbles")
    check("a search that finds nothing says so", "No chat" in run("$('chats').textContent"))
    b.choose("search", "5 + 17")
    check("search finds a turn inside of a chat", run("document.querySelectorAll('#chats mark').length") == 1)
    run("document.querySelector('#chats .open').click()")
    check("and opens it at that turn", run("document.activeElement.closest('article')?.querySelector('.said').textContent") == "What is 5 + 17?")
    b.choose("search", "")
    b.shot("04-chats")
    files(b)
    transfer(b)
    reload(b)


def files(b):
    run, check = b.run, b.check
    run("freshChat()")
    run("attach([new File(['The key is under the mat.\\n' + 'A line about mills. '.repeat(60) + '\\n```\\ncode\\n```'], 'notes.txt', { type: 'text/plain' })])")
    b.wait("the file", "attachments.length === 1")
    check("a text file is attached", "notes.txt" in run("$('files').textContent"))
    run("attach([new File(['x'], 'photo.png', { type: 'image/png' }), new File([new Uint8Array([0, 1, 2])], 'data.bin'), new File(['x'], 'paper.pdf')])")
    b.wait("the refusals", "document.querySelectorAll('#files .bad').length === 3")
    check("an image, a PDF and binary data are refused by name", run("['photo.png is an image', 'paper.pdf is a PDF', 'data.bin is not text'].every(s => $('files').textContent.includes(s)) && attachments.length === 1"))
    b.wait("the count of the draft", "/\\d+ tokens/.test($('draft').textContent)")
    check("the draft's tokens are counted", True)
    b.shot("05-files")
    ask(b, "Where is the key?")
    check("the file is part of the question, in a fence that it does not close", run("(m => m[0].content.startsWith('File notes.txt:\\n````\\n') && m[0].content.endsWith('Where is the key?'))(messagesOf(path(current)))"))
    check("and stands folded above it", "notes.txt" in run("document.querySelector('article.user summary').textContent"))
    b.press("Regenerate")
    b.wait("the second answer", IDLE + " && document.querySelector('.versions')?.textContent === '‹2/2›'")
    check("a second version takes the prompt from the prefix cache, and says so", run("(s => s.cached > s.prompt / 2 && document.querySelector('.stats').textContent.includes(s.cached + ' from cache'))(lastOf(current).stats)"))


def transfer(b):
    run, check = b.run, b.check
    run("exportMarkdown(current)")
    text = b.downloaded("*.md")
    check("export as Markdown", text.startswith("# Where is the key?") and "## You" in text and "The key is under the mat." in text)
    run("exportMessages(current)")
    said = json.loads(b.downloaded("*key.json"))
    check("export as messages", [m["role"] for m in said["messages"]] == ["user", "assistant"])
    before = run("chats.length")
    run("exportChats(chats, 'all')")
    whole = b.downloaded("all.quern.json")
    check("export of all chats", len(json.loads(whole)["chats"]) == before)
    run(f"importFiles([new File([{json.dumps(whole)}], 'all.quern.json')])")
    b.wait("the import", f"chats.length === {2 * before}")
    check("and import, with all versions", run("chats.filter(c => Object.values(c.nodes).some(n => n.children.length > 1)).length") >= 2)
    forms = {
        "OpenAI messages": {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "one"}]}, {"role": "assistant", "content": "two"}]},
        "ShareGPT": [{"conversations": [{"from": "human", "value": "one"}, {"from": "gpt", "value": "two"}]}],
        "ChatGPT": [{"title": "T", "current_node": "c", "mapping": {"r": {"id": "r", "message": None, "parent": None, "children": ["a"]}, "a": {"message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["one"]}}, "parent": "r", "children": ["b", "c"]},
                     "b": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["wrong"]}}, "parent": "a", "children": []}, "c": {"message": {"author": {"role": "assistant"}, "content": {"parts": ["two"]}}, "parent": "a", "children": []}}}],
    }
    for name, form in forms.items():
        check(f"import of {name}", run(f"readChats({json.dumps(json.dumps(form))}).map(c => path(c).map(n => n.content).join())") == ["one,two"])
    lines = "\n".join(json.dumps({"messages": [{"role": "user", "content": w}, {"role": "assistant", "content": "ok"}]}) for w in ("a", "b"))
    check("import of JSON lines", run(f"readChats({json.dumps(lines)}).length") == 2)
    run("importFiles([new File(['not json'], 'bad.json'), new File(['{\"x\": 1}'], 'other.json')])")
    b.wait("the refusals", "$('transferSays').textContent.includes('other.json')")
    check("what is no chat is refused by name", run("/bad.json is not JSON/.test($('transferSays').textContent) && /other.json has no chats/.test($('transferSays').textContent)"))


def reload(b):
    run, check = b.run, b.check
    before = run("[chats.length, current.id, titleOf(current)]")
    run("$('ask').value = 'half a thought'; $('ask').dispatchEvent(new Event('input'))")
    b.send("Page.reload")
    b.wait("the page again", "document.readyState === 'complete' && typeof chats !== 'undefined' && $('state').textContent === 'ready'")
    check("chats, the open one, the draft and settings outlive a reload", run("[chats.length, current.id, titleOf(current)]") == before and run("$('ask').value + $('temperature').value") == "half a thought0")
    run("$('ask').value = ''; $('ask').dispatchEvent(new Event('input'))")
    run("branch(path(current)[0])")
    b.wait("the branch", "titleOf(current).endsWith('(branch)')")
    check("a turn becomes a chat of its own", run("path(current).length") == 1)
    run("rename(current); 1")
    b.wait("the question", "$('askBox').open")
    run("$('askText').value = 'My own title'; $('askYes').click()")
    b.wait("the name", "$('title').textContent === 'My own title'")
    check("a chat is renamed", "My own title" in run("$('chats').textContent"))
    count = run("chats.length")
    run("dropChat(current); 1")
    b.wait("the question", "$('askBox').open")
    run("$('askYes').click()")
    b.wait("the deletion", f"chats.length === {count - 1} && $('title').textContent === 'New chat'")
    check("a chat is deleted, once that was confirmed", run("path(current).length") == 0)
