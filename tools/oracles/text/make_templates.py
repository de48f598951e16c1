"""Goldens for chat templates and BPE training, made with jinja2 under transformers' settings and with `tokenizers`.

    pip install -r tools/oracles/requirements.txt
    python tools/oracles/text/make_templates.py     # writes quern/text/{chat/testdata/templates,tokenizer/testdata/bpe_train}.json
"""
import json, pathlib
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers.utils.chat_template_utils import _compile_jinja_template

TEXT = pathlib.Path(__file__).resolve().parents[3] / "quern" / "text"
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße, \"you\" & <me>\n"},
            {"role": "assistant", "content": "  Hello.  "}, {"role": "user", "content": "Sum 2+2?"}]
TOOLS = [{"type": "function", "function": {"name": "add", "description": "adds", "parameters": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}}}]
BASE = dict(messages=MESSAGES, tools=TOOLS, add_generation_prompt=True, bos_token="<s>", eos_token="</s>", n=7, x=2.5, names=["b", "a", "c"], empty=[], nothing=None,
            nested={"k": {"deep": [1, 2.0, True, None, "é"]}}, text="  one two  three ", flag=False)

CASES = [
    # whole templates in the manner of the families
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "{%- if messages[0]['role'] == 'system' %}\n    {%- set system = messages[0]['content'] %}\n    {%- set rest = messages[1:] %}\n{%- else %}\n    {%- set rest = messages %}\n{%- endif %}\n{{- bos_token }}\n{%- for m in rest %}\n    {%- if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}\n        {{- raise_exception('roles must alternate') }}\n    {%- endif %}\n    {%- if m['role'] == 'user' %}\n        {%- if loop.last and system is defined %}\n            {{- '[INST] ' + system + '\n\n' + m['content'] + '[/INST]' }}\n        {%- else %}\n            {{- '[INST] ' + m['content'] + '[/INST]' }}\n        {%- endif %}\n    {%- else %}\n        {{- ' ' + m['content']|trim + eos_token }}\n    {%- endif %}\n{%- endfor %}",
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'assistant' %}{% set role = 'model' %}{% else %}{% set role = message['role'] %}{% endif %}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{'<start_of_turn>model\n'}}{% endif %}",
    "{%- macro turn(role, content, end='<|eot_id|>') %}{{ '<|start_header_id|>' ~ role ~ '<|end_header_id|>\n\n' ~ content | trim ~ end }}{% endmacro %}\n{%- for m in messages %}{{ turn(m.role, m.content) }}{% endfor %}{{ turn('assistant', '', end='') }}",
    "{%- set ns = namespace(last=-1) %}{%- for m in messages[::-1] %}{%- set i = (messages|length - 1) - loop.index0 %}{%- if ns.last < 0 and m.role == 'user' %}{%- set ns.last = i %}{%- endif %}{%- endfor %}{{ ns.last }}",
    "{%- if tools %}\n{{- '# Tools\n' }}\n{%- for tool in tools %}\n{{- tool | tojson }}\n{{- '\n' }}\n{%- set f = tool.function %}\n{{- '<function><name>' ~ f.name ~ '</name>' }}\n{%- for p, spec in f.parameters.properties.items() %}\n{{- '<parameter>' ~ p ~ ':' ~ spec.type ~ (' (required)' if p in f.parameters.required else '') ~ '</parameter>' }}\n{%- endfor %}\n{{- '</function>\n' }}\n{%- endfor %}\n{%- endif %}",
    # white space
    "a\n{% if true %}\nb\n{% endif %}\nc\n", "a\n   {% if true %}   \n b {%- endif -%} \n c", "  {# note #}\nx {#- tight -#} y", "x\n\n{{- ' y' }}\n  {{ n }}  \nz", "  {%+ if true %}a{% endif %}", "{% raw %}{{ not }} {% this %}{% endraw %}!", "one\n{% set q = 1 %}\n\ntwo\n", "\n\nlead",
    # expressions
    "{{ 1 + 2 * 3 - 4 // 3 }} {{ 7 / 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 1.5 + 1 }} {{ 3.0 }} {{ 1e3 if false else 10 / 4 }}",
    "{{ 'a' ~ 1 ~ none ~ true ~ 2.0 }} {{ 'ab' * 3 }} {{ [1, 'x', none, true, 2.5] }} {{ {'a': 1, 'b': [2]} }} {{ (1, 2)[1] }}",
    "{{ 'a' in 'cat' }} {{ 'z' not in ['a'] }} {{ 'k' in nested }} {{ 1 < 2 and 2 <= 2 or false }} {{ not flag }} {{ 1 == 1.0 }} {{ 'a' < 'b' }} {{ none == nothing }}",
    "{{ names[0] }}{{ names[-1] }}{{ names[1:] }}{{ names[::-1] }}{{ text[2:5] }}{{ names[:-1] | join('/') }}{{ missing }}|{{ messages[0].missing }}|{{ nested['k'].deep[4] }}",
    "{{ 'yes' if flag else 'no' }}{{ 'only' if flag }}{{ missing is defined }}{{ n is defined }}{{ nothing is none }}{{ n is number }}{{ text is string }}{{ nested is mapping }}{{ names is iterable }}{{ n is odd }}{{ n is not even }}{{ 6 is divisibleby 3 }}{{ x is integer }}{{ x is float }}{{ flag is boolean }}{{ flag is false }}{{ n is eq 7 }}{{ 'a' is in names }}",
    "{{ text | trim }}|{{ text | upper | trim }}|{{ names | join(', ') }}|{{ names | length }}|{{ names | sort | first }}|{{ names | last }}|{{ missing | default('d') }}|{{ '' | default('e', true) }}|{{ nested | tojson }}|{{ 'é\"' | tojson }}|{{ [1,2] | tojson(indent=2) }}|{{ 'a-b' | replace('-', '+') }}|{{ '12' | int + 1 }}|{{ 3.7 | int }}|{{ '2.5' | float }}|{{ 'hello world' | title }}|{{ 'HELLO' | capitalize }}|{{ 12 | string + 'x' }}|{{ 'abc' | list }}|{{ 'abc' | reverse }}|{{ -3 | abs }}",
    "{{ messages | map(attribute='role') | list }}|{{ names | map('upper') | join }}|{{ messages | selectattr('role', 'equalto', 'user') | list | length }}|{{ messages | rejectattr('role', 'in', ['user']) | map(attribute='content') | join('~') }}|{{ [0, 1, '', 'a'] | select | list }}|{{ [1, 2, 3] | reject('odd') | list }}|{{ (nested | items | list)[0][0] }}|{{ (nested.k | dictsort)[0][1] }}|{{ [1, 1, 2] | unique | list }}",
    "{{ text.strip() }}|{{ text.split() }}|{{ 'a,b,c'.split(',', 1) }}|{{ 'xxaxx'.strip('x') }}|{{ 'abc'.startswith('ab') }}|{{ 'abc'.endswith(('x', 'c')) }}|{{ 'a b'.title() }}|{{ 'ab'.upper() }}|{{ 'aXbX'.replace('X', '-', 1) }}|{{ ', '.join(names) }}|{{ 'abc'.find('c') }}|{{ nested.get('zz', 5) }}|{{ nested.keys() | list }}|{{ nested['k'].values() | list }}|{{ 'a\nb'.splitlines() }}|{{ 'a.b.c'.rsplit('.', 1) }}",
    "{% for a in names if a != 'a' %}{{ loop.index }}{{ loop.first }}{{ loop.last }}{{ a }}{{ loop.length }}{% else %}none{% endfor %}{% for a in empty %}x{% else %}empty{% endfor %}{% for k, v in {'p': 1, 'q': 2}.items() %}{{ k }}{{ v }}{% endfor %}{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% for a in names %}{{ loop.previtem if loop.previtem is defined else '-' }}{{ a }}{{ loop.nextitem if not loop.last else '-' }}{{ loop.cycle('o', 'e') }} {% endfor %}",
    "{% set a, b = 1, 2 %}{{ a + b }}{% set c %}block {{ a }}{% endset %}{{ c }}{% set z = 1 %}{% for i in [1] %}{% set z = 2 %}{{ z }}{% endfor %}{{ z }}{% if true %}{% set z = 3 %}{% endif %}{{ z }}",
    "{% macro f(a, b=2, c='x') %}[{{ a }},{{ b }},{{ c }}]{% endmacro %}{{ f(1) }}{{ f(1, c='y') }}{{ f(b=5, a=4) }}{% macro g(n) %}{{ n }}{% if n > 0 %}{{ g(n - 1) }}{% endif %}{% endmacro %}{{ g(3) }}",
    "{% generation %}inside{% endgeneration %}{{ dict(a=1) }}{{ range(2, 8, 3) | list }}{{ range(3, 0, -1) | list }}{{ \"q'uote\" }}{{ 'back\\\\slash\\tTab' }}{{ 'a' 'b' }}",
    "{{ nested.k.deep | tojson }} {{ 'x' | indent(2) }} {{ 'l1\nl2' | indent }} {{ {'b': 1, 'a': {'c': []}} | tojson(indent=4) }} {{ [] | tojson }} {{ {} | tojson }} {{ 1.0 | tojson }} {{ none | tojson }}",
    "{{ not true or true }}{{ not (1 == 1 and 2 == 3) }}{{ [1,2] + [3] }}{{ 'a' + 'b' == 'ab' }}{{ 10 - 2 - 3 }}{{ 2 * 3 % 4 }}{{ -2 ** 2 }}{{ 'abc'[1] }}{{ 'grüße'|length }}{{ 'ü' ~ 'x' }}",
]
FAILING = ["{{ raise_exception('no') }}", "{% if %}", "{{ 1 + }}", "{% for x in %}{% endfor %}", "{{ missing.attribute }}", "{{ 1 // 0 }}", "{% endif %}", "{{ 'a' + 1 }}", "{{ unknown_function() }}", "{{ x | no_such_filter }}", "{% if true %}", "{{ 'open }}"]


