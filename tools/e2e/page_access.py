"""Steps for everybody: the keyboard alone, dark and high contrast, a phone, screen readers (axe-core), an app without its server."""
import json, pathlib, time

from page_chat import ask

DIALOGS = {"settingsBox": "$('settings').click()", "statusBox": "showStatus()", "formatBox": "$('format').click()", "knowledgeBox": "showKnowledge()", "transferBox": "$('transfer').click()", "helpBox": "showHelp()"}


def axe(b):
    """The serious and critical findings of axe-core, as (rule, element)."""
    import axe_playwright_python
    source = next(pathlib.Path(axe_playwright_python.__file__).parent.rglob("axe.min.js")).read_text()
    if not b.run("typeof axe !== 'undefined'"):
        b.run(source + "; 1")
    return b.run("axe.run(document, { resultTypes: ['violations'] }).then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).flatMap(v => v.nodes.map(n => v.id + ' ' + n.target.join(' '))))")


def audit(b, name):
    found = axe(b)
    b.check(f"axe finds nothing serious: {name} {found[:3]}", not found)


def steps(b, url):
    keyboard(b)
    themes(b)
    phone(b)
    offline(b, url)


def focused(b):
    return b.run("document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim().slice(0, 30)")


def keyboard(b):
    run, check = b.run, b.check
    run("freshChat()")
    check("a new chat is empty and has the focus in the question field", run("path(current).length") == 0 and focused(b) == "ask")
    ask(b, "What is 12 + 15?")
    seen = []
    run("document.body.focus(); document.activeElement.blur()")
    for _ in range(200):
        b.key("Tab")
        seen.append(focused(b))
        visible = run("(e => e === document.body || (r => r.width > 0 && r.height > 0)(e.getBoundingClientRect()))(document.activeElement)")
        if not visible:
            check(f"what has the focus is seen: {seen[-1]}", False)
    check("Tab reaches every control that is shown", {"fresh", "search", "settings", "transfer", "help", "theme", "model", "status", "ask", "plan", "effort", "format", "send"} <= set(seen))
    check("the focus is drawn", run("(() => { $('send').focus({ focusVisible: true }); return getComputedStyle($('send')).outlineStyle; })()") == "solid")
    run("$('fresh').focus()")
    b.key("/")
    check("/ goes to the question field, and writes nothing there", focused(b) == "ask" and run("$('ask').value") == "")
    run("$('ask').blur()")
    b.key("s")
    check("s goes to the search", focused(b) == "search")
    run("$('search').blur()")
    b.key("?", shift=True)
    check("? opens the sheet of shortcuts", run("$('helpBox').open && $('helpBody').rows.length") >= 15)
    b.key("Escape")
    b.key("k", control=True)
    check("Ctrl K goes to the search", focused(b) == "search")
    run("$('search').blur()")
    b.key("k")
    check("k goes to the turn before", run("document.activeElement.tagName === 'ARTICLE' && document.activeElement.className") == "assistant")
    b.key("k")
    check("and again to the one before", run("document.activeElement.className") == "user")
    b.key("e")
    check("e edits it", run("document.activeElement.closest('.editor') !== null"))
    b.key("Escape")
    check("Escape leaves the editor", run("document.querySelector('.editor')") is None)
    b.key("j")
    b.key("r")
    b.wait("the second version", "!running && document.querySelectorAll('.versions').length === 1")
    run("document.activeElement.blur()")
    b.key("[")
    check("r regenerates, [ goes to the version before", run("document.querySelector('.versions').textContent") == "‹1/2›")
    run("document.activeElement.blur()")
    b.key("o")
    check("o opens the reasoning", run("document.querySelector('details.thinking').open"))
    run("$('ask').focus()")
    b.key("ArrowUp")
    check("↑ in the empty field edits the last question", run("document.activeElement.closest('.editor') !== null"))
    b.key("Escape")
    run("$('ask').focus()")
    b.key("Enter", shift=True)
    check("Shift Enter makes a new line", run("$('ask').value") == "\n" and run("path(current).length") == 2)
    b.key("Backspace")
    run("[...document.querySelectorAll('article.assistant .acts button')].pop().focus()")
    b.key("Enter")
    b.wait("the menu", "document.activeElement.getAttribute('role') === 'menuitem'")
    b.key("ArrowDown")
    check("a menu is walked by the arrows", run("document.activeElement === document.querySelector('.menu').children[1]"))
    b.key("Escape")
    b.wait("its end", "!document.querySelector('.menu')", 5)
    check("and closed by Escape", True)
    run("document.activeElement.blur()")
    b.key(",")
    check(", opens the settings", run("$('settingsBox').open"))
    for _ in range(30):
        b.key("Tab")
        if not run("$('settingsBox').contains(document.activeElement) || document.activeElement === document.body"):
            check("Tab stays in a panel", False)
    check("Tab stays in a panel", True)
    b.choose("letters", "off")
    b.key("Escape")
    run("document.activeElement.blur()")
    b.key("n")
    check("one-key shortcuts can be turned off", run("path(current).length") == 2)
    b.choose("letters", "on")
    b.key("n")
    check("n begins a new chat", run("path(current).length") == 0)


