/** The texts that scripts show, as the page hands them over in its language. */

// Read once: a page that is emptied still names itself.
const texts = JSON.parse(document.querySelector("[data-texts]").dataset.texts);
const plurals = new Intl.PluralRules(document.documentElement.lang);

/** The text of this key, with `values` in its places. */
export function textOf(key, values = {}) {
  return fill(texts[key], values);
}

/** The form of a text that fits `count`, with `values` in its places; `{count}` is among them. */
export function countedText(key, count, values = {}) {
  const forms = texts[key];
  return fill(forms[plurals.select(count)] ?? forms.other, { count, ...values });
}

function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (place, name) => String(values[name] ?? place));
}
