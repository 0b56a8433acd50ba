/** Cuts a growing reply into finished sentences, so that each is read out once. Pure. */

const segmenter = "Segmenter" in Intl ? new Intl.Segmenter(undefined, { granularity: "sentence" }) : null;

/** The sentences of a text, in order, with the blanks that follow them; the last one may be unfinished. */
export function split(text) {
  if (segmenter) return Array.from(segmenter.segment(text), (part) => part.segment);
  return text.match(/[^.!?…。！？\n]*(?:[.!?…。！？]+["'”’)]*(?:\s+|$)|\n+|$)/gu)?.filter(Boolean) ?? [];
}

/** Hands out each sentence of one reply once, as soon as it is finished. */
export class Sentences {
  #taken = 0;

  /** Start after the finished sentences of `text`. */
  skip(text) {
    this.#taken = text.length - (split(text).at(-1)?.length ?? 0);
  }

  /** The sentences that `text` has finished since the last call; all of it once the reply has ended. */
  next(text, ended) {
    const parts = split(text.slice(this.#taken));
    if (!ended) parts.pop();
    this.#taken += parts.reduce((length, part) => length + part.length, 0);
    return parts.map((part) => part.trim()).filter(Boolean);
  }
}
