/** One flag in a list: drawn from its <template>, kept as the same element while it changes. */

import { act } from "./desk_socket.js";
import { arrange, put } from "./lists.js";
import { textOf } from "./texts.js";

/** `place` is a list with a <template>; `words` {tiers, kinds}; `page` the address of conversation 0. */
export class FlagList {
  #place;
  #words;
  #page;

  constructor(place, { words, page }) {
    this.#place = place;
    this.#words = words;
    this.#page = page;
    place.addEventListener("click", (event) => event.target.closest("[data-accept]") && accept(event.target.closest("[data-flag]")));
  }

  /** Show exactly these flags, in this order. */
  show(flags) {
    arrange(this.#place, flags, { name: "flag", draw: (item, flag) => this.#draw(item, flag) });
  }

  #draw(item, flag) {
    item.dataset.tier = flag.tier;
    item.dataset.state = flag.state;
    put(item, "tier", this.#words.tiers[flag.tier] ?? flag.tier);
    put(item, "about", kindInWords(flag.kind, this.#words));
    put(item, "name", flag.name || textOf("a_person"));
    put(item, "site", flag.site_name ?? "");
    put(item, "count", flag.count > 1 ? textOf("times", { count: flag.count }) : "");
    put(item, "owner", ownerInWords(flag));
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
  const owner = flag.owner_name || textOf("a_colleague");
  return flag.handed_to_name ? textOf("accepted_handed", { owner, other: flag.handed_to_name }) : textOf("accepted_by", { owner });
}

async function accept(item) {
  const says = item.querySelector("[data-act-says]");
  says.textContent = "";
  const { done, text } = await act({ type: "accept", flag: Number(item.dataset.flag) });
  says.textContent = done ? "" : text;
}
