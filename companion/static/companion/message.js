/** What may be sent as a message, judged as the service judges it. Pure. */

const LONGEST_MESSAGE = 4_000;
/** Blanks, controls, and characters that show nothing: joiners, fillers, soft hyphens, the empty Braille pattern. */
const SOMETHING_TO_SEE = /[^\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800\u{1D159}]/u;

/** Whether a text is beyond one message, counted by code point; a very long one is not counted at all. */
export function isTooLong(text) {
  if (text.length <= LONGEST_MESSAGE) return false;
  if (text.length > 2 * LONGEST_MESSAGE) return true;
  return Array.from(text).length > LONGEST_MESSAGE;
}

/** Whether anything in a text can be seen. */
export function isVisible(text) {
  return SOMETHING_TO_SEE.test(text);
}
