"""Time questions in many wordings, with the answers worked out here from rows and dates alone: the golden of
tests/memory. Nothing of the C++ grammar is used; each question stands beside its meaning as a Python predicate.

usage: python tools/oracles/memory/paraphrases.py tests/memory
Writes log.jsonl (a made-up conversation of two speakers, 2022-11 to 2024-03, leap day included) and paraphrases.jsonl.
"""
import calendar
import json
import random
import sys
from datetime import date, datetime, timedelta

NOW = datetime(2024, 3, 14, 15, 20)  # a Thursday
TODAY = NOW.date()
TOPICS = ["the leaking roof", "sourdough starters", "a chess tournament", "night trains to Vienna", "tomato seedlings",
          "the choir's programme", "a broken bicycle", "tax forms", "the puppy's vet appointment", "a lighthouse walk",
          "watercolour paper", "the neighbour's drum kit", "marathon shoes", "a film about glaciers", "quince jelly"]


def make_log():
    rng = random.Random(11)
    starts = [datetime(2022, 11, 19, 19, 5)]
    while starts[-1] < datetime(2024, 2, 20):
        step = rng.choice([1, 2, 3, 5, 8, 9, 12, 14, 17, 20])
        t = starts[-1] + timedelta(days=step)
        starts.append(t.replace(hour=rng.choice([7, 8, 9, 10, 13, 14, 15, 18, 19, 20, 23]), minute=rng.randrange(60)))
    starts = [s for s in starts if s < datetime(2024, 2, 12)]
    starts += [datetime(2023, 5, 8, 13, 50), datetime(2023, 5, 8, 20, 10), datetime(2023, 12, 25, 18, 0),
               datetime(2023, 10, 31, 20, 0), datetime(2024, 2, 14, 9, 30), datetime(2024, 2, 20, 18, 15),
               datetime(2024, 2, 29, 19, 40), datetime(2024, 3, 2, 10, 5), datetime(2024, 3, 3, 21, 0),
               datetime(2024, 3, 5, 8, 10), datetime(2024, 3, 5, 19, 30), datetime(2024, 3, 7, 14, 0),
               datetime(2024, 3, 9, 11, 0), datetime(2024, 3, 11, 9, 45), datetime(2024, 3, 12, 16, 30),
               datetime(2024, 3, 13, 7, 30), datetime(2024, 3, 13, 20, 15), datetime(2024, 3, 14, 9, 0)]
    starts = sorted(set(starts))
    rows, kept = [], []
    for s in starts:
        if kept and s - kept[-1] < timedelta(hours=2):
            continue
        kept.append(s)
    for number, s in enumerate(kept, 1):
        t = s
        for i in range(rng.randrange(3, 7)):
            who = ["Ines", "Tobias"][i % 2]
            topic = TOPICS[(number + i // 2) % len(TOPICS)]
            rows.append({"response": len(rows), "session": number, "t": t, "speaker": who,
                         "text": f"{'So' if i % 2 else 'Well'}, {topic}: part {i + 1} of what there is to it."})
            t += timedelta(seconds=rng.randrange(10, 240))
    return rows


ROWS = make_log()
LAST = ROWS[-1]["session"]
Q = []


def ask(meaning, *wordings):
    want = [r["response"] for r in ROWS if meaning(r)]
    for w in wordings:
        Q.append({"now": NOW.strftime("%Y-%m-%d %H:%M"), "question": w, "responses": want})


def d(y, m, day):
    return date(y, m, day)


def on(*days):
    return lambda r: r["t"].date() in days


def span(a, b):
    return lambda r: a <= r["t"].date() <= b


def month(y, m):
    return span(date(y, m, 1), date(y, m, calendar.monthrange(y, m)[1]))


def sess(*n):
    return lambda r: r["session"] in n


def sess_span(a, b):
    return lambda r: a <= r["session"] <= b


def sessions_where(f):
    out = []
    for r in ROWS:
        if f(r) and (not out or out[-1] != r["session"]):
            out.append(r["session"])
    return out


def nth_in(f, k):  # k from 1, negative from the end
    s = sessions_where(f)
    return sess(s[k - 1 if k > 0 else k])


def both(f, g):
    return lambda r: f(r) and g(r)


def hours(a, b):
    return lambda r: a <= r["t"].hour < b


def days_ago(n):
    return TODAY - timedelta(days=n)


def latest(weekday):  # before today
    n = (TODAY.weekday() - weekday - 1) % 7 + 1
    return days_ago(n)


MON = days_ago(TODAY.weekday())


def questions():
    # dates
    ask(on(d(2023, 5, 8)), "Fill me in on what came up on May 8 of last year.", "What was said on the 8th of May 2023?",
        "What topics did we touch on on 8 May 2023?", "On 2023-05-08, what were we talking about?",
        "Give me a rundown of 5/8/2023.", "what'd we talk about on may 8th, 2023", "Recap Monday, May 8th, 2023 for me.",
        "Which subjects came up the day of May 8, 2023?", "Could you pull up everything from May the 8th, 2023?",
        "What did the two of us get into on the eighth of May, 2023?")
    ask(on(d(2023, 10, 31)), "What did we talk about on Halloween?", "Catch me up on October 31st.",
        "What came up on the 31st of October?", "What were we on about on Oct 31?", "Remind me what we covered on 10/31.",
        "On the thirty-first of October, what did we go over?")
    ask(on(d(2023, 12, 25)), "What did we chat about on Christmas Day?", "What was our talk on December 25 about?",
        "What did we speak about on Dec. 25th?", "Remind me of what we said on the twenty-fifth of December.")
    ask(on(d(2024, 2, 29)), "What did we discuss on February 29th?", "What came up on leap day, Feb 29?",
        "Anything we talked about on 29 February 2024?", "Show me the twenty-ninth of February.",
        "What did we talk about on Febuary 29th?", "What did we discuss two weeks ago today?",
        "Tell me what we went over exactly two weeks ago.")
    ask(on(d(2024, 2, 14)), "What did we talk about on Valentine's Day?", "Please summarise February fourteenth.",
        "What was the conversation on 14 Feb about?", "What did we talk about exactly a month ago?")
    ask(on(d(2024, 3, 9)), "What did we get up to talking about on the 9th?", "What was on our minds on March 9th?",
        "Quickly recap the ninth of March.", "What did we discuss two days before March 11th?",
        "What did we talk about the Saturday before March 11?", "What was discussed five days ago?")
    # spans of dates
    ask(span(d(2023, 5, 1), d(2023, 6, 9)), "What did we cover from the 1st of May 2023 to the 9th of June 2023?",
        "Between May 1 and June 9, 2023, what came up?", "Summarize May 1, 2023 - June 9, 2023.",
        "What did we talk about from May 1st up to June 9th of last year?",
        "Everything we said between 2023-05-01 and 2023-06-09, please.", "Recap the stretch from 1 May 2023 until 9 June 2023.")
    ask(span(d(2024, 3, 3), d(2024, 3, 7)), "What did we discuss March 3-7?", "What came up between the 3rd and the 7th of March?",
        "Go over the 3rd through the 7th of March with me.", "What did we talk about from March 3rd to the 7th?",
        "From 3 to 7 March, what was discussed?")
    ask(span(d(2023, 12, 20), d(2024, 1, 10)), "What did we talk about between December 20 and January 10?",
        "What was covered from Dec 20th through Jan 10th?", "From the 20th of December to the 10th of January, what did we say?")
    ask(lambda r: d(2023, 7, 1) <= r["t"].date() <= d(2023, 9, 30), "What did we discuss between July and September?",
        "What was said from July through September?", "Give me the gist of July to September 2023.",
        "What did we chat about in the third quarter of 2023?", "Sum up Q3 2023.")
    ask(lambda r: r["t"].date() >= d(2024, 3, 5), "What have we talked about since March 5th?", "Recap everything since the 5th of March.",
        "What came up from March 5 onwards?", "Starting March 5th, what have we been discussing?",
        "What have we covered from the fifth of March on?")
    ask(lambda r: r["t"].date() < d(2023, 1, 15), "What did we discuss before January 15, 2023?", "What came up prior to January 15th 2023?",
        "What had we talked about before the 15th of January last year?")
    ask(lambda r: r["t"].date() > d(2024, 3, 9), "What did we talk about after March 9th?", "What has come up after the 9th of March?")
    ask(lambda r: r["t"].date() <= d(2022, 12, 31), "What did we discuss up to December 31, 2022?", "What did we talk about until the 31st of December 2022?",
        "What was said in 2022?", "What did we cover over the course of 2022?", "Which topics came up in the year 2022?")
    # months, seasons, years
    ask(month(2023, 5), "What did we get into back in May?", "What was discussed during the month of May?",
        "Throughout May, what did we talk about?", "What came up last May?", "Give me May's topics.",
        "Which things did we go over in may 2023?", "Bring me up to speed on May 2023.", "What did we talk about in May of last year?",
        "What did we natter about ten months ago?")
    ask(month(2024, 1), "What did we discuss in January?", "What did we talk about in Janurary?", "What came up two months ago?",
        "Tell me about the month before last.", "Back in Jan, what did we talk about?", "What did we speak about a couple of months ago?",
        "What did we discuss this January?", "What was said in January of this year?")
    ask(month(2024, 2), "What did we go over last month?", "What was on the agenda in February?", "What did we talk about in the previous month?",
        "What did we say a month ago?", "What did we chat about one month back?")
    ask(month(2024, 3), "What have we talked about this month?", "What has been said so far this month?", "In the current month, what did we cover?",
        "What have we been chatting about in March?")
    ask(month(2023, 3), "What did we discuss in March 2023?", "What did we talk about last March?", "In March of last year, what came up?",
        "What did we cover twelve months ago?", "What did we discuss a dozen months ago?")
    ask(span(d(2023, 11, 1), d(2023, 11, 10)), "What did we discuss in early November?", "At the beginning of November, what did we talk about?",
        "What came up in the first ten days of November?")
    ask(span(d(2023, 10, 21), d(2023, 10, 31)), "What did we go over in late October?", "What did we talk about at the end of October?")
    ask(span(d(2023, 8, 11), d(2023, 8, 20)), "What did we say in mid-August?", "In the middle of August, what did we cover?")
    ask(span(d(2023, 6, 1), d(2023, 8, 31)), "What did we talk about last summer?", "What did we discuss in the summer of 2023?",
        "What came up over the summer?", "What was said during summer 2023?")
    ask(span(d(2023, 9, 1), d(2023, 11, 30)), "What did we discuss last fall?", "What did we chat about in autumn?", "What came up in the fall of 2023?")
    ask(span(d(2023, 1, 1), d(2023, 12, 31)), "What did we discuss last year?", "What did we talk about in 2023?", "What was covered throughout 2023?",
        "What did we speak about in the previous year?", "What did we talk about a year ago?")
    ask(span(d(2024, 1, 1), d(2024, 12, 31)), "What have we discussed this year?", "What have we said so far this year?", "Recap 2024 for me.",
        "What did we talk about in 2024?")
    ask(lambda r: r["t"].month in (5, 7) and r["t"].year == 2023, "What did we discuss in May and July?", "What did we talk about in May or in July?")
    ask(span(d(2023, 6, 1), d(2023, 6, 7)), "What did we discuss in the first week of June?", "What came up during the first week of June 2023?")
    ask(span(d(2023, 7, 1), d(2023, 12, 31)), "What did we discuss in the second half of 2023?", "Summarise the second half of last year.")
    # relative days
    ask(on(TODAY), "What have we talked about today?", "What did we say today?", "What's been discussed so far today?", "What did we go over earlier today?",
        "Summarise today's chat.", "What came up this morning?")
    ask(on(days_ago(1)), "What did we talk about yesterday?", "Yesterday, what came up?", "Recap yesterday for me please.", "What did we go on about a day ago?",
        "What did we discuss one day ago?", "Remind me what yesterday's chats were about.", "What did we talk about yesteday?")
    ask(both(on(days_ago(1)), hours(5, 12)), "What did we discuss yesterday morning?", "What came up yesterday in the morning?", "On the morning of March 13th, what did we talk about?",
        "What was said on Wednesday morning?")
    ask(both(on(days_ago(1)), hours(17, 24)), "What did we talk about yesterday evening?", "What did we chat about last night?", "What did we discuss yesterday after 5 pm?",
        "What was said yesterday night?")
    ask(on(days_ago(2)), "What did we discuss the day before yesterday?", "What did we talk about two days ago?", "Two days back, what came up?",
        "What did we speak about a couple of days ago?", "Tell me about our exchange on Tuesday.", "What was said last Tuesday?", "What did we cover this past Tuesday?",
        "What did we discuss on Tuesday this week?", "What came up on tuesday afternoon?")
    ask(on(days_ago(3)), "What did we talk about three days ago?", "What did we go over on Monday?", "What did we say last Monday?", "On Monday what did we chat about?",
        "What was discussed 3 days back?", "What did we talk about on Munday?")
    ask(on(latest(3)), "What did we discuss last Thursday?", "What came up a week ago today?", "What did we talk about Thursday of last week?", "What was said on Thursday last week?",
        "What did we cover 7 days ago?", "What did we chat about seven days ago?", "What did we speak about last week on Thursday?", "What did we discuss on Thrusday last week?")
    ask(on(d(2024, 3, 5)), "What did we discuss on Tuesday of last week?", "What did we talk about last week's Tuesday?", "What came up the Tuesday before last?",
        "What was said nine days ago?", "What did we go over two Tuesdays ago?")
    ask(both(on(d(2024, 3, 5)), hours(5, 12)), "What did we say on the morning of March 5?", "What came up on March 5th before noon?", "What did we discuss March 5th in the morning?")
    ask(both(on(d(2023, 5, 8)), hours(17, 22)), "What did we talk about on the evening of May 8, 2023?", "What came up on May 8th 2023 in the evening?")
    ask(span(d(2024, 3, 9), d(2024, 3, 10)), "What did we talk about over the weekend?", "What came up last weekend?", "What did we discuss this past weekend?",
        "On the weekend, what did we cover?")
    ask(span(d(2024, 3, 2), d(2024, 3, 3)), "What did we discuss the weekend before last?", "What did we talk about two weekends ago?", "What was said on the first weekend of March?")
    # weeks
    ask(lambda r: r["t"].date() >= MON, "What have we discussed this week?", "What have we gone over so far this week?", "What came up earlier this week?")
    ask(span(MON - timedelta(7), MON - timedelta(1)), "What did we discuss last week?", "What came up in the previous week?", "What did we talk about in the week of March 4th?",
        "What did we go over one week ago?", "During the week before this one, what was said?")
    ask(span(MON - timedelta(14), MON - timedelta(8)), "What did we discuss the week before last?", "What did we talk about two weeks ago?", "A couple of weeks back, what came up?",
        "What did we talk about a fortnight ago?")
    ask(lambda r: r["t"].date() >= days_ago(7), "What did we talk about over the past week?", "What have we discussed in the last week?", "What came up in the last 7 days?",
        "What did we go over during the past seven days?", "Within the last week, what did we say?")
    ask(lambda r: r["t"].date() >= days_ago(3), "What did we talk about in the past three days?", "Over the last 3 days, what came up?", "What have we covered these last three days?",
        "What did we discuss during the previous three days?", "What have we said in the last few days?")
    ask(lambda r: r["t"].date() >= days_ago(14), "What did we discuss over the last two weeks?", "What came up in the past fortnight?", "What have we said within the last 14 days?",
        "What did we talk about in the past couple of weeks?")
    ask(lambda r: r["t"].date() >= d(2024, 1, 14), "What have we discussed over the past two months?", "What did we cover in the last 2 months?")
    ask(lambda r: r["t"].date() >= d(2023, 3, 14), "What have we talked about over the past year?", "What did we discuss in the last 12 months?", "What came up within the past twelve months?")
    ask(lambda r: NOW - timedelta(hours=7) <= r["t"] <= NOW, "What did we talk about in the last seven hours?", "What came up in the past 7 hours?")
    # sessions
    ask(sess(1), "What did we talk about the very first time we spoke?", "What was our first conversation about?", "Take me back to our initial chat.",
        "What did we say in session one?", "What came up in session #1?", "What did we discuss when we first talked?", "What did we get into the first time we ever chatted?",
        "Recap our opening session.", "What was the earliest conversation about?")
    ask(sess(3), "What did we go over in conversation number 3?", "What was our third talk about?", "What came up the third time we talked?", "Session 3: what did we discuss?",
        "What did we discuss in chat no. 3?", "Give me a summary of the 3rd conversation.", "The third time that we chatted, what did we cover?",
        "What did we discuss in the conversation after our second one?", "What did we talk about in the session right before session 4?")
    ask(sess(12), "What did we talk about in our twelfth conversation?", "What was said in session twelve?", "What came up in chat 12?", "Bring up the twelfth discussion.",
        "What did we discuss in our 12th sesion?", "What did we cover the 12th time we met?")
    ask(sess(21), "What did we cover in our twenty-first session?", "What came up in the twenty first chat?", "What did session 21 deal with?", "What did we talk about in our 21st convo?")
    ask(sess(LAST), "What did we talk about last time?", "What did we discuss in our most recent conversation?", "What was the last thing we talked about in our latest chat?",
        "What did we go over the last time we spoke?", "What came up in the previous session?", "What did we say when we last talked?", "Where did we leave off in our last conversation?",
        "What was our last chat about?", "What did we discuss one conversation ago?", "What did the final session cover?", "What did we discuss in the preceding conversation?")
    ask(sess(LAST - 1), "What did we discuss the time before last?", "What came up in the second to last conversation?", "What was our penultimate chat about?",
        "What did we talk about two sessions ago?", "What did we go over a couple of conversations ago?", "What did we say in the next-to-last session?", "What did we cover in the conversation before last?",
        "What did we discuss in the chat before the last one?", "What was discussed two chats back?", "What did we talk about in the last session but one?",
        "Not our last chat but the one before it: what did we talk about?", "What came up in the second-to-last chat?")
    ask(sess(LAST - 2), "What did we talk about three conversations ago?", "What did we discuss three sessions back?", "What came up in the third to last session?",
        "What was said in the third-to-last chat?", "What did we chat about 3 talks ago?")
    ask(sess(LAST - 6), "What did we say seven sessions ago?", "What did we talk about 7 conversations ago?", "Go back seven chats ago: what was it about?")
    ask(sess_span(2, 5), "What did we cover in sessions 2 to 5?", "What came up from our second to our fifth conversation?", "What did we discuss between the second and fifth chats?",
        "Summarise sessions two through five.", "What was said in chats 2-5?", "What did we talk about in the 2nd through 5th talks?", "Between sessions 2 and 5, what did we discuss?",
        "From session 2 until session 5, what came up?")
    ask(sess_span(1, 4), "What did we talk about in our first four sessions?", "What came up in the first 4 chats?", "What did we discuss before our fifth session?", "What did we cover up to session 4?")
    ask(sess_span(LAST - 2, LAST), "What did we talk about in our last three conversations?", "What came up over the past three sessions?", "What did we discuss in the most recent three chats?",
        "What did we go over the last three times we talked?", "In our last few chats, what did we cover?")
    ask(sess(4, 7), "What did we discuss in sessions 4 and 7?", "What came up in our fourth and seventh chats?", "Summarise session 4 and session 7.")
    ask(lambda r: r["session"] > 50, "What did we discuss after session 50?", "What have we covered after our fiftieth conversation?")
    ask(lambda r: r["session"] >= 50, "What did we discuss since session 50?", "What came up from session 50 onwards?")
    # sessions among dates
    may = month(2023, 5)
    ask(nth_in(may, 1), "What did we discuss the first time we talked in May?", "What was our first chat of May about?", "What came up in the first conversation in May 2023?")
    ask(nth_in(may, 2), "What did we discuss in the second session in May?", "What did we talk about the second time we spoke in May?", "What was said in our 2nd conversation of May?")
    ask(nth_in(may, -1), "What did we talk about in the last conversation in May?", "What came up in our final chat of May?", "What was the last session in May about?")
    ask(nth_in(on(d(2024, 3, 5)), 2), "What did we discuss in the second chat on March 5th?", "What was said in the second conversation on March 5?")
    ask(nth_in(on(d(2024, 3, 13)), 1), "What was our first conversation yesterday about?", "What did we talk about the first time we spoke yesterday?")
    ask(nth_in(lambda r: r["t"].date() >= MON, 2), "What came up in our second session this week?", "What did we discuss the second time we talked this week?")
    ask(nth_in(lambda r: r["t"].year == 2023, 3), "What did we talk about in our third conversation in 2023?", "What came up the third time we chatted in 2023?", "What did we say in the third chat of last year?")
    ask(nth_in(lambda r: r["t"].date() > d(2023, 5, 8), 1), "What did we discuss in the first session after May 8, 2023?", "What came up in the conversation after May 8th, 2023?")
    ask(nth_in(lambda r: r["t"].date() < d(2023, 5, 8), -1), "What did we discuss in the last session before May 8, 2023?", "What came up in the chat right before May 8th, 2023?")
    # every week, every day
    ask(lambda r: r["t"].weekday() == 1, "What do we usually talk about on Tuesdays?", "What did we discuss on all the Tuesdays?", "What comes up every Tuesday?")
    ask(lambda r: r["t"].weekday() >= 5, "What do we talk about on weekends?", "What did we discuss on Saturdays and Sundays?")
    ask(lambda r: 5 <= r["t"].hour < 12, "What do we talk about in the mornings?", "What comes up every morning?")
    ask(both(month(2023, 8), lambda r: r["t"].weekday() == 2), "What did we discuss on Wednesdays in August?", "On Wednesdays in August 2023, what did we talk about?")
    # messages
    ask(lambda r: r["response"] == 26, "What was response number 26?", "Show me message 26.", "What did response #26 say?")
    ask(lambda r: 10 <= r["response"] <= 20, "What was said in messages 10 through 20?", "Show me responses 10 to 20.", "Give me messages 10-20.")
    ask(lambda r: r["response"] >= len(ROWS) - 5, "What were the last five messages?", "Show me the last 5 responses.", "What did the past five messages say?")
    ask(lambda r: r["response"] < 3, "What were the first three messages?", "Show me our first 3 messages.")


def main():
    questions()
    out = sys.argv[1]
    with open(f"{out}/log.jsonl", "w") as f:
        for r in ROWS:
            f.write(json.dumps({"speaker": r["speaker"], "text": r["text"], "time": r["t"].strftime("%Y-%m-%d %H:%M:%S")}) + "\n")
    with open(f"{out}/paraphrases.jsonl", "w") as f:
        for q in Q:
            runs = []
            for n in q["responses"]:
                if runs and runs[-1][1] == n - 1:
                    runs[-1][1] = n
                else:
                    runs.append([n, n])
            f.write(json.dumps({"now": q["now"], "question": q["question"], "responses": runs}) + "\n")
    print(len(ROWS), "turns,", LAST, "sessions,", len(Q), "questions", file=sys.stderr)


main()