def render(source):
    return _compile_jinja_template(source).render(**BASE)


def bpe():
    text = ["the cat sat on the mat and the cat ran\n", "12 + 7 = 19, 120 - 7\n", "Grüße an alle; naïve café — ☃ 🐈\n", "aaaa aaab abab\n", "a man a plan a canal\n"] * 3
    out = []
    for size, freq, digits in ((300, 0, False), (330, 2, False), (310, 0, True), (270, 1, False)):
        t = Tokenizer(models.BPE())
        bl = pre_tokenizers.ByteLevel(add_prefix_space=False)
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bl]) if digits else bl
        t.train_from_iterator(text, trainers.BpeTrainer(vocab_size=size, min_frequency=freq, special_tokens=["<pad>", "<s>"], show_progress=False,
                                                        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        model = json.loads(t.to_str())["model"]
        out.append(dict(vocab_size=size, min_frequency=freq, individual_digits=digits, vocab=model["vocab"], merges=model["merges"]))
    return dict(text=text, cases=out)


def main():
    good = [dict(template=c, expected=render(c)) for c in CASES]
    for f in FAILING:
        try:
            render(f)
        except Exception:
            continue
        raise SystemExit(f"expected to fail: {f}")
    (TEXT / "chat" / "testdata" / "templates.json").write_text(json.dumps(dict(context=BASE, cases=good, failing=FAILING), ensure_ascii=False, indent=1) + "\n")
    (TEXT / "tokenizer" / "testdata" / "bpe_train.json").write_text(json.dumps(bpe(), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
