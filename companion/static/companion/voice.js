/** The browser's own voice: only voices of this machine, so that no word leaves it. */

const speech = window.speechSynthesis;
/** Some browsers fall silent in a long text, so it is spoken in pieces of about this many letters. */
const PIECE_CHARS = 200;

/** The voice of this machine for the language of the page; undefined where it has none. */
export function findVoice() {
  const wanted = document.documentElement.lang.toLowerCase();
  const local = (speech?.getVoices() ?? []).filter((voice) => voice.localService);
  const named = local.map((voice) => [voice, voice.lang.replace("_", "-").toLowerCase()]);
  const exact = named.find(([, lang]) => lang === wanted);
  const near = named.find(([, lang]) => lang.split("-")[0] === wanted.split("-")[0]);
  return (exact ?? near)?.[0];
}

/** Call `changed()` when the voices of this machine become known. */
export function watchVoices(changed) {
  speech?.addEventListener("voiceschanged", changed);
}

/** Stop at once, and forget what was to be said. */
export function hush() {
  speech?.cancel();
}

/** Speak a text, and call `ended()` unless it is stopped before. `slowly`: for those who need time. */
export function speak(text, { slowly, ended }) {
  const voice = findVoice();
  if (!voice) return ended();
  const pieces = cut(text);
  const next = () => {
    const piece = pieces.shift();
    if (piece === undefined) return ended();
    const utterance = new SpeechSynthesisUtterance(piece);
    Object.assign(utterance, { voice, lang: voice.lang, rate: slowly ? 0.8 : 1 });
    utterance.onend = next;
    speech.speak(utterance);
  };
  next();
}

/** Cut a text at the ends of sentences and lines, and a very long sentence between words. */
function cut(text) {
  const parts = text.split(/(?<=[.!?…。！？])\s+|\n+/u).flatMap((part) => part.match(pieces) ?? []);
  return parts.map((part) => part.trim()).filter(Boolean);
}

const pieces = new RegExp(`[^]{1,${PIECE_CHARS}}(?:\\s|$)|[^]{1,${PIECE_CHARS}}`, "gu");
