"""Model: tokens, generation, chat, numbers, and what is refused."""

import copy
import math
import pickle
import unittest

import quern
from support import MODEL, QUESTION, model

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"enum": ["Rome", "Oslo"]}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


class Tokens(unittest.TestCase):
    def test_text_comes_back(self):
        for text in ("", "Once upon a time", "½ naïve — 漢字 🙂", "a" * 100):
            ids = model().tokenize(text)
            self.assertEqual(model().detokenize(ids), text)
        for wrong in ([999_999], [-1]):
            with self.assertRaisesRegex(quern.Error, "ids run from 0 to"):
                model().detokenize(wrong)
        self.assertEqual(len(model().tokenize("Once", add_special=True)), len(model().tokenize("Once")) + 1)

    def test_a_tokenizer_without_a_model_agrees(self):
        with quern.Tokenizer(model().path) as tokenizer:
            ids = tokenizer.encode("Once upon a time", add_special=True)
            self.assertEqual(ids, model().tokenize("Once upon a time", add_special=True))
            self.assertEqual(tokenizer.decode(ids), "Once upon a time")
            self.assertGreater(tokenizer.vocab_size, max(ids))

    def test_sizes(self):
        self.assertEqual(model().max_positions, 4096)
        self.assertGreaterEqual(model().vocab_size, 4096)

    def test_a_prompt_is_rendered(self):
        prompt = model().chat_prompt([{"role": "user", "content": "Hello"}])
        self.assertIn("Hello", prompt)
        self.assertEqual(model().chat_prompt("Hello"), prompt)


class Generates(unittest.TestCase):
    def test_a_prompt_is_continued(self):
        made = model().generate("Once upon a time", max_tokens=8)
        self.assertEqual(str(made), made.text)
        self.assertEqual(made.finish, "length")
        self.assertEqual((len(made.tokens), len(made.logprobs)), (8, 8))
        self.assertEqual(model().detokenize(made.tokens), made.text)
        self.assertEqual(made.prompt_tokens, len(model().tokenize("Once upon a time", add_special=True)))

    def test_token_ids_are_a_prompt_too(self):
        ids = model().tokenize("Once upon a time", add_special=True)
        self.assertEqual(
            model().generate(ids, max_tokens=8).tokens, model().generate("Once upon a time", max_tokens=8).tokens
        )

    def test_a_stream_is_the_same_text(self):
        whole = model().generate("Once upon a time", max_tokens=20)
        stream = model().generate("Once upon a time", max_tokens=20, stream=True)
        pieces = list(stream)
        self.assertGreater(len(pieces), 5)
        self.assertEqual("".join(pieces), whole.text)
        self.assertEqual(stream.result.tokens, whole.tokens)
        self.assertEqual(list(stream), [])

    def test_a_stream_can_be_left(self):
        with model().generate("Once upon a time", max_tokens=500, ignore_eos=True, stream=True) as stream:
            first = next(stream)
        self.assertEqual(stream.result.finish, "cancelled")
        self.assertTrue(stream.result.text.startswith(first))
        self.assertLess(len(stream.result.tokens), 10)
        del stream
        unfinished = model().generate("There", max_tokens=500, stream=True)
        next(unfinished)
        del unfinished  # as by `break`
        self.assertEqual(len(model().generate("There", max_tokens=3).tokens), 3)

    def test_streams_run_side_by_side(self):
        prompts = ["Once upon a time", "There was a", "The answer"]
        exact = quern.Model(MODEL, exact=True)
        alone = [exact.generate(p, max_tokens=12).text for p in prompts]
        streams = [exact.generate(p, max_tokens=12, stream=True) for p in prompts]
        texts = ["", "", ""]
        for pieces in zip(*streams):
            for i, piece in enumerate(pieces):
                texts[i] += piece
        together = [s.result.text for s in streams]
        for text, whole in zip(texts, together):
            self.assertTrue(whole.startswith(text))
        self.assertEqual(together, alone)

    def test_seeds(self):
        def draw(seed):
            return model().generate("Once", temperature=1.5, seed=seed, max_tokens=20).text

        self.assertEqual(draw(1), draw(1))
        self.assertNotEqual(draw(1), draw(2))

    def test_options_of_several_kinds(self):
        made = model().generate("Count", regex="[a-c]{9}!", max_tokens=40)
        self.assertRegex(made.text, "^[a-c]{9}!$")
        stopped = model().generate("Count", regex="[a-c]{9}!", max_tokens=40, stop=["!", made.text[3]])
        self.assertEqual(stopped.text, made.text[: made.text.index(made.text[3])])
        first = made.tokens[0]
        other = model().generate("Once", max_tokens=2, top_logprobs=3, logit_bias={first: -100})
        self.assertEqual([len(at) for at in other.top_logprobs], [3, 3])
        self.assertAlmostEqual(other.top_logprobs[0][0].logprob, other.logprobs[0], places=4)

    def test_what_is_refused(self):
        refused = {
            "unknown option 'temprature'; did you mean 'temperature'": {"temprature": 1},
            "max_tokens 0": {"max_tokens": 0},
            "stop": {"stop": ""},
            "is never closed": {"regex": "["},
            "json_schema and regex": {"json_schema": {}, "regex": "a"},
        }
        for message, options in refused.items():
            with self.assertRaisesRegex(quern.Error, message):
                model().generate("Once", **options)
        with self.assertRaises(TypeError):
            model().generate("Once", top_k=object())
        for prompt in (None, 5, b"Once", ["Once"], [1.5]):
            with self.assertRaises(TypeError):
                model().generate(prompt)
        with self.assertRaises(quern.Error):
            model().generate("")
        with self.assertRaises(ValueError):
            model().generate("a\0b")
        with self.assertRaises(quern.Error):
            model().generate([10**6])
        with self.assertRaises(ValueError):
            model().generate([2**40])
        with self.assertRaises(quern.Error):
            model().generate("word " * 5000)
        self.assertEqual(len(model().generate("Once", max_tokens=2).tokens), 2)


