/** Offers of visits: shows who is asked at which machine, and what they have said, without moving focus or scroll. */

import { join } from "./desk_socket.js";
import { arrange, put } from "./lists.js";

const section = document.querySelector("[data-offers]");
const list = section?.querySelector("[data-offer-list]");
const news = section?.querySelector("[data-offer-news]");
const words = JSON.parse(section?.dataset.words || "{}");
const { ofMachine, ofPerson, back } = section?.dataset ?? {};

function take(frame) {
  if (!frame.offers) return;
  const shown = frame.offers.filter((offer) => (!ofMachine || offer.machine === ofMachine) && (!ofPerson || String(offer.conversation) === ofPerson));
  arrange(list, shown, { name: "offer", draw });
  section.hidden = !shown.length;
}

function draw(node, offer) {
  const changed = node.dataset.offerState && node.dataset.offerState !== offer.state;
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

if (section) join({ frame: take });
