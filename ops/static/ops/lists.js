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

/**
 * Make `list` hold exactly these items, in order, each in an element of its own that is marked `data-<name>` with its id.
 * `draw(node, item)` draws one. An element that has the focus is not moved, and goes when the focus has left it;
 * `leave(node)` draws such a one.
 */
export function arrange(list, items, { name, idOf = (item) => item.id, draw, leave = () => {} }) {
  const nodes = () => [...list.querySelectorAll(`:scope > [data-${name}]`)];
  const kept = new Set(items.map((item) => String(idOf(item))));
  for (const node of nodes()) if (!kept.has(node.dataset[name])) remove(node, leave);
  items.forEach((item, index) => {
    const there = nodes();
    const id = String(idOf(item));
    const node = there.find((one) => one.dataset[name] === id) ?? copyTemplate(list);
    node.dataset[name] = id;
    draw(node, item);
    if (there[index] !== node && !node.contains(document.activeElement)) list.insertBefore(node, there[index] ?? null);
  });
}

/** Put a text into a field of an item, unless it stands there. */
export function put(node, field, text) {
  const place = node.querySelector(`[data-field="${field}"]`);
  if (place.textContent !== text) place.textContent = text;
}

function remove(node, leave) {
  if (!node.contains(document.activeElement)) return node.remove();
  leave(node);
  node.addEventListener("focusout", () => node.remove(), { once: true });
}

function copyTemplate(list) {
  return list.querySelector(":scope > template").content.firstElementChild.cloneNode(true);
}
