/** Whether a text can be sent as a message, by the rules of the service. Pure. */

const LONGEST_MESSAGE = 4_000;
/** Blanks, controls, and characters that show nothing: joiners, fillers, soft hyphens, the empty Braille pattern. */
const SOMETHING_TO_SEE = /[^\s\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800\u{1D159}]/u;

/** Whether a text has too many code points. A very long one is refused by its length, without counting. */
export function isTooLong(text) {
  if (text.length <= LONGEST_MESSAGE) return false;
  if (text.length > 2 * LONGEST_MESSAGE) return true;
  return Array.from(text).length > LONGEST_MESSAGE;
}

/** Whether anything in a text can be seen. */
export function isVisible(text) {
  return SOMETHING_TO_SEE.test(text);
}
