"""As much of PromQL as a dashboard asks: selectors, sum by, topk, rate, differences, label_values; over scraped texts.

A scrape is (time in s, text). As Prometheus has it, an empty label is none, and a - b has the series whose labels are the same on both
sides, without their names.
"""
import re

SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
MATCHER = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)(=~|!~|!=|=)"((?:[^"\\]|\\.)*)"')
TOKEN = re.compile(r'\s*([a-zA-Z_:][a-zA-Z0-9_:]*|\{[^}]*\}|\[[0-9]+[smh]\]|[0-9.]+|[-(),])')
UNITS = {"s": 1, "m": 60, "h": 3600}


def unescaped(text):
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], text)


def samples(text):
    """[(name, labels, value)]; series that stand there twice are an error."""
    found, seen = [], set()
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = SAMPLE.match(line)
        assert match, line
        labels = {name: unescaped(value) for name, value in LABEL.findall(match[2] or "")}
        key = (match[1], tuple(sorted(labels.items())))
        assert key not in seen, "twice: " + line
        seen.add(key)
        found.append((match[1], {name: value for name, value in labels.items() if value}, float(match[3])))
    return found


class Parser:
    def __init__(self, text, scrapes):
        self.tokens, at = [], 0
        while at < len(text.rstrip()):
            match = TOKEN.match(text, at)
            assert match, "at %r" % text[at:]
            self.tokens.append(match[1])
            at = match.end()
        self.scrapes = [(when, samples(body)) for when, body in scrapes]

    def take(self, wanted=None):
        token = self.tokens.pop(0)
        assert wanted in (None, token), (wanted, token)
        return token

    def next_is(self, token):
        return bool(self.tokens) and self.tokens[0] == token

    def expression(self):
        left = self.term()
        while self.next_is("-"):
            self.take()
            right = self.term()
            left = {labels: value - right[labels] for labels, value in left.items() if labels in right}
        return left

    def arguments(self):
        self.take("(")
        value = self.expression()
        self.take(")")
        return value

    def term(self):
        if self.next_is("("):
            return self.arguments()
        name = self.take()
        if name == "sum":
            return self.sum()
        if name == "topk":
            self.take("(")
            count = int(self.take())
            self.take(",")
            value = self.expression()
            self.take(")")
            return dict(sorted(value.items(), key=lambda item: -item[1])[:count])
        if name == "rate":
            return self.rate()
        return self.vector(self.scrapes[-1][1], name, self.selector())

    def sum(self):
        by = []
        if self.next_is("by"):
            self.take()
            self.take("(")
            while not self.next_is(")"):
                by.append(self.take())
                if self.next_is(","):
                    self.take()
            self.take(")")
        total = {}
        for labels, value in self.arguments().items():
            key = tuple((name, dict(labels)[name]) for name in sorted(by) if name in dict(labels))
            total[key] = total.get(key, 0) + value
        return total

    def rate(self):
        self.take("(")
        name, matchers = self.take(), self.selector()
        span = self.take()
        self.take(")")
        newest = self.scrapes[-1][0]
        inside = [one for one in self.scrapes if newest - one[0] <= int(span[1:-2]) * UNITS[span[-2]]]
        first, last = self.vector(inside[0][1], name, matchers), self.vector(inside[-1][1], name, matchers)
        seconds = inside[-1][0] - inside[0][0]
        # a counter that fell began anew
        return {labels: (value - first[labels] if value >= first[labels] else value) / seconds for labels, value in last.items()
                if labels in first and seconds > 0}

    def selector(self):
        return self.take()[1:-1] if self.tokens and self.tokens[0].startswith("{") else ""

    @staticmethod
    def vector(scrape, name, matchers):
        return {tuple(sorted(labels.items())): value for other, labels, value in scrape if other == name and matches(labels, matchers)}


def matches(labels, matchers):
    for name, operator, value in MATCHER.findall(matchers):
        has, value = labels.get(name, ""), unescaped(value)
        found = re.fullmatch(value, has) is not None if "~" in operator else has == value
        if found != (operator in ("=", "=~")):
            return False
    return True


def evaluate(text, scrapes):
    """{((label, value), ...): value}"""
    parser = Parser(text, scrapes)
    value = parser.expression()
    assert not parser.tokens, parser.tokens
    return value


def label_values(text, scrapes):
    """label_values(metric{matchers}, label): as Grafana's variables ask."""
    name, matchers, label = re.fullmatch(r"label_values\((\w+)(?:\{(.*)\})?, (\w+)\)", text).groups()
    found = Parser.vector(samples(scrapes[-1][1]), name, matchers or "")
    return sorted({dict(labels)[label] for labels in found if label in dict(labels)})
