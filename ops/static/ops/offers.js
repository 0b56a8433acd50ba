/** Offers of visits: shows who is asked at which machine, and what they have said, without moving focus or scroll. */

import { join } from "./desk_socket.js";

const section = document.querySelector("[data-offers]");
const list = section?.querySelector("[data-offer-list]");
const news = section?.querySelector("[data-offer-news]");
const words = JSON.parse(section?.dataset.words || "{}");
const { ofMachine, ofPerson, back } = section?.dataset ?? {};

function take(frame) {
  if (!frame.offers) return;
  const shown = frame.offers.filter((offer) => (!ofMachine || offer.machine === ofMachine) && (!ofPerson || String(offer.conversation) === ofPerson));
  const kept = new Set(shown.map((offer) => String(offer.id)));
  for (const node of items()) if (!kept.has(node.dataset.offer)) node.remove();
  shown.forEach((offer, index) => {
    const node = items().find((one) => one.dataset.offer === String(offer.id)) ?? create();
    draw(node, offer);
    const there = items();
    if (there[index] !== node && !node.contains(document.activeElement)) list.insertBefore(node, there[index] ?? null);
  });
  section.hidden = !shown.length;
}

function items() {
  return [...list.querySelectorAll(":scope > [data-offer]")];
}

function create() {
  return list.querySelector("template").content.firstElementChild.cloneNode(true);
}

function draw(node, offer) {
  const changed = node.dataset.offerState && node.dataset.offerState !== offer.state;
  node.dataset.offer = offer.id;
  node.dataset.offerState = offer.state;
  put(node, "name", offer.name);
  put(node, "says", words[offer.state] ?? offer.state);
  put(node, "machine", offer.machine_name);
  put(node, "by", offer.by);
  const form = node.querySelector("[data-back-form]");
  form.action = back.replace("/0/", `/${offer.id}/`);
  form.hidden = offer.state !== "open";
  if (changed) news.textContent = `${offer.name} ${words[offer.state] ?? offer.state}`;
}

function put(node, field, text) {
  const place = node.querySelector(`[data-field="${field}"]`);
  if (place.textContent !== text) place.textContent = text;
}

if (section) join({ frame: take });