class Chats(unittest.TestCase):
    def test_a_reply_has_its_parts(self):
        reply = model().chat(QUESTION)
        self.assertEqual(str(reply), "Answer: 396")
        self.assertIn("396", reply.reasoning)
        self.assertNotIn("<think>", reply.reasoning + reply.content)
        self.assertEqual(reply.message["content"], reply.content)
        self.assertEqual(reply.message["reasoning_content"], reply.reasoning)
        self.assertEqual(reply.finish, "stop")

    def test_a_streamed_reply_tells_reasoning_and_content_apart(self):
        stream = model().chat([{"role": "user", "content": QUESTION}], stream=True)
        parts = {"reasoning": "", "content": ""}
        for piece in stream:
            parts[piece.kind] += piece
        self.assertEqual(parts["content"], stream.result.content)
        self.assertEqual(parts["reasoning"], stream.result.reasoning)
        self.assertEqual(stream.result.content, "Answer: 396")

    def test_a_schema_is_followed(self):
        schema = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}
        reply = model().chat(QUESTION, json_schema=schema)
        self.assertIsInstance(reply.json()["answer"], int)

        class Pydantic:
            model_json_schema = staticmethod(lambda: schema)

        self.assertEqual(model().chat(QUESTION, json_schema=Pydantic).text, reply.text)

    def test_a_required_tool_is_called(self):
        reply = model().chat("How is it in Rome?", tools=[WEATHER], tool_choice="required", parallel_tool_calls=False)
        self.assertEqual([c.name for c in reply.tool_calls], ["weather"])
        self.assertIn(reply.tool_calls[0].arguments["city"], ("Rome", "Oslo"))
        self.assertEqual(reply.content, "")
        # The call and its result are messages of the next turn.
        result = {"role": "tool", "tool_call_id": reply.tool_calls[0].id, "content": "Sunny"}
        asked = {"role": "user", "content": "How is it in Rome?"}
        again = model().chat([asked, reply.message, result], tools=[WEATHER], max_tokens=16)
        self.assertGreater(len(again.tokens), 0)

    def test_messages_that_are_none(self):
        for messages in (
            [],
            [{"content": "Hello"}],
            [{"role": "wizard", "content": "Hello"}],
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a.png"}}]}],
        ):
            with self.assertRaises(quern.Error):
                model().chat(messages)
        for messages in ({"role": "user", "content": "Hello"}, None, ["Hello"], b"Hello"):
            with self.assertRaises(TypeError):
                model().chat(messages)
        for options in ({"tools": [print]}, {"json_schema": object()}):
            with self.assertRaises(TypeError):
                model().chat("Hello", **options)
        with self.assertRaisesRegex(quern.Error, "tool_choice"):
            model().chat("Hello", tools=[WEATHER], tool_choice="wether")
        with self.assertRaisesRegex(quern.Error, "tools"):
            model().chat("Hello", tools=[{"name": "weather"}])
        with self.assertRaises(quern.Error):
            model().chat("Hello", json_schema={"type": "wizard"})

    def test_special_tokens_in_a_message_are_text(self):
        end = model().chat_prompt("x").split("x")[1][:8]
        self.assertNotEqual(model().chat("Say " + end, max_tokens=4).tokens, [])


