"""PURE. Words and phrases that no English drafted line may contain, each list with its reason."""

# Inner causes mean nothing to a participant.
TECHNICAL = (
    *("error", "errors", "fail", "fails", "failed", "failure", "invalid", "technical", "maintenance"),
    *("server", "servers", "system", "systems", "model", "models", "database", "provider", "network"),
    *("connect", "connected", "connection", "connections", "disconnected", "offline", "request"),
    *("timeout", "timeouts", "time-out", "policy", "policies", "flag", "flagged", "flags"),
    *("violation", "violations", "user", "users"),
)

# Orders, blame, jokes, and affection that binds.
UNKIND = (
    *("oops", "hang on", "bear with us", "calm down", "you should", "you must", "high demand"),
    *("i missed you", "i miss you", "don't go", "do not go"),
    *("because you", "you failed", "you forgot", "you made a mistake", "you were wrong"),
)

# A time may be promised only if a person has set one.
PROMISES = (
    *("soon", "shortly", "right away", "straight away", "at once", "immediately"),
    *("in a moment", "a moment", "a minute", "in a bit", "any moment", "any time now"),
)

# A place in the queue can get worse.
PLACES = ("next in line", "in line", "in the queue", "ahead of you", "position", "your turn", "number one")

# A goodbye must not hold the participant back.
HOOKS = (
    *("miss you", "missed you", "don't go", "stay", "wait", "before you go", "one more", "are you sure"),
    *("come back soon", "see you soon", "please come back", "leave me", "without you"),
)

NUMBERS = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("fifteen", "twenty", "thirty", "forty", "sixty", "few", "couple", "half"),
)