def themes(b):
    run, check = b.run, b.check
    run("openChat(chats.find(c => Object.values(c.nodes).some(n => n.rounds)))")
    run("document.querySelector('#log').append(make('button', { id: 'nameless' }), make('p', { id: 'pale', textContent: 'pale', style: 'color: #eee; background: #fff' }))")
    found = axe(b)
    check("axe finds what is planted: a button without a name, a text without contrast", ["button-name #nameless", "color-contrast #pale"] == sorted(found))
    run("$('nameless').remove(); $('pale').remove()")
    audit(b, "a chat, light")
    b.choose("themeChoice", "system")
    b.size(1200, 800, dark=True)
    b.wait("the dark theme", "document.documentElement.dataset.theme === 'dark'", 5)
    check("dark follows the system", True)
    b.shot("11-dark")
    audit(b, "a chat, dark")
    for name, opened in DIALOGS.items():
        run(opened)
        time.sleep(0.2)
        audit(b, name + ", dark")
        run(f"$('{name}').close()")
    b.size(1200, 800, dark=False)
    b.wait("the light theme", "document.documentElement.dataset.theme === 'light'", 5)
    check("and light", True)
    for name, opened in DIALOGS.items():
        run(opened)
        time.sleep(0.2)
        audit(b, name + ", light")
        run(f"$('{name}').close()")
    run("freshChat()")
    audit(b, "an empty chat, light")
    b.size(1200, 800, contrast="more")
    b.wait("more contrast", "document.documentElement.dataset.contrast === 'more'", 5)
    check("more contrast follows the system", True)
    audit(b, "high contrast")
    b.size(1200, 800)
    b.choose("themeChoice", "dark")
    check("a theme is chosen and kept", run("document.documentElement.dataset.theme + inBrowser.get('themeChoice')") == "darkdark")
    b.choose("themeChoice", "system")
    b.choose("zoom", "21")
    check("a larger text scrolls nothing sideways", run("document.documentElement.scrollWidth <= innerWidth"))
    b.choose("zoom", "16")


def phone(b):
    run, check = b.run, b.check
    b.size(360, 740)
    run("openChat(chats.find(c => Object.values(c.nodes).some(n => n.rounds)))")
    check("no sideways scrolling on a phone", run("document.documentElement.scrollWidth <= innerWidth"))
    b.shot("12-phone")
    check("the list of chats is out of the way", run("getComputedStyle($('side')).display") == "none")
    b.click("#sideOpen")
    check("and comes by its button", run("getComputedStyle($('side')).display") == "flex")
    b.shot("13-phone-chats")
    audit(b, "a phone, the list of chats")
    b.send("Input.dispatchMouseEvent", type="mousePressed", x=350, y=400, button="left", clickCount=1)
    b.send("Input.dispatchMouseEvent", type="mouseReleased", x=350, y=400, button="left", clickCount=1)
    check("and goes by a tap beside it", run("getComputedStyle($('side')).display") == "none")
    for name, opened in DIALOGS.items():
        run(opened)
        time.sleep(0.1)
        check(f"{name} fits a phone", run(f"$('{name}').scrollWidth <= innerWidth && document.documentElement.scrollWidth <= innerWidth"))
        run(f"$('{name}').close()")
    check("what is tapped is at least 24 pixels high", run("[...document.querySelectorAll('button, select')].filter(e => e.offsetParent && !e.closest('.cell')).every(e => e.getBoundingClientRect().height >= 24)"))
    audit(b, "a phone")
    run("freshChat()")
    ask(b, "What is 12 + 15?")
    check("a question is answered on a phone", "27" in run("lastOf(current).content"))
    b.size(1200, 800)


def offline(b, url):
    run, check = b.run, b.check
    manifest = run("fetch('manifest.webmanifest').then(r => r.json())")
    check("the manifest names an icon and stands alone", manifest["display"] == "standalone" and run(f"fetch({json.dumps(manifest['icons'][0]['src'])}).then(r => r.headers.get('content-type'))") == "image/svg+xml")
    b.wait("the service worker", "navigator.serviceWorker.ready.then(() => true)", 20)
    check("the browser sees an app that can be installed", not b.send("Page.getInstallabilityErrors").get("installabilityErrors"))
    count = run("chats.length")
    b.send("Network.emulateNetworkConditions", offline=True, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    before = len(b.seen)
    b.send("Page.reload")
    b.wait("the page without its server", "document.readyState === 'complete' && typeof chats !== 'undefined' && $('state').textContent === 'no answer'", 20)
    check("without its server the page opens, and old chats can be read", run("chats.length") == count)
    b.seen[before:] = [m for m in b.seen[before:] if m.get("method") != "Log.entryAdded"]  # that there is no network was the point
    b.send("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    run("load()")
    b.wait("the server", "$('state').textContent === 'ready'", 20)
    b.seen[before:] = [m for m in b.seen[before:] if m.get("method") != "Log.entryAdded"]
    check("and goes on when the server is back", True)