class Numbers(unittest.TestCase):
    def floats(self, array):
        return [float(x) for x in memoryview(array).tolist()]

    def test_logits_and_scores_agree(self):
        ids = model().tokenize("Once upon a time", add_special=True)
        rows = memoryview(model().logits(ids)).tolist()
        self.assertEqual((len(rows), len(rows[0])), (len(ids), model().vocab_size))
        scores = self.floats(model().score(ids))
        self.assertEqual(len(scores), len(ids) - 1)
        for row, token, score in zip(rows, ids[1:], scores):
            top = max(row)
            norm = top + math.log(sum(math.exp(x - top) for x in row))
            self.assertAlmostEqual(row[token] - norm, score, delta=0.05)  # bf16 and f32 KV caches
        self.assertEqual(self.floats(model().score("Once upon a time")), scores)

    def test_embeddings_have_length_one(self):
        one = self.floats(model().embed("The mill grinds corn."))
        self.assertAlmostEqual(sum(x * x for x in one), 1, places=4)
        two = memoryview(model().embed(["The mill grinds corn.", "The sea is deep."])).tolist()
        self.assertEqual(two[0], one)
        self.assertNotEqual(two[1], one)

    def test_what_is_refused(self):
        for call in (lambda: model().score([5]), lambda: model().score("word " * 5000), lambda: model().logits([10**6])):
            with self.assertRaises(quern.Error):
                call()
        with self.assertRaises(ValueError):
            model().embed([])
        with self.assertRaises(TypeError):
            model().embed([5])
        self.assertEqual(memoryview(model().logits([])).nbytes, 0)


class Loading(unittest.TestCase):
    def test_no_model(self):
        with self.assertRaisesRegex(quern.Error, "no model at 'nosuch'.*zaya-nano"):
            quern.Model("nosuch")
        with self.assertRaises(quern.Error):
            quern.Model("/")
        with self.assertRaisesRegex(quern.Error, "format"):
            quern.Model(MODEL, format="q3")
        with self.assertRaises(quern.Error):
            quern.Model(MODEL, adapter="/nosuch")

    def test_the_shipped_model_by_name_and_path(self):
        self.assertIn(MODEL, quern.models())
        with quern.Model(model().path, cache_mib=16) as again:
            self.assertEqual(str(again.chat(QUESTION)), "Answer: 396")

    def test_a_model_is_neither_copied_nor_pickled(self):
        for call in (copy.copy, copy.deepcopy, pickle.dumps):
            for thing in (model(), model().session()):
                with self.assertRaisesRegex(TypeError, "neither copied nor pickled"):
                    call(thing)

    def test_closed(self):
        closed = quern.Model(MODEL)
        session = closed.session()
        stream = closed.generate("Once", max_tokens=100, stream=True)
        next(stream)
        closed.close()
        closed.close()
        self.assertIn("closed", repr(closed))
        for call in (
            lambda: closed.generate("Once"),
            lambda: closed.tokenize("Once"),
            lambda: closed.vocab_size,
            lambda: session.append("Once"),
            lambda: list(stream),
            lambda: closed.__enter__(),
        ):
            with self.assertRaisesRegex(quern.Error, "is closed"):
                call()
        session.close()
        stream.close()
