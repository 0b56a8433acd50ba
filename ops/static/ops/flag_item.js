/** One flag in a list: drawn from its <template>, kept as the same element while it changes. */

import { act } from "./desk_socket.js";

/** `place` is a list with a <template>; `words` {tiers, kinds}; `page` the address of conversation 0. */
export class FlagList {
  #place;
  #template;
  #words;
  #page;

  constructor(place, { words, page }) {
    this.#place = place;
    this.#template = place.querySelector("template");
    this.#words = words;
    this.#page = page;
    place.addEventListener("click", (event) => event.target.closest("[data-accept]") && accept(event.target.closest("[data-flag]")));
  }

  /** Show exactly these flags, in this order. */
  show(flags) {
    const wanted = new Set(flags.map((flag) => String(flag.id)));
    for (const item of this.#items()) if (!wanted.has(item.dataset.flag)) removeUnfocused(item);
    flags.forEach((flag, index) => this.#put(flag, index));
  }

  #items() {
    return [...this.#place.querySelectorAll(":scope > [data-flag]")];
  }

  #put(flag, index) {
    const items = this.#items();
    let item = items.find((one) => one.dataset.flag === String(flag.id));
    if (!item) {
      item = this.#template.content.firstElementChild.cloneNode(true);
      item.dataset.flag = flag.id;
    }
    this.#draw(item, flag);
    // An element that stands right is not moved: moving loses its focus.
    if (items[index] !== item) this.#place.insertBefore(item, items[index] ?? null);
  }

  #draw(item, flag) {
    item.dataset.tier = flag.tier;
    item.dataset.state = flag.state;
    const put = (name, text) => setText(item.querySelector(`[data-field="${name}"]`), text);
    put("tier", this.#words.tiers[flag.tier] ?? flag.tier);
    put("about", kindInWords(flag.kind, this.#words));
    put("name", flag.name || "A person");
    put("site", flag.site_name ?? "");
    put("count", flag.count > 1 ? `, ${flag.count} times` : "");
    put("owner", ownerInWords(flag));
    const link = item.querySelector("a");
    if (flag.conversation) link.setAttribute("href", this.#page.replace("/0/", `/${flag.conversation}/`));
    else link.removeAttribute("href");
    item.querySelector("[data-ago]").dataset.ago = flag.opened_at;
    const acts = item.querySelector(".flag-acts");
    // The focus stays at the flag when its button goes.
    if (flag.state !== "open" && acts.contains(document.activeElement)) link.focus({ preventScroll: true });
    acts.hidden = flag.state !== "open";
  }
}

/** What a flag is about. */
export function kindInWords(kind, words) {
  return words.kinds[kind] ?? (kind.charAt(0).toUpperCase() + kind.slice(1)).replace(/[-_]/g, " ");
}

/** Whose a flag is. */
export function ownerInWords(flag) {
  if (flag.state === "open") return "";
  const handed = flag.handed_to_name ? `, handed to ${flag.handed_to_name}` : "";
  return `Accepted by ${flag.owner_name || "a colleague"}${handed}`;
}

async function accept(item) {
  const says = item.querySelector("[data-act-says]");
  setText(says, "");
  const { done, text } = await act({ type: "accept", flag: Number(item.dataset.flag) });
  setText(says, done ? "" : text);
}

/** Remove an item; one that has the focus goes when the focus has left it. */
function removeUnfocused(item) {
  if (!item.contains(document.activeElement)) return item.remove();
  item.addEventListener("focusout", () => item.remove(), { once: true });
}

function setText(place, text) {
  if (place && place.textContent !== text) place.textContent = text;
}
