"""`python -m routing.rehearsal --port 0`: serve until SIGTERM or SIGINT, and say where on the first line."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from routing.rehearsal.play import Pace
from routing.rehearsal.server import RehearsalServer
from routing.rehearsal.wire_log import WireLog


async def serve(options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    pace = Pace(first_word_s=options.first_word_ms / 1000, word_s=options.pace_ms / 1000)
    provider = RehearsalServer(
        pace=pace,
        directives=options.directives,
        keep_texts=options.keep_texts,
        log=WireLog.open(options.log) if options.log is not None else None,
        answers_codes=options.coded,
    )
    server = await provider.serve(options.host, options.port)
    host, port = server.sockets[0].getsockname()[:2]
    if options.token_dir is not None:
        try:
            provider.doors.open(options.token_dir, port)
        except OSError as error:
            # It goes on answering; only operators are turned away.
            print(
                f"rehearsal: no token can be put there ({type(error).__name__})", file=sys.stderr, flush=True
            )
    print(f"rehearsal: http://{f'[{host}]' if ':' in host else host}:{port}/v1", flush=True)
    await stop.wait()
    provider.doors.shut()
    server.close()
    # Open streams are not waited for: their tasks end with the loop.


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m routing.rehearsal", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0: any free port")
    parser.add_argument("--pace-ms", type=float, default=40, help="between words, about (default 40)")
    parser.add_argument(
        "--first-word-ms", type=float, default=250, help="before the first word (default 250)"
    )
    parser.add_argument("--directives", action="store_true", help="obey [[…]] inside the last user message")
    parser.add_argument(
        "--token-dir",
        type=Path,
        help="where the token for /control, /asked and /gauge is put; without it, they are shut",
    )
    parser.add_argument("--keep-texts", action="store_true", help="keep in /asked what every message says")
    parser.add_argument("--log", type=Path, help="append every request and each piece sent to this file")
    parser.add_argument(
        "--coded", action="store_true", help="answer a code such as kestrel-17-3 in its words"
    )
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
