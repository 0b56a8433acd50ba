/** Fills a list from its <template>: each entry's fields go where the template names them. */

/** `list` holds a <template>, and a `data-none` line that stands there when there is nothing else. */
export function fill(list, entries) {
  const template = list.querySelector("template");
  const kept = [template, ...list.querySelectorAll(":scope > [data-none]")];
  const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  list.replaceChildren(...kept, ...entries.map((entry) => createItem(template, entry)));
  list.dataset.count = entries.length;
  // Keep the focus on the link that had it.
  if (focused) list.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

function createItem(template, entry) {
  const item = template.content.firstElementChild.cloneNode(true);
  for (const place of item.querySelectorAll("[data-field]")) {
    const value = entry[place.dataset.field];
    if (!value) place.remove();
    else place.textContent = value;
  }
  if (entry.href) item.querySelector("a").setAttribute("href", entry.href);
  return item;
}
